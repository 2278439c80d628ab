"""A mechanism with less to it: joints without springs or friction."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import frozen
from kinetree.model.mechanism import Mechanism


def without_parameters(mechanism: Mechanism, *names: str) -> Mechanism:
    """The same mechanism with some parameters of its joints zero, such as "stiffness", "viscous", "coulomb".

    "coulomb" is the friction of both directions.

    >>> import kinetree as kt
    >>> robot = kt.Builder("pendulum")
    >>> _ = robot.world.revolute("pivot", viscous=0.1).body("bob", kt.Inertia.point(1.0, (0, 0, -1)))
    >>> without_parameters(robot.build(), "viscous").tree.viscous.tolist()
    [0.0]
    """
    links = []
    both = ("coulomb_reverse",) if "coulomb" in names else ()
    for link in mechanism.links:
        zero: dict[str, Any] = dict.fromkeys((*names, *both), frozen(np.zeros(link.joint.n_dof)))
        links.append(replace(link, joint=replace(link.joint, **zero)))
    return replace(mechanism, links=tuple(links))
