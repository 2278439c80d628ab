"""What walking is asked for: who walks, how fast, with which steps, on which ground, with what load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any

import numpy as np

from kinetree.algebra.arrays import number
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.human.segments import Proportions, proportions
from kinetree.motion.options import Search
from kinetree.tasks.kinds import RANGE, check_kinds

USUAL = Search(tolerance=1e-3, max_iterations=400)
DEGREE = float(np.pi / 180.0)
SLOWEST, FASTEST = 0.3, 2.2  # m/s: slower is no gait with these phases, faster is running
LONGEST = 1.15  # step over leg length: further apart the feet of a walker do not touch the ground
LARGEST_SLOPE = 15.0  # degrees
STRENGTHS = ("constant", "angle and velocity")
FRICTIONS = ("box", "octagon", "cone")
MAY_BE_LEFT_OUT = ("knee_strike", "knee_off", "pitch_strike")
GRAVITY = 9.81  # m/s^2
# Double support, a share of the step: at usual speeds v / sqrt(g leg) about a quarter, as stance of 63 %; the
# faster the shorter (Hebenstreit et al. 2015)
USUAL_SPEED, USUAL_DOUBLE, DOUBLE_FALLS, DOUBLES = 0.396, 0.26, 0.3, (0.12, 0.27)
RANGES = {  # m, shares of the step, rad: beyond them no step is walked
    "clearance": (0.0, 0.2), "pad": (0.0, 0.05), "slip": (0.0, 0.1), "landing": (0.0, 0.5),
    "band": (0.0, 0.005), "knee_at": (0.0, 1.0), "wrist": (0.0, 0.6), "toe_out": (-0.8, 0.8),
}  # fmt: skip
HEAVIEST = 0.6  # of the body's mass that is carried
STIFFEST = 5.0  # times the passive moments of healthy people


def _other_side(name: str) -> str:
    for mine, other in (("left", "right"), ("right", "left")):
        if name == mine or name.startswith(f"{mine}_"):
            return other + name.removeprefix(mine)
    return name


@declare("walk", "how someone walks", partly=True)
@dataclass(frozen=True)
class Walking:
    """Who walks and how; lengths in m, masses in kg, speeds in m/s, angles in rad but for the slope (deg).

    ``slope`` is positive uphill. ``backpack`` hangs behind the chest, ``hand`` is carried in each hand,
    ``left_hand`` and ``right_hand`` beside it in one. ``strength`` multiplies the torque limits of joints
    whose names begin with a key, on both sides alike, or on one side if the key begins with it, such as
    "left_knee" or "left". Where both sides differ, a stride of two different steps is predicted.
    ``strength_by`` is "constant", or "angle and velocity" for flexion of hip, knee and ankle (Anderson et al.
    2007). ``passive`` multiplies the passive moments of hips, knees and ankles (Riener and Edrich 1999): only
    the rest takes effort and strength; 0 is without them. With ``muscles``, 0.5 for example, the torques of
    hips, knees and ankles are made by 80 muscles (Rajagopal et al. 2016) at the least cost
    (:class:`kinetree.terms.MuscleCost`), times this weight, instead of limits and effort of these joints;
    ``strength`` then multiplies the forces of muscles whose names begin with a key. ``friction_shape``:
    "box", "octagon" or "cone" (:class:`kinetree.terms.Friction`).

    Shares of the step: ``double`` support (by default shorter in fast steps), ``flat`` (from when on the foot
    is flat), ``heel_off``; ``ball`` is the share of double support in which the ball of the trailing foot
    still carries.

    With ``step_range`` the length of the step is sought at the given speed: the duration is an unknown beside
    the motion, and what is least is the cost of a second, and so of a meter. With ``speed_range`` the speed
    is sought for the given step, and what is least is the cost of a meter, where each second costs ``time``
    beside effort and the rest. With ``double_range`` double support is sought, around these. Each is
    the least and the largest value; ``step``, ``speed`` and ``double`` are where the search begins then.

    ``points`` are control points of each joint in a step, with knots where phases end, ``nodes`` Gauss nodes
    in heel roll, flat double support, flat single support, and heel off, at least two in each segment of the
    splines. The trailing toes rest: at ``closure`` instants they stay within ``band`` of their place, as soft
    toes in shoes do.

    >>> task = Walking(speed=1.0, step=0.5)
    >>> task.duration, task.changed(points=10).points
    (0.5, 10)
    """

    speed: Annotated[float, Parameter("Mean speed", "m/s", "positive")] = 1.2
    step: Annotated[float, Parameter("Length of a step", "m", "positive")] = 0.6
    sex: str = "male"
    height: float = 1.75
    mass: float = 75.0
    slope: Annotated[float, Parameter("Slope of the ground, uphill positive", "degrees")] = 0.0
    backpack: Annotated[float, Parameter("Mass carried on the back", "kg")] = 0.0
    hand: Annotated[float, Parameter("Mass carried in each hand", "kg")] = 0.0
    left_hand: Annotated[float, Parameter("Additional mass in the left hand", "kg")] = 0.0
    right_hand: Annotated[float, Parameter("Additional mass in the right hand", "kg")] = 0.0
    strength: Annotated[
        Mapping[str, float],
        Parameter(
            "Factors on torque limits by joint, such as { knee = 0.8, left_ankle = 0.5 }", "no unit", "gains"
        ),
    ] = field(default_factory=dict)
    strength_by: Annotated[
        str,
        Parameter(
            'Strength: "constant", or a function of "angle and velocity"', kind="strength", choices=STRENGTHS
        ),
    ] = "constant"
    passive: Annotated[
        float,
        Parameter("Factor on passive moments of hips, knees and ankles, 0 without them", "no unit"),
    ] = 1.0
    muscles: Annotated[
        float,
        Parameter(
            "Weight of the cost of 80 leg muscles, which then make the torques of hips, knees and ankles "
            "instead of limits and effort; 0 without them",
            "no unit",
        ),
    ] = 0.0
    width: Annotated[float, Parameter("Distance between the heels, sideways", "m", "positive")] = 0.10
    toe_out: float = 5.0 * DEGREE
    friction: Annotated[float, Parameter("Coefficient of friction", "no unit", "positive")] = 0.6
    friction_shape: Annotated[
        str,
        Parameter(
            "Friction cone: box around it, octagon within it, or the cone itself",
            kind="shape",
            choices=FRICTIONS,
        ),
    ] = "box"
    double: Annotated[
        float | None,
        Parameter(
            "Fraction of the step in double support", "no unit", "positive", default_text="default by speed"
        ),
    ] = None
    step_range: Annotated[
        tuple[float, float] | None,
        Parameter("Least and largest length of the step, which is sought at the given speed", "m", "numbers"),
    ] = None
    speed_range: Annotated[
        tuple[float, float] | None,
        Parameter("Least and largest speed, which is sought for the given step", "m/s", "numbers"),
    ] = None
    double_range: Annotated[
        tuple[float, float] | None,
        Parameter("Least and largest fraction of double support, which is sought", "no unit", "numbers"),
    ] = None
    flat: float = 0.20
    heel_off: Annotated[
        float, Parameter("Fraction of the step after which the heel lifts", "no unit", "positive")
    ] = 0.70
    ball: float = 0.60
    points: Annotated[int, Parameter("Control points of each joint in a step")] = 18
    nodes: Annotated[
        tuple[int, int, int, int],
        Parameter("Gauss nodes in heel roll, flat double and single support, heel off", kind="numbers"),
    ] = (16, 4, 12, 12)
    closure: int = 13  # instants at which the trailing toes are held
    band: Annotated[float, Parameter("Distance by which resting toes may give", "m")] = 6e-4
    clearance: float = 0.005  # m, of the swinging foot
    clearances: int = 12  # instants at which it is asked for
    pad: float = 0.01  # m, by which the heel sinks after touch-down
    slip: float = 0.01  # m, by which it goes forward
    landing: float = 0.2  # share of the step after which both are over
    landing_speeds: tuple[float, float] = (0.5, 0.6)  # m/s, largest downwards and forward
    knee_swing: tuple[float, float] = (65.0 * DEGREE, 75.0 * DEGREE)
    knee_at: float = 0.48  # share of the step: mid-swing
    knee_strike: tuple[float, float] | None = (0.0, 8.0 * DEGREE)
    knee_off: tuple[float, float] | None = (30.0 * DEGREE, 45.0 * DEGREE)
    pitch_strike: tuple[float, float] | None = (12.0 * DEGREE, 25.0 * DEGREE)  # toes up
    exponent: Annotated[float, Parameter("Exponent of the effort, 2 or more", "no unit", "positive")] = 2.5
    effort: float = 1.4
    acceleration: float = 2e-5
    posture: float = 1.0
    upright: float = 1.0
    rate: float = 3e-4
    time: Annotated[float, Parameter("Cost of a second where the speed is sought", "1/s")] = 0.29
    arms: Annotated[bool, Parameter("Whether arms must swing with the opposite legs")] = False
    wrist: Annotated[
        float, Parameter("Least sideways distance of the wrists from the middle of the hips", "m")
    ] = 0.0

    def __post_init__(self) -> None:
        check_kinds(self, "walking", MAY_BE_LEFT_OUT)
        for key, factor in self.strength.items():
            number(factor, f"walking: strength of '{key}'")
        for name, choices in (("strength_by", STRENGTHS), ("friction_shape", FRICTIONS)):
            if getattr(self, name) not in choices:
                raise InputError(
                    unknown_name("choice", getattr(self, name), choices).after(f"walking: {name}: ")
                )
        if self.sought:
            self._check_sought()
            return
        self._check_pace()
        self._check_loads()
        self._check_schedule()

    @property
    def sought(self) -> dict[str, tuple[float, float]]:
        """What is sought, each between its least and its largest value.

        >>> Walking(step_range=(0.5, 0.8)).sought
        {'step': (0.5, 0.8)}
        """
        given = {name: getattr(self, name + RANGE) for name in ("step", "speed", "double")}
        return {name: (bounds[0], bounds[1]) for name, bounds in given.items() if bounds is not None}

    def settled(self, **values: float) -> Walking:
        """The same with nothing sought: with these values, or where the search begins.

        >>> task = Walking(step_range=(0.7, 0.8))
        >>> task.settled().step, task.settled(step=0.75).duration
        (0.7, 0.625)
        """
        changes: dict[str, Any] = {
            name: float(np.clip(self.double_support if name == "double" else getattr(self, name), *bounds))
            for name, bounds in self.sought.items()
        }
        changes |= {name + RANGE: None for name in self.sought}
        return replace(self, **{**changes, **values})

    def _check_sought(self) -> None:
        """An error where a bound of what is sought cannot be walked, or where too much is sought."""
        if "speed" in self.sought and "step" in self.sought:
            raise InputError(
                "walking: of speed and step one is given and the other may be sought, got step_range = "
                f"{list(self.sought['step'])} and speed_range = {list(self.sought['speed'])}"
            )
        if self.time < 0.0:
            raise InputError(must_be("walking: time", "0 or more", self.time, "g"))
        for k in (0, 1):
            try:
                self.settled(**{name: bounds[k] for name, bounds in self.sought.items()})
            except InputError as error:
                stated = ", ".join(f"{name}{RANGE} = {list(x)}" for name, x in self.sought.items())
                raise InputError(f"{error} ({stated})") from None
        if self.asymmetric:
            raise InputError(
                "walking: where left and right differ, two different steps of one given length and duration "
                f"are predicted: leave out {' and '.join(name + RANGE for name in self.sought)}"
            )

    @property
    def duration(self) -> float:
        """Of one step (s)."""
        return self.step / self.speed

    @property
    def double_support(self) -> float:
        """Share of the step in which both feet carry: as given, or by the speed beside sqrt(g leg)."""
        if self.double is not None:
            return self.double
        beside = self.speed / float(np.sqrt(GRAVITY * self.leg)) - USUAL_SPEED
        return float(np.clip(USUAL_DOUBLE - DOUBLE_FALLS * beside, *DOUBLES))

    @property
    def parts(self) -> Proportions:
        """Segments of who walks; sex, height and mass are checked."""
        return proportions(self.sex, self.height, self.mass)

    @property
    def leg(self) -> float:
        """Height of the hips (m)."""
        parts = self.parts
        return float(parts["left_thigh"].length + parts["left_shank"].length + parts.ankle)

    def _check_pace(self) -> None:
        if not SLOWEST <= self.speed <= FASTEST:
            raise InputError(
                must_be(
                    "walking: speed",
                    f"from {SLOWEST} to {FASTEST} m/s (people stand or run outside this range)",
                    self.speed,
                    "g",
                )
            )
        leg = self.leg
        longest = LONGEST * leg
        if not 0.1 * leg <= self.step <= longest:
            raise InputError(
                f"walking: a step must be from {0.1 * leg:.2f} to {longest:.2f} m for legs of {leg:.2f} m, "
                f"got {self.step:g} m"
            )
        froude = self.speed**2 / (GRAVITY * leg)
        if froude > 1.0:
            raise InputError(
                f"walking: at {self.speed:g} m/s legs of {leg:.2f} m cannot walk: speed^2 / (g leg) is "
                f"{froude:.2f}, at most 1"
            )
        if not 0.2 <= self.duration <= 1.5:
            raise InputError(
                f"walking: a step of {self.step:g} m at {self.speed:g} m/s takes {self.duration:.2f} s; it "
                f"must be from 0.2 to 1.5 s"
            )

    def _check_loads(self) -> None:
        if abs(self.slope) > LARGEST_SLOPE:
            raise InputError(must_be("walking: slope", f"within {LARGEST_SLOPE:g} degrees", self.slope, "g"))
        for name, count in (("backpack", 1), ("hand", 2), ("left_hand", 1), ("right_hand", 1)):
            value = getattr(self, name)
            if not 0.0 <= count * value <= HEAVIEST * self.mass:
                each = " together" if count > 1 else ""
                raise InputError(
                    f"walking: {name} must be from 0 to {HEAVIEST:.0%} of the body's mass{each}, got "
                    f"{value:g} kg"
                )
        if not 0.0 < self.friction <= 2.0 or not 0.0 <= self.width <= 0.5:
            raise InputError(
                f"walking: friction must be in (0, 2] and width from 0 to 0.5 m, got {self.friction:g} and "
                f"{self.width:g} m"
            )
        if not 0.0 <= self.passive <= STIFFEST:
            raise InputError(must_be("walking: passive", f"from 0 to {STIFFEST:g}", self.passive, "g"))
        for name, factor in self.strength.items():
            if number(factor, f"walking: strength of '{name}'") <= 0.0:
                raise InputError(must_be(f"walking: strength of '{name}'", "positive", factor, "g"))

    def _check_schedule(self) -> None:
        if not 0.0 < self.double_support < self.heel_off < 1.0:
            raise InputError(
                "walking: double support must end before heel off, within the step; without it no foot "
                f"would carry from step to step. Got double = {self.double_support:g}, "
                f"heel_off = {self.heel_off:g}"
            )
        if not 0.0 < self.ball <= 1.0 or not 0.0 < self.flat < self.heel_off:
            raise InputError(
                "walking: ball must be in (0, 1] and flat before heel off, got "
                f"{self.ball:g} and {self.flat:g}"
            )
        if type(self.points) is not int or not 6 <= self.points <= 60:
            raise InputError(must_be("walking: points", "an integer from 6 to 60", self.points))
        if self.closure < 2 or self.clearances < 1:
            raise InputError("walking: closure needs at least 2 instants, clearances at least 1")
        if any(not 1 <= k <= 200 for k in self.nodes):
            raise InputError(must_be("walking: nodes", "from 1 to 200 in each phase", list(self.nodes), ""))
        for name, (low, high) in RANGES.items():
            if not low <= getattr(self, name) <= high:
                raise InputError(
                    must_be(
                        f"walking: {name}",
                        f"from {low:g} to {high:g}",
                        getattr(self, name),
                        "g",
                    )
                )

    @property
    def asymmetric(self) -> bool:
        """Whether one side differs from the other, so that steps do."""
        return self.left_hand != self.right_hand or self._mirrored_strength != self.strength

    @property
    def _mirrored_strength(self) -> dict[str, float]:
        return {_other_side(name): x for name, x in self.strength.items()}

    def mirrored(self) -> Walking:
        """The same with left and right exchanged.

        >>> Walking(strength={"left_knee": 0.5}).mirrored().strength
        {'right_knee': 0.5}
        """
        return replace(
            self, left_hand=self.right_hand, right_hand=self.left_hand, strength=self._mirrored_strength
        )

    def changed(self, **changes: Any) -> Walking:
        """The same with some of it replaced."""
        known = [x.name for x in fields(self)]
        changes = {name: tuple(x) if isinstance(x, list) else x for name, x in changes.items()}
        for name in changes:
            if name not in known:
                raise InputError(unknown_name("setting", name, known).after("walking: "))
        return replace(self, **changes)
