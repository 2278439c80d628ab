"""Force plates of types 1 to 4 of C3D files: from analog channels to force, point and moment of the ground.

Axes of a plate follow its corners: x from the middle of corners 2 and 3 to that of 1 and 4, y from that of
3 and 4 to that of 1 and 2, z = x cross y; channels give the reaction on the foot in these axes (The C3D File
Format: User Guide, "FORCE_PLATFORM").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.capture.trial import GroundForce
from kinetree.errors import FileError

CHANNELS = {1: 6, 2: 6, 3: 8, 4: 6}
LOADED = 10.0  # N across a plate: below, there is no center of pressure


@dataclass(frozen=True, eq=False)
class Plate:
    """A plate: type, corners (4, 3) in the laboratory and origin (3,) in m, calibration (6, 6) of type 4."""

    name: str
    type: int
    corners: Array
    origin: Array
    calibration: Array | None = None

    @property
    def axes(self) -> Array:
        """The rotation (3, 3) from axes of the plate to those of the laboratory."""
        a, b, c, d = self.corners
        x, along = (a + d) - (b + c), (a + b) - (c + d)
        z = np.cross(x, along)
        if not np.linalg.norm(x) or not np.linalg.norm(z):
            raise FileError(f"{self.name}: its corners are no rectangle: {self.corners.tolist()}")
        x, z = x / np.linalg.norm(x), z / np.linalg.norm(z)
        return np.stack([x, np.cross(z, x), z], axis=1)


def plate_force(plate: Plate, time: Array, channels: Array, length: float, moment: float) -> GroundForce:
    """What the ground does, from ``channels`` (n, 6 or 8) in N and units of moment, ``length`` in m.

    ``length`` and ``moment`` are the units of the file in m and N m.
    """
    if plate.type not in CHANNELS:
        raise FileError(f"{plate.name}: plates of type {plate.type} are not read; types 1 to 4 are")
    if channels.shape[1] < CHANNELS[plate.type]:
        raise FileError(
            f"{plate.name}: a plate of type {plate.type} has {CHANNELS[plate.type]} channels, got "
            f"{channels.shape[1]}"
        )
    force, at, turn = _in_plate(plate, channels, length, moment)
    loaded = np.abs(force[:, 2]) > LOADED
    force, at, turn = (np.where(loaded[:, None], x, 0.0) for x in (force, at, turn))
    R, center = plate.axes, plate.corners.mean(axis=0)
    point = np.where(loaded[:, None], at @ R.T + center, 0.0)
    return GroundForce(plate.name, time, force @ R.T, point, turn @ R.T)


def _in_plate(plate: Plate, c: Array, length: float, moment: float) -> tuple[Array, Array, Array]:
    """Force, its point on the surface and the moment there, in axes of the plate."""
    if plate.type == 1:
        still = np.zeros(len(c))
        at = length * np.stack([c[:, 3], c[:, 4], still], axis=1)
        return c[:, :3], at, moment * np.stack([still, still, c[:, 5]], axis=1)
    if plate.type == 3:
        force, about = _kistler(plate, c)
        about = about + np.cross(force, np.array([0.0, 0.0, plate.origin[2]]))
    else:
        six = c[:, :6] if plate.calibration is None else c[:, :6] @ plate.calibration.T
        origin = plate.origin * np.array([1.0, 1.0, -np.sign(plate.origin[2] or -1.0)])
        force, about = six[:, :3], moment * six[:, 3:6]
        about = about + np.cross(force, origin)
    down = np.where(np.abs(force[:, 2]) > LOADED, force[:, 2], np.inf)
    x, y = -about[:, 1] / down, about[:, 0] / down
    still = np.zeros(len(c))
    turn = about[:, 2] - x * force[:, 1] + y * force[:, 0]
    return force, np.stack([x, y, still], axis=1), np.stack([still, still, turn], axis=1)


def _kistler(plate: Plate, c: Array) -> tuple[Array, Array]:
    """Force and moment about the origin of the sensors, from eight channels of four sensors at (+-a, +-b)."""
    fx12, fx34, fy14, fy23, z1, z2, z3, z4 = c[:, :8].T
    a, b, _ = np.abs(plate.origin)
    force = np.stack([fx12 + fx34, fy14 + fy23, z1 + z2 + z3 + z4], axis=1)
    about = [b * (z1 + z2 - z3 - z4), a * (-z1 + z2 + z3 - z4), b * (-fx12 + fx34) + a * (fy14 - fy23)]
    return force, np.stack(about, axis=1)
