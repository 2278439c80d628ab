"""Back to feasibility: least violation of the constraints alone, by damped Gauss-Newton steps."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import KinetreeError
from kinetree.motion.program.nonlinear import NonlinearProgram

STEPS = 60
ENOUGH = 0.1  # of the violation at the start is left: the search may go on
FLAT = 1e-7  # slope of the violation, relatively, at which it cannot be reduced


def restored(program: NonlinearProgram, z: Array, tolerance: float) -> Array | None:
    """A point with far less violation; None if the violation cannot be reduced: locally infeasible."""
    z = np.array(z)
    excess = _excess(program, z)
    goal, damping = ENOUGH * float(np.abs(excess).max(initial=0.0)), 1e-3
    if goal <= ENOUGH * tolerance:
        return z
    for _ in range(STEPS):
        rows = np.flatnonzero(excess)
        J = np.zeros((program.m, program.n))
        J[program.jacobian_rows, program.jacobian_columns] = program.jacobian(z)
        J = J[rows]
        slope = J.T @ excess[rows]
        size = float(np.linalg.norm(J)) * float(np.linalg.norm(excess))
        if np.linalg.norm(slope) <= FLAT * max(size, 1e-300):
            return None
        H = J.T @ J
        z, excess, damping, moved = _damped_step(program, z, excess, slope, H, damping)
        if not moved:
            return None
        if np.abs(excess).max() <= max(goal, 0.1 * tolerance):
            return z
    return z if np.abs(excess).max() <= 0.5 * goal / ENOUGH else None


def _damped_step(
    program: NonlinearProgram, z: Array, excess: Array, slope: Array, H: Array, damping: float
) -> tuple[Array, Array, float, bool]:
    """One step that lowers the violation, with as much damping as it takes."""
    before = float(excess @ excess)
    scale = max(float(np.abs(np.diag(H)).max(initial=0.0)), 1e-12)
    for _ in range(20):
        step = np.linalg.solve(H + damping * scale * np.eye(len(H)), -slope)
        trial = np.clip(z + step, program.x_lower, program.x_upper)
        with suppress(KinetreeError):  # not finite there: a shorter step will do
            found = _excess(program, trial)
            if np.isfinite(found).all() and float(found @ found) < before * (1.0 - 1e-8):
                return trial, found, max(damping / 4.0, 1e-9), True
        damping *= 4.0
    return z, excess, damping, False


def _excess(program: NonlinearProgram, z: Array) -> Array:
    """By how much each row is outside its bounds, with sign."""
    g = program.constraints(z)
    return g - np.clip(g, program.lower, program.upper)
