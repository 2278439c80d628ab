"""First derivatives in closed form against complex steps through the algorithms they belong to."""

import numpy as np
import pytest

from kinetree.kernels.load_gradient import LOAD
from kinetree.kernels.reaction_gradient import reaction_places
from kinetree.kernels.regressor import regressor_places
from support import trees
from support.cases import assert_close
from support.kernels import KERNELS, both_trees, on_numbers, one_state, tree_for
from support.slopes import STEP, by_complex_step

TOLERANCE = 1e-12


def test_gradient_of_inverse_dynamics(robot, rng):
    """Every joint kind, springs, friction, armature, welds, any gravity."""
    for tree in both_trees(robot):
        inputs = one_state("rnea_unloaded", tree, rng)
        found = on_numbers(KERNELS["rnea_gradient"], tree, inputs)
        assert_close(found["tau"], on_numbers(KERNELS["rnea_unloaded"], tree, inputs)["tau"], TOLERANCE)
        for which in range(3):
            exact = by_complex_step(KERNELS["rnea_unloaded"], tree, inputs, which)["tau"]
            assert exact.any() or not tree.turns.any()
            assert_close(found[f"matrix {which}"], exact, TOLERANCE)


def test_weighted_gradient_of_inverse_dynamics(robot, rng):
    for tree in both_trees(robot):
        *state, y = inputs = one_state("rnea_adjoint", tree, rng)
        found = on_numbers(KERNELS["rnea_adjoint"], tree, inputs)
        assert_close(found["tau"], on_numbers(KERNELS["rnea_unloaded"], tree, state)["tau"], TOLERANCE)
        for which, key in enumerate(("dq", "dqd", "dqdd")):
            exact = by_complex_step(KERNELS["rnea_unloaded"], tree, state, which)["tau"]
            assert_close(found[key], y @ exact, TOLERANCE)


def test_gradient_of_forward_dynamics(robot, rng):
    """Measured as torques, M d(qdd): M may be badly conditioned."""
    tree = robot.tree
    inputs = one_state("aba_unloaded", tree, rng)
    found = on_numbers(KERNELS["aba_gradient"], tree, inputs)
    assert_close(found["torque"], inputs[2], TOLERANCE * np.abs(found["qdd"]).max())
    M = on_numbers(KERNELS["crba"], tree, inputs[:1])["matrix 0"]
    for which in range(3):
        exact = by_complex_step(KERNELS["aba_unloaded"], tree, inputs, which)["qdd"]
        scale = (np.abs(M) @ np.abs(exact)).max() or 1.0
        assert_close(M @ found[f"matrix {which}"] / scale, M @ exact / scale, TOLERANCE)


def reactions_in_body_axes(tree, slope):
    """(n_bodies, 6, ...) from reactions per axis in axis frames."""
    on_axes = slope.reshape(tree.n, 2, 3, -1)[tree.body_axis]
    turned = np.einsum("bji,bkjc->bkic", tree.body_rotation, on_axes)
    return turned.reshape(tree.n_bodies, 6, -1)


def test_gradient_of_joint_reactions(robot, rng):
    """Reactions in every joint, welds included, by every coordinate, even those that welds lock."""
    kernel = KERNELS["reaction_gradient"]
    tree = tree_for(kernel, robot)
    state = one_state("reaction_gradient", tree, rng)
    free = [*state, np.zeros(6 * tree.n)]
    found = on_numbers(kernel, tree, state)
    assert_close(
        found["reaction"].reshape(tree.n, 6)[tree.body_axis],
        reactions_in_body_axes(tree, on_numbers(KERNELS["rnea"], tree, free)["reaction"])[..., 0],
        TOLERANCE,
    )
    for which, key in enumerate(("dq", "dqd", "dqdd")):
        exact = by_complex_step(KERNELS["rnea"], tree, free, which)["reaction"]
        assert_close(by_body(tree, found[f"packed {key}"]), reactions_in_body_axes(tree, exact), TOLERANCE)


def by_body(tree, packed):
    """(n_bodies, 6, n) from packed derivatives of reactions."""
    full = np.zeros((tree.n, tree.n, 6))
    for row, place in zip(packed, reaction_places(tree), strict=True):
        full[place] = row
    return np.swapaxes(full, 1, 2)[tree.body_axis]


