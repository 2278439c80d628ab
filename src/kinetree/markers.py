"""Motion capture: trials of markers and force plates, poses from markers, models scaled to a person.

>>> import kinetree as kt
>>> kt.markers.Trial(("toe",), [0.0], [[[0.0, 0.1, 0.0]]]).markers
('toe',)
"""

from typing import TYPE_CHECKING

from kinetree.capture.dynamics import dynamics, read_motion
from kinetree.capture.external_loads import read_forces, write_forces
from kinetree.capture.files import read_trial, write_trial
from kinetree.capture.ground_reactions import ground_reactions
from kinetree.capture.laboratory import Laboratory, laboratory
from kinetree.capture.motion import low_passed, spline_motion
from kinetree.capture.scale import Measurement, ScaledModel, read_markers, read_measurements, scale
from kinetree.capture.track import Tracked, read_weights, track
from kinetree.capture.trial import GroundForce, Trial
from kinetree.other_names import names_of

__all__ = [
    "GroundForce",
    "Laboratory",
    "Measurement",
    "ScaledModel",
    "Tracked",
    "Trial",
    "dynamics",
    "ground_reactions",
    "laboratory",
    "low_passed",
    "read_forces",
    "read_markers",
    "read_measurements",
    "read_motion",
    "read_trial",
    "read_weights",
    "scale",
    "spline_motion",
    "track",
    "write_forces",
    "write_trial",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
