"""What lifting is asked for: who lifts, which box with which hands, to which shelf, how hurried."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np

from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.human.segments import Proportions, proportions
from kinetree.model.zoo.human import BEHIND_ANKLE, TIP
from kinetree.motion.options import Search
from kinetree.tasks.kinds import check_kinds

USUAL = Search(tolerance=1e-3, max_iterations=200)
HANDS = ("both", "right", "left")
GRIP = 1.0  # of a hand's length from wrist to knuckles: where it holds
FREE_TIME = (0.4, 6.0)  # s, between which a duration is sought
HEAVIEST = 2.0  # of the body's mass: no one lifts more, and no search is needed to say so
POSITIVE = ("depth", "tall", "wide", "friction")
NOT_NEGATIVE = (
    "box", "gap", "onto", "aside", "margin", "time", "effort", "acceleration", "posture", "clearance",
)  # fmt: skip
MOST_POINTS = 60
SIDE = 90.0  # degrees: further to the side no one gets without a step
BEYOND = 0.02  # m, by which a shelf begins beyond the box unless said otherwise


@declare("lift", "how someone lifts a box", partly=True)
@dataclass(frozen=True)
class Lifting:
    """Who lifts what and where to; lengths in m, masses in kg, forces in N, times in s.

    ``box`` is the mass of a box, ``depth`` (forward), ``wide`` and ``tall`` its size; ``hand``: "both",
    "right" or "left". Both hands hold it at half its height, as far apart as the shoulders; one hand holds a
    handle on its top. It stands on the floor ``gap`` before the tips of the toes, one-handed ``aside`` of the
    middle towards that hand, and comes to stand on a ``shelf`` of that height: ``edge`` is how far before the
    toes the shelf begins (None: just beyond the box), ``onto`` how far beyond its edge the middle of the box
    comes. With both hands it may stand to one side, ``beside`` degrees from straight ahead (left is positive)
    and rotated towards who lifts. Feet stay flat; ``margin`` is kept from the edge of what they stand on.

    ``duration``: of the lift; None seeks it. The objective is effort, the integral of (torque / strength)^2,
    weighed by ``effort``, plus ``time`` times the duration, plus a little of accelerations and ``posture``.
    ``lean`` limits the forward lean of the chest (degrees): who may not stoop, squats. ``back_force`` and
    ``knee_force`` limit the net forces in the joints of lumbar spine and knees. ``strength`` multiplies
    torque limits of joints, {"back": 0.5} those of the spine. ``points`` are segments of the splines,
    ``inside`` is the share of the lift after which the box may be above the shelf.

    >>> task = Lifting(box=15.0, shelf=0.8)
    >>> task.symmetric, task.changed(hand="right").symmetric
    (True, False)
    """

    box: Annotated[float, Parameter("Mass of the box", "kg")] = 10.0
    shelf: Annotated[float, Parameter("Height of the shelf", "m")] = 0.9
    hand: Annotated[str, Parameter("Which hand holds it: both, right or left", choices=HANDS)] = "both"
    sex: str = "male"
    height: float = 1.75
    mass: float = 75.0
    depth: Annotated[float, Parameter("Depth of the box, forward", "m")] = 0.30
    wide: Annotated[float, Parameter("Width of the box, sideways", "m")] = 0.36
    tall: Annotated[float, Parameter("Height of the box", "m")] = 0.30
    gap: Annotated[float, Parameter("Distance from the tips of the toes to the box on the floor", "m")] = 0.02
    edge: Annotated[
        float | None,
        Parameter("Distance from the toes to the shelf", "m", default_text="default beyond the box"),
    ] = None
    onto: Annotated[float, Parameter("Distance of the center of the box beyond the shelf's edge", "m")] = 0.05
    aside: Annotated[
        float, Parameter("With one hand: sideways distance from the midline to the box", "m")
    ] = 0.15
    beside: Annotated[
        float, Parameter("With both hands: direction of the box from straight ahead", "degrees, left +")
    ] = 0.0
    duration: Annotated[
        float | None, Parameter("Duration of the lift", "s", "positive", default_text="default optimal")
    ] = None
    time: Annotated[float, Parameter("Weight of the duration in the objective", "1/s")] = 0.3
    effort: Annotated[float, Parameter("Weight of the squared torques over their limits", "1/s")] = 1.0
    acceleration: float = 1e-3
    posture: float = 1.0
    strength: Annotated[
        Mapping[str, float],
        Parameter("Factors on torque limits, such as { back = 0.5, knee = 0.8 }", "no unit", "gains"),
    ] = field(default_factory=dict)
    lean: Annotated[float | None, Parameter("Largest forward lean of the chest", "degrees", "positive")] = (
        None
    )
    back_force: Annotated[
        float | None, Parameter("Largest net force in the lumbar joint", "N", "positive")
    ] = None
    knee_force: Annotated[float | None, Parameter("Largest net force in each knee", "N", "positive")] = None
    friction: Annotated[float, Parameter("Coefficient of friction, for a check", "no unit", "positive")] = 0.6
    margin: Annotated[float, Parameter("Margin to the edge of the support polygon", "m")] = 0.01
    clearance: float = 0.01
    inside: float = 0.7
    points: Annotated[int, Parameter("Segments of the splines")] = 10

    def __post_init__(self) -> None:
        check_kinds(self, "lifting")
        self._check_numbers()
        self._check_box()
        self._check_reach()

    # ---- what follows from it --------------------------------------------------------------------------
    @property
    def symmetric(self) -> bool:
        """Whether both sides move alike."""
        return self.two_handed and self.beside == 0.0

    @property
    def two_handed(self) -> bool:
        """Whether both hands hold the box."""
        return self.hand == "both"

    @property
    def twisted(self) -> bool:
        """Whether both hands bring the box from one side to the front."""
        return self.two_handed and not self.symmetric

    @property
    def sides(self) -> tuple[str, ...]:
        """Sides whose hands hold the box."""
        return ("right", "left") if self.two_handed else (self.hand,)

    @property
    def parts(self) -> Proportions:
        """Segments of who lifts; sex, height and mass are checked."""
        return proportions(self.sex, self.height, self.mass)

    @property
    def grip(self) -> float:
        """Height of the hands above the bottom of the box (m)."""
        return 0.5 * self.tall if self.two_handed else self.tall

    @property
    def arm(self) -> float:
        """From the shoulder to the grip (m)."""
        parts = self.parts
        return float(
            parts["right_upper_arm"].length
            + parts["right_forearm"].length
            + GRIP * parts["right_hand"].length
        )

    @property
    def from_toes(self) -> float:
        """How far before the toes the shelf begins (m)."""
        if self.edge is not None:
            return self.edge
        return max(self.ahead, self.gap + self.depth) + BEYOND

    @property
    def ahead(self) -> float:
        """How far before the toes the box on the floor reaches (m)."""
        if not self.beside:
            return self.gap + self.depth
        c, s = np.cos(np.radians(self.beside)), abs(np.sin(np.radians(self.beside)))
        middle = c * (self.foot + self.gap + 0.5 * self.depth)
        return float(middle + 0.5 * (c * self.depth + s * self.wide) - self.foot)

    @property
    def shoulder(self) -> float:
        """Height of the shoulders of who stands upright (m)."""
        parts = self.parts
        return float(
            parts["right_thigh"].length + parts["right_shank"].length + parts.ankle + parts.shoulder_height
        )

    def changed(self, **changes: Any) -> Lifting:
        """The same with some of it replaced."""
        known = [x.name for x in fields(self)]
        for name in changes:
            if name not in known:
                raise InputError(unknown_name("setting", name, known).after("lifting: "))
        return replace(self, **changes)

    # ---- checks ----------------------------------------------------------------------------------------
    def _check_numbers(self) -> None:
        if self.hand not in HANDS:
            raise InputError(unknown_name("hand", self.hand, HANDS).after("lifting: "))
        for name in (*POSITIVE, *NOT_NEGATIVE):
            value, zero = getattr(self, name), name in NOT_NEGATIVE
            if value < 0.0 or (value == 0.0 and not zero):
                allowed = "0 or more" if zero else "positive"
                raise InputError(must_be(f"lifting: {name}", allowed, value, "g"))
        for name in ("duration", "lean", "back_force", "knee_force"):
            value = getattr(self, name)
            if value is not None and value <= 0.0:
                raise InputError(must_be(f"lifting: {name}", "positive", value, "g"))
        if abs(self.beside) > SIDE:
            raise InputError(
                must_be(
                    "lifting: beside",
                    f"from -{SIDE:g} to {SIDE:g} degrees on feet that do not step",
                    self.beside,
                    "g",
                )
            )
        if self.beside and not self.two_handed:
            raise InputError(
                f"lifting: beside is for both hands, got {self.beside:g} degrees with the {self.hand} hand; "
                "aside says where its box stands"
            )
        if not 0.2 <= self.inside <= 0.95:
            raise InputError(must_be("lifting: inside", "from 0.2 to 0.95 of the lift", self.inside, "g"))
        if not 5 <= self.points <= MOST_POINTS:
            raise InputError(must_be("lifting: points", f"from 5 to {MOST_POINTS}", self.points, ""))

    def _check_box(self) -> None:
        if self.box > HEAVIEST * self.mass:
            raise InputError(
                f"lifting: a box of {self.box:g} kg is more than {HEAVIEST:g} times the mass of the person, "
                f"{self.mass:g} kg; it cannot be lifted"
            )
        if self.time == 0.0 and self.effort == 0.0:
            raise InputError("lifting: time or effort must have a weight, or there is nothing to minimize")

    def _check_reach(self) -> None:
        """Whether hands can be at the floor and at the shelf at all, whatever the body does."""
        if not 0.0 <= self.shelf:
            raise InputError(f"lifting: shelf must be 0 or more, got {self.shelf:g} m")
        highest = self.shoulder + self.arm - self.grip
        if self.shelf > highest:
            raise InputError(
                f"lifting: a shelf of {self.shelf:g} m is out of reach: on flat feet the hands of a person "
                f"of {self.height:g} m bring this box up to {highest:.2f} m at most"
            )
        furthest = self.shoulder - self.parts.ankle + self.arm
        if self.from_toes < self.ahead + self.clearance:
            least = self.ahead + self.clearance
            raise InputError(
                f"lifting: the box would stand under the shelf, which begins {self.from_toes:g} m ahead of "
                f"the toes; edge must be at least {least:g} m"
            )
        far = self.foot + self.from_toes + self.onto
        if np.hypot(far, self.shelf + self.grip - self.parts.ankle) > furthest:
            raise InputError(
                f"lifting: the shelf is out of reach: the hands would be {far:.2f} m ahead of the ankles at "
                f"a height of {self.shelf + self.grip:.2f} m; from the ankles they reach {furthest:.2f} m"
            )

    @property
    def foot(self) -> float:
        """From the ankle to the tip of the toes (m)."""
        parts = self.parts
        return float(TIP * parts["right_foot"].length - BEHIND_ANKLE * parts.scale)


def described(task: Lifting) -> str:
    """One line: what is lifted, by whom, where to."""
    hands = "both hands" if task.two_handed else f"the {task.hand} hand"
    side = (
        f" from {abs(task.beside):g} degrees {'left' if task.beside > 0.0 else 'right'}"
        if task.beside
        else ""
    )
    who = f"{task.sex} {task.height:g} m {task.mass:g} kg"
    return f"{task.box:g} kg with {hands}{side} to {task.shelf:g} m, {who}"
