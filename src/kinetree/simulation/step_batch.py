"""Many simulations with rigid contact: the states of one `Stepper`, recorded as a result."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import check_room
from kinetree.errors import InputError, SimulationError
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.result.variables import KNOWN
from kinetree.simulation.contact import contact_forces
from kinetree.simulation.ground import Ground
from kinetree.simulation.judge import KEPT, Judge, dust_layer
from kinetree.simulation.settings import Settings
from kinetree.simulation.setup import surroundings
from kinetree.simulation.step_record import SHARE, driven, refuse, step_grid
from kinetree.simulation.stepper import Stepper
from kinetree.simulation.torque import read_law
from kinetree.state import coordinates
from kinetree.verdicts.finding import checks_of, motions_passed
from kinetree.verdicts.margins import read_verdicts

ROLLOUT = "rollout"


def simulate_steps_batch(
    mechanism: Mechanism,
    start: tuple[Array, Array],
    duration: float,
    law: tuple[Any, Any],
    ground: Any,
    given: Settings,
    masses: ArrayLike | None,
    threads: int | None,
) -> Result:
    """Motions from starts (m, n_dof) by steps, all under one law (as in `StepRuns`) over one ground."""
    if not isinstance(ground, Ground) or isinstance(law[1], list | tuple):
        raise InputError(
            "motions with rigid contact share one ground and one controller; run lists one by one"
        )
    refuse(given, {})
    count, began = len(start[0]), perf_counter()
    constant, controller = _law(mechanism, law, count)
    dt, output = step_grid(given, duration)
    marks = np.union1d(output, np.arange(0, output[-1] + 1, -(-int(output[-1]) // KEPT)))
    points = len(ground.contact_names(mechanism))
    check_room((len(marks), count, 3 * mechanism.n_dof + 3 * points))
    stepper = Stepper(mechanism, dt, batch=count, ground=ground, controller=controller, threads=threads)
    if masses is not None:
        stepper.set_masses(masses)
    stepper.reset(*start)
    rows, done = [], 0
    for step in marks:
        if step > done:
            stepper.step(constant, times=int(step) - done)
        done = int(step)
        rows.append((stepper.q.copy(), stepper.qd.copy(), stepper.effort, stepper.contact.force.copy()))
    failures = stepper.audit().failures
    if failures:
        first = min(failures)
        time = stepper.time[first]
        raise SimulationError(f"rollout {first}: the simulation stopped at t = {time:g} s: {failures[first]}")
    columns = tuple(np.array(part) for part in zip(*rows, strict=True))
    judge = Judge(read_verdicts(given.verdicts), read_law(mechanism, *law), surroundings(ground), mechanism)
    return _result(stepper, judge, dt * marks, columns, np.isin(marks, output), perf_counter() - began)


def _law(mechanism: Mechanism, law: tuple[Any, Any], count: int) -> tuple[Any, Any]:
    """Constant torques, and a controller; functions are called state by state."""
    torque, controller = law
    if isinstance(torque, np.ndarray | list) and np.ndim(torque) == 2:
        constant = coordinates(mechanism, torque, "torque")
        if len(constant) != count:
            raise InputError(f"torque must have a row for each of {count} motions, got {len(constant)}")
        return constant, driven(mechanism, (None, controller))[1]
    constant, driver = driven(mechanism, law)
    if not callable(driver):
        return constant, driver

    def every(t: Array, q: Array, qd: Array) -> Array:
        return np.array([driver(float(a), b, c) for a, b, c in zip(t, q, qd, strict=True)])

    return constant, every


def _result(
    stepper: Stepper, judge: Judge, t: Array, columns: tuple[Array, ...], shown: Any, seconds: float
) -> Result:
    """All motions; columns: positions, velocities, efforts, forces (k, m, ...)."""
    mechanism, ground, audit = stepper.mechanism, judge.ground, stepper.audit()
    assert ground is not None
    q, qd, tau, force = columns
    watch = judge.watch(q.shape[1])
    watch.add(t, q, qd)
    watch.add_efforts(t, tau)
    contact = None
    if judge.sees_contact:
        seen = contact_forces(mechanism, ground, q, qd)
        parts = force[:, :, : len(seen.names)], seen.penetration[..., None], seen.velocity
        contact = np.concatenate(parts, axis=-1).swapaxes(0, 1)
    findings = judge.motion_findings(t, q.swapaxes(0, 1), contact, dust_layer(ground)) | watch.findings()
    unsolved = audit.unsolved / np.maximum(audit.steps, 1)
    worst = f"of the worst motion, whose worst residual is {audit.worst_residual.max():.2g} m/s"
    judged = checks_of(findings)
    checks = {
        "contact_law": Check.within(unsolved.max(), SHARE, "1", f"share of steps not solved {worst}"),
    } | judged
    places = {name: k for k, name in enumerate(stepper.contact.names)}
    on_points = np.zeros((*force.shape[:2], len(mechanism.contact_points), 3))
    for k, point in enumerate(mechanism.contact_points):
        if point.name in places:
            on_points[:, :, k] = force[:, :, places[point.name]]
    values = {"q": q, "qd": qd, "tau": tau, "contact_force": on_points}
    stated = {
        name: ((ROLLOUT, *KNOWN[name].dims), x[shown].swapaxes(0, 1), *KNOWN[name][1:3])
        for name, x in values.items()
    }
    good = motions_passed(findings, q.shape[1]) & (unsolved <= SHARE)
    passed = (ROLLOUT,), good, "1", "whether the motion passes all verdicts and obeys the law of contact"
    return build_result(
        "simulate_batch",
        mechanism,
        {"time": t[shown], **stated, "motion_passed": passed},
        coordinates={ROLLOUT: ((ROLLOUT,), np.arange(q.shape[1]), "1", "number of the motion")},
        settings={"duration": float(t[-1]), "method": "steps", "step": stepper.dt,
                  "ground": ground.settings(mechanism)},
        audit=checks,
        messages=[check.sentence for check in checks.values() if not check.passed],
        not_judged=judge.not_judged(findings, watch),
        seconds=seconds,
    )  # fmt: skip
