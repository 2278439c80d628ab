"""SciPy's SLSQP: dense, without second derivatives; works without extras, for small problems."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import (
    Outcome,
    Solver,
    SolverSettings,
    Start,
    Status,
    Watch,
    infeasibility,
)

SHARPER = 1e-5  # times the tolerance: a change of the objective that ends the search; slopes go with its root
NO_MULTIPLIERS = 1e-7  # rows further from their bounds than this have no multiplier


class _Stop(Exception):
    """The watch asked to stop."""


class Slsqp(Solver):
    """The fallback when no other solver is installed."""

    name = "slsqp"
    allowed: ClassVar[Mapping[str, type | tuple[Any, ...]]] = {"ftol": float}

    @override
    def solve(
        self, program: NonlinearProgram, start: Start, settings: SolverSettings, watch: Watch
    ) -> Outcome:
        """Solve the program from a starting point."""
        from scipy.optimize import minimize

        options = self.checked_options(settings.options)
        sides = _Sides(program)
        count = 0

        def note(z: Array) -> None:
            nonlocal count
            count += 1
            if not watch.see(count, z, program.objective(z), infeasibility(program, z)):
                raise _Stop

        bounds = list(zip(program.x_lower.tolist(), program.x_upper.tolist(), strict=True))
        try:
            result = minimize(
                program.objective,
                start.z,
                jac=program.gradient,
                bounds=bounds,
                constraints=sides.conditions(),
                method="SLSQP",
                callback=note,
                options={
                    "maxiter": int(settings.max_iterations),
                    "ftol": options.get("ftol", SHARPER * settings.tolerance),
                },
            )
            z, message = np.asarray(result.x), str(result.message)
            status = _status(program, result, z, settings)
        except _Stop:
            assert watch.best is not None and watch.stopped is not None
            z, message, status = watch.best, "stopped", watch.stopped
        multipliers, low, high = estimated_multipliers(program, z)
        return Outcome(z, multipliers, (low, high), status, count, message.lower(), self.name)


def _status(program: NonlinearProgram, result: Any, z: Array, settings: SolverSettings) -> Status:
    feasible = infeasibility(program, z) < 1e2 * settings.tolerance
    if result.success and feasible:
        return Status.SOLVED
    if result.status == 9:
        return Status.ITERATIONS
    return Status.FAILED if feasible else Status.INFEASIBLE


class _Sides:
    """Two-sided rows as the equalities and inequalities that SciPy wants."""

    def __init__(self, program: NonlinearProgram) -> None:
        self.program = program
        lower, upper = program.lower, program.upper
        self.equal = np.flatnonzero(lower == upper)
        self.low = np.flatnonzero((lower != upper) & np.isfinite(lower))
        self.high = np.flatnonzero((lower != upper) & np.isfinite(upper))

    def conditions(self) -> list[dict[str, Any]]:
        """Functions and Jacobians."""
        program, found = self.program, []
        if len(self.equal):
            found.append(
                {
                    "type": "eq",
                    "fun": lambda z: (program.constraints(z) - program.lower)[self.equal],
                    "jac": lambda z: dense_jacobian(program, z)[self.equal],
                }
            )
        if len(self.low) or len(self.high):
            found.append({"type": "ineq", "fun": self._distances, "jac": self._slopes})
        return found

    def _distances(self, z: Array) -> Array:
        g = self.program.constraints(z)
        return np.concatenate([(g - self.program.lower)[self.low], (self.program.upper - g)[self.high]])

    def _slopes(self, z: Array) -> Array:
        J = dense_jacobian(self.program, z)
        return np.vstack([J[self.low], -J[self.high]])


def dense_jacobian(program: NonlinearProgram, z: Array) -> Array:
    """dg/dz as a full matrix."""
    J = np.zeros((program.m, program.n))
    J[program.jacobian_rows, program.jacobian_columns] = program.jacobian(z)
    return J


def estimated_multipliers(program: NonlinearProgram, z: Array) -> tuple[Array, Array, Array]:
    """Multipliers of active rows and bounds by least squares of gradient + J^T multipliers = 0."""
    g = program.constraints(z)
    near = NO_MULTIPLIERS + 1e-6 * np.abs(g)
    rows = np.flatnonzero((g - program.lower < near) | (program.upper - g < near))
    low = np.flatnonzero(z - program.x_lower < NO_MULTIPLIERS)
    high = np.flatnonzero(program.x_upper - z < NO_MULTIPLIERS)
    J = dense_jacobian(program, z)[rows]
    identity = np.eye(program.n)
    A = np.vstack([J, -identity[low], identity[high]])
    solution = np.linalg.lstsq(A.T, -program.gradient(z), rcond=None)[0]
    multipliers, at_low, at_high = np.zeros(program.m), np.zeros(program.n), np.zeros(program.n)
    multipliers[rows] = solution[: len(rows)]
    at_low[low] = solution[len(rows) : len(rows) + len(low)]
    at_high[high] = solution[len(rows) + len(low) :]
    return multipliers, at_low, at_high
