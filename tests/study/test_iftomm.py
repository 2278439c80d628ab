"""The benchmark problems: one is solved here, the others in tests of loops and springs."""

import numpy as np
import pytest

from kinetree.documents.iftomm import PROBLEMS, solve
from kinetree.errors import InputError


def test_the_pendulum_is_solved():
    found = solve("A01")
    assert found.error < 1e-10 and found.passed and found.steps > 10


def test_an_unknown_problem_is_refused():
    with pytest.raises(InputError, match="A06"):
        solve("A06")


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_starts_closed(name):
    from kinetree.dynamics.loops.system import constraints, refuse_open_loops

    problem = PROBLEMS[name]
    mechanism = problem.mechanism()
    assert len(problem.q0) == len(problem.qd0) == mechanism.n_dof
    if mechanism.loops:
        q, qd = np.array(problem.q0, dtype=float), np.array(problem.qd0, dtype=float)
        refuse_open_loops(mechanism, constraints(mechanism, q, qd), qd, None)
