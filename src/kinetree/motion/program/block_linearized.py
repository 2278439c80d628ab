"""The rows of a motion program at one point, in blocks: those that are linear in torques, and the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.motion.program.blocks import Block, RowBlock, Sampled
from kinetree.motion.program.changes import ChangeBlock
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.program.linearized import Linearized, SortedEntries, SparseLinearized
from kinetree.motion.program.torque_map import SquaredChanges, SquaredForces, TorqueMap
from kinetree.motion.terms.functions import MotionSquares, Torque, TorqueEnergy, TorqueSum, TorqueValue

if TYPE_CHECKING:
    from kinetree.motion.program.program import Program


class TorqueBlock:
    """Rows C tau / scale of a block: ``forces`` (r,) and matrices (m, k, r); None: the forces themselves."""

    def __init__(self, block: RowBlock, offset: int) -> None:
        function, self.part = block.sampled.function, block.part
        self.rows = slice(offset, offset + block.count)
        self.shape, self.scale = block.shape, block.scale
        assert isinstance(function, Torque | TorqueSum)
        self.forces: Integers = function.rows
        self.matrix: Array | None = None
        if isinstance(function, TorqueSum):
            matrix = function.matrix(block.source.s) / self.scale[:, None]
            self.matrix = np.array(np.broadcast_to(matrix, (self.shape[0], *matrix.shape[-2:])))

    def applied(self, tau: Array) -> Array:
        """The rows for forces (count, n_forces)."""
        own = tau[self.part][:, self.forces]
        return own / self.scale if self.matrix is None else (self.matrix @ own[:, :, None])[..., 0]

    def add_transposed(self, y: Array, out: Array) -> None:
        """Add what multipliers of the rows weigh of the forces to out (count, n_forces)."""
        y = y[self.rows].reshape(self.shape)
        own = y / self.scale if self.matrix is None else (y[:, None] @ self.matrix)[:, 0]
        out[self.part][:, self.forces] += own

    def combination(self, row: int, n_forces: int) -> tuple[int, Array]:
        """Sample and coefficients (1, n_forces) of one of its rows."""
        k, r = divmod(row - self.rows.start, self.shape[1])
        found = np.zeros((1, n_forces))
        if self.matrix is None:
            found[0, self.forces[r]] = 1.0 / self.scale[r]
        else:
            found[0, self.forces] = self.matrix[k, r]
        return self.part.start + k, found


class Structure:
    """What does not change from point to point: which rows and which parts of the objective are blocks."""

    def __init__(self, program: Program) -> None:
        self.program, n = program, program.n
        self.blocks: list[TorqueBlock] = []
        local = np.zeros(program.m, dtype=bool)
        for block, offset in zip(program.blocks, program.offsets, strict=False):
            if is_linear_in_torques(block):
                assert isinstance(block, RowBlock)
                self.blocks.append(TorqueBlock(block, offset))
                local[self.blocks[-1].rows] = True
        self.other = np.flatnonzero(~local)
        keep = ~local[program.jacobian_rows]
        self.kept = np.flatnonzero(keep)
        number = np.cumsum(~local) - 1
        rows, columns = number[program.jacobian_rows[keep]], program.jacobian_columns[keep]
        self.places = SortedEntries(n, len(self.other), rows, columns)
        names = program.places.torque_curves
        self.map = TorqueMap(program.instants, program.places, program.linear, names, program.dynamic)
        self.energies = [(w, x) for w, x in program.integrands if isinstance(x.function, TorqueEnergy)]
        self.forms = [(w, x) for w, x in program.integrands if isinstance(x.function, MotionSquares)]
        self.shared = [(w, x) for w, x in program.integrands if isinstance(x.function, TorqueValue)]
        self._constant: Array | None = None
        self._squared_changes: SquaredForces | None = None
        self._select_others()

    def _select_others(self) -> None:
        """Which entries of the Jacobian by x the other rows are made of, and how."""
        program, own, stop = self.program, [], len(self.program.linear_entries)
        own.append(np.arange(stop))
        for block in program.blocks:
            start, stop = stop, stop + len(block.rows)
            if not is_linear_in_torques(block):
                own.append(np.arange(start, stop))
        self.own = np.concatenate(own)
        self.sum_entries: Any = None
        self.factors: Array | None = None
        if program.sum_entries is not None:
            self.sum_entries = program.sum_entries[self.kept][:, self.own].tocsr()
        elif program.factor_of_entry is not None:
            self.factors = program.factor_of_entry[self.own]

    def other_entries(self, at: Evaluation) -> Array:
        """Entries of the Jacobian in rows that are not in blocks."""
        program, entries = self.program, np.empty(len(self.own))
        stop = len(program.linear_entries)
        entries[:stop] = program.linear_entries
        for block in program.blocks:
            if not is_linear_in_torques(block):
                start, stop = stop, stop + len(block.rows)
                block.jacobian(at, entries[start:stop])
        if self.sum_entries is not None:
            return np.asarray(self.sum_entries @ entries)
        return entries if self.factors is None else entries * self.factors

    def constant(self, at: Evaluation) -> Array:
        """The Hessian of squares of the motion itself, which is the same everywhere, for a scale of 1."""
        if self._constant is None:
            self._constant = self.program.hessian_of(at, self.forms)
        return self._constant

    def energy_weights(self, at: Evaluation) -> SquaredForces:
        """What the objective's energies and rates of torques add to the squares, times the scale."""
        program = self.program
        form = SquaredForces(self.map.count, at.tau.shape[1])
        share = program.scale * at.motion.duration
        for weight, sampled in self.energies:
            function = sampled.function
            assert isinstance(function, TorqueEnergy)
            bends = function.bends(at.tau[sampled.part][:, function.rows])
            form.weights[sampled.part][:, function.rows] += (share * weight * program.quadrature)[
                :, None
            ] * bends
        for weight, sampled in self.shared:
            values = sampled.function
            assert isinstance(values, TorqueValue)
            root = values.root(At(at, sampled.part))
            C, full = np.zeros((self.map.count, *root.shape[1:])), np.zeros((self.map.count, root.shape[1]))
            C[sampled.part], full[sampled.part] = root, (share * weight * program.quadrature)[:, None]
            form.combined.append((values.rows, C, full))
        if program.changes:
            if self._squared_changes is None:
                self._squared_changes = SquaredForces(*form.weights.shape)
                for changes in program.changes:
                    self._add_changes(self._squared_changes, changes)
            known = self._squared_changes
            form.links, form.between, form.scale = program.scale * known.links, known.between, program.scale
        return form

    def _add_changes(self, form: SquaredForces, changes: ChangeBlock) -> None:
        function = changes.sampled.function
        assert isinstance(function, TorqueSum)
        size, forces, part = np.diagonal(function.matrix(np.zeros(0))), function.rows, changes.part
        ends = {run.stop - 1 for run in self.map.runs}
        n_forces = form.weights.shape[1]
        for k, root in enumerate(changes.roots):
            weight = 2.0 * changes.weights * size**2 * root**2
            here, goes_on = part.start + k, k == changes.m - 1
            if not goes_on and here not in ends:
                form.links[here, forces] += weight
                continue
            after, sign, full = np.arange(n_forces), np.ones(n_forces), np.zeros(n_forces)
            full[forces] = weight
            if goes_on:
                after[forces], sign[forces] = (
                    forces[changes.after],
                    changes.signs * size[changes.after] / size,
                )
                form.between.append(SquaredChanges(self.map, here, part.start, after, sign, full))
                continue
            known = next((x for x in form.between if x.here == here and x.there == here + 1), None)
            if known is None:
                form.between.append(SquaredChanges(self.map, here, here + 1, after, sign, full))
            else:  # another term's changes between the same instants
                known.root = np.sqrt(known.root**2 + full)


