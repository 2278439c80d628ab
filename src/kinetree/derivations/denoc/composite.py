"""Composite bodies: all that hangs on an axis, rigidly connected ([Shah2013], eqs. 5.19 and 7.9)."""

from __future__ import annotations

from kinetree.derivations.contract import step
from kinetree.derivations.denoc.entries import ZERO, Vector
from kinetree.derivations.denoc.frames import DhTree, PlacedAxes
from kinetree.derivations.denoc.motion import Wrench
from kinetree.derivations.denoc.screws import Composite
from kinetree.model.tree import WORLD_AXIS


def kappa(M: Composite, turns: bool) -> Wrench:
    """kappa_j = M~_j p_j, which are columns of M~_j: nothing to compute."""
    across: Vector = (M.rho[1], -M.rho[0], ZERO)  # rho x e
    if turns:
        return M.J[2], across
    return (-across[0], -across[1], ZERO), (ZERO, ZERO, M.m)


def join_parent(dh: DhTree, at: PlacedAxes, composite: list[Composite | None], j: int) -> None:
    """M~_beta += A^T M~_j A (30M31A, and 0M9A for the sum)."""
    axis, M = dh.axes[j], composite[j]
    if axis.parent == WORLD_AXIS or M is None:
        return
    with step(f"M~ to parent, {axis.level}"):
        moved, own = M.to_parent(at.screws[j]), composite[axis.parent]
        composite[axis.parent] = moved if own is None else own.joined(moved)
