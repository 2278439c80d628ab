"""Prescribed motions: one interface, from a cycloid to the gait of a six-legged robot.

>>> import kinetree.trajectories as trajectories
>>> reach = trajectories.cycloid([0.0, 0.0], [1.0, 0.5], duration=2.0)
>>> trajectories.sequence(reach, trajectories.hold([1.0, 0.5], 1.0)).duration
3.0
"""

from typing import TYPE_CHECKING

import lazy_loader  # type: ignore[import-untyped]

from kinetree.algebra.bspline import BSplineBasis
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.leg_chains import Leg, named_legs
from kinetree.other_names import names_of
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.circular import circle
from kinetree.trajectories.combined import repeat, sequence
from kinetree.trajectories.cycloidal import cycloid, half_turn
from kinetree.trajectories.gait import LeggedGait, SupportPhase
from kinetree.trajectories.gait_parameters import (
    HEXAPOD,
    PLANAR_BIPED,
    QUADRUPED,
    SPATIAL_BIPED,
    GaitParameters,
)
from kinetree.trajectories.inverted_pendulum import InvertedPendulum
from kinetree.trajectories.leg_kinematics import LegAngles, leg_angles, leg_motion
from kinetree.trajectories.polynomials import PolynomialTrajectory, cubic, hold, quintic
from kinetree.trajectories.spline_sensitivity import SplineSensitivity, spline_sensitivity
from kinetree.trajectories.splines import bspline, interpolate
from kinetree.trajectories.swing_foot import SwingFoot
from kinetree.trajectories.tabulated_motion import from_table, read_csv
from kinetree.trajectories.timed_path import TimedPath, retime
from kinetree.trajectories.tool_path import ToolPath
from kinetree.trajectories.trapezoid import trapezoidal
from kinetree.trajectories.walking import biped_gait, legged_gait, tripod, trot

if TYPE_CHECKING:
    from kinetree.trajectories.following import FollowedMotion, follow
    from kinetree.trajectories.tool_motions import tool_circle, tool_line, tool_through

__all__ = [
    "HEXAPOD",
    "PLANAR_BIPED",
    "QUADRUPED",
    "SPATIAL_BIPED",
    "BSplineBasis",
    "FollowedMotion",
    "GaitParameters",
    "InvertedPendulum",
    "Leg",
    "LegAngles",
    "LeggedGait",
    "PiecewisePolynomial",
    "PolynomialTrajectory",
    "SplineSensitivity",
    "SupportPhase",
    "SwingFoot",
    "TimedPath",
    "ToolPath",
    "Trajectory",
    "biped_gait",
    "bspline",
    "circle",
    "cubic",
    "cycloid",
    "follow",
    "from_table",
    "half_turn",
    "hold",
    "interpolate",
    "leg_angles",
    "leg_motion",
    "legged_gait",
    "named_legs",
    "quintic",
    "read_csv",
    "repeat",
    "retime",
    "sequence",
    "spline_sensitivity",
    "tool_circle",
    "tool_line",
    "tool_through",
    "trapezoidal",
    "tripod",
    "trot",
]

_LATER = {  # what follows from closed loops and inverse kinematics, which take time to load
    "following": ["FollowedMotion", "follow"],
    "tool_motions": ["tool_circle", "tool_line", "tool_through"],
}
if not TYPE_CHECKING:  # a checker knows the names
    _found, *_ = lazy_loader.attach(__name__, submod_attrs=_LATER)
    __getattr__ = names_of(__name__, __all__, _found)


def __dir__() -> list[str]:
    return list(__all__)
