"""A prediction as a result: labeled arrays, what was asked, and an audit apart from the solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.outcome.beyond import beyond_limits, limits_check
from kinetree.motion.outcome.explain import Explanation, objective_apart
from kinetree.motion.outcome.optimality import optimality
from kinetree.motion.problem.description import described
from kinetree.motion.problem.unknowns import Curve
from kinetree.motion.solvers.interface import Status
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.result.variables import MODEL_LIMITS

if TYPE_CHECKING:
    from kinetree.motion.outcome.prediction import Prediction

CLOSED = 1e-12  # m or sines: gaps of loops that count as closed
STOPPED = {
    Status.INTERRUPTED: "interrupted",
    Status.TIME: "time limit",
    Status.ITERATIONS: "iteration limit",
    Status.SEARCHING: "still searching",
}


def prediction_result(prediction: Prediction) -> Result:
    """The motion with torques, joint reactions and splines; see :meth:`Prediction.to_result`."""
    stop: dict[str, Any] = {}
    if prediction.outcome.status in STOPPED:
        stop = {"stopped_at": prediction.duration, "stop_reason": STOPPED[prediction.outcome.status]}
    splines, labels = _splines(prediction)
    curves, more_labels = curve_variables([prediction])
    for curve in prediction.problem.setting.unknowns.curves:
        further, more = _curve_splines(prediction, curve)
        curves, more_labels = curves | further, more_labels | more
    motion = {name: getattr(prediction, name) for name in ("q", "qd", "qdd", "tau", "reaction")}
    motion |= in_joints([prediction])
    if prediction.problem.setting.closure is None:
        motion["joint_force"] = joint_force(prediction.reaction)
    else:
        motion |= _in_loops(prediction)
    return build_result(
        "predict",
        prediction.problem.mechanism,
        {"time": prediction.t, **motion, **curves, **splines},
        coordinates=labels | more_labels,
        settings=described(prediction.problem) | {"search": dict(prediction.asked)},
        audit=_audit(prediction),
        statistics=_statistics(prediction),
        messages=messages(prediction.explanation, solved=prediction.solved_at_samples),
        seconds=prediction.seconds,
        **stop,
    )


def _in_loops(prediction: Prediction) -> dict[str, Any]:
    """Reactions that may be undetermined, and what the cut joints transmit."""
    meaning = "force and moment in the joint, in body axes; missing where the loops leave it undetermined"
    cut = "force and moment that body a exerts on body b in the cut joint, in its frame on body a"
    dims = "time", "body", "component"
    found: dict[str, Any] = {
        "reaction": (dims, prediction.reaction, "{component_unit}", meaning, True),
        "cut_reaction": (
            ("time", "loop", "component"), prediction.loop_forces.loops, "{component_unit}", cut, True
        ),
    }  # fmt: skip
    if np.isfinite(prediction.reaction[..., :3]).all():
        found["joint_force"] = joint_force(prediction.reaction)
    return found


def in_joints(parts: Sequence[Prediction]) -> dict[str, Array]:
    """What acts in joints beside their drives over phases in a row, for a result; nothing if nothing does."""
    if not any(load.in_joints for part in parts for load in part.problem.acting):
        return {}
    return {"tau_passive": np.concatenate([part.tau_passive for part in parts])}


def joint_force(reaction: Array) -> tuple[Any, ...]:
    """Norms of the forces in the joints, as [Barman2020] draws them in figures 4.3 and 4.6, for a result."""
    size = np.linalg.norm(reaction[..., :3], axis=-1)
    return ("time", "body"), size, "N", "magnitude of the force in the joint of each body"


def messages(stated: Explanation, *, solved: bool) -> list[str]:
    """What holds the motion back if it is solved; else what went wrong, and what to try."""
    if solved:
        return [*stated.violated, *stated.beyond, *stated.active, *stated.advice]
    return [stated.status, *stated.violated, *stated.beyond, *stated.advice]


def all_control_points(prediction: Prediction) -> Array:
    """Control points of all joints, (n_control, n_dof); those of frozen ones are all the same.

    Joints that follow others in closed loops have no splines; theirs are fitted.
    """
    setting = prediction.problem.setting
    points = np.tile(setting.profiles.rest[setting.own], (prediction.problem.basis.n_control, 1))
    for joint in setting.column:
        if joint in setting.splines:
            points[:, joint] = prediction.control_points[:, setting.splines[joint]]
        else:
            points[:, joint] = prediction.problem.basis.fitted(prediction.s, prediction.q[:, [joint]])[:, 0]
    return points


def _splines(prediction: Prediction) -> tuple[dict[str, Any], dict[str, Any]]:
    """Control points and knots, from which a search can go on without loss."""
    points, knots = all_control_points(prediction), prediction.problem.basis.knots
    variables = {
        "control_points": (("control_point", "joint"), points, "{q_unit}", "control points of the B-splines"),
        "knots": (("knot",), knots, "1", "knots of the B-splines over time / duration"),
    }
    labels = {
        "control_point": (("control_point",), np.arange(len(points)), "1", "index of the control point"),
        "knot": (("knot",), np.arange(len(knots)), "1", "index of the knot"),
    }
    return variables, labels


def curve_variables(parts: Sequence[Prediction]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Samples of further blocks of unknowns over phases in a row; not a number where a phase has no such."""
    variables: dict[str, Any] = {}
    labels: dict[str, Any] = {}
    curves = {curve.name: curve for part in parts for curve in part.problem.setting.unknowns.curves}
    for name, curve in curves.items():
        nothing = np.full(len(curve.labels), np.nan)
        values = [part.curves.get(name, np.tile(nothing, (len(part.t), 1))) for part in parts]
        dims = "time", _component(curve)
        variables[curve.variable] = dims, np.concatenate(values), curve.unit, curve.meaning, True
        labels[dims[1]] = (dims[1],), list(curve.labels), "", f"components of {curve.variable}"
    return variables, labels


