"""Coordinates of a simulation beside those of the user: other Euler sequences for some of the joints."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.three_turns import LOCKED, ThreeTurns
from kinetree.analysis.inverse import joint_reactions
from kinetree.errors import SimulationError
from kinetree.simulation.audit import Energies, energies
from kinetree.simulation.cut_law import LawFunction
from kinetree.simulation.settings import Trigger
from kinetree.simulation.system import Observation, System
from kinetree.simulation.torque import Law

if TYPE_CHECKING:
    from kinetree.simulation.loop_audit import LoopEfforts

UNEXPLAINED = 1e-9  # share of a torque that a law may exert about an axis that gimbal lock has taken away


@dataclass(frozen=True, eq=False)
class SwitchedJoint:
    """A joint with other Euler angles: its name, where they are in q, the user's turns, the present ones."""

    name: str
    at: slice
    user: ThreeTurns
    own: ThreeTurns


class Chart:
    """States, accelerations and torques of the present coordinates in those of the user, and back.

    Rotations, angular velocities and accelerations are the same in both: w = E_user qd_user = E_own qd_own.
    Torques do the same work: tau_own = E_own^T E_user^-T tau_user.
    """

    def __init__(self, switched: Sequence[SwitchedJoint]) -> None:
        self.switched = tuple(switched)

    def user_state(self, q: Array, qd: Array, near: Array) -> tuple[Array, Array]:
        """One state (n,) as the user sees it, with angles nearest to those of ``near`` (n,)."""
        q_user, qd_user = self.user_states(q[None], qd[None], near)
        return q_user[0], qd_user[0]

    def user_states(
        self, q: Array, qd: Array, start: Array, near: Sequence[Array | None] = (None,)
    ) -> tuple[Array, Array]:
        """States (k, n) as the user sees them, each with angles nearest to ``near``, else to the one before.

        The first is near ``start`` (n,).
        """
        q_user, qd_user = q.copy(), qd.copy()
        for joint in self.switched:
            at, own, user = joint.at, joint.own, joint.user
            angles = start[at]
            for k, R in enumerate(own.rotation(q[:, at])):
                stated = near[k]
                angles = user.angles(R, angles if stated is None else stated[at])
                q_user[k, at] = angles
            qd_user[:, at] = user.rates(q_user[:, at], own.angular_velocity(q[:, at], qd[:, at]))
        return q_user, qd_user

    def user_accelerations(self, q: Array, qd: Array, qdd: Array, q_user: Array, qd_user: Array) -> Array:
        """Accelerations (..., n) for the user."""
        answer = qdd.copy()
        for joint in self.switched:
            part = (..., joint.at)
            turning = joint.own.angular_acceleration(q[part], qd[part], qdd[part])
            answer[part] = joint.user.accelerations(q_user[part], qd_user[part], turning)
        return answer

    def user_torques(self, q: Array, tau: Array, q_user: Array) -> Array:
        """Torques (..., n) for the user."""
        answer = tau.copy()
        for joint in self.switched:
            part = (..., joint.at)
            moment, _ = joint.own.moment(q[part], tau[part])
            answer[part] = joint.user.torques(q_user[part], moment)
        return answer

    def own_torques(self, q: Array, tau_user: Array, q_user: Array, t: float) -> Array:
        """The user's torques (n,) at time t (s) in the present coordinates."""
        answer = tau_user.copy()
        for joint in self.switched:
            given = tau_user[joint.at]
            if not given.any():
                continue
            moment, rest = joint.user.moment(q_user[joint.at], given)
            if abs(rest) > UNEXPLAINED * np.abs(given).max():
                raise SimulationError(
                    f"the torques {given.tolist()} for joint '{joint.name}' at t = {t:.6g} s, where it is in "
                    f"gimbal lock, are not defined: the first and the third axis are parallel; choose "
                    f"another "
                    "sequence for this joint"
                )
            answer[joint.at] = joint.own.torques(q[joint.at], moment)
        return answer

    def n_locked(self, q_user: Array) -> int:
        """How many of the states (k, n) of the user are in gimbal lock."""
        return sum(int((x.user.distance(q_user[:, x.at]) < LOCKED).sum()) for x in self.switched)


