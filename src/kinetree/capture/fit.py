"""Poses of a mechanism whose markers are nearest to measured ones, all frames of a trial together.

For every frame sum_i w_i |x_i(q) - y_i|^2 is least within the limits of the joints: Gauss and Newton's
method with damping (Levenberg 1944, Marquardt 1963), exact Jacobians. Every so many frames are solved
first, and all others begin between them; frames that are done are left out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import axis_poses
from kinetree.errors import InputError
from kinetree.model.marker import Marker
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Flags
from kinetree.state import independent_axes

EVERY = 8  # frames between those that are solved first
COARSE, FINE = 3e-2, 1e-4  # rad or m: the last step of a frame that is solved first, and of one that is done
MOST = 60  # steps
FIRST_DAMPING, LEAST_DAMPING, LESS, MORE = 1e-6, 1e-12, 0.1, 100.0
SAME = 1e-13  # relative growth of the sum that counts as none
MOST_DAMPING = 1e8
LETTERS = {
    "equations": "f4 f3 b1 f2 i1 i1 i1 i1 f2 f1 f3 f2 f1 f3 f2 f2",
    "damped_steps": "f3 f2 f2 f1 f1 b1 f1 f2 f1 f2",
}


@functools.cache
def compiled(name: str) -> Callable[..., None]:
    """Machine code of a function of `machine.fit`."""
    from kinetree.capture.machine import fit
    from kinetree.engine.door import BOOLEAN, FLOAT, INTEGER, array_type, compiled_function

    kinds = {"f": FLOAT, "i": INTEGER, "b": BOOLEAN}
    signature = [array_type(kinds[letter[0]], int(letter[1])) for letter in LETTERS[name].split()]
    return compiled_function(getattr(fit, name), signature, f"capture-{name}")


@dataclass(frozen=True, eq=False)
class Normal:
    """Normal equations of m frames: H (m, n, n), g (m, n), distances (m, k) and weighed sums of squares
    (m,).
    """

    H: Array
    g: Array
    error: Array
    cost: Array


class MarkerFit:
    """Markers of a mechanism: where they are, and the equations for poses nearest to measured places."""

    def __init__(self, mechanism: Mechanism, markers: Sequence[Marker], weights: Array) -> None:
        if mechanism.loops:
            raise InputError(
                f"mechanism '{mechanism.name}' has closed loops; markers are fitted to open trees, such as "
                "mechanism.opened()"
            )
        tree = mechanism.tree
        if tree.coupling is not None and tree.coupling.has_several.any():
            k = int(np.argmax(tree.coupling.has_several))
            raise InputError(
                f"joint '{tree.axis_names[k]}' follows several others, which the fit of markers does not "
                "support"
            )
        self.mechanism, self.tree, self.weights = mechanism, tree, np.ascontiguousarray(weights)
        axis, local, paths = [], [], []
        for marker in markers:
            k = mechanism.body_index(marker.body)
            axis.append(int(tree.body_axis[k]))
            local.append(tree.body_rotation[k] @ np.array(marker.position) + tree.body_position[k])
            paths.append(self._path(axis[-1]))
        self.axis, self.local = np.array(axis, dtype=np.int64), np.array(local).reshape(-1, 3)
        self.start = np.cumsum([0, *map(len, paths)])
        self.path = np.array([i for path in paths for i in path], dtype=np.int64)
        self.leader = np.arange(tree.n) if tree.coupling is None else np.array(tree.coupling.leader)
        self.longest = max(map(len, paths), default=1)
        own = independent_axes(mechanism)
        self.lower, self.upper = tree.lower[own].copy(), tree.upper[own].copy()

    def _path(self, axis: int) -> list[int]:
        found = []
        while axis != WORLD_AXIS:
            found.append(axis)
            axis = int(self.tree.parent[axis])
        return found[::-1]

    def poses(self, q: Array) -> tuple[Array, Array, Array]:
        """Rotations and positions of all axes, and their slopes by their leaders (m, axes)."""
        coupling = self.tree.coupling
        axes = np.ascontiguousarray(q if coupling is None else coupling.at(q))
        slope = np.ones((len(q), self.tree.n))
        if coupling is not None:
            slope[:] = coupling.linear[np.arange(self.tree.n), coupling.leader]
            if coupling.laws is not None:
                slope[:, coupling.laws.axes] = coupling.laws.at(q, 1)
        return (*axis_poses(self.tree, axes), slope)

    def equations(self, q: Array, y: Array) -> Normal:
        """The normal equations at poses q (m, n) for places y (m, k, 3)."""
        R, p, slope = self.poses(q)
        m, n, k = len(q), q.shape[1], len(self.axis)
        H, g, error = np.empty((m, n, n)), np.empty((m, n)), np.empty((m, k))
        J, x = np.empty((self.longest, 3)), np.empty(6)
        tables = (self.leader, self.start, self.path, self.axis, self.local, self.weights)
        compiled("equations")(R, p, self.tree.turns.copy(), slope, *tables, y, J, x, H, g, error)
        cost = np.nansum(self.weights * error**2, axis=1)
        return Normal(H, g, error, cost)

    def places(self, q: Array) -> Array:
        """Where the markers are, (m, k, 3)."""
        R, p, _ = self.poses(q)
        found: Array = (R[:, self.axis] @ self.local[:, :, None])[..., 0] + p[:, self.axis]
        return found

    def solve(self, q: Array, y: Array, moves: Flags, tolerance: float = FINE) -> tuple[Array, Array, Flags]:
        """Poses (m, n), distances (m, k) and whether each frame has come to rest; q is where they begin."""
        q, m = np.clip(q, self.lower, self.upper), len(q)
        todo, damping = np.arange(m), np.full(m, FIRST_DAMPING)
        now = self.equations(q, y)
        H, g, error, cost = now.H, now.g, now.error, now.cost
        done = np.zeros(m, dtype=bool)
        A, b = np.zeros((q.shape[1], q.shape[1] + 1)), np.empty(q.shape[1])
        for _ in range(MOST):
            if not len(todo):
                break
            step = np.empty((len(todo), q.shape[1]))
            bounds = self.lower, self.upper, np.ascontiguousarray(moves)
            compiled("damped_steps")(H, g, q[todo], *bounds, damping[todo], A, b, step)
            new = self.equations(q[todo] + step, np.ascontiguousarray(y[todo]))
            better = new.cost <= cost[todo] * (1.0 + SAME)
            good = todo[better]
            q[good] += step[better]
            cost[good], error[good] = new.cost[better], new.error[better]
            damping[todo] = np.clip(damping[todo] * np.where(better, LESS, MORE), LEAST_DAMPING, None)
            H[better], g[better] = new.H[better], new.g[better]
            size = np.abs(step).max(axis=1, initial=0.0)
            at_rest = (size <= tolerance) | (damping[todo] > MOST_DAMPING)
            done[todo[at_rest]] = True
            todo, H, g = todo[~at_rest], H[~at_rest], g[~at_rest]
        return q, error, done

    def trial(self, start: Array, y: Array, moves: Flags) -> tuple[Array, Array, Flags]:
        """`solve` for frames in a row: every so many first, the others from between these."""
        m = len(y)
        y = np.ascontiguousarray(y)
        if m <= 2 * EVERY:
            first, _, _ = self.solve(np.broadcast_to(start, (m, len(start))).copy(), y, moves, COARSE)
            return self.solve(first, y, moves)
        few = np.unique(np.append(np.arange(0, m, EVERY), m - 1))
        coarse, _, _ = self.solve(
            np.broadcast_to(start, (len(few), len(start))).copy(), np.ascontiguousarray(y[few]), moves, COARSE
        )
        coarse = self._one_branch(coarse)
        columns = [np.interp(np.arange(m), few, column) for column in coarse.T]
        return self.solve(np.stack(columns, axis=1), y, moves)

    def _one_branch(self, q: Array) -> Array:
        """Whole turns taken off so that joints without limits do not jump from frame to frame."""
        turning = (
            self.tree.turns[independent_axes(self.mechanism)] & np.isinf(self.lower) & np.isinf(self.upper)
        )
        single = np.ones(len(turning), dtype=bool)
        if self.tree.coupling is not None:
            single = np.count_nonzero(self.tree.coupling.linear + self.tree.coupling.followed, axis=0) == 1
        found: Array = np.where(turning & single, np.unwrap(q, axis=0), q)
        return found
