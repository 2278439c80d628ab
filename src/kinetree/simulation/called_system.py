"""A right-hand side in Python, for what compiled code does not know: mimic joints, and some controllers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.coupling import all_axes, all_rates
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.kinematics import body_velocities, forward_kinematics
from kinetree.errors import InputError
from kinetree.kernels.ground import CONTACT, FAR, POINT
from kinetree.kernels.rates import LOCK
from kinetree.kernels.torque_law import AXIS
from kinetree.model.mechanism import Mechanism
from kinetree.model.without import without_parameters
from kinetree.simulation.compiled.context import SUMS, ContextParts, layout_rows
from kinetree.simulation.contact import ContactForces, contact_forces
from kinetree.simulation.options import Options, Stops, Trigger
from kinetree.simulation.setup import lock_rows
from kinetree.simulation.surroundings import Surroundings
from kinetree.simulation.system import RATES, SAMPLE, Observation, System, event_value, numbers_at
from kinetree.simulation.torque import Law
from kinetree.state import Wrench, independent_axes

NO_CONTACT = ContactForces((), np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)))


class CalledSystem(System):
    """The same questions as to a :class:`System`, answered with the functions of :mod:`kinetree.analysis`.

    Contact and stops are not held between events: steps end up short where forces jump.
    """

    guards = 1

    def __init__(
        self,
        mechanism: Mechanism,
        law: Law,
        around: Surroundings,
        options: Options,
        triggers: Sequence[Trigger] = (),
        contact_names: Sequence[str] = (),
    ) -> None:
        ground, loads, stops = around
        self._check(mechanism, loads)
        self.law, self.ground, self.stops = law, ground, stops
        self.slow = options.friction_speed
        self._frame = np.eye(3) if ground is None else np.stack(ground.frame(mechanism))
        self._smooth = _without_dry_friction(mechanism)
        self._held, self._samples = np.zeros(mechanism.n_dof), dict[int, Array]()
        parts = _parts(mechanism, law, stops, contact_names)
        super().__init__(mechanism, parts, np.zeros(mechanism.tree.n), None, triggers, contact_names)
        self.loads = loads
        self._keep = {
            "rates": RATES(self._guarded(self._rates)),
            "events": RATES(self._guarded(self._events)),
            "sample": SAMPLE(self._guarded(self._sample)),
        }
        why = "the mechanism has mimic joints" if mechanism.tree.coupling is not None else "its law is called"
        self.keeps_coordinates = why

    @staticmethod
    def _check(mechanism: Mechanism, loads: Sequence[Wrench]) -> None:
        for load in loads:
            mechanism.body_index(load.body)
            if np.ndim(load.force) != 1 or np.ndim(load.moment) != 1:
                raise InputError(f"the wrench on '{load.body}' must be constant in a simulation")

    # ---- what a system is asked ---------------------------------------------------------------------------
    @property
    def n(self) -> int:
        """Number of positions."""
        return self.mechanism.n_dof

    @property
    def size(self) -> int:
        """Numbers of one state."""
        return self.n * (3 if self.parts.integrating else 2) + SUMS

    def set_constant(self, tau: Array) -> None:
        """Constant torques (1, n_dof) beside the law."""
        self.law = replace(self.law, constant=tau[0])

    def jacobian_address(self) -> int | None:
        """There is none: slopes are found by differences."""
        return None

    def _more_events(self) -> Any:
        """Nothing beside ``_events``."""

    def observe(self, times: Array, states: Array) -> Observation:
        """Torques, accelerations and contact at times (k,) and states (k, 1, size)."""
        k, n, points = len(times), self.n, len(self.contact_names)
        tau, qdd, contact = np.zeros((k, 1, n)), np.zeros((k, 1, n)), np.zeros((k, 1, points, CONTACT))
        for row, (t, y) in enumerate(zip(times.tolist(), states[:, 0], strict=True)):
            if self.parts.period > 0.0:
                self._held = self._samples[min(int(t / self.parts.period + 1e-9), max(self._samples))]
            dy, tau[row, 0], touch = self._evaluate(t, y)
            qdd[row, 0] = dy[n : 2 * n]
            told = (touch.force, touch.penetration[:, None], touch.velocity)
            contact[row, 0] = np.concatenate(told, axis=-1)
        return Observation(tau, qdd, contact)

    # ---- callbacks -----------------------------------------------------------------------------------------
    def _rates(self, t: float, y: int, dy: int, context: int) -> int:
        state = numbers_at(y, self.size).copy()
        finite = np.isfinite(state).all()
        numbers_at(dy, self.size)[:] = self._evaluate(t, state)[0] if finite else np.nan
        return 0

    def _sample(self, t: float, y: int, context: int) -> int:
        q, qd, integral, _, wrenches = self._acting(numbers_at(y, self.size).copy())
        self._held = self._law_torque(t, q, qd, integral, wrenches)
        self._samples[int(t / self.parts.period + 0.5)] = self._held
        return 0

    def _events(self, t: float, y: int, g: int, context: int) -> int:
        state = numbers_at(y, self.size).copy()
        q, qd = state[: self.n], state[self.n : 2 * self.n]
        free = independent_axes(self.mechanism)
        lower, upper = self.mechanism.tree.lower[free], self.mechanism.tree.upper[free]
        bounded = np.isfinite(lower) & np.isfinite(upper)
        touch = self._contact(q, qd)
        values: list[Any] = [
            touch.height,
            np.where(bounded, upper - q, FAR),
            np.where(bounded, q - lower, FAR),
            [self._from_lock(q, row) for row in self.parts.locks.view(np.int64)],
            [event_value(trigger, t, q, qd) for trigger in self.triggers],
        ]
        numbers_at(g, self.n_events)[:] = np.concatenate(values)
        return 0

    def _from_lock(self, q: Array, row: Any) -> float:
        turn = np.sin if row[LOCK.places["symmetric"][0]] else np.cos
        return float(turn(q[row[LOCK.places["axis"][0]]]) ** 2 - self.parts.lock_margin)

    # ---- mechanics -----------------------------------------------------------------------------------------
    def _contact(self, q: Array, qd: Array) -> ContactForces:
        return NO_CONTACT if self.ground is None else contact_forces(self.mechanism, self.ground, q, qd)

    def _acting(self, y: Array) -> tuple[Array, Array, Array, ContactForces, list[Wrench]]:
        """Positions, velocities, integrals of errors, contact, and all wrenches in a state."""
        n = self.n
        q, qd, integral = y[:n], y[n : 2 * n], y[2 * n : 3 * n] if self.parts.integrating else np.zeros(n)
        touch = self._contact(q, qd)
        return q, qd, integral, touch, [*self.loads, *touch.wrenches(self.mechanism)]

    def _law_torque(self, t: float, q: Array, qd: Array, integral: Array, wrenches: list[Wrench]) -> Array:
        law = self.law
        if law.controller is not None:
            tau: Array = law.controller.torque(self.mechanism, t, q, qd, integral, wrenches or None)
            return tau
        tau = law.constant if law.function is None else law.constant + law.function(t, q.copy(), qd.copy())
        return tau if law.parts.table is None else tau + law.parts.table.at(t)

    def _evaluate(self, t: float, y: Array) -> tuple[Array, Array, ContactForces]:
        """Rates of a state, torques of the law, contact."""
        q, qd, integral, touch, wrenches = self._acting(y)
        sampled = self.parts.period > 0.0
        tau = self._held if sampled else self._law_torque(t, q, qd, integral, wrenches)
        resistance, lost = self._resistance(q, qd)
        qdd = forward_dynamics(self._smooth, q, qd, tau + resistance, wrenches or None)
        summed = np.zeros(0)
        if self.parts.integrating:
            summed = self.law.controller.integral_rate(self.mechanism, t, q, tau)
        ground = float((touch.force * (touch.velocity @ self._frame)).sum())
        powers = [float(tau @ qd), ground, lost, self._load_power(q, qd)]
        return np.concatenate([qd, qdd, summed, powers]), tau, touch

    def _resistance(self, q: Array, qd: Array) -> tuple[Array, float]:
        """Torques (n_dof,) of dry friction and stops; the power that these and viscous friction take."""
        tree = self.mechanism.tree
        x, v = all_axes(tree, q), all_rates(tree, qd)
        force = -tree.coulomb * np.clip(v / self.slow, -1.0, 1.0)
        if self.stops is not None:
            k, c = self.stops.stiffness, self.stops.damping
            bounded = np.isfinite(tree.lower) & np.isfinite(tree.upper)
            beyond, short = x - tree.upper, tree.lower - x
            push = np.where(bounded & (beyond > 0.0), np.maximum(0.0, k * beyond + c * v), 0.0)
            pull = np.where(bounded & (short > 0.0), np.maximum(0.0, k * short - c * v), 0.0)
            force = force - push + pull
        lost = float(force @ v - tree.viscous @ v**2)
        return (force if tree.coupling is None else force @ tree.coupling.matrix), lost

    def _load_power(self, q: Array, qd: Array) -> float:
        if not self.loads:
            return 0.0
        poses, twists = forward_kinematics(self.mechanism, q), body_velocities(self.mechanism, q, qd)
        power = 0.0
        for load in self.loads:
            k = self.mechanism.body_index(load.body)
            R, v, w = poses.rotation[k], twists[k, :3], twists[k, 3:]
            F, M = np.asarray(load.force), np.asarray(load.moment)
            if load.frame == "body":
                F, M = R @ F, R @ M
            power += float(F @ (v + np.cross(w, R @ np.asarray(load.point))) + M @ w)
        return power


def _parts(mechanism: Mechanism, law: Law, stops: Stops | None, contact_names: Sequence[str]) -> ContextParts:
    """What others read of a system's parts: sizes, limits, locks, sampling."""
    free = independent_axes(mechanism)
    lower, upper = mechanism.tree.lower[free], mechanism.tree.upper[free]
    bounded = np.isfinite(lower) & np.isfinite(upper)
    stopped = (bounded & (stops is not None)).astype(np.int64)
    axes = layout_rows(AXIS, len(free), bounded=bounded.astype(np.int64), stopped=stopped)
    locks = lock_rows(mechanism)
    middles = locks.view(np.int64)[:, LOCK.places["axis"][0]]
    return ContextParts(
        mechanism.tree,
        axes,
        points=np.zeros((len(contact_names), POINT.width)),
        locks=locks[free[middles] == middles],  # of mimic joints come before, a lock is not watched
        integrating=law.controller is not None and law.controller.integrates(mechanism),
        period=law.parts.period,
    )


def _without_dry_friction(mechanism: Mechanism) -> Mechanism:
    """Dry friction is a straight line at low speed, and is added to the torques."""
    return without_parameters(mechanism, "coulomb") if mechanism.tree.coulomb.any() else mechanism
