"""Simulations with rigid contact: steps of a `Stepper`, recorded as a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, SimulationError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.result.variables import ALL
from kinetree.simulation.compiled.step_memory import SOLVED
from kinetree.simulation.ground import Ground
from kinetree.simulation.progress import shown_progress
from kinetree.simulation.settings import AUTO, Settings, output_times, positive
from kinetree.simulation.stepper import PRESET, Stepper
from kinetree.state import Coordinates, coordinates

STEP = 0.002  # s, unless ``max_step`` is given
WHOLE = 1e-9  # steps by which a time of the output may be off
GAINED = 1e-6  # share of the energy scale that contacts may add in a step


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
    """The motion by steps; ``law`` is torque and controller, ``refused`` are arguments that steps lack."""
    T = positive(duration, "duration", "s")
    _refuse(given, refused)
    torque, controller = _law(mechanism, law)
    dt = T / np.ceil(T / (STEP if given.max_step is None else positive(given.max_step, "max_step", "s")))
    stepper = Stepper(mechanism, dt, ground=ground, controller=controller)
    stepper.reset(*start)
    at = _indices(output_times(given.times, T), dt)
    began, rows = perf_counter(), []
    with shown_progress(progress, T) as tell:
        for k, step in enumerate(at):
            if step > 0:
                stepper.step(torque, times=int(step - (at[k - 1] if k else 0)))
            if stepper.audit().cause[0]:
                break
            rows.append(_row(stepper))
            if tell is not None:
                tell(step * dt)
    result = _result(stepper, at[: len(rows)] * dt, rows, ground, perf_counter() - began)
    if len(rows) < len(at):
        cause = stepper.audit().failures[0]
        raise SimulationError(f"the simulation stopped at t = {stepper.time:g} s: {cause}", result)
    return result


def _row(stepper: Stepper) -> tuple[Array, ...]:
    """What is kept of a state."""
    contact = stepper.contact
    return stepper.q.copy(), stepper.qd.copy(), stepper.effort, contact.force.copy(), contact.gap.copy()


def _refuse(given: Settings, refused: Mapping[str, Any]) -> None:
    """Raise where something is asked for that steps do not do."""
    wrong = [name for name, value in refused.items() if value]
    wrong += ["loads"] if given.loads is not None and given.loads != [] else []
    wrong += [name for name in ("stops", "baumgarte", "step") if getattr(given, name) is not None]
    if given.method != AUTO:
        wrong.append("method")
    if wrong:
        raise InputError(
            f"simulations with rigid contact take steps and have no {listed(wrong)}; limits of joints act by "
            "themselves, max_step is the length of a step; or use a ground with contact='soil'"
        )


def _law(mechanism: Mechanism, law: tuple[Any, Any]) -> tuple[Any, Any]:
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


def _indices(times: Array, dt: float) -> Array:
    """The steps after which the output times come, the nearest ones."""
    steps = np.round(times / dt).astype(np.int64)
    found: Array = np.unique(steps)
    return found


def _result(stepper: Stepper, times: Array, rows: list[Any], ground: Ground, seconds: float) -> Result:
    """The result of recorded steps."""
    mechanism, audit = stepper.mechanism, stepper.audit()
    q, qd, tau, force, gap = (np.array(column) for column in zip(*rows, strict=True))
    share = audit.unsolved[0] / max(audit.steps[0], 1)
    worst = f"the worst residual of {audit.steps[0]} steps is {audit.worst_residual[0]:.2g} m/s"
    scale = max(mechanism.mass * 9.81, 1.0)
    inside = max(-float(gap[0].min(initial=0.0)), 0.0)
    pushed = 0.5 * mechanism.mass * PRESET["push"] ** 2 if inside > 0.0 else 0.0
    start = f", {inside:.2g} m inside the ground at the start, from where they are pushed" if pushed else ""
    checks = {
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
    return build_result(
        "simulate",
        mechanism,
        {"time": times, "q": q, "qd": qd, "tau": tau}
        | _contact(mechanism, stepper.contact.names, force, gap),
        settings={"duration": float(times[-1]), "method": "steps", "step": stepper.dt,
                  "ground": ground.settings(mechanism)},
        audit=checks,
        statistics={"steps": int(audit.steps[0]), "unsolved": int(audit.unsolved[0])},
        messages=[f"{name.replace('_', ' ')} {check}" for name, check in checks.items() if not check.passed],
        not_judged={ALL: "simulations with rigid contact are not judged by verdicts"},
        seconds=seconds,
    )  # fmt: skip


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
