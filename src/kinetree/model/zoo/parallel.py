"""Parallel manipulators: a platform on several driven legs; their loops are closed at q = 0."""

from __future__ import annotations

from math import cos, pi, sin, sqrt

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.errors import InputError
from kinetree.model.builder import Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism


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
            raise InputError(f"{name}: {key} must be positive (m), got {value:g}")
