"""A predicted step put to the test: finer grid, momentum, work of the ground, mirror image, simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.rooting import change_root
from kinetree.model.human.joints import mirror_image
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.tightening import peaks_above
from kinetree.result.records import Check
from kinetree.state import Wrench
from kinetree.tasks.checks import (
    CARRIES,
    EXACT,
    friction_check,
    friction_used,
    momentum_check,
    outside,
    pull,
    pushing_check,
    torque_check,
    torque_excess,
)
from kinetree.tasks.ground import GroundReactions
from kinetree.tasks.person import ROOT
from kinetree.tasks.piecewise_simulation import simulated_in_pieces
from kinetree.tasks.sampled import SampledMotion, sampled
from kinetree.tasks.walking.ground import (
    root_wrench,
    step_ground,
    step_wrenches,
    trailing_forces,
    trailing_moment,
)
from kinetree.tasks.walking.problem import SUPPORTING, TOE, TRAILING, StepSchedule, Walker

FINER = 10
EXCESS = 1e-3  # relative to the limit: what torques may exceed between the instants of the rows
SLIPS, SINKS, OUTSIDE = 1e-3, 1e-9, 5e-3  # m: contact points, clearance, center of pressure
SLACK = 0.05  # relative to the limit: what friction may exceed between the instants of the rows
PULLS = 1e-8  # of the weight: what the ground may pull between the instants of the rows
GIVES = 0.5  # J per step that the ground may give


def checked(
    who: Walker, prediction: Prediction, *, simulated: bool = False, alone: bool = False
) -> dict[str, Check]:
    """All checks by name; the simulation only if asked for, since it takes as long as the prediction.

    A step ``alone`` has no mirror image that it goes on into.
    """
    plan = StepSchedule(who.task)
    nodes = plan.nodes.finer(FINER)
    finer = _finer_step(prediction, plan)
    ground = step_ground(who, finer)
    weights = np.zeros(len(finer.s))
    weights[np.searchsorted(finer.s, nodes.s)] = nodes.weights
    found = _finer(who, finer, ground, plan)
    s = np.linspace(0.0, 1.0, 201)[:-1]
    step = SampledMotion(prediction, s)
    found["momentum"] = momentum_check(step, step_ground(who, step).force.sum(axis=1))
    found["work_of_the_ground"] = _work(who, ground, weights)
    if not alone:
        found["mirror_image"] = _mirrored(who, prediction, step)
    if simulated:
        found["simulation"] = simulation(who, prediction)
    return found


def _finer(who: Walker, step: SampledMotion, ground: GroundReactions, plan: StepSchedule) -> dict[str, Check]:
    """Torques, contact points, clearance and support on a grid that is ten times finer."""
    s = step.s
    both, until = s <= plan.double, s <= plan.ball_off
    tip, ball, side = (step.place(*who.points[f"left_{name}"]) for name in ("toe_tip", "ball", "ball_medial"))
    strayed = [np.abs(tip[both] - tip[0]).max(), np.abs(tip[both, 2]).max()]
    strayed += [np.abs(point[until, 2]).max() for point in (ball, side)]
    free = {"heel": s >= 0.0, "ball": ~until, "ball_medial": ~until, "ball_lateral": ~until, "toe_tip": ~both}
    feet = [step.place(*who.points[f"left_{name}"])[instants, 2] for name, instants in free.items()]
    feet += [step.place(*who.points[f"right_{name}"])[:, 2] for name in free]
    lowest = min(float(z.min()) for z in feet)
    return {
        "torques": torque_check(_torque_excess(who, step), EXCESS),
        "contact": Check.within(max(strayed), SLIPS, "m", "resting points of the trailing foot do not move"),
        "clearance": Check.within(
            max(0.0 - lowest, 0.0),
            SINKS,
            "m",
            "no point of a foot is below the ground, but for those of the trailing foot that rest (contact); "
            "largest depth",
        ),
        "support": _support(who, step, plan),
        "pushing": pushing_check(ground.force[..., 2], who.weight, PULLS),
        "friction": friction_check(_friction_used(who, ground), who.task.friction, SLACK),
    }


def exceeded(who: Walker, prediction: Prediction) -> Array:
    """Instants s (k,) of the finer grid at which limits of rows are exceeded most, beyond what is allowed."""
    plan = StepSchedule(who.task)
    step = _finer_step(prediction, plan)
    ground = step_ground(who, step)
    excesses = (
        (_torque_excess(who, step), EXCESS),
        (_outside(who, step, plan)[:, None], OUTSIDE),
        (pull(ground.force[..., 2], who.weight), PULLS),
        (_friction_used(who, ground) / who.task.friction - 1.0, SLACK),
    )
    peaks = [step.s[peaks_above(excess, allowed)] for excess, allowed in excesses]
    return np.unique(np.concatenate(peaks))


def _finer_step(prediction: Prediction, plan: StepSchedule) -> SampledMotion:
    """The step at ten times as many instants."""
    return sampled(prediction, np.union1d(plan.nodes.finer(FINER).s, plan.samples.more))


def _torque_excess(who: Walker, step: SampledMotion) -> Array:
    """By how much torques exceed their limits, beside them, (m, joints); negative within."""
    tau, low, high = _torques(who, step)
    return torque_excess(tau, low, high, np.array([who.sizes[name] for name in who.joints]))


def _torques(who: Walker, step: SampledMotion) -> tuple[Array, Array, Array]:
    """Active torques and the least and largest that are allowed, (m, joints) each."""
    tau = step.active[:, [step.column(name) for name in who.joints]]
    low, high = _strength(who, step)
    rests = step.s < who.task.heel_off  # while the sole rests, the ground, too, keeps toes from bending
    high[rests, who.joints.index(TOE)] = np.inf
    return tau, low, high


def strength_needed(who: Walker, step: SampledMotion) -> dict[str, float]:
    """The largest torque of each joint beside its limit; beyond 1, limits that vary are exceeded by it."""
    tau, low, high = _torques(who, step)
    least, most = (np.array([who.torques[name][k] for name in who.joints]) for k in range(2))
    excess = np.maximum((tau - low) / least, (tau - high) / most).max(axis=0)
    return dict(zip(who.joints, (1.0 + excess).tolist(), strict=True))


def friction_needed(who: Walker, step: SampledMotion) -> float:
    """The coefficient of friction that a step needs, at least the given one."""
    return max(who.task.friction, float(_friction_used(who, step_ground(who, step)).max()))


def outside_support(who: Walker, step: SampledMotion) -> float:
    """How far the leading foot's center of pressure is outside its support at most (m)."""
    return float(_outside(who, step, StepSchedule(who.task)).max())


