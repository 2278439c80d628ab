"""Reactions at the joints of mechanisms with closed loops, what their cut joints transmit included.

A load on a body is carried by all joints between it and the world, so the reactions are those of the tree
less what the wrenches of the cut joints carry. Redundant constraints leave some components undetermined:
those which a combination of multipliers with J^T lambda = 0 would change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.axis_motion import STEP, AxisMotion, Direction, body_poses, moved
from kinetree.dynamics.inverse import tree_reactions
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.coordinates import cut_forces, has_cut_drives, has_cut_forces
from kinetree.dynamics.loops.dynamics import (
    DETERMINED,
    LoopForces,
    broadcast,
    cut_determined,
    loop_inverse_dynamics,
    multipliers,
)
from kinetree.dynamics.loops.linear import swapped
from kinetree.dynamics.loops.rows import CutMotion, LoopRows
from kinetree.dynamics.loops.sensitivity import Independent, inverse_slopes
from kinetree.dynamics.loops.system import Constraints, constraints, loop_rows
from kinetree.dynamics.sensitivity import REACTION_SLOPES, JointReactionDerivatives
from kinetree.errors import InputError, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.state import FRAMES, Frame


@dataclass(frozen=True, eq=False)
class LoopReactions:
    """Wrenches that the joints of the tree transmit, and those of the cut joints.

    ``wrench`` (..., n_bodies, 6) is the force (N) and the moment (N m) that each body's parent exerts on it
    about its origin, in body or world axes. Components that redundant constraints leave undetermined are NaN,
    and False in ``determined``. ``forces`` are those of the cut joints; ``tau`` the drives' torques.
    """

    wrench: Array
    determined: Flags
    forces: LoopForces
    tau: Array


def loop_reactions(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    weights: ArrayLike | None = None,
) -> LoopReactions:
    """Reactions at every joint of a motion that fits the loops, with a mask of what is determined.

    States (..., n_dof); drives that share the work do so with the least sum of weights tau^2.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.reactions(bar, q, still, still).determined[0].tolist()
    [True, True, False, False, False, True]
    """
    expect_mechanism(mechanism)
    if frame not in FRAMES:
        raise InputError(unknown_name("frame", frame, FRAMES))
    q, qd, qdd = broadcast(mechanism, q, qd, qdd)
    tau, forces = loop_inverse_dynamics(mechanism, q, qd, qdd, wrenches, weights)
    wrench, determined = reactions_of(mechanism, (q, qd, qdd), forces.torque, wrenches, frame, forces.drive)
    return LoopReactions(wrench, determined, forces, tau)


def reactions_of(
    mechanism: Mechanism,
    state: tuple[Array, Array, Array],
    torque: Array,
    wrenches: Wrenches = None,
    frame: Frame = "body",
    drive: Array | None = None,
    pushed: Array | None = None,
) -> tuple[Array, Flags]:
    """Reactions (..., n_bodies, 6) and what of them is determined, with the generalized forces J^T lambda.

    ``state`` is (q, qd, qdd), ``torque`` as they are (..., n_dof), ``drive`` the forces of drives at cut
    joints, if there are any; ``pushed`` (..., k) all forces on coordinates of cut joints, if they are known.
    """
    found = constraints(mechanism, *state[:2])
    rotation, position = body_poses(mechanism.tree, found.motion)
    axes = swapped(rotation) if frame == "body" else None
    cut = found.rows.wrenches_on_A(found.cut, multipliers(found, torque)[..., 0])
    if pushed is not None or has_cut_forces(mechanism) or has_cut_drives(mechanism):
        cut = cut + cut_forces(mechanism, found.motion).wrench(found.cut.D, drive, pushed)
    of_tree = tree_reactions(mechanism.opened(), *state, wrenches, frame)
    wrench = of_tree + _carried(found.rows, found.cut, position, cut, axes)
    determined = _determined(found, position, axes)
    return np.where(determined, wrench, np.nan), determined


def _determined(found: Constraints, position: Array, axes: Array | None) -> Flags:
    """Components of the reactions that no combination of redundant rows changes."""
    redundant = found.spaces.redundant
    loose = np.zeros((*position.shape[:-1], 6))
    for k in range(redundant.shape[-1]):
        cut = found.rows.wrenches_on_A(found.cut, redundant[..., k])
        loose = np.maximum(loose, np.abs(_carried(found.rows, found.cut, position, cut, axes)))
    return loose < DETERMINED


def _carried(rows: LoopRows, cut: CutMotion, position: Array, wrench: Array, axes: Array | None) -> Array:
    """What wrenches of the cut joints (..., loops, 6) add to the reactions, (..., n_bodies, 6).

    ``position`` (..., n_bodies, 3) of the bodies' origins; ``axes`` (..., n_bodies, 3, 3) rotate from world
    to body axes, if given.
    """
    above = rows.carriers
    place = (cut.x_B - cut.D)[..., :, None, :]  # where both bodies of a loop feel its wrench
    F = -np.einsum("lb,...lc->...bc", above, wrench[..., :3])
    moment = wrench[..., 3:][..., :, None, :] + np.cross(
        place - position[..., None, :, :], wrench[..., :3][..., :, None, :]
    )
    N = -np.einsum("lb,...lbc->...bc", above, moment)
    if axes is not None:
        F, N = ((axes @ x[..., None])[..., 0] for x in (F, N))
    return np.concatenate([F, N], axis=-1)


class LoopReactionDerivatives(JointReactionDerivatives):
    """Reactions with loops and their total derivatives by q, qd and qdd of the ``independent`` joints.

    ``reaction`` (..., n_bodies, 6) in body axes, ``slopes`` (3, ..., n_bodies, 6, mobility); ``determined``
    (..., n_bodies, 6). ``cut_wrench`` (..., loops, 6) is what body b exerts on body a at each cut joint, in
    world axes, ``cut_slopes`` (3, ..., loops, 6, mobility) and ``cut_determined`` belong to it. Undetermined
    components are NaN.
    """

    __slots__ = ("cut_determined", "cut_slopes", "cut_wrench", "determined", "independent")

    def __init__(
        self,
        independent: tuple[str, ...],
        of_bodies: tuple[Array, Array, Flags],
        of_cuts: tuple[Array, Array, Flags],
    ) -> None:
        super().__init__(*of_bodies[:2])
        self.independent = independent
        self.determined = of_bodies[2]
        self.cut_wrench, self.cut_slopes, self.cut_determined = of_cuts


def loop_reaction_derivatives(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    independent: Independent = None,
    wrenches: Wrenches = None,
    weights: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> LoopReactionDerivatives:
    """Total derivatives of the reactions at all joints, cut ones included, by the independent joints.

    Those of the tree's reactions along the motion that follows the independent joints, and those of what the
    cut joints transmit: multipliers change by J^T dlambda = d(J^T lambda) - dJ^T lambda.

    >>> import kinetree as kt
    >>> bar, still = kt.zoo.four_bar(), [0.0] * 3
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.reaction_derivatives(bar, q, still, still).dreaction_dq.shape
    (3, 6, 1)
    """
    expect_mechanism(mechanism)
    q, qd, qdd = broadcast(mechanism, q, qd, qdd)
    at = inverse_slopes(mechanism, (q, qd, qdd), independent, wrenches, weights, threads)
    found, change = at.found, at.change
    tree = mechanism.opened()
    of_tree = REACTION_SLOPES.ask(tree, tree.jointed_tree, (q, qd, qdd), wrenches, threads)
    along = sum(
        np.einsum("...brn,...kn->...kbr", slope, d)
        for slope, d in zip(of_tree.slopes, (change.q, change.qd, change.qdd), strict=True)
    )
    force = multipliers(found, at.torque)[..., None, :, 0]
    left = at.dtorque - (swapped(change.slopes.J) @ force[..., None])[..., 0]
    dforce = (found.least[..., None, :, :] @ left[..., None])[..., 0]
    motion = _moved_motion(mechanism, found, (q, qd, qdd), Direction(change.q, change.qd, change.qdd))
    rows, (rotation, position) = found.rows, body_poses(mechanism.tree, motion)
    cut = rows.cut_motion(motion)
    wrench = rows.wrenches_on_A(cut, force + 1j * STEP * dforce)
    if has_cut_forces(mechanism):
        wrench = wrench + cut_forces(mechanism, motion).wrench(cut.D)
    carried = _carried(rows, cut, position, wrench, swapped(rotation))
    reaction = of_tree.reaction + carried[..., 0, :, :].real
    forces = wrench[..., 0, :, :].real
    R, p = body_poses(mechanism.tree, found.motion)
    known = _determined(found, p, swapped(R))
    return LoopReactionDerivatives(
        at.independent,
        _masked(reaction, along + carried.imag / STEP, known),
        _masked(forces, wrench.imag / STEP, cut_determined(found)),
    )


def _masked(value: Array, slopes: Array, known: Flags) -> tuple[Array, Array, Flags]:
    """A value (..., b, 6) and its slopes (..., 3 m, b, 6) as (3, ..., b, 6, m), NaN where unknown."""
    thirds = np.stack([np.moveaxis(part, -3, -1) for part in np.split(slopes, 3, axis=-3)])
    return np.where(known, value, np.nan), np.where(known[..., None], thirds, np.nan), known


def _moved_motion(
    mechanism: Mechanism, found: Constraints, state: tuple[Array, Array, Array], along: Direction
) -> AxisMotion:
    """The motion of all axes with its slopes along the directions as imaginary parts."""
    coupling, tree = mechanism.tree.coupling, loop_rows(mechanism).tree
    if coupling is None:
        return moved(tree, found.motion, state[1], state[2], along)
    A = coupling.matrix
    spread = Direction(along.q @ A.T, along.qd @ A.T, along.qdd @ A.T)
    return moved(tree, found.motion, state[1] @ A.T, state[2] @ A.T, spread)
