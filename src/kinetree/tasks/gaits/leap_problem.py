"""The problems of a leap: phases with and without ground, their meshes, and the initial guess.

Durations follow from ballistics: in a flight of T the center of mass rises by g T^2 / 8. Before and after it
feet rest on the ground, whose forces are sought; nothing acts on the trunk but these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.energy import center_of_mass, momentum
from kinetree.analysis.kinematics import jacobian
from kinetree.analysis.legged_stance import AXES, LeggedStance, legged_stance
from kinetree.analysis.legs import Foot
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.phases import Junction, PhasedProblem
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.setting import ENDS
from kinetree.motion.search.start import given_motion
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
from kinetree.tasks.gaits.problem import CLEAR
from kinetree.tasks.gaits.push import Unheld, tangents, unknown_push
from kinetree.tasks.gaits.task import Leaping

CROUCH = 0.8  # of straight legs: height of the hips before and after; straight ones could not go on rising
PUSH = 1.4  # sqrt(leg / g): time on the ground before and after a flight
HIGHEST = 1.0  # of the leg's length: higher jumps need legs of another kind
FURTHEST = 1.5  # of the leg's length
FLIGHT, LANDING, TAKEOFF = "fly", "land", "push"
SMALL = 1e-9  # weight of all rates beside that of the trunk's rotation
MET = 1e-6  # how well conditions are met
TURNS = np.pi  # rad: a trunk that would rotate so far before the top of its flight cannot stay upright


def takeoff_rates(who: LeggedStance, led: list[str], speed: float) -> Array | None:
    """Rates (n_dof,) of standing on all feet with the center of mass rising at ``speed`` (m/s).

    Without angular momentum about it, and with the least rotation of the trunk; ``led`` coordinates move, and
    twins with them. None where there are no such rates.
    """
    mechanism, n = who.mechanism, who.mechanism.n_dof
    index = mechanism.joint_index
    moves = np.zeros((n, len(led)))
    for k, name in enumerate(led):
        moves[index(name), k] = 1.0
        for twin, (leads, sign) in who.twins.items():
            if leads == name:
                moves[index(twin), k] = sign
    center = center_of_mass(mechanism, who.stance)
    rows = [
        jacobian(mechanism, who.stance, foot.body, foot.points[j])[AXES.index(axis)]
        for foot in who.feet
        for j, axis in who.held_rows(foot, held=who.held)
    ]
    total = np.stack([momentum(mechanism, who.stance, x, about=center) for x in np.eye(n)], axis=1)
    up, ahead, across = (AXES.index(x) for x in (who.up, who.forward, who.across))
    rows += [total[up] / mechanism.mass, total[ahead] / mechanism.mass, total[3 + across]]
    A = np.stack(rows) @ moves
    b = np.zeros(len(A))
    b[-3] = speed
    H = SMALL * np.eye(len(led)) + np.diag([1.0 if x in who.turns else 0.0 for x in led])
    root = np.linalg.cholesky(np.linalg.inv(H))
    rates: Array = moves @ root @ np.linalg.lstsq(A @ root, b, rcond=1e-10)[0]
    gap = np.stack(rows) @ rates - b
    return rates if np.abs(gap).max() < MET * max(speed, 1.0) else None


def check_takeoff(who: LeggedStance, led: list[str], speed: float, flight: float) -> None:
    """An error where the trunk would rotate half a turn before the top of a ``flight`` (s)."""
    rates = takeoff_rates(who, led, speed)
    if rates is None:
        return
    spin = max((abs(float(rates[who.mechanism.joint_index(x)])) for x in who.turns), default=0.0)
    if 0.5 * spin * flight < TURNS:
        return
    raise InputError(
        f"leap: '{who.mechanism.name}' cannot leave the ground upright: as its legs stretch, the trunk "
        f"'{who.mechanism.links[0].body.name}' would have to rotate at {spin:.0f} rad/s to leave at "
        f"{speed:.2g} m/s without angular momentum. Take a trunk with more inertia, lighter legs, or a lower "
        "height"
    )


SEGMENTS = {TAKEOFF: 20, FLIGHT: 12, LANDING: 20}
EFFORT, ACCELERATION, POSTURE, TRUNK = 100.0, 1e-3, 0.3, 3.0
FORCE = 1.0  # of squared pushes over the weight: which of the points of a sole carry, nothing else says
GUESSED = 20  # rows of the table that a search begins with
RANGE, LARGEST = 1.5, 6.0  # rad from standing; weights on one contact point
LIFTED = 0.1  # of the rise of the center of mass: how far feet clear the ground at most


@dataclass(frozen=True, eq=False)
class LeapPlan:
    """A leap of a robot: who leaps, what is asked, and how long the flight and each push take (s)."""

    who: LeggedStance
    task: Leaping
    flight: float
    push: float

    @property
    def phases(self) -> tuple[str, ...]:
        """The phases in their order; after those of a hop it begins once more."""
        return (TAKEOFF, FLIGHT) if self.task.cyclic else (TAKEOFF, FLIGHT, LANDING)

    @property
    def moved(self) -> Array:
        """From takeoff to landing (3,), in m."""
        moved = np.zeros(3)
        moved[AXES.index(self.who.forward)] = self.task.distance
        return moved

    @property
    def mesh(self) -> dict[str, int]:
        """Segments of each phase to begin with."""
        return {name: SEGMENTS[name] for name in self.phases}


def leap_plan(mechanism: Mechanism, task: Leaping) -> LeapPlan:
    """The plan of a leap; refused where legs are too short for it or cannot push all joints off."""
    who = legged_stance(mechanism, task.forward, CROUCH, task.stance)
    who = who.limited({} if task.limits is None else task.limits)
    height, distance = float(task.height), float(task.distance)
    if not 0.0 < height <= HIGHEST * who.leg:
        raise InputError(
            f"leap: height must be above 0 and at most {HIGHEST * who.leg:.2f} m, the length of the legs, "
            f"got {height:g} m"
        )
    if not 0.0 <= distance <= FURTHEST * who.leg:
        raise InputError(f"leap: distance must be from 0 to {FURTHEST * who.leg:.2f} m, got {distance:g} m")
    flight = float(np.sqrt(8.0 * height / gravity_of(who)))
    if distance == 0.0:
        check_takeoff(who, _led(who), 0.5 * gravity_of(who) * flight, flight)
    return LeapPlan(who, task, flight, PUSH * float(np.sqrt(who.leg / gravity_of(who))))


def leap_phases(plan: LeapPlan, mesh: Mapping[str, int]) -> PhasedProblem:
    """The problem of all phases, with so many segments of the splines in each."""
    who, task, moved = plan.who, plan.task, plan.moved
    flying = _flying(who, task, plan.flight, moved, mesh[FLIGHT])
    if task.cyclic:
        jumps = {"position": {who.slides(who.forward): -task.distance}} if task.distance else {}
        inside, on = (Junction("velocity", jumps=x, joints=_led(who)) for x in ({}, jumps))
        push = _standing(who, task, plan.push, np.zeros(3), mesh[TAKEOFF])
        return PhasedProblem([push, flying], [inside], cycle=on)
    return PhasedProblem(
        [
            _standing(who, task, plan.push, np.zeros(3), mesh[TAKEOFF], start=_rest(who, 0.0)),
            flying,
            _standing(who, task, plan.push, moved, mesh[LANDING], end=_rest(who, task.distance)),
        ],
        [Junction("velocity", joints=_led(who))] * 2,
    )


def leap_start(plan: LeapPlan, phases: PhasedProblem) -> Array:
    """The initial guess of all phases."""
    far = plan.task.distance
    spans = {
        TAKEOFF: (plan.push, 0.0, 0.0), FLIGHT: (plan.flight, 0.0, far), LANDING: (plan.push, far, far)
    }  # fmt: skip
    return np.concatenate(
        [
            problem.program.reduced(
                given_motion(problem, *_guess(plan.who, name, *spans[name], plan.task.height))
            )
            for problem, name in zip(phases.problems, plan.phases, strict=True)
        ]
    )


def gravity_of(who: LeggedStance) -> float:
    """Size of gravity (m/s^2)."""
    return float(np.linalg.norm(who.mechanism.gravity))


def _enforced(task: Leaping) -> str | None:
    """Limits of the model, where the task names these."""
    return "model" if isinstance(task.limits, str) else None


def _kept(who: LeggedStance) -> dict[str, float]:
    """Coordinates of the trunk that stay as they are: whose sides are alike leaps straight ahead."""
    names = who.held or ((*who.aside, *who.sideways) if who.mirrored else ())
    return {x: float(who.stance[who.mechanism.joint_index(x)]) for x in names}


def _led(who: LeggedStance) -> list[str]:
    """Coordinates that move on their own: not those that stay, nor twins on the right."""
    return [x for x in who.mechanism.joint_names if x not in _kept(who) and x not in who.twins]


def _leading(who: LeggedStance) -> list[Foot]:
    """Feet whose motion is asked for; that of their twins follows."""
    y = AXES.index(who.across)
    return [foot for foot in who.feet if not who.twins or who.places(foot)[:, y].mean() > 0.0]


def _alike(who: LeggedStance) -> list[Constraint]:
    """Twins move as mirror images."""
    found: list[Constraint] = []
    for name, (twin, sign) in who.twins.items():
        if name in _kept(who):
            continue
        apart = float(who.stance[who.mechanism.joint_index(name)])
        apart -= sign * float(who.stance[who.mechanism.joint_index(twin)])
        found.append(JointCombination({name: 1.0, twin: -sign}, apart, apart, at="points"))
    return found


def _rest(who: LeggedStance, distance: float) -> dict[str, float]:
    q = {x: float(who.stance[who.mechanism.joint_index(x)]) for x in _led(who)}
    q[who.slides(who.forward)] += distance
    return q


def _common(who: LeggedStance, root: list[str]) -> tuple[list[Objective], list[Constraint]]:
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
        *(
            GroundClearance(body, points, floor_of(who), normal)
            for body, points in further_points(who).items()
        ),
    ]
    if who.torques:
        limits.append(TorqueLimits(who.torques, joints=list(who.torques)))
    return objective, limits


def floor_of(who: LeggedStance) -> float:
    """Height of the ground on which feet stand (m)."""
    return float(min(who.places(foot)[:, AXES.index(who.up)].min() for foot in who.feet))


def further_points(who: LeggedStance) -> dict[str, Array]:
    """Contact points (k, 3) by body that are not on feet, such as knees, which stay above the ground."""
    feet, found = {foot.body for foot in who.feet}, {}
    for body in dict.fromkeys(x.body for x in who.mechanism.contact_points if x.body not in feet):
        found[body] = np.array([x.position for x in who.mechanism.contact_points if x.body == body])
    return found


def _standing(
    who: LeggedStance,
    task: Leaping,
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
    found += [row for foot in who.feet for row in _push(who, task, foot)]
    return Problem(
        who.mechanism, objective=objective, constraints=found, duration=T, segments=n, samples=2,
        frozen=_kept(who), limits=_enforced(task), regularization=0.0,
    )  # fmt: skip


def _push(who: LeggedStance, task: Leaping, foot: Foot) -> list[Constraint]:
    """The ground's force on a foot, within friction."""
    across, each = f"{foot.body} across", who.weight / len(who.feet) / len(foot.points)
    found = unknown_push(who, foot, foot.names, across, largest=LARGEST * who.weight, start=each)
    normal = np.eye(3)[AXES.index(who.up)]
    shape = "octagon" if len(tangents(who)) > 1 else "box"
    return [*found, Friction([*foot.names, across], task.friction, normal=normal, shape=shape)]


