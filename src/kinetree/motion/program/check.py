"""Derivatives of a problem against central differences, along random directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.motion.program.nonlinear import NonlinearProgram

STEP = 1e-6
GOOD = 1e-4  # relative errors below this are those of the differences


@dataclass(frozen=True)
class DerivativeCheck:
    """Largest relative errors of the gradient, of the Jacobian by family, and of the Hessian."""

    gradient: float
    jacobian: dict[str, float]
    hessian: float

    @property
    def passed(self) -> bool:
        """Whether all errors are what differences explain."""
        return max(self.gradient, self.hessian, *self.jacobian.values(), 0.0) < GOOD

    def __str__(self) -> str:
        lines = [f"gradient of the objective  {self.gradient:.1e}"]
        lines += [f"Jacobian, {family}  {error:.1e}" for family, error in self.jacobian.items()]
        lines.append(f"Hessian of the Lagrangian  {self.hessian:.1e}")
        return "\n".join(lines)


def checked_derivatives(
    program: NonlinearProgram, z: Array, seed: int = 0, directions: int = 3
) -> DerivativeCheck:
    """Compare at the unknowns z, with random multipliers."""
    rng, families = np.random.default_rng(seed), program.families()
    multipliers = rng.standard_normal(program.m)
    gradient, hessian, jacobian = 0.0, 0.0, dict.fromkeys(families, 0.0)
    for _ in range(directions):
        d = rng.standard_normal(program.n)
        up, down = z + STEP * d, z - STEP * d
        slope = (program.objective(up) - program.objective(down)) / (2 * STEP)
        gradient = max(gradient, _error(np.array([program.gradient(z) @ d]), np.array([slope])))
        rates = (program.constraints(up) - program.constraints(down)) / (2 * STEP)
        found = _times(program, program.jacobian(z), d)
        for family, rows in families.items():
            jacobian[family] = max(jacobian[family], _error(found[rows], rates[rows]))
        bend = (
            _lagrangian_slope(program, up, multipliers) - _lagrangian_slope(program, down, multipliers)
        ) / (2 * STEP)
        hessian = max(
            hessian, _error(_symmetric_times(program, program.hessian(z, 1.0, multipliers), d), bend)
        )
    return DerivativeCheck(gradient, jacobian, hessian)


def _error(found: Array, expected: Array) -> float:
    size = max(float(np.abs(expected).max(initial=0.0)), float(np.abs(found).max(initial=0.0)), 1e-8)
    return float(np.abs(found - expected).max(initial=0.0)) / size


def _times(program: NonlinearProgram, entries: Array, d: Array) -> Array:
    """Jacobian times a vector."""
    return _summed(program.jacobian_rows, entries * d[program.jacobian_columns], program.m)


def _symmetric_times(program: NonlinearProgram, entries: Array, d: Array) -> Array:
    rows, columns = program.hessian_rows, program.hessian_columns
    below = rows != columns
    found = _summed(rows, entries * d[columns], program.n)
    return found + _summed(columns[below], (entries * d[rows])[below], program.n)


def _lagrangian_slope(program: NonlinearProgram, z: Array, multipliers: Array) -> Array:
    entries = program.jacobian(z) * multipliers[program.jacobian_rows]
    return program.gradient(z) + _summed(program.jacobian_columns, entries, program.n)


def _summed(places: Any, values: Array, size: int) -> Array:
    total = np.zeros(size)
    np.add.at(total, places, values)
    return total
