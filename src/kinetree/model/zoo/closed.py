"""Planar mechanisms with closed loops ([Shah2013], chapter 8): trees with cut joints.

All axes are along z, gravity along -y. Each loop names first the body on which the multiplier
lambda of the reference solutions acts, then the body that feels -lambda.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.builder import BodyHandle, Builder, JointHandle
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo.arms import DOWN_Y

FOUR_BAR_VARIANTS = ("table10.3", "table8.1")


def stewart(base: float = 0.35, platform: float = 0.25, height: float = 0.5) -> Mechanism:
    """Stewart platform (6-UPS): a plate of 2 kg on six legs whose lengths are driven.

    Legs of 0.25 kg and 0.15 kg go in pairs from a circle of radius ``base`` on the ground, by universal
    joints, to one of radius ``platform``, by spherical joints; at q = 0 the plate lies level at ``height``.

    >>> import kinetree as kt
    >>> kt.zoo.stewart()
    Mechanism('stewart', 13 bodies, 24 coordinates in 6 closed loops)
    """
    _positive("stewart", base=base, platform=platform, height=height)
    robot = Builder("stewart")
    plate = robot.world.free("plate", at=(0, 0, height), driven=False).body(
        "plate", Inertia.cylinder(2.0, platform, 0.02)
    )
    for k in range(6):
        turn = 2.0 * pi * (k // 2) / 3.0
        low = _on_circle(base, turn + (-1) ** (k + 1) * 0.3)
        high = _on_circle(platform, turn + (-1) ** (k + 1) * (pi / 3 - 0.3))
        along = np.array([*high, height]) - np.array([*low, 0.0])
        length = float(np.linalg.norm(along))
        socket = robot.world.universal(
            f"socket{k + 1}", at=(*low, 0), rotation=_turned_z(along / length), driven=False
        )
        lower = socket.body(
            f"lower{k + 1}", Inertia.cylinder(0.25, 0.015, 0.5 * length, center=(0, 0, 0.25 * length))
        )
        piston = lower.prismatic(f"piston{k + 1}", at=(0, 0, 0.5 * length))
        upper = piston.body(
            f"upper{k + 1}", Inertia.cylinder(0.15, 0.01, 0.5 * length, center=(0, 0, 0.25 * length))
        )
        robot.loop(f"ball{k + 1}", plate, upper, kind="spherical", at_a=(*high, 0), at_b=(0, 0, 0.5 * length))
    return robot.build()


def delta(arm: float = 0.2, rod: float = 0.45, base: float = 0.2, platform: float = 0.06) -> Mechanism:
    """Delta robot: three driven arms of 0.35 kg move a plate of 0.4 kg by pairs of rods of 0.12 kg.

    The plate hangs below the base and keeps its orientation: three freedoms. At q = 0 the arms are level.

    >>> import kinetree as kt
    >>> kt.zoo.delta()
    Mechanism('delta', 10 bodies, 21 coordinates in 6 closed loops)
    """
    _positive("delta", arm=arm, rod=rod, base=base, platform=platform)
    out = base + arm - platform
    if not out < rod:
        raise InputError(
            f"delta: rods of {rod:g} m are too short for an arm that reaches {out:g} m beyond the plate"
        )
    depth, half = sqrt(rod**2 - out**2), 0.05
    robot = Builder("delta")
    plate = robot.world.free("plate", at=(0, 0, -depth), driven=False).body(
        "plate", Inertia.cylinder(0.4, platform, 0.02)
    )
    for k in range(3):
        c, s = cos(2.0 * pi * k / 3.0), sin(2.0 * pi * k / 3.0)
        rotation = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
        shoulder = robot.world.revolute(
            f"shoulder{k + 1}", at=(base * c, base * s, 0), rotation=rotation, axis="y"
        )
        upper = shoulder.body(f"arm{k + 1}", Inertia.rod(0.35, end=(arm, 0, 0)))
        down = _turned_z(np.array([-out, 0.0, -depth]) / rod)
        for side, y in (("a", -half), ("b", half)):
            elbow = upper.universal(
                f"elbow{k + 1}{side}", at=(arm, y, 0), rotation=down, sequence="YX", driven=False
            )
            link = elbow.body(
                f"rod{k + 1}{side}", Inertia.cylinder(0.12, 0.005, rod, center=(0, 0, rod / 2.0))
            )
            at = (platform * c - y * s, platform * s + y * c, 0.0)
            robot.loop(f"ball{k + 1}{side}", plate, link, kind="spherical", at_a=at, at_b=(0, 0, rod))
    return robot.build()


def _on_circle(radius: float, angle: float) -> tuple[float, float]:
    return radius * cos(angle), radius * sin(angle)


def _turned_z(z: Array) -> Array:
    """A rotation with the given unit vector as its third column and the second one as near to y as can be."""
    x = np.cross((0.0, 1.0, 0.0), z)
    x = x / np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def _positive(name: str, **lengths: float) -> None:
    for key, value in lengths.items():
        if not number(value, f"{name}: {key}") > 0.0:
            raise InputError(must_be(f"{name}: {key}", "positive (m)", value, "g"))


def four_bar(variant: str = "table10.3") -> Mechanism:
    """Four-bar mechanism cut between the coupler and the driven crank.

    [Shah2013], section 8.3, Tables 8.1 and 10.3; slender rods, rocker pivot at (-0.0895, 0) of the crank's.
    The coupler is 0.1152 m from pin to pin; ``variant`` "table8.1" makes it a rod of 0.2304 m with the
    rocker's pin in its middle. The rods' thickness in Table 10.3 is left out. Closed at q = (0,
    0.98437306083976, 4.31443918550007) (Table 10.8).

    >>> import kinetree as kt
    >>> kt.zoo.four_bar()
    Mechanism('four_bar', 3 bodies, 3 coordinates in 1 closed loop)
    """
    if variant not in FOUR_BAR_VARIANTS:
        raise InputError(unknown_name("variant", variant, FOUR_BAR_VARIANTS).after("four_bar: "))
    crank_length, length = 0.038, 0.1152
    start = 0.0 if variant == "table10.3" else -length
    robot = Builder("four_bar", gravity=DOWN_Y)
    crank = _bar(robot.world.revolute("crank_pivot"), "crank", 1.5, crank_length)
    rocker = _bar(
        robot.world.revolute("rocker_pivot", at=(-0.0895, 0, 0), driven=False), "rocker", 3.0, length
    )
    coupler = _bar(
        rocker.revolute("coupler_pin", at=(length, 0, 0), driven=False), "coupler", 5.0, length, start
    )
    robot.loop("crank_pin", coupler, crank, at_a=(length, 0, 0), at_b=(crank_length, 0, 0))
    return robot.build()


def robotic_leg() -> Mechanism:
    """One-DOF leg: a four-bar mechanism draws a line that a pantograph enlarges four times; three loops.

    [Shah2013], section 8.4, Table 8.2; slender rods. Open, chosen: the geometry, which the book only draws.
    Crank pivot at the origin, rocker pivot at (-0.05, 0), coupler pinned to the rocker at its middle;
    pantograph hip at (-0.025, -0.04), parallelogram of 0.15 m x 0.075 m with its pins at 0.05 m of the thigh
    and 0.075 m of the shank. Loops are the book's joints 8, 9 and 10.

    >>> import kinetree as kt
    >>> kt.zoo.robotic_leg()
    Mechanism('robotic_leg', 7 bodies, 7 coordinates in 3 closed loops)
    """
    robot = Builder("robotic_leg", gravity=DOWN_Y)
    crank = _bar(robot.world.revolute("crank_pivot"), "crank", 0.01, 0.025)
    rocker = _bar(
        robot.world.revolute("rocker_pivot", at=(-0.05, 0, 0), driven=False), "rocker", 0.02, 0.0625
    )
    coupler = _bar(
        rocker.revolute("coupler_pin", at=(0.0625, 0, 0), driven=False), "coupler", 0.05, 0.0625, -0.0625
    )
    thigh = _bar(robot.world.revolute("hip", at=(-0.025, -0.04, 0), driven=False), "thigh", 0.08, 0.2)
    short_bar = _bar(thigh.revolute("short_bar_pin", at=(0.05, 0, 0), driven=False), "short_bar", 0.03, 0.075)
    shank = _bar(thigh.revolute("knee", at=(0.2, 0, 0), driven=False), "shank", 0.12, 0.3)
    long_bar = _bar(shank.revolute("long_bar_pin", at=(0.075, 0, 0), driven=False), "long_bar", 0.06, 0.15)
    shank.contact("foot", at=(0.3, 0, 0))
    robot.loop("crank_pin", coupler, crank, at_a=(0.0625, 0, 0), at_b=(0.025, 0, 0))
    robot.loop("coupler_tip", short_bar, coupler, at_a=(0.075, 0, 0), at_b=(-0.0625, 0, 0))
    robot.loop("pantograph_pin", long_bar, short_bar, at_a=(0.15, 0, 0), at_b=(0.075, 0, 0))
    return robot.build()


def three_rrr() -> Mechanism:
    """Planar parallel manipulator 3-RRR: a platform on three legs, of which the base joints are driven.

    [Shah2013], section 8.5, Tables 8.3 and 8.4; slender rods. Open, chosen: base joints at the corners of an
    equilateral triangle with sides of 1 m (Table 8.4 implies 1.008, 1.006 and 0.998 m), platform a uniform
    plate, the angle of rod 3 counted from the platform's second side. Closed at q = (1.0471975511966,
    -0.865071873193253, 3.7334035421686, 1.31275707423612, 2.96258012121735, 4.18879020478639,
    5.75958653158129); the printed angles are rounded and leave gaps of 17 mm.

    >>> import kinetree as kt
    >>> kt.zoo.three_rrr()
    Mechanism('three_rrr', 7 bodies, 7 coordinates in 2 closed loops)
    """
    robot = Builder("three_rrr", gravity=DOWN_Y)
    side = 0.4
    platform_inertia = Inertia(
        8.0,
        center=(side / 2, side / (2 * sqrt(3)), 0.0),  # type: ignore[arg-type]
        moment=(8 * side**2 / 24, 8 * side**2 / 24, 8 * side**2 / 12),  # type: ignore[arg-type]
    )
    c, s = cos(pi / 3), sin(pi / 3)
    turned = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
    crank1 = _bar(robot.world.revolute("base1"), "crank1", 3.0, 0.4)
    rod1 = _bar(crank1.revolute("elbow1", at=(0.4, 0, 0), driven=False), "rod1", 4.0, 0.6)
    platform = rod1.revolute("tip1", at=(0.6, 0, 0), driven=False).body("platform", platform_inertia)
    rod2 = _bar(platform.revolute("tip2", at=(side, 0, 0), driven=False), "rod2", 4.0, 0.6)
    tip3 = platform.revolute("tip3", at=(side * c, side * s, 0), rotation=turned, driven=False)
    rod3 = _bar(tip3, "rod3", 4.0, 0.6)
    crank2 = _bar(robot.world.revolute("base2", at=(1, 0, 0)), "crank2", 3.0, 0.4)
    crank3 = _bar(robot.world.revolute("base3", at=(c, s, 0)), "crank3", 3.0, 0.4)
    robot.loop("elbow2", rod2, crank2, at_a=(0.6, 0, 0), at_b=(0.4, 0, 0))
    robot.loop("elbow3", rod3, crank3, at_a=(0.6, 0, 0), at_b=(0.4, 0, 0))
    return robot.build()


def _bar(joint: JointHandle, name: str, mass: float, end: float, start: float = 0.0) -> BodyHandle:
    """A slender rod along x, from ``start`` to ``end``, on a joint."""
    return joint.body(name, Inertia.rod(mass, start=(start, 0.0, 0.0), end=(end, 0.0, 0.0)))
