"""Functions of the motion that several terms share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.problem.profile import RATES
from kinetree.motion.program.evaluation import At, Curves
from kinetree.motion.terms.contract import TORQUE, Function


class Rate(Function):
    """q (rate 0), qd (1) or qdd (2) of some of the moving coordinates."""

    def __init__(self, rate: int, columns: Sequence[int]) -> None:
        self.rate, self.columns, self.size = rate, np.array(columns, dtype=np.int64), len(columns)

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
    """Torques or reaction components: some of the generalised forces."""

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


class TorqueForm(Function):
    """One number from generalised forces f: the weighted sum of squares sum_i w_i f_i^2."""

    size, of_squares, reads = 1, True, (TORQUE,)

    def __init__(self, rows: Integers, weights: Array) -> None:
        self.rows, self.weights, self._chosen = rows, weights, chosen(rows)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return (at.tau[:, self._chosen] ** 2 @ self.weights)[:, None]

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        pull = (2.0 * self.weights) * at.tau[:, self._chosen]
        return pull[:, None, None, :] @ at.torque_slopes[:, :, self._chosen]

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        return {
            name: ((2.0 * self.weights) * at.tau[:, self._chosen])[:, None] @ slopes[:, self._chosen]
            for name, slopes in at.torque_curves.items()
        }

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        twice = weight * (2.0 * self.weights)
        at.weigh_torques(self._chosen, twice * at.tau[:, self._chosen])
        curves = {name: slopes[:, self._chosen] for name, slopes in at.torque_curves.items()}
        at.add_outer(twice, at.torque_slopes[:, :, self._chosen], curves=curves)


class TorqueSum(Function):
    """Linear combinations of generalised forces: matrix f, with the matrix (k, rows)."""

    reads = (TORQUE,)

    def __init__(self, rows: Integers, matrix: Array) -> None:
        self.rows, self.matrix, self.size = rows, matrix, len(matrix)

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        return at.tau[:, self.rows] @ self.matrix.T

    @override
    def slopes(self, at: At) -> Array:
        """Their first derivatives."""
        found: Array = self.matrix @ at.torque_slopes[:, :, self.rows]
        return found

    @override
    def curve_slopes(self, at: At) -> Curves:
        """Their first derivatives by further blocks."""
        return {name: self.matrix @ slopes[:, self.rows] for name, slopes in at.torque_curves.items()}

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives of their weighted sum."""
        at.weigh_torques(self.rows, weight @ self.matrix)
