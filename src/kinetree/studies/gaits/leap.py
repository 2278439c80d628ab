"""Motions with a flight: a standing jump, and hopping on and on, in phases with and without ground.

Durations follow from ballistics: in a flight of T the center of mass rises by g T^2 / 8. Before and after it
feet rest on the ground, whose forces are sought; nothing acts on the trunk but these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.energy import center_of_mass
from kinetree.control.sampled import SampledLaw
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.options import OPTIONS
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.phased import predict_phases
from kinetree.motion.problem.phases import Junction, PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.setting import ENDS
from kinetree.motion.search.start import given_motion
from kinetree.motion.solvers.choice import SOLVERS
from kinetree.motion.terms import (
    Boundary,
    Effort,
    Friction,
    GroundClearance,
    JointCombination,
    JointLimits,
    PointPosition,
    PointVelocity,
    Posture,
    SquaredAcceleration,
    SquaredForce,
    TorqueLimits,
)
from kinetree.motion.terms.contract import Constraint, Objective
from kinetree.result.records import Check
from kinetree.result.result import Result, changed
from kinetree.simulation.ground import Ground
from kinetree.studies.checks import unsupported_check
from kinetree.studies.gaits.checks import force_checks
from kinetree.studies.gaits.leaping import FollowingLeap, Leaping, LeapMotion
from kinetree.studies.gaits.problem import CLEAR
from kinetree.studies.gaits.push import Unheld, tangents, unknown_push
from kinetree.studies.gaits.takeoff import check_takeoff
from kinetree.studies.gaits.tracking import tracked, upright_until
from kinetree.studies.gaits.walker import AXES, Foot, Legged, legged
from kinetree.studies.sampled import sampled
from kinetree.studies.walking.verified import Verified
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.tabulated_motion import from_table

CROUCH = 0.8  # of straight legs: height of the hips before and after; straight ones could not go on rising
PUSH = 1.4  # sqrt(leg / g): time on the ground before and after a flight
HIGHEST = 1.0  # of the leg's length: higher jumps need legs of another kind
FURTHEST = 1.5  # of the leg's length
FINER = 3  # how often the mesh is refined where it must be
SEGMENTS = {"push": 20, "fly": 12, "land": 20}
HOP = ("push", "fly")  # phases of a hop, after which it begins once more
EFFORT, ACCELERATION, POSTURE, TRUNK = 100.0, 1e-3, 0.3, 3.0
FORCE = 1.0  # of squared pushes over the weight: which of the points of a sole carry, nothing else says
STRAYS = 0.05  # of the leg's length: how far a leap that is followed may get from its prediction
GUESSED = 20  # rows of the table that a search begins with
ROWS = 200  # of the table of a phase that a law follows
RANGE, LARGEST = 1.5, 6.0  # rad from standing; weights on one contact point
LEFT = 0.01  # of the weight: forces on the trunk that nothing exerts, between knots
LIFTED = 0.1  # of the rise of the center of mass: how far feet clear the ground at most
SLIPS, SINKS = 1e-3, 1e-3  # relative to the leg
SEARCH = OPTIONS


class Rules(NamedTuple):
    """What holds in all phases of a leap: the friction of the ground, limits of the model or none."""

    friction: float
    limits: str | None


@dataclass(frozen=True, eq=False)
class Leap(Verified):
    """A predicted jump or hop: who, the prediction in phases, and all checks by name."""

    who: Legged
    height: float
    distance: float
    prediction: PhasedPrediction
    checks: dict[str, Check]
    seconds: dict[str, float] = field(default_factory=dict)
    iterations: int = 0  # of the searches on all meshes

    @property
    def cyclic(self) -> bool:
        """Whether it repeats: a hop does, a jump does not."""
        return len(self.prediction.parts) == len(HOP)

    @cached_property
    def _motion(self) -> LeapMotion:
        return LeapMotion(self.who, self.prediction, self.distance, self.cyclic)

    def trajectory(self, hops: int = 1) -> Trajectory:
        """The motion of all phases as a trajectory; a hop is repeated ``hops`` times."""
        self._check_hops(hops)
        slide = self.who.mechanism.joint_index(self.who.slides(self.who.forward))
        t: list[Array] = []
        q: list[Array] = []
        qd: list[Array] = []
        begun = 0.0
        for k in range(hops):
            for part in self.prediction.parts:
                times = np.linspace(0.0, part.duration, ROWS + 1)
                motion = part.at(times)
                first = 1 if t else 0
                moved = motion[0][first:].copy()
                moved[:, slide] += k * self.distance
                t.append(begun + times[first:])
                q.append(moved)
                qd.append(motion[1][first:])
                begun += part.duration
        return from_table(np.concatenate(t), np.concatenate(q), np.concatenate(qd))

    def law(self, period: float = 0.004, **options: Any) -> SampledLaw:
        """The law that follows this leap on the ground and keeps its balance, called once per ``period`` (s).

        Each tick solves for accelerations and ground forces near those predicted. Feet land where the actual
        flight ends: moved by the error of the center of mass there, and by its velocity. Options are those of
        :class:`kinetree.control.SampledLaw`: delay, noise, seed.
        """
        takeoff, flight = self.prediction.durations[:2]
        whole = self._motion.duration if self.cyclic else None
        timing = Leaping(len(self.who.feet), takeoff, flight, whole)
        mechanism = self.who.mechanism
        most = np.full(mechanism.n_dof, np.inf)
        for name, limit in self.who.torques.items():
            most[mechanism.joint_index(name)] = limit
        return SampledLaw(FollowingLeap(self.who, self._motion, timing, most), period=period, **options)

    def track(self, hops: int = 1, ground: Ground | None = None, **options: Any) -> Result:
        """A simulation on the ground under :meth:`law`; a hop is repeated ``hops`` times.

        Options are those of :func:`kinetree.simulate`, ``controller`` for another law. Nothing acts on the
        trunk but the ground.
        """
        law = options.pop("controller", None) or self.law()
        given = {"method": "radau", "rtol": 1e-4, "atol": 1e-6, **options}
        return tracked(self.who, self.trajectory(hops), law, ground, given)

    def followed(self, hops: int = 1, run: Result | None = None) -> Result:
        """The result with a check of whether the leap, followed on the ground, stays upright and near.

        ``run`` is the simulation of :meth:`track`, if there is one already.
        """
        result = self.to_result()
        if not self.solved:
            return result
        hops = hops if self.cyclic else 1
        path = self.trajectory(hops)
        run = self.track(hops) if run is None else run
        last = upright_until(self.who, run, path)
        share = float(run.time.values[last] / path.duration)
        off = self.strays(run)
        stands = "stays upright to the end" if share >= 1.0 - 1e-9 else f"falls after {share:.0%} of the time"
        times = f" of {hops} hops" if hops > 1 else ""
        words = (
            f"the simulation{times} on the ground {stands}, and its center of mass deviates by "
            f"{1e3 * off:.0f} mm"
        )
        most = STRAYS * self.who.leg
        check = Check(off, most, share >= 1.0 - 1e-9 and off <= most, "m", words)
        return changed(result, audit={**result.audit, "tracked": check})

    def strays(self, run: Result) -> float:
        """How far the center of mass of a simulation gets from that of the prediction (m)."""
        t, q = np.asarray(run.time.values), np.asarray(run.q.values)
        asked = np.stack([self._motion.at(float(x)).com for x in t])
        apart = center_of_mass(self.who.mechanism, q) - asked
        return float(np.linalg.norm(apart, axis=1).max())

    def _check_hops(self, hops: Any) -> None:
        if type(hops) is not int or hops < 1:
            raise InputError(f"leap: hops must be an integer of 1 or more, got {shown(hops)}")
        if hops > 1 and not self.cyclic:
            raise InputError(f"leap: a jump is simulated once, got {hops} hops")

    def to_result(self) -> Result:
        """Motion of all phases, torques, forces, and the audit."""
        result = self.prediction.to_result()
        return changed(result, audit={**result.audit, **self.checks})

    def __repr__(self) -> str:
        word = self.prediction.word
        times = ", ".join(f"{T:.3g}" for T in self.prediction.durations)
        return (
            f"Leap('{self.who.mechanism.name}', {self.height:g} m high, {self.distance:g} m far: {word}, "
            f"phases of {times} s, objective {self.prediction.objective:.4g}, "
            f"{self.iterations} iterations)"
        )


def jump(
    mechanism: Mechanism, height: float = 0.1, distance: float = 0.0, *, forward: str = "x",
    friction: float = 0.7, limits: Mapping[str, float] | str | None = None, stance: Any = None, **search: Any,
) -> Leap:  # fmt: skip
    """A standing jump with the least effort: from rest on all feet, a flight, and back to rest.

    The center of mass rises by ``height`` (m) in the flight, and all lands ``distance`` (m) further along the
    axis ``forward``. ``friction`` and ``limits`` as in :class:`Gait`; ``search`` as in `predict_phases`.

    >>> import kinetree as kt
    >>> kt.gaits.jump(kt.zoo.planar_biped(), height=0.08).solved
    True
    """
    who, T, rules = _asked(mechanism, height, distance, forward, friction, limits, stance, search)
    ground = PUSH * float(np.sqrt(who.leg / _gravity(who)))
    moved = np.zeros(3)
    moved[AXES.index(who.forward)] = distance

    def phases(mesh: dict[str, int]) -> PhasedProblem:
        return PhasedProblem(
            [
                _standing(who, rules, ground, np.zeros(3), mesh["push"], start=_rest(who, 0.0)),
                _flying(who, rules, T, moved, mesh["fly"]),
                _standing(who, rules, ground, moved, mesh["land"], end=_rest(who, distance)),
            ],
            [Junction("velocity", joints=_led(who))] * 2,
        )

    starts = {"push": (ground, 0.0, 0.0), "fly": (T, 0.0, distance), "land": (ground, distance, distance)}
    return _found(who, rules, height, distance, phases, starts, search)


def hop(
    mechanism: Mechanism, height: float = 0.05, distance: float = 0.0, *, forward: str = "x",
    friction: float = 0.7, limits: Mapping[str, float] | str | None = None, stance: Any = None, **search: Any,
) -> Leap:  # fmt: skip
    """Hopping on and on with all feet together: on the ground, a flight, ``distance`` (m) further the same.

    Arguments are those of :func:`jump`.

    >>> import kinetree as kt
    >>> kt.gaits.hop(kt.zoo.planar_biped(), height=0.03).solved
    True
    """
    who, T, rules = _asked(mechanism, height, distance, forward, friction, limits, stance, search)
    ground = PUSH * float(np.sqrt(who.leg / _gravity(who)))
    moved = np.zeros(3)
    moved[AXES.index(who.forward)] = distance
    slide = who.slides(who.forward)
    jumps = {"position": {slide: -distance}} if distance else {}
    inside, on = (Junction("velocity", jumps=x, joints=_led(who)) for x in ({}, jumps))

    def phases(mesh: dict[str, int]) -> PhasedProblem:
        push = _standing(who, rules, ground, np.zeros(3), mesh["push"])
        return PhasedProblem([push, _flying(who, rules, T, moved, mesh["fly"])], [inside], cycle=on)

    starts = {"push": (ground, 0.0, 0.0), "fly": (T, 0.0, distance)}
    return _found(who, rules, height, distance, phases, starts, search)


# ---- the problems --------------------------------------------------------------------------------------
def _gravity(who: Legged) -> float:
    return float(np.linalg.norm(who.mechanism.gravity))


def _asked(
    mechanism: Mechanism, height: float, distance: float, forward: str, friction: float,
    limits: Mapping[str, float] | str | None, stance: Any, search: dict[str, Any],
) -> tuple[Legged, float, Rules]:  # fmt: skip
    """Who leaps, how long the flight takes (s), and by which rules."""
    for name in search:
        if name not in SEARCH:
            known = ["forward", "friction", "limits", "stance", *SEARCH]
            raise InputError(f"leap: {unknown_name('setting', name, known)}")
    if not 0.0 < number(friction, "leap: friction") < np.inf:
        raise InputError(f"leap: friction must be positive and finite, got {shown(friction)}")
    rules = Rules(float(friction), "model" if isinstance(limits, str) else None)
    who = legged(mechanism, forward, CROUCH, stance).limited({} if limits is None else limits)
    if not 0.0 < number(height, "leap: height") <= HIGHEST * who.leg:
        raise InputError(
            f"leap: height must be above 0 and at most {HIGHEST * who.leg:.2f} m, the length of the legs, "
            f"got {height:g} m"
        )
    if not 0.0 <= number(distance, "leap: distance") <= FURTHEST * who.leg:
        raise InputError(f"leap: distance must be from 0 to {FURTHEST * who.leg:.2f} m, got {distance:g} m")
    flight = float(np.sqrt(8.0 * height / _gravity(who)))
    if distance == 0.0:
        check_takeoff(who, _led(who), 0.5 * _gravity(who) * flight, flight)
    return who, flight, rules


def _kept(who: Legged) -> dict[str, float]:
    """Coordinates of the trunk that stay as they are: whose sides are alike leaps straight ahead."""
    names = who.held or ((*who.aside, *who.sideways) if who.mirrored else ())
    return {x: float(who.stance[who.mechanism.joint_index(x)]) for x in names}


def _led(who: Legged) -> list[str]:
    """Coordinates that move on their own: not those that stay, nor twins on the right."""
    return [x for x in who.mechanism.joint_names if x not in _kept(who) and x not in who.twins]


def _leading(who: Legged) -> list[Foot]:
    """Feet whose motion is asked for; that of their twins follows."""
    y = AXES.index(who.across)
    return [foot for foot in who.feet if not who.twins or who.places(foot)[:, y].mean() > 0.0]


def _alike(who: Legged) -> list[Constraint]:
    """Twins move as mirror images."""
    found: list[Constraint] = []
    for name, (twin, sign) in who.twins.items():
        if name in _kept(who):
            continue
        apart = float(who.stance[who.mechanism.joint_index(name)])
        apart -= sign * float(who.stance[who.mechanism.joint_index(twin)])
        found.append(JointCombination({name: 1.0, twin: -sign}, apart, apart, at="points"))
    return found


def _rest(who: Legged, distance: float) -> dict[str, float]:
    q = {x: float(who.stance[who.mechanism.joint_index(x)]) for x in _led(who)}
    q[who.slides(who.forward)] += distance
    return q


def _common(who: Legged, root: list[str]) -> tuple[list[Objective], list[Constraint]]:
    """Objective and what holds in all phases: a trunk that nothing drives by its ``root``, ranges."""
    mechanism = who.mechanism
    at = {x: float(who.stance[mechanism.joint_index(x)]) for x in mechanism.joint_names}
    moving = [x for x in who.joints if x not in _kept(who)]
    own = [x for x in moving if x not in who.twins]
    low, high = ({x: side[x] for x in own} for side in who.ranges(RANGE))
    size = who.weight * who.leg
    slides = (who.slides(who.forward), who.slides(who.up))
    turns = [x for x in who.root if x not in (*_kept(who), *slides)]
    objective: list[Objective] = [
        EFFORT * Effort(2.0, who.joints, limits={x: size for x in who.joints}),
        ACCELERATION * SquaredAcceleration(moving),
        POSTURE * Posture(moving, {x: at[x] for x in moving}),
    ]
    if turns:
        objective.append(TRUNK * Posture(turns, {x: at[x] for x in turns}))
    normal = np.eye(3)[AXES.index(who.up)]
    limits: list[Constraint] = [
        *(Unheld(x, who.weight) for x in root),
        JointLimits(low, high, own),
        *_alike(who),
        *(GroundClearance(body, points, _floor(who), normal) for body, points in _others(who).items()),
    ]
    if who.torques:
        limits.append(TorqueLimits(who.torques, joints=list(who.torques)))
    return objective, limits


def _floor(who: Legged) -> float:
    """Height of the ground on which feet stand (m)."""
    return float(min(who.places(foot)[:, AXES.index(who.up)].min() for foot in who.feet))


def _others(who: Legged) -> dict[str, Array]:
    """Contact points (k, 3) by body that are not on feet, such as knees, which stay above the ground."""
    feet, found = {foot.body for foot in who.feet}, {}
    for body in dict.fromkeys(x.body for x in who.mechanism.contact_points if x.body not in feet):
        found[body] = np.array([x.position for x in who.mechanism.contact_points if x.body == body])
    return found


def _standing(
    who: Legged,
    rules: Rules,
    T: float,
    moved: Array,
    n: int,
    start: dict[str, float] | None = None,
    end: dict[str, float] | None = None,
) -> Problem:
    """All feet rest, moved by (3,) from where they stand."""
    objective, found = _common(who, who.unheld_rows)
    objective += [FORCE / who.weight**2 * SquaredForce(point) for foot in who.feet for point in foot.names]
    for at, pose in zip(ENDS, (start, end), strict=True):
        if pose is not None:
            found.append(Boundary(at, pose, {x: 0.0 for x in pose}))
    knots = np.linspace(0.0, 1.0, n + 1)
    knots = knots[1:]  # where the pose at rest or the flight before says where feet are
    knots = knots[:-1] if end is not None else knots
    for foot in _leading(who):
        places = who.places(foot) + moved
        for j, axis in who.held_rows(foot, held=tuple(_kept(who))):
            found.append(PointPosition(foot.body, places[j], point=foot.points[j], axes=axis, at=knots))
            if end is None:  # else a spline that is held at its knots rings towards its open end
                found.append(PointVelocity(foot.body, np.zeros(3), point=foot.points[j], axes=axis, at="end"))
    found += [row for foot in who.feet for row in _push(who, rules, foot)]
    return Problem(
        who.mechanism, objective=objective, constraints=found, duration=T, segments=n, samples=2,
        frozen=_kept(who), limits=rules.limits, regularization=0.0,
    )  # fmt: skip


def _push(who: Legged, rules: Rules, foot: Foot) -> list[Constraint]:
    """The ground's force on a foot, within friction."""
    across, each = f"{foot.body} across", who.weight / len(who.feet) / len(foot.points)
    found = unknown_push(who, foot, foot.names, across, largest=LARGEST * who.weight, start=each)
    normal = np.eye(3)[AXES.index(who.up)]
    shape = "octagon" if len(tangents(who)) > 1 else "box"
    return [*found, Friction([*foot.names, across], rules.friction, normal=normal, shape=shape)]


