"""Linear solvers of IPOPT: those that need a license are asked for before solving, the others agree."""

import pytest

import kinetree as kt
from kinetree.motion.predict import predict
from motion.problems import minimum_time


@pytest.mark.parametrize("library", [{}, {"hsllib": "/nowhere/libhsl.so"}])
def test_a_linear_solver_of_hsl_is_asked_for_before_solving(library):
    with pytest.raises(kt.errors.MissingExtraError, match=r"ma57 needs HSL .*'hsllib'.* cannot be loaded"):
        predict(minimum_time(segments=4), solver="ipopt", options={"linear_solver": "ma57", **library})


def test_the_free_linear_solvers_of_ipopt_agree():
    times = [
        predict(minimum_time(segments=6), solver="ipopt", options={"linear_solver": name}).duration
        for name in ("mumps", "spral")
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-5)
