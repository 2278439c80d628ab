"""What happened on a walk, so that a fall can be explained: when it began, what went first, what to try."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kinetree.algebra.arrays import Array
from kinetree.analysis.legs import Legged
from kinetree.verdicts.margins import FALLEN_HEIGHT, FALLEN_TILT

SLIPPING = 0.12  # speed of a foot that carries weight, in sqrt(g L)
LOADED, UNLOADED = 0.1, 0.2  # shares of the weight
BEYOND = 1.02  # times the limit of a torque
MISPLACED = 0.1  # in L: how far a foothold may be from where balance needs it
LASTS = 0.015  # s that something must last to count
BACK = 3.0  # step times before the fall that are looked at


@dataclass(frozen=True)
class Symptom:
    """Something that goes wrong before a fall: its name in results, in words, and what to try."""

    name: str
    words: str
    advice: str


SYMPTOMS = {
    "slip": Symptom(
        "slip",
        "a foot slipped",
        "more ground friction, a lower speed, or a longer step_time, which reduces the forces of swing legs",
    ),
    "torque": Symptom(
        "torque limit",
        "a joint reached its torque limit",
        "stronger joints (effort_limit, limits), a lower speed, or higher hips (height), so that the knees "
        "bend less",
    ),
    "placement": Symptom(
        "foot placement",
        "a foot could not reach the position that balance needs",
        "a lower speed or smaller pushes, a shorter step_time, or lower hips (height), from which the legs "
        "reach further",
    ),
    "unloading": Symptom(
        "unloading",
        "the feet lost contact with the ground",
        "a lower speed, less clearance, or softer ground, on which the robot does not bounce",
    ),
}


class Diary:
    """Notes of every tick of one walk."""

    def __init__(self, walker: Legged) -> None:
        self.walker = walker
        self.unit = math.sqrt(walker.gravity * walker.leg)
        self.weight = walker.mechanism.mass * walker.gravity
        self.fallen: float | None = None
        self.steps, self.share = 0, 0.0
        self._since: dict[str, float] = {}
        self._begun: list[tuple[float, str, str]] = []  # when, which symptom, where
        self._period = 0.0

    def note(self, t: float, walk: Any, wanted: Array, most: Array) -> None:
        """Take down one tick: its record, torques wanted and the most there are, (n_dof,)."""
        self.steps, self._period = int(walk["steps"]), float(walk["period"])
        asked, slip = float(walk["asked"]), float(walk["slip"])
        self.share = max(self.share, min(asked, 1.0))
        if slip > SLIPPING * self.unit:
            foot = self.walker.feet[int(walk["slipping"])].body
            self._sign(t, "slip", f" ('{foot}', {slip:.2g} m/s)")
        else:
            self._since.pop("slip", None)
        if asked > BEYOND:
            joint = int(walk["joint"])
            name = self.walker.mechanism.joint_names[joint]
            self._sign(t, "torque", f" ('{name}' needed {abs(wanted[joint]):.3g} of {most[joint]:.3g} N m)")
        else:
            self._since.pop("torque", None)
        if self.steps > 0 and walk["load"] < UNLOADED * self.weight:
            self._sign(t, "unloading", "")
        else:
            self._since.pop("unloading", None)
        missing = float(walk["missing"])
        if missing > MISPLACED * self.walker.leg and walk["phase"] > 0.7 * self._period:
            self._sign(t, "placement", f" ({missing:.2g} m short)")
        else:
            self._since.pop("placement", None)

    def has_fallen(self, t: float, walk: Any) -> bool:
        """Whether the trunk leans or has come down too far."""
        low = walk["lowest"] < FALLEN_HEIGHT * walk["height"]
        if self.fallen is None and (low or walk["tilt"] > FALLEN_TILT):
            self.fallen = t
        return self.fallen is not None

    def explanation(self) -> str | None:
        """Why the walker fell, in words; None if it has not."""
        if self.fallen is None:
            return None
        begun = sorted(x for x in self._begun if x[0] > self.fallen - BACK * self._period)
        stated = f"the robot fell at t = {self.fallen:.3g} s in step {self.steps + 1}"
        if not begun:
            return f"{stated}, without earlier slip, torque limit or loss of contact; try a lower speed"
        when, which, where = begun[0]
        first = SYMPTOMS[which]
        return f"{stated}; {first.words} first, at t = {when:.3g} s{where}; try {first.advice}"

    def statistics(self) -> dict[str, float]:
        """Numbers of the walk for results."""
        return {"walk_steps": float(self.steps), "torque_share": round(self.share, 3)}

    # ---- helpers -----------------------------------------------------------------------------------------
    def _sign(self, t: float, name: str, where: str) -> None:
        """A symptom is there: it counts once it has lasted."""
        began = self._since.setdefault(name, t)
        if began >= 0.0 and t - began >= LASTS:
            self._begun.append((began, name, where))
            self._since[name] = -1.0  # taken down
