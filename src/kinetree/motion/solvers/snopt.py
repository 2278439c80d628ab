"""SNOPT: sparse SQP without second derivatives, for those who have a licence, through `pyoptsparse`.

SNOPT is not free: https://ccom.ucsd.edu/~optimizers. pyoptsparse finds its library in the folder that the
environment variable PYOPTSPARSE_IMPORT_SNOPT_FROM names.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import (
    MissingSolverError,
    Outcome,
    Settings,
    Solver,
    Start,
    Status,
    Watch,
    infeasibility,
)
from kinetree.motion.solvers.slsqp import estimated_multipliers

NAMES = {  # our names of options, and SNOPT's
    "hessian_updates": "Hessian updates",
    "linesearch_tolerance": "Linesearch tolerance",
    "major_step_limit": "Major step limit",
    "minor_iterations_limit": "Minor iterations limit",
    "scale_option": "Scale option",
    "superbasics_limit": "Superbasics limit",
    "verify_level": "Verify level",
}
ENDED = {1: Status.SOLVED, 31: Status.ITERATIONS, 32: Status.ITERATIONS}
INFEASIBLE = range(10, 20)
STOP = 2  # what a function returns to end the search


class Snopt(Solver):
    """For problems with many constraints of which few are active."""

    name = "snopt"
    allowed: ClassVar[Mapping[str, type | tuple[Any, ...]]] = {
        "hessian_updates": int,
        "linesearch_tolerance": float,
        "major_step_limit": float,
        "minor_iterations_limit": int,
        "scale_option": (0, 1, 2),
        "superbasics_limit": int,
        "verify_level": (-1, 0, 1, 2, 3),
    }

    @override
    def check_installed(self) -> None:
        """Raise, with what is needed, if it cannot be used here."""
        if importlib.util.find_spec("pyoptsparse") is None:
            raise MissingSolverError(
                "The solver SNOPT needs a licence and the package 'pyoptsparse' (conda install -c "
                "conda-forge pyoptsparse), with PYOPTSPARSE_IMPORT_SNOPT_FROM set to its library's folder"
            )
        try:
            importlib.import_module("pyoptsparse").OPT("SNOPT")
        except Exception as error:  # pyoptsparse has an error class of its own
            raise MissingSolverError(
                "The package 'pyoptsparse' has no SNOPT, which needs a licence, and the variable "
                "PYOPTSPARSE_IMPORT_SNOPT_FROM set to the folder of its library "
                f"({' '.join(str(error).split())})"
            ) from None

    @override
    def solve(self, program: NonlinearProgram, start: Start, settings: Settings, watch: Watch) -> Outcome:
        """Solve the program from a starting point."""
        package = importlib.import_module("pyoptsparse")
        given = {NAMES[name]: value for name, value in self.checked_options(settings.options).items()}
        options = {
            "Major optimality tolerance": settings.tolerance,
            "Major feasibility tolerance": settings.tolerance,
            "Major iterations limit": int(settings.max_iterations),
            "Iterations limit": 1_000_000,
            "iPrint": 0,
            "iSumm": 0,
            **given,
        }
        asked = _Asked(program, watch)
        problem = asked.problem(package, start.z)
        solution = package.OPT("SNOPT", options=options)(problem, sens=asked.slopes)
        z = np.array(solution.xStar["z"], dtype=np.float64)
        inform = solution.optInform
        code = int(inform["value"] if isinstance(inform, Mapping) else inform.value)
        multipliers, low, high = estimated_multipliers(program, z)
        status = watch.stopped or _status(code)
        return Outcome(z, multipliers, (low, high), status, asked.count, f"code {code}", self.name)


def _status(code: int) -> Status:
    return Status.INFEASIBLE if code in INFEASIBLE else ENDED.get(code, Status.FAILED)


class _Asked:
    """The program as pyoptsparse asks for it."""

    def __init__(self, program: NonlinearProgram, watch: Watch) -> None:
        self.program, self.watch, self.count = program, watch, 0

    def problem(self, package: Any, z: Array) -> Any:
        """Unknowns, rows with their places, objective."""
        program = self.program
        found = package.Optimization("motion", self.values)
        found.addVarGroup("z", program.n, value=z, lower=program.x_lower, upper=program.x_upper)
        if program.m:
            sparsity = {"z": self._sparse(np.ones(len(program.jacobian_rows)))}
            found.addConGroup(
                "g", program.m, lower=program.lower, upper=program.upper, wrt=["z"], jac=sparsity
            )
        found.addObj("f")
        return found

    def values(self, at: Mapping[str, Array]) -> tuple[dict[str, Any], int]:
        """Objective and rows."""
        z = np.asarray(at["z"], dtype=np.float64)
        found: dict[str, Any] = {"f": self.program.objective(z)}
        if self.program.m:
            found["g"] = self.program.constraints(z)
        return found, 0 if self.watch.goes_on() else STOP

    def slopes(self, at: Mapping[str, Array], values: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        """Their derivatives; asked for once in every iteration."""
        z = np.asarray(at["z"], dtype=np.float64)
        self.count += 1
        found: dict[str, Any] = {"f": {"z": self.program.gradient(z)}}
        if self.program.m:
            found["g"] = {"z": self._sparse(self.program.jacobian(z))}
        f, worst = float(np.asarray(values["f"]).ravel()[0]), infeasibility(self.program, z)
        return found, 0 if self.watch.see(self.count, z, f, worst) else STOP

    def _sparse(self, entries: Array) -> dict[str, Any]:
        program = self.program
        return {
            "coo": [program.jacobian_rows, program.jacobian_columns, entries],
            "shape": [program.m, program.n],
        }
