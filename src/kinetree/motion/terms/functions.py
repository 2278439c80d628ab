"""Functions of the motion that several terms share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.problem.profile import PAIRS, RATES
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.contract import TORQUE, Function


class Rate(Function):
    """q (rate 0), qd (1) or qdd (2) of some of the moving coordinates."""

    def __init__(self, rate: int, columns: Sequence[int]) -> None:
        self.rate, self.columns, self.size = rate, np.array(columns, dtype=np.int64), len(columns)
        self.of_pose = rate == 0

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return at.moving[:, self.rate, self.columns]

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        found = np.zeros((len(at.moving), RATES, self.size, at.moving.shape[2]))
        found[:, self.rate, np.arange(self.size), self.columns] = 1.0
        return found

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Linear: nothing."""


def chosen(rows: Integers) -> Integers | slice:
    """Rows that follow each other as a slice, which needs no copies.

    >>> chosen(np.array([2, 3, 4])), chosen(np.array([4, 2]))
    (slice(2, 5, None), array([4, 2]))
    """
    if len(rows) and (np.diff(rows) == 1).all():
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


class Torque(Function):
    """Torques or reaction components: some of the generalized forces."""

    reads = (TORQUE,)

    def __init__(self, rows: Integers) -> None:
        self.rows, self.size = rows, len(rows)
        self._chosen = chosen(rows)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return at.tau[:, self._chosen]

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        return at.torque_slopes[:, :, self._chosen]

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        return {name: slopes[:, self._chosen] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        at.weigh_torques(self._chosen, weight)


class TorqueEnergy(Function):
    """One number from generalized forces f: the sum of convex densities, sum_i e_i(f_i)."""

    size, of_squares, reads = 1, True, (TORQUE,)

    def __init__(self, rows: Integers) -> None:
        self.rows, self._chosen = rows, chosen(rows)

    @abstractmethod
    def densities(self, f: Array) -> Array:
        """e(f) of forces (m, k)."""

    @abstractmethod
    def rates(self, f: Array) -> Array:
        """e'(f)."""

    @abstractmethod
    def bends(self, f: Array) -> Array:
        """e''(f), none negative."""

    def forces(self, at: At) -> Array:
        """The forces themselves, (m, k)."""
        return at.tau[:, self._chosen]

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        total: Array = self.densities(self.forces(at)).sum(axis=1)[:, None]
        return total

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        pull = self.rates(self.forces(at))
        return pull[:, None, None, :] @ at.torque_slopes[:, :, self._chosen]

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        pull = self.rates(self.forces(at))[:, None]
        return {name: pull @ slopes[:, self._chosen] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        self.bend_torques(at, weight)
        curves = {name: slopes[:, self._chosen] for name, slopes in at.torque_curves.items()}
        bends = weight * self.bends(self.forces(at))
        at.add_outer(bends, at.torque_slopes[:, :, self._chosen], curves=curves)

    def bend_torques(self, at: At, weight: Array) -> None:
        """The part of it that the curvature of the torques makes: what Gauss and Newton leave out."""
        at.weigh_torques(self._chosen, weight * self.rates(self.forces(at)))


class TorqueValue(Function):
    """One number that depends on generalized forces f, convex in them, and on q and qd besides."""

    size, of_squares, reads = 1, True, (TORQUE,)
    rows: Integers

    @abstractmethod
    def pulls(self, at: At) -> Array:
        """Its derivatives by the forces, (m, k)."""

    @abstractmethod
    def own_slopes(self, at: At) -> Array:
        """Its derivatives by (q, qd, qdd) at fixed forces, (m, 3, 1, n)."""

    @abstractmethod
    def root(self, at: At) -> Array:
        """C (m, r, k) with C^T C its second derivatives by the forces."""

    @abstractmethod
    def bend_rest(self, at: At, weight: Array) -> None:
        """Second derivatives of its weighted sum, but those by the forces alone."""

    @override
    def slopes(self, at: At) -> Array:
        """Its first derivatives."""
        return self.pulls(at)[:, None, None, :] @ at.torque_slopes[:, :, self.rows] + self.own_slopes(at)

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Its first derivatives by further blocks."""
        pull = self.pulls(at)[:, None]
        return {name: pull @ slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of its weighted sum."""
        self.bend_rest(at, weight)
        C = self.root(at)
        curves = {name: C @ slopes[:, self.rows] for name, slopes in at.torque_curves.items()}
        each = np.ascontiguousarray(np.broadcast_to(weight, C.shape[:2]))
        at.add_outer(each, C[:, None] @ at.torque_slopes[:, :, self.rows], curves=curves)


class TorqueForm(TorqueEnergy):
    """One number from generalized forces f: the weighted sum of squares sum_i w_i f_i^2."""

    def __init__(self, rows: Integers, weights: Array) -> None:
        super().__init__(rows)
        self.weights = weights

    @override
    def densities(self, f: Array) -> Array:
        """w f^2."""
        return self.weights * f**2

    @override
    def rates(self, f: Array) -> Array:
        """2 w f."""
        return 2.0 * self.weights * f

    @override
    def bends(self, f: Array) -> Array:
        """2 w."""
        return np.broadcast_to(2.0 * self.weights, f.shape)


class TorquePower(TorqueEnergy):
    """sum_i w_i |f_i / size_i|^p with p >= 2; or, while it is ``eased``, with p = 2.

    Far from a solution torques are a hundred times their limits, where higher powers drown all else.
    """

    def __init__(self, rows: Integers, weights: Array, sizes: Array, exponent: float) -> None:
        super().__init__(rows)
        self.weights, self.sizes, self.exponent, self.eased = weights, sizes, exponent, False

    @property
    def _power(self) -> float:
        return 2.0 if self.eased else self.exponent

    @override
    def densities(self, f: Array) -> Array:
        """w |f / size|^p."""
        return self.weights * np.abs(f / self.sizes) ** self._power

    @override
    def rates(self, f: Array) -> Array:
        """p w |f / size|^(p - 1) sign(f) / size."""
        p, x = self._power, f / self.sizes
        return (p * self.weights / self.sizes) * np.abs(x) ** (p - 1.0) * np.sign(x)

    @override
    def bends(self, f: Array) -> Array:
        """p (p - 1) w |f / size|^(p - 2) / size^2."""
        p = self._power
        return (p * (p - 1.0) * self.weights / self.sizes**2) * np.abs(f / self.sizes) ** (p - 2.0)


class TorqueCone(Function):
    """push . f - (sqrt(|A f|^2 + rounding^2) - rounding) of generalized forces f: 0 or more within a cone."""

    size, reads = 1, (TORQUE,)

    def __init__(self, rows: Integers, across: Array, push: Array, rounding: float) -> None:
        self.rows, self.A, self.push, self.rounding = rows, across, push, rounding

    def _parts(self, at: At) -> tuple[Array, Array, Array]:
        """Forces, their part across and its rounded size."""
        f = at.tau[:, self.rows]
        across = f @ self.A.T
        return f, across, np.sqrt((across**2).sum(axis=1, keepdims=True) + self.rounding**2)

    def _pull(self, at: At) -> Array:
        _, across, size = self._parts(at)
        return self.push - across / size @ self.A

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        f, _, size = self._parts(at)
        return (f @ self.push)[:, None] - size + self.rounding

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        return self._pull(at)[:, None, None] @ at.torque_slopes[:, :, self.rows]

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        pull = self._pull(at)[:, None]
        return {name: pull @ slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        _, across, size = self._parts(at)
        at.weigh_torques(self.rows, weight * self._pull(at))
        curves = {name: slopes[:, self.rows] for name, slopes in at.torque_curves.items()}
        each = np.broadcast_to(-weight / size, across.shape)
        rows = self.A @ at.torque_slopes[:, :, self.rows]
        at.add_outer(each, rows, curves={name: self.A @ x for name, x in curves.items()})
        along = (across / size)[:, None]
        at.add_outer(
            weight / size, along[:, None] @ rows,
            curves={name: along @ (self.A @ x) for name, x in curves.items()},
        )  # fmt: skip


class MotionSquares(Function):
    """sum_i w_i (a_i . q^(r) - target_i)^2 of the moving coordinates, their velocities or accelerations.

    ``matrix`` (k, n), ``weights`` and ``targets`` (k,). Its second derivatives are constant.
    """

    size, of_squares = 1, True

    def __init__(self, rate: int, matrix: Array, weights: Array, targets: Array) -> None:
        self.rate, self.matrix, self.weights, self.targets = rate, matrix, weights, targets
        self._half: Array = (matrix.T * weights) @ matrix
        self._block = PAIRS.index((rate, rate))

    def _errors(self, at: At) -> Array:
        return at.moving[:, self.rate] @ self.matrix.T - self.targets

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return (self._errors(at) ** 2 @ self.weights)[:, None]

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        found = np.zeros((len(at.moving), RATES, 1, at.moving.shape[2]))
        found[:, self.rate, 0] = (2.0 * self.weights * self._errors(at)) @ self.matrix
        return found

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        at.add_block(self._block, weight[:, :, None] * self._half)


class TorqueSum(Function):
    """Linear combinations of generalized forces: matrix f, with the matrix (k, rows).

    Or (m, k, rows) at so many instants ``s`` (m,), straight between them.
    """

    reads = (TORQUE,)

    def __init__(self, rows: Integers, matrix: Array, s: Array | None = None) -> None:
        self.rows, self._matrix, self._s, self.size = rows, matrix, s, matrix.shape[-2]

    def matrix(self, s: Array) -> Array:
        """The matrix, (k, rows), or (m, k, rows) at instants s (m,)."""
        if self._s is None or self._s.tobytes() == s.tobytes():
            return self._matrix
        right = np.clip(np.searchsorted(self._s, s, side="right"), 1, len(self._s) - 1)
        a, b = self._s[right - 1], self._s[right]
        share = np.clip((s - a) / (b - a), 0.0, 1.0)[:, None, None]
        return (1.0 - share) * self._matrix[right - 1] + share * self._matrix[right]

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        found: Array = (self.matrix(at.s) @ at.tau[:, self.rows, None])[..., 0]
        return found

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        matrix = self.matrix(at.s)
        found: Array = (matrix if matrix.ndim == 2 else matrix[:, None]) @ at.torque_slopes[:, :, self.rows]
        return found

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        return {name: self.matrix(at.s) @ slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        at.weigh_torques(self.rows, (weight[:, None] @ self.matrix(at.s))[:, 0])
