"""What drives the joints of a study: torques and controllers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kinetree.analysis.inverse import inverse_dynamics
from kinetree.control.actuator import FirstOrderActuator
from kinetree.control.controller import Controller
from kinetree.control.feedback import PD, PID
from kinetree.control.gains import LQR, gains
from kinetree.control.model_actuators import ModelActuators
from kinetree.control.model_based import ComputedTorque, Feedforward, GravityCompensation
from kinetree.control.model_error import perturb
from kinetree.control.structure import has_floating_base
from kinetree.control.torque_table import TorqueTable
from kinetree.control.walking import WalkingLaw
from kinetree.errors import InputError, listed, unknown_name
from kinetree.formats.held_inside import file_of
from kinetree.model.mechanism import Mechanism
from kinetree.study.assignment import Assignment
from kinetree.study.kinds import CONTROLLERS
from kinetree.study.mechanism import joint_values
from kinetree.study.tables import ControllerTable
from kinetree.trajectories.base import Trajectory

POSES = 101  # of a trajectory at which inertias are looked at
TABLE_SPACING = 1e-3  # s between the rows of torques that are fed forward
Torques = Callable[[Any], Any]  # torques of the motion under an exact law


def torque(work: Assignment) -> dict[str, Any]:
    """The argument ``torque`` or ``controller`` of :func:`kinetree.simulate`; nothing without a table."""
    table = work.tables.torque
    if table is None:
        return {}
    given = [key for key, value in table if value is not None]
    if len(given) != 1:
        raise InputError(
            f"{work.origin.where(('torque',))}: [torque] give one of constant, file, function and actuators; "
            f"got {listed(given)}"
        )
    with work.origin.blamed("torque"):
        if table.constant is not None:
            return {"torque": joint_values(work.mechanism, table.constant, None, "constant")}
        if table.file is not None:
            return {"controller": _torque_file(work, table.file)}
        if table.actuators is not None:
            law = ModelActuators(table.actuators)
            law.torque(work.mechanism, 0.0, *np.zeros((2, work.mechanism.n_dof)))
            return {"controller": law}
        return {"torque": work.code.function(table.function, "torque", "t, q, qd")}


def _torque_file(work: Assignment, file: str) -> TorqueTable:
    table = TorqueTable.read(file_of(work.study.folder, file))
    table.law_parts(work.mechanism)
    return table


def controller(work: Assignment, motion: Trajectory | None, exact_torques: Torques) -> Callable[[], Any]:
    """The controller that follows the motion, checked now and made when it is called for.

    Feedforward on a floating base needs torques in advance: ``exact_torques(law)`` simulates an exact law and
    returns (times, torques).
    """
    table: ControllerTable = work.tables.controller
    with work.origin.blamed("controller"):
        _check_keys(table)
        if table.kind == "walking":
            walking = walking_law(work)
            walking.balance(work.mechanism)
            if work.tables.ground is None:
                raise InputError("a controller of kind 'walking' needs a [ground] to walk on")
            return lambda: walking
        if table.kind == "function":
            function = work.code.function(str(table.function), "controller.function", "t, q, qd")
            law = _behind_actuators(work, table, function)
            return lambda: law
        if table.kind == "lqr":
            optimal = _behind_actuators(work, table, _optimal(work, table, motion))
            return lambda: optimal
        table = _with_gains(work, table, motion)
        made = _made(work, table, motion)
        made.torque(work.mechanism, 0.0, *np.zeros((2, work.mechanism.n_dof)))
        driven = _behind_actuators(work, table, made)
    if table.kind == "feedforward" and isinstance(made, ComputedTorque):
        return lambda: _behind_actuators(work, table, _fed_forward(table, motion, exact_torques(made)))
    return lambda: driven


def is_walking(work: Assignment) -> bool:
    """Whether the controller of a study is a walking law."""
    return work.tables.controller is not None and work.tables.controller.kind == "walking"


def walking_law(work: Assignment) -> WalkingLaw:
    """The walking law of a study."""
    table: ControllerTable = work.tables.controller
    keys = (*CONTROLLERS["walking"].keys,)
    given = {key: getattr(table, key) for key in keys if key != "model_error"}
    options = {key: value for key, value in given.items() if value is not None}
    if "noise" in options:
        options["noise"] = tuple(options["noise"])
    return WalkingLaw(**options, model=_model(work, table))


def _behind_actuators(work: Assignment, table: ControllerTable, law: Any) -> Any:
    """The law, or the actuators that follow it with a lag if there is one."""
    if table.time_constant is None:
        if table.torque_constant is not None:
            raise InputError("a torque_constant needs a time_constant: without a lag it has no effect")
        return law
    constant = 1.0 if table.torque_constant is None else table.torque_constant
    actuator = FirstOrderActuator(law, table.time_constant, constant)
    actuator.drive_parts(work.mechanism)
    return actuator


def _check_keys(table: ControllerTable) -> None:
    usual = {key: field.default for key, field in ControllerTable.model_fields.items()}
    given = [key for key, value in table if key != "kind" and value != usual[key]]
    CONTROLLERS[table.kind].check("controller", given)


def _made(work: Assignment, table: ControllerTable, motion: Trajectory | None) -> Controller:
    """The controller; for feedforward on a floating base the law that finds its torques."""
    options, gains = _options(table), _gains(table)
    model = _model(work, table)
    if table.kind == "gravity_compensation":
        return GravityCompensation(motion, model=model, **gains, **options)
    if motion is None:
        raise InputError(f"a controller of kind '{table.kind}' needs a [trajectory] to follow")
    if table.kind == "pd":
        return PD(motion, **gains, **options)
    if table.kind == "pid":
        return PID(motion, **gains, **options)
    if table.kind == "computed_torque":
        return ComputedTorque(motion, **gains, model=model, knows_ground=table.knows_ground, **options)
    if table.torques is not None:
        return _fed_forward(table, motion, _torque_file(work, table.torques))
    if work.mechanism.loops:
        return _fed_forward(table, motion, _needed(work.mechanism if model is None else model, motion))
    if has_floating_base(work.mechanism):
        return ComputedTorque(motion, **gains, model=model)
    return Feedforward(motion, model=model, **gains, **options)


def _with_gains(work: Assignment, table: ControllerTable, motion: Trajectory | None) -> ControllerTable:
    """The table with kp and kd where a bandwidth is given."""
    if table.bandwidth is None:
        if table.damping is not None:
            raise InputError("'damping' belongs to a 'bandwidth', which is not given")
        return table
    both = [key for key in ("kp", "kd") if getattr(table, key) is not None]
    if both:
        raise InputError(
            f"give either 'bandwidth' and 'damping', or 'kp' and 'kd'; got bandwidth and {both[0]}"
        )
    given = table.bandwidth, 1.0 if table.damping is None else table.damping
    if table.kind == "computed_torque":
        kp, kd = gains(*given)
    else:
        model = _model(work, table)
        mechanism = work.mechanism if model is None else model
        poses = None
        if motion is not None:
            poses = motion.at(np.linspace(0.0, motion.duration, POSES)).q
        kp, kd = gains(*given, mechanism, poses)
    plain = [x.tolist() if isinstance(x, np.ndarray) else x for x in (kp, kd)]
    return table.model_copy(update={"kp": plain[0], "kd": plain[1], "bandwidth": None, "damping": None})


def _optimal(work: Assignment, table: ControllerTable, motion: Trajectory | None) -> LQR:
    """Optimal feedback about the motion; costs may be given by name of joint."""
    if motion is None:
        raise InputError("a controller of kind 'lqr' needs a [trajectory] to follow")
    model = _model(work, table)
    mechanism = work.mechanism if model is None else model
    costs: dict[str, Any] = {}
    for key in ("q_cost", "qd_cost", "tau_cost"):
        value = getattr(table, key)
        if value is not None:
            costs[key] = _cost(work.mechanism, value, key)
    return LQR(mechanism, motion, limits=table.limits, **costs)


def _cost(mechanism: Mechanism, value: Any, key: str) -> Any:
    """A cost as LQR takes it: by joint, of torques only for those that are driven; unnamed joints have 1."""
    if not isinstance(value, dict):
        return value
    driven = mechanism.actuated
    names = [name for name, x in zip(mechanism.joint_names, driven, strict=True) if x or key != "tau_cost"]
    for name in value:
        if name not in names:
            raise InputError(unknown_name("joint", name, names).after(f"{key}: "))
    return [value.get(name, 1.0) for name in names]


def _needed(mechanism: Mechanism, motion: Trajectory) -> TorqueTable:
    """The torques that a motion of a mechanism with closed loops needs, a cubic spline through rows."""
    times = np.linspace(0.0, motion.duration, round(motion.duration / TABLE_SPACING) + 1)
    state = motion.at(times)
    return TorqueTable(times, inverse_dynamics(mechanism, state.q, state.qd, state.qdd), "cubic")


def _fed_forward(table: ControllerTable, motion: Any, torques: Any) -> Controller:
    return Feedforward(motion, torques=torques, **_gains(table), **_options(table))


def _options(table: ControllerTable) -> dict[str, Any]:
    return {"limits": table.limits, "period": table.period}


def _gains(table: ControllerTable) -> dict[str, Any]:
    return {key: getattr(table, key) for key in ("kp", "kd", "ki") if getattr(table, key) is not None}


def _model(work: Assignment, table: ControllerTable) -> Any:
    """The mechanism that the controller wrongly believes in, if it does."""
    return None if table.model_error is None else perturb(work.mechanism, **dict(table.model_error))
