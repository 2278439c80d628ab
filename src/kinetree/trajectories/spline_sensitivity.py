"""How a motion by B-splines changes with control points and duration: the chain rule of predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers, positive
from kinetree.algebra.bspline import BSplineBasis
from kinetree.errors import InputError, must_be
from kinetree.state import State

RATES = 3  # position, velocity, acceleration


@dataclass(frozen=True, eq=False)
class SplineSensitivity:
    """A motion q(s) = sum_i B_i(s) P_i, s = t / T, at m instants, and what it depends on.

    ``state``: q, qd, qdd (m, n). ``by_points`` (m, 3, n_control): derivatives of q, qd, qdd of any coordinate
    by its own control points, B_i, B_i' / T, B_i'' / T^2. ``by_duration`` (m, 3, n): derivatives by T at
    fixed s: 0, -qd / T, -2 qdd / T.
    """

    state: State
    by_points: Array
    by_duration: Array

    def gradient(self, dq: ArrayLike, dqd: ArrayLike, dqdd: ArrayLike) -> tuple[Array, float]:
        """Derivatives by P (n_control, n) and T of a sum whose derivatives by the state are given.

        ``dq``, ``dqd``, ``dqdd`` (m, n): how the sum changes with q, qd and qdd at each instant.
        """
        shape = self.state.q.shape
        slopes = np.stack(
            [_slopes(x, name, shape) for x, name in ((dq, "dq"), (dqd, "dqd"), (dqdd, "dqdd"))], 1
        )
        by_points: Array = np.einsum("mrc,mrn->cn", self.by_points, slopes)
        return by_points, float((self.by_duration * slopes).sum())


def spline_sensitivity(
    basis: BSplineBasis, control_points: ArrayLike, duration: float, s: ArrayLike
) -> SplineSensitivity:
    """A motion by B-splines at instants ``s`` (m,) from 0 to 1, with its derivatives by P and T.

    ``control_points`` P (n_control, n), ``duration`` T (s). ([Xiang2009], section 5; [Barman2020], 4.1.1)

    >>> import kinetree as kt, numpy as np
    >>> basis = kt.trajectories.BSplineBasis.uniform(segments=4)
    >>> P = np.linspace(0.0, 1.0, basis.n_control)[:, None]
    >>> motion = kt.trajectories.spline_sensitivity(basis, P, duration=2.0, s=[0.0, 0.5, 1.0])
    >>> by_points, by_duration = motion.gradient(np.zeros((3, 1)), motion.state.qd, np.zeros((3, 1)))
    >>> by_points.shape, by_duration < 0.0  # longer motions are slower
    ((7, 1), True)
    """
    if not isinstance(basis, BSplineBasis):
        raise InputError(must_be("basis", "a kt.trajectories.BSplineBasis", basis))
    T = positive(duration, "duration", "s")
    P = finite(numbers(control_points, "control_points"), "control_points")
    if P.ndim != 2 or len(P) != basis.n_control:
        raise InputError(f"control_points must have shape ({basis.n_control}, n), got {P.shape}")
    first, local = basis.local(s, RATES - 1)
    m, places = len(first), first[:, None] + np.arange(basis.degree + 1)
    by_points = np.zeros((m, RATES, basis.n_control))
    np.put_along_axis(by_points, np.broadcast_to(places[:, None, :], local.shape), local, axis=2)
    powers = np.arange(RATES)
    by_points /= T ** powers[:, None]
    rates = by_points @ P
    by_duration = -powers[:, None] * rates / T
    return SplineSensitivity(State(rates[:, 0], rates[:, 1], rates[:, 2]), by_points, by_duration)


def _slopes(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Array:
    found = finite(numbers(values, name), name)
    if found.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {found.shape}")
    return found