class View:
    """The user's coordinates for functions of (t, q, qd) that are called while others are in use.

    Angles go on from call to call; every ``gap`` (s) they are remembered, for the results.
    """

    def __init__(self, chart: Chart, gap: float) -> None:
        self.chart, self.gap = chart, gap
        self.near = np.zeros(0)
        self.seen: list[tuple[float, Array]] = []
        self.known: dict[float, tuple[Array, Array]] = {}  # states that were reported to the user already

    def begin(self, near: Array) -> None:
        """Go on from the user's positions (n,)."""
        self.near, self.seen = near.copy(), []

    def __call__(self, t: float, q: Array, qd: Array) -> tuple[Array, Array]:
        """A state (n,) as the user sees it."""
        if t in self.known:
            return self.known[t]
        q_user, qd_user = self.chart.user_state(q, qd, self.near)
        self.near = q_user
        if not self.seen or t >= self.seen[-1][0] + self.gap:
            self.seen.append((t, q_user))
        return q_user.copy(), qd_user

    def follow(self, t: float, q: Array, qd: Array) -> None:
        """Go on to the state (n,) at the end of a step, and remember the user's positions."""
        if not self.seen or t > self.seen[-1][0]:
            self.near, _ = self.chart.user_state(q, qd, self.near)
            self.seen.append((t, self.near))

    def nearest(self, t: float) -> Array | None:
        """The positions (n,) that were seen last before t (s), if any were."""
        k = bisect_right(self.seen, t, key=lambda entry: entry[0])
        return self.seen[k - 1][1] if k > 0 else None

    def law(self, law: Law) -> Law:
        """The same law for the present coordinates."""
        function = law.function
        if law.cut is not None:
            law = replace(law, cut=law.cut.seen(self))
        return law if function is None else replace(law, function=self._law_function(function))

    def _law_function(self, function: LawFunction) -> LawFunction:
        def own(t: float, q: Array, qd: Array) -> Array:
            q_user, qd_user = self(t, q, qd)
            tau = function(t, q_user.copy(), qd_user)
            return self.chart.own_torques(q, tau, q_user, t)

        return own

    def trigger(self, trigger: Trigger) -> Trigger:
        """The same event for the present coordinates."""

        def own(t: float, q: Array, qd: Array) -> float:
            return trigger.function(t, *self(t, q, qd))

        return replace(trigger, function=own)


@dataclass(frozen=True, eq=False)
class Reactions:
    """Wrenches of joints on bodies (k, n_bodies, 6), of cut joints on their bodies a (k, loops, 6)."""

    bodies: Array
    cuts: Array


@dataclass(eq=False)
class Piece:
    """A part of a simulation in one set of coordinates: times (k,), states (k, 1, size), own and user's."""

    system: System
    view: View | None  # None: the coordinates are the user's
    times: Array
    own: Array
    user: Array

    def observe(self, *, reactions: bool) -> tuple[Observation, Energies, Reactions | None]:
        """What happened, in the user's coordinates: forces, energies and joint reactions."""
        at, mechanism = self.system.at, self.system.mechanism
        q, qd, q_user, qd_user = (x[:, :, place] for x in (self.own, self.user) for place in (at.q, at.qd))
        if self.view is not None:
            states = zip(q_user[:, 0], qd_user[:, 0], strict=True)
            self.view.known = dict(zip(self.times.tolist(), states, strict=True))
        seen = self.system.observe(self.times, self.own)
        energy = energies(mechanism, q[:, 0], qd[:, 0], self.own[:, 0, at.work], self.system.parts.works)
        efforts = self._efforts(reactions=reactions)
        reaction = self._reactions(seen, efforts) if reactions else None
        if efforts is not None:
            seen = replace(seen, cut_tau=efforts.driven)
        if self.view is not None:
            chart = self.view.chart
            qdd = chart.user_accelerations(q, qd, seen.qdd, q_user, qd_user)
            seen = replace(seen, tau=chart.user_torques(q, seen.tau, q_user), qdd=qdd)
        return seen, energy, reaction

    def _efforts(self, *, reactions: bool) -> LoopEfforts | None:
        """Forces of loops and of drives at cut joints, where they are asked for or there are any."""
        if not self.system.mechanism.loops:
            return None
        from kinetree.simulation.loop_audit import cut_joint_component, loop_efforts

        joints = cut_joint_component(self.system)
        if not reactions and (joints is None or not joints[1].has_drives):
            return None
        return loop_efforts(self.system, self.times, self.own)

    def _reactions(self, seen: Observation, efforts: LoopEfforts | None) -> Reactions:
        """What the joints transmit, in the piece's own coordinates."""
        system, mechanism = self.system, self.system.mechanism
        acting, own = system.wrenches(self.times, seen.contact[:, 0]), self.own[:, 0]
        state = own[:, system.at.q], own[:, system.at.qd], seen.qdd[:, 0]
        if efforts is None:
            return Reactions(joint_reactions(mechanism, *state, acting or None), np.zeros((len(own), 0, 6)))
        from kinetree.simulation.loop_audit import loop_reactions

        return Reactions(*loop_reactions(mechanism, state, efforts, acting))


def observe(pieces: Sequence[Piece], *, reactions: bool) -> tuple[Observation, Energies, Reactions | None]:
    """What happened in all pieces, one after the other."""
    seen, energy, reaction = zip(*(piece.observe(reactions=reactions) for piece in pieces), strict=True)
    together = _joined(Reactions, reaction) if reactions else None
    return _joined(Observation, seen), _joined(Energies, energy), together


def _joined(kind: type[Any], parts: Sequence[Any]) -> Any:
    """Records of arrays (k, ...) as one."""
    if len(parts) == 1:
        return parts[0]
    every = {x.name: [getattr(part, x.name) for part in parts] for x in fields(kind)}
    arrays = {name: np.concatenate(x) if isinstance(x[0], np.ndarray) else x[0] for name, x in every.items()}
    return kind(**arrays)


def joined(arrays: Sequence[Array]) -> Array:
    """Arrays (k, ...) one after the other; a single one is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
