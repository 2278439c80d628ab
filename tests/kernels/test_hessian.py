"""Second derivatives in closed form against steps through first derivatives and through inverse dynamics."""

import numpy as np
import pytest

from support.cases import assert_close
from support.kernels import KERNELS, both_trees, on_numbers, one_state
from support.slopes import by_complex_step, mixed

TOLERANCE = 1e-12
Q, QD, QDD = 0, 1, 2
BLOCKS = {0: (Q, Q), 1: (Q, QD), 2: (QD, QD), 3: (Q, QDD)}  # matrix of the kernel: row, column


def test_blocks_by_steps_of_the_gradient(robot, rng):
    for tree in both_trees(robot):
        *state, y = inputs = one_state("rnea_hessian", tree, rng)
        found = on_numbers(KERNELS["rnea_hessian"], tree, inputs)
        for which in (Q, QD, QDD):
            slopes = by_complex_step(KERNELS["rnea_gradient"], tree, state, which)
            for block, (row, column) in BLOCKS.items():
                exact = None
                if which == column:  # d/d(column) of the gradient with respect to the row
                    exact = np.einsum("i,ikc->kc", y, slopes[f"matrix {row}"])
                elif which == row:
                    exact = np.einsum("i,ikc->kc", y, slopes[f"matrix {column}"]).T
                if exact is not None:
                    assert_close(found[f"matrix {block}"], exact, TOLERANCE)


def test_the_gradient_is_that_of_the_adjoint(robot, rng):
    inputs = one_state("rnea_hessian", robot.tree, rng)
    found = on_numbers(KERNELS["rnea_hessian"], robot.tree, inputs)
    for key, value in on_numbers(KERNELS["rnea_adjoint"], robot.tree, inputs).items():
        assert_close(found[key], value, 1e-14)


def test_blocks_by_two_steps_through_inverse_dynamics(robot, rng):
    """Dual numbers in one direction, complex step in the other: no other derivative is trusted."""
    tree = robot.tree
    *state, y = inputs = one_state("rnea_hessian", tree, rng)
    found = on_numbers(KERNELS["rnea_hessian"], tree, inputs)
    exact = {}
    for first in (Q, QD, QDD):
        for second in range(first, 3):
            slopes = mixed(KERNELS["rnea_unloaded"], tree, state, first, second)["tau"]
            exact[first, second] = np.einsum("i,ikl->kl", y, slopes)
    for block, place in BLOCKS.items():
        assert_close(found[f"matrix {block}"], exact.pop(place), TOLERANCE)
    assert exact.keys() == {(QD, QDD), (QDD, QDD)}  # what the kernel leaves out is zero
    for rest in exact.values():
        assert_close(rest, np.zeros((tree.n, tree.n)), TOLERANCE)


def test_symmetry(robot, rng):
    found = on_numbers(KERNELS["rnea_hessian"], robot.tree, one_state("rnea_hessian", robot.tree, rng))
    for block in (0, 2):
        assert np.array_equal(found[f"matrix {block}"], found[f"matrix {block}"].T)


def test_loads(robot, rng):
    tree = robot.tree
    q, y, load = one_state("load_hessian", tree, rng)
    found = on_numbers(KERNELS["load_hessian"], tree, [q, y, load])["matrix 0"]
    slopes = by_complex_step(KERNELS["load_gradient"], tree, [q, load], 0)["matrix 0"]
    exact = np.einsum("i,ikc->kc", y, slopes)
    assert_close(exact, exact.T, TOLERANCE)
    assert_close(found, exact, TOLERANCE)


@pytest.mark.parametrize("name", ["rnea_hessian", "rnea_adjoint"])
def test_weights_act_linearly(name, robot, rng):
    *state, y = one_state(name, robot.tree, rng)
    y2 = rng.standard_normal(len(y))
    one, two, both = (on_numbers(KERNELS[name], robot.tree, [*state, w]) for w in (y, y2, 2 * y - 3 * y2))
    for key in both:
        if key != "tau":
            assert_close(both[key], 2 * one[key] - 3 * two[key], TOLERANCE)
