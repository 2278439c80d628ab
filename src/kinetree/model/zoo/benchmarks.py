"""Mechanisms of the IFToMM multibody benchmark library with springs between bodies.

M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado: A benchmarking system for MBS simulation software, Multibody
System Dynamics 16 (2006) 179-190; problems A03 and A05.
"""

from __future__ import annotations

from math import cos, pi, sin

from kinetree.algebra.arrays import frozen
from kinetree.model.builder import BodyHandle, Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism

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
