"""Comparison with measured gait: the cycle of a leg, measured walking, scores; motions over several strides.

>>> import kinetree as kt
>>> kt.gait_analysis.measured_walking("arnold5").speed.__round__(2)
1.25
"""

from typing import TYPE_CHECKING

from kinetree.gait_data.curves import ALL as CURVES
from kinetree.gait_data.cycle import GaitCycle, gait_cycle, stance_share
from kinetree.gait_data.ground import ground_variables
from kinetree.gait_data.measured import DATA_SETS, Measured, measured_squat, measured_walking
from kinetree.gait_data.opensim import human_coordinates, opensim_coordinates
from kinetree.gait_data.score import CurveScore, GaitScore, gait_score, vertical_peaks
from kinetree.gait_data.strides import strides
from kinetree.other_names import names_of
from kinetree.report.gait_plot import plot_gait
from kinetree.result.opensim import OpenSimTable, read_opensim
from kinetree.study.measured_gait import read_measured_walking

__all__ = [
    "CURVES",
    "DATA_SETS",
    "CurveScore",
    "GaitCycle",
    "GaitScore",
    "Measured",
    "OpenSimTable",
    "gait_cycle",
    "gait_score",
    "ground_variables",
    "human_coordinates",
    "measured_squat",
    "measured_walking",
    "opensim_coordinates",
    "plot_gait",
    "read_measured_walking",
    "read_opensim",
    "stance_share",
    "strides",
    "vertical_peaks",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
