"""The book's robots walk: gaits of the inverted pendulum, ground of springs, model-based control.

[Shah2013], sections 7.2 to 7.4 (torques of a prescribed gait, on the ground) and chapter 9 (controlled
walking). The
book gives gaits (Tables B.1, B.2), gains and, for the planar biped, the ground (Table 10.10). Chosen here:
the same ground for all robots, its ramp as deep as the weight sinks into the springs of one point, feet as in
:mod:`kinetree.model.zoo`, and a start in the midst of walking with all feet on the ground.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.model_based import ComputedTorque, Feedforward
from kinetree.errors import InputError, unknown_name
from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism
from kinetree.result.result import Result
from kinetree.simulation.ground import Ground
from kinetree.simulation.simulate import simulate
from kinetree.trajectories.gait import LeggedGait
from kinetree.trajectories.walking import biped_gait, tripod, trot

LawName = Literal["computed_torque", "feedforward", "torques_alone"]
LAWS: tuple[LawName, ...] = ("computed_torque", "feedforward", "torques_alone")
TABLE_SPACING = 1e-3  # s between the rows of torques that are fed forward


@dataclass(frozen=True)
class Walk:
    """A robot with its gait, the gains of [Shah2013], chapter 9, and for how long the book lets it walk
    (s)."""

    robot: Callable[[], Mechanism]
    gait: Callable[..., LeggedGait]
    kp: float
    kd: float
    duration: float


WALKS = {
    "planar_biped": Walk(zoo.planar_biped, biped_gait, 49.0, 14.0, 4.0),
    "spatial_biped": Walk(zoo.spatial_biped, biped_gait, 200.0, 40.0, 2.0),
    "quadruped": Walk(zoo.quadruped, trot, 49.0, 14.0, 4.0),
    "hexapod": Walk(zoo.hexapod, tripod, 49.0, 14.0, 2.0),
}


def walk(
    robot: str,
    law: LawName = "computed_torque",
    *,
    duration: float | None = None,
    ground: Ground | None = None,
    rtol: float = 1e-6,
    **options: Any,
) -> Result:
    """Walking of one of the book's robots; see ``WALKS``.

    "computed_torque" ([Shah2013], eqs. 9.7-9.11) with an exact model moves the joints exactly as the gait
    has it,
    so its torques are those of inverse dynamics with ground contact ([Shah2013], sections 7.2-7.4).
    "feedforward" (9.13) adds these torques, from a table, to a PD law; "torques_alone" are the same torques
    without feedback, which [Shah2013], section 7.2.2, shows to fail. Options are those of
    :func:`kinetree.simulate`.

    >>> walk("hexapod", duration=0.1).complete
    True
    """
    if robot not in WALKS:
        raise InputError(unknown_name("robot", robot, WALKS))
    if law not in LAWS:
        raise InputError(unknown_name("law", law, LAWS))
    plan = WALKS[robot]
    mechanism, T = plan.robot(), plan.duration if duration is None else duration
    gait = planned_gait(plan, mechanism, T)
    start, soil = gait.at(0.0), ground if ground is not None else Ground()
    run: dict[str, Any] = {"ground": soil, "rtol": rtol} | options
    controller: Any = ComputedTorque(gait, plan.kp, plan.kd)
    if law != "computed_torque":
        table = _torques(mechanism, start.q, start.qd, T, controller, run)
        if law == "torques_alone":
            return simulate(mechanism, start.q, start.qd, T, torque=table, **run)
        controller = Feedforward(gait, plan.kp, plan.kd, torques=table)
    return simulate(mechanism, start.q, start.qd, T, controller=controller, **run)


def planned_gait(plan: Walk, mechanism: Mechanism, duration: float) -> LeggedGait:
    """As many steps of the gait as the duration needs."""
    one = plan.gait(mechanism, steps=1)
    steps = int(np.ceil(duration / one.parameters.step_time - 1e-9))
    return plan.gait(mechanism, steps=max(1, steps))


def _torques(
    mechanism: Mechanism,
    q: Array,
    qd: Array,
    duration: float,
    controller: ComputedTorque,
    run: dict[str, Any],
) -> tuple[Array, Array]:
    """Torques of the gait on this ground, (times, torques), by a simulation under an exact law."""
    count = round(duration / TABLE_SPACING) + 1
    result = simulate(mechanism, q, qd, duration, controller=controller, **{**run, "times": count})
    return result.time.values, result.tau.values
