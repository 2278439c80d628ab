"""A predicted motion simulated: the free mechanism under the predicted torques and ground reactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.rooting import change_root
from kinetree.errors import SimulationError
from kinetree.model.mechanism import Mechanism
from kinetree.motion.outcome.prediction import Prediction
from kinetree.motion.problem.sampling import all_breaks
from kinetree.result.records import Check
from kinetree.result.result import arrays_of
from kinetree.state import Wrench

SAME_MOTION = 1e-6  # rad or m: what a simulation of a piece may stray
LONGEST_PIECE = 1e-2  # s: under the ground's push feet leave any motion at some 700 per second
GIVEN_UP = 1.0  # rad or m: it diverged
NODES = 8  # of polynomials that stand for torques and forces in one piece
Forces = Callable[[Array], tuple[dict[str, Array], Sequence[Wrench]]]


def simulated_in_pieces(prediction: Prediction, free: Mechanism, forces: Forces, who: str) -> Check:
    """The free mechanism under the predicted torques and pushes, in pieces that each begin as predicted.

    ``free`` is that of the prediction, rooted elsewhere; ``forces`` gives torques (m,) by name of the joint
    and wrenches on bodies of ``free`` with forces (m, 3) at instants s (m,).
    """
    T = prediction.duration
    breaks = all_breaks(prediction.problem.setting.bases) * T
    counts = np.maximum(1, np.ceil(np.diff(breaks) / LONGEST_PIECE)).astype(int)
    ends = [np.linspace(a, b, k + 1)[:-1] for a, b, k in zip(breaks[:-1], breaks[1:], counts, strict=True)]
    times = np.append(np.concatenate(ends), breaks[-1])
    worst, pieces = 0.0, len(times) - 1
    for begin, end in pairwise(times.tolist()):
        worst = max(worst, _strays(prediction, free, forces, begin, end))
        if not worst < GIVEN_UP:
            break
    return Check.within(
        worst, SAME_MOTION, "rad or m",
        f"the free {who} follows the predicted motion under torques and ground reactions, in {pieces} pieces",
    )  # fmt: skip


def _strays(prediction: Prediction, free: Mechanism, forces: Forces, begin: float, end: float) -> float:
    """How far a simulation of one piece is off at its end."""
    from kinetree.simulation.simulate import simulate  # most audits do without

    t = np.array([begin, end - 1e-12 * prediction.duration])
    states = change_root(prediction.problem.mechanism, free, *prediction.at(t)[:2])
    assert states.qd is not None
    try:
        run = simulate(
            free, states.q[0], states.qd[0], end - begin, torque=_law(prediction, free, forces, begin, end),
            times=np.array([0.0, end - begin]), rtol=1e-10, atol=1e-12, progress=False, verdicts=False,
        )  # fmt: skip
    except SimulationError:
        return float("inf")
    return float(np.abs(arrays_of(run)[1]["q"].values[-1] - states.q[1]).max())


def _law(
    prediction: Prediction, free: Mechanism, forces: Forces, begin: float, end: float
) -> Callable[[float, Array, Array], Array]:
    """Drives and pushes of the ground over one piece, by polynomials through Chebyshev nodes."""
    x = np.cos(np.pi * (np.arange(NODES) + 0.5) / NODES)[::-1]
    s = np.clip((begin + (end - begin) * (x + 1.0) / 2.0) / prediction.duration, 0.0, 1.0)
    torques, wrenches = forces(s)
    drives = np.zeros((NODES, free.n_dof))
    for name, tau in torques.items():
        drives[:, free.joint_index(name)] = tau
    numbers = [drives, *(part for load in wrenches for part in (load.force, load.moment))]
    table = np.concatenate([np.broadcast_to(y, (NODES, np.shape(y)[-1])) for y in numbers], axis=1)
    powers = np.polynomial.chebyshev.chebfit(x, table, NODES - 1)

    def law(t: float, q: Array, qd: Array) -> Array:
        now: Array = np.asarray(np.polynomial.chebyshev.chebval(2.0 * t / (end - begin) - 1.0, powers))
        still, at, loads = np.zeros_like(q), free.n_dof, []
        for load in wrenches:
            loads.append(Wrench(load.body, now[at : at + 3], now[at + 3 : at + 6], point=load.point))
            at += 6
        pushed = inverse_dynamics(free, q, still, still, loads)
        found: Array = now[: free.n_dof] - pushed + inverse_dynamics(free, q, still, still)
        return found

    return law
