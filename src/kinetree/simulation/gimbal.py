"""Joints with three Euler angles near gimbal lock: another sequence takes over, unseen by the user.

A switched joint has other coordinates for the same rotation and angular velocity, in a mechanism of its own
that is otherwise the same. Laws, events and results keep the coordinates of the user's mechanism. A sequence
stays until it comes near its own lock; the user's is preferred then if it is far from its lock.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.rotation import AXES, THREE_AXIS_SEQUENCES, rotation_about
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.errors import SimulationError
from kinetree.kernels.rates import LOCK
from kinetree.kernels.torque_law import AXIS, COMPUTED, DESIRED, GRAVITY
from kinetree.model.joint import PARAMETERS
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.result.records import Event
from kinetree.simulation.chart import Chart, Piece, SwitchedJoint, View, joined
from kinetree.simulation.course import SwitchingIntegration
from kinetree.simulation.scenario import Scenario
from kinetree.simulation.settings import Trigger
from kinetree.simulation.system import System
from kinetree.simulation.torque import Law

SWITCH = "gimbal_switch"
NEAR, CLOSE = 0.04, math.sin(math.radians(1.0)) ** 2  # squared sines of the angle to gimbal lock
REGULAR = 0.9  # |cosine| between first and third axis up to which a sequence is a good choice
LOOK_AHEAD = np.linspace(0.0, 2.0 * np.pi, 49)  # rad of the present turning
Sequences = tuple[str | None, ...]  # of each joint that can lock; None: the user's own


@dataclass(frozen=True, eq=False)
class LockingJoint:
    """A joint that can lock: its link's number, where its three angles are in q, its axes."""

    name: str
    link: int
    at: slice
    turns: ThreeTurns
    sequence: str | None

    def describe(self, t: float, q: Array, qd: Array, mechanism: Mechanism, why: str) -> str:
        """What is wrong with it in a state, in a sentence."""
        angles = q[self.at]
        degrees = math.degrees(math.asin(min(1.0, float(self.turns.distance(angles)))))
        motion = self.turns.rotation(angles), self.turns.angular_velocity(angles, qd[self.at])
        middle = mechanism.joint_names[self.at.start + 1]
        sequence = f"Euler sequence {self.sequence}" if self.sequence else "axes of its own"
        return (
            f"joint '{self.name}' ({sequence}) is {degrees:.2g} degrees from gimbal lock at t = {t:.6g} s: "
            f"its middle angle '{middle}' is {angles[1]:.6g} rad; {why}; choose another sequence for "
            f"this joint, such as {best_sequence(*motion)}"
        )


def balls_of(system: System) -> tuple[LockingJoint, ...]:
    """The joints that can lock, in the order of their events."""
    middles = system.parts.locks.view(np.int64)[:, LOCK.places["axis"][0]]
    found = []
    for middle in middles.tolist():
        link = int(system.parts.tree.axis_body[middle])
        joint = system.mechanism.links[link].joint
        at = slice(middle - 1, middle + 2)
        found.append(LockingJoint(joint.name, link, at, ThreeTurns(joint.axes[-3:]), joint.sequence))
    return tuple(found)


def lock_message(system: System, t: float, states: Array) -> str | None:
    """What to say if a joint of one of the states (lanes, size) is in gimbal lock or close to it."""
    locks = system.parts.locks.view(np.int64)
    middles = states[:, locks[:, LOCK.places["axis"][0]]]
    distance = np.where(locks[:, LOCK.places["symmetric"][0]] == 1, np.sin(middles), np.cos(middles))
    close = np.argwhere(distance**2 <= CLOSE * (1.0 + 1e-6))
    if not len(close):
        return None
    lane, k = (int(x) for x in close[0])
    q, qd = states[lane, system.at.q], states[lane, system.at.qd]
    return balls_of(system)[k].describe(t, q, qd, system.mechanism, "sequences are not switched here")


def refuse_locks(system: System, states: Array) -> None:
    """Raise if a simulation without switches would start at gimbal lock, from states (lanes, size)."""
    message = lock_message(system, 0.0, states)
    if message is not None:
        raise SimulationError(message)


