"""A predicted motion put to the test: its torques drive a simulation, as [Xiang2009] did with ADAMS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.errors import InputError, KinetreeError, SimulationError, shown
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.sampling import all_breaks
from kinetree.result.records import Check
from kinetree.result.result import Result, arrays_of
from kinetree.simulation.simulate import simulate
from kinetree.state import Wrench
from kinetree.tasks.sampled import SampledMotion

NODES = 12  # of the polynomial that stands for the torques in one segment
POINTS, FEW = 201, 11  # at which the two motions are compared, as a whole and in each piece
SAME_MOTION = 1e-4  # rad or m: what counts as the same


@dataclass(frozen=True, eq=False)
class Deviation:
    """Deviation of a simulation from the prediction: at times ``t``, simulated minus predicted q and qd."""

    t: Array
    q: Array
    qd: Array
    joints: tuple[str, ...]
    simulation: Result
    pieces: int = 1  # each of which began as predicted
    complete: bool = True  # False if the simulation broke off before the end

    @property
    def per_joint(self) -> dict[str, float]:
        """The largest deviation of each joint (rad, m)."""
        return dict(zip(self.joints, np.abs(self.q).max(axis=0).tolist(), strict=True))

    @property
    def largest(self) -> float:
        """The largest of all (rad, m)."""
        return float(np.abs(self.q).max(initial=0.0))

    def check(self, tolerance: float = SAME_MOTION) -> Check:
        """A line for an audit; a simulation that broke off never passes."""
        sentence = "a simulation under the predicted torques follows the predicted motion"
        if self.pieces > 1:
            sentence += f" in {self.pieces} pieces, each started from the prediction, with deviations summed"
        if not self.complete:
            sentence += f"; it stopped at {float(self.t[-1]):.3g} s"
        found = Check.within(self.largest, tolerance, "rad or m", sentence)
        return replace(found, passed=found.passed and self.complete)

    def __str__(self) -> str:
        lines = [f"{name}: at most {apart:.1e}" for name, apart in self.per_joint.items()]
        if self.pieces > 1:
            lines.append(f"in {self.pieces} pieces, each started from the prediction, with deviations summed")
        return "\n".join(
            ["deviation of the simulation under the predicted torques from the predicted position", *lines]
        )


def check_by_simulation(prediction: Prediction, rtol: float = 1e-9) -> Deviation:
    """Simulate the mechanism under the predicted torques and the problem's loads, from the predicted start.

    Nothing is fed back: the motions agree only if the torques belong to the motion. An unstable motion
    amplifies the error ``rtol`` of the integrator; `check_by_pieces` can tell it from a wrong one.

    >>> import kinetree as kt
    >>> ends = [kt.terms.Boundary("start", [0, 0], 0.0), kt.terms.Boundary("end", [1, 1], 0.0)]
    >>> objective = kt.terms.SquaredTorque()
    >>> problem = kt.Problem(kt.zoo.two_link(), objective=objective, constraints=ends, duration=1.0)
    >>> check_by_simulation(kt.predict(problem)).largest < 1e-7
    True
    """
    _check_kind(prediction)
    return _simulated(prediction, torque_table(prediction), 0.0, prediction.duration, POINTS, rtol)


def check_by_pieces(prediction: Prediction, rtol: float = 1e-9) -> Deviation:
    """The same, segment by segment: each begins as predicted, so that no motion amplifies its errors.

    The deviations at the ends of segments are added up, velocities with the time that is left: wrong torques
    stray as far as they would in a simulation of the whole, however short the segments are.

    >>> import kinetree as kt
    >>> ends = [kt.terms.Boundary("start", [0, 0], 0.0), kt.terms.Boundary("end", [1, 1], 0.0)]
    >>> problem = kt.Problem(kt.zoo.two_link(), objective=kt.terms.Jerk(), constraints=ends, duration=1.0)
    >>> found = check_by_pieces(kt.predict(problem))
    >>> found.pieces, found.largest < 1e-8
    (20, True)
    """
    _check_kind(prediction)
    breaks, pieces = _polynomials(prediction)
    found: list[Deviation] = []
    for begin, end, powers in zip(breaks[:-1], breaks[1:], pieces, strict=True):
        table = PiecewisePolynomial(np.array([0.0, end - begin]), powers[None])
        piece = _simulated(prediction, table, float(begin), float(end), FEW, rtol)
        found.append(_carried_on(piece, found[-1] if found else None, float(begin)))
        if not piece.complete:
            break
    t, q, qd = (np.concatenate(x) for x in zip(*((d.t, d.q, d.qd) for d in found), strict=True))
    last = found[-1]
    return Deviation(t, q, qd, last.joints, last.simulation, len(pieces), last.complete)


def came_about(prediction: Prediction) -> Check:
    """A line for an audit: the motion comes about under its torques, in pieces if it is unstable as a whole.

    >>> import kinetree as kt
    >>> ends = [kt.terms.Boundary("start", [0, 0], 0.0), kt.terms.Boundary("end", [1, 1], 0.0)]
    >>> problem = kt.Problem(kt.zoo.two_link(), objective=kt.terms.Jerk(), constraints=ends, duration=1.0)
    >>> came_about(kt.predict(problem)).passed
    True
    """
    _check_kind(prediction)
    try:
        whole = check_by_simulation(prediction).check()
        if whole.passed:
            return whole
        pieces = check_by_pieces(prediction).check()
    except KinetreeError as error:
        sentence = f"a simulation under the predicted torques is not possible: {error}"
        return Check.within(np.nan, SAME_MOTION, "rad or m", sentence)
    if not pieces.passed:
        return whole
    strays = (
        f"; in one piece it deviates by {whole.value:.1g}: the motion is unstable and amplifies any error"
    )
    return replace(pieces, sentence=pieces.sentence + strays)


def _carried_on(piece: Deviation, before: Deviation | None, begin: float) -> Deviation:
    """The deviation with that at the end of the piece before added, as it goes on at constant velocity."""
    if before is None:
        return piece
    since = (piece.t - begin)[:, None]
    return replace(piece, q=piece.q + before.q[-1] + since * before.qd[-1], qd=piece.qd + before.qd[-1])


def _simulated(
    prediction: Prediction, table: PiecewisePolynomial, begin: float, end: float, points: int, rtol: float
) -> Deviation:
    """From the predicted state at ``begin``, under torques whose time begins there."""
    problem = prediction.problem
    varying = callable(problem.arguments["loads"]) or bool(problem.acting)
    torque: Any = _with_moving_loads(prediction, table, begin) if varying else table
    times = np.linspace(0.0, end - begin, points)
    q, qd, _ = prediction.at(np.minimum(begin + times, end))
    complete = True
    try:
        run = simulate(
            problem.mechanism, q[0], qd[0], end - begin, torque=torque, times=times,
            rtol=number(rtol, "rtol"), progress=False, verdicts=False,
            loads=() if varying else tuple(problem.loads(np.zeros(1))),
        )  # fmt: skip
    except SimulationError as error:
        if error.result is None:
            raise
        run, complete = error.result, False  # it diverged: compare as far as it goes
        q, qd, _ = prediction.at(begin + arrays_of(run)[0]["time"].values)
    labels, found = arrays_of(run)
    apart, names = (found["q"].values - q, found["qd"].values - qd), problem.mechanism.joint_names
    return Deviation(begin + labels["time"].values, *apart, names, run, complete=complete)


def _check_kind(prediction: object) -> None:
    if not isinstance(prediction, Prediction):
        raise InputError(f"a check by simulation needs a prediction, got {shown(prediction)}")


def torque_table(prediction: Prediction) -> PiecewisePolynomial:
    """The predicted torques over time, a polynomial through Chebyshev points in each segment.

    Between segments stands a jump of no height, so that an integrator stops where derivatives jump.
    """
    breaks, pieces = _polynomials(prediction)
    jumps = np.zeros_like(pieces[1:])
    jumps[:, 0] = pieces[1:, 0]
    every = np.empty((2 * len(pieces) - 1, *pieces.shape[1:]))
    every[::2], every[1::2] = pieces, jumps
    return PiecewisePolynomial(np.concatenate([breaks[:1], np.repeat(breaks[1:-1], 2), breaks[-1:]]), every)


def _polynomials(prediction: Prediction) -> tuple[Array, Array]:
    """Where segments begin and end (s), and the torques in each as powers of the time since it began."""
    breaks, T = all_breaks(prediction.problem.setting.bases) * prediction.duration, prediction.duration
    x = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)[::-1]
    middle, half = (breaks[1:] + breaks[:-1]) / 2.0, np.diff(breaks) / 2.0
    t = (middle[:, None] + half[:, None] * x).ravel()
    tau = _torques(prediction, t / T).reshape(len(middle), NODES, -1)
    powers = np.linalg.inv(np.vander((x + 1.0) / 2.0, increasing=True))
    scaled = np.einsum("ij,sjn->sin", powers, tau)
    return breaks, scaled / (2.0 * half)[:, None, None] ** np.arange(NODES)[:, None]


def _torques(prediction: Prediction, s: Array) -> Array:
    """Exact inverse dynamics of the splines; zero at joints without drives, which the motion balances.

    What acts in joints beside drives is part of it.
    """
    motion = SampledMotion(prediction, s)
    drives = motion.active.copy()
    drives[:, prediction.problem.setting.passive] = 0.0
    return drives + motion.passive


def _with_moving_loads(
    prediction: Prediction, table: PiecewisePolynomial, begin: float
) -> Callable[[float, Array, Array], Array]:
    """Torques of the drives and of loads that vary, which act where the simulated mechanism is."""
    problem, T = prediction.problem, prediction.duration

    def torque(t: float, q: Array, qd: Array) -> Array:
        s = np.array([min(max((begin + t) / T, 0.0), 1.0)])
        loads = [_first(load) for load in problem.loads_of(s, prediction.x)]
        still = np.zeros_like(q)
        tree = problem.mechanism.opened()
        pushed = inverse_dynamics(tree, q, still, still, loads)
        return table.at(t) - pushed + inverse_dynamics(tree, q, still, still)

    return torque


def _first(load: Wrench) -> Wrench:
    """The wrench of one sample."""
    force, moment = (np.atleast_2d(np.asarray(x))[0] for x in (load.force, load.moment))
    return replace(load, force=force, moment=moment)
