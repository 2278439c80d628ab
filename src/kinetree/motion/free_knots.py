"""Knots among the unknowns: control points and knots of the joint profiles are found together.

A spline with simple knots is a row of polynomials that go on with all derivatives but the last. So each
segment becomes a phase with a duration of its own, and the junctions ask for what a knot leaves continuous.
Unknowns are then the control points of all segments and the lengths of the segments, which are the knots;
first and second derivatives by both are exact ([Xiang2009], eq. 42; [Barman2020], section 4.1.2, x = [P, s]).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.sensitivity import inverse_dynamics_derivatives
from kinetree.errors import InputError, must_be, unknown_name
from kinetree.model.mechanism import closed_loops
from kinetree.motion.outcome.phased_prediction import PhasedPrediction
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.phased import predict_phases
from kinetree.motion.predict import predict
from kinetree.motion.problem.instants import given_samples
from kinetree.motion.problem.phases import Junction, PhasedProblem
from kinetree.motion.problem.problem import LONGEST, SHORTEST, Problem
from kinetree.motion.problem.profile import RATES
from kinetree.motion.terms.boundary import NAMES, Periodic, Symmetric
from kinetree.motion.terms.contract import Constraint

UPTO = tuple(NAMES)[1:]  # what may go on at a knot
PLACES = ("start", "end", "samples", "points")
WIDEST = 3.0
DENSE = 40  # samples of a segment where pieces and splines are made of each other


def free_knots(
    prediction: Prediction,
    *,
    upto: str = "acceleration",
    widest: float = WIDEST,
    **arguments: Any,
) -> Prediction:
    """The best motion over control points and knots together, beginning with an earlier prediction.

    As many segments as before; at the knots motions go on ``upto`` the "acceleration" (cubic splines: simple
    knots) or the "velocity" (knots at which the acceleration may jump). A segment may become ``widest`` times
    longer or shorter than it is at equal lengths. The duration must be free. Constraints hold at as many
    samples of each segment as before, which move with the knots. Other arguments are those of
    `predict_phases`. The answer has the knots in ``problem.basis.breaks``; it is the earlier prediction where
    no better knots are found, as the objective has many minima over the knots.

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    >>> problem = kt.Problem(
    ...     kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()], segments=8
    ... )
    >>> equal = kt.predict(problem)
    >>> free = free_knots(equal)
    >>> round(equal.duration, 4), round(free.duration, 4)
    (0.3998, 0.3962)
    """
    check_free_knots(prediction.problem, upto, widest)
    problem = prediction.problem.changed(samples=given_samples(prediction.problem.arguments["samples"]))
    phases = PhasedProblem(_pieces(problem, prediction.duration, widest), Junction(upto))
    found = predict_phases(phases, start=_restricted(phases, prediction), **{**arguments, "between": None})
    best = _one_spline(problem, found, upto, arguments)
    if not best.solved_at_samples or best.objective >= prediction.objective:
        return prediction
    return replace(best, seconds=best.seconds + found.seconds + prediction.seconds)


def torques_by_knots(prediction: Prediction, s: Array | None = None) -> Array:
    """Derivatives of torques by the times of the inner knots, (m, n_dof, segments - 1), in N m/s or N/s.

    d tau / d t_i = sum_r d tau / d q^(r) . d q^(r) / d t_i at fixed t and points ([Xiang2009], eq. 42).
    At instants ``s`` (m,) of t / T, by default the samples of the problem.

    >>> import kinetree as kt
    >>> from kinetree.motion.terms import Boundary, Time, TorqueLimits
    >>> rest = [Boundary("start", [0.0, -2.0], 0.0), Boundary("end", [1.0, -1.0], 0.0)]
    >>> problem = kt.Problem(
    ...     kt.zoo.two_link(), objective=Time(), constraints=[*rest, TorqueLimits()], segments=4
    ... )
    >>> torques_by_knots(kt.predict(problem)).shape
    (10, 2, 3)
    """
    problem, T = prediction.problem, prediction.duration
    setting, unknowns = problem.setting, problem.setting.unknowns
    if problem.mechanism.loops:
        raise InputError(f"{closed_loops(problem.mechanism)}: derivatives by knots are for open mechanisms")
    at = setting.samples if s is None else np.asarray(s, dtype=np.float64)
    first, by_knot = problem.basis.knot_slopes(at, RATES - 1)  # (m, 3, p + 1, k)
    points = unknowns.control_points(prediction.x)[first[:, None] + np.arange(problem.basis.degree + 1)]
    powers = T ** -(np.arange(RATES) + 1.0)  # of the rates, and from t / T to t
    moved = np.einsum("mrwk,mwn,r->mrnk", by_knot, points, powers)
    full = np.zeros((len(at), RATES, problem.mechanism.n_dof, moved.shape[3]))
    for joint, column in setting.column.items():
        full[:, :, joint] = moved[:, :, column]
    motion = unknowns.at(at).motion(prediction.x)
    q, qd, qdd = (rate[:, setting.own] for rate in (motion.q, motion.qd, motion.qdd))
    slopes = inverse_dynamics_derivatives(problem.mechanism, q, qd, qdd, problem.loads_of(at, prediction.x))
    by_rate = np.stack([slopes.dtau_dq, slopes.dtau_dqd, slopes.dtau_dqdd], axis=1)
    return np.asarray(np.einsum("mrij,mrjk->mik", by_rate, full))


def check_free_knots(problem: Problem, upto: str = UPTO[-1], widest: float = WIDEST) -> None:
    """Refuse what free knots cannot be asked for, before any search."""
    degree, setting = problem.basis.degree, problem.setting
    if upto not in UPTO:
        raise InputError(unknown_name("quantity", upto, UPTO).after("knots: "))
    if degree <= UPTO.index(upto) + 1:
        raise InputError(
            f"splines of degree {degree} cannot be continuous up to the {upto}: the degree must be higher"
        )
    if number(widest, "widest") <= 1.0:
        raise InputError(must_be("widest", "more than 1", widest, ""))
    if problem.mechanism.loops:
        raise InputError(f"{closed_loops(problem.mechanism)}: knots are free in open mechanisms only")
    low, high = setting.duration
    if low == high:
        raise InputError(f"free knots need a free duration; it is fixed to {low:g} s")
    if problem.basis.segments < 2:
        raise InputError("a motion of one segment has no knots to move")
    if setting.unknowns.curves:
        raise InputError(
            f"free knots work without unknown forces, got '{setting.unknowns.curves[0].name}' too"
        )
    if callable(problem.arguments["loads"]):
        raise InputError("free knots need loads that do not vary with time")
    if not isinstance(given_samples(problem.arguments["samples"]), int):
        raise InputError("free knots need a number of samples per segment, which move with the knots")
    for term in problem.constraints:
        if isinstance(term, (Periodic, Symmetric)) or _place(term) not in PLACES:
            raise InputError(
                f"free knots: {type(term).__name__} refers to certain instants; only conditions at the "
                f"start, at the end and at all samples are allowed"
            )


def _place(term: Constraint) -> str:
    """Where a term is enforced: "start", "end", "samples" or "points"; else something else."""
    at = getattr(term, "at", "samples")
    return at if isinstance(at, str) else "certain instants"


def _pieces(problem: Problem, duration: float, widest: float) -> list[Problem]:
    """One problem for each segment, with the conditions at the start in the first, at the end in the last."""
    segments = problem.basis.segments
    equal = duration / segments
    lengths = max(SHORTEST / segments, equal / widest), min(LONGEST, widest * equal)
    found = []
    for k in range(segments):
        here = {"start": k == 0, "end": k == segments - 1}
        kept = [term for term in problem.constraints if here.get(_place(term), True)]
        found.append(problem.changed(constraints=kept, duration=lengths, breaks=None, segments=1))
    return found


def _restricted(phases: PhasedProblem, prediction: Prediction) -> Array:
    """Unknowns of the pieces that together are the motion of a prediction."""
    breaks, basis = prediction.problem.basis.breaks, prediction.problem.basis
    points = prediction.problem.setting.unknowns.control_points(prediction.x)
    found = []
    for k, problem in enumerate(phases.problems):
        own, a, b = problem.basis, breaks[k], breaks[k + 1]
        s = np.linspace(0.0, 1.0, DENSE)
        inside = np.clip(a + (b - a) * s, 0.0, np.nextafter(b, 0.0) if b < 1.0 else 1.0)
        values = basis.matrix(inside) @ points
        x = problem.setting.unknowns.joined(own.fitted(s, values), (b - a) * prediction.duration)
        found.append(problem.program.reduced(x))
    return np.concatenate(found)


def _one_spline(
    problem: Problem, found: PhasedPrediction, upto: str, arguments: dict[str, Any]
) -> Prediction:
    """The pieces as one spline over the knots that were found, solved there once more and verified."""
    degree, breaks = problem.basis.degree, np.array(found.boundaries) / found.duration
    repeated = np.repeat(breaks[1:-1], degree - UPTO.index(upto) - 1)
    mesh = problem.changed(breaks=np.concatenate([[0.0], repeated, [1.0]]))
    s, q = [], []
    for k, part in enumerate(found.parts):
        own = np.linspace(0.0, 1.0, DENSE, endpoint=k == len(found.parts) - 1)
        setting = part.problem.setting
        s.append(breaks[k] + (breaks[k + 1] - breaks[k]) * own)
        q.append(setting.unknowns.at(own).motion(part.x).q[:, setting.own])
    start = found.duration * np.concatenate(s), np.concatenate(q)
    return predict(mesh, start=start, **arguments)
