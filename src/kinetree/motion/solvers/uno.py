"""Uno: filter SQP and interior point with exact Hessians (package `unopy`)."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.errors import MissingExtraError
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import Outcome, Settings, Solver, Start, Status, Watch, infeasibility


class Uno(Solver):
    """``preset`` "filtersqp" (few, more costly iterations: for small problems) or "ipopt" (interior point).

    unopy ends the process on option values it does not know, so only those listed here pass.
    """

    allowed: ClassVar[Mapping[str, type | tuple[Any, ...]]] = {
        "preset": ("filtersqp", "ipopt", "funnelsqp", "filterslp")
    }

    def __init__(self, preset: str = "filtersqp") -> None:
        self.preset = preset
        self.name = "uno" if preset == "filtersqp" else f"uno {preset}"

    @override
    def check_installed(self) -> None:
        """Raise, with what to install, if it cannot be used here."""
        if importlib.util.find_spec("unopy") is None:
            raise MissingExtraError("unopy", "predict", "The solver Uno")

    @override
    def solve(self, program: NonlinearProgram, start: Start, settings: Settings, watch: Watch) -> Outcome:
        """Solve the program from a starting point."""
        import unopy  # type: ignore[import-untyped, import-not-found, unused-ignore]

        options = self.checked_options(settings.options)
        model = _model(unopy, program, start)
        solver = unopy.UnoSolver()
        solver.set_preset(options.get("preset", self.preset))
        solver.set_option("logger", "SILENT")
        solver.set_option("primal_tolerance", settings.tolerance)
        solver.set_option("dual_tolerance", settings.tolerance)
        solver.set_option("max_iterations", int(settings.max_iterations))
        if np.isfinite(settings.time_limit):
            solver.set_option("time_limit", float(settings.time_limit))
        count = 0

        def stop(z: Any, *rest: Any) -> bool:
            nonlocal count
            count += 1
            z = np.asarray(z)
            if watch.report is None and watch.stopped is None and np.isinf(settings.time_limit):
                return False
            return not watch.see(count, z, program.objective(z), infeasibility(program, z))

        solver.set_termination_callback(stop)
        result = solver.optimize(model)
        status = _status(result, watch)
        z = np.array(result.primal_solution, dtype=np.float64)
        low = -np.array(result.lower_bound_dual_solution, dtype=np.float64)  # negative there
        high = np.array(result.upper_bound_dual_solution, dtype=np.float64)
        return Outcome(
            z,
            np.array(result.constraint_dual_solution, dtype=np.float64),
            (low, high),
            status,
            int(result.number_iterations),
            _word(result.solution_status),
            self.name,
        )


def _model(unopy: Any, program: NonlinearProgram, start: Start) -> Any:
    """The program as Uno's callbacks; all arrays are written in place."""

    def gradient(z: Array, out: Array) -> None:
        out[:] = program.gradient(z)

    def constraints(z: Array, out: Array) -> None:
        out[:] = program.constraints(z)

    def jacobian(z: Array, out: Array) -> None:
        out[:] = program.jacobian(z)

    def hessian(z: Array, factor: float, multipliers: Array, out: Array) -> None:
        out[:] = program.hessian(z, factor, multipliers)

    model = unopy.Model(
        unopy.PROBLEM_NONLINEAR,
        program.n,
        program.x_lower.tolist(),
        program.x_upper.tolist(),
        unopy.ZERO_BASED_INDEXING,
    )
    model.set_objective(unopy.MINIMIZE, program.objective, gradient)
    rows, columns = program.jacobian_rows.tolist(), program.jacobian_columns.tolist()
    lower, upper = program.lower.tolist(), program.upper.tolist()
    if program.m:
        model.set_constraints(program.m, constraints, lower, upper, len(rows), rows, columns, jacobian)
    model.set_lagrangian_sign_convention(unopy.MULTIPLIER_POSITIVE)
    rows, columns = program.hessian_rows.tolist(), program.hessian_columns.tolist()
    model.set_lagrangian_hessian(len(rows), unopy.LOWER_TRIANGLE, rows, columns, hessian)
    model.set_initial_primal_iterate(start.z.tolist())
    if start.multipliers is not None:
        model.set_initial_dual_iterate(start.multipliers.tolist())
    return model


def _status(result: Any, watch: Watch) -> Status:
    if watch.stopped is not None:
        return watch.stopped
    ended, point = _word(result.optimization_status), _word(result.solution_status)
    if ended == "user interruption":  # Uno catches Ctrl-C itself
        watch.stopped = Status.INTERRUPTED
        return Status.INTERRUPTED
    if point == "feasible kkt point":
        return Status.SOLVED
    if point in ("infeasible stationary point", "infeasible small step"):
        return Status.INFEASIBLE
    return {"iteration limit": Status.ITERATIONS, "time limit": Status.TIME}.get(ended, Status.FAILED)


def _word(status: Any) -> str:
    return str(status).rpartition(".")[2].lower().replace("_", " ")
