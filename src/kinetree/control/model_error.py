"""Models that are a little wrong, as models of real robots are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.algebra.rotation import rotation_about
from kinetree.errors import InputError, must_be
from kinetree.model.expected import expect_mechanism
from kinetree.model.inertia import ROUNDING, Inertia
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Mechanism


def perturb(
    mechanism: Mechanism,
    seed: int | np.random.Generator,
    *,
    mass: float = 0.1,
    inertia: float = 0.1,
    center: float = 0.01,
    tilt: float = 0.0,
    friction: float = 0.0,
) -> Mechanism:
    """The mechanism with randomly perturbed inertias, as a wrong model for a controller.

    Each body's ``mass`` and each of its principal second moments about the center of mass (``inertia``)
    change by at most these fractions, its center of mass moves by at most ``center`` (m) along each axis, and
    its principal axes rotate by at most ``tilt`` (rad) about a random axis. ``friction``: fraction by which
    viscous and Coulomb friction of the joints change. Bodies stay physical: masses positive, moments within
    the triangle inequality. The same seed gives the same mechanism.

    >>> import kinetree as kt
    >>> arm = kt.zoo.gripper()
    >>> wrong = perturb(arm, 1, mass=0.2)
    >>> 0.8 < wrong.mass / arm.mass < 1.2 and wrong.mass != arm.mass
    True
    """
    expect_mechanism(mechanism)
    rng = _generator(seed)
    parts = [(mass, "mass"), (inertia, "inertia"), (friction, "friction")]
    m, s, f = (_part(value, what) for value, what in parts)
    shift, turn = _size(center, "center", "m"), _size(tilt, "tilt", "rad")
    links = []
    for link in mechanism.links:
        body = replace(link.body, inertia=_other_inertia(link.body.inertia, rng, m, s, shift, turn))
        links.append(replace(link, body=body, joint=_other_friction(link.joint, rng, f)))
    return replace(mechanism, name=f"{mechanism.name} perturbed", links=tuple(links))


def _other_inertia(
    inertia: Inertia, rng: np.random.Generator, mass: float, moment: float, shift: float, turn: float
) -> Inertia:
    """Another body of similar mass and size; as many random numbers are drawn for every body."""
    by_mass, *by_moment = rng.uniform(-1.0, 1.0, 4)
    moved = rng.uniform(-1.0, 1.0, 3)
    axis, angle = rng.standard_normal(3), rng.uniform(-1.0, 1.0)
    if inertia.is_zero:
        return inertia
    S = 0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment
    sizes, V = np.linalg.eigh(S)
    if sizes[0] < -ROUNDING * sizes[-1]:  # not the inertia of a body: scaling keeps what sense it has
        other = (1.0 + moment * by_moment[0]) * inertia.moment
    else:
        S = (V * (np.maximum(sizes, 0.0) * (1.0 + moment * np.array(by_moment)))) @ V.T
        other = np.trace(S) * np.eye(3) - S
    R = rotation_about(axis / np.linalg.norm(axis), turn * angle)
    other = R @ other @ R.T
    return Inertia(
        inertia.mass * (1.0 + mass * by_mass),
        inertia.center + shift * moved if inertia.mass > 0.0 else inertia.center,
        0.5 * (other + other.T),
        inertia.allow_unphysical,
    )


def _other_friction(joint: Joint, rng: np.random.Generator, part: float) -> Joint:
    if not any(x.any() for x in (joint.viscous, joint.coulomb, joint.coulomb_reverse)):
        return joint
    by = rng.uniform(-1.0, 1.0, (2, joint.n_dof))
    viscous, dry = 1.0 + part * by
    return replace(
        joint,
        viscous=joint.viscous * viscous,
        coulomb=joint.coulomb * dry,
        coulomb_reverse=joint.coulomb_reverse * dry,
    )


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    if isinstance(seed, np.random.Generator):
        return seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(must_be("seed", "an integer >= 0 or a random generator", seed))
    return np.random.default_rng(seed)


def _part(value: float, what: str) -> float:
    x = number(value, what)
    if not 0.0 <= x < 1.0:
        raise InputError(must_be(what, "a fraction from 0 to below 1", x, "g"))
    return x


def _size(value: float, what: str, unit: str) -> float:
    x = number(value, what)
    if x < 0.0:
        raise InputError(must_be(what, f">= 0 {unit}", x, "g"))
    return x
