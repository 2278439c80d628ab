"""Motions of mechanisms that differ in the masses of their bodies, side by side in the lanes of one core.

The inertia of a body about every point is proportional to its mass, if its shape and the way its mass is
distributed stay: mass, first and second moments of an axis are sums of the bodies' shares, each times a
factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.analysis.energy import axis_energies, fixed_energy
from kinetree.errors import InputError, must_be
from kinetree.kernels.model_table import TREE, tree_table
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree, lumped_inertia

MOMENTS = (0, 1, 2, 4, 5, 8)  # of a symmetric matrix, as the table has it


@dataclass(frozen=True, eq=False)
class Masses:
    """Factors (m, n_bodies) on the masses of a mechanism's bodies, a row for each motion."""

    mechanism: Mechanism
    factors: Array

    @cached_property
    def shares(self) -> list[Tree]:
        """The tree with the inertia of one body alone, for each body."""
        tree = self.mechanism.tree
        found = []
        for body in range(tree.n_bodies):
            own = (np.arange(tree.n_bodies) == body).astype(np.float64)
            of_bodies = {
                "body_mass": own * tree.body_mass,
                "body_first_moment": own[:, None] * tree.body_first_moment,
                "body_second_moment": own[:, None, None] * tree.body_second_moment,
            }
            of_axes = lumped_inertia(
                tree.n, tree.body_axis, tree.body_rotation, tree.body_position, *of_bodies.values()
            )
            names = ("mass", "first_moment", "second_moment")
            still = dict.fromkeys(("armature", "stiffness"), frozen(np.zeros(tree.n)))
            arrays = dict(zip(names, map(frozen, of_axes), strict=True)) | of_bodies | still
            found.append(replace(tree, **arrays))
        return found

    def tables(self, rows: Array) -> Array:
        """Model tables (k, n + 1, width) of some motions: all that forward dynamics reads."""
        tree, factors = self.mechanism.tree, self.factors[rows]
        tables = np.tile(tree_table(tree), (len(factors), 1, 1))
        found = self.inertia(rows)
        for name, part in (("m", slice(0, 1)), ("h", slice(1, 4)), ("S", slice(4, 10))):
            start, count, _ = TREE.places[name]
            tables[:, 1:, start : start + count] = found[..., part]
        tables.view(np.int64)[:, :, TREE.places["passive"][0]] = 0  # added with the torque law
        return tables

    def inertia(self, rows: NDArray[np.int64] | Array) -> Array:
        """Mass, first and second moment of what axes carry (k, n, 10) in some motions."""
        n = self.mechanism.tree.n
        shares = [
            np.concatenate(
                [x.mass[:, None], x.first_moment, x.second_moment.reshape(n, 9)[:, MOMENTS]], axis=1
            )
            for x in self.shares
        ]
        found: Array = np.tensordot(self.factors[np.asarray(rows, dtype=np.int64)], np.array(shares), axes=1)
        return found

    def energies(self, q: Array, qd: Array) -> tuple[Array, Array]:
        """Kinetic and potential energy (m, k) in J at positions and velocities (m, k, n_dof)."""
        tree = self.mechanism.tree
        none = np.zeros_like(tree.mass), np.zeros_like(tree.first_moment), np.zeros_like(tree.second_moment)
        rest = replace(tree, mass=none[0], first_moment=none[1], second_moment=none[2])
        kinetic, potential = axis_energies(rest, q, qd)  # of armatures and joint springs
        for share, factor in zip(self.shares, self.factors.T, strict=True):
            own = axis_energies(share, q, qd)
            kinetic = kinetic + factor[:, None] * own[0]
            potential = potential + factor[:, None] * (own[1] + fixed_energy(share))
        return kinetic, potential


def read_masses(mechanism: Mechanism, masses: ArrayLike, count: int) -> Masses:
    """Masses (m, n_bodies) in kg as factors, checked."""
    given = finite(numbers(masses, "masses"), "masses")
    usual, names = mechanism.tree.body_mass, mechanism.body_names
    if given.shape != (count, len(usual)):
        raise InputError(
            must_be("masses", f"({count}, {len(usual)}), a row for each motion", given.shape, "")
        )
    if mechanism.loops or mechanism.tree.coupling is not None or mechanism.springs:
        raise InputError(
            f"masses may differ from motion to motion only without closed loops, mimic joints and springs "
            f"between bodies, which mechanism '{mechanism.name}' has"
        )
    wrong = (given <= 0.0) & (usual > 0.0) | (given != 0.0) & (usual == 0.0)
    if wrong.any():
        row, body = np.argwhere(wrong)[0]
        allowed = "0, as it has no mass" if usual[body] == 0.0 else "more than 0"
        raise InputError(
            must_be(
                f"the mass of body '{names[body]}' in motion {row}",
                allowed,
                given[row, body],
                "g",
            )
        )
    massless = usual == 0.0  # their moments of inertia, if they have some, stay
    return Masses(mechanism, np.where(massless, 1.0, given / np.where(massless, 1.0, usual)))
