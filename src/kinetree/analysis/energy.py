"""Energies, momentum and the center of mass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import all_axes, on_axes
from kinetree.dynamics.evaluate import batch_shape, evaluate
from kinetree.dynamics.springs import spring_energy
from kinetree.errors import InputError
from kinetree.kernels import energy
from kinetree.model.expected import expect_mechanism
from kinetree.model.kept import once_per_tree
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree


def kinetic_energy(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike) -> Array:
    """T (...) in J: qd^T M qd / 2, armature included.

    >>> import kinetree as kt
    >>> float(kt.kinetic_energy(kt.zoo.two_link_point_masses(), [0, 0], [1, 0]).round(9))
    2.5
    """
    expect_mechanism(mechanism)
    return _quantities(mechanism, q, qd)[..., energy.KINETIC]


def potential_energy(mechanism: Mechanism, q: ArrayLike) -> Array:
    """V (...) in J: -sum m g.c over all bodies, and the energy of all springs.

    k (q - rest)^2 / 2 of joints, k (l - l0)^2 / 2 of springs between bodies.

    >>> import kinetree as kt
    >>> float(kt.potential_energy(kt.zoo.gripper(), [0, 0, 0, 0]))
    0.0
    """
    expect_mechanism(mechanism)
    still = _quantities(mechanism, q, np.zeros(mechanism.n_dof))
    potential: Array = still[..., energy.POTENTIAL] + _further(mechanism, q)
    return potential


def kinetic_and_potential(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike) -> tuple[Array, Array]:
    """Kinetic and potential energy (...) in J, from one evaluation."""
    found = _quantities(mechanism, q, qd)
    return found[..., energy.KINETIC], found[..., energy.POTENTIAL] + _further(mechanism, q)


def axis_energies(tree: Tree, q: Array, qd: Array) -> tuple[Array, Array]:
    """Kinetic and potential energy (...) in J of all that moves and of joint springs, at axes' q and qd."""
    (found,) = evaluate(energy.ENERGY, tree, [q, qd], [energy.SIZE])
    return found[..., energy.KINETIC], found[..., energy.POTENTIAL]


def fixed_energy(tree: Tree) -> float:
    """Potential energy (J) of the bodies that are fixed to the world."""
    return -float(_fixed_moment(tree) @ tree.gravity)


def _further(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Potential energy of bodies that are fixed to the world, of springs between bodies and in cut joints."""
    tree = mechanism.tree
    fixed = np.asarray(fixed_energy(tree))
    if mechanism.loops:
        from kinetree.dynamics.loops.coordinates import cut_energy, has_cut_forces

        if has_cut_forces(mechanism):
            fixed = fixed + cut_energy(mechanism, given(mechanism, q, "q"))
    if tree.springs is None:
        return fixed
    return np.asarray(fixed + spring_energy(tree, all_axes(tree, given(mechanism, q, "q"))))


def center_of_mass(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Center of mass of the whole mechanism in the world, (..., 3) in m.

    >>> import kinetree as kt
    >>> kt.center_of_mass(kt.zoo.gripper(), [0, 0, 0, 0]).round(4).tolist()
    [0.095, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    if mechanism.mass == 0.0:
        raise InputError(f"mechanism '{mechanism.name}' has no mass, so it has no center of mass")
    still = _quantities(mechanism, q, np.zeros(mechanism.n_dof))
    moment = still[..., energy.MOMENT : energy.MOMENT + 3] + _fixed_moment(mechanism.tree)
    center: Array = moment / mechanism.mass
    return center


def momentum(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, about: ArrayLike | None = None) -> Array:
    """Linear (kg m/s) and angular momentum (kg m^2/s), (..., 6), in world axes.

    Angular momentum is about the world's origin, or about the points ``about`` (..., 3), e.g. the center of
    mass. Without external loads and gravity both stay constant.

    >>> import kinetree as kt
    >>> kt.momentum(kt.zoo.gripper(), [0, 0, 0, 0], [1, 0, 0, 0]).round(4).tolist()
    [0.0, 0.095, 0.0, 0.0, 0.0, 0.0118]
    """
    expect_mechanism(mechanism)
    result = _quantities(mechanism, q, qd)
    linear = result[..., energy.LINEAR : energy.LINEAR + 3]
    angular = result[..., energy.ANGULAR : energy.ANGULAR + 3]
    if about is not None:
        point = finite(numbers(about, "about"), "about")
        if point.shape[-1:] != (3,):
            raise InputError(f"about must be points (..., 3), got shape {point.shape}")
        batch = batch_shape(point, linear)
        linear, angular = (np.broadcast_to(x, (*batch, 3)) for x in (linear, angular))
        angular = angular - np.cross(point, linear)
    return np.concatenate([linear, angular], axis=-1)


def _quantities(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike) -> Array:
    tree = mechanism.tree
    q, qd = on_axes(tree, given(mechanism, q, "q"), given(mechanism, qd, "qd"))
    (result,) = evaluate(energy.ENERGY, tree, [q, qd], [energy.SIZE])
    return result


@once_per_tree
def _fixed_moment(tree: Tree) -> Array:
    """First moment of the bodies that are fixed to the world (3,); summed once."""
    fixed = tree.body_axis == WORLD_AXIS
    R, p = tree.body_rotation[fixed], tree.body_position[fixed]
    moment = (R @ tree.body_first_moment[fixed][:, :, None])[..., 0] + tree.body_mass[fixed][:, None] * p
    total: Array = moment.sum(axis=0)
    return total
