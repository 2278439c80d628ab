"""Muscles of a mechanism: lengths, moment arms, forces, and how they share the torques of joints.

>>> import kinetree as kt
>>> arm = kt.zoo.muscle_arm()
>>> kt.muscles.lengths(arm, [0.0, 1.0]).shape
(6,)
"""

from typing import TYPE_CHECKING

from kinetree.analysis.muscle_forces import activation_rate as activation_rate
from kinetree.analysis.muscle_forces import forces as forces
from kinetree.analysis.muscle_forces import metabolic_rate as metabolic_rate
from kinetree.analysis.muscle_forces import torques as torques
from kinetree.analysis.muscle_forces import wrenches as wrenches
from kinetree.analysis.muscle_sharing import Sharing as Sharing
from kinetree.analysis.muscle_sharing import Shortage as Shortage
from kinetree.analysis.muscle_sharing import share as share
from kinetree.analysis.muscles import Jump as Jump
from kinetree.analysis.muscles import jumps as jumps
from kinetree.analysis.muscles import lengths as lengths
from kinetree.analysis.muscles import moment_arms as moment_arms
from kinetree.analysis.muscles import paths as paths
from kinetree.analysis.muscles import rates as rates
from kinetree.dynamics.muscles.hill import FiberState as FiberState
from kinetree.other_names import names_of
from kinetree.report.muscle_plot import plot_activations as plot

__all__ = [
    "FiberState",
    "Jump",
    "Sharing",
    "Shortage",
    "activation_rate",
    "forces",
    "jumps",
    "lengths",
    "metabolic_rate",
    "moment_arms",
    "paths",
    "plot",
    "rates",
    "share",
    "torques",
    "wrenches",
]
if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
