"""Points and directions fixed in bodies: where they are along a motion, with first and second derivatives.

With the joint axes w_i from the base outwards, d x/dq_j = J_j and d2 x/dq_i dq_j = w_i x J_j for i before j.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, vector
from kinetree.algebra.bspline import Integers
from kinetree.dynamics.axis_motion import axis_poses
from kinetree.dynamics.coupling import axis_slopes, on_axes
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS
from kinetree.motion.compiled.points import compiled, point_bend, point_change, point_slopes

T = TypeVar("T")


class Axes(NamedTuple):
    """Frames of the n axes of a tree at m samples, with the world as the last entry."""

    rotation: Array  # (m, n + 1, 3, 3)
    position: Array  # (m, n + 1, 3)


class AxisFrames:
    """Frames of all axes at the samples of a motion, and which coordinates move."""

    def __init__(self, mechanism: Mechanism, moving: Integers, q: Array, qd: Array) -> None:
        tree = mechanism.tree
        self.mechanism, self.moving = mechanism, moving
        at, self.qd = on_axes(tree, q, qd)
        self.axes = Axes(*axis_poses(tree, at))
        self.slopes = None if tree.coupling is None else np.asarray(axis_slopes(tree, at))
        laws = None if tree.coupling is None else tree.coupling.laws
        self.bends = None if tree.coupling is None or laws is None else tree.coupling.derivative(q, 2)
        self.known: dict[tuple[Place, str], Any] = {}  # of places, each computed once

    def part(self, part: slice, moving: Integers | None = None) -> AxisFrames:
        """Frames at some of the samples, computed for all at once; other coordinates may count as moving."""
        some = AxisFrames.__new__(AxisFrames)
        some.mechanism, some.moving = self.mechanism, self.moving if moving is None else moving
        some.qd, some.known = self.qd[part], {}
        some.axes = Axes(self.axes.rotation[part], self.axes.position[part])
        some.bends = None if self.bends is None else self.bends[part]
        some.slopes = self.slopes if self.bends is None or self.slopes is None else self.slopes[part]
        return some

    def carried(self, by_axis: Array, path: list[int]) -> Array:
        """Columns over path axes (..., k) as columns over the moving coordinates (..., n)."""
        tree = self.mechanism.tree
        if tree.coupling is None:
            full = np.zeros((*by_axis.shape[:-1], tree.n))
            full[..., path] = by_axis
            return full[..., self.moving]
        carried: Array = np.matmul(by_axis, self._columns(path))
        return carried

    def _columns(self, path: list[int]) -> Array:
        """Slopes of path axes by what moves, ([m,] k, n)."""
        assert self.slopes is not None
        return np.asarray(self.slopes[..., path, :][..., self.moving])

    def bent(self, by_axis: Array, path: list[int]) -> Array:
        """How slopes (m, ..., k) by path axes change with the coordinates that these follow, (m, ..., n)."""
        coupling = self.mechanism.tree.coupling
        assert coupling is not None
        if self.bends is None:
            return np.zeros((*by_axis.shape[:-1], len(self.moving)))
        bends = self.bends[:, path].reshape(len(self.bends), *[1] * (by_axis.ndim - 2), len(path))
        found: Array = (by_axis * bends) @ coupling.followed[path][:, self.moving]
        return found

    def own(self, weight: Array, path: list[int]) -> Array:
        """Rates (m, n) of the moving coordinates as rates of path axes (m, k)."""
        tree = self.mechanism.tree
        if tree.coupling is None:
            full = np.zeros((len(weight), tree.n))
            full[:, self.moving] = weight
            return full[:, path]
        rates: Array = (self._columns(path) @ weight[..., None])[..., 0]
        return rates

    def followed_at(self, weight: Array, path: list[int]) -> Array:
        """Rates (m, n) of the moving coordinates as those of the leaders of path axes (m, k)."""
        coupling = self.mechanism.tree.coupling
        assert coupling is not None
        found: Array = weight @ coupling.followed[path][:, self.moving].T
        return found


class Place:
    """A point (m) of a body, or a direction in it; of the world if body is "world"."""

    def __init__(self, mechanism: Mechanism, body: str, at: ArrayLike, *, direction: bool = False) -> None:
        self.local, self.direction, self.body = vector(at, 3, f"point of '{body}'"), direction, body
        tree = mechanism.tree
        self.path: list[int] = []
        self.rotation, self.position, self.axis = np.eye(3), np.zeros(3), WORLD_AXIS
        if body == WORLD:
            return
        k = mechanism.body_index(body)
        self.axis = int(tree.body_axis[k])
        self.rotation, self.position = tree.body_rotation[k], tree.body_position[k]
        i = self.axis
        while i != WORLD_AXIS:
            self.path.insert(0, i)
            i = int(tree.parent[i])
        self.turns = tree.turns[self.path]
        self._path = np.array(self.path, dtype=np.int64)
        self._places: tuple[Integers, Integers] | None = None  # what moves, and where the path is among it

    def _axes(self, frames: AxisFrames) -> tuple[Any, ...]:
        """What compiled derivatives need of the axes and of the point."""
        if self._places is None or self._places[0] is not frames.moving:
            number = np.full(frames.mechanism.tree.n, -1)
            number[frames.moving] = np.arange(len(frames.moving))
            self._places = frames.moving, number[self._path]
        x, axes = self.position_of(frames), frames.axes
        return axes.rotation, axes.position, self._path, self.turns, self._places[1], x, self.direction

    def position_of(self, frames: AxisFrames) -> Array:
        """Where it is in the world, (m, 3)."""
        return self._known(frames, "position", self._position)

    def _known(self, frames: AxisFrames, what: str, compute: Callable[[AxisFrames], T]) -> T:
        key = self, what
        if key not in frames.known:
            frames.known[key] = compute(frames)
        found: T = frames.known[key]
        return found

    def _position(self, frames: AxisFrames) -> Array:
        inside = self.rotation @ self.local
        R, p = frames.axes.rotation[:, self.axis], frames.axes.position[:, self.axis]
        return R @ inside if self.direction else R @ (inside + self.position) + p

    def _axis_columns(self, frames: AxisFrames) -> tuple[Array, Array]:
        """Angular velocity and velocity per unit joint rate of every axis on the path, (m, k, 3) each."""
        return self._known(frames, "columns", self._computed_columns)

    def _computed_columns(self, frames: AxisFrames) -> tuple[Array, Array]:
        z = frames.axes.rotation[..., 2][:, self.path]
        w = np.where(self.turns[:, None], z, 0.0)
        x = self.position_of(frames)[:, None]
        if self.direction:
            return w, cross(w, x)
        arm = x - frames.axes.position[:, self.path]
        return w, np.where(self.turns[:, None], cross(z, arm), z)

    def slopes(self, frames: AxisFrames) -> Array:
        """d position / dq of the moving coordinates, (m, 3, n)."""
        return self._known(frames, "slopes", self._computed_slopes)

    def _computed_slopes(self, frames: AxisFrames) -> Array:
        if not self.path:
            return np.zeros((len(frames.qd), 3, len(frames.moving)))
        if frames.mechanism.tree.coupling is None:
            found = np.zeros((len(frames.qd), 3, len(frames.moving)))
            compiled(point_slopes)(*self._axes(frames), found)
            return found
        _, J = self._axis_columns(frames)
        return frames.carried(np.swapaxes(J, 1, 2), self.path)

    def bend(self, frames: AxisFrames, weight: Array) -> Array:
        """Second derivatives of weight . position with respect to q, (m, n, n); weight (m, 3)."""
        if not self.path:
            n = len(frames.moving)
            return np.zeros((len(weight), n, n))
        if frames.mechanism.tree.coupling is None:
            found = np.zeros((len(weight), len(frames.moving), len(frames.moving)))
            compiled(point_bend)(*self._axes(frames), weight, found)
            return found
        w, J = self._axis_columns(frames)
        upper = np.triu(cross(weight[:, None], w) @ np.swapaxes(J, 1, 2))
        H = upper + np.swapaxes(np.triu(upper, 1), 1, 2)
        rows = frames.carried(H, self.path)
        found = frames.carried(np.swapaxes(rows, 1, 2), self.path)
        if frames.bends is not None:
            further = frames.bent((J @ weight[..., None])[..., 0], self.path)
            found = found + further[..., None] * np.eye(further.shape[-1])
        return found

    def change(self, frames: AxisFrames, weight: Array) -> Array:
        """d(J weight) / dq for weights (m, n) of the moving coordinates, (m, 3, n)."""
        if not self.path:
            return np.zeros((len(weight), 3, len(frames.moving)))
        if frames.mechanism.tree.coupling is None:
            found = np.zeros((len(weight), 3, len(frames.moving)))
            compiled(point_change)(*self._axes(frames), weight, found)
            return found
        w, J = self._axis_columns(frames)
        some = frames.own(weight, self.path)
        # w_i x (sum_j>=i J_j y_j) + (sum_j<i w_j y_j) x J_i
        outer = np.cumsum((some[..., None] * J)[:, ::-1], axis=1)[:, ::-1]
        inner = np.cumsum(some[..., None] * w, axis=1) - some[..., None] * w
        found = frames.carried(np.swapaxes(cross(w, outer) + cross(inner, J), 1, 2), self.path)
        return found + self._bent_columns(frames, weight, J)

    def _bent_columns(self, frames: AxisFrames, weight: Array, columns: Array) -> Array | float:
        """What slopes of axes that follow by functions add to d(J weight) / dq, (m, 3, n)."""
        if frames.bends is None:
            return 0.0
        by_axis = frames.followed_at(weight, self.path)[..., None] * columns
        return frames.bent(np.swapaxes(by_axis, 1, 2), self.path)


class BodySpin(Place):
    """How a body rotates: its angular velocity by joint rates, with derivatives."""

    def __init__(self, mechanism: Mechanism, body: str) -> None:
        super().__init__(mechanism, body, (0.0, 0.0, 0.0), direction=True)

    def slopes(self, frames: AxisFrames) -> Array:
        """Angular velocity per unit rate of the moving coordinates, (m, 3, n)."""
        if not self.path:
            return np.zeros((len(frames.qd), 3, len(frames.moving)))
        w, _ = self._axis_columns(frames)
        return frames.carried(np.swapaxes(w, 1, 2), self.path)

    def change(self, frames: AxisFrames, weight: Array) -> Array:
        """d(J_w weight) / dq for weights (m, n), (m, 3, n): dw_j / dq_i = w_i x w_j for i before j."""
        if not self.path:
            return np.zeros((len(weight), 3, len(frames.moving)))
        w, _ = self._axis_columns(frames)
        parts = frames.own(weight, self.path)[..., None] * w
        outer = np.cumsum(parts[:, ::-1], axis=1)[:, ::-1] - parts
        found = frames.carried(np.swapaxes(cross(w, outer), 1, 2), self.path)
        return found + self._bent_columns(frames, weight, w)


def cross(a: Array, b: Array) -> Array:
    """Vector products over the last axis; quicker than NumPy's for few vectors."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)
