"""Simulations with rigid contact: steps of a `Stepper`, recorded as a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array, positive
from kinetree.errors import InputError, SimulationError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.simulation.compiled.step_memory import SOLVED
from kinetree.simulation.contact import contact_forces
from kinetree.simulation.ground import Ground
from kinetree.simulation.judge import KEPT, Judge, dust_layer
from kinetree.simulation.progress import shown_progress
from kinetree.simulation.settings import Settings, output_times
from kinetree.simulation.setup import surroundings
from kinetree.simulation.stepper import PRESET, Stepper
from kinetree.simulation.torque import read_law
from kinetree.state import Coordinates, coordinates
from kinetree.verdicts.finding import Findings, checks_of
from kinetree.verdicts.margins import read_verdicts

STEP = 0.002  # s, unless ``max_step`` is given
WHOLE = 1e-6  # of a step, by which a time of the output may be off
NOT_OF_STEPS = ("stops", "baumgarte", "step", "method", "rtol", "atol", "friction_speed")
NOTHING: Mapping[str, Any] = MappingProxyType({})
GAINED = 1e-6  # share of the energy scale that contacts may add in a step


class StepRuns:
    """Simulations by steps of one mechanism under one law over one ground, from any state."""

    def __init__(
        self,
        mechanism: Mechanism,
        duration: float,
        law: tuple[Any, Any],
        ground: Ground,
        given: Settings,
        refused: Mapping[str, Any] = NOTHING,
    ) -> None:
        """``law`` is torque and controller, ``refused`` are arguments that steps lack."""
        self.duration = positive(duration, "duration", "s")
        _refuse(given, refused)
        self.torque, controller = driven(mechanism, law)
        dt, self.output = _grid(given, self.duration)
        self.stepper = Stepper(mechanism, dt, ground=ground, controller=controller)
        around = surroundings(ground)
        self.judge = Judge(read_verdicts(given.verdicts), read_law(mechanism, *law), around, mechanism)

    def states(self, q: Array, qd: Array, torque: Array | None) -> tuple[Array, Array]:
        """Positions and velocities (k, n_dof) at the output times, from one state."""
        stepper = self.stepper
        stepper.reset(q, qd)
        rows, done = [], 0
        for step in self.output:
            if step > done:
                stepper.step(torque, times=int(step) - done)
            done = int(step)
            self.refuse_failure()
            rows.append((stepper.q.copy(), stepper.qd.copy()))
        places, rates = (np.array(part) for part in zip(*rows, strict=True))
        return places, rates

    def refuse_failure(self, result: Result | None = None) -> None:
        """Raise if the state stands still because it has blown up."""
        failures = self.stepper.audit().failures
        if failures:
            message = f"the simulation stopped at t = {self.stepper.time:g} s: {failures[0]}"
            raise SimulationError(message) if result is None else SimulationError(message, result)

    def record(self, start: Any, torque: Any, tell: Callable[[float], None]) -> _Record:
        """A run with all that verdicts need; it ends where the state blows up."""
        stepper, record, done = self.stepper, _Record(self.judge, self.output), 0
        stepper.reset(*start)
        for step in record.marks:
            if step > done:
                stepper.step(torque, times=int(step) - done)
            done = int(step)
            if stepper.audit().cause[0]:
                break
            record.add(done, stepper)
            tell(done * stepper.dt)
        return record


def simulate_steps(
    mechanism: Mechanism,
    start: tuple[Coordinates, Coordinates | None],
    duration: float,
    law: tuple[Any, Any],
    ground: Ground,
    given: Settings,
    refused: Mapping[str, Any],
    progress: bool | Callable[[float], None] | None = None,
) -> Result:
    """The motion by steps; arguments as of `StepRuns`."""
    runs = StepRuns(mechanism, duration, law, ground, given, refused)
    began = perf_counter()
    with shown_progress(progress, runs.duration) as tell:
        record = runs.record(start, runs.torque, tell)
    result = _result(runs.stepper, record, ground, perf_counter() - began)
    runs.refuse_failure(result)
    return result


class _Record:
    """States after steps: those of the output, and as many between as verdicts need."""

    def __init__(self, judge: Judge, output: NDArray[np.int64]) -> None:
        """``output``: after which steps."""
        self.judge, self.output = judge, output
        every = -(-int(output[-1]) // KEPT)
        self.marks = np.union1d(output, np.arange(0, output[-1] + 1, every))
        self._steps: list[int] = []
        self._rows: list[tuple[Array, ...]] = []

    def add(self, step: int, stepper: Stepper) -> None:
        """Keep the state after a step."""
        self._steps.append(step)
        self._rows.append(_row(stepper))

    def columns(self, dt: float) -> tuple[Array, ...]:
        """Times, and what `_row` keeps, of all marks."""
        return dt * np.array(self._steps), *(np.array(x) for x in zip(*self._rows, strict=True))

    def shown(self, columns: tuple[Array, ...]) -> tuple[Array, ...]:
        """Of these the rows of the output."""
        rows = np.isin(self._steps, self.output)
        return tuple(x[rows] for x in columns)

    def verdicts(
        self, t: Array, q: Array, qd: Array, tau: Array, force: Array
    ) -> tuple[Findings, dict[str, str]]:
        """What the motion is judged by, and what it is not judged by."""
        judge, watch = self.judge, self.judge.watch()
        watch.add(t, q[:, None], qd[:, None])
        watch.add_efforts(t, tau[:, None])
        contact = self._contact(q, qd, force) if judge.sees_contact else None
        found = judge.motion_findings(t, q[None], contact, dust_layer(judge.ground)) | watch.findings()
        return found, judge.not_judged(found, watch)

    def checks(self, stepper: Stepper) -> dict[str, Check]:
        """All verdicts on a run that has just been recorded."""
        columns = self.columns(stepper.dt)
        findings, _ = self.verdicts(*columns[:5])
        return _contact_checks(stepper, self.shown(columns)[5]) | checks_of(findings)

    def _contact(self, q: Array, qd: Array, force: Array) -> Array:
        """Rows of contact points (1, k, points, 7): force, depth, velocity out of the ground and along it."""
        assert self.judge.ground is not None
        seen = contact_forces(self.judge.mechanism, self.judge.ground, q, qd)
        parts = force[:, : len(seen.names)], seen.penetration[..., None], seen.velocity
        return np.concatenate(parts, axis=-1)[None]


def _row(stepper: Stepper) -> tuple[Array, ...]:
    """What is kept of a state."""
    contact = stepper.contact
    return stepper.q.copy(), stepper.qd.copy(), stepper.effort, contact.force.copy(), contact.gap.copy()


def _refuse(given: Settings, refused: Mapping[str, Any]) -> None:
    """Raise where something is asked for that steps do not do."""
    wrong = [name for name, value in refused.items() if value]
    wrong += ["loads"] if given.loads is not None and np.size(np.array(given.loads, dtype=object)) else []
    usual = Settings()
    wrong += [name for name in NOT_OF_STEPS if getattr(given, name) != getattr(usual, name)]
    if wrong:
        raise InputError(
            f"simulations with rigid contact take steps and have no {listed(wrong)}; limits of joints act by "
            "themselves, max_step is the length of a step; or use a ground with contact='soil'"
        )


def _grid(given: Settings, T: float) -> tuple[float, NDArray[np.int64]]:
    """The step (s), and after how many of them the output is: equal intervals are made of whole steps."""
    most = STEP if given.max_step is None else positive(given.max_step, "max_step", "s")
    t = output_times(given.times, T)
    even = len(t) > 1 and np.allclose(t, np.linspace(0.0, T, len(t)), rtol=0.0, atol=1e-12 * T)
    interval = T / (len(t) - 1) if even else T
    dt = interval / np.ceil(interval / most)
    steps = np.round(t / dt).astype(np.int64)
    off = np.abs(steps * dt - t)
    if off.max() > WHOLE * dt:
        raise InputError(
            f"times must be multiples of the step, {dt:g} s, got {t[np.argmax(off)]:g} s; max_step sets it"
        )
    return float(dt), steps


def driven(mechanism: Mechanism, law: tuple[Any, Any]) -> tuple[Any, Any]:
    """A constant torque, and a controller or function, from the arguments of a simulation."""
    torque, controller = law
    if callable(torque):
        if controller is not None:
            raise InputError("give either a function as torque or a controller, not both")
        return None, torque
    if torque is None:
        return None, controller
    if isinstance(torque, tuple | Mapping) or hasattr(torque, "breaks"):
        raise InputError("simulations with rigid contact take a vector or a function as torque, not a table")
    return coordinates(mechanism, torque, "torque"), controller


def _result(stepper: Stepper, record: _Record, ground: Ground, seconds: float) -> Result:
    """The result of recorded steps."""
    mechanism, audit = stepper.mechanism, stepper.audit()
    columns = record.columns(stepper.dt)
    findings, not_judged = record.verdicts(*columns[:5])
    times, q, qd, tau, force, gap = record.shown(columns)
    checks = _contact_checks(stepper, gap) | checks_of(findings)
    return build_result(
        "simulate",
        mechanism,
        {"time": times, "q": q, "qd": qd, "tau": tau}
        | _contact(mechanism, stepper.contact.names, force, gap),
        settings={"duration": float(times[-1]), "method": "steps", "step": stepper.dt,
                  "ground": ground.settings(mechanism)},
        audit=checks,
        statistics={"steps": int(audit.steps[0]), "unsolved": int(audit.unsolved[0])},
        messages=[check.sentence for check in checks.values() if not check.passed],
        not_judged=not_judged,
        seconds=seconds,
    )  # fmt: skip


def _contact_checks(stepper: Stepper, gap: Array) -> dict[str, Check]:
    """Whether steps obeyed the law of contact and gained no energy; gaps (k, contacts) of the output."""
    audit, mechanism = stepper.audit(), stepper.mechanism
    share = audit.unsolved[0] / max(audit.steps[0], 1)
    worst = f"the worst residual of {audit.steps[0]} steps is {audit.worst_residual[0]:.2g} m/s"
    scale = max(mechanism.mass * 9.81, 1.0)
    inside = max(-float(gap[0].min(initial=0.0)), 0.0)
    pushed = 0.5 * mechanism.mass * PRESET["push"] ** 2 if inside > 0.0 else 0.0
    start = f", {inside:.2g} m inside the ground at the start, from where they are pushed" if pushed else ""
    return {
        "contact_law": Check.within(
            share, 1e-3, "1", f"share of steps with a residual above {SOLVED:g} m/s; {worst}"
        ),
        "contact_energy": Check.within(
            audit.gain[0],
            GAINED * scale + pushed,
            "J",
            f"the most energy that contacts and stops added in a step{start}",
        ),
    }


def _contact(mechanism: Mechanism, names: tuple[str, ...], force: Array, gap: Array) -> dict[str, Any]:
    """Forces on the contact points and, summed, on their bodies; how deep points are, and which touch."""
    every = [point.name for point in mechanism.contact_points]
    places = [every.index(name) for name in names]
    forces, depth = np.zeros((len(force), len(every), 3)), np.zeros((len(force), len(every)))
    forces[:, places], depth[:, places] = force, np.maximum(-gap, 0.0)
    bodies = mechanism.body_names
    on_body = np.zeros((len(force), len(bodies), 3))
    for k, point in enumerate(mechanism.contact_points):
        on_body[:, bodies.index(point.body)] += forces[:, k]
    touching = np.asarray(forces.any(axis=-1))
    return {"contact_force": forces, "ground_force": on_body, "penetration": depth, "touching": touching}