def _flying(who: Legged, rules: Rules, T: float, moved: Array, n: int) -> Problem:
    """Nothing touches; at the end feet are where they land, at rest."""
    idle = _kept(who) if who.twins or who.flat else {}  # nothing moves them
    objective, found = _common(who, [x for x in who.unheld_rows if x not in idle])
    normal, up = np.eye(3)[AXES.index(who.up)], AXES.index(who.up)
    inside = np.linspace(0.0, 1.0, 2 * n + 1)[1:-1]
    height = min(CLEAR * who.leg, LIFTED * _gravity(who) * T**2 / 8.0)
    above = height * (4.0 * inside * (1.0 - inside)) ** 2
    for foot in _leading(who):
        places = who.places(foot)
        floor = float(places[:, up].min())
        found.append(GroundClearance(foot.body, foot.points, floor + above, normal, at=inside))
        for j, axis in who.held_rows(foot, held=tuple(_kept(who))):
            found.append(
                PointPosition(foot.body, places[j] + moved, point=foot.points[j], axes=axis, at="end")
            )
            found.append(PointVelocity(foot.body, np.zeros(3), point=foot.points[j], axes=axis, at="end"))
    return Problem(
        who.mechanism, objective=objective, constraints=found, duration=T, segments=n, samples=2,
        frozen=_kept(who), limits=rules.limits, regularization=0.0,
    )  # fmt: skip


