"""Which solvers there are, and which to try in what order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kinetree.errors import InputError, shown, unknown_name
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.solvers.interface import Solver
from kinetree.motion.solvers.interior import InteriorPoint
from kinetree.motion.solvers.ipopt import Ipopt
from kinetree.motion.solvers.slsqp import Slsqp

SolverName = Literal["auto", "interior", "ipopt", "slsqp"]
LARGE = 800  # unknowns from which sparse factors are quicker than dense ones
SOLVERS: dict[str, Solver] = {"interior": InteriorPoint(), "ipopt": Ipopt(), "slsqp": Slsqp()}


def chosen_solvers(
    name: str, program: NonlinearProgram, options: Mapping[str, Any] | None = None
) -> list[Solver]:
    """The solver asked for, or for "auto" those that are installed, the most suitable first.

    The one asked for is known to take the options.
    """
    if options is not None and not isinstance(options, Mapping):
        raise InputError(f"options map names to values, got {shown(options)}")
    if name == "auto":
        if options:
            raise InputError(f"options need a named solver: {_takers(next(iter(options)))}")
        order = ("interior", "ipopt") if program.n <= LARGE else ("ipopt", "interior")
        found = [SOLVERS[key] for key in order if SOLVERS[key].is_installed()]
    elif name in SOLVERS:
        SOLVERS[name].check_installed()
        found = [SOLVERS[name]]
    else:
        raise InputError(unknown_name("solver", name, ("auto", *SOLVERS)))
    for solver in found:
        solver.checked_options(options)
    return found


def _takers(option: str) -> str:
    """Which solvers know an option."""
    takers = [key for key, solver in SOLVERS.items() if option in solver.allowed]
    return f"solver='{takers[0]}' takes '{option}'" if takers else f"none takes '{option}'"
