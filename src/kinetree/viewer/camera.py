"""From where a mechanism is seen at first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.scene import Scene

FIELD = np.radians(40.0)  # of view, from the top to the bottom of the picture
AIR = 1.3  # the picture's height beside that of what it shows
FROM = (0.55, -0.85, 0.42)  # to the eye, beside up: across, along and up


class Camera(NamedTuple):
    """Where the eye is, what it looks at and what is up, each (3,)."""

    position: Array
    look_at: Array
    up: Array


def camera(scene: Scene, low: Array, high: Array) -> Camera:
    """The view that shows all between two corners (3,): along the normal if planar, else from the front."""
    middle = 0.5 * (low + high)
    radius = max(0.5 * float(np.linalg.norm(high - low)), 1e-3)
    distance = AIR * radius / np.tan(FIELD / 2.0)
    if scene.normal is not None:
        up = scene.up if abs(scene.up @ scene.normal) < 0.5 else np.roll(scene.normal, -1)
        towards = _facing(scene.normal)
    else:
        up = scene.up
        across, along = _level(up)
        towards = FROM[0] * across + FROM[1] * along + FROM[2] * up
    return Camera(middle + distance * towards / np.linalg.norm(towards), middle, up)


def _facing(normal: Array) -> Array:
    """The side of a plane that is looked at: x to the right where that can be."""
    along = int(np.argmax(np.abs(normal)))
    return -np.abs(normal) if along == 1 else np.abs(normal)


def _level(up: Array) -> tuple[Array, Array]:
    """Two level directions: x to the right and y away where up is z."""
    right = np.eye(3)[0] if abs(up[0]) < 0.9 else np.eye(3)[1]
    right = right - (right @ up) * up
    right = right / np.linalg.norm(right)
    return right, np.cross(up, right)