def _strength(who: Walker, step: SampledMotion) -> tuple[Array, Array]:
    """Least and largest torques (m, joints): constant, or by angle and velocity."""
    low, high = (np.tile([who.torques[name][k] for name in who.joints], (len(step.s), 1)) for k in range(2))
    if who.strength is not None:
        columns = [step.column(name) for name in who.strength.names]
        limits = who.strength.limits(step.q[:, columns], step.qd[:, columns])
        places = [who.joints.index(name) for name in who.strength.names]
        low[:, places], high[:, places] = limits.lower, limits.upper
    return low, high


def _friction_used(who: Walker, ground: GroundReactions) -> Array:
    """The coefficient of friction that each foot needs, (m, 2), by the shape of the task."""
    level = ground.force[..., :2]
    box = who.task.friction_shape == "box"
    size = np.abs(level).max(axis=-1) if box else np.linalg.norm(level, axis=-1)
    return friction_used(ground.force[..., 2], size, who.weight)


def _outside(who: Walker, step: SampledMotion, plan: StepSchedule) -> Array:
    """How far the leading foot's center of pressure is outside its support where it carries, (m,) in m."""
    force, moment, _ = root_wrench(step)
    carries = force[:, 2] > CARRIES * who.weight
    yaw = step.q[:, step.column(ROOT[3])]
    c, s = np.cos(yaw), np.sin(yaw)
    push = np.where(carries, force[:, 2], 1.0)
    x = -(-s * moment[:, 0] + c * moment[:, 1]) / push
    y = (c * moment[:, 0] + s * moment[:, 1]) / push
    lower, upper = plan.support(who, step.s)
    point = np.stack([x, y], axis=1)
    return np.where(carries, outside(point, lower, upper), 0.0)


