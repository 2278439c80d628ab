"""Many simulations at once: four in the lanes of one processor core, and all cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from threading import Event
from time import perf_counter
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.engine.specialized import MOTION, made_for
from kinetree.engine.threads import available_cores
from kinetree.errors import InputError, SimulationError, must_be
from kinetree.integrate.integration import IntegrationStatus, Steps
from kinetree.kernels.number import LANES
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.result import Result
from kinetree.result.variables import KNOWN, Variable
from kinetree.simulation.audit import energies, energy_check, energy_tolerance, energy_unsure
from kinetree.simulation.divergence import diverged, has_diverged
from kinetree.simulation.gimbal import refuse_locks
from kinetree.simulation.given import ControllerGiven, TorqueGiven
from kinetree.simulation.ground import Ground
from kinetree.simulation.judge import KEPT, PULSES, dust_layer, missed_pulses
from kinetree.simulation.loop_audit import closure_checks, loop_drift, loop_errors
from kinetree.simulation.masses import Masses, read_masses
from kinetree.simulation.run import Mark, moved_on, new_integration, refuse_runaway
from kinetree.simulation.scenario import Scenario
from kinetree.simulation.settings import (
    AUTO,
    FIXED,
    Options,
    Settings,
    SettingsKeywords,
    read_settings,
    takes_settings,
)
from kinetree.simulation.step_check import check_step
from kinetree.simulation.torque import check_prescribed, read_law
from kinetree.state import Coordinates, coordinates, farthest, hint_at_degrees
from kinetree.verdicts.finding import Finding, Findings, checks_of, motions_passed
from kinetree.verdicts.limits import LimitWatch

ROLLOUT = "rollout"
PIECE = 100_000  # steps between two looks at whether a motion runs away
MANY = 1000  # motions for which a look at the first of them costs nothing
WORTH = 10_000_000  # evaluations that pay for code for one mechanism: of arms to humanoids a million do
LOOK = 5_000  # steps between two looks at whether the work is still wanted


@takes_settings
def simulate_batch(
    mechanism: Mechanism,
    q0: Coordinates,
    qd0: Coordinates | None = None,
    duration: float = 1.0,
    *,
    torque: TorqueGiven | Sequence[Sequence[float]] = None,
    controller: ControllerGiven | Sequence[ControllerGiven] = None,
    ground: Ground | Sequence[Ground] | None = None,
    settings: Settings | None = None,
    masses: ArrayLike | None = None,
    threads: int | None = None,
    **keywords: Unpack[SettingsKeywords],
) -> Result:
    """Many motions of a mechanism, from states ``q0`` and ``qd0`` (m, n_dof), one for each row.

    ``torque``: as for :func:`kinetree.simulate`, or constant torques (m, n_dof) that differ from motion to
    motion; ``controller`` and ``ground``: one for all, or a list of m. ``masses`` (m, n_bodies) in kg: the
    masses of the bodies in each motion, with which their moments of inertia scale; models inside controllers
    keep the mechanism's own. The result has the dimensions rollout, time, joint, with energies and an audit
    of the worst motion: energy balance, how well loops stay closed, and the verdicts of
    :func:`kinetree.simulate`; ``motion_passed`` (rollout) says which motions pass all verdicts and keep their
    energy balance. Four motions share their steps, so the last digits of a motion depend on its neighbors,
    never on the number of threads; with closed loops each motion has its own steps. A thousand motions or
    more run by code made for the mechanism (:func:`kinetree.specialize`) where that pays: ten million
    evaluations of the equations of motion. Events are not detected
    and Euler sequences not switched: a motion must not start within a degree of gimbal lock. Steps become
    smaller near the lock; with
    fixed steps it is an error, which is detected for each motion separately.

    ``settings`` (:class:`kinetree.simulation.Settings`), or any of its fields as an argument, as for
    :func:`kinetree.simulate`; the method "auto" is always explicit: choose "radau" for stiff systems.
    ``threads``: their number, by default all cores. Limits are judged at all steps, robots under a law on a
    ground as well; following and depth of others at the output times.

    >>> import kinetree as kt, numpy as np
    >>> falls = kt.simulation.simulate_batch(kt.zoo.gripper(), np.zeros((8, 4)), duration=0.1, times=3)
    >>> falls.q.shape
    (8, 3, 4)
    """
    expect_mechanism(mechanism)
    given = read_settings(simulate_batch, settings, keywords)
    if given.method == AUTO:
        given = replace(given, method="dop853" if ground is None else "dopri5")
    free = Scenario.read(simulate_batch, mechanism, duration, settings=given)
    options = free.options
    q, qd = _starts(mechanism, q0, qd0)
    check_room((len(q), len(options.times), 4 * mechanism.n_dof + 2))  # states and work, twice
    hint_at_degrees(mechanism, farthest(q), "q0")
    free.check_start(q, qd)
    count = available_cores() if threads is None else _threads(threads)
    varied = None if masses is None else read_masses(mechanism, masses, len(q))
    jobs = list(_jobs(free, q, qd, torque, controller, ground, count, varied))
    began = perf_counter()
    if count == 1 or len(jobs) == 1:
        found = list(map(_Job.run, jobs))
    else:
        with ThreadPoolExecutor(count) as pool:
            try:
                found = list(pool.map(_Job.run, jobs))
            except BaseException:  # Ctrl-C, or a motion that fails: the other threads end soon, too
                for job in jobs:
                    job.stop.set()
                raise
    works, drift = jobs[0].system.parts.works, max(job.drift for job in jobs)
    seconds = perf_counter() - began
    return _result(mechanism, options, found, works, varied, drift, seconds, jobs)


class _Job:
    """Motions that one thread runs one after the other, some in the lanes of one integration."""

    def __init__(
        self,
        scenario: Scenario,
        rows: Any,
        q: Array,
        qd: Array,
        constant: Array | None,
        lanes: int,
        masses: Masses | None = None,
    ) -> None:
        options = scenario.options
        check_prescribed(scenario.mechanism, scenario.law, q[rows], qd[rows], options.duration)
        self.system = scenario.system(lanes=lanes, varied=masses is not None and lanes > 1)
        self.messages: tuple[str, ...] = ()
        if options.method in FIXED and len(rows):
            alone = self.system if lanes == 1 else scenario.system()
            start = alone.start_state(q[rows[0]], qd[rows[0]])[0]
            self.messages = check_step(alone, scenario.around.ground, options, start)
        watched = lanes == 1 and watches_locks(scenario.mechanism, options)
        self.judge = scenario.judge
        self.limits: LimitWatch = self.judge.watch(len(q))
        self._looks = self.judge.stands and self.judge.sees_poses
        self._looked: list[tuple[Array, Array, Array]] = []  # ends of steps of the present run
        self._found: dict[int, Findings] = {}  # verdicts by motion
        self.longest = 0.0  # step (s)
        traced = self.limits.judges_motion or self.limits.judges_efforts or self._looks
        traced = traced or self.judge.may_miss_pulses
        self.integration = new_integration(
            self.system, options, scenario.breaks, watched=watched, trace=self._take if traced else None
        )
        self._begun: list[tuple[int, Any]] = []  # rows of the trace at which runs begin, and their motions
        self._carried: Any = None  # motions of the run that a full trace has split
        self._described = self.integration.out.reshape(-1, self.system.size)  # all states of a block
        self.rows, self.q, self.qd, self.constant, self.lanes = rows, q, qd, constant, lanes
        self.options, self.masses, self.drift = options, masses, 0.0
        self.stop = Event()  # set by another thread: no more work is wanted

    def run(self) -> dict[str, Any]:
        """Positions, velocities, work and states of components (m, k, ...) of its motions, by name."""
        out = self.integration.out.swapaxes(0, 1)
        filled, starts = self._starts()
        own = np.empty((len(self.rows), *out.shape[1:]))
        models = None if self.masses is None else self.masses.tables(filled.ravel())
        for k, start in enumerate(starts):
            here = slice(k * self.lanes, (k + 1) * self.lanes)
            if self.constant is not None:
                self.system.set_constant(self.constant[filled[k]])
            if models is not None:
                self.system.context.set_models(models[k * self.lanes : (k + 1) * self.lanes])
            self.system.close_loops(start)
            self.system.law.begin()
            self.integration.rewind(start)
            self._begun.append((self.integration.n_trace, filled[k]))
            self._advance(self.rows[here])
            if self.stop.is_set():
                return {}
            if self.limits.judges_efforts or self._looks:  # while the context is that of these motions
                self.integration.flush()
                self._judge(self.rows[here])
            target = own[here]
            target[:] = out[: len(target)]
            self.drift = max(self.drift, loop_drift(self.system))
            self.system.close_loops(target)
        self.integration.flush()
        at = self.system.at
        moving = {name: own[..., at.places[name]] for name in ("q", "qd", "work")}
        return moving | self.system.variables(own)

    def _take(self, steps: Steps) -> None:
        """Ends of steps of one run after the other."""
        begun = [x for x in self._begun if x[0] < len(steps.t)]
        if not begun or begun[0][0] > 0:
            begun.insert(0, (0, self._carried))
        self._carried = (self._begun or begun)[-1][1]
        self._begun = [] if len(begun) >= len(self._begun) else [(0, self._begun[-1][1])]
        self.longest = max(self.longest, float(np.diff(steps.t).max(initial=0.0)))
        groups, motions = np.array([x[0] for x in begun]), np.stack([x[1] for x in begun])
        at, y = self.system.at, steps.y
        rates = steps.rates[..., at.qd]
        self.limits.add_steps(steps.t, y[..., at.q], y[..., at.qd], rates, steps.has_rates, groups, motions)
        if self.limits.judges_efforts or self._looks:
            t = steps.t.copy()
            before = np.flatnonzero(np.diff(t) == 0.0)
            t[before] = np.nextafter(t[before], -np.inf)  # in front of a jump
            for k, begin in enumerate(groups):
                end = groups[k + 1] if k + 1 < len(groups) else len(t)
                seen = self.system.observe(t[begin:end], y[begin:end])
                self.limits.add_efforts(t[begin:end], seen.tau, motions[k])
                if self._looks:
                    self._looked.append((t[begin:end], y[begin:end, :, at.q].copy(), seen.contact.copy()))

    def _judge(self, rows: Any) -> None:
        """Falls, drift, slip and depth of the motions of the present run, at the ends of their steps."""
        if not self._looked:
            return
        t, q, contact = (np.concatenate(parts) for parts in zip(*self._looked, strict=True))
        self._looked = []
        some = slice(None, None, -(-len(t) // KEPT))
        for lane, row in enumerate(rows):
            seen = contact[some, lane][None] if self.judge.sees_contact else None
            self._found[int(row)] = self.judge.motion_findings(
                t[some], q[some, lane][None], seen, dust_layer(self.judge.ground)
            )

    def findings(self, times: Array, q: Array) -> Findings:
        """Verdicts on its motions, from outputs q (m, k, n_dof) and from all steps."""
        if self._found:
            found = _merged([([k], self._found[int(row)]) for k, row in enumerate(self.rows)], len(self.rows))
        else:
            found = self.judge.motion_findings(times, q, None, dust_layer(self.judge.ground))
        return found | {
            name: replace(x, values=x.values[self.rows], words=partial(_of_row, x, self.rows))
            for name, x in self.limits.findings().items()
        }

    def _starts(self) -> tuple[Any, Array]:
        """Rows (blocks, lanes), the last filled up with rows of its own, and states (blocks, lanes, size)."""
        at, lanes, whole = self.system.at, self.lanes, len(self.rows) // self.lanes * self.lanes
        rest = self.rows[whole:]
        filled = np.concatenate([self.rows[:whole], np.resize(rest, lanes if len(rest) else 0)])
        still = np.zeros(at.n)
        starts = np.tile(self.system.start_state(still, still)[0], (len(filled), 1))
        starts[:, at.q], starts[:, at.qd] = self.q[filled], self.qd[filled]
        refuse_locks(self.system, starts)
        return filled.reshape(-1, lanes), starts.reshape(-1, lanes, self.system.size)

    def _piece(self) -> IntegrationStatus:
        """Advance by PIECE steps, or until another thread wants no more work."""
        for _ in range(PIECE // LOOK):
            status = self.integration.advance(LOOK)
            if status is not IntegrationStatus.RUNNING or self.stop.is_set():
                break
        return status

    def _advance(self, rows: Any) -> None:
        some = f"rollout {rows[0]}" if len(rows) == 1 else f"one of rollouts {rows[0]} to {rows[-1]}"
        integration, options = self.integration, self.options
        status, mark = self._piece(), Mark()
        while status is IntegrationStatus.RUNNING:
            if self.stop.is_set():
                return
            try:
                mark = moved_on(integration, self.system, options, mark)
                refuse_runaway(integration, self.system, options, integration.statistics["steps"])
            except SimulationError as problem:
                raise SimulationError(f"{some}: {problem}") from None
            status = self._piece()
        if status is IntegrationStatus.CALLBACK:
            self.system.raise_problem()
        if status is not IntegrationStatus.DONE or has_diverged(self.system, self._described):
            stated = diverged(self.system, self.options, self.integration.t, self.integration.y)
            raise SimulationError(f"{some}: {stated}")


def _jobs(
    free: Scenario,
    q: Array,
    qd: Array,
    torque: Any,
    controller: Any,
    ground: Any,
    threads: int,
    masses: Masses | None,
) -> Iterator[_Job]:
    """Share the motions out: equal ones by fours in a few jobs, different ones each in its own.

    ``free`` is the scenario without a law and without a ground.
    """
    mechanism, options, count = free.mechanism, free.options, len(q)
    constant = None
    if isinstance(torque, np.ndarray | list) and _n_axes(torque) == 2:
        constant = coordinates(mechanism, torque, "torque")
        if len(constant) != count:
            raise InputError(f"torque must have a row for each of {count} motions, got {len(constant)}")
        torque = None
    controllers = _each(controller, count, "controller")
    grounds = _each(ground, count, "ground")
    every: Any = np.arange(count)
    if controllers is None and grounds is None:
        law = read_law(mechanism, torque, controller)
        called = law.is_python
        alone = called or options.method == "radau" or watches_locks(mechanism, options)
        alone = alone or bool(mechanism.loops)  # singular positions determine steps of their own
        lanes = 1 if alone else LANES
        if lanes > 1 and masses is None and count >= MANY:
            first = replace(free, law=law, around=free.around._replace(ground=ground))
            free = replace(free, mechanism=_for(first, q, qd, constant))
        blocks = -(-count // lanes)
        pieces = min(blocks, 8 * threads) if not called and threads > 1 else 1
        cuts = [blocks * k // pieces * lanes for k in range(pieces + 1)]
        for k in range(pieces):
            rows = every[cuts[k] : cuts[k + 1]]
            scenario = replace(free, law=law, around=free.around._replace(ground=ground))
            yield _Job(scenario, rows, q, qd, constant, lanes, masses)
        return
    for k in range(count):
        law = read_law(mechanism, torque, controller if controllers is None else controllers[k])
        here = free.around._replace(ground=ground if grounds is None else grounds[k])
        scenario = replace(free, law=law, around=here)
        yield _Job(scenario, every[k : k + 1], q, qd, constant, 1, masses)


def _for(scenario: Scenario, q: Array, qd: Array, constant: Array | None) -> Mechanism:
    """The mechanism, with code made for it if that pays for as many motions as start at q.

    The first motions are run to count their evaluations. Nothing is timed: results are the same every time.
    """
    mechanism = scenario.mechanism
    if made_for(MOTION, mechanism.tree) is not None or mechanism.tree.coupling is not None:
        return mechanism
    job = _Job(scenario, np.arange(LANES), q, qd, constant, LANES)
    job.run()
    if job.integration.statistics["evaluations"] * len(q) < WORTH:
        return mechanism
    from kinetree.codegen.specialize import with_code

    return with_code(mechanism, ["simulate"])[0]


def watches_locks(mechanism: Mechanism, options: Options) -> bool:
    """Whether gimbal lock must be looked for: steps of fixed length would pass it unseen."""
    return options.method in FIXED and any(link.joint.has_three_turns for link in mechanism.links)


def _threads(threads: Any) -> int:
    if not isinstance(threads, int) or threads < 1:
        raise InputError(must_be("threads", "an integer of at least 1", threads))
    return threads


def _each(given: Any, count: int, what: str) -> list[Any] | None:
    """A list of one for each motion, or None if there is one for all."""
    if not isinstance(given, list | tuple):
        return None
    if len(given) != count:
        raise InputError(must_be(what, f"one for all or a list of {count}", len(given), ""))
    return list(given)


def _n_axes(torque: Any) -> int:
    """The number of axes of an array, also of nested lists; an error if their rows differ in length."""
    try:
        return np.ndim(torque)
    except ValueError:
        raise InputError(
            "torque must be constant torques (n_dof,) or (m, n_dof), or a function or table for all motions, "
            "got a list of rows that differ in length; tables that differ from motion to motion are "
            "controller=[kt.control.TorqueTable(times, torques), ...]"
        ) from None


def _starts(mechanism: Mechanism, q0: Coordinates, qd0: Coordinates | None) -> tuple[Array, Array]:
    q = coordinates(mechanism, q0, "q0")
    qd = np.zeros_like(q) if qd0 is None else coordinates(mechanism, qd0, "qd0")
    try:
        q, qd = np.broadcast_arrays(q, qd)
    except ValueError:
        raise InputError(f"q0 and qd0 do not fit together: shapes {q.shape} and {qd.shape}") from None
    if q.ndim != 2 or not len(q):
        raise InputError(f"q0 must be states (m, {mechanism.n_dof}), got shape {q.shape}")
    return np.array(q), np.array(qd)


def _result(
    mechanism: Mechanism,
    options: Options,
    pieces: list[dict[str, Any]],
    works: tuple[str, ...],
    masses: Masses | None,
    drift: float,
    seconds: float,
    jobs: list[_Job],
) -> Result:
    """All motions, one after the other; states that only some of their laws have are left out."""
    q, qd, work = (np.concatenate([piece.pop(name) for piece in pieces]) for name in ("q", "qd", "work"))
    own: dict[str, Variable] = {}
    for name in set(pieces[0]).intersection(*pieces):
        values = np.concatenate([piece[name].values for piece in pieces])
        own[name] = pieces[0][name]._replace(values=values)
    rollouts = ((ROLLOUT,), np.arange(len(q)), "1", "number of the motion")
    found = energies(mechanism, q, qd, work, works, masses)
    known = {"q": q, "qd": qd, **found.variables()}
    unsure = energy_unsure(mechanism, options)
    audit = {"energy_balance": energy_check(found, energy_tolerance(options), unsure)}
    if mechanism.loops:
        known["loop_error"] = loop_errors(mechanism, q)
        states = (-1, mechanism.n_dof)
        audit |= closure_checks(mechanism, q.reshape(states), qd.reshape(states), drift, options)
    shown = {name: Variable(KNOWN[name].dims, x, *KNOWN[name][1:3]) for name, x in known.items()}
    shown |= own | found.of_components()
    stated = {name: ((ROLLOUT, *x.dims), *x[1:4]) for name, x in shown.items()}
    findings = _merged([(job.rows, job.findings(options.times, q[job.rows])) for job in jobs], len(q))
    judged = checks_of(findings)
    balanced = found.relative_error(unsure) <= energy_tolerance(options)
    good = motions_passed(findings, len(q)) & balanced
    passed = (ROLLOUT,), good, "1", "whether the motion passes all verdicts and keeps its energy balance"
    return build_result(
        "simulate_batch",
        mechanism,
        {"time": options.times, **stated, "motion_passed": passed},
        coordinates={ROLLOUT: rollouts},
        settings=options.settings(),
        audit=audit | judged,
        messages=[*jobs[0].messages, *(check.sentence for check in judged.values() if not check.passed)],
        not_judged=_not_judged(jobs, findings, options),
        seconds=seconds,
    )


def _not_judged(jobs: list[_Job], findings: Findings, options: Options) -> dict[str, str]:
    found = jobs[0].judge.not_judged(findings, jobs[0].limits)
    longest = max((job.longest for job in jobs if job.judge.may_miss_pulses), default=0.0)
    return found | ({PULSES: missed_pulses(longest, options)} if longest else {})


def _merged(parts: list[tuple[Any, Findings]], count: int) -> Findings:
    """Verdicts on all motions, from those on the rows of each job."""
    found: Findings = {}
    for name in dict.fromkeys(name for _, some in parts for name in some):
        values, words = np.zeros(count), dict[int, tuple[Finding, int]]()
        for rows, some in parts:
            if name in some:
                values[rows] = some[name].values
                words |= {int(row): (some[name], k) for k, row in enumerate(rows)}
        first = next(some[name] for _, some in parts if name in some)
        found[name] = replace(first, values=values, words=_spoken(words))
    return found


def _of_row(finding: Finding, rows: Any, k: int) -> str:
    return finding.words(int(rows[k]))


def _spoken(words: dict[int, tuple[Finding, int]]) -> Callable[[int], str]:
    return lambda k: words[k][0].words(words[k][1]) if k in words else "not judged"
