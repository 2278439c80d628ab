"""The DeNOC matrices themselves, to look at: N_l, N_d, mass matrices, I = U D U^T, I^-1.

[Shah2013], chapters 4, 5. Everything is in world axes, so a twist propagation matrix looks as printed: A =
[[1, 0], [a x 1, 1]]. The rows of twists are [omega; v] of every axis, at the origin of its frame; a floating
base has one row, and N_0 = P_0. A partition into modules makes the blocks: the mechanism's own, the user's,
every link for itself ("links"), or every degree of freedom for itself ("axes", where U and D have scalar
entries as in [Mohan2007]). Rows and columns go module by module: see ``axes``.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.derivations.denoc.blocks import (
    DenocKinematics,
    ModuleBlock,
    Partition,
    blocks,
    cross_tensor,
    diagonal,
)
from kinetree.errors import InputError, SingularityError
from kinetree.kernels.aba import SINGULAR
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.state import coordinates


def denoc_matrices(mechanism: Mechanism, q: ArrayLike, modules: Partition = None) -> DenocMatrices:
    """All matrices at the coordinates q (n_dof,), for the given partition into modules.

    >>> import kinetree as kt
    >>> gripper = denoc_matrices(kt.zoo.gripper(), [0.1, 0.2, 0.3, 0.4])
    >>> gripper.N_l.shape, gripper.N_d.shape  # [Shah2013], section 4.4.1
    ((24, 24), (24, 4))
    >>> gripper.U.round(3)[1].tolist()  # the two fingers do not feel each other
    [0.0, 1.0, 0.0, 0.0]
    """
    check_open(mechanism, "denoc_matrices")
    if mechanism.tree.coupling is not None:
        raise InputError(f"'{mechanism.name}' has mimic joints; the matrices are for independent joints only")
    values = coordinates(mechanism, q, "q")
    if values.ndim != 1:
        raise InputError(f"the matrices are made for one state, got q of shape {values.shape}")
    return DenocMatrices(mechanism.tree, values, blocks(mechanism, modules))


class Elimination(NamedTuple):
    """Block reverse Gaussian elimination: B I = L with B = B_1 ... B_s, so U = B^-1 and D in L = D U^T."""

    U: Array
    D: Array
    L: Array
    B: dict[int, Array]  # the elementary matrices, by module


class DenocMatrices(DenocKinematics):
    """The matrices of [Shah2013], chapters 4 and 5, as arrays; `denoc_labels.labeled` puts names on them.

    Modules are addressed by their numbers, axes by their place in the tree.
    """

    # ---- mass matrices: sections 5.1 and 5.2 ------------------------------------------------------------
    def M_k(self, k: int) -> Array:
        """Mass matrix (6, 6) of what axis k carries, about its origin: eq. 5.6; zero for empty links."""
        R, tree = self.pose[0][k], self.tree
        S, md = R @ tree.second_moment[k] @ R.T, R @ tree.first_moment[k]
        moment = np.trace(S) * np.eye(3) - S
        return np.block([[moment, cross_tensor(md)], [-cross_tensor(md), tree.mass[k] * np.eye(3)]])

    def M_bar(self, i: int) -> Array:
        """Mass matrix (6 n_i, 6 n_i) of module i, diag(M_1, ...): eq. 5.8."""
        return diagonal([self.M_k(k) for k in self.block(i).rows])

    @cached_property
    def M(self) -> Array:
        """Generalized mass matrix, diag(M_0, M_1, ...): eq. 5.10."""
        return diagonal([self.M_bar(block.number) for block in self.blocks])

    @cached_property
    def _composite(self) -> dict[int, Array]:
        found = {block.number: self.M_bar(block.number) for block in self.blocks}
        for block in reversed(self.blocks):
            if block.parent is not None:
                A = self.A_bar(block.number, block.parent)
                found[block.parent] = found[block.parent] + A.T @ found[block.number] @ A
        return found

    def M_tilde(self, i: int) -> Array:
        """Mass matrix of composite module i, with all that emerges from it rigidly connected: eq. 5.19."""
        return self._composite[self.block(i).number]

    @cached_property
    def M_composite(self) -> Array:
        """Generalized mass matrix of composite modules, N_l^T M N_l, from its blocks M~_i A_ij: eq. 5.17."""

        def block(i: int, j: int) -> Array:
            if self.upstream(j, i):
                return (self.M_tilde(j) @ self.A_bar(j, i)).T
            return self.M_tilde(i) @ self.A_bar(i, j)

        return self.assembled(block)

    # ---- generalized inertia matrix: section 5.2 --------------------------------------------------------
    def I_bar(self, i: int, j: int) -> Array:
        """Block (n_i, n_j) of the generalized inertia matrix: eq. 5.21; armature is on the diagonal."""
        if i != j and self.upstream(j, i):
            return self.I_bar(j, i).T
        own = self.N_bar(i).T @ self.M_tilde(i) @ self.A_bar(i, j) @ self.N_bar(j)
        return own + self._armature(i) if i == j else own

    @cached_property
    def I(self) -> Array:  # noqa: E743
        """Generalized inertia matrix N^T M N, from its blocks: eq. 5.20."""
        return self.assembled(self.I_bar)

    def C(self, qd: ArrayLike) -> Array:
        """Convective inertia terms N^T (M N-dot + Omega M E N) at the rates qd (n,): eq. 5.13."""
        rows, columns = [k for block in self.blocks for k in block.rows], self.axes
        rates = np.asarray(qd, dtype=np.float64)
        every = range(self.tree.n)
        twists = [
            np.sum([self.A(k, j) @ self.p(j) * rates[j] for j in every if self.carried(k, j)], axis=0)
            for k in every
        ]
        N_dot = np.zeros((len(rows), 6, len(columns)))
        Omega = diagonal([_omega(twists[k]) for k in rows])
        E = np.kron(np.eye(len(rows)), np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        for r, k in enumerate(rows):
            for c, j in enumerate(columns):
                if self.carried(k, j):
                    A_dot = np.zeros((6, 6))
                    A_dot[3:, :3] = cross_tensor(twists[j][3:] - twists[k][3:])
                    p_dot = _omega(twists[j]) @ self.p(j)
                    N_dot[r, :, c] = A_dot @ self.p(j) + self.A(k, j) @ p_dot
        return self.N.T @ (self.M @ N_dot.reshape(-1, len(columns)) + Omega @ self.M @ E @ self.N)

    def _armature(self, i: int) -> Array:
        return np.diag(self.tree.armature[list(self.block(i).columns)])

    # ---- decomposition: section 5.3 ---------------------------------------------------------------------
    def reverse_elimination(self) -> Elimination:
        """I = U D U^T by block reverse Gaussian elimination, from the last module to the first: eq. 5.22."""
        ends = np.cumsum([0, *(len(block.columns) for block in self.blocks)])
        L, n, B = self.I.copy(), int(ends[-1]), {}
        U, D = np.eye(n), np.zeros((n, n))
        for k in reversed(range(len(self.blocks))):
            own, above = slice(ends[k], ends[k + 1]), slice(0, ends[k])
            self._check(self.blocks[k], L[own, own])
            U[above, own] = np.linalg.solve(L[own, own].T, L[above, own].T).T
            elementary = np.eye(n)
            elementary[above, own] = -U[above, own]
            B[self.blocks[k].number] = elementary
            L = elementary @ L
            D[own, own] = L[own, own]
        return Elimination(U, D, L, B)

    @cached_property
    def _articulated(self) -> dict[int, tuple[Array, Array, Array, Array]]:
        """M^, Psi^, I^ and Psi of every module, inward: eqs. 5.34-5.37."""
        M_hat = {block.number: self.M_bar(block.number) for block in self.blocks}
        found = {}
        for block in reversed(self.blocks):
            i = block.number
            psi_hat = M_hat[i] @ self.N_bar(i)
            I_hat = self.N_bar(i).T @ psi_hat + self._armature(i)
            self._check(block, I_hat)
            psi = psi_hat @ _inverse(I_hat)
            found[i] = (M_hat[i], psi_hat, I_hat, psi)
            if block.parent is not None:
                A = self.A_bar(i, block.parent)
                M_hat[block.parent] = M_hat[block.parent] + A.T @ (M_hat[i] - psi @ psi_hat.T) @ A
        return found

    def _check(self, block: ModuleBlock, pivot: Array) -> None:
        """Refuse a block pivot that is singular relative to the inertia that its joints move."""
        gross = gross_inertia(self.tree)[list(block.columns)]
        scale = 1.0 / np.sqrt(np.where(gross > 0.0, gross, 1.0))
        if not np.linalg.eigvalsh(0.5 * (pivot + pivot.T) * scale[:, None] * scale)[0] > SINGULAR:
            names = [self.tree.axis_names[k] for k in block.columns]
            raise SingularityError(
                f"singular mass matrix: the joints {names} of module {block.number} move no inertia in this "
                "state; give the bodies beyond them mass and extent, or the joints an armature"
            )

    def M_hat(self, i: int) -> Array:
        """Mass matrix of articulated module i: eq. 5.36."""
        return self._articulated[self.block(i).number][0]

    def Psi_hat(self, i: int) -> Array:
        """M^_i N_i (6 n_i, n_i): eq. 5.35."""
        return self._articulated[self.block(i).number][1]

    def I_hat(self, i: int) -> Array:
        """Block pivot (n_i, n_i), the inertia of articulated module i: eq. 5.34."""
        return self._articulated[self.block(i).number][2]

    def Psi(self, i: int) -> Array:
        """Psi^_i I^_i^-1 (6 n_i, n_i): eq. 5.35."""
        return self._articulated[self.block(i).number][3]

    def Phi(self, i: int) -> Array:
        """Articulated-module transformation 1 - Psi_i N_i^T: eq. 5.37."""
        return np.eye(6 * len(self.block(i).rows)) - self.Psi(i) @ self.N_bar(i).T

    def U_bar(self, i: int, j: int) -> Array:
        """Block (n_i, n_j) of U, N_i^T A_ji^T Psi_j: eq. 5.34."""
        same = np.eye(len(self.block(i).columns))
        return same if i == j else self.N_bar(i).T @ self.A_bar(j, i).T @ self.Psi(j)

    @cached_property
    def U(self) -> Array:
        """Unit upper block triangular factor of I = U D U^T: eq. 5.30."""
        return self.assembled(self.U_bar)

    @cached_property
    def D(self) -> Array:
        """Block diagonal factor of I = U D U^T: eq. 5.33."""
        return diagonal([self.I_hat(block.number) for block in self.blocks])

    # ---- inverse: section 5.4 ---------------------------------------------------------------------------
    def A_hat(self, j: int, i: int) -> Array:
        """Articulated module-twist propagation from module i to j: eqs. 5.45 and 5.46.

        Phi_h of every module h on the way stands transposed between its neighbors; 5.45 lacks the transpose.
        """
        h = self.block(j).parent
        if j == i or h is None or h == i or not self.upstream(j, i):
            return self.A_bar(j, i)
        return self.A_bar(j, h) @ self.Phi(h).T @ self.A_hat(h, i)

    def U_inv_bar(self, i: int, j: int) -> Array:
        """Block (n_i, n_j) of U^-1, -N_i^T A^_ji^T Psi_j: eq. 5.44, its last factor corrected (errata)."""
        same = np.eye(len(self.block(i).columns))
        return same if i == j else -self.N_bar(i).T @ self.A_hat(j, i).T @ self.Psi(j)

    @cached_property
    def U_inv(self) -> Array:
        """U^-1 from its analytical blocks: eq. 5.43."""
        return self.assembled(self.U_inv_bar)

    @cached_property
    def D_inv(self) -> Array:
        """D^-1 block by block: eq. 5.43."""
        return diagonal([_inverse(self.I_hat(block.number)) for block in self.blocks])

    @cached_property
    def I_inv(self) -> Array:
        """I^-1 = U^-T D^-1 U^-1: eq. 5.38."""
        return self.U_inv.T @ self.D_inv @ self.U_inv


def _omega(twist: Array) -> Array:
    """Omega = diag(omega x 1, omega x 1) (6, 6): eq. 5.6."""
    spin = cross_tensor(twist[:3])
    return diagonal([spin, spin])


def _inverse(I_hat: Array) -> Array:
    """The inverse of a block pivot."""
    return np.asarray(np.linalg.inv(I_hat), dtype=np.float64)
