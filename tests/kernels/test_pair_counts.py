"""Operation counts of the derivatives: so much per axis, so much per pair of an axis and an ancestor."""

import numpy as np
import pytest

from kinetree.kernels.model_table import n_pairs
from kinetree.kernels.number import count_operations, counting
from support.each import each
from support.equal_links import ball_and_hinges, branched, chain, star
from support.kernels import KERNELS, on_numbers, random_inputs

BY_AXIS = ("rnea_unloaded", "rnea_adjoint", "kinematics")
BY_PAIR = ("crba", "rnea_gradient", "rnea_hessian", "load_gradient", "load_hessian")


def operations(name, robot):
    """Multiplications, additions, divisions, sines with cosines."""
    kernel, model = KERNELS[name], robot.tree
    inputs = random_inputs(kernel, model, np.random.default_rng(0), 1)
    rows = [counting(x[0]) for x in inputs]
    return np.array(list(count_operations(lambda: on_numbers(kernel, model, rows)).values()))


def features(robot):
    """What the work can be proportional to: axes, pairs; zeros and constants near the world cost nothing."""
    model = robot.tree
    root = model.parent < 0
    return [model.n, n_pairs(model), int(root.sum()), int((root[model.parent] & ~root).sum())]


def fitted(name):
    """Operations per axis, pair, root and child of a root: exact, or the model of the cost is wrong."""
    models = [chain(1), chain(2), chain(3), chain(4), chain(7), star(3), branched([-1, 0, 0, 0, 1, 1])]
    A, b = np.array([features(m) for m in models]), np.array([operations(name, m) for m in models])
    cost = np.linalg.lstsq(A, b, rcond=None)[0]
    assert np.abs(A @ cost - b).max() < 1e-6, name
    assert np.abs(cost - np.rint(cost)).max() < 1e-6
    return np.rint(cost).astype(int)


@each("name", BY_AXIS + BY_PAIR)
def test_cost_is_linear_in_axes_and_pairs(name):
    cost = fitted(name)
    robot = branched([-1, 0, 1, 1, 3, 0, -1, 6, 6, 8, 8, 2])
    assert n_pairs(robot.tree) > 2 * robot.tree.n
    assert operations(name, robot).tolist() == (features(robot) @ cost).tolist()
    multiplications, additions = cost[1, :2]
    if name in BY_PAIR:
        assert multiplications > 0 and additions > 0
    else:
        assert multiplications == additions == 0  # O(n), however long the chains
    assert cost[0, 3] == 1 and cost[1, 3] == 0  # one sine and cosine per hinge, none per pair


def test_gradient_costs_a_few_dot_products_per_pair():
    """Five entries of the gradient, six of the Hessian, each at most four dot products of three numbers."""
    assert fitted("crba")[1, 0] == 6
    assert fitted("rnea_gradient")[1, 0] <= 5 * 12
    assert fitted("rnea_hessian")[1, 0] <= 6 * 18


def test_weighted_gradient_is_cheaper_than_the_gradient():
    for n in (6, 20, 40):
        assert operations("rnea_adjoint", chain(n)).sum() < operations("rnea_gradient", chain(n)).sum()


@pytest.mark.parametrize("name", ["rnea_adjoint", "rnea_gradient", "rnea_hessian", "aba_gradient", "energy"])
def test_empty_bodies_are_skipped(name):
    """A ball joint has the axes of three hinges, but only one body with mass."""
    few, many = (operations(name, robot) for robot in ball_and_hinges())
    assert few[0] < many[0] and few[1] < many[1]
    assert few[3] == many[3] == (6 if name == "aba_gradient" else 3)


def test_reaction_gradient_grows_with_its_entries():
    """A chain of n bodies has n^2 blocks, a star n."""
    chains = np.array([operations("reaction_gradient", chain(n)) for n in (3, 5, 7, 9)])
    assert (np.diff(chains, 3, axis=0) == 0).all()
    assert (np.diff(chains, 2, axis=0)[:, :2] > 0).all()
    stars = np.array([operations("reaction_gradient", star(n)) for n in (3, 5, 7)])
    assert (np.diff(stars, 2, axis=0) == 0).all()