def best_sequence(R: Array, angular_velocity: Array, home: ThreeTurns | None = None) -> str | None:
    """The sequence that stays regular for longest while the joint turns on; None: ``home`` is good enough.

    Between the first axis a and the third c of a sequence the cosine is a . R c, whatever is in the middle.

    >>> best_sequence(np.eye(3), np.array([0.0, 0.0, 1.0]))
    'XYZ'
    """
    speed = float(np.linalg.norm(angular_velocity))
    ahead = rotation_about(angular_velocity / speed, LOOK_AHEAD) @ R if speed > 0.0 else R[None]
    if home is not None and np.abs(home.axes[0] @ ahead @ home.axes[2]).max() < REGULAR:
        return None

    def merit(sequence: str) -> tuple[int, float]:
        cosine = np.abs(AXES[sequence[0]] @ ahead @ AXES[sequence[2]])
        late = cosine > REGULAR
        good = int(np.argmax(late)) if late.any() else len(cosine)
        return good, -float(cosine[: max(good, 1)].max())

    return max(THREE_AXIS_SEQUENCES, key=merit)


def _flags(system: System, ball: LockingJoint, name: str) -> Flags:
    """What the axes of a joint tell of "bounded" or "stopped", (3,)."""
    flags: Flags = system.parts.axes.view(np.int64)[ball.at, AXIS.places[name][0]] != 0
    return flags


def obstacle(system: System, ball: LockingJoint, law: Law, stop_at: Sequence[str]) -> str | None:
    """Why a joint must keep its coordinates, or None."""
    if system.keeps_coordinates is not None:
        return system.keeps_coordinates
    joint, at, parts = system.mechanism.links[ball.link].joint, ball.at, law.parts
    words = {
        "stiffness": "a spring",
        "viscous": "friction",
        "coulomb": "dry friction",
        "coulomb_reverse": "dry friction",
        "armature": "armature",
    }
    for key, word in words.items():
        if getattr(joint, key)[-3:].any():
            return f"it has {word}"
    if _flags(system, ball, "stopped").any():
        return "stops act at its limits"
    if _flags(system, ball, "bounded").any() and "joint_limit" in stop_at:
        return "the simulation is to stop at its limits"
    if any(part.drives(axis) for part in system.parts.components for axis in range(at.start, at.stop)):
        return "an actuator drives it"
    if law.running is not None and parts.actuated[at].any():
        return f"the sampled law ({law.name}) drives it"
    if law.constant[at].any():
        return "constant torques act on it"
    if parts.table is not None and np.any(parts.table.coefficients[..., at]):
        return "a torque table acts on it"
    gains = np.abs(parts.kp[at]) + np.abs(parts.kd[at]) + np.abs(parts.ki[at])
    if np.any(gains[np.asarray(parts.actuated[at], dtype=bool)]) or parts.mode == DESIRED:
        return f"the law ({law.name}) follows a motion of its angles"
    if parts.mode in (GRAVITY, COMPUTED) and parts.model is not None:
        return f"the law ({law.name}) has its own model, with these angles"
    is_free_base = parts.mode == COMPUTED and parts.floating and at.start == 3
    if (parts.mode == COMPUTED and not is_free_base) or (parts.mode == GRAVITY and parts.actuated[at].any()):
        return f"the law ({law.name}) acts on it"
    return None


