"""Modules as blocks of matrices, and the kinematic DeNOC matrices N_l and N_d ([Shah2013], chapter 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.derivations.contract import step
from kinetree.derivations.denoc.entries import ZERO, Vector
from kinetree.derivations.denoc.frames import DhTree, PlacedAxes, dh_tree, joint_axes
from kinetree.derivations.denoc.motion import Wrench
from kinetree.derivations.denoc.screws import Composite
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.model.modules import BASE, Module
from kinetree.model.tree import WORLD_AXIS, Tree

Partition = Sequence[Module] | Literal["links", "axes"] | None


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


class ModuleBlock(NamedTuple):
    """One module: its number, the axes whose twists it lists, its degrees of freedom, its parent's number."""

    number: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    parent: int | None


def blocks(mechanism: Mechanism, modules: Partition) -> tuple[ModuleBlock, ...]:
    """The blocks of a partition, parents first; modules without a degree of freedom have none."""
    tree = mechanism.tree
    if isinstance(modules, str):
        if modules not in ("links", "axes"):
            raise InputError(unknown_name("partition", modules, ("links", "axes")))
        groups = _single_groups(tree, modules)
    else:
        groups = _module_groups(mechanism, mechanism.modules if modules is None else modules)
    floating = dh_tree(tree).floating and modules != "axes"
    number_of = {axis: number for number, axes in groups for axis in axes} | {WORLD_AXIS: None}
    found = []
    for number, axes in groups:
        rows = axes[-1:] if floating and number == BASE else axes
        found.append(ModuleBlock(number, rows, axes, number_of[int(tree.parent[axes[0]])]))
    return tuple(found)


def _single_groups(tree: Tree, level: str) -> list[tuple[int, tuple[int, ...]]]:
    """Every link, or every axis, for itself; a floating base is number 0."""
    axes = list(joint_axes(tree).values()) if level == "links" else [(i,) for i in range(tree.n)]
    start = BASE if level == "links" and dh_tree(tree).floating else BASE + 1
    return list(enumerate(axes, start))


def _module_groups(mechanism: Mechanism, modules: Sequence[Module]) -> list[tuple[int, tuple[int, ...]]]:
    axes = joint_axes(mechanism.tree)
    groups = []
    for module in modules:
        found: list[int] = []
        for body in module.bodies:
            found.extend(axes.get(mechanism.body_index(body), ()))
        if found:
            groups.append((module.number, tuple(found)))
    covered = sorted(axis for _, found in groups for axis in found)
    if covered != list(range(mechanism.tree.n)):
        raise InputError(
            f"the modules {[list(module.bodies) for module in modules]} are not a partition of "
            f"'{mechanism.name}'; make one with mechanism.partition(...)"
        )
    return groups