# ---- search and checks ---------------------------------------------------------------------------------
def _found(
    who: Legged, rules: Rules, height: float, distance: float,
    phases: Callable[[dict[str, int]], PhasedProblem], starts: dict[str, tuple[float, float, float]],
    search: dict[str, Any],
) -> Leap:  # fmt: skip
    """The leap on the usual mesh, and where forces between its knots are not in balance, on finer ones."""
    begun = perf_counter()
    mesh = {name: SEGMENTS[name] for name in starts}
    asked = phases(mesh)
    first: Any = np.concatenate(
        [
            problem.program.reduced(given_motion(problem, *_guess(who, name, *starts[name], height)))
            for problem, name in zip(asked.problems, starts, strict=True)
        ]
    )
    given = {"tolerance": 1e-3, "max_iterations": 300, "between": None, "solver": _solver(), **search}
    spent = 0
    for _ in range(1 + FINER):
        prediction = predict_phases(asked, start=first, **given)
        spent += prediction.iterations
        left = _left(who, prediction)
        kept = [part.max_violation <= part.allowed_between for part in prediction.parts]
        if not prediction.solved_at_samples or (all(kept) and max(left) <= LEFT):
            break
        for name, value, fine in zip(starts, left, kept, strict=True):
            rough = value > LEFT or not fine
            mesh[name] = round(mesh[name] * (2.0 if value > 2.0 * LEFT else 1.5 if rough else 1.0))
        asked, first = phases(mesh), list(prediction.parts)
    found = perf_counter()
    checks = _checked(who, rules, height, distance, prediction, tuple(starts))
    return Leap(
        who, height, distance, prediction, checks,
        {"search": found - begun, "checks": perf_counter() - found}, spent,
    )  # fmt: skip


