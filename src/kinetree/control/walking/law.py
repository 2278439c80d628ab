"""A walking law that needs only the speed: stepping plan, inverse dynamics, forces the ground can give."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.leg_chains import Leg
from kinetree.analysis.legs import Legged, legged
from kinetree.analysis.stance import standing
from kinetree.control.controller import checked_limits, checked_model, plain
from kinetree.control.fitted import torque_limits
from kinetree.control.per_joint import PerJoint
from kinetree.control.sampled import RunningLaw, SampledLaw
from kinetree.control.structure import check_same_structure
from kinetree.control.walking.balance import Balance
from kinetree.control.walking.command import Command, course
from kinetree.control.walking.stepping import GaitNumbers
from kinetree.control.whole_body.task import LawTask, checked_tasks
from kinetree.errors import InputError, must_be
from kinetree.model.mechanism import Mechanism

DEFAULT_SPEED, POINT_FEET_SPEED = 0.1, 0.15  # in sqrt(g L)
FASTEST = 0.5  # sqrt(g L): beyond it a walk turns into a run
RANGES = {"step_time": (0.5, 4.0), "clearance": (0.0, 0.3), "width": (0.05, 0.6), "height": (0.5, 0.97)}


@dataclass(frozen=True, eq=False, repr=False)
class WalkingLaw:
    """Walking on two or more legs: give it the speed, it places the feet and balances.

    Each tick plans the next foothold by the divergent component of motion at a fixed step time, and solves
    for accelerations and ground forces,

        min sum W |J qdd + dJ/dt qd - a|^2  subject to  M_b qdd + h_b = J_b^T F,  stance feet at rest,

    for the tasks height of the center of mass, attitude of the trunk, swing feet; tau = M qdd + h - J^T F. A
    biped has one force at a clamped center of pressure; more legs, of which neighbors take turns (a trot on
    four, a tripod gait on six), share the weight, and the center of mass is steered, too. All parameters
    scale with leg length L, mass and gravity.

    ``speed`` (m/s) and ``heading`` (rad, to the left of ``forward``) are numbers, rows (t, value) with
    straight lines between, or functions of t (s). The speed is 0.1 sqrt(g L) by default, or 0.15 sqrt(g L) on
    point feet; at 0 it steps in place. ``period`` (s) of the ticks; ``limits`` of the torques, by default
    the model's own and at most 0.8 m g L; ``model``, what the law believes the robot to be; ``delay`` (s) and
    ``noise`` as for :class:`SampledLaw`; the law knows its delay and acts on the state that it foresees.
    ``step_time`` (in sqrt(height / g)), ``clearance``, ``width``
    between the feet of a biped and ``height`` of the hips (in L) may be changed. The feet are the outermost
    bodies with contact points of chains below the root, unless ``legs`` describes them
    (:class:`kinetree.trajectories.Leg`). ``tasks`` are added to those of walking, such as a
    :class:`PointTask` of a hand. The base is a free joint, or a planar one whose plane holds the
    walk. Slope and height of the ground need not be known. Start it from :meth:`start`. When the robot falls
    the motion ends, and the audit shows when, what went first and what to try.

    >>> import kinetree as kt
    >>> robot, law = kt.zoo.spatial_biped(), kt.control.WalkingLaw(speed=0.3)
    >>> walk = kt.simulate(robot, law.start(robot), duration=0.05, controller=law, rtol=1e-3, atol=1e-5,
    ...                    ground=kt.Ground(kt.simulation.Soil(stiffness=2e4)), method="radau")
    >>> bool(abs(walk.q.values[-1, 2] - walk.q.values[0, 2]) < 0.02)
    True
    """

    speed: Any = None
    _: KW_ONLY
    heading: Any = 0.0
    forward: ArrayLike = (1.0, 0.0, 0.0)
    legs: Sequence[Leg] | None = None
    period: float = 0.004
    limits: PerJoint | str | None = None
    model: Mechanism | None = None
    delay: float = 0.0
    noise: tuple[float, float] = (0.0, 0.0)
    seed: int = 0
    tasks: Sequence[LawTask] = ()
    step_time: float = 1.5
    clearance: float = 0.08
    width: float = 0.15
    height: float = 0.88

    def __post_init__(self) -> None:
        checked_model(self.model)
        object.__setattr__(self, "speed", course(self.speed, "speed"))
        object.__setattr__(self, "heading", course(self.heading, "heading"))
        if self.legs is not None:
            given = tuple(self.legs) if isinstance(self.legs, list | tuple) else ()
            if len(given) < 2 or not all(isinstance(leg, Leg) for leg in given):
                raise InputError(must_be("legs", "two or more Leg(...)", self.legs))
            object.__setattr__(self, "legs", given)
        for name, (low, high) in RANGES.items():
            x = number(getattr(self, name), name)
            if not low <= x <= high:
                raise InputError(must_be(name, f"between {low:g} and {high:g}", x, "g"))
        object.__setattr__(self, "tasks", checked_tasks(self.tasks))
        self._sampled_law(lambda t, q, qd, contact: None)  # period, limits, delay, noise

    @property
    def name(self) -> str:
        """What results call it."""
        return "WalkingLaw"

    def start(self, mechanism: Mechanism, q0: ArrayLike | None = None) -> Array:
        """Coordinates (n_dof,) of the robot standing with bent knees on level ground at height zero.

        ``q0`` (n_dof,) is a posture to look from, where the robot does not stand with its legs straight
        down at q = 0.
        """
        walker = self._walker(mechanism)
        width = max(self.width * walker.leg, walker.hip_width)
        near = None if q0 is None else np.array(q0, float)
        return standing(walker, self.height * walker.leg, width, near)

    def sampled(self, mechanism: Mechanism) -> RunningLaw:
        """The law in one simulation of a mechanism."""
        return self._sampled_law(self.balance(mechanism)).sampled(mechanism)

    def balance(self, mechanism: Mechanism) -> Balance:
        """The law itself, a function of (t, q, qd, contact) with a memory, for a mechanism."""
        if self.model is not None:
            check_same_structure(mechanism, self.model)
        believed = self._walker(mechanism if self.model is None else self.model)
        most = None if self.limits is None else torque_limits(checked_limits(self.limits), mechanism)
        late = (round(self.delay / self.period), self.period)
        command = Command(self.speed, self.heading)
        return Balance(believed, self._gait(believed), most, command, late, self.tasks)

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts, as JSON takes them."""
        names = [x for x in self.__dataclass_fields__ if x not in ("_", "legs", "tasks")]
        given = {x: plain(_described(getattr(self, x))) for x in names}
        legs = None if self.legs is None else [leg.name for leg in self.legs]
        stated = {"controller": "WalkingLaw", "legs": legs} | given
        return stated | ({"tasks": [type(task).__name__ for task in self.tasks]} if self.tasks else {})

    def __repr__(self) -> str:
        return f"WalkingLaw(speed={_described(self.speed)})"

    def _walker(self, mechanism: Mechanism) -> Legged:
        return legged(mechanism, self.forward, self.legs)

    def _sampled_law(self, law: Any) -> SampledLaw:
        return SampledLaw(
            law,
            period=self.period,
            limits=self.limits,
            delay=self.delay,
            noise=self.noise,
            seed=self.seed,
        )

    def _gait(self, walker: Legged) -> GaitNumbers:
        unit = math.sqrt(walker.gravity * walker.leg)
        command = Command(self.speed, self.heading)
        if walker.is_planar and command.turns:
            raise InputError(
                f"'{walker.mechanism.name}' moves in a plane, so it cannot change its heading, got "
                f"{_described(self.heading)}"
            )
        fastest = command.fastest()
        if fastest is not None and fastest > FASTEST * unit:
            raise InputError(
                f"speed of '{walker.mechanism.name}' with legs of {walker.leg:.3g} m must be within "
                f"{FASTEST * unit:.3g} m/s ({FASTEST:g} sqrt(g L)), got {fastest:g} m/s"
            )
        usual = DEFAULT_SPEED if walker.has_soles else POINT_FEET_SPEED
        speed = usual if self.speed is None else command.speed_at(0.0, 0.0) / unit
        return GaitNumbers(speed, self.step_time, self.clearance, self.width, self.height)


def _described(value: Any) -> Any:
    """A value, or the name of a function."""
    return f"function {getattr(value, '__name__', type(value).__name__)}" if callable(value) else value
