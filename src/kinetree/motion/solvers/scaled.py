"""Rows with steep slopes, divided by their steepness: no row outweighs all others."""

from __future__ import annotations

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.motion.program.nonlinear import NonlinearProgram

STEEP = 1e3  # slope of a row by one unknown that is left as it is


class ScaledProgram(NonlinearProgram):
    """A program with its rows divided by ``sizes`` (m,); unknowns and objective are the same.

    Multipliers are those of the program, times sizes.
    """

    def __init__(self, program: NonlinearProgram, sizes: Array) -> None:
        self.program, self.sizes, self.scale = program, sizes, program.scale
        self.squares = program.squares
        self.n, self.m, self.durations = program.n, program.m, program.durations
        self.x_lower, self.x_upper = program.x_lower, program.x_upper
        self.lower, self.upper = program.lower / sizes, program.upper / sizes
        self.jacobian_rows, self.jacobian_columns = program.jacobian_rows, program.jacobian_columns
        self.hessian_rows, self.hessian_columns = program.hessian_rows, program.hessian_columns
        self._by_entry = sizes[program.jacobian_rows]

    @override
    def expect_derivatives(self, z: Array) -> None:
        """Of the program."""
        self.program.expect_derivatives(z)

    @override
    def objective(self, z: Array) -> float:
        """f(z)."""
        return self.program.objective(z)

    @override
    def cost(self, z: Array) -> float:
        """The objective that was asked for."""
        return self.program.cost(z)

    @override
    def roughness(self, z: Array) -> float:
        """Of the program."""
        return self.program.roughness(z)

    @override
    def roughness_slope(self, z: Array) -> Array:
        """Its derivatives by z."""
        return self.program.roughness_slope(z)

    @property
    def smoothing(self) -> float:
        """The price on roughness."""
        return self.program.smoothing

    @smoothing.setter
    def smoothing(self, price: float) -> None:
        """Set it."""
        self.program.smoothing = price

    @property
    def easing(self) -> float:
        """The further weight of roughness."""
        return self.program.easing

    @easing.setter
    def easing(self, weight: float) -> None:
        """Set it."""
        self.program.easing = weight

    @override
    def gradient(self, z: Array) -> Array:
        """df/dz."""
        return self.program.gradient(z)

    @override
    def constraints(self, z: Array) -> Array:
        """g(z), divided."""
        return self.program.constraints(z) / self.sizes

    @override
    def jacobian(self, z: Array) -> Array:
        """Entries of dg/dz, divided."""
        return self.program.jacobian(z) / self._by_entry

    @override
    def hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """Entries of the Hessian of the Lagrangian."""
        return self.program.hessian(z, factor, multipliers / self.sizes)

    @override
    def straight_hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """The same with straight torques in the objective."""
        return self.program.straight_hessian(z, factor, multipliers / self.sizes)

    @override
    def duration(self, z: Array) -> float:
        """How long the motion takes (s)."""
        return self.program.duration(z)

    @override
    def families(self) -> dict[str, list[int]]:
        """Rows by kind of constraint."""
        return self.program.families()


def steepness(program: NonlinearProgram, z: Array) -> Array:
    """By how much the slopes of each row at z exceed what is left as it is, (m,); 1 where they do not."""
    largest = np.zeros(program.m)
    np.maximum.at(largest, program.jacobian_rows, np.abs(program.jacobian(z)))
    return np.maximum(largest / STEEP, 1.0)
