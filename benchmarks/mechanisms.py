"""The mechanisms that are measured; every contestant gets the same one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import kinetree as kt
from kinetree.model.builder import BodyHandle

LEAST_MASS = 1e-9  # kg
LEAST_MOMENT = 1e-9  # kg m^2
ROD = kt.Inertia.cylinder(1.0, 0.03, 0.3, axis="x", center=(0.15, 0.0, 0.0))


def arm() -> kt.Mechanism:
    """Six revolute joints: the industrial robot of [Shah2013], Table 6.6."""
    return kt.zoo.kuka_kr5(com="midpoint")


MODELS = {"arm": arm, "quadruped": kt.zoo.quadruped, "humanoid": kt.zoo.humanoid}


def balanced_tree(n: int) -> kt.Mechanism:
    """n equal rods, each with two others at its end: depth log2(n). Branches are listed one by one."""
    robot = kt.Builder("balanced_tree")

    def grow(parent: BodyHandle, k: int) -> None:
        axis = "y" if (k + 1).bit_length() % 2 else "z"
        at = (0.3 if k else 0.0, 0.0, 0.0)
        body = parent.revolute(f"joint{k}", at=at, axis=axis).body(f"body{k}", ROD)
        for child in (2 * k + 1, 2 * k + 2):
            if child < n:
                grow(body, child)

    grow(robot.world, 0)
    return robot.build()


def star(n: int) -> kt.Mechanism:
    """One free body that carries n rods on hinges."""
    robot = kt.Builder("star")
    hub = robot.world.free("base").body("hub", kt.Inertia.sphere(10.0, 0.5))
    for k in range(n):
        angle = 2.0 * np.pi * k / n
        at = (0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.0)
        hub.revolute(f"joint{k}", at=at, rpy=(0.0, 0.0, angle), axis="y").body(f"rod{k}", ROD)
    return robot.build()


def padded(mechanism: kt.Mechanism) -> kt.Mechanism:
    """The same with a little mass and extent everywhere, for engines that refuse points and slender rods."""
    links = [
        replace(link, body=replace(link.body, inertia=_padded(link.body.inertia))) for link in mechanism.links
    ]
    return replace(mechanism, links=tuple(links))


def _padded(inertia: kt.Inertia) -> kt.Inertia:
    """Central second moments S = (tr I / 2) 1 - I that are all positive make every check pass."""
    spread, axes = np.linalg.eigh(0.5 * np.trace(inertia.moment) * np.eye(3) - inertia.moment)
    least = max(LEAST_MOMENT, 1e-6 * float(np.abs(spread).max()))
    if inertia.mass >= LEAST_MASS and spread.min() >= least:
        return inertia
    S = (axes * np.maximum(spread, least)) @ axes.T
    moment = np.trace(S) * np.eye(3) - S
    return kt.Inertia(max(inertia.mass, LEAST_MASS), inertia.center, 0.5 * (moment + moment.T))