def _flying(who: LeggedStance, task: Leaping, T: float, moved: Array, n: int) -> Problem:
    """Nothing touches; at the end feet are where they land, at rest."""
    idle = _kept(who) if who.twins or who.flat else {}  # nothing moves them
    objective, found = _common(who, [x for x in who.unheld_rows if x not in idle])
    normal, up = np.eye(3)[AXES.index(who.up)], AXES.index(who.up)
    inside = np.linspace(0.0, 1.0, 2 * n + 1)[1:-1]
    height = min(CLEAR * who.leg, LIFTED * gravity_of(who) * T**2 / 8.0)
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
        frozen=_kept(who), limits=_enforced(task), regularization=0.0,
    )  # fmt: skip


def _guess(who: LeggedStance, name: str, T: float, a: float, b: float, height: float) -> tuple[Array, Array]:
    """Times and positions a phase is looked for from: legs bend as the hips go down and up, feet in place.

    Before a flight hips sink and leave with its velocity v, z(s) = v T (-4 s^3 + 7 s^4 - 3 s^5); in it legs
    keep their shape and all of it rises as a stone does.
    """
    s = np.linspace(0.0, 1.0, GUESSED + 1)
    q = np.tile(who.stance, (len(s), 1))
    slide, lift = (who.mechanism.joint_index(who.slides(x)) for x in (who.forward, who.up))
    if name == FLIGHT:
        q[:, lift] += 4.0 * height * s * (1.0 - s)
    else:
        speed = float(np.sqrt(2.0 * gravity_of(who) * height))
        along = s if name == TAKEOFF else 1.0 - s
        sunk = -speed * T * (-4.0 * along**3 + 7.0 * along**4 - 3.0 * along**5)  # at rest; 0, speed, 0
        q = who.sunk(sunk)
    q[:, slide] += a + (b - a) * s
    return T * s, q