def is_linear_in_torques(block: Block) -> bool:
    """Whether its rows are combinations of torques, without any other unknowns."""
    return isinstance(block, RowBlock) and type(block.sampled.function) in (Torque, TorqueSum)


def has_blocks(program: Program) -> bool:
    """Whether rows and objective are made of torques to a good part, and the duration is given."""
    changes = all(
        type(x.sampled.function) is TorqueSum and _is_diagonal(x.sampled.function) for x in program.changes
    )
    some = any(is_linear_in_torques(block) for block in program.blocks)
    known = all(
        isinstance(x.function, TorqueEnergy | TorqueValue | MotionSquares) for _, x in program.integrands
    )
    open_tree = program.setting.profiles.closure is None
    return open_tree and not program.timed and program.n > 0 and some and changes and known


def _is_diagonal(function: TorqueSum) -> bool:
    matrix = function.matrix(np.zeros(0))
    return matrix.ndim == 2 and np.array_equal(matrix, np.diag(np.diagonal(matrix)))


class BlockLinearized(Linearized):
    """Rows in blocks, and the rest as sparse rows."""

    def __init__(self, structure: Structure, at: Evaluation, entries: Array) -> None:
        self.structure, self.at, self.map = structure, at, structure.map
        self.A = at.torque_rows(structure.map)
        self.rest = SparseLinearized(structure.places, entries, lambda: np.zeros((0, 0)))

    @override
    def times(self, d: Array) -> Array:
        """J d, (m,)."""
        found = np.empty(self.structure.program.m)
        found[self.structure.other] = self.rest.times(d)
        tau = self.map.times(self.A, d)
        for block in self.structure.blocks:
            found[block.rows] = block.applied(tau).ravel()
        return found

    @override
    def transposed(self, y: Array) -> Array:
        """J^T y, (n,)."""
        weight = np.zeros(self.A.shape[:2])
        for block in self.structure.blocks:
            block.add_transposed(y, weight)
        return self.rest.transposed(y[self.structure.other]) + self.map.transposed(self.A, weight)

    @override
    def chosen(self, rows: Integers) -> Array:
        """Some of the rows as a full matrix, (k, n)."""
        s = self.structure
        found, number = np.zeros((len(rows), s.program.n)), np.full(s.program.m, -1)
        number[s.other] = np.arange(len(s.other))
        sparse = np.flatnonzero(number[rows] >= 0)
        found[sparse] = self.rest.chosen(number[rows[sparse]])
        for k in np.flatnonzero(number[rows] < 0):
            block = next(x for x in s.blocks if x.rows.start <= rows[k] < x.rows.stop)
            sample, matrix = block.combination(int(rows[k]), self.A.shape[1])
            found[k] = self.map.dense(self.A, sample, matrix)[0]
        return found

    @override
    def condensed(self, weight: Array) -> Array:
        """Gauss-Newton Hessian of f plus J^T weight J, lower triangle, Fortran order."""
        s = self.structure
        form = s.energy_weights(self.at)
        for block in s.blocks:
            w = weight[block.rows].reshape(block.shape)
            if block.matrix is None:
                form.weights[block.part][:, block.forces] += w / block.scale**2
            elif w.any():
                count = form.weights.shape[0]
                C, full = np.zeros((count, *block.matrix.shape[1:])), np.zeros((count, w.shape[1]))
                C[block.part], full[block.part] = block.matrix, w
                form.combined.append((block.forces, C, full))
        H = np.asfortranarray(s.program.scale * s.constant(self.at)) if s.forms else _zeros(s.program.n)
        s.program.add_rough_squares(H)
        self.map.add_squares(self.A, form, H)
        self.rest.add_squares(weight[s.other], H)
        return H


def _zeros(n: int) -> Array:
    return np.zeros((n, n), order="F")


__all__ = ["BlockLinearized", "Sampled", "Structure", "has_blocks"]
