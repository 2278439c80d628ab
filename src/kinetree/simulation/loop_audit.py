"""What results show of closed loops: how well they stayed closed, singular positions, forces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import e
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.dynamics import forces_of
from kinetree.dynamics.loops.reactions import reactions_of
from kinetree.dynamics.loops.rows import DIRECTION
from kinetree.dynamics.loops.structure import structure
from kinetree.dynamics.loops.system import CLOSED as MISFIT
from kinetree.dynamics.loops.system import RANK, Constraints, constraints, misfit
from kinetree.errors import SingularityError
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.result.records import Check, Event
from kinetree.simulation.compiled.cut_joints import CutJointForces
from kinetree.simulation.compiled.loops import MOST_PASSAGES, ClosedLoops, Passage
from kinetree.simulation.settings import Options
from kinetree.simulation.system import System
from kinetree.state import Wrench

SINGULAR = "singular_position"
CLOSED = 1e-12  # gap (m, rad) at outputs beside the size of a mechanism (m)
NEAR = 1e-2  # smallest singular value of J beside the largest below which a singular position is near
STEADY = 1e-6  # rate (m/s, rad/s) of a gap at outputs beside size and speed


def loop_component(system: System) -> tuple[ClosedLoops, Array] | None:
    """The component of the loops and its numbers in the context; None without loops."""
    for k, part in enumerate(system.parts.components):
        if isinstance(part, ClosedLoops):
            return part, system.context.memory[system.context.start[f"component {k}"] :]
    return None


def passages(systems: Sequence[System]) -> list[Passage]:
    """The singular positions that were passed in any of the coordinates of a simulation, in order."""
    found = [loop_component(system) for system in systems]
    return sorted(passage for one in found if one is not None for passage in one[0].passages(one[1]))


def loop_drift(system: System) -> float:
    """The largest gap (m, sine) at the end of a step, before its projection."""
    found = loop_component(system)
    return 0.0 if found is None else found[0].drift(found[1])


def passage_events(mechanism: Mechanism, found: Sequence[Passage], times: Array, q: Array) -> list[Event]:
    """One event for each singular position, with the names of the loop and of the joint that it lets go.

    ``q`` (k, n_dof) are positions at ``times`` (k,).
    """
    events = []
    for x in found:
        joint = _loose_joint(mechanism, q[int(np.argmin(np.abs(times - x.time)))])
        events.append(Event(x.time, SINGULAR, f"{mechanism.loops[x.loop].name} ({joint})"))
    return events


def passage_messages(mechanism: Mechanism, found: Sequence[Passage], is_accurate: bool) -> tuple[str, ...]:
    """What the user should know of singular positions: nothing, as long as the energy balance holds."""
    messages = []
    if len(found) >= MOST_PASSAGES:
        messages.append(f"only the first {MOST_PASSAGES} singular positions are among the events")
    if found and not is_accurate:
        names = ", ".join(f"'{mechanism.loops[k].name}'" for k in dict.fromkeys(x.loop for x in found))
        when = ", ".join(f"{x.time:.6g}" for x in found[:5]) + (", ..." if len(found) > 5 else "")
        messages.append(
            f"accuracy may have suffered in singular positions of loop {names}, at t = {when} s: use a "
            f"smaller rtol"
        )
    return tuple(messages)


def _loose_joint(mechanism: Mechanism, q: Array) -> str:
    """The joint that moves most in the direction that the loops hardly hold near a singular position."""
    _, size, directions = np.linalg.svd(constraints(mechanism, q).J)
    rank = int((size > RANK * size[0]).sum())
    return mechanism.joint_names[int(np.argmax(np.abs(directions[rank - 1])))]


def gap_checks(mechanism: Mechanism, q: Array, more: float = 0.0) -> dict[str, Check]:
    """The largest gaps (m, rad) at positions (k, n_dof), of which ``more`` than rounding are allowed.

    Small gaps that no motion closes are stated and not judged.
    """
    found = constraints(mechanism, q)
    left = misfit(found)
    left = np.where(np.abs(left) <= MISFIT * _size(mechanism), left, 0.0)
    found = replace(found, gap=found.gap - left)
    turning, checks = found.rows.type == DIRECTION, {}
    words = "the loops are closed" if more == 0.0 else "loop gaps stay within the initial gap"
    for name, rows, unit in (("loop_gap", ~turning, "m"), ("loop_angle", turning, "rad")):
        if rows.any():
            worst, where, J = _worst(mechanism, found, rows)
            sentence = f"{words} at every output; the largest gap is at '{where}'"
            stays = float(np.abs(left)[..., rows].max())
            if stays > CLOSED:
                sentence += f"; {stays:.2g} {unit} more stay open, as redundant constraints do not quite fit"
            allowed = CLOSED * _size(mechanism) * _amplified(mechanism, J) + more
            checks[name] = Check.within(worst, allowed, unit, sentence)
    return checks


def _amplified(mechanism: Mechanism, J: Array) -> float:
    """How much larger rounding may leave gaps near a singular position, where J (rows, n_dof) is small."""
    size = np.linalg.svd(J, compute_uv=False)
    share = float(size[structure(mechanism).rank - 1] / size[0])
    return max(1.0, NEAR / max(share, 1e-6))


def closure_checks(
    mechanism: Mechanism, q: Array, qd: Array, drift: float, options: Options
) -> dict[str, Check]:
    """Gaps and their rates at the outputs (k, n_dof), and the drift that projections took away."""
    found = constraints(mechanism, q)
    rates = (found.J @ qd[..., None])[..., 0]
    size, speed = _size(mechanism), 1.0 + float(np.abs(qd).max(initial=0.0))
    allowed = min(1e-3, 1e4 * options.rtol) * size
    steady, more, opening = STEADY * size * speed, 0.0, 0.0
    if options.baumgarte is not None:
        a = options.baumgarte
        gap, rate, both = (
            float(np.abs(x[0]).max(initial=0.0)) for x in (found.gap, rates, rates + a * found.gap)
        )
        more, opening = allowed + gap + both / (e * a), max(1.0, a) * allowed * speed + rate + both / e
    checks = gap_checks(mechanism, q, more)
    checks["loop_rate"] = Check.within(
        float(np.abs(rates).max(initial=0.0)),
        steady + opening,
        "m/s or rad/s",
        "no loop opens at any output; largest gap rate"
        if options.baumgarte is None
        else "gap rates stay within their initial values; largest gap rate",
    )
    if options.baumgarte is not None:
        return checks
    sentence = "largest gap at the end of a step, before projection"
    checks["loop_drift"] = Check.within(drift, allowed, "m or rad", sentence)
    return checks


def _size(mechanism: Mechanism) -> float:
    """A length of the mechanism (m), at least 1."""
    return max(1.0, float(np.abs(mechanism.tree.position).max(initial=0.0)))


def _worst(mechanism: Mechanism, found: Constraints, rows: Flags) -> tuple[float, str, Array]:
    """The largest gap of some rows, the loop that has it, and J (rows, n_dof) of the pose."""
    gap = np.abs(found.gap)[..., rows].reshape(-1, int(rows.sum()))
    pose, k = np.unravel_index(int(np.argmax(gap)), gap.shape)
    loop = mechanism.loops[found.rows.loop_of_row[rows][k]].name
    return float(gap[pose, k]), loop, found.J.reshape(-1, *found.J.shape[-2:])[pose]


def loop_errors(mechanism: Mechanism, q: Array) -> Array:
    """How far each loop is open (k, loops), in m; of those that tie only directions, in rad."""
    found = constraints(mechanism, q)
    gap, point = np.abs(found.gap), found.rows.type != DIRECTION
    errors = np.zeros((*gap.shape[:-1], len(mechanism.loops)))
    for k in range(len(mechanism.loops)):
        own = (found.rows.loop_of_row == k) & point
        errors[..., k] = gap[..., own if own.any() else found.rows.loop_of_row == k].max(axis=-1)
    return errors


class LoopEfforts(NamedTuple):
    """What loops do at times (k,): J^T lambda (k, n_dof); forces of drives and all at cut joints, (k, c)."""

    torque: Array
    driven: Array
    pushed: Array


def cut_joint_component(system: System) -> tuple[int, CutJointForces] | None:
    """The component of forces at cut joints with its place among all; None without."""
    for k, part in enumerate(system.parts.components):
        if isinstance(part, CutJointForces):
            return k, part
    return None


def loop_efforts(system: System, times: Array, states: Array) -> LoopEfforts:
    """Forces of the loops at times (k,) and states (k, 1, size)."""
    found, joints = loop_component(system), cut_joint_component(system)
    assert found is not None
    part, own = found
    rows = list(part.kept)
    J = constraints(system.mechanism, states[:, 0, system.at.q]).J[:, rows]
    torque = np.zeros((len(times), system.n))
    driven, pushed = np.zeros((2, len(times), 0 if joints is None else len(joints[1].names)))
    for k in range(len(times)):
        system.observe(times[k : k + 1], states[k : k + 1])
        torque[k] = J[k].T @ part.multipliers(own)
        if joints is not None:
            driven[k], pushed[k] = joints[1].forces_in(system, joints[0])
    return LoopEfforts(torque, driven, pushed)


def loop_reactions(
    mechanism: Mechanism, state: tuple[Array, Array, Array], efforts: LoopEfforts, wrenches: Sequence[Wrench]
) -> tuple[Array, Array]:
    """Reactions (k, n_bodies, 6) and wrenches of the cut joints (k, loops, 6) of a motion (k, n_dof).

    Components that redundant constraints leave undetermined are NaN, and so are all in a singular position.
    """
    torque, pushed = efforts.torque, efforts.pushed if efforts.pushed.size else None
    try:
        forces = forces_of(mechanism, constraints(mechanism, *state[:2]), torque, pushed=pushed).wrench
        return reactions_of(mechanism, state, torque, wrenches, pushed=pushed)[0], forces
    except SingularityError:
        pass
    J = constraints(mechanism, state[0]).J
    size = np.linalg.svd(J, compute_uv=False)
    ranks = (size > RANK * size[..., :1]).sum(axis=-1)
    good = ranks == ranks.max()
    some = [replace(x, force=_of(x.force, good), moment=_of(x.moment, good)) for x in wrenches]
    whole = np.full((len(torque), mechanism.n_bodies, 6), np.nan)
    cuts = np.full((len(torque), len(mechanism.loops), 6), np.nan)
    q, qd, qdd = (x[good] for x in state)
    fewer = LoopEfforts(*(x[good] for x in efforts))
    whole[good], cuts[good] = loop_reactions(mechanism, (q, qd, qdd), fewer, some)
    return whole, cuts


def _of(values: Any, which: Flags) -> Any:
    """The part of a force over time, or a constant one as it is."""
    return values[which] if np.ndim(values) > 1 else values