class Charts:
    """The Euler sequences of one simulation: which are in use, which were, and what the user sees of them."""

    def __init__(self, scenario: Scenario, events: Sequence[Trigger] = ()) -> None:
        self.home = system = scenario.system(events)
        self.law, self.options, self._scenario = scenario.law, scenario.options, scenario
        self.balls = balls_of(system)
        self.margin = CLOSE if self.options.gimbal == "error" else NEAR
        self.pieces: list[Piece] = []
        self.switches: list[Event] = []
        self._own: Sequences = (None,) * len(self.balls)
        self._made: dict[Sequences, tuple[System, View | None]] = {self._own: (system, None)}
        self._start: tuple[Array, Array] | None = None
        self._near = np.zeros(system.n)  # the user's latest positions
        self._use(self._own)

    def begin(self, q0: Array, qd0: Array) -> Array:
        """The state (1, size) to start from, switched at once where that is near gimbal lock."""
        self._near, self._start = q0, (q0, qd0)
        return self.switch(0.0, self.home.start_state(q0, qd0))

    def switch(self, t: float, y: Array) -> Array:
        """The state (1, size) in coordinates far from gimbal lock; raises where there can be none."""
        q, qd = self._user_state(y[0])
        sequences = list(self.sequences)
        for k, ball in enumerate(self.balls):
            if not self._is_locking(k, y[0], self.margin):
                continue
            why = self._obstacle(k)
            if why is None:
                sequences[k] = best_sequence(*self._motion(k, y[0]), ball.turns)
                self.switches.append(Event(t, SWITCH, ball.name))
            elif self._is_locking(k, y[0], CLOSE):
                raise SimulationError(ball.describe(t, q, qd, self.home.mechanism, why))
            else:
                self.margin = CLOSE
        moved = self._moved(tuple(sequences), y, q, qd)
        self._near = q
        self._use(tuple(sequences))
        return moved

    def go_on(self, y: Array) -> tuple[Array, Array]:
        """The user's positions and velocities (n,) of a state (1, size), from which angles go on."""
        q, qd = self._user_state(y[0])
        self._near = q
        if self.view is not None:
            self.view.begin(q)  # what was seen before is not asked for again
        return q, qd

    def follow(self, integration: SwitchingIntegration, since: int) -> None:
        """Let the user's angles go on over outputs from ``since`` to the present, if others are in use."""
        if self.view is None:
            return
        at, out, times = self.home.at, integration.out, integration.times
        for k in range(since, integration.n_out):
            self.view.follow(float(times[k]), out[k, 0, at.q], out[k, 0, at.qd])
        y = integration.y[0]
        self.view.follow(integration.t, y[at.q], y[at.qd])

    @property
    def systems(self) -> tuple[System, ...]:
        """All that were used, in whatever coordinates."""
        return tuple(system for system, _ in self._made.values())

    def outputs(self, times: Array, states: Array, count: int) -> tuple[Array, Array]:
        """Of the first ``count`` outputs those that are in no piece yet."""
        done = sum(len(piece.times) for piece in self.pieces)
        return times[done:count], states[done:count].copy()

    def close_piece(self, times: Array, states: Array) -> None:
        """Keep the outputs (k, 1, size) since the last switch, loops closed, for the user as well."""
        if len(times):
            self.system.close_loops(states)
            self.pieces.append(Piece(self.system, self.view, times, states, self._user_rows(times, states)))
            self._near = self.pieces[-1].user[-1, 0, : self.home.n]

    def finish(self) -> Array:
        """The outputs (k, 1, size) in the user's coordinates."""
        self.home.present = self.home
        others = [piece.system for piece in self.pieces if piece.system is not self.system]
        for system in others:
            system.context.log[:] = self.system.context.log
        return joined([piece.user for piece in self.pieces])

    def messages(self) -> tuple[str, ...]:
        """What the user should know about the switches."""
        stated = []
        limited = {ball.name for ball in self.balls if _flags(self.home, ball, "bounded").any()}
        for name, count in Counter(event.name for event in self.switches).items():
            often = "once" if count == 1 else f"{count} times"
            limits = "; its limits were not checked during that time" if name in limited else ""
            stated.append(
                f"joint '{name}' came near gimbal lock: its Euler sequence was switched {often}{limits}"
            )
        locked = sum(p.view.chart.n_locked(p.user[:, 0, : self.home.n]) for p in self.pieces if p.view)
        if locked:
            stated.append(
                f"{locked} samples are in gimbal lock, where rates of Euler angles are not unique: the "
                f"smallest ones are given"
            )
        return tuple(stated)

    def _obstacle(self, k: int) -> str | None:
        if self.options.gimbal == "error":
            return "sequences are not switched with gimbal='error'"
        why = obstacle(self.home, self.balls[k], self.law, self.options.stop_at)
        return why and f"its sequence cannot be switched because {why}"

    def _turns(self, k: int, sequences: Sequences) -> ThreeTurns:
        sequence = sequences[k]
        return self.balls[k].turns if sequence is None else ThreeTurns.of_sequence(sequence)

    def _is_locking(self, k: int, y: Array, margin: float) -> bool:
        distance = self._turns(k, self.sequences).distance(y[self.balls[k].at])
        return bool(distance**2 <= margin * (1.0 + 1e-6))

    def _motion(self, k: int, y: Array) -> tuple[Array, Array]:
        """Rotation and angular velocity of a joint in a state (size,)."""
        turns, at = self._turns(k, self.sequences), self.balls[k].at
        return turns.rotation(y[at]), turns.angular_velocity(y[at], y[self.home.at.qd][at])

    def _moved(self, sequences: Sequences, y: Array, q: Array, qd: Array) -> Array:
        """The state y with other sequences; (q, qd) is what the user sees of it."""
        moved, place = y.copy(), self.home.at
        for k, ball in enumerate(self.balls):
            if sequences[k] == self.sequences[k]:
                continue
            angles, rates = q[ball.at], qd[ball.at]
            if sequences[k] is not None:
                R, w = self._motion(k, y[0])
                turns = self._turns(k, sequences)
                angles = turns.angles(R, np.zeros(3))
                rates = turns.rates(angles, w)
            moved[0, place.q][ball.at], moved[0, place.qd][ball.at] = angles, rates
        return moved

    def _use(self, sequences: Sequences) -> None:
        """Go on with these; what a law holds between its sampling instants is carried over."""
        if sequences not in self._made:
            self._made[sequences] = self._new_chart(sequences)
        before = self.home.present
        self.sequences = sequences
        self.system, self.view = self._made[sequences]
        if self.view is not None:
            self.view.begin(self._near)
        if before is not self.system:
            for name in ("held", "log"):
                width = self.home.n * (self.home.parts.n_log if name == "log" else 1)
                self.system.context.rows(name, width)[:] = before.context.rows(name, width)
        self.system.watch_locks(self.margin)
        self.home.present = self.system

    def _new_chart(self, sequences: Sequences) -> tuple[System, View]:
        joints = [
            SwitchedJoint(ball.name, ball.at, ball.turns, self._turns(k, sequences))
            for k, ball in enumerate(self.balls)
            if sequences[k] is not None
        ]
        view = View(Chart(joints), self.options.duration / (8.0 * len(self.options.times)))
        mechanism = _with_sequences(self.home.mechanism, self.balls, sequences)
        triggers = [view.trigger(trigger) for trigger in self.home.triggers]
        return self._scenario.in_coordinates(mechanism, view.law(self.law), triggers), view

    def _user_state(self, y: Array) -> tuple[Array, Array]:
        """Positions and velocities (n,) of a state (size,) for the user."""
        q, qd = y[self.home.at.q], y[self.home.at.qd]
        if self.view is None:
            return q.copy(), qd.copy()
        return self.view.chart.user_state(q, qd, self.view.near if self.view.seen else self._near)

    def _user_rows(self, times: Array, states: Array) -> Array:
        """States (k, 1, size) for the user, whose angles go on from row to row."""
        if self.view is None:
            return states
        rows, at = states.copy(), self.home.at
        near = [self.view.nearest(t) for t in times.tolist()]
        q, qd = rows[:, 0, at.q], rows[:, 0, at.qd]
        q[:], qd[:] = self.view.chart.user_states(q, qd, self._near, near)
        if not self.pieces and times[0] == 0.0 and self._start is not None:
            q[0], qd[0] = self._start
        return rows


def _with_sequences(mechanism: Mechanism, balls: Sequence[LockingJoint], sequences: Sequences) -> Mechanism:
    """The mechanism with other Euler sequences, which have no limits."""
    links = list(mechanism.links)
    for ball, sequence in zip(balls, sequences, strict=True):
        if sequence is None:
            continue
        joint = links[ball.link].joint
        axes = np.concatenate([joint.axes[:-3], [AXES[letter] for letter in sequence]])
        limits: dict[str, Any] = {
            key: frozen(np.concatenate([getattr(joint, key)[:-3], np.full(3, value)]))
            for key, (value, _) in PARAMETERS.items()
        }
        joint = replace(joint, axes=frozen(axes), sequence=sequence, **limits)
        links[ball.link] = replace(links[ball.link], joint=joint)
    return replace(mechanism, links=tuple(links))
