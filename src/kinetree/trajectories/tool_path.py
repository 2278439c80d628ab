"""The joints of an arm whose tool follows a path: one branch of inverse kinematics, from its start on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import InputError, KinetreeWarning, SingularityError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.state import State, independent_axes
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.tool_geometry import Pose, ToolGeometry
from kinetree.trajectories.tool_rows import ENOUGH, ToolRows

FIRST_STEP, LARGEST_STEP, SMALLEST_STEP = 1.0 / 64, 1.0 / 32, 1e-9  # of the path
FORESEEN = 0.02  # rad or m: so near must a place be to where the last one lets expect it
FINE = 512  # places at which limits are looked at
NEARLY = 2e-3  # smallest singular value, relative to the largest, of an arm that is all but singular
LEADING = 0.35  # part of a unit vector of joints that makes a joint one of those to name


@dataclass(frozen=True, eq=False)
class ToolPath(Trajectory):
    """Joint positions over s from 0 to 1 at which the tool is on its path; see :func:`tool_line`.

    Between the places ``s_known`` (k,) with joints ``q_known`` and slopes (k, n), found one after another
    from the start, Newton's iteration begins at the cubic polynomials through both.

    >>> import kinetree as kt
    >>> arm, pose = kt.zoo.ur5(), [0.0, -1.57, 1.57, -1.57, -1.57, 0.0]
    >>> line = kt.trajectories.tool_line(arm, "tool0", by=(0, 0.1, 0), duration=2.0, q0=pose)
    >>> type(line.path).__name__, line.path.n_dof
    ('ToolPath', 6)
    """

    rows: ToolRows
    geometry: ToolGeometry
    s_known: Array
    q_known: Array
    slope_known: Array

    @property
    def mechanism(self) -> Mechanism:
        """The arm."""
        return self.rows.mechanism

    @property
    def tool(self) -> str:
        """Name of the body or frame that follows the path."""
        return self.rows.tool

    @property
    def breaks(self) -> Array:
        """Those of the geometry."""
        return self.geometry.breaks

    @property
    def n_dof(self) -> int:
        """Number of joints."""
        return self.mechanism.n_dof

    def piece(self, i: int, t: Array) -> State:
        """Positions by Newton's iteration, derivatives by the path's and those of the Jacobian."""
        pose = self.geometry.at(t, i)
        q, off = self.rows.solved(pose, self._expected(t))
        if len(t) and off.max() > ENOUGH:
            k = int(np.argmax(off))
            raise SingularityError(f"{place(self.geometry, float(t[k]))} leaves its path by {off[k]:.2g}")
        return self.rows.rates(q, pose)

    def _expected(self, s: Array) -> Array:
        """Cubic polynomials through the known positions and slopes."""
        k = np.clip(np.searchsorted(self.s_known, s) - 1, 0, len(self.s_known) - 2)
        width = (self.s_known[k + 1] - self.s_known[k])[:, None]
        x = (s - self.s_known[k])[:, None] / width
        a, b = self.q_known[k], self.q_known[k + 1]
        va, vb = width * self.slope_known[k], width * self.slope_known[k + 1]
        return a + x * (va + x * (3 * (b - a) - 2 * va - vb + x * (2 * (a - b) + va + vb)))

    @cached_property
    def conditioning(self) -> tuple[Array, Array]:
        """How far from singular the arm is: s (m,) and the ratio of smallest and largest singular value (m,).

        Of the square system of task and held joints, its lengths measured by the distance of the tool from
        the base at the start.
        """
        ratio, _ = _singular_values(self.rows, self.geometry, self.s_known, self.q_known)
        return self.s_known, ratio


def followed(rows: ToolRows, geometry: ToolGeometry, limits: bool) -> ToolPath:
    """The branch that goes through the start; an error says where it ends, leaves limits or is singular."""
    s, q, slopes = _marched(rows, geometry)
    path = ToolPath(rows, geometry, frozen(s), frozen(q), frozen(slopes))
    _refuse_crossings(path)
    if limits:
        _refuse_beyond_limits(path)
    ratio = path.conditioning[1]
    k = int(np.argmin(ratio))
    if ratio[k] < NEARLY:
        warnings.warn(
            f"{place(geometry, float(s[k]))} '{rows.mechanism.name}' is nearly singular: "
            f"{_idle_joints(rows, geometry, s[k], q[k])} move fast there",
            KinetreeWarning,
            stacklevel=4,
        )
    return path


def place(geometry: ToolGeometry, s: float) -> str:
    """Where on the path, in words."""
    x = geometry.place.at(s).q
    here = ", ".join(f"{c:.4g}" for c in x)
    return f"at {100.0 * s:.3g} % of the path, the tool at ({here}) m,"


def _pose(geometry: ToolGeometry, s: float) -> Pose:
    k = int(np.clip(np.searchsorted(geometry.breaks, s) - 1, 0, len(geometry.breaks) - 2))
    return geometry.at(np.array([s]), k)


def _marched(rows: ToolRows, geometry: ToolGeometry) -> tuple[Array, Array, Array]:
    """Places along the path, one after another, each as near to the last as its derivatives let expect."""
    q, off = rows.solved(_pose(geometry, 0.0), rows.start[None])
    if off[0] > ENOUGH:
        raise SingularityError(f"{place(geometry, 0.0)} '{rows.mechanism.name}' does not reach its path")
    state = rows.rates(q, _pose(geometry, 0.0))
    known = [(0.0, q[0], state.qd[0])]
    s, step = 0.0, FIRST_STEP
    while s < 1.0:
        width = min(step, 1.0 - s, _to_next(geometry.breaks, s))
        tried = _next(rows, geometry, state, s + width, width)
        if tried is None:
            step = width / 2.0
            if step < SMALLEST_STEP:
                _refuse(rows, geometry, s, state)
            continue
        s, state = s + width, tried
        if 1.0 - s < 1e-12:
            s = 1.0
        known.append((s, state.q[0], state.qd[0]))
        step = min(1.5 * step, LARGEST_STEP)
    s_known, q_known, slopes = (np.array(x) for x in zip(*known, strict=True))
    return s_known, q_known, slopes


def _to_next(breaks: Array, s: float) -> float:
    """How far the next break is."""
    later = breaks[breaks > s + 1e-12]
    return float(later[0]) - s if len(later) else 1.0 - s


def _next(rows: ToolRows, geometry: ToolGeometry, state: State, s: float, width: float) -> State | None:
    """The state a little further, if it is where the last one lets expect it."""
    expected = state.q + width * state.qd + 0.5 * width**2 * state.qdd
    if not np.isfinite(expected).all() or np.abs(expected - state.q).max() > 0.5:
        return None
    pose = _pose(geometry, s)
    q, off = rows.solved(pose, expected)
    if off[0] > ENOUGH or np.abs(q - expected).max() > FORESEEN:
        return None
    found = rows.rates(q, pose)
    return found if np.isfinite(found.qdd).all() else None


def _refuse(rows: ToolRows, geometry: ToolGeometry, s: float, state: State) -> None:
    """The error where the branch ends."""
    raise SingularityError(
        f"{place(geometry, s)} '{rows.mechanism.name}' cannot continue: it is stretched out or singular "
        f"({_idle_joints(rows, geometry, s, state.q[0])} would have to move infinitely fast); shorten "
        f"the path, "
        "start in another pose, or leave the orientation or an axis of the tool free"
    )


def _singular_values(rows: ToolRows, geometry: ToolGeometry, s: Array, q: Array) -> tuple[Array, Array]:
    """Ratio of smallest and largest singular value (m,), and the motions of the smallest, (m, n)."""
    poses = [_pose(geometry, float(x)) for x in s]
    pose = Pose(*(np.concatenate(parts) for parts in zip(*poses, strict=True)))
    A = np.array(rows.matrix(q, pose))
    reach = max(float(np.linalg.norm(pose.position[0])), 1e-3)
    if rows.felt.shape[1] == 3:
        A[:, : rows.n_rows] /= reach
    else:
        A[:, : int((np.abs(rows.felt[:, :3]).max(axis=1) > 0.5).sum())] /= reach
    _, sizes, motions = np.linalg.svd(A)
    return sizes[:, -1] / sizes[:, 0], motions[:, -1]


def _idle_joints(rows: ToolRows, geometry: ToolGeometry, s: float, q: Array) -> str:
    """Names of the joints whose motion the tool hardly feels."""
    _, motion = _singular_values(rows, geometry, np.array([s]), q[None])
    size = np.abs(motion[0]) / np.linalg.norm(motion[0])
    names = [rows.mechanism.joint_names[k] for k in np.argsort(-size) if size[k] > LEADING]
    return f"joint{'s' if len(names) > 1 else ''} {listed(names)}"


def _refuse_crossings(path: ToolPath) -> None:
    """An error where the system changes its sign: the path leads through a singularity."""
    poses = [_pose(path.geometry, float(x)) for x in path.s_known]
    pose = Pose(*(np.concatenate(parts) for parts in zip(*poses, strict=True)))
    signs = np.sign(np.linalg.det(path.rows.matrix(path.q_known, pose)))
    crossed = np.flatnonzero(signs != signs[0])
    if len(crossed):
        k = int(crossed[0])
        raise SingularityError(
            f"{place(path.geometry, float(path.s_known[k]))} '{path.mechanism.name}' passes a singularity: "
            f"{_idle_joints(path.rows, path.geometry, float(path.s_known[k]), path.q_known[k])} line "
            f"up; start in another pose, or leave an axis of the tool free"
        )


def _refuse_beyond_limits(path: ToolPath) -> None:
    """An error where a joint leaves its limits."""
    tree, own = path.mechanism.tree, independent_axes(path.mechanism)
    lower, upper = tree.lower[own], tree.upper[own]
    s = np.union1d(np.linspace(0.0, 1.0, FINE), path.s_known)
    q = path.at(s).q
    beyond = np.maximum(q - upper, lower - q) > 1e-9
    if beyond.any():
        k = int(np.argmax(beyond.any(axis=1)))
        j = int(np.argmax(beyond[k]))
        raise InputError(
            f"{place(path.geometry, float(s[k]))} joint '{path.mechanism.joint_names[j]}' leaves its limits: "
            f"{q[k, j]:.4g} is not within {lower[j]:.4g} to {upper[j]:.4g}; start in another pose, or pass "
            "limits=False"
        )
