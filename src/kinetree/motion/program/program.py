"""A motion problem as a sparse nonlinear program with exact first and second derivatives.

minimize f(z) subject to lower <= g(z) <= upper, z the unknowns of all blocks that are not fixed.
Sparsity and index maps are made once; each evaluation is a few calls on all samples at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.errors import AssemblyError
from kinetree.motion.compiled.assembly import compiled, gather
from kinetree.motion.compiled.blocks import compiled as compiled_blocks
from kinetree.motion.compiled.blocks import scatter_half, scatter_mixed
from kinetree.motion.problem.presolve import presolved
from kinetree.motion.problem.setting import Setting
from kinetree.motion.problem.unknowns import MOTION
from kinetree.motion.program.block_linearized import (
    BlockLinearized,
    Structure,
    has_blocks,
)
from kinetree.motion.program.blocks import (
    Block,
    RowBlock,
    Sampled,
    StepBlock,
    UnknownPlaces,
    distinct_parts,
    pulled,
)
from kinetree.motion.program.changes import ChangeBlock
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.program.further import FurtherCurvature, functions_of_pose, loosen_implied_bounds
from kinetree.motion.program.linearized import Linearized
from kinetree.motion.program.loop_mechanics import mechanics_of
from kinetree.motion.program.nonlinear import NonlinearProgram
from kinetree.motion.program.roughness import Roughness
from kinetree.motion.terms.contract import (
    TORQUE,
    Acting,
    Bounded,
    Changes,
    LinearRows,
    Quantity,
    Rows,
    SampleChanges,
)
from kinetree.motion.terms.functions import TorqueEnergy, TorquePower, TorqueSum, TorqueValue
from kinetree.state import Wrench

MOST_TABLE = 100  # entries of a table per key that is looked up in it

Loads = Callable[[Array], Sequence[Wrench]]


class Weighed(NamedTuple):
    """A part of the objective: ``weight`` times the time integral, or mean, of a ``quantity`` (None: 1)."""

    weight: float
    quantity: Quantity | Changes | None
    mean: bool = False


class _Cost(NamedTuple):
    """An objective by kinds of terms: weights and integrands, whether they are means, changes, time."""

    integrands: list[tuple[float, Quantity]]
    means: list[bool]
    changes: list[tuple[float, Changes, bool]]
    time_weight: float

    @classmethod
    def of(cls, setting: Setting, objective: Sequence[Weighed]) -> _Cost:
        """The terms of an objective; with a given duration, a mean is an integral with another weight."""
        T = setting.duration[0]
        if T == setting.duration[1]:
            objective = [Weighed(w / T if mean else w, x) for w, x, mean in objective]
        return cls(
            [(weight, x) for weight, x, _ in objective if isinstance(x, Quantity)],
            [mean for _, x, mean in objective if isinstance(x, Quantity)],
            [(weight, x, mean) for weight, x, mean in objective if isinstance(x, Changes)],
            sum(w for w, function, mean in objective if function is None and not mean),
        )


def _grids(
    setting: Setting, cost: _Cost, sampled: Sequence[Rows | SampleChanges]
) -> tuple[list[Array], list[bool]]:
    """Samples of all rows, changes and integrals, and whether torques are read there."""
    grids = [x.s for x in sampled] + [x.s for _, x, _ in cost.changes]
    functions = [x.function for x in sampled] + [x.function for _, x, _ in cost.changes]
    dynamic = [TORQUE in function.reads for function in functions]
    if cost.integrands:
        grids.append(setting.quadrature[0])
        dynamic.append(any(TORQUE in function.reads for _, function in cost.integrands))
    return grids, dynamic


class Program(NonlinearProgram):
    """The program of a setting: weighted integrands (None: 1) and bounded functions.

    ``rough`` maps columns of joints that may get a price on roughness to their sizes (rad, m); ``smoothing``
    is that price, in units of the objective.
    """

    def __init__(
        self,
        setting: Setting,
        objective: Sequence[Weighed],
        bounded: Sequence[Bounded],
        loads: Loads,
        acting: Sequence[Acting] = (),
        rough: Mapping[int, float] | None = None,
    ) -> None:
        self.setting, unknowns = setting, setting.unknowns
        cost = _Cost.of(setting, objective)
        self.means, self.time_weight = cost.means, cost.time_weight
        self.linear_terms = [x for x in bounded if isinstance(x, LinearRows)]
        sampled = [x for x in bounded if not isinstance(x, LinearRows)]
        grids, dynamic = _grids(setting, cost, sampled)
        s, parts = distinct_parts(grids, dynamic)
        self.dynamic = max((x.stop for x, early in zip(parts, dynamic, strict=True) if early), default=0)
        self.instants = unknowns.at(s)
        self.grid = self.instants.grid
        some = loads(s[: self.dynamic]) if self.dynamic else ()
        self.mechanics = mechanics_of(setting, some, acting)
        self.linear = presolved(
            self.linear_terms, unknowns.size, unknowns.fixed(), unknowns.bounds, unknowns.sizes
        )
        self.free = np.flatnonzero(self.linear.free)
        places = UnknownPlaces(self.instants, self.linear, acting)
        self.places = places
        self.blocks: list[Block] = [
            RowBlock(x, part, places) if isinstance(x, Rows) else StepBlock(x, part, places)
            for x, part in zip(sampled, parts, strict=False)
        ]
        if functions_of_pose(self.blocks):
            with suppress(AssemblyError):  # motions by chance need not close the loops
                loosen_implied_bounds(self.blocks, [self._by_chance(seed) for seed in range(2)])
        points = setting.quadrature[0]
        self.integrands = [
            (weight * f.counts(points), Sampled(f, parts[-1], places)) for weight, f in cost.integrands
        ]
        self.quadrature = setting.quadrature[1]
        self.squares = all(function.of_squares for _, function in cost.integrands)
        own = zip(cost.changes, parts[len(sampled) :], strict=False)
        self.changes = [
            ChangeBlock(weight, x, part, places, None if self.timed else setting.duration[0], mean)
            for (weight, x, mean), part in own
        ]
        self.scale, self.smoothing, self.rough = 1.0, 0.0, dict(rough or {})
        self._lay_out()
        self._evaluation: Evaluation | None = None
        self.counts = {"values": 0, "derivatives": 0, "curvatures": 0}

    # ---- sizes, bounds and sparsity ------------------------------------------------------------------
    def _lay_out(self) -> None:
        linear = self.linear
        n_linear = linear.matrix.shape[0]
        entries = linear.matrix.tocoo()
        rows, columns, self.offsets = [entries.row], [entries.col], [n_linear]
        for block in self.blocks:
            rows.append(block.rows + self.offsets[-1])
            columns.append(block.columns)
            self.offsets.append(self.offsets[-1] + block.count)
        self.n, self.m = len(self.free), int(self.offsets[-1])
        self.linear_entries = np.asarray(entries.data, dtype=np.float64)
        self._count = sum(len(x) for x in rows)
        factors = np.concatenate([np.ones(entries.nnz), *(block.factors for block in self.blocks)])
        self.factor_of_entry = None if (factors == 1.0).all() else factors
        self.sum_entries = None
        row, column = np.concatenate(rows).astype(np.int64), np.concatenate(columns).astype(np.int64)
        if self.linear.linked is not None:  # control points of one row may follow the same unknown
            keys, target = _distinct(row * self.n + column, self.n * self.m)
            if len(keys) < len(row):
                row, column = np.divmod(keys, self.n)
                places = target, np.arange(len(target))
                self.sum_entries = sparse.csr_array((factors, places), shape=(len(keys), len(target)))
        self.jacobian_rows, self.jacobian_columns = row.astype(np.int32), column.astype(np.int32)
        self.lower = np.concatenate([linear.lower, *(block.lower for block in self.blocks)])
        self.upper = np.concatenate([linear.upper, *(block.upper for block in self.blocks)])
        self.x_lower, self.x_upper = linear.z_lower, linear.z_upper
        self.durations = np.array([self.places.duration] if self.timed else [], dtype=np.int64)

    @property
    def timed(self) -> bool:
        """Whether the duration is free."""
        return self.places.duration >= 0

    @cached_property
    def hessian_rows(self) -> Integers:  # type: ignore[override]
        """Rows of the entries of the Hessian's lower triangle."""
        return self._hessian_places[0]

    @cached_property
    def hessian_columns(self) -> Integers:  # type: ignore[override]
        """Columns of these entries."""
        return self._hessian_places[1]

    @cached_property
    def further(self) -> FurtherCurvature | None:
        """Second derivatives by further blocks; None where there are none."""
        return FurtherCurvature(self.instants, self.places, self.n) if self.setting.unknowns.curves else None

    @cached_property
    def _hessian_places(self) -> tuple[Integers, Integers]:
        """Lower triangle of the Hessian of the Lagrangian, and where each local product goes.

        Made where entries are asked for: searches in blocks do without.
        """
        unknowns, profiles, place = self.setting.unknowns, self.setting.profiles, self.places.place
        first, self._span = np.unique(self.grid.first, return_inverse=True)
        width, n = profiles.basis.degree + 1, profiles.n
        own = unknowns.points((first[:, None] + np.arange(width))[:, :, None], np.arange(n))
        here, factor = place[own], self.places.factor[own]
        a, b = here[:, :, None, :, None], here[:, None, :, None, :]
        key = np.where((a >= 0) & (b >= 0), np.maximum(a, b) * self.n + np.minimum(a, b), -1)
        keys, target = _distinct(key, self.n**2)
        self._targets = np.ascontiguousarray(target.reshape(len(first), -1))
        twice = np.where(np.broadcast_to(a == b, key.shape), 2.0, 1.0)
        twice *= factor[:, :, None, :, None] * factor[:, None, :, None, :]
        self._factors = twice.reshape(len(first), -1)
        rows, columns = np.divmod(keys, self.n)
        self._duration_entries = slice(len(rows), len(rows) + (self.n if self.timed else 0))
        if self.timed:  # all pairs with the duration, in the order of z
            z = np.arange(self.n)
            rows = np.append(rows, np.maximum(z, self.places.duration))
            columns = np.append(columns, np.minimum(z, self.places.duration))
        if self.further is not None:
            self._further_entries = slice(len(rows), len(rows) + len(self.further.rows))
            rows = np.append(rows, self.further.rows)
            columns = np.append(columns, self.further.columns)
        if self.changes:
            rows, columns = self._map_changes(rows, columns)
        return rows.astype(np.int32), columns.astype(np.int32)

    def _map_changes(self, rows: Integers, columns: Integers) -> tuple[Integers, Integers]:
        """Places of the Hessian that squared changes need beside those that are there."""
        known, every = rows * self.n + columns, np.unique(np.concatenate([x.keys() for x in self.changes]))
        every, order = every[every >= 0], np.argsort(known, kind="stable")
        known_in_order = known[order]
        at = np.minimum(np.searchsorted(known_in_order, every), len(known) - 1)
        there = known_in_order[at] == every
        new = every[~there]
        self._change_entries = np.concatenate([order[at[there]], len(rows) + np.arange(len(new))])
        places = np.concatenate([every[there], new])
        self._change_places = np.divmod(places, self.n)
        rows, columns = (
            np.append(x, y) for x, y in zip((rows, columns), np.divmod(new, self.n), strict=True)
        )
        return rows, columns

    @property
    def duration_entries(self) -> Integers:
        """Where the second derivatives by the duration and each of z are among the Hessian's entries."""
        self._hessian_places  # noqa: B018
        return np.arange(self._duration_entries.start, self._duration_entries.stop)

    # ---- unknowns ------------------------------------------------------------------------------------
    def unknowns(self, z: Array) -> Array:
        """The unknowns of all blocks, from the free ones."""
        return self.linear.unknowns(z)

    def reduced(self, x: Array) -> Array:
        """The free ones."""
        return self.linear.reduced(x)

    def _by_chance(self, seed: int) -> Evaluation:
        """Any motion that keeps what is fixed."""
        unknowns = self.setting.unknowns
        x = np.random.default_rng(seed).uniform(-1.0, 1.0, unknowns.size)
        closure = self.setting.closure
        if closure is not None:
            near = 0.02 * unknowns.control_points(x) + closure.guess[closure.independent]
            x[unknowns.slices[MOTION]] = np.ravel(near)
        x = unknowns.with_duration(x, unknowns.duration.lowest)
        return Evaluation(self.instants, self.mechanics, self.unknowns(self.reduced(x)), self.dynamic)

    @override
    def duration(self, z: Array) -> float:
        """T (s)."""
        return float(z[self.places.duration]) if self.timed else self.setting.duration[0]

    @override
    def families(self) -> dict[str, list[int]]:
        """Rows by kind of constraint."""
        found: dict[str, list[int]] = {}
        for r, (c, _) in enumerate(self.linear.source):
            found.setdefault(self.linear_terms[c].family, []).append(r)
        for block, start in zip(self.blocks, self.offsets, strict=False):
            found.setdefault(block.source.family, []).extend(range(start, start + block.count))
        return found

    def evaluation(self, z: Array) -> Evaluation:
        """All that is known about z."""
        known = self._evaluation
        if known is None or known.z.tobytes() != z.tobytes():
            self.counts["values"] += 1
            known = Evaluation(self.instants, self.mechanics, self.unknowns(z), self.dynamic)
            known.z = np.array(z)
            self._evaluation = known
        return known

    # ---- the functions of a nonlinear program --------------------------------------------------------
    @override
    def expect_derivatives(self, z: Array) -> None:
        """Torques come with their derivatives if those of the last motion were asked for."""
        if self._evaluation is not None and self._evaluation.has_torque_slopes:
            self.evaluation(z).derived_torques  # noqa: B018

    @override
    def objective(self, z: Array) -> float:
        """f(z), scaled."""
        found = self.scale * self._objective(self.evaluation(z))
        return found + self._price * self.roughness(z) if self._price else found

    @override
    def cost(self, z: Array) -> float:
        """The objective that was asked for."""
        return self._objective(self.evaluation(z))

    @cached_property
    def _roughness(self) -> Roughness:
        return Roughness(self, self.rough)

    @property
    def _price(self) -> float:
        """Of roughness, in the scaled objective."""
        return self.scale * self.smoothing + self.easing

    @override
    def roughness(self, z: Array) -> float:
        """How rough the joints are that may have a price on it."""
        return self._roughness.value(z) if self.rough else 0.0

    @override
    def roughness_slope(self, z: Array) -> Array:
        """Its derivatives by z."""
        return self._roughness.slope(z) if self.rough else np.zeros(self.n)

    @cached_property
    def _rough_entries(self) -> Array:
        """Second derivatives of roughness in the order of the Hessian's entries."""
        return self._roughness.entries(self.hessian_rows, self.hessian_columns)

    @cached_property
    def rough_matrix(self) -> Array:
        """Second derivatives of roughness, (n, n)."""
        return self._roughness.matrix()

    def add_rough_squares(self, H: Array) -> None:
        """Add the Hessian of the price on roughness to H (n, n)."""
        if self._price:
            H += self._price * self.rough_matrix

    def _objective(self, at: Evaluation) -> float:
        integrals, means = self._mean(at)
        found = at.motion.duration * (self.time_weight + integrals) + means
        return found + sum(x.value(at) for x in self.changes)

    def _mean(self, at: Evaluation) -> tuple[float, float]:
        """Integrals over s of the integrands: of those of time integrals, and of those of means."""
        if at.mean is None:
            found = [0.0, 0.0]
            for (weight, sampled), mean in zip(self.integrands, self.means, strict=True):
                found[mean] += float((weight * self.quadrature) @ sampled.values(at)[:, 0])
            at.mean = found[0], found[1]
        return at.mean

    @override
    def gradient(self, z: Array) -> Array:
        """df/dz."""
        found = self._objective_gradient(self.evaluation(z))
        return found + self._price * self.roughness_slope(z) if self._price else found

    def _objective_gradient(self, at: Evaluation) -> Array:
        """The same without the price on roughness."""
        if self.structure is not None:
            return self._block_gradient(at, self.structure)
        T, (integrals, _) = at.motion.duration, self._mean(at)
        slopes, means = self._mean_slopes(at)
        found = T * slopes + means
        found[self.setting.unknowns.duration_place] += self.time_weight + integrals
        for changes in self.changes:
            found += changes.gradient(at)
        return self.scale * self.linear.carried(found)

    def _block_gradient(self, at: Evaluation, structure: Structure) -> Array:
        """df/dz by derivatives of all torques at once."""
        T, pull = at.motion.duration, np.zeros_like(at.tau)
        for weight, sampled in structure.energies:
            function = sampled.function
            assert isinstance(function, TorqueEnergy)
            rates = function.rates(at.tau[sampled.part][:, function.rows])
            pull[sampled.part][:, function.rows] += (T * weight * self.quadrature)[:, None] * rates
        for changes in self.changes:
            function = changes.sampled.function
            assert isinstance(function, TorqueSum)
            pull[changes.part][:, function.rows] += changes.pulls(at) * np.diagonal(
                function.matrix(np.zeros(0))
            )
        total = np.zeros(self.setting.unknowns.size)
        for weight, sampled in structure.shared:
            part, values = sampled.part, sampled.function
            assert isinstance(values, TorqueValue)
            share = T * weight * self.quadrature
            pull[part][:, values.rows] += share[:, None] * values.pulls(At(at, part))
            own = at.reduced(values.own_slopes(At(at, part)), part)
            by_point, _ = at.grid.part(part).pull(own, at.motion.part(part))
            spread = share[:, None, None] * by_point[:, :, 0]
            total += np.bincount(self.places.columns[part].ravel(), spread.ravel(), len(total))
        found = structure.map.transposed(at.torque_rows(structure.map), pull)
        for weight, sampled in structure.forms:
            by_point, _ = pulled(sampled, at, sampled.part)
            share = (T * weight * self.quadrature)[:, None, None] * by_point[:, :, 0]
            total += np.bincount(self.places.columns[sampled.part].ravel(), share.ravel(), len(total))
        return self.scale * (found + self.linear.carried(total))

    def _mean_slopes(self, at: Evaluation) -> tuple[Array, Array]:
        """Derivatives by x, T included, of the two numbers of `_mean`, (size,) each."""
        if at.mean_slopes is None:
            unknowns = self.setting.unknowns
            found = np.zeros((2, unknowns.size))
            for (weight, sampled), mean in zip(self.integrands, self.means, strict=True):
                total = found[int(mean)]
                slopes = [*zip(sampled.curves, sampled.curve_slopes(at), strict=True)]
                places = [(self.places.curves[name], by_curve) for name, by_curve in slopes]
                if sampled.moves:
                    by_point, by_duration = pulled(sampled, at, sampled.part)
                    places.append((self.places.columns, by_point))
                    total[unknowns.duration_place] += float((weight * self.quadrature) @ by_duration[:, 0])
                for columns, by_point in places:
                    share = (weight * self.quadrature)[:, None, None] * by_point[:, :, 0]
                    total += np.bincount(columns[sampled.part].ravel(), share.ravel(), len(total))
            at.mean_slopes = found[0], found[1]
        return at.mean_slopes

    @override
    def constraints(self, z: Array) -> Array:
        """g(z)."""
        at = self.evaluation(z)
        found = [self.linear.matrix @ z] if self.offsets[0] else []
        found += [block.values(at) for block in self.blocks]
        return np.concatenate(found) if found else np.zeros(0)

    @override
    def jacobian(self, z: Array) -> Array:
        """Entries of dg/dz in the order of jacobian_rows and jacobian_columns."""
        self.counts["derivatives"] += 1
        at = self.evaluation(z)
        entries = np.empty(self._count)
        stop = len(self.linear_entries)
        entries[:stop] = self.linear_entries
        for block in self.blocks:
            start, stop = stop, stop + len(block.rows)
            block.jacobian(at, entries[start:stop])
        return self._finished(entries)

    def _finished(self, entries: Array) -> Array:
        """Entries by x as entries by z."""
        if self.sum_entries is not None:
            return np.asarray(self.sum_entries @ entries)
        if self.factor_of_entry is not None:
            entries *= self.factor_of_entry
        return entries

    @override
    def hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """Entries of factor d2f/dz2 + sum_i multipliers_i d2g_i/dz2, lower triangle."""
        self.counts["curvatures"] += 1
        at = self.evaluation(z)
        at.clear_weights()
        self._weigh_objective(at, factor)
        self._weigh_rows(at, multipliers)
        return self._collected(at, factor)

    @override
    def straight_hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """The same without the second derivatives of torques in the objective, which squares do not need."""
        at = self.evaluation(z)
        at.clear_weights()
        self._weigh_objective(at, factor)
        at.torque_weight = None
        self._weigh_rows(at, multipliers)
        return self._collected(at, factor)

    # ---- in blocks -----------------------------------------------------------------------------------
    @cached_property
    def structure(self) -> Structure | None:
        """Rows and objective as blocks of torques; None where they are not made of these."""
        return Structure(self) if has_blocks(self) else None

    @override
    def linearized(self, z: Array) -> Linearized:
        """The rows at z as a linear map, in blocks where they are linear in torques."""
        if self.structure is None:
            return super().linearized(z)
        at = self.evaluation(z)
        if at.linearized is None:
            self.counts["derivatives"] += 1
            at.linearized = BlockLinearized(self.structure, at, self.structure.other_entries(at))
        return at.linearized

    @override
    def gauss_newton(self, z: Array) -> Array:
        """The Hessian of f as if all that it is made of were straight, (n, n), lower triangle."""
        if self.structure is None:
            return super().gauss_newton(z)
        return self.linearized(z).condensed(np.zeros(self.m))

    @override
    def whole_hessian(self, z: Array, factor: float, multipliers: Array) -> Array:
        """factor d2f/dz2 + sum_i multipliers_i d2g_i/dz2, (n, n), lower triangle."""
        if self.structure is None or not factor > 0.0:
            return super().whole_hessian(z, factor, multipliers)
        return factor * (self.gauss_newton(z) + self.curvature(z, multipliers / factor))

    @override
    def transposed_times(self, z: Array, y: Array) -> Array:
        """(dg/dz)^T y, (n,)."""
        return super().transposed_times(z, y) if self.structure is None else self.linearized(z).transposed(y)

    @override
    def chosen_rows(self, z: Array, rows: Integers) -> Array:
        """Some rows of dg/dz, (k, n)."""
        return super().chosen_rows(z, rows) if self.structure is None else self.linearized(z).chosen(rows)

    def hessian_of(self, at: Evaluation, integrands: Sequence[tuple[float | Array, Sampled]]) -> Array:
        """The Hessian of some integrands, for a scale of 1, (n, n)."""
        at.clear_weights()
        for weight, sampled in integrands:
            sampled.weigh(at, (at.motion.duration * weight * self.quadrature)[:, None])
        return self._dense_curvature(at)

    def _dense_curvature(self, at: Evaluation) -> Array:
        """Second derivatives of all that was weighed, (n, n), lower triangle; for a given duration."""
        at.bend_torques()
        H, T, grid = np.zeros((self.n, self.n), order="F"), at.motion.duration, self.grid
        place, factor = self._spread_places
        compiled_blocks(scatter_half)(at.half, grid.weights, T, place, factor, H.T)
        for name, block in at.mixed.items():
            own = self.instants.curves[name].weights
            columns = self.places.curves[name]
            far = self.places.place[columns], self.places.factor[columns]
            compiled_blocks(scatter_mixed)(block, grid.weights, T, place, factor, own, *far, H.T)
        if at.curved and self.further is not None:
            at.mixed = {}
            entries = self.further.entries(at)
            np.add.at(H, (self.further.rows, self.further.columns), entries)
        return H

    @cached_property
    def _spread_places(self) -> tuple[Integers, Array]:
        """Where control points of each sample are among the free unknowns, and their factors."""
        return self.places.place[self.places.columns], self.places.factor[self.places.columns]

    @override
    def curvature(self, z: Array, multipliers: Array) -> Array:
        """What the Hessian of f + multipliers . g has beside `gauss_newton`, (n, n), lower triangle."""
        if self.structure is None:
            return super().curvature(z, multipliers)
        self.counts["curvatures"] += 1
        at = self.evaluation(z)
        at.clear_weights()
        share = self.scale * at.motion.duration
        for weight, sampled in self.structure.energies:
            function = sampled.function
            assert isinstance(function, TorqueEnergy)
            function.bend_torques(At(at, sampled.part), (share * weight * self.quadrature)[:, None])
        for weight, sampled in self.structure.shared:
            values = sampled.function
            assert isinstance(values, TorqueValue)
            values.bend_rest(At(at, sampled.part), (share * weight * self.quadrature)[:, None])
        for changes in self.changes:
            changes.bend(at, self.scale)
        for block, start in zip(self.blocks, self.offsets, strict=False):
            block.bend(at, multipliers[start : start + block.count])
        return self._dense_curvature(at)

    @override
    def ease(self, easier: bool) -> bool:
        """Let powers of torques be squares for a while, or no longer."""
        powers = [x.function for _, x in self.integrands if isinstance(x.function, TorquePower)]
        for function in powers:
            function.eased = easier
        if powers and self._evaluation is not None:
            self._evaluation.mean = self._evaluation.mean_slopes = None
        return bool(powers)

    def _weigh_objective(self, at: Evaluation, factor: float) -> None:
        factor *= self.scale
        if factor != 0.0:
            for (weight, sampled), mean in zip(self.integrands, self.means, strict=True):
                share = factor if mean else factor * at.motion.duration
                sampled.weigh(at, (share * weight * self.quadrature)[:, None])
            for changes in self.changes:
                changes.weigh(at, factor)

    def _weigh_rows(self, at: Evaluation, multipliers: Array) -> None:
        for block, start in zip(self.blocks, self.offsets, strict=False):
            block.weigh(at, multipliers[start : start + block.count])

    def _collected(self, at: Evaluation, factor: float) -> Array:
        """Entries of the second derivatives of all that was weighed."""
        of_objective, factor = factor, factor * self.scale
        points, mixed, twice = at.curvature()
        unknowns = self.setting.unknowns
        entries, total = np.zeros(len(self.hessian_rows)), np.zeros(unknowns.size)
        points, motion = points.reshape(len(points), -1), total[unknowns.slices[MOTION]]
        compiled(gather)(
            points, mixed, self.grid.first, self._span, self._targets, self._factors, entries, motion
        )
        if self.further is not None:
            entries[self._further_entries] = self.further.entries(at)
            self.further.add_by_duration(at, total)
        if self.changes and factor != 0.0:
            for changes in self.changes:
                squares = changes.squares(at, self.n)
                entries[self._change_entries] += factor * squares[self._change_places]
        if self._price and of_objective:
            entries += of_objective * self._price * self._rough_entries
        if not self.timed:
            return entries
        last = unknowns.duration_place
        total[last] = twice.sum()
        if factor != 0.0:
            slopes, _ = self._mean_slopes(at)  # time integrals are T times what they integrate over s
            total += factor * slopes
            total[last] += factor * slopes[last]
            for changes in self.changes:
                changes.add_by_duration(at, factor, total)
        entries[self._duration_entries] += self.linear.carried(total)
        return entries


def _distinct(key: Integers, end: int) -> tuple[Integers, Integers]:
    """Sorted keys from 0 below ``end`` that occur, and the index of each in them, -1 where a key is negative.

    Counted in a table, which takes a tenth of the time of sorting, unless that is far longer than the keys.
    """
    if end > MOST_TABLE * key.size:
        keys, target = np.unique(key, return_inverse=True)
        return (keys[1:], target - 1) if keys[0] < 0 else (keys, target)
    occurs = np.zeros(end + 1, dtype=bool)
    occurs[key] = True  # -1 is the last place
    keys = np.flatnonzero(occurs[:end])
    index = np.cumsum(occurs) - 1
    index[end] = -1
    return keys, index[key]
