"""Recording numbers: what is known is not recorded, what is recorded gives the same numbers."""

import numpy as np
import pytest

from kinetree.engine.interpret import interpreted
from kinetree.engine.tape.recording import record
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.number import arctan, sign, sincos, square_root, where_less
from kinetree.kernels.rnea import RNEA_UNLOADED
from support.kernels import random_inputs, rows_of, tree_for, width, zoo


def counts(function, size=2):
    return record(lambda x: [function(x)], [size]).counts()


def test_what_is_known_is_not_recorded():
    cases = {
        "zero and one": (lambda x: [x[0] * 0.0 + 1.0 * x[1] - 0.0, x[0] / 1.0], {}),
        "constants": (lambda x: [2.0 * (x[0] * 3.0) + (4.0 - 1.0)], {"multiply": 1, "add": 1}),
        "the same twice": (lambda x: [x[0] * x[1] + x[1] * x[0]], {"multiply": 2}),
        "multiples": (lambda x: [0.5 * x[0] + 2.0 * x[0] - x[0] - 1.5 * x[0] + x[1]], {}),
        "not needed": (lambda x: [x[0] * x[1], x[0] + x[1]][:1], {"multiply": 1}),
        "opposites": (lambda x: [x[0] - x[1], x[1] - x[0]], {"subtract": 1, "negative": 1}),
        "signs": (lambda x: [x[0] - (x[1] * -3.0)], {"multiply": 1, "add": 1}),
        "one sine": (
            lambda x: [sincos(x[0])[0] * sincos(-x[0])[0]],
            {"sine": 1, "multiply": 1, "negative": 1},
        ),
        "one cosine": (lambda x: [sincos(x[0])[1] - sincos(-x[0])[1]], {}),
        "right angles": (lambda x: [sincos(x[0] - np.pi / 2)[0] - sincos(np.pi - x[0])[1]], {}),
        "powers": (lambda x: [x[0] ** 3], {"multiply": 2}),
        "equal choices": (lambda x: [where_less(x[0], 1.0, x[1], x[1])], {}),
    }
    found = {name: counts(function) for name, (function, _) in cases.items()}
    assert found == {name: expected for name, (_, expected) in cases.items()}


def test_functions_of_numbers_are_those_of_rows(rng):
    def every(x):
        s, c = sincos(x[0])
        chosen = where_less(x[0], x[1], s, where_less(0.0, x[1], c, 2.0))
        return [
            chosen,
            sign(x[0]),
            arctan(x[1]),
            square_root(x[0] * x[0]),
            1.0 / x[1],
            0.0 / x[0],
            x[0] / x[1],
        ]

    rows = rng.normal(size=(2, 50))
    found = record(lambda x: [every(x)], [2]).evaluate(rows.T)[0]
    np.testing.assert_allclose(found, np.stack(np.broadcast_arrays(*every(rows)), axis=1), rtol=1e-15)


@pytest.mark.parametrize(
    "branch",
    [lambda x: [x[0] if x[0] < 1.0 else x[1]], lambda x: [x[0] if x[0] else x[1]], lambda x: [x[0] ** 0.5]],
)
def test_branches_on_numbers_are_refused(branch):
    with pytest.raises(TypeError, match=r"branches on a|integer powers"):
        record(lambda x: [branch(x)], [2])


def test_every_kernel_records_itself(rng):
    """Outputs and packed results of all kernels on small trees, as in the interpreter on rows."""
    models = {name: m for name, m in zoo().items() if name in ("gripper", "random 1", "two_link_prismatic")}
    wrong = {}
    for kernel in all_kernels():
        if kernel.name == "floating_inverse":
            continue
        for name, mechanism in models.items():
            tree = tree_for(kernel, mechanism)
            inputs = [x[0] for x in random_inputs(kernel, tree, rng, 1)]
            sizes = [width(x, tree.n) for x in rows_of(kernel)[1]]

            def run(*rows, kernel=kernel, tree=tree, sizes=sizes):
                outputs, packed = interpreted(kernel, tree, rows, sizes)
                return outputs if packed is None else [*outputs, packed.ravel()]

            taped = record(run, [len(x) for x in inputs]).evaluate(*inputs)
            for new, old in zip(taped, run(*inputs), strict=True):
                error = np.abs(new - old).max(initial=0.0) / np.abs(old).max(initial=1e-300)
                if not error < 1e-11:
                    wrong[kernel.name, name] = error
    assert not wrong


def test_constants_of_the_model_are_folded():
    """A pendulum in its plane: one sine, and products with mass, length and gravity made in advance."""
    import kinetree as kt

    arm = kt.Builder("pendulum")
    arm.world.revolute("pin", axis="y").body("bob", kt.Inertia.point(2.0, (0.0, 0.0, -0.5)))
    tree = arm.build().tree
    found = record(lambda *rows: interpreted(RNEA_UNLOADED, tree, rows, [1])[0], [1, 1, 1])
    assert found.counts()["sine"] == 1 and "cosine" not in found.counts()
    assert sum(found.counts().values()) <= 6
    tau = found.evaluate([0.3], [5.0], [2.0])[0]
    np.testing.assert_allclose(tau, [0.5 * 2.0 + 9.81 * np.sin(0.3)], rtol=1e-14)