def _component(curve: Curve) -> str:
    return f"{curve.variable}_component"


def _curve_splines(prediction: Prediction, curve: Curve) -> tuple[dict[str, Any], dict[str, Any]]:
    """Control points and knots of a further block."""
    part = prediction.x[prediction.problem.setting.unknowns.slices[curve.name]]
    points, knots = curve.control_points(part), curve.basis.knots
    point, knot = f"{curve.variable}_control_point", f"{curve.variable}_knot"
    variables = {
        f"{point}s": ((point, _component(curve)), points, curve.unit, f"control points of {curve.variable}"),
        f"{knot}s": ((knot,), knots, "1", f"knots of {curve.variable} over time / duration"),
    }
    labels = {
        point: ((point,), np.arange(len(points)), "1", "index of the control point"),
        knot: ((knot,), np.arange(len(knots)), "1", "index of the knot"),
    }
    return variables, labels


def _audit(prediction: Prediction) -> dict[str, Check]:
    """Solved; bounds kept between samples; the objective and the conditions of optimality recomputed."""
    outcome, program = prediction.outcome, prediction.problem.program
    most = prediction.allowed_at_samples
    worst = prediction.violation_at_samples
    found = optimality(program, outcome)
    same = max(term.quadrature_error for term in prediction.problem.objective)
    apart = objective_apart(prediction.problem, outcome, prediction.check)
    closed = {}
    if prediction.problem.setting.closure is not None:
        closed["closure"] = Check.within(
            prediction.check.opened, CLOSED, "m or 1", "all loops are closed on a finer grid"
        )
    return {
        "solved": Check(worst, most, prediction.solved_at_samples, "1", prediction.status),
        "between_samples": Check.within(
            prediction.max_violation,
            prediction.allowed_between,
            "1",
            "bounds hold between samples; violation relative to the bound",
        ),
        "objective": Check.within(apart, same, "1", "another quadrature gives the same objective"),
        "optimality": Check.within(
            found.stationarity, most, "1", "stationarity: the gradient of the Lagrangian is zero"
        ),
        "duality_gap": Check.within(found.gap, most, "1", "complementarity: only active bounds have a price"),
        **closed,
        **limits_audit([prediction]),
    }


def limits_audit(parts: Sequence[Prediction]) -> dict[str, Check]:
    """The verdict on limits of the model that no constraint enforces, of the worst of some phases."""
    found = []
    for part in parts:
        beyond = beyond_limits(part.problem, part.t, part.q, part.qd, part.tau)
        check = limits_check(part.problem, beyond)
        found += [] if check is None else [check]
    return {MODEL_LIMITS: max(found, key=lambda check: check.value)} if found else {}


def _statistics(prediction: Prediction) -> dict[str, Any]:
    outcome = prediction.outcome
    return {
        "duration": prediction.duration,
        "objective": prediction.objective,
        "iterations": prediction.iterations,
        "max_violation": prediction.max_violation,
        "solver": outcome.solver,
        "status": prediction.word,
        "variables": prediction.problem.n_variables,
        "constraints": prediction.problem.n_constraints,
        "trials": [
            {"status": x.status.name.lower(), "objective": x.objective, "duration": x.duration}
            for x in prediction.trials
        ],
        "reached": [
            {"family": x.family, "label": x.label, "side": x.side, "bound": x.bound, "unit": x.unit,
             "share": x.share, "price": x.price}
            for x in prediction.active
        ],
    }  # fmt: skip
