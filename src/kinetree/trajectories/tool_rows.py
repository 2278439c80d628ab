"""The equations that put a tool on its path: a square system in the joints at every place s of it.

Rows of the task, S(s) J(q) dq = what is lacking, are as many as the path prescribes: 6 with orientation, 5
with one axis of the tool free to rotate about, 3 without orientation. Where the arm has more joints, rows
that hold a linear combination of them make the system square: joints that stay, or the motion that the tool
does not feel at the start, which stays zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation_vector import rotation_vector
from kinetree.analysis.kinematics import body_accelerations, forward_kinematics, jacobian
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.state import State
from kinetree.trajectories.tool_geometry import Pose

FULL, PLACE, AXIS = "full", "place", "axis"  # what the path prescribes
N_ROWS = {FULL: 6, PLACE: 3, AXIS: 5}
CONVERGED = 1e-13  # rad or m: no joint moves by more any longer
ENOUGH = 1e-10  # m or rad: off the path by less counts as on it
STEPS = 12  # of Newton's iteration
POSES = 8  # in which it is looked where a tool can move
UNMOVED = 1e-12  # of the largest entry of Jacobians: a coordinate that never changes


@dataclass(frozen=True, eq=False)
class ToolRows:
    """A tool (name of a body or frame) of a mechanism, what is prescribed of it, and rows that hold joints.

    ``held`` (n - rows, n): held . (q - start) = 0. ``axis`` of the tool may rotate about itself.
    """

    mechanism: Mechanism
    tool: str
    prescribes: str
    axis: int
    felt: Array  # (rows, 3 or 6): directions of position and orientation in which the tool can move at all
    held: Array
    start: Array

    @property
    def n_rows(self) -> int:
        """Number of rows of the task."""
        return len(self.felt)

    def matrix(self, q: Array, pose: Pose) -> Array:
        """Rows of the task and of what is held, (m, n, n)."""
        J = self._chosen(jacobian(self.mechanism, q, self.tool), pose)
        return np.concatenate([J, np.broadcast_to(self.held, (len(q), *self.held.shape))], axis=1)

    def solved(self, pose: Pose, guess: Array) -> tuple[Array, Array]:
        """Joint positions (m, n) that put the tool on the path, from guesses, and how far off it is (m,)."""
        q = np.array(guess)
        off = self._lacking(q, pose)
        for _ in range(STEPS):
            step = _divided(self.matrix(q, pose), self._of_task(off, q))
            q = q + np.clip(step, -0.5, 0.5)
            off = self._lacking(q, pose)
            if np.abs(step).max(initial=0.0) < CONVERGED:
                break
        return q, np.abs(off).max(axis=1)

    def rates(self, q: Array, pose: Pose) -> State:
        """q with its first and second derivatives by s, from the path's and those of the Jacobian."""
        A = self.matrix(q, pose)
        m, n = q.shape
        none = np.zeros((m, n - self.n_rows))
        twist = np.concatenate([pose.velocity, pose.spin], axis=1)[:, :, None]
        first = _divided(A, np.concatenate([self._chosen(twist, pose)[..., 0], none], axis=1))
        bias = body_accelerations(self.mechanism, q, first, np.zeros((m, n)), of=self.tool)
        wanted = np.concatenate([pose.acceleration, pose.spin_rate], axis=1) - bias
        if self.prescribes == AXIS:  # the tool rotates about its axis by itself, too
            spin = (jacobian(self.mechanism, q, self.tool)[:, 3:] @ first[:, :, None])[..., 0]
            pointing = pose.rotation[:, :, self.axis]
            own = ((spin - pose.spin) * pointing).sum(axis=1)[:, None]
            wanted[:, 3:] += own * np.cross(pose.spin, pointing)
        second = _divided(A, np.concatenate([self._chosen(wanted[:, :, None], pose)[..., 0], none], axis=1))
        return State(q, first, second)

    def _chosen(self, rows: Array, pose: Pose) -> Array:
        """Those of six rows (m, 6, k) that are prescribed."""
        if self.prescribes != AXIS:
            return self.felt @ rows[:, : self.felt.shape[1]]
        return np.concatenate([rows[:, :3], np.swapaxes(self._across(pose), 1, 2) @ rows[:, 3:]], axis=1)

    def _across(self, pose: Pose) -> Array:
        """The two axes of the tool that are prescribed, (m, 3, 2)."""
        return pose.rotation[:, :, [k for k in range(3) if k != self.axis]]

    def _lacking(self, q: Array, pose: Pose) -> Array:
        """What is missing of position (m) and orientation (rad), (m, 3 to 6)."""
        R, p = forward_kinematics(self.mechanism, q)[self.tool]
        parts = [pose.position - p]
        if self.prescribes == FULL:
            parts.append(rotation_vector(pose.rotation @ np.swapaxes(R, 1, 2)))
        elif self.prescribes == AXIS:
            off = np.cross(R[:, :, self.axis], pose.rotation[:, :, self.axis])
            parts.append((off[:, None] @ self._across(pose))[:, 0])
        return np.concatenate(parts, axis=1)

    def _of_task(self, lacking: Array, q: Array) -> Array:
        """What is missing as the right side of the system, (m, n)."""
        rows = lacking if self.prescribes == AXIS else lacking @ self.felt.T
        return np.concatenate([rows, (self.start - q) @ self.held.T], axis=1)