@dataclass(frozen=True, eq=False)
class DenocKinematics:
    """Twists of all links from the rates of all joints, t = N_l N_d qd, at the coordinates q (n,)."""

    tree: Tree
    q: Array
    blocks: tuple[ModuleBlock, ...]

    @property
    def axes(self) -> tuple[int, ...]:
        """The places in q of the rows and columns of I, U and D: module by module."""
        return tuple(axis for block in self.blocks for axis in block.columns)

    @cached_property
    def pose(self) -> tuple[Array, Array]:
        """Rotation (n, 3, 3) and origin (n, 3) of every axis frame in the world."""
        tree = self.tree
        R, o = np.zeros((tree.n, 3, 3)), np.zeros((tree.n, 3))
        for i in range(tree.n):
            j = tree.parent[i]
            Rj, oj = (np.eye(3), np.zeros(3)) if j == WORLD_AXIS else (R[j], o[j])
            R[i], o[i] = Rj @ tree.rotation[i], oj + Rj @ tree.position[i]
            if tree.turns[i]:
                c, s = np.cos(self.q[i]), np.sin(self.q[i])
                R[i] = R[i] @ np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
            else:
                o[i] += R[i][:, 2] * self.q[i]
        return R, o

    # ---- link level ------------------------------------------------------------------------------------
    def A(self, k: int, j: int) -> Array:
        """Twist propagation A_(k,j) (6, 6) from axis j to axis k as if rigidly connected: eq. 4.3."""
        _, o = self.pose
        return np.block([[np.eye(3), np.zeros((3, 3))], [cross_tensor(o[j] - o[k]), np.eye(3)]])

    def p(self, k: int) -> Array:
        """Joint-motion propagation p_k (6,): [e; 0] of a revolute, [0; e] of a prismatic axis, eq. 4.3."""
        e = self.pose[0][k][:, 2]
        return np.concatenate([e, np.zeros(3)] if self.tree.turns[k] else [np.zeros(3), e])

    def carried(self, k: int, j: int) -> bool:
        """Whether axis k moves with axis j: j is k itself or an ancestor of it."""
        while k not in (WORLD_AXIS, j):
            k = int(self.tree.parent[k])
        return k == j

    # ---- module level ----------------------------------------------------------------------------------
    @cached_property
    def _by_number(self) -> dict[int | None, ModuleBlock]:
        return {block.number: block for block in self.blocks}

    def block(self, i: int) -> ModuleBlock:
        """The module of a number."""
        if i not in self._by_number:
            raise InputError(unknown_name("module", i, self._by_number))
        return self._by_number[i]

    def upstream(self, j: int, i: int) -> bool:
        """Whether module j is in gamma_i: module i itself, or one that emerges from it (Fig. 4.7)."""
        number: int | None = j
        while number is not None and number != i:
            number = self._by_number[number].parent
        return number == i

    def A_bar(self, i: int, j: int) -> Array:
        """Module-twist propagation (6 n_i, 6 n_j) from module j to i in gamma_j, else zero: eq. 4.22."""
        to, start = self.block(i), self.block(j)
        result = np.zeros((6 * len(to.rows), 6 * len(start.rows)))
        if i == j:
            return np.eye(len(result))
        if self.upstream(i, j):
            result[:, -6:] = np.vstack([self.A(k, start.rows[-1]) for k in to.rows])
        return result

    def N_bar(self, i: int) -> Array:
        """Module-joint-motion propagation (6 n_i, n_i): eqs. 4.14 and 4.22; P_0 of a floating base."""
        return self._motion[self.block(i).number]

    @cached_property
    def _motion(self) -> dict[int, Array]:
        found = {}
        for block in self.blocks:
            N = np.zeros((len(block.rows), 6, len(block.columns)))
            for r, k in enumerate(block.rows):
                for c, j in enumerate(block.columns):
                    if self.carried(k, j):
                        N[r, :, c] = self.A(k, j) @ self.p(j)
            found[block.number] = N.reshape(6 * len(block.rows), len(block.columns))
        return found

    @cached_property
    def N_l(self) -> Array:
        """Lower block triangular DeNOC matrix, (1 - A)^-1: eq. 4.29."""
        return self.assembled(self.A_bar)

    @cached_property
    def N_d(self) -> Array:
        """Block diagonal DeNOC matrix: eq. 4.27."""
        return diagonal([self.N_bar(block.number) for block in self.blocks])

    @cached_property
    def N(self) -> Array:
        """Natural orthogonal complement, t = N qd: eq. 4.28."""
        return self.N_l @ self.N_d

    def assembled(self, block: Callable[[int, int], Array]) -> Array:
        """The whole matrix from its blocks (i, j)."""
        numbers = [x.number for x in self.blocks]
        return np.block([[block(i, j) for j in numbers] for i in numbers])


def cross_tensor(a: Array) -> Array:
    """The tensor a x 1 of eq. 5.3."""
    x, y, z = a
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def diagonal(parts: Sequence[Array]) -> Array:
    """The block diagonal matrix of the parts, which need not be square."""
    shape = np.sum([part.shape for part in parts], axis=0)
    result, r, c = np.zeros(shape), 0, 0
    for part in parts:
        result[r : r + part.shape[0], c : c + part.shape[1]] = part
        r, c = r + part.shape[0], c + part.shape[1]
    return result