def effect_of_loads(tree, q, load):
    """Torques and reactions of loads on rows (n, ...).

    Loads fixed in the world are turned to the axes' frames as these turn.
    """
    zero = 0.0 * q
    pose = on_numbers(KERNELS["kinematics"], tree, [q, zero, zero])["pose"].reshape(tree.n, 12, -1)
    R = pose[:, :9].reshape(tree.n, 3, 3, -1)
    parts = load.reshape(tree.n, LOAD)
    world = np.einsum("ijkc,ij->ikc", R, parts[:, 6:9]) + 0.0 * q[:, None]
    V = np.einsum("ijkc,ikl->ijlc", R, parts[:, 12:].reshape(tree.n, 3, 3))  # sum of (R x) f^T
    moment = np.stack([V[:, 1, 2] - V[:, 2, 1], V[:, 2, 0] - V[:, 0, 2], V[:, 0, 1] - V[:, 1, 0]], axis=1)
    moment = np.einsum("ijkc,ijc->ikc", R, moment + parts[:, 9:12, None])
    wrench = np.concatenate([world + parts[:, :3, None], moment + parts[:, 3:6, None]], axis=1)
    loaded, free = (
        on_numbers(KERNELS["rnea"], tree, [q, zero, zero, factor * wrench.reshape(6 * tree.n, -1)])
        for factor in (1.0, 0.0)
    )
    return {key: loaded[key] - free[key] for key in loaded}


def slopes_of_loads(tree, q, load):
    """Derivatives of torques and reactions, and the size of what cancelled on the way."""
    moved = effect_of_loads(tree, q[:, None] + 1j * STEP * np.eye(tree.n), load)
    weight = on_numbers(KERNELS["rnea_gradient"], tree, [q, 0 * q, 0 * q])["matrix 0"]
    return moved["tau"].imag / STEP, moved["reaction"].imag / STEP, max(1.0, np.abs(weight).max())


def test_gradient_of_loads(robot, rng):
    """Forces and moments fixed in the bodies and in the world."""
    for tree in both_trees(robot):
        q, load = one_state("load_gradient", tree, rng)
        found = on_numbers(KERNELS["load_gradient"], tree, [q, load])["matrix 0"]
        exact, _, scale = slopes_of_loads(tree, q, load)
        assert exact.any() or not tree.turns.any()
        assert_close(found / scale, exact / scale, TOLERANCE)


def test_gradient_of_reactions_to_loads(robot, rng):
    tree = robot.jointed_tree
    q, load = one_state("load_reaction", tree, rng)
    found = by_body(tree, on_numbers(KERNELS["load_reaction"], tree, [q, load])["packed dq"])
    _, exact, scale = slopes_of_loads(tree, q, load)
    assert exact.any() or not tree.turns.any()
    assert_close(found / scale, reactions_in_body_axes(tree, exact) / scale, TOLERANCE)


def test_torques_are_linear_in_the_inertial_parameters(robot, rng):
    """tau = Y pi + armature, springs, friction, with pi the mass and moments of the bodies."""
    tree = robot.jointed_tree
    state = one_state("regressor", tree, rng)
    found = on_numbers(KERNELS["regressor"], tree, state)
    rows = np.concatenate([found[f"packed {key}"] for key in ("m", "h", "J")], axis=1)
    body = {int(axis): k for k, axis in enumerate(tree.body_axis)}
    q, qd, qdd = state
    tau = (
        tree.armature * qdd
        + tree.viscous * qd
        + tree.coulomb * np.sign(qd)
        + tree.coulomb_bias * np.abs(np.sign(qd))
        + tree.stiffness * (q - tree.rest)
    )
    for row, (torque, carrier) in zip(rows, regressor_places(tree), strict=True):
        k = body[carrier]
        S = tree.body_second_moment[k]
        moment = (np.trace(S) * np.eye(3) - S)[np.triu_indices(3)]
        tau[torque] += row @ np.concatenate([[tree.body_mass[k]], tree.body_first_moment[k], moment])
    assert_close(tau, on_numbers(KERNELS["rnea_unloaded"], tree, state)["tau"], TOLERANCE)


@pytest.mark.parametrize("kernel", ["rnea_gradient", "rnea_adjoint", "aba_gradient"])
def test_friction_at_rest_has_no_slope(kernel, rng):
    """At qd = 0 Coulomb friction is not differentiable; its slope is taken as zero."""
    tree = trees.random_tree(rng, 5, passive=True).tree
    assert tree.coulomb.any()
    inputs = one_state(kernel, tree, rng)
    inputs[1][:] = 0.0
    found = on_numbers(KERNELS[kernel], tree, inputs)
    for value in found.values():
        assert np.isfinite(value).all()
    if kernel == "rnea_gradient":
        exact = by_complex_step(KERNELS["rnea_unloaded"], tree, inputs, 1)["tau"]
        assert_close(found["matrix 1"], exact, TOLERANCE)
