"""Markers: named points of bodies that motion capture sees."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kinetree.algebra.arrays import number, vector
from kinetree.algebra.placement import Places
from kinetree.errors import ModelError, must_be
from kinetree.model.body import checked_name
from kinetree.model.inertia import LARGEST


@dataclass(frozen=True)
class Marker:
    """A point that motion capture sees, at ``position`` (3,) in the frame of the ``body`` (m).

    ``weight`` (no unit) is how much its error counts where poses are found from measured markers; zero: it is
    shown only.

    >>> Marker("R.Knee", "femur_r", (0.0, -0.4, 0.05)).weight
    1.0
    """

    name: str
    body: str
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    weight: float = 1.0

    def __post_init__(self) -> None:
        what = f"marker '{checked_name(self.name, 'a marker')}'"
        checked_name(self.body, f"{what}: body")
        place = vector(self.position, 3, f"{what}: position", ModelError)
        if np.abs(place).max() > LARGEST:
            raise ModelError(must_be(f"{what}: position", f"at most {LARGEST:g} m away", place.tolist()))
        object.__setattr__(self, "position", tuple(place.tolist()))
        weight = number(self.weight, f"{what}: weight", ModelError)
        if weight < 0.0:
            raise ModelError(must_be(f"{what}: weight", ">= 0", weight, "g"))
        object.__setattr__(self, "weight", weight)


def carried_marker(marker: Marker, places: Places) -> Marker:
    """The marker on the body that carries its body now."""
    if marker.body not in places:
        return marker
    body, frame = places[marker.body]
    x, y, z = (frame.rotation @ np.array(marker.position) + frame.position).tolist()
    return replace(marker, body=body, position=(x, y, z))
