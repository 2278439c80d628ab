"""Mechanisms of any size, for tests and measurements."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES, rotation_about
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.builder import BodyHandle, Builder
from kinetree.model.inertia import Inertia
from kinetree.model.joint_kind import KINDS
from kinetree.model.mechanism import EARTH, Mechanism

MOST = 100_000  # bodies


def chain(n: int = 6, length: float = 0.3, mass: float = 1.0, gravity: ArrayLike = EARTH) -> Mechanism:
    """Serial chain of n equal cylinders in space; the joint axes alternate between z and y.

    Each cylinder lies along x at q = 0 and has the given length (m) and mass (kg) and a tenth of the length
    as radius.

    >>> import kinetree as kt
    >>> kt.zoo.chain()
    Mechanism('chain', 6 bodies, 6 degrees of freedom)
    """
    cylinder = Inertia.cylinder(mass, length / 10, length, axis="x", center=(length / 2, 0.0, 0.0))
    robot = Builder("chain", gravity=gravity)
    body = robot.world
    for k in range(_count(n, "chain")):
        at = (length if k else 0.0, 0.0, 0.0)
        joint = body.revolute(f"joint{k + 1}", at=at, axis="y" if k % 2 else "z")
        body = joint.body(f"link{k + 1}", cylinder)
    return robot.build()


def random_tree(
    seed: int = 0, n: int = 12, kinds: Sequence[str] | None = None, gravity: ArrayLike = EARTH
) -> Mechanism:
    """Random tree of n bodies with all joint kinds, axes and Euler sequences; the same seed, the same tree.

    ``kinds`` limits the joint kinds; each occurs once before any comes again, and the first body is not
    welded to the world if it can be helped. Inertias are full and physical, placements arbitrary, and about
    half of the bodies start a branch.

    >>> import kinetree as kt
    >>> kt.zoo.random_tree()
    Mechanism('random_tree', 12 bodies, 30 degrees of freedom)
    """
    rng = np.random.default_rng(_count(seed, "seed of random_tree", least=0, most=2**63))
    order = _kind_order(rng, _count(n, "n of random_tree"), kinds)
    robot = Builder("random_tree", gravity=gravity)
    bodies: list[BodyHandle] = []
    for k, kind in enumerate(order):
        parent = robot.world
        if k:
            parent = bodies[-1] if rng.random() < 0.5 else bodies[rng.integers(k)]
        place = {"at": rng.uniform(-0.4, 0.4, 3), "rotation": _rotation(rng)}
        joint = parent.joint(f"joint{k + 1}", kind, **place, **_axes(rng, kind))
        bodies.append(joint.body(f"body{k + 1}", _inertia(rng)))
    return robot.build()


def _count(n: int, what: str, least: int = 1, most: int = MOST) -> int:
    if isinstance(n, bool) or not isinstance(n, Integral) or not least <= n <= most:
        raise InputError(f"{what} must be an integer from {least} to {most}, got {shown(n)}")
    return int(n)


def _kind_order(rng: np.random.Generator, n: int, kinds: Sequence[str] | None) -> list[str]:
    """Shuffled rounds through the kinds; a kind that moves comes first."""
    pool = list(KINDS) if kinds is None else list(kinds)
    for kind in pool:
        if kind not in KINDS:
            raise InputError(f"random_tree: {unknown_name('joint kind', kind, KINDS)}")
    if not pool:
        raise InputError("random_tree: kinds must name at least one joint kind, got none")
    order: list[str] = []
    while len(order) < n:
        order.extend(pool[k] for k in rng.permutation(len(pool)))
    moving = next((k for k, kind in enumerate(order) if not KINDS[kind].is_fixed), 0)
    order[0], order[moving] = order[moving], order[0]
    return order[:n]


def _axes(rng: np.random.Generator, kind: str) -> dict[str, Any]:
    """A direction or a sequence, where the kind leaves a choice."""
    if KINDS[kind].one_axis:
        return {"axis": rng.standard_normal(3)}
    if KINDS[kind].sequence is None:
        return {}
    choices = THREE_AXIS_SEQUENCES if KINDS[kind].has_three_turns else TWO_AXIS_SEQUENCES
    return {"sequence": choices[rng.integers(len(choices))]}


def _rotation(rng: np.random.Generator) -> Any:
    return rotation_about(rng.standard_normal(3), rng.uniform(-pi, pi))


def _inertia(rng: np.random.Generator) -> Inertia:
    """A body with second moments m R diag(s^2) R^T about its center: I = tr(S) 1 - S, always physical."""
    mass, R, spread = rng.uniform(0.5, 3.0), _rotation(rng), rng.uniform(0.05, 0.2, 3)
    S = mass * (R * spread**2) @ R.T
    moment = np.trace(S) * np.eye(3) - S
    return Inertia(mass, rng.uniform(-0.2, 0.2, 3), 0.5 * (moment + moment.T))
