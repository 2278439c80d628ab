"""Many states of one mechanism, stepped by a fixed time: contact that sticks, stops, dry friction, servos."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array, number, numbers
from kinetree.algebra.memory import check_room, cleared
from kinetree.dynamics.checks import check_threads
from kinetree.dynamics.forward import singular
from kinetree.engine.ranges import Ranges
from kinetree.errors import InputError, SingularityError, shown
from kinetree.kernels.number import LANES
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.compiled.code import step_derivatives, step_states
from kinetree.simulation.compiled.step_memory import (
    CAUSE,
    DEPTH,
    GAIN,
    RESIDUAL,
    STEPS,
    TIME,
    UNSOLVED,
    WORST,
)
from kinetree.simulation.ground import Ground
from kinetree.simulation.masses import read_masses
from kinetree.simulation.step_coordinates import FAR, Doors
from kinetree.simulation.step_derivatives import (
    StepDerivatives,
    StepSlopes,
    first_half,
    on_axes,
    read_derivatives,
    read_slopes,
)
from kinetree.simulation.step_inputs import (
    CAUSES,
    check_differentiable,
    check_kinds,
    check_saved,
    check_supported,
    checked_batch,
    checked_dt,
    factors,
    fitting,
    floating,
    restitution_of,
)
from kinetree.simulation.step_law import StepLaw
from kinetree.simulation.step_pairs import BodyPair
from kinetree.simulation.step_rollout import StepRollout
from kinetree.simulation.step_tables import StepTables
from kinetree.state import Coordinates, coordinates

INSIDE = 0.01  # m: how deep a contact may be in the ground at a start
IDLE = 9.0  # cause of states that fill up a block of lanes
PRESET = {
    "tolerance": 5e-11,
    "slope": 0.5,
    "push": 0.2,
    "turn_push": 1.0,
    "margin": 0.01,
    "bounce": 1e-2,
    "stiffness": 50.0,
    "loose": 1e-4,
    "fastest": 1e6,
}
BUDGET = {"midpoint": 1, "sweeps": 8, "late": 6, "cycles": 30}
CoordinatesKind = Literal["mechanism", "quaternion"]


@dataclass(frozen=True, eq=False)
class StepContact:
    """Forces of contacts: views of the memory of a `Stepper`.

    ``names`` of the contacts: points over the ground, and pairs of bodies, "body/other". ``force``
    (..., contacts, 3) in the world (N), mean over the last step, on the first body of a pair; ``gap``
    (..., contacts) above the ground or between bodies (m) at mid step, negative inside.

    >>> import kinetree as kt
    >>> robot = kt.Stepper(kt.zoo.spatial_biped(), ground=kt.Ground(normal=(0, 0, 1)))
    >>> robot.contact.names[:2], robot.contact.force.shape
    (('toe1_left', 'toe1_right'), (18, 3))
    """

    names: tuple[str, ...]
    force: Array
    gap: Array


@dataclass(frozen=True, eq=False)
class StepAudit:
    """What the steps since the last reset were like, one value for each state.

    ``residual`` and ``worst_residual`` (m/s): how far contact impulses of the last step, and of the worst,
    were from the law of Coulomb. ``unsolved``: steps with a residual above 1e-3 m/s. ``depth`` (m): deepest
    contact. ``gain`` (J): the largest energy that contacts and stops added in a step. ``cause``: 0, or why a
    state stands still, see ``failures``.

    >>> import kinetree as kt
    >>> arm = kt.Stepper(kt.zoo.two_link(), batch=2, stops=False)
    >>> arm.step(torque=[[0.0, 0.0], [1e12, 0.0]], times=3)
    >>> arm.audit().steps.tolist(), arm.audit().failures
    ([3, 0], {1: 'a rate beyond 1e6 rad/s or m/s'})
    """

    steps: NDArray[np.int64]
    unsolved: NDArray[np.int64]
    residual: Array
    worst_residual: Array
    depth: Array
    gain: Array
    cause: NDArray[np.int64]

    @property
    def failures(self) -> dict[int, str]:
        """The states that blew up, and why; they stand where they were before."""
        return {int(k): CAUSES[float(self.cause[k])] for k in np.flatnonzero(self.cause)}


class Stepper:
    """States of a mechanism that advance together by steps of ``dt`` (s).

    Contacts are rigid, with Coulomb friction that sticks, and solved at the level of velocities; joints stop
    at their limits (``stops``), and dry friction holds them. ``batch`` is the number of states, None for a
    single one without a batch axis. ``kp`` and ``kd`` are gains of servos, which act at the end of a step and
    so are stable however stiff; like the factors of the ground's ``friction`` they may differ from state to
    state, (batch, n_dof) and (batch,). ``pairs`` of bodies (:class:`kinetree.simulation.BodyPair`, or names)
    may touch by their spheres, capsules and boxes, see :func:`kinetree.simulation.body_pairs`. Free and ball
    joints are unit quaternions inside; ``coordinates`` says how ``q`` and ``qd`` show them: as the mechanism
    does, or "quaternion": (w, x, y, z) in place of three angles, and the angular velocity in body axes.
    Torques of :meth:`step` are then about body axes; those of controllers, and targets, are always the
    mechanism's.

    >>> import kinetree as kt
    >>> arm = kt.Stepper(kt.zoo.two_link(), dt=0.001, batch=8)
    >>> arm.reset([0.1, 0.2])
    >>> arm.step(torque=[1.0, 0.0], times=100)
    >>> arm.q.shape, round(float(arm.time[0]), 9)
    ((8, 2), 0.1)
    """

    def __init__(
        self,
        mechanism: Mechanism,
        dt: float = 0.002,
        *,
        batch: int | None = None,
        ground: Ground | None = None,
        kp: Any = 0.0,
        kd: Any = 0.0,
        coordinates: CoordinatesKind = "mechanism",
        stops: bool = True,
        restitution: float = 0.0,
        friction: ArrayLike = 1.0,
        controller: Any = None,
        pairs: Iterable[BodyPair | tuple[str, str]] = (),
        threads: int | None = None,
    ) -> None:
        self.mechanism = expect_mechanism(mechanism)
        self.dt = checked_dt(dt)
        self.batch = checked_batch(batch)
        check_kinds(coordinates, ground, stops, pairs)
        bounce = restitution_of(restitution)
        check_threads(threads)
        check_supported(mechanism)
        half = 0.5 * self.dt if BUDGET["midpoint"] else self.dt
        settings = {**PRESET, "dt": self.dt, "half": half, "restitution": bounce}
        self._tables = tables = StepTables(mechanism, ground, settings, BUDGET, bool(stops), tuple(pairs))
        self.coordinates, self.threads = coordinates, threads
        self._doors = Doors(tables)
        count = self.batch or 1
        rows, n = -(-count // LANES) * LANES, tables.tree.n
        check_room((rows, tables.width), (rows, 8 * n), what=f"a Stepper of {rows} states")
        self._state = cleared(rows, tables.width)
        self._torque, self._target = np.zeros((rows, n)), np.zeros((rows, n))
        self._gains, self._friction = np.zeros((rows, 2 * n)), np.ones((rows, 1))
        self._friction[:count, 0] = factors(friction, count)
        self._inertia = np.zeros((rows, 1))  # of the bodies on all axes, where masses differ
        self._ranges = Ranges(step_states(), np.zeros(1), tables.memory, LANES)
        self._slopes: Ranges | None = None
        self._angles = np.zeros((count, n))  # coordinates of all axes near which those shown are
        self._marks = np.zeros((count, len(tables.balls), 4))  # quaternions there
        self._fresh, self._now, self._seen = False, self._angles, (self._angles, self._angles)
        self._none = np.zeros((count, mechanism.n_dof))  # no torques
        self._held = np.zeros((count, mechanism.n_dof))  # torques of a controller between its samples
        self._given = np.zeros((count, n))  # torques of the last step in this stepper's coordinates
        self._law = StepLaw.read(mechanism, controller, self.dt)
        servo = self._law.servo
        if servo is not None and (np.any(kp) or np.any(kd)):
            raise InputError("give either kp and kd or a controller with gains, not both")
        self._set_gains(*((kp, kd) if servo is None else servo))
        self._follows = bool(tables.balls) and (coordinates == "mechanism" or self._law.acts)
        self._kept = (
            self._state, self._target, self._torque, self._given, self._held, self._angles, self._friction
        )  # fmt: skip
        self._balls: list[tuple[Array, Array]] | None = None  # of one state: quaternions, where they were
        if count == 1:
            self._balls = [
                (self._state[0, ball.at : ball.at + 4], mark)
                for ball, mark in zip(tables.balls, self._marks[0], strict=True)
            ]
        audit = tables.parts["state_audit"]
        self._audit = self._state[:, audit]
        self._audit[count:, CAUSE] = IDLE
        every = np.arange(count)
        self._place(self._inside(None, None, every), every, None, check=False)

    # ---- states ----------------------------------------------------------------------------------------
    def reset(
        self,
        q: Coordinates | None = None,
        qd: Coordinates | None = None,
        where: ArrayLike | None = None,
        target: Coordinates | None = None,
    ) -> None:
        """Start states again at time 0: all of them, or those where a mask (batch,) is true.

        q, qd: (n_dof,) for all, or (batch, n_dof), in this stepper's coordinates; zero unless given, with
        unit quaternions. target: of the servos, as for :meth:`step`; where the states start unless given. An
        error leaves everything as it was.
        """
        rows = np.flatnonzero(self._mask(where))
        aim = None if target is None else self._per_state(target, "target", self.batch or 1)[rows]
        self._place(self._inside(q, qd, rows), rows, aim, check=True)

    def _place(
        self, start: tuple[Array, Array, Array], rows: NDArray[np.intp], aim: Array | None, check: bool
    ) -> None:
        """Put states (k, nq), (k, n) and their coordinates into rows, without anything to remember."""
        x, v, angles = start
        parts = self._tables.parts
        block = cleared(-(-max(len(rows), 1) // LANES) * LANES, self._tables.width)
        block[: len(rows), parts["state_q"]], block[: len(rows), parts["state_v"]] = x, v
        friction = np.ones((len(block), 1))
        friction[: len(rows)] = self._friction[rows]
        gains, none = np.zeros((len(block), 2 * v.shape[1])), np.zeros((len(block), v.shape[1]))
        gains[: len(rows)] = self._gains[rows]
        bodies = np.tile(self._inertia[:1], (len(block), 1))
        bodies[: len(rows)] = self._inertia[rows]
        arrays = block, none, none, gains, friction, bodies
        self._ranges.fill(arrays, len(block), block.size, self.threads, (0,))
        cause = block[: len(rows), parts["state_audit"].start + CAUSE]
        if check:
            self._check_inertia(cause, rows)
            self._check_depth(block[: len(rows), parts["state_gap"]], rows)
        cause[:] = 0.0
        target = self._doors.targets_of(x) if aim is None else self._doors.targets(self._on_axes(aim))
        own = block[: len(rows)], target, 0.0, 0.0, 0.0, angles, self._friction[rows]
        kept: tuple[Array | float, ...] = own
        for memory, part in zip(self._kept, kept, strict=True):
            memory[rows] = part
        self._mark(rows)

    def _check_inertia(self, axes: Array, rows: NDArray[np.intp]) -> None:
        """Raise where an axis, by its number from 1, moves no inertia."""
        found = np.flatnonzero(axes)
        if len(found):
            joint = self.mechanism.tree.axis_names[int(axes[found[0]]) - 1]
            raise SingularityError(singular(joint, () if self.batch is None else (int(rows[found[0]]),), "0"))

    def _check_depth(self, gap: Array, rows: NDArray[np.intp]) -> None:
        """Raise where a state would start deep inside the ground or with bodies inside one another."""
        if not (gap < -INSIDE).any():
            return
        state, point = (int(k) for k in np.argwhere(gap < -INSIDE)[0])
        depth, name = -float(gap[state, point]), self._tables.contact_names[point]
        of = "" if self.batch is None else f" of state {rows[state]}"
        if point >= len(self._tables.point_table):
            raise InputError(
                f"the bodies of the pair '{name}'{of} would start {depth:.4g} m inside one another, "
                f"allowed are {INSIDE:g} m"
            )
        raise InputError(
            f"contact point '{name}'{of} would start {depth:.4g} m inside the ground, "
            f"allowed are {INSIDE:g} m; start higher"
        )

    def save(self) -> Array:
        """The states as numbers, with all that steps remember and the factors of friction.

        `restore` brings them back bit for bit.
        """
        return np.concatenate([memory[: self.batch or 1] for memory in self._kept], axis=1)

    def restore(self, saved: ArrayLike, where: ArrayLike | None = None) -> None:
        """States as `save` gave them, with targets: all, or those where a mask (batch,) is true."""
        count = self.batch or 1
        rows = np.flatnonzero(self._mask(where))
        array = numbers(saved, "saved")
        ends = np.cumsum([memory.shape[1] for memory in self._kept])
        if array.shape != (count, ends[-1]):
            raise InputError(
                f"saved must be what save() of a Stepper of this mechanism gave, shape "
                f"{(count, int(ends[-1]))}, got shape {array.shape}"
            )
        check_saved(self._tables, array[rows])
        self._bring_back(array, rows)

    def _bring_back(self, array: Array, rows: NDArray[np.intp]) -> None:
        """Rows of what `save` gave."""
        ends = np.cumsum([memory.shape[1] for memory in self._kept])
        for memory, part in zip(self._kept, np.split(array[rows], ends[:-1], axis=1), strict=True):
            memory[rows] = part
        self._mark(rows)

    def step(
        self, torque: Coordinates | None = None, *, target: Coordinates | None = None, times: int = 1
    ) -> None:
        """Advance all states by ``times`` steps with constant torques and targets of the servos.

        torque: (n_dof,) for all, or (batch, n_dof), in N m and N; zero unless given. target: positions of
        the servos, as before unless given.
        """
        if not isinstance(times, int | np.integer) or isinstance(times, bool) or times < 1:
            raise InputError(f"times must be an integer of at least 1, got {shown(times)}")
        count = self.batch or 1
        tau = self._none if torque is None else self._per_state(torque, "torque", count)
        aim = None if target is None else self._per_state(target, "target", count)
        if aim is not None:
            self._set_target(aim)
        if not self._law.acts and not self._turns(tau):
            self._set_torque(tau)
            self._run(int(times))
            return
        for _ in range(int(times)):
            if self._law.acts:
                self._ask_law(tau)
            else:
                self._set_torque(tau)
            self._run(1)

    def _turns(self, tau: Array) -> bool:
        """Whether torques act about angles of free or ball joints, whose axes turn with every step."""
        if tau is self._none or self.coordinates == "quaternion" or not self._doors.balls:
            return False
        return self._doors.any_on_balls(self._spread(tau))

    def _ask_law(self, tau: Array) -> None:
        """Torques and targets of a controller for the next step."""
        count, law = self.batch or 1, self._law
        t, steps = self._audit[:count, TIME], self._audit[:count, STEPS]
        if law.motion is not None:
            aim, extra = law.followed(t + self.dt)  # servos act at the end of the step
            self._set_target(aim)
            self._set_torque(tau, extra)
            return
        due = steps % law.every == 0
        if due.any():
            q, qd = (np.array(x) for x in self._outside())
            if self.batch is None:
                found = np.asarray(law.torque(float(t[0]), q[0], qd[0]))
            else:
                found = np.asarray(law.torque(t.copy(), q, qd))
            new = self._per_state(found, "torque of the controller", count)
            self._held[due] = new[due]
        self._set_torque(tau, self._held)

    def _set_target(self, aim: Array) -> None:
        self._target[: self.batch or 1] = self._doors.targets(self._on_axes(aim))

    def _set_torque(self, tau: Array, of_law: Array | None = None) -> None:
        """Torques of the next step: those in this stepper's coordinates, and a law's in the mechanism's."""
        count, as_angles = self.batch or 1, self.coordinates == "mechanism"
        if tau is self._none and of_law is None:
            self._torque[:], self._given[:] = 0.0, 0.0
            return
        known = self._spread(tau)
        if of_law is None:
            inner = self._moments(known) if as_angles else known
        elif as_angles:
            known = known + self._spread(of_law)
            inner = self._moments(known)
        else:
            inner = known = known + self._moments(self._spread(of_law))
        self._torque[:count], self._given[:count] = inner, known

    def _moments(self, tau: Array) -> Array:
        """Moments in body axes in place of torques about the present angles of free and ball joints."""
        x = self._state[: self.batch or 1, self._tables.parts["state_q"]]
        if self._follows:
            self._outside()
        return self._doors.torques(x, tau, self._now)

    def step_derivatives(
        self, torque: Coordinates | None = None, *, target: Coordinates | None = None
    ) -> StepDerivatives:
        """Advance all states by one step, as :meth:`step` does, and answer its exact derivatives.

        They are those of the step's equations with the contacts that touch, stick and slide in it (implicit
        function theorem), not of differences. Contacts with level or sloping ground, regions included.
        """
        self._drive(torque, target)
        count, tables = self.batch or 1, self._tables
        n, rows = tables.tree.n, len(self._state)
        check_room((rows, 6 * n * n), what=f"derivatives of {rows} states")
        found, servos = (
            (np.zeros((rows, 1)), np.empty((rows, 4 * n * n)), np.empty((rows, 2 * n * n))),
            self._servos_at_mid(),
        )
        self._run_slopes(found, 0)
        shown = [part[:count] for part in found]
        slopes = read_derivatives(tables, self._doors, shown, self._audit[:count], servos)
        return slopes if self.batch is not None else slopes.one()

    def pull_back(
        self, slopes: ArrayLike, torque: Coordinates | None = None, *, target: Coordinates | None = None
    ) -> StepSlopes:
        """Advance all states by one step, and answer slopes of a function of the state after it.

        slopes: (batch, 2 n_dof), the derivatives of the function by the positions and the rates after the
        step, along rates as in :class:`kinetree.simulation.StepDerivatives`. Those by the state before it, by
        torques and by targets follow at a fraction of the price of `step_derivatives`.

        >>> import kinetree as kt
        >>> arm = kt.Stepper(kt.zoo.two_link(), 0.001)
        >>> arm.pull_back([0.0, 1.0, 0.0, 0.0]).by_torque.shape
        (2,)
        """
        count, tables = self.batch or 1, self._tables
        given = fitting(slopes, "slopes", 2 * self.mechanism.n_dof, count)
        self._drive(torque, target)
        n, rows = tables.tree.n, len(self._state)
        seeds, servos = np.zeros((rows, 2 * n)), self._servos_at_mid()
        seeds[:count] = on_axes(tables, given)
        found = np.zeros((rows, 1)), seeds, np.zeros((rows, 3 * n))
        self._run_slopes(found, 1)
        shown = [part[:count] for part in found]
        answer = read_slopes(tables, self._doors, shown, self._audit[:count], servos)
        return answer if self.batch is not None else answer.one()

    def rollout(self, torque: ArrayLike, *, target: ArrayLike | None = None, times: int = 1) -> StepRollout:
        """Steps under torques (K, n_dof) or (K, batch, n_dof), each for ``times`` steps, and their gradient.

        target: of the servos, one for each or one for all. States after each are kept, and
        :meth:`kinetree.simulation.StepRollout.gradient` goes back through all steps.

        >>> import numpy as np
        >>> import kinetree as kt
        >>> arm = kt.Stepper(kt.zoo.two_link(), 0.001)
        >>> run = arm.rollout(np.ones((50, 2)))
        >>> run.gradient([1.0, 0.0, 0.0, 0.0]).by_torque.shape
        (50, 2)
        """
        return StepRollout(self, torque, target, times)

    def _drive(self, torque: Coordinates | None, target: Coordinates | None) -> None:
        """Torques and targets of a step that is differentiated."""
        count = self.batch or 1
        tau = self._none if torque is None else self._per_state(torque, "torque", count)
        check_differentiable(self._tables, self._law, self._turns(tau))
        aim = None if target is None else self._per_state(target, "target", count)
        if aim is not None:
            self._set_target(aim)
        if self._law.motion is not None:
            self._ask_law(tau)
        else:
            self._set_torque(tau)

    def _servos_at_mid(self) -> tuple[Array, Array, Array]:
        """Coordinates at the middle of the next step, targets and gains of position (batch, ...)."""
        count, parts, n = self.batch or 1, self._tables.parts, self._tables.tree.n
        x, v = self._state[:count, parts["state_q"]], self._state[:count, parts["state_v"]]
        return first_half(self._tables, x, v), self._target[:count].copy(), self._gains[:count, :n]

    def _run_slopes(self, found: tuple[Array, ...], backward: int) -> None:
        """One step with its derivatives, or backward: with slopes by what comes before it."""
        tables, rows = self._tables, len(self._state)
        if self._slopes is None:
            self._slopes = Ranges(step_derivatives(), np.zeros(1), lambda: tables.memory(slopes=True), LANES)
        given = self._state, self._torque, self._target, self._gains, self._friction, self._inertia
        arrays = (*given, *found)
        numbers_moved = rows * (found[1].shape[1] + found[2].shape[1] + self._state.shape[1])
        self._slopes.fill(arrays, rows, numbers_moved, self.threads, (backward, 0, 0))
        self._moved()

    # ---- what is seen ----------------------------------------------------------------------------------
    @property
    def q(self) -> Array:
        """Positions (batch, n_dof), or with quaternions; read only, valid until the next step.

        Angles of free and ball joints go on from those before the last call of `step`, by less than half a
        turn.
        """
        return self._one(self._shown()[0])

    @property
    def qd(self) -> Array:
        """Rates (batch, n_dof), with quaternions of free and ball joints angular velocities in body axes.

        Read only, valid until the next step.
        """
        return self._one(self._shown()[1])

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """Names of the columns of ``q``; those of a quaternion are JOINT.w, JOINT.x, JOINT.y, JOINT.z."""
        return self._names("", "wxyz")

    @property
    def rate_names(self) -> tuple[str, ...]:
        """Names of the columns of ``qd``; with quaternions body rates are JOINT.wx, JOINT.wy, JOINT.wz."""
        return self._names("w", "xyz")

    @property
    def time(self) -> Array:
        """Time (s) since the last reset, (batch,); read only, valid until the next step."""
        return self._one(self._audit[: self.batch or 1, TIME])

    @property
    def effort(self) -> Array:
        """Torques and forces of the drives in the last step, (batch, n_dof), those of servos included.

        In this stepper's coordinates: with quaternions those of free and ball joints are about body axes.
        """
        count, parts, doors = self.batch or 1, self._tables.parts, self._doors
        x, v = self._state[:count, parts["state_q"]], self._state[:count, parts["state_v"]]
        found = doors.pull(x, v, self._target[:count], self._gains[:count])
        if self.coordinates == "mechanism" and doors.balls:
            self._outside()
            found = doors.about_angles(found, self._now)
        found += self._given
        coupling = self.mechanism.tree.coupling
        return np.array(self._one(found if coupling is None else found @ coupling.matrix))

    @property
    def contact(self) -> StepContact:
        """Forces on the contact points, and how far these are from the ground.

        Read only, valid until the next step.
        """
        count, parts, names = self.batch or 1, self._tables.parts, self._tables.contact_names
        force = self._state[:count, parts["state_force"]].reshape(count, len(names), 3)
        return StepContact(names, self._one(force), self._one(self._state[:count, parts["state_gap"]]))

    def audit(self) -> StepAudit:
        """What the steps since the last reset were like."""
        a = self._audit[: self.batch or 1]
        whole = a[:, [STEPS, UNSOLVED, CAUSE]].astype(np.int64)
        return StepAudit(
            whole[:, 0], whole[:, 1], a[:, RESIDUAL].copy(), a[:, WORST].copy(), a[:, DEPTH].copy(),
            a[:, GAIN].copy(), whole[:, 2],
        )  # fmt: skip

    def __repr__(self) -> str:
        states = "one state" if self.batch is None else f"{self.batch} states"
        contacts = f"{self._tables.n_contacts} contacts"
        return f"Stepper('{self.mechanism.name}': {states}, dt {self.dt:g} s, {contacts})"

    # ---- in the mechanism's coordinates --------------------------------------------------------------------
    def reset_mechanism(
        self, q: Coordinates | None = None, qd: Coordinates | None = None, where: ArrayLike | None = None
    ) -> None:
        """As `reset`, in the mechanism's coordinates, whatever ``q`` and ``qd`` of this stepper show."""
        with self._in_mechanism():
            self.reset(q, qd, where)

    def mechanism_state(self) -> tuple[Array, Array]:
        """Positions and rates (batch, n_dof) in the mechanism's coordinates: copies.

        From the first call on angles go on from every call of `step`, with quaternions, too.
        """
        with self._in_mechanism():
            q, qd = np.array(self.q), np.array(self.qd)
        if self._doors.balls and not self._follows:
            self._follows = True
            self._angles[:] = self._now
            self._mark(np.arange(self.batch or 1))
        return q, qd

    @contextmanager
    def _in_mechanism(self) -> Iterator[None]:
        shown = self.coordinates
        self.coordinates = "mechanism"
        try:
            yield
        finally:
            self.coordinates = shown

    def set_friction(self, friction: ArrayLike, where: ArrayLike | None = None) -> None:
        """Factors of the friction of the ground, one for all or (batch,), of all states or of a mask."""
        chosen, count = self._mask(where), self.batch or 1
        self._friction[np.flatnonzero(chosen), 0] = np.broadcast_to(factors(friction, count), count)[chosen]

    @property
    def turning(self) -> tuple[str, ...]:
        """Names of the free and ball joints that are quaternions inside."""
        return tuple(ball.name for ball in self._tables.balls)

    @property
    def position_parts(self) -> list[tuple[int, int]]:
        """Where in ``q`` each coordinate or quaternion begins, and how many numbers it has."""
        turning = {ball.at for ball in self._tables.balls} if self.coordinates == "quaternion" else set()
        found, at = [], 0
        while at < len(self.coordinate_names):
            found.append((at, 4 if at in turning else 1))
            at += found[-1][1]
        return found

    def set_masses(self, masses: ArrayLike, where: ArrayLike | None = None) -> None:
        """Masses of the bodies (kg), (n_bodies,) for all or (batch, n_bodies), of all states or of a mask.

        Moments of inertia scale with them. They stay until others are set, and are not among what `save`
        gives.

        >>> import numpy as np
        >>> import kinetree as kt
        >>> arms = kt.Stepper(kt.zoo.two_link(), batch=2)
        >>> usual = arms.mechanism.tree.body_mass
        >>> arms.set_masses(np.outer([1.0, 2.0], usual))
        """
        chosen, count, tables = self._mask(where), self.batch or 1, self._tables
        given = numbers(masses, "masses")
        if given.ndim == 1:
            given = np.tile(given, (count, 1))
        found = read_masses(self.mechanism, given, count).inertia(np.arange(count)).reshape(count, -1)
        if not tables.varied:
            rows = len(self._state)
            self._inertia = np.tile(tables.inertia.reshape(1, -1), (rows, 1))
            tables.varied = True
            self._ranges = Ranges(step_states(), np.zeros(1), tables.memory, LANES)
            self._slopes = None
        self._inertia[np.flatnonzero(chosen)] = found[chosen]

    # ---- helpers ---------------------------------------------------------------------------------------
    def _names(self, prefix: str, parts: str) -> tuple[str, ...]:
        if self.coordinates == "mechanism":
            return self.mechanism.joint_names
        balls = {ball.axis: ball.name for ball in self._doors.balls}
        names: list[str] = []
        axes = [name for link in self.mechanism.links for name in link.joint.dof_names]
        for axis, name in enumerate(axes):
            if axis in balls:
                names += [f"{balls[axis]}.{prefix}{part}" for part in parts]
            elif axis - 1 not in balls and axis - 2 not in balls:
                names.append(name)
        return tuple(names)

    def _run(self, times: int) -> None:
        arrays = self._state, self._torque, self._target, self._gains, self._friction, self._inertia
        numbers_moved = self._state.size * max(times, 1)
        self._ranges.fill(arrays, len(self._state), numbers_moved, self.threads, (times,))
        self._moved()

    def _moved(self) -> None:
        """What is shown is old; angles follow those that have turned far."""
        self._fresh = False
        if self._follows and (self._balls is None or any(abs(u.dot(m)) < FAR for u, m in self._balls)):
            x = self._state[: self.batch or 1, self._tables.parts["state_q"]]
            rows = np.flatnonzero(self._doors.far(x, self._marks))
            if len(rows):
                none = np.zeros((len(rows), self._tables.tree.n))
                self._angles[rows] = self._doors.outside(x[rows], none, self._angles[rows])[0]
                self._mark(rows)

    def _mark(self, rows: NDArray[np.intp]) -> None:
        """Let the coordinates shown of some states be near `_angles` of now, whoever reads them."""
        self._fresh = False
        if self._follows:
            self._marks[rows] = self._doors.quaternions(self._angles[rows])

    def _one(self, array: Array) -> Array:
        """What is shown of an array: that of the one state, or all; not to be written to."""
        view = array.view()
        view.setflags(write=False)
        return view[0] if self.batch is None else view

    def _mask(self, where: ArrayLike | None) -> NDArray[np.bool_]:
        count = self.batch or 1
        if where is None:
            return np.ones(count, dtype=np.bool_)
        mask = np.asarray(where)
        if mask.dtype != np.bool_ or mask.shape != (count,):
            raise InputError(
                f"where must be a mask of shape ({count},), one truth value for each state, "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        return mask

    def _per_state(self, values: Coordinates, what: str, count: int) -> Array:
        """Values (batch, n_dof) from those of one state or of all."""
        array = coordinates(self.mechanism, values, what)
        n = self.mechanism.n_dof
        if array.shape not in ((n,), (count, n)) or (self.batch is None and array.ndim > 1):
            allowed = f"({n},)" if self.batch is None else f"({n},) or ({count}, {n})"
            raise InputError(f"{what} must have shape {allowed}, got {array.shape}")
        return np.broadcast_to(array, (count, n))

    def _on_axes(self, q: Array) -> Array:
        coupling = self.mechanism.tree.coupling
        return q if coupling is None else coupling.at(q)

    def _spread(self, tau: Array) -> Array:
        """Torques of the coordinates on the axes that are these coordinates."""
        coupling = self.mechanism.tree.coupling
        if coupling is None:
            return np.asarray(tau)
        found = np.zeros((len(tau), self.mechanism.tree.n))
        found[:, coupling.own_axes] = tau
        return found

    def _inside(
        self, q: Coordinates | None, qd: Coordinates | None, rows: NDArray[np.intp]
    ) -> tuple[Array, Array, Array]:
        """States inside, (k, nq) and (k, n), of some rows of those given, and angles to begin with."""
        n, tree, count = self.mechanism.n_dof, self.mechanism.tree, self.batch or 1
        if self.coordinates == "quaternion":
            return self._with_quaternions(q, qd, rows)
        place = self._per_state(np.zeros(n) if q is None else q, "q", count)[rows]
        rates = self._per_state(np.zeros(n) if qd is None else qd, "qd", count)[rows]
        axes = np.array(self._on_axes(place))
        if tree.coupling is not None:
            rates = rates @ tree.coupling.matrix.T
        return *self._doors.inside(axes, rates), axes

    def _with_quaternions(self, q: Any, qd: Any, rows: NDArray[np.intp]) -> tuple[Array, Array, Array]:
        nq, n, count = self._tables.nq, self._tables.tree.n, self.batch or 1
        none = np.zeros((1, n))
        if q is None:
            q = self._doors.inside(self._on_axes(np.zeros((1, self.mechanism.n_dof))), none)[0][0]
        x = fitting(q, "q", nq, count)
        v = fitting(none[0] if qd is None else qd, "qd", n, count)
        found = np.broadcast_to(x, (count, nq))[rows]
        for ball in self._tables.balls:
            part = slice(ball.at, ball.at + 4)
            size = np.linalg.norm(found[:, part], axis=-1)
            if (np.abs(size - 1.0) > 1e-3).any():
                state = int(np.argmax(np.abs(size - 1.0)))
                raise InputError(
                    f"the quaternion of joint '{ball.name}' must have length 1, got {size[state]:.6g}"
                )
            found[:, part] /= size[:, None]
        return found, np.broadcast_to(v, (count, n))[rows], np.zeros((len(rows), n))

    def _shown(self) -> tuple[Array, Array]:
        """Positions and rates as asked for: the memory itself where it has them."""
        if self.coordinates == "quaternion" or not (self._doors.balls or self.mechanism.tree.coupling):
            count, parts = self.batch or 1, self._tables.parts
            return self._state[:count, parts["state_q"]], self._state[:count, parts["state_v"]]
        return self._outside()

    def _outside(self) -> tuple[Array, Array]:
        """Positions and rates of the mechanism's coordinates."""
        if not self._fresh:
            count, parts, coupling = self.batch or 1, self._tables.parts, self.mechanism.tree.coupling
            x, v = self._state[:count, parts["state_q"]], self._state[:count, parts["state_v"]]
            q, qd = self._doors.outside(x, v, self._angles)
            self._now, self._seen = (
                q,
                ((q, qd) if coupling is None else (q[:, coupling.own_axes], qd[:, coupling.own_axes])),
            )
            self._fresh = True
        return self._seen

    def _set_gains(self, kp: Any, kd: Any) -> None:
        tree = self.mechanism.tree
        for name, gain, first in (("kp", kp, 0), ("kd", kd, tree.n)):
            if isinstance(gain, Mapping) or np.ndim(gain) > 0:
                given = self._spread(self._per_state(gain, name, self.batch or 1))
            else:
                x = number(gain, name)
                given = np.full((self.batch or 1, tree.n), x)
                given[:, floating(self.mechanism)] = 0.0
            if (given < 0.0).any():
                raise InputError(f"{name} must be >= 0, got {given.min():g}")
            self._gains[: self.batch or 1, first : first + tree.n] = self._doors.gains(given)
