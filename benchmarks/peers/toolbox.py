"""The Robotics Toolbox for Python: inverse dynamics of serial arms with modified Denavit-Hartenberg rows."""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.states import States, repeated
from benchmarks.timing import Contestant
from kinetree.algebra.arrays import Array

rtb: Any = import_module("roboticstoolbox")
NAME = "robotics-toolbox"


class Toolbox:
    """A chain of modified Denavit-Hartenberg links."""

    name = NAME

    def __init__(self, mechanism: kt.Mechanism, states: States) -> None:
        parents = ("world", *mechanism.body_names[:-1])
        if any(link.parent != parent for link, parent in zip(mechanism.links, parents, strict=True)):
            raise ValueError("it is not a serial chain")
        self.robot = rtb.DHRobot([_row(link) for link in mechanism.links], name=mechanism.name)
        self.states = [states.q, states.qd, states.qdd]

    def answers(self, quantities: Collection[str]) -> dict[str, Array]:
        """Torques for all states."""
        if "inverse dynamics" not in quantities:
            return {}
        out = np.zeros_like(self.states[0])
        self._loop(self.states, out)()
        return {"inverse dynamics": out}

    def contestants(self, quantity: str, batch: int | None) -> list[Contestant]:
        """A loop over one state (batch None) or over a batch."""
        if quantity != "inverse dynamics":
            return []
        rows = [repeated(x, batch or 1) for x in self.states]
        return [Contestant(self.name, self._loop(rows, np.zeros_like(rows[0])), batch or 1)]

    def _loop(self, rows: list[Array], out: Array) -> Callable[[], None]:
        torque = self.robot.rne

        def inverse() -> None:
            for k, (q, qd, qdd) in enumerate(zip(*rows, strict=True)):
                out[k] = torque(q, qd, qdd)

        return inverse


def _row(link: kt.model.Link) -> Any:
    """A row from a placement Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    R, p = link.placement.rotation, link.placement.position
    turned_about_z = link.joint.kind == "revolute" and np.allclose(link.joint.axes, [[0, 0, 1]])
    if not turned_about_z or abs(R[0, 2]) > 1e-12:
        raise ValueError(f"joint '{link.joint.name}' has no modified Denavit-Hartenberg row")
    alpha, theta = np.arctan2(-R[1, 2], R[2, 2]), np.arctan2(-R[0, 1], R[0, 0])
    d = p[2] * np.cos(alpha) - p[1] * np.sin(alpha)
    inertia = link.body.inertia
    return rtb.RevoluteMDH(
        alpha=alpha, a=p[0], offset=theta, d=d, m=inertia.mass, r=inertia.center, I=inertia.moment
    )