def _support(who: Walker, step: SampledMotion, plan: StepSchedule) -> Check:
    """Whether the center of pressure of the leading foot is within its support."""
    sentence = "the center of pressure is within the support where the foot carries 5 % of the weight"
    return Check.within(float(_outside(who, step, plan).max()), OUTSIDE, "m", sentence)


def _work(who: Walker, ground: GroundReactions, weights: Array) -> Check:
    """What the ground does to what touches it: it may take energy, and give next to none."""
    work = {name: float(weights @ p) * who.task.duration for name, p in ground.power.items()}
    stated = ", ".join(f"{name} {value:+.2f} J" for name, value in work.items())
    most = max(work.values())
    return Check(most, GIVES, most <= GIVES, "J", f"the ground adds no energy: {stated}")


def _mirrored(who: Walker, prediction: Prediction, step: SampledMotion) -> Check:
    """The next step on the other foot: torques of the mirror image, and the step going on into it."""
    person = who.person
    other = person.rooted_at(TRAILING, point=who.heel)
    names = [mirror_image(name) for name in other.joint_names]
    columns, signs = [step.column(name) for name, _ in names], np.array([sign for _, sign in names])
    q, qd, qdd = (signs * x[:, columns] for x in (step.q, step.qd, step.qdd))
    across = np.array([1.0, -1.0, 1.0])
    loads = []
    for name, force in trailing_forces(step).items():
        loads.append(Wrench(SUPPORTING, across * force, point=across * who.points[name][1]))
    loads.append(Wrench(SUPPORTING, np.zeros((len(step.s), 3)), -trailing_moment(step)))
    tau = inverse_dynamics(other, q, qd, qdd, loads)
    torques = float(np.abs(tau - signs * step.tau[:, columns]).max()) / who.weight
    return Check.within(
        max(torques, _goes_on(who, prediction, other)), EXACT, "1",
        "the mirrored motion has mirrored torques, and the step ends in its mirrored initial state",
    )  # fmt: skip


def _goes_on(who: Walker, prediction: Prediction, other: Any) -> float:
    """How far the end of the step, seen from the other foot, is from its mirrored start (rad, m)."""
    mechanism = who.mechanism
    ends = prediction.at(np.array([0.0, prediction.duration]))
    state = change_root(mechanism, other, ends[0][1], ends[1][1])
    assert state.qd is not None
    worst = 0.0
    for j, name in enumerate(other.joint_names):
        source, sign = mirror_image(name)
        k = mechanism.joint_index(source)
        if name not in ROOT:  # these follow from the others
            apart = state.q[j] - sign * ends[0][0, k], 1e-2 * (state.qd[j] - sign * ends[1][0, k])
            worst = max(worst, *np.abs(apart))
    return float(worst)


def simulation(who: Walker, prediction: Prediction) -> Check:
    """The free human, rooted at its pelvis, under the predicted torques and pushes, in pieces."""

    def forces(s: Array) -> tuple[dict[str, Array], list[Wrench]]:
        step = SampledMotion(prediction, s)
        names = [name for name in who.person.joint_names if name not in ROOT]
        return {name: step.torque(name) for name in names}, step_wrenches(who, step)

    return simulated_in_pieces(prediction, who.person, forces, "human")
