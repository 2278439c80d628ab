"""Mechanisms of any size, for tests and measurements."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import frozen
from kinetree.algebra.rotation import THREE_AXIS_SEQUENCES, TWO_AXIS_SEQUENCES, rotation_about
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.builder import BodyHandle, Builder
from kinetree.model.inertia import Inertia
from kinetree.model.joint_kind import KINDS
from kinetree.model.mechanism import EARTH, Mechanism

MOST = 100_000  # bodies
TILT = pi / 6  # of the governor's rods below the horizontal


def andrews_squeezer() -> Mechanism:
    """Andrews' squeezing mechanism: seven bodies in a plane, three loops through one point, and a spring.

    Problem A03; data of Giles (1978) and Manning (1981) as in Hairer and Wanner (1996), section VII.7, and
    Mazzia and Magherini (2008), names included; no gravity. The motor of ``beta`` gives 0.033 N m, from rest
    at q = (-0.0617138900142764, 0, 0.45527981916307, 0.487364979543843, 0.222668390165886, 1.23054744454982,
    -0.222668390165886). At 0.03 s beta is 15.810771195154; the published 15.81077119629904 differs by 1.1e-9.

    >>> import kinetree as kt
    >>> kt.zoo.andrews_squeezer()
    Mechanism('andrews_squeezer', 7 bodies, 7 coordinates in 3 closed loops)
    """
    build = Builder("andrews_squeezer", gravity=(0, 0, 0))
    k1 = _plate(build.world, "beta", "K1", (0, 0), 0.04325, (0.00092, 0), 2.194e-6, driven=True)
    k2 = _plate(k1, "theta", "K2", (0.007, 0), 0.00365, (-0.0115, 0), 4.41e-7)
    k3 = _plate(build.world, "gamma", "K3", (-0.03635, 0.03273), 0.02373, (0.01043, -0.01874), 5.255e-6)
    k5 = _plate(build.world, "delta", "K5", (-0.06934, -0.00227), 0.0705, (0.02308, 0.00916), 1.169e-5)
    k4 = _plate(k5, "phi", "K4", (0.04, 0), 0.00706, (0, -0.00579), 5.667e-7)
    k7 = _plate(build.world, "epsilon", "K7", (-0.06934, -0.00227), 0.05498, (-0.00449, -0.01228), 1.912e-5)
    k6 = _plate(k7, "omega", "K6", (0, -0.04), 0.00706, (0.00579, 0), 5.667e-7)
    for name, other, at in (("E3", k3, (0, -0.035, 0)), ("E4", k4, (0, -0.02, 0)), ("E6", k6, (0.02, 0, 0))):
        build.loop(name, k2, other, at_a=(-0.028, 0, 0), at_b=at)
    hook = (0.02, -0.018, 0)
    build.spring("spring", "world", k3, (0.014, 0.072, 0), hook, stiffness=4530.0, rest=0.07785)
    return build.build()


def flyball_governor() -> Mechanism:
    """Flyball governor: a spinning shaft, a slider on it, two rods with balls, coupled by stiff dampers.

    Problem A05: a tree. Shaft and rods are 1 m x 0.01 m x 0.01 m of 0.3 kg, the balls points of 5 kg, the
    slider a cube of 0.1 m and 3 kg; rods pinned at 0.05 m from the shaft, 30 degrees below the horizontal at
    q = 0; spring-dampers of 8e5 N/m and 4e4 N s/m from the middle of each rod to the side of the slider,
    0.5 m long at the start, q = (0, 0.5, 0, 0) and qd = (2 pi, 0, 0, 0). At 10 s the slider is at
    0.6196229170614 m. Integrate it with ``method="radau"``.

    >>> import kinetree as kt
    >>> kt.zoo.flyball_governor()
    Mechanism('flyball_governor', 4 bodies, 4 degrees of freedom)
    """
    build = Builder("flyball_governor")
    shaft = build.world.revolute("spindle").body("shaft", Inertia.box(0.3, (0.01, 0.01, 1.0), (0, 0, 0.5)))
    cube = Inertia.box(3.0, (0.1, 0.1, 0.1))
    slider = shaft.prismatic("guide", driven=False).body("slider", cube)
    arm = Inertia.box(0.3, (1.0, 0.01, 0.01), (0.5, 0, 0)) + Inertia.point(5.0, (1.0, 0, 0))
    for name, side, angle in (("right", 1.0, TILT), ("left", -1.0, pi - TILT)):
        c, s = cos(angle), sin(angle)
        pivot = shaft.revolute(
            f"{name}_pivot",
            at=(0.05 * side, 0, 1.0),
            rotation=((c, 0.0, s), (0.0, 1.0, 0.0), (-s, 0.0, c)),
            axis=(0, -side, 0),
            driven=False,
        )
        rod = pivot.body(f"{name}_rod", arm)
        points = (0.05 * side, 0, 0), (0.5, 0, 0)
        build.spring(f"{name}_coupler", slider, rod, *points, stiffness=8e5, damping=4e4, rest=0.5)
    return build.build()


def _plate(
    on: BodyHandle,
    joint: str,
    name: str,
    at: tuple[float, float],
    mass: float,
    center: tuple[float, float],
    moment: float,
    driven: bool = False,
) -> BodyHandle:
    """A body hinged to another in the plane, with its inertia about z; those about x and y play no part."""
    inertia = Inertia(mass, frozen([*center, 0.0]), frozen([0.6 * moment, 0.6 * moment, moment]))
    return on.revolute(joint, at=(*at, 0.0), driven=driven).body(name, inertia)


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
        raise InputError(must_be(what, f"an integer from {least} to {most}", n))
    return int(n)


def _kind_order(rng: np.random.Generator, n: int, kinds: Sequence[str] | None) -> list[str]:
    """Shuffled rounds through the kinds; a kind that moves comes first."""
    pool = list(KINDS) if kinds is None else list(kinds)
    for kind in pool:
        if kind not in KINDS:
            raise InputError(unknown_name("joint kind", kind, KINDS).after("random_tree: "))
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
