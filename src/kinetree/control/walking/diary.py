"""What happened on a walk, so that a fall can be explained: when it began, what went first, what to try."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.control.sampled import ContactReading
from kinetree.control.walking.plan import Plan
from kinetree.control.walking.view import View
from kinetree.control.walking.walker import Walker

SLIPPING = 0.12  # speed of a foot that carries weight, in sqrt(g L)
LOADED, UNLOADED = 0.1, 0.2  # shares of the weight
BEYOND = 1.02  # times the limit of a torque
MISPLACED = 0.1  # in L: how far a foothold may be from where balance needs it
LASTS = 0.015  # s that something must last to count
BACK = 3.0  # step times before the fall that are looked at
TILT, LOW = 1.0, 0.5  # rad; share of the height: beyond these a walker has fallen


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
        "more friction of the ground, a lower speed, or a longer step_time, which asks for less force of the "
        "swinging legs",
    ),
    "torque": Symptom(
        "torque limit",
        "a joint reached its torque limit",
        "stronger joints (effort_limit, limits), a lower speed, or hips higher up (height), which bends the "
        "knees less",
    ),
    "placement": Symptom(
        "foot placement",
        "a foot could not be put where balance needed it",
        "a lower speed or smaller pushes, a shorter step_time, or lower hips (height), from which the legs "
        "reach further",
    ),
    "unloading": Symptom(
        "unloading",
        "the feet lost the ground",
        "a lower speed, less clearance, or softer ground, on which the robot does not bounce",
    ),
}


class Diary:
    """Notes of every tick of one walk."""

    def __init__(self, walker: Walker) -> None:
        self.walker = walker
        self.unit = math.sqrt(walker.gravity * walker.leg)
        self.weight = walker.mechanism.mass * walker.gravity
        self.fallen: float | None = None
        self.steps, self.most, self.share = 0, 0.0, 0.0
        self._since: dict[str, float] = {}
        self._begun: list[tuple[float, str, str]] = []  # when, which symptom, where
        self._period = 0.0
        legs = {name for foot in walker.feet for name in foot.joints}
        self._inside = np.array([name in legs for name in walker.mechanism.joint_names])
        self._places: dict[tuple[str, ...], list[list[int]]] = {}

    def note(
        self,
        t: float,
        plan: Plan,
        view: View,
        loads: Array,
        contact: ContactReading,
        wanted: Array,
        most: Array,
    ) -> None:
        """Take down one tick: torques wanted and the most there are, (n_dof,)."""
        self.steps, self._period = plan.steps, plan.T
        asked = np.where(self._inside, np.abs(wanted) / most, 0.0)
        joint = int(np.argmax(asked))
        self.share = max(self.share, min(float(asked[joint]), 1.0))
        slipping = self._slipping(plan, loads, contact)
        total = float(loads.sum())
        self._sign(t, "slip", slipping is not None, slipping or "")
        self._sign(t, "torque", asked[joint] > BEYOND, self._torque(joint, wanted, most))
        self._sign(t, "unloading", plan.steps > 0 and total < UNLOADED * self.weight, "")
        late = plan.phase > 0.7 * plan.T
        self._sign(t, "placement", late and plan.missing > MISPLACED * self.walker.leg, self._far(plan))

    def has_fallen(self, t: float, view: View, tilt: float, plan: Plan) -> bool:
        """Whether the trunk leans or has come down too far."""
        lowest = min(float(foot.position[-1]) for foot in view.feet)
        if self.fallen is None and (tilt > TILT or float(view.center[-1]) - lowest < LOW * plan.height):
            self.fallen = t
        return self.fallen is not None

    def explanation(self) -> str | None:
        """Why the walker fell, in words; None if it has not."""
        if self.fallen is None:
            return None
        begun = sorted(x for x in self._begun if x[0] > self.fallen - BACK * self._period)
        stated = f"the robot fell at t = {self.fallen:.3g} s in step {self.steps + 1}"
        if not begun:
            return f"{stated}, without slip, torque limit or loss of contact before; try a lower speed"
        when, which, where = begun[0]
        first = SYMPTOMS[which]
        return f"{stated}; {first.words} first, at t = {when:.3g} s{where}; try {first.advice}"

    def statistics(self) -> dict[str, float]:
        """Numbers of the walk for results."""
        return {"walk_steps": float(self.steps), "torque_share": round(self.share, 3)}

    # ---- helpers -----------------------------------------------------------------------------------------
    def _sign(self, t: float, name: str, is_there: bool, where: str) -> None:
        """A symptom that is there, or not: it counts once it has lasted."""
        if not is_there:
            self._since.pop(name, None)
            return
        began = self._since.setdefault(name, t)
        if began >= 0.0 and t - began >= LASTS:
            self._begun.append((began, name, where))
            self._since[name] = -1.0  # taken down

    def _slipping(self, plan: Plan, loads: Array, contact: ContactReading) -> str | None:
        """Which foot that carries weight moves along the ground."""
        places = self._places.get(contact.names)
        if places is None:
            index = {name: k for k, name in enumerate(contact.names)}
            feet = self.walker.feet
            places = [[index[x] for x in foot.contact_points if x in index] for foot in feet]
            self._places = {contact.names: places}
        for foot in plan.stance:
            if plan.phase > 0.2 * plan.T and loads[foot] > LOADED * self.weight:
                rows = contact.velocity[places[foot], 1:]
                speed = math.sqrt(float((rows * rows).sum(axis=1).min()))  # of all points of the foot
                if speed > SLIPPING * self.unit:
                    return f" ('{self.walker.feet[foot].body}', {speed:.2g} m/s)"
        return None

    def _torque(self, joint: int, wanted: Array, most: Array) -> str:
        name = self.walker.mechanism.joint_names[joint]
        return f" ('{name}' needed {abs(wanted[joint]):.3g} of {most[joint]:.3g} N m)"

    def _far(self, plan: Plan) -> str:
        return f" ({plan.missing:.2g} m short)"
