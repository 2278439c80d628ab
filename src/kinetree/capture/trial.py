"""A trial: where markers are over time, and what force plates feel."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.algebra.rotation import rotation_matrix
from kinetree.algebra.shown import Shown
from kinetree.errors import FileError, InputError, shown, unknown_name

LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "meters": 1.0, "millimeters": 1e-3, "in": 0.0254}
UPRIGHT = {  # rotations that bring an axis which points up to y
    "y": np.eye(3),
    "z": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "x": np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]]),
}


@dataclass(frozen=True, eq=False)
class GroundForce:
    """A force on a body over time, as a force plate gives it: the ground's on the foot, in world axes.

    ``time`` (n,) s; ``force`` (n, 3) N, which acts at ``point`` (n, 3) m, and ``moment`` (n, 3) N m about
    that point. ``body`` is the body that it acts on, where a file says so.

    >>> GroundForce("plate", [0.0], [[0, 700, 0]], [[0.1, 0, 0.2]], [[0, 3, 0]], "calcn_r").body
    'calcn_r'
    """

    name: str
    time: Array
    force: Array
    point: Array
    moment: Array
    body: str | None = None

    def __post_init__(self) -> None:
        what = f"force '{self.name}'"
        time = finite(numbers(self.time, f"{what}: time"), f"{what}: time")
        object.__setattr__(self, "time", frozen(time))
        for key in ("force", "point", "moment"):
            values = finite(numbers(getattr(self, key), f"{what}: {key}"), f"{what}: {key}")
            if values.shape != (len(time), 3):
                raise InputError(f"{what}: {key} must have shape ({len(time)}, 3), got shape {values.shape}")
            object.__setattr__(self, key, frozen(values))

    def at(self, time: Array) -> GroundForce:
        """The same at other times, between its samples in straight lines; zero outside."""
        force, point, moment = (
            np.stack([np.interp(time, self.time, x, left=0.0, right=0.0) for x in values.T], axis=1)
            for values in (self.force, self.point, self.moment)
        )
        return GroundForce(self.name, time, force, point, moment, self.body)

    def turned(self, R: Array) -> GroundForce:
        """The same in other axes."""
        return replace(self, force=self.force @ R.T, point=self.point @ R.T, moment=self.moment @ R.T)


@dataclass(frozen=True, eq=False, repr=False)
class Trial(Shown):
    """Markers over time: ``positions`` (frames, markers, 3) in m, NaN where one was not seen; ``time`` in s.

    ``forces`` are those of the ground; ``source`` is the file that it comes from.

    >>> import numpy as np
    >>> trial = Trial(("toe", "heel"), [0.0, 0.01], np.zeros((2, 2, 3)))
    >>> trial.rate, trial.of("heel").shape
    (100.0, (2, 3))
    """

    markers: tuple[str, ...]
    time: Array
    positions: Array
    forces: tuple[GroundForce, ...] = ()
    source: str = ""
    units: str = field(default="m", repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "markers", tuple(self.markers))
        time = finite(numbers(self.time, "time of a trial"), "time of a trial")
        positions = numbers(self.positions, "positions of markers")
        shape = (len(time) if time.ndim == 1 else 0, len(self.markers), 3)
        if time.ndim != 1 or positions.shape != shape:
            raise InputError(
                f"positions of markers must have shape (frames, markers, 3), here {shape}, got shape "
                f"{positions.shape}"
            )
        if (np.diff(time) <= 0.0).any():
            k = int(np.argmax(np.diff(time) <= 0.0))
            raise InputError(f"times of a trial must increase, got {time[k + 1]:g} s after {time[k]:g} s")
        if np.isinf(positions).any():
            raise InputError("positions of markers must be finite, or NaN where one was not seen")
        twice = [x for k, x in enumerate(self.markers) if x in self.markers[:k]]
        if twice:
            raise InputError(f"two markers of the trial are called {shown(twice[0])}")
        object.__setattr__(self, "time", frozen(time))
        object.__setattr__(self, "positions", frozen(positions))

    @property
    def rate(self) -> float:
        """Frames per second, on average."""
        return (
            float(np.round((len(self.time) - 1) / (self.time[-1] - self.time[0]), 6))
            if len(self.time) > 1
            else 0.0
        )

    def of(self, marker: str) -> Array:
        """Positions (frames, 3) of one marker."""
        if marker not in self.markers:
            raise InputError(unknown_name("marker", marker, self.markers))
        found: Array = self.positions[:, self.markers.index(marker)]
        return found

    def between(self, start: float, end: float) -> Trial:
        """The frames from a time to another, both included; forces stay whole."""
        inside = (self.time >= start - 1e-9) & (self.time <= end + 1e-9)
        if not inside.any():
            raise InputError(
                f"the trial has no frame from {start:g} to {end:g} s; it has those from {self.time[0]:g} to "
                f"{self.time[-1]:g} s"
            )
        return replace(self, time=self.time[inside], positions=self.positions[inside])

    def turned(self, rotation: ArrayLike) -> Trial:
        """The same in other axes: x_new = rotation x."""
        R = rotation_matrix(rotation, "rotation of a trial")
        return replace(
            self, positions=self.positions @ R.T, forces=tuple(force.turned(R) for force in self.forces)
        )

    def with_up(self, axis: str, to: str = "y") -> Trial:
        """The same with the axis that points up, such as "z" of many laboratories, along another.

        >>> lab = Trial(("head",), [0.0], [[[0.0, 0.0, 1.7]]])
        >>> lab.with_up("z").positions[0, 0].tolist()
        [0.0, 1.7, 0.0]
        """
        for name in (axis, to):
            if name not in UPRIGHT:
                raise InputError(unknown_name("axis that points up", name, UPRIGHT))
        return self if axis == to else self.turned(UPRIGHT[to].T @ UPRIGHT[axis])


def unit_length(word: str, where: str) -> float:
    """A unit of length in m."""
    if word.lower() not in LENGTHS:
        raise FileError(f"{where}: {unknown_name('unit of length', word, LENGTHS)}")
    return LENGTHS[word.lower()]