def tool_rows(
    mechanism: Mechanism, tool: str, prescribes: str, axis: int, hold: list[str], start: Array, pose: Pose
) -> ToolRows:
    """The system at a start (n,): joints that are held by name, then what the tool does not feel there."""
    felt = _felt(mechanism, tool, prescribes, start)
    n, needed = mechanism.n_dof, len(felt)
    if needed > n:
        raise InputError(
            f"the tool's path prescribes {needed} coordinates, but '{mechanism.name}' has {n} joints; "
            f"leave the "
            'orientation free (orientation="free") or one axis of the tool (free_axis="z")'
        )
    if len(hold) > n - needed:
        raise InputError(
            f"the tool's path prescribes {needed} of the {n} coordinates of '{mechanism.name}'; "
            f"{len(hold)} held joints ({listed(hold)}) leave too few free"
        )
    held = np.zeros((len(hold), n))
    for k, name in enumerate(hold):
        held[k, mechanism.joint_index(name)] = 1.0
    rows = ToolRows(mechanism, tool, prescribes, axis, felt, held, start)
    if n == needed + len(hold):
        return rows
    unfelt = np.linalg.svd(rows.matrix(start[None], pose)[0])[2][needed + len(hold) :]
    return replace(rows, held=np.concatenate([held, unfelt]))


def _felt(mechanism: Mechanism, tool: str, prescribes: str, start: Array) -> Array:
    """Directions in which the tool can move at all, (rows, 3 or 6); of planar arms those of the plane."""
    count = N_ROWS[prescribes]
    if prescribes == AXIS:
        return np.eye(count)
    poses = start + np.random.default_rng(0).normal(size=(POSES, len(start)))
    J = jacobian(mechanism, poses, tool)[:, :count].transpose(1, 0, 2).reshape(count, -1)
    moved = np.abs(J).max(axis=1) > UNMOVED * max(1e-300, float(np.abs(J).max()))
    if np.linalg.matrix_rank(J, tol=1e-9 * np.linalg.norm(J)) == int(moved.sum()):
        chosen: Array = np.eye(count)[moved]
        return chosen
    directions, sizes, _ = np.linalg.svd(J)
    return np.ascontiguousarray(directions.T[: int((sizes > 1e-9 * sizes[0]).sum())])


def _divided(A: Array, b: Array) -> Array:
    """Solutions (m, n) of square systems; those of least size where a system is singular."""
    try:
        x = np.linalg.solve(A, b[:, :, None])[..., 0]
    except np.linalg.LinAlgError:
        x = (np.linalg.pinv(A) @ b[:, :, None])[..., 0]
    return np.asarray(x, dtype=np.float64)
