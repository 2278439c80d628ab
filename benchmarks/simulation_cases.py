"""The motions that are simulated; every contestant gets the same mechanism, start and ground."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.algebra.arrays import Array

REFERENCE_TOLERANCES = (1e-13, 1e-12, 1e-11)


@dataclass(frozen=True, eq=False)
class Case:
    """A mechanism that moves from rest at q0 (n,) for a duration (s), with or without a ground."""

    name: str
    mechanism: kt.Mechanism
    q0: Array
    duration: float
    words: str
    ground: kt.Ground | None = None

    def reference(self, mechanism: kt.Mechanism | None = None) -> Array:
        """The final positions (n,) at the tightest tolerance that steps of 16 digits allow."""
        for rtol in REFERENCE_TOLERANCES:
            try:
                motion = self.simulator(mechanism, method="dop853", rtol=rtol).run(self.q0)
            except kt.errors.SimulationError:  # a jump of the forces leaves no step short enough
                continue
            return final_positions(motion)
        raise RuntimeError(f"{self.name}: there is no reference")

    def simulator(self, mechanism: kt.Mechanism | None = None, **options: Any) -> kt.simulation.Simulator:
        """A prepared simulation that returns the final state."""
        who, end = mechanism or self.mechanism, [self.duration]
        return kt.simulation.Simulator(who, self.duration, ground=self.ground, times=end, **options)


@dataclass(frozen=True, eq=False)
class Runner:
    """One library with one method and one accuracy: a call, and the final positions (n,) of its answer."""

    contestant: str
    method: str
    setting: float  # tolerance of a step, or length of a step in s
    call: Callable[[], Any]
    final: Callable[[Any], Array]


def final_positions(motion: Any) -> Array:
    """The last row of a motion's positions."""
    last: Array = np.asarray(motion.q)[-1]
    return last


def gripper() -> Case:
    """The gripper of [Shah2013], section 6.2.1."""
    start = np.radians([-60.0, 0.0, 0.0, 0.0])
    return Case("gripper", kt.zoo.gripper(), start, 1.0, "falls 1 s from q = (-60, 0, 0, 0) degrees")


def kuka() -> Case:
    """The KUKA KR5 of [Shah2013], section 6.2.2, centers of mass at the origins of the link frames."""
    return Case("KUKA KR5", kt.zoo.kuka_kr5(), np.zeros(6), 1.0, "falls 1 s from q = 0")


def chain() -> Case:
    """Twenty cylinders, stretched out level at the start."""
    words = "falls 2 s from q = 0, stretched out level"
    return Case("chain of 20", kt.zoo.chain(20), np.zeros(20), 2.0, words)


def crouched(robot: kt.Mechanism, height: float, pitch: float, roll: float) -> Array:
    """Positions of the quadruped with bent legs, its trunk at a height (m)."""
    q0 = np.zeros(robot.n_dof)
    q0[2], q0[3], q0[4] = height, pitch, roll
    for leg in range(4):
        q0[6 + 3 * leg : 9 + 3 * leg] = (0.1 if leg in (0, 2) else -0.1, -0.6, 1.2)
    return q0


def quadruped_starts() -> list[Case]:
    """The quadruped's case and six more starts, drawn at random: pitch, roll and all joints."""
    robot, starts = kt.zoo.quadruped(), [crouched(kt.zoo.quadruped(), 0.7, 0.05, 0.02)]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        q0 = crouched(robot, 0.75, *rng.uniform(-0.15, 0.15, 2))
        q0[6:] += rng.uniform(-0.2, 0.2, 12)
        starts.append(q0)
    words = "falls 1 s from start {}"
    return [Case(f"start {k}", robot, q0, 1.0, words.format(k), kt.Ground()) for k, q0 in enumerate(starts)]


def quadruped() -> Case:
    """Crouched, a little rolled and pitched, so that the feet land one after the other."""
    robot = kt.zoo.quadruped()
    q0 = crouched(robot, 0.7, 0.05, 0.02)
    words = (
        "falls 1 s without joint torques, its trunk at 0.7 m, pitched 0.05 and rolled 0.02 rad, hips 0.1 rad "
        "outwards and -0.6 rad, knees 1.2 rad; ground of 2000 N/m, 3098 N s/m, friction 0.7, 1000 N s/m"
    )
    return Case("quadruped on the ground", robot, q0, 1.0, words, kt.Ground())


CASES = {"gripper": gripper, "kuka": kuka, "chain": chain, "quadruped": quadruped}
