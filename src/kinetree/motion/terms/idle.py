"""Idle spins: rods between two balls that may turn about their own line; nothing determines how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.errors import InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.places import Place
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.boundary import Hold
from kinetree.motion.terms.contract import Bounded, Function, LinearRows
from kinetree.motion.terms.speed import Velocity

if TYPE_CHECKING:
    from kinetree.dynamics.loops.closure import Closure

SAME = 1e-6  # how equal axes and transverse moments of inertia must be
IDLE = "spin of "  # how labels of conditions on such spins begin
NEXT = 0.05  # rad or m from the first pose to one at which axes are compared


class IdleSpin(NamedTuple):
    """A body and the axis in its frame (3,) about which it spins by itself."""

    body: str
    axis: Array


def idle_spins(setting: Setting) -> list[IdleSpin]:
    """The spins that are all the freedom which drives leave to the motion; none if there is any other.

    Such a body turns about a line through its center of mass that is fixed in it, with equal moments of
    inertia across: so its spin changes no force, and nothing changes its spin.
    """
    closure, joints = setting.closure, setting.passive
    tree = setting.mechanism.tree
    if closure is None or not joints or tree.coupling is not None or setting.mechanism.springs:
        return []
    u = closure.guess[closure.independent]
    first = _spins(setting, closure, closure.guess)
    second = _spins(setting, closure, closure.pose(u + NEXT)) if first else {}
    if first.keys() != second.keys() or any(
        abs(first[body][0] @ second[body][0]) < 1.0 - SAME for body in first
    ):
        return []
    found: list[IdleSpin] = []
    rates = np.zeros((0, len(joints)))
    for body, (axis, rate) in first.items():
        more = np.vstack([rates, rate])
        if np.linalg.matrix_rank(more, SAME) > len(rates):
            rates = more
            found.append(IdleSpin(body, axis))
    return found if len(found) == len(joints) else []


def _spins(setting: Setting, closure: Closure, pose: Array) -> dict[str, tuple[Array, Array]]:
    """Axis and rates (d,) of the bodies that d motions without drives turn; nothing if they do more."""
    mechanism, tree = setting.mechanism, setting.mechanism.tree
    place = {int(k): row for row, k in enumerate(closure.varying)}
    q = pose[None]
    G = closure.following(q, 0.0 * q, 0.0 * q).G[0][[place[int(k)] for k in setting.own]]
    _, size, Vt = np.linalg.svd(G[np.array(mechanism.driven)])
    free = G @ Vt[int((size > SAME).sum()) :].T
    moved = np.abs(free).max(axis=1) > SAME
    axes = [tree.axis_names.index(name) for name in np.array(mechanism.joint_names)[moved]]
    if free.shape[1] != len(setting.passive) or (tree.armature[axes] != 0).any() or tree.passive[axes].any():
        return {}
    found, pose = {}, pose[setting.own]
    frames = forward_kinematics(mechanism, pose)
    for body in (link.body for link in mechanism.links):
        J = jacobian(mechanism, pose, body.name, body.inertia.center) @ free
        spin = frames[body.name][0].T @ J[3:]
        if np.abs(J).max() < SAME:
            continue
        U, strength, _ = np.linalg.svd(spin)
        moment = U.T @ body.inertia.moment @ U
        across = [abs(moment[0, 1]), abs(moment[0, 2]), abs(moment[1, 2]), abs(moment[1, 1] - moment[2, 2])]
        if (strength[1:] > SAME).any() or (body.inertia.mass and np.abs(J[:3]).max() > SAME):
            return {}
        if max(across) > SAME * np.abs(body.inertia.moment).max():
            return {}
        found[body.name] = U[:, 0], U[:, 0] @ spin
    return found


def free_instants(setting: Setting, s: Array, given: Sequence[Bounded], spins: Sequence[IdleSpin]) -> Array:
    """The instants s at which no boundary condition gives the velocity of a spin; a position is refused."""
    names = [setting.mechanism.joint_names[j] for j in setting.passive]
    for rows in given:
        if isinstance(rows, LinearRows):
            fixed = [name for name in names if f"position of {name}" in rows.labels]
            if fixed and rows.s[0] > 0.0:
                raise InputError(
                    f"position of {listed(fixed)} at s = {rows.s[0]:g} cannot be chosen: nothing turns "
                    f"{listed(x.body for x in spins)} about its own line, so that spin stays at rest; give "
                    f"the positions of other joints alone"
                )
            if all(f"velocity of {name}" in rows.labels for name in names):
                s = s[np.abs(s - rows.s[0]) > SAME]
    return s


class AtRest(Hold):
    """Joints without drives that do not move, whatever that takes: a motion to begin a search with."""

    def __init__(self, positions: Mapping[str, float]) -> None:
        super().__init__(list(positions), dict(positions))
        self.names = tuple(positions)

    @override
    def carried(self, mechanism: Mechanism) -> tuple[str, ...]:
        """They need no condition of their own."""
        return self.names


class SpinRate(Function):
    """Angular velocity of a body about an axis fixed in it: b . da/dt of two directions across it."""

    size = 1

    def __init__(self, setting: Setting, spin: IdleSpin) -> None:
        across = np.linalg.svd(spin.axis[None])[2]
        a, b = across[1], np.cross(spin.axis, across[1])
        self.velocity = Velocity(Place(setting.extended, spin.body, a, direction=True))
        self.other = Place(setting.extended, spin.body, b, direction=True)

    @override
    def values(self, at: At) -> Array:
        """The rate at all samples (rad/s)."""
        product: Array = (self.other.position_of(at.frames) * self.velocity.values(at)).sum(axis=1)
        return product[:, None]

    def _of_other(self, at: At) -> Array:
        slopes = np.zeros((len(at.s), 3, 3, at.moving.shape[2]))
        slopes[:, 0] = self.other.slopes(at.frames)
        return slopes

    @override
    def slopes(self, at: At) -> Array:
        """Its first derivatives."""
        b, rate = self.other.position_of(at.frames), self.velocity.values(at)
        found: Array = b[:, None, None] @ self.velocity.slopes(at) + rate[:, None, None] @ self._of_other(at)
        return found

    @override
    def bend(self, at: At, weight: Array) -> None:
        """Second derivatives: of either direction, and of both."""
        self.velocity.bend(at, weight * self.other.position_of(at.frames))
        at.add_block(0, 0.5 * self.other.bend(at.frames, weight * self.velocity.values(at)))
        each = np.broadcast_to(2.0 * weight, (len(weight), 3))
        at.add_outer(each, self._of_other(at), self.velocity.slopes(at))