def _left(who: Legged, prediction: PhasedPrediction) -> list[float]:
    """The largest force on the trunk that nothing exerts, phase by phase, relative to the weight."""
    return [who.unheld(sampled(part, _fine(part)).tau) for part in prediction.parts]


def _fine(part: Prediction) -> Array:
    """Instants (m,) of a phase at which it is checked: twenty between two knots."""
    return np.linspace(0.0, 1.0, 20 * part.problem.basis.segments + 1)


def _guess(who: Legged, name: str, T: float, a: float, b: float, height: float) -> tuple[Array, Array]:
    """Times and positions a phase is looked for from: legs bend as the hips go down and up, feet in place.

    Before a flight hips sink and leave with its velocity v, z(s) = v T (-4 s^3 + 7 s^4 - 3 s^5); in it legs
    keep their shape and all of it rises as a stone does.
    """
    s = np.linspace(0.0, 1.0, GUESSED + 1)
    q = np.tile(who.stance, (len(s), 1))
    slide, lift = (who.mechanism.joint_index(who.slides(x)) for x in (who.forward, who.up))
    if name == "fly":
        q[:, lift] += 4.0 * height * s * (1.0 - s)
    else:
        speed = float(np.sqrt(2.0 * _gravity(who) * height))
        along = s if name == "push" else 1.0 - s
        sunk = -speed * T * (-4.0 * along**3 + 7.0 * along**4 - 3.0 * along**5)  # at rest; 0, speed, 0
        q = who.sunk(sunk)
    q[:, slide] += a + (b - a) * s
    return T * s, q


