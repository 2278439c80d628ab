"""Evaluation of a sweep: quantiles and convergence, distinct optima, Pareto fronts, sensitivities, cases.

>>> import kinetree as kt
>>> def height(arm, angle):
...     import kinetree as kt
...     return float(kt.center_of_mass(arm, [angle, 0.0])[1])
>>> angles = {"angle": {"uniform": [0.0, 1.0]}}
>>> found = kt.sweep(height, angles, samples=8, kind="monte_carlo", mechanism=kt.zoo.two_link(), workers=1)
>>> kt.sweeps.quantiles(found, "value").dims
('quantile',)
"""

from typing import TYPE_CHECKING

from kinetree.other_names import names_of
from kinetree.sweeps.analysis import (
    Convergence,
    Optimum,
    Sensitivity,
    convergence,
    optima,
    pareto_front,
    quantiles,
    sensitivity,
)
from kinetree.sweeps.status import SweepStatus, sweep_status
from kinetree.sweeps.sweep import case_result

__all__ = [
    "Convergence",
    "Optimum",
    "Sensitivity",
    "SweepStatus",
    "case_result",
    "convergence",
    "optima",
    "pareto_front",
    "quantiles",
    "sensitivity",
    "sweep_status",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
