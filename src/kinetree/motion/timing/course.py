"""A path as rows of limits: what torques, velocities and accelerations are at any speed along it.

tau = a u + b x + c + f(sqrt x) with u = d2s/dt2 and x = (ds/dt)^2: a = M q', b = M q'' + Coriolis terms at
q', c the torques at rest, and f friction: what is odd in the velocity, and what depends on its sign alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.dynamics.loads import Wrenches
from kinetree.model.joint import friction_differs
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers
from kinetree.state import State
from kinetree.trajectories.base import Trajectory

INSIDE = 8  # stretches of each interval between places, at whose ends limits are checked
SLOW, STEP = 1e-5, 1e-3  # of the largest x, below which tangents are not taken; of speeds, for their slopes
JUMP = 1e-6  # of the largest q' or q'': what counts as a jump
CREEP = 1e-9  # of speeds, at which only dry friction is felt
CORNER = 1e-6  # of the size of q': such a jump is a corner, at which the motion must stop


@dataclass(frozen=True, eq=False)
class Limits:
    """Largest torques, velocities and accelerations of the joints, (n,) each, infinite for none."""

    torque: Array
    velocity: Array
    acceleration: Array


def from_left(path: Trajectory, s: Array) -> State:
    """A path at places (m,), at breaks by the formula of the piece before."""
    pieces = np.clip(np.searchsorted(path.breaks, s) - 1, 0, len(path.breaks) - 2)
    found = np.empty((3, len(s), path.n_dof))
    for i in np.unique(pieces):
        chosen = pieces == i
        state = path.piece(int(i), s[chosen])
        found[:, chosen] = state.q, state.qd, state.qdd
    return State(*found)


def places(path: Trajectory, grid: int) -> Array:
    """Values of s: equally spaced, and where q' or q'' jumps."""
    inner = path.breaks[1:-1]
    before, after = from_left(path, inner), path.at(inner)
    jumps = np.zeros(len(inner), dtype=bool)
    for a, b in ((before.qd, after.qd), (before.qdd, after.qdd)):
        size = max(float(np.abs(a).max(initial=0.0)), float(np.abs(b).max(initial=0.0)), 1e-300)
        jumps |= np.abs(a - b).max(axis=1, initial=0.0) > JUMP * size
    ends = np.concatenate([path.breaks[:1], inner[jumps], path.breaks[-1:]])
    found = [ends[:1]]
    for begin, end in pairwise(ends.tolist()):
        count = max(2, round(grid * (end - begin) / path.duration))
        found.append(np.linspace(begin, end, count + 1)[1:])
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class PathGrid:
    """A path at places ``s`` (k + 1,), and at INSIDE + 1 of each interval, by its own piece."""

    mechanism: Mechanism
    path: Trajectory
    s: Array
    wrenches: Wrenches

    @cached_property
    def widths(self) -> Array:
        """Distances of the places, (k,)."""
        return np.diff(self.s)

    @cached_property
    def dense(self) -> Array:
        """Places in each interval, (k, INSIDE + 1)."""
        return self.s[:-1, None] + self.widths[:, None] * np.linspace(0.0, 1.0, INSIDE + 1)

    @cached_property
    def motion(self) -> State:
        """q, q' and q'' there, (k, INSIDE + 1, n) each."""
        shape = (len(self.widths), INSIDE + 1, self.path.n_dof)
        found = np.empty((3, *shape))
        inner = self.path.at(self.dense[:, :-1].reshape(-1))
        last = from_left(self.path, self.s[1:])
        for k, name in enumerate(("q", "qd", "qdd")):
            found[k, :, :-1] = getattr(inner, name).reshape(shape[0], INSIDE, -1)
            found[k, :, -1] = getattr(last, name)
        return State(*found)

    @cached_property
    def corners(self) -> Integers:
        """Numbers of places at which the direction jumps."""
        slope = self.motion.qd
        jump = np.abs(slope[1:, 0] - slope[:-1, -1]).max(axis=1)
        size = np.abs(slope).max(axis=(1, 2))
        return np.flatnonzero(jump > CORNER * np.maximum(size[1:], size[:-1])) + 1

    @cached_property
    def torques(self) -> tuple[Array, Array, Array]:
        """a, b and c at all dense places, (k, INSIDE + 1, n) each."""
        at, none = self.motion, np.zeros_like(self.motion.q)
        c = self._torque(at.q, none, none)
        a = self._torque(at.q, none, at.qd) - c
        b = 0.5 * (self._torque(at.q, at.qd, at.qdd) + self._torque(at.q, -at.qd, at.qdd)) - c - self.slant
        return a, b, c

    @cached_property
    def slant(self) -> Array:
        """Half the difference of dry friction between directions, which is even in the velocity."""
        at, none = self.motion, np.zeros_like(self.motion.q)
        joints = [link.joint for link in self.mechanism.links] + [x.joint for x in self.mechanism.loops]
        if not any(friction_differs(joint) for joint in joints):
            return none
        ahead, back = (self._torque(at.q, creep * at.qd, none) for creep in (CREEP, -CREEP))
        return 0.5 * (ahead + back) - self._torque(at.q, none, none)

    def friction(self, x: Array) -> Array:
        """f at the squares of speeds x (k, INSIDE + 1): what is odd in the velocity, and the slant."""
        at = self.motion
        qd, qdd = at.qd * np.sqrt(np.maximum(x, 0.0))[..., None], at.qdd * x[..., None]
        odd: Array = 0.5 * (self._torque(at.q, qd, qdd) - self._torque(at.q, -qd, qdd))
        return odd + np.where(x[..., None] > 0.0, self.slant, 0.0)

    def friction_tangent(self, x: Array) -> tuple[Array, Array]:
        """f as value at x = 0 and slope of its tangent at x (k, INSIDE + 1), by x; (k, INSIDE + 1, n) each.

        As the square root bends downwards, viscous friction is below its tangent.
        """
        at = np.maximum(x, SLOW * float(x.max()))
        above, below = self.friction(at * (1.0 + STEP) ** 2), self.friction(at * (1.0 - STEP) ** 2)
        slope = (above - below) / (4.0 * STEP * at[..., None])
        return self.friction(at) - slope * at[..., None], slope

    def _torque(self, q: Array, qd: Array, qdd: Array) -> Array:
        one, two, three = (x.reshape(-1, x.shape[-1]) for x in (q, qd, qdd))
        return inverse_dynamics(self.mechanism, one, two, three, self.wrenches).reshape(q.shape)

    def speeds(self, x: Array, u: Array) -> Array:
        """x at the dense places, (k, INSIDE + 1): it changes evenly with s."""
        return x[:-1, None] + 2.0 * u[:, None] * (self.dense - self.s[:-1, None])


@dataclass(frozen=True, eq=False)
class Shares:
    """Parts of the limits that are used at the dense places, (k, INSIDE + 1, n) each; 1 is the limit."""

    torque: Array
    velocity: Array
    acceleration: Array

    @property
    def largest(self) -> float:
        """The largest of all."""
        return max(float(np.abs(x).max(initial=0.0)) for x in (self.torque, self.velocity, self.acceleration))


def shares(course: PathGrid, limits: Limits, x: Array, u: Array) -> Shares:
    """What a motion with x (k + 1,) and u (k,) uses of the limits."""
    speed, push = course.speeds(x, u)[..., None], u[:, None, None]
    at, (a, b, c) = course.motion, course.torques
    tau = a * push + b * speed + c + course.friction(speed[..., 0])
    qd = at.qd * np.sqrt(np.maximum(speed, 0.0))
    qdd = at.qd * push + at.qdd * speed
    return Shares(tau / limits.torque, qd / limits.velocity, qdd / limits.acceleration)
