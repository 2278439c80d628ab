"""What motion do these forces cause? One entry for every mechanism."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, Unpack

import numpy as np

from kinetree.algebra.arrays import Array, positive
from kinetree.algebra.memory import check_room
from kinetree.analysis.forward import forward_dynamics
from kinetree.errors import InputError, KinetreeError, SimulationError
from kinetree.integrate.integration import Steps
from kinetree.kernels.ground import CONTACT
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.result.variables import VERDICTS
from kinetree.simulation import audit
from kinetree.simulation.chart import observe
from kinetree.simulation.gimbal import Charts
from kinetree.simulation.given import ControllerGiven, TorqueGiven
from kinetree.simulation.ground import Ground
from kinetree.simulation.judge import Recorder
from kinetree.simulation.loop_audit import closure_checks, loop_errors, passage_messages
from kinetree.simulation.progress import shown_progress
from kinetree.simulation.run import Run, compile_ahead, integrate
from kinetree.simulation.scenario import Scenario
from kinetree.simulation.settings import (
    Gimbal,
    Options,
    Settings,
    SettingsKeywords,
    Trigger,
    read_settings,
    takes_settings,
)
from kinetree.simulation.step_check import check_step
from kinetree.simulation.step_record import simulate_steps
from kinetree.simulation.stiffness import accelerations
from kinetree.simulation.system import Observation, System
from kinetree.simulation.torque import check_beginning
from kinetree.simulation.warned import AccuracyWarning, VerdictWarning
from kinetree.state import Coordinates, coordinates, hint_at_degrees
from kinetree.verdicts.finding import checks_of

FEW = 50  # outputs: of fewer, the energy exchanged is looked up at the ends of steps
CUT_JOINT = "cut_joint"  # dimension of results: coordinates of cut joints


@takes_settings
def simulate(
    mechanism: Mechanism,
    q0: Coordinates,
    qd0: Coordinates | None = None,
    duration: float = 1.0,
    *,
    torque: TorqueGiven = None,
    controller: ControllerGiven = None,
    ground: Ground | None = None,
    settings: Settings | None = None,
    events: Trigger | Sequence[Trigger] = (),
    stop_at: Sequence[str] | str = (),
    gimbal: Gimbal = "switch",
    reactions: bool = False,
    energy_tolerance: float | None = None,
    progress: bool | Callable[[float], None] | None = None,
    **keywords: Unpack[SettingsKeywords],
) -> Result:
    """The motion of a mechanism from a state of rest or motion, with energies and an audit.

    ``q0`` and ``qd0`` (n_dof,); at rest unless ``qd0`` is given. ``duration`` (s). ``torque``: a vector
    (n_dof,), a table (times, torques), a :class:`PiecewisePolynomial`, a function of (t, q, qd), or a
    dictionary from names of joints, including driven cut joints, to numbers, tables (times, values), a PD of
    one coordinate or functions of (t, q, qd); ``controller``: one of :mod:`kinetree.control`, including
    prescribed joints (:class:`kinetree.control.Prescribed`), or such a function; ``torque`` may be given in
    addition for cut joints. ``ground`` is what the contact points touch; with ``contact="rigid"``
    the motion is that of a :class:`kinetree.Stepper` with steps of ``max_step``, by default 2 ms.

    ``settings`` (:class:`kinetree.simulation.Settings`), or any of its fields as an argument: ``loads``,
    ``times`` of the output, ``method``, ``rtol``, ``atol``, ``step``, ``max_step``, ``stops``,
    ``friction_speed``, ``baumgarte``, ``verdicts``. ``events`` and the names in ``stop_at`` ("touch_down",
    "lift_off", "joint_limit", or of events) are detected. ``gimbal``: joints with three Euler angles "switch"
    to another sequence near gimbal lock, which the result does not show (its angles change by less than half
    a turn from sample to sample), or an "error" is raised one degree from the lock; the latter always applies
    where springs, friction, stops or a built-in law act on the angles. ``reactions`` adds the joint reaction
    wrenches to the result.

    Raises :class:`SimulationError`, whose ``result`` is the motion so far, when the motion diverges or a
    torque function returns unusable values after the start; an exception of the function itself is raised
    with a note of the time. Ctrl-C returns the motion so far. Warns with
    :class:`AccuracyWarning` when the energy balance is off by more than ``energy_tolerance`` (relative), and
    with :class:`VerdictWarning` when limits of the mechanism are exceeded, a robot under a law falls, slips
    or strays, bodies sink into the ground, or joints do not follow. All steps are judged, not only the
    output; ``not_judged`` of the result says what was not.

    >>> import kinetree as kt
    >>> fall = kt.simulate(kt.zoo.gripper(), [-1.2, 0, 0, 0], duration=0.1)
    >>> fall.q.shape, fall.audit["energy_balance"].passed
    ((201, 4), True)
    """
    if isinstance(ground, Ground) and ground.contact == "rigid":
        refused = {"events": events, "stop_at": stop_at, "reactions": reactions}
        given, start = read_settings(simulate, settings, keywords), checked_start(mechanism, q0, qd0)
        law = torque, controller
        return simulate_steps(mechanism, start, duration, law, ground, given, refused, progress)
    scenario = Scenario.read(
        simulate,
        mechanism,
        duration,
        torque=torque,
        controller=controller,
        ground=ground,
        settings=settings,
        keywords=keywords,
        gimbal=gimbal,
        stop_at=stop_at,
    )
    options, breaks = scenario.options, scenario.breaks
    check_room((len(options.times), 6 * mechanism.n_dof))  # states, twice, accelerations, torques
    start = checked_start(mechanism, q0, qd0)
    check_beginning(scenario.law, *start)
    scenario.check_start(*start)
    tolerance = None if energy_tolerance is None else positive(energy_tolerance, "energy_tolerance")
    charts = Charts(scenario, (events,) if isinstance(events, Trigger) else tuple(events))
    compile_ahead(charts.system, options)
    y0 = charts.begin(*start)
    charts.system.close_loops(y0)
    _check_inertia(charts.system, y0[0])
    stated = check_step(charts.system, ground, options, y0[0])
    scenario.law.begin()
    recorder = Recorder(scenario.judge, breaks, is_coarse=len(options.times) < FEW)
    trace = _trace(recorder, charts) if recorder.is_needed else None
    began = perf_counter()
    with shown_progress(progress, options.duration) as tell:
        run = integrate(charts, y0, options, breaks, tell, trace)
    seconds = perf_counter() - began
    run.messages = (*stated, *run.messages)
    stated_settings = _settings(scenario) | {"method": run.method}
    result = _result(
        charts.home, ground, run, stated_settings, reactions, tolerance, options, seconds, recorder
    )
    if run.failed:
        _fail(run, result)
    _warn(result)
    return result


def _trace(recorder: Recorder, charts: Charts) -> Callable[[Steps], None]:
    """Let a recorder see the steps in the coordinates that are in use."""

    def take(steps: Steps) -> None:
        recorder.take(steps, charts.system, charts.view)

    return take


def _check_inertia(system: System, y: Array) -> None:
    """Raise where forces meet no inertia; what the integrator will ask for anyway shows if all is well."""
    if not system.is_called:
        found = accelerations(system, 0.0, y)
        if found is not None and np.isfinite(found).all():
            return
    forward_dynamics(system.mechanism.opened(), y[system.at.q], y[system.at.qd], np.zeros(system.n))


def checked_start(mechanism: Mechanism, q0: Coordinates, qd0: Coordinates | None) -> tuple[Array, Array]:
    """The initial state (n_dof,) twice, at rest unless given."""
    q = coordinates(mechanism, q0, "q0")
    if q.ndim == 1:
        hint_at_degrees(mechanism, q, "q0")
    qd = np.zeros(mechanism.n_dof) if qd0 is None else coordinates(mechanism, qd0, "qd0")
    for array, what in ((q, "q0"), (qd, "qd0")):
        if array.ndim != 1:
            raise InputError(
                f"{what} must be one state ({mechanism.n_dof},), got shape {array.shape}; "
                "use simulate_batch for many"
            )
    return q, qd


def _settings(scenario: Scenario) -> dict[str, Any]:
    law, around = scenario.law, scenario.around
    stated = scenario.options.settings() | {"law": law.name}
    if law.name == "constant":
        stated["torque"] = law.constant.tolist()
    if law.settings is not None:
        stated["controller"] = law.settings
    if around.ground is not None:
        stated["ground"] = around.ground.settings(scenario.mechanism)
    if around.stops is not None:
        stated["stops"] = {"stiffness": around.stops.stiffness, "damping": around.stops.damping}
    return stated | {"loads": around.loads.settings()}


def _result(
    system: System,
    ground: Ground | None,
    run: Run,
    settings: dict[str, Any],
    reactions: bool,
    tolerance: float | None,
    options: Options,
    seconds: float,
    recorder: Recorder,
) -> Result:
    """Everything that can be said about a run."""
    mechanism, states = system.mechanism, run.states[:, 0]
    q, qd = states[:, system.at.q], states[:, system.at.qd]
    seen, found, reaction = observe(run.pieces, reactions=reactions)
    variables: dict[str, Any] = {
        "time": run.times,
        "q": q,
        "qd": qd,
        "qdd": seen.qdd[:, 0],
        "tau": seen.tau[:, 0],
        **system.variables(states),
        **found.variables(),
        **found.of_components(),
    }
    variables |= _contact_variables(system, ground, seen)
    if reaction is not None:
        variables["reaction"] = reaction.bodies
    checks = {"energy_balance": _energy_balance(mechanism, found, tolerance, options, recorder)}
    if system.law.prescribed is not None:
        checks["prescribed"] = audit.prescribed_check(system.law.prescribed, run.times, q, options)
    if mechanism.loops:
        checks |= closure_checks(mechanism, q, qd, run.drift, options)
        variables["loop_error"] = loop_errors(mechanism, q)
        if reaction is not None:
            variables["loop_force"] = reaction.cuts
    labels = _cut_variables(system, seen, variables)
    stated = passage_messages(mechanism, run.passages, checks["energy_balance"].passed)
    wrong = [f"{name.replace('_', ' ')} {check}" for name, check in checks.items() if not check.passed]
    findings = recorder.findings(run.times, q, qd, seen.tau[:, 0])
    verdicts = checks_of(findings)
    wrong += [check.sentence for check in verdicts.values() if not check.passed]
    checks |= verdicts
    return build_result(
        "simulate",
        mechanism,
        variables,
        coordinates=labels,
        settings=settings,
        audit=checks,
        events=run.events,
        statistics=run.statistics | system.law.statistics(),
        messages=(*run.messages, *stated, *wrong),
        not_judged=recorder.not_judged(findings, options),
        stopped_at=run.stopped_at,
        stop_reason=run.reason,
        seconds=seconds,
    )


def _energy_balance(
    mechanism: Mechanism, found: Any, tolerance: float | None, options: Options, recorder: Recorder
) -> Check:
    """Whether energy is kept; beside what was exchanged at all steps if output times show too little."""
    allowed = audit.energy_tolerance(options) if tolerance is None else tolerance
    unsure = audit.energy_unsure(mechanism, options) if tolerance is None else 0.0
    check = audit.energy_check(found, allowed, unsure)
    return check if check.passed else audit.energy_check(found, allowed, unsure, recorder.exchanged())


def _cut_variables(system: System, seen: Observation, variables: dict[str, Any]) -> dict[str, Any]:
    """Add forces of drives at cut joints, if there are any; the names of their coordinates."""
    from kinetree.simulation.loop_audit import cut_joint_component

    joints = cut_joint_component(system) if seen.cut_tau.size else None
    if joints is None or not joints[1].has_drives:
        return {}
    long_name = "torque or force of drives at cut joints (N m, N)"
    variables["cut_tau"] = (("time", CUT_JOINT), seen.cut_tau, "N m or N", long_name)
    return {CUT_JOINT: ((CUT_JOINT,), list(joints[1].names), "", "coordinate of a cut joint")}


def _contact_variables(system: System, ground: Ground | None, seen: Observation) -> dict[str, Any]:
    """Forces, penetration and slip of the mechanism's contact points; unused ones have none."""
    if ground is None:
        return {}
    names = [point.name for point in system.mechanism.contact_points]
    contact = np.zeros((len(seen.contact), len(names), CONTACT))
    contact[:, [names.index(name) for name in system.contact_names]] = seen.contact[:, 0]
    touching = np.asarray(contact[..., :3].any(axis=-1))
    _, forward, side = ground.frame(system.mechanism)
    slip = contact[..., 5, None] * forward + contact[..., 6, None] * side
    bodies = system.mechanism.body_names
    on_body = np.zeros((len(contact), len(bodies), 3))
    for k, point in enumerate(system.mechanism.contact_points):
        on_body[:, bodies.index(point.body)] += contact[:, k, :3]
    return {
        "contact_force": contact[..., :3],
        "ground_force": on_body,
        "penetration": contact[..., 3],
        "touching": touching,
        "slip_velocity": np.where(touching[..., None], slip, np.nan),
    }


def _fail(run: Run, result: Result) -> None:
    """Raise with what was computed."""
    if run.problem is not None and not isinstance(run.problem, KinetreeError):
        run.problem.add_note(f"raised by a function of the simulation at t = {run.stopped_at:g} s")
        raise run.problem
    raise SimulationError(str(run.reason), result) from run.problem


def _warn(result: Result) -> None:
    for name, check in result.audit.items():
        if not check.passed and name in VERDICTS:
            warnings.warn(check.sentence, VerdictWarning, stacklevel=3)
        elif not check.passed:
            words = f"{name.replace('_', ' ')} {check}; use a smaller rtol or step"
            warnings.warn(words, AccuracyWarning, stacklevel=3)
