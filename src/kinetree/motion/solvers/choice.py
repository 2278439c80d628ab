"""Which solvers there are, and which to try in what order."""

from __future__ import annotations

from kinetree.errors import InputError, unknown_name
from kinetree.motion.program import Program
from kinetree.motion.solvers.interface import Solver
from kinetree.motion.solvers.interior import InteriorPoint
from kinetree.motion.solvers.ipopt import Ipopt
from kinetree.motion.solvers.slsqp import Slsqp
from kinetree.motion.solvers.uno import Uno

LARGE = 800  # unknowns from which sparse factors are quicker than dense ones
SOLVERS: dict[str, Solver] = {"interior": InteriorPoint(), "ipopt": Ipopt(), "uno": Uno(), "slsqp": Slsqp()}


def chosen_solvers(name: str, program: Program) -> list[Solver]:
    """The solver asked for, or for "auto" those that are installed, the most suitable first."""
    if name == "auto":
        order = ("interior", "ipopt", "uno") if program.n <= LARGE else ("ipopt", "interior", "uno")
        return [SOLVERS[key] for key in order if SOLVERS[key].is_installed()]
    if name not in SOLVERS:
        raise InputError(unknown_name("solver", name, ("auto", *SOLVERS)))
    SOLVERS[name].check_installed()
    return [SOLVERS[name]]
