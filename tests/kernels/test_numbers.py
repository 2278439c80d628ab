"""One source, many kinds of number: NumPy rows, single floats, complex numbers, machine code."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.kernels.aba import ABA, ABA_UNLOADED
from kinetree.kernels.energy import ENERGY, SIZE
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.rnea import RNEA, RNEA_UNLOADED
from support import trees
from support.cases import assert_close
from support.derivatives import gradient
from support.each import each
from support.interpreted import run


def sizes(kernel, n):
    return {
        RNEA: [n, 6 * n],
        RNEA_UNLOADED: [n],
        ABA: [n, n],
        ABA_UNLOADED: [n, n],
        ENERGY: [SIZE],
        KINEMATICS: [12 * n, 6 * n, 6 * n],
    }[kernel]


def inputs(kernel, robot, rng, batch=()):
    """Random rows for a kernel: q, qd, qdd or tau, and loads in the axes' frames."""
    rows = [np.moveaxis(x, -1, 0) for x in trees.state(robot, rng, batch)][: min(kernel.inputs, 3)]
    if kernel.inputs == 4:
        rows.append(rng.uniform(-2, 2, (6 * robot.tree.n, *batch)))
    return rows


KERNELS = [RNEA, RNEA_UNLOADED, ABA, ABA_UNLOADED, ENERGY, KINEMATICS]
every_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)


@pytest.fixture
def tree(rng):
    return trees.random_tree(rng, 10, passive=True)


@every_kernel
def test_rows_of_states_equal_single_floats(kernel, tree, rng):
    rows = inputs(kernel, tree, rng, (5,))
    together = run(kernel, tree, rows, sizes(kernel, tree.tree.n))
    for k in range(5):
        alone = run(kernel, tree, [x[:, k].copy() for x in rows], sizes(kernel, tree.tree.n))
        for many, one in zip(together, alone, strict=True):
            assert_close(many[:, k], one, 1e-14)


@every_kernel
def test_complex_numbers_have_the_same_real_part(kernel, tree, rng):
    rows = inputs(kernel, tree, rng, (3,))
    real = run(kernel, tree, rows, sizes(kernel, tree.tree.n))
    turned = run(kernel, tree, [x + 0j for x in rows], sizes(kernel, tree.tree.n))
    for a, b in zip(real, turned, strict=True):
        assert_close(b.real, a, 1e-14)
        assert not b.imag.any()


@every_kernel
def test_complex_step_agrees_with_differences(kernel, tree, rng):
    rows, n = inputs(kernel, tree, rng), sizes(kernel, tree.tree.n)
    for which, x in enumerate(rows):
        exact = gradient(kernel, tree, rows, which, n)
        step, weights = 1e-3, np.array([-1, 9, -45, 45, -9, 1]) / 60
        moved = [np.repeat(y[:, None], 6 * len(x), axis=1) for y in rows]
        offsets = np.repeat(np.array([-3, -2, -1, 1, 2, 3]) * step, len(x))
        moved[which] = moved[which] + offsets * np.tile(np.eye(len(x)), 6)
        for slope, value in zip(exact, run(kernel, tree, moved, n), strict=True):
            differences = np.tensordot(value.reshape(len(value), 6, len(x)), weights, axes=(1, 0)) / step
            assert_close(differences, slope, 1e-8)


def test_loads_of_zero_change_nothing(tree, rng):
    q, qd, qdd = inputs(RNEA_UNLOADED, tree, rng, (2,))
    none = np.zeros((6 * tree.tree.n, 2))
    n = tree.tree.n
    assert_close(
        run(RNEA, tree, [q, qd, qdd, none], [n, 0])[0], run(RNEA_UNLOADED, tree, [q, qd, qdd], [n])[0], 1e-15
    )
    assert_close(
        run(ABA, tree, [q, qd, qdd, none], [n, n])[0], run(ABA_UNLOADED, tree, [q, qd, qdd], [n, n])[0], 1e-12
    )


def test_pivots_are_those_of_the_mass_matrix(tree, rng):
    """M = U D U^T, eliminated from the last coordinate ([Mohan2007], [Shah2013]): det M = product of the
    pivots."""
    q, qd, tau = inputs(ABA_UNLOADED, tree, rng)
    _, pivots = run(ABA_UNLOADED, tree, [q, qd, tau], [tree.tree.n] * 2)
    M = kt.mass_matrix(tree, q)
    trailing = [np.linalg.slogdet(M[k:, k:])[1] for k in range(len(M))] + [0.0]
    assert_close(np.log(pivots), -np.diff(trailing), 1e-10)


@each("scale", [1e-300, 1e-8, 1.0, 1e3, 1e6, 1e9, 1e15, 1e18, 1e300])
def test_sine_and_cosine_of_any_angle(scale, rng):
    """Of compiled blocks, of their last few states, and of single states."""
    robot = kt.Builder("hinge")
    robot.world.revolute("hinge").body("pointer", kt.Inertia.rod(1.0, (1, 0, 0)))
    hinge = robot.build()
    angles = np.r_[0.0, -0.0, scale * rng.uniform(-1, 1, 60), scale * np.array([np.pi, np.pi / 2, np.pi / 4])]
    R = kt.forward_kinematics(hinge, angles[:, None]).rotation[:, 0]
    assert_close(R[:, :2, 0], np.stack([np.cos(angles), np.sin(angles)], axis=-1), 3e-16)
    weight = 9.81 / 2
    for angle in angles[:5]:
        tau = kt.inverse_dynamics(
            hinge.with_gravity((0, -9.81, 0)), np.array([angle]), np.zeros(1), np.zeros(1)
        )
        assert_close(tau, [weight * np.cos(angle)], 1e-15)


@pytest.mark.parametrize("batch", [(), (1,), (3,), (4,), (6,)], ids=str)
def test_compiled_code_equals_the_interpreter(tree, rng, batch, monkeypatch):
    q, qd, qdd = trees.state(tree, rng, batch)
    load = rng.uniform(-2, 2, (tree.n_bodies, 6))

    def answers(tree):
        return {
            "inverse": kt.inverse_dynamics(tree, q, qd, qdd),
            "loaded inverse": kt.inverse_dynamics(tree, q, qd, qdd, load),
            "forward": kt.forward_dynamics(tree, q, qd, qdd),
            "loaded forward": kt.forward_dynamics(tree, q, qd, qdd, load),
            "mass matrix": kt.mass_matrix(tree, q),
            "reactions": kt.joint_reactions(tree, q, qd, qdd, load),
            "energy": kt.kinetic_energy(tree, q, qd),
            "momentum": kt.momentum(tree, q, qd),
            "accelerations": kt.analysis.body_accelerations(tree, q, qd, qdd),
        }

    compiled = answers(tree)
    monkeypatch.setattr("kinetree.engine.run.INTERPRET", True)
    for name, value in answers(replace(tree)).items():  # a copy that remembers no compiled code
        assert_close(compiled[name], value, 1e-11 if "forward" in name else 1e-13)