def _solver() -> str:
    """IPOPT if it is installed: from far away it is quicker with phases than the solver that comes along."""
    return "ipopt" if SOLVERS["ipopt"].is_installed() else "auto"


def _checked(
    who: Legged, rules: Rules, height: float, distance: float, prediction: PhasedPrediction,
    names: tuple[str, ...],
) -> dict[str, Check]:  # fmt: skip
    up = AXES.index(who.up)
    motions = [sampled(part, _fine(part)) for part in prediction.parts]
    left = max(who.unheld(motion.tau) for motion in motions)
    slips = sinks = rise = 0.0
    for motion, name in zip(motions, names, strict=True):
        moved = distance * np.eye(3)[AXES.index(who.forward)] if name == "land" else np.zeros(3)
        for foot in who.feet:
            places, stand = motion.place(foot.body, foot.points), who.places(foot)
            if name == "fly":
                sinks = max(sinks, float((stand[:, up].min() - places[..., up]).max()))
            else:
                slips = max(slips, float(np.abs(places - stand - moved).max()))
        for body, points in _others(who).items():
            sinks = max(sinks, float((_floor(who) - motion.place(body, points)[..., up]).max()))
        if name == "fly":
            height_of = center_of_mass(who.mechanism, motion.q)[:, up]
            rise = float(height_of[len(motion.s) // 2] - 0.5 * (height_of[0] + height_of[-1]))
    gaps = max((abs(x) for x in prediction.gaps.values()), default=0.0)
    return {
        "trunk": unsupported_check(left, LEFT),
        "feet": Check.within(
            slips / who.leg, SLIPS, "1", "stance feet rest; motion relative to the leg length"
        ),
        "clearance": Check.within(
            max(sinks, 0.0) / who.leg,
            SINKS,
            "1",
            "feet in flight and all other points stay above the ground; depth relative to the leg length",
        ),
        **force_checks(who, motions, rules.friction),
        "rise": Check.within(
            abs(rise / height - 1.0),
            0.02,
            "1",
            f"the center of mass rises by {rise:.4f} m above takeoff and landing",
        ),
        "junctions": Check.within(
            gaps, 1e-5, "rad or m", "each phase continues from the end of the previous one"
        ),
    }
