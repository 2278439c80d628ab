"""From axes to dimensions: grids and lists have one each, all random axes share that of the samples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed, must_be
from kinetree.study.sweep_tables import AxisTable, SweepTable
from kinetree.sweeps.fields import short_name

RANDOM = ("uniform", "log_uniform", "normal", "among")
GIVEN = ("values", "range", "seeds", *RANDOM)
SAMPLE, MATRIX = "sample", "matrix"
TAKEN = ("instant", "joint", "body", "axis", "component", "status", "message", "time", MATRIX)


class Column(NamedTuple):
    """What varies along a dimension: its name, fields, whether they are multiplied, and all its values."""

    name: str
    paths: tuple[str, ...]
    relative: bool
    values: Any  # an array of numbers (size,), or a list of anything


@dataclass(frozen=True, eq=False)
class Dimension:
    """A dimension of the sweep: its name, how many values it has, and what varies along it."""

    name: str
    size: int
    columns: tuple[Column, ...]


def dimensions(table: SweepTable) -> list[Dimension]:
    """The dimensions of a sweep; the cases are all combinations, the last dimension varying fastest."""
    axes = list(table.axis)
    if not axes:
        raise InputError("[sweep] has no [[sweep.axis]]: nothing varies")
    names = [axis_name(axis) for axis in axes]
    for k, name in enumerate(names):
        if name in names[:k] or name in TAKEN or not name.isidentifier():
            why = "is used twice" if name in names[:k] else "cannot be used"
            raise InputError(
                f"axis '{axes[k].field[0]}': the name '{name}' {why}; give it another one with name = "
            )
    random = [axis for axis in axes if kind_of(axis) in RANDOM]
    found = [_plain(axis, table.seed) for axis in axes if axis not in random]
    if table.kind == "sensitivity":
        return [*found, *_saltelli(random, table)]
    if not random:
        if table.samples is not None:
            raise InputError(f"sweep.samples = {table.samples}, and no axis is random: {listed(RANDOM)}")
        return found
    if table.samples is None:
        raise InputError(f"axis '{names[axes.index(random[0])]}' is random: give sweep.samples, their number")
    drawn = unit_samples(table.sampler, table.samples, len(random), table.seed)
    columns = tuple(_drawn(axis, drawn[:, k]) for k, axis in enumerate(random))
    return [*found, Dimension(SAMPLE, table.samples, columns)]


def planned_count(table: SweepTable) -> int:
    """How many cases a sweep has, without making them."""
    count, random = 1, 0
    for axis in table.axis:
        kind = kind_of(axis)
        random += kind in RANDOM
        if kind not in RANDOM:
            count *= axis.count or axis.seeds or len(axis.values or [0])
    if random:
        count *= table.samples or 1
        count *= random + 2 if table.kind == "sensitivity" else 1
    return count


def axis_name(axis: AxisTable) -> str:
    """The name that was given, or the end of the path."""
    return axis.name or short_name(axis.field[0])


def kind_of(axis: AxisTable) -> str:
    """Which of the ways to give values an axis has."""
    given = [name for name in GIVEN if getattr(axis, name) is not None]
    if len(given) != 1:
        raise InputError(f"axis '{axis.field[0]}' needs one of {listed(GIVEN)}, got {listed(given)}")
    if (given[0] == "range") != (axis.count is not None):
        raise InputError(f"axis '{axis.field[0]}': range and count belong together")
    return given[0]


def _plain(axis: AxisTable, seed: int) -> Dimension:
    name, paths = axis_name(axis), tuple(axis.field)
    if axis.values is not None:
        values = [_checked(x, axis) for x in axis.values]
        numeric = all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)
        column = Column(name, paths, axis.relative, np.array(values) if numeric else values)
        if (
            not numeric
            and all(isinstance(x, list) and len(x) == len(paths) for x in values)
            and len(paths) > 1
        ):
            together = zip(*values, strict=True)
            columns = tuple(
                Column(short_name(path), (path,), axis.relative, _plain_array(own))
                for path, own in zip(paths, together, strict=True)
            )
            return Dimension(name, len(values), columns)
        return Dimension(name, len(values), (column,))
    if axis.seeds is not None:
        return Dimension(name, axis.seeds, (Column(name, paths, False, np.arange(seed, seed + axis.seeds)),))
    assert axis.range is not None and axis.count is not None
    first, last = _ends(axis, "range", log=axis.spacing == "log", ordered=False)
    space = np.geomspace if axis.spacing == "log" else np.linspace
    return Dimension(name, axis.count, (Column(name, paths, axis.relative, space(first, last, axis.count)),))


def _plain_array(values: Sequence[Any]) -> Any:
    numeric = all(isinstance(x, int | float) and not isinstance(x, bool) for x in values)
    return np.array(values) if numeric else list(values)


def _checked(value: Any, axis: AxisTable) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(must_be(f"axis '{axis.field[0]}': values", "finite", value, ""))
    if axis.relative and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InputError(must_be(f"axis '{axis.field[0]}' is relative: values", "numbers", value))
    return value


def _ends(axis: AxisTable, name: str, log: bool = False, ordered: bool = True) -> tuple[float, float]:
    low, high = getattr(axis, name)
    what = f"axis '{axis.field[0]}': {name}"
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InputError(f"{what} must be two finite numbers, got [{low:g}, {high:g}]")
    if log and not (low > 0.0 and high > 0.0):
        raise InputError(f"{what} must be above 0 for logarithms, got [{low:g}, {high:g}]")
    if ordered and not low < high:
        raise InputError(f"{what} must be [lowest, highest], got [{low:g}, {high:g}]")
    return low, high


# ---- samples --------------------------------------------------------------------------------------------


def unit_samples(sampler: str, count: int, size: int, seed: int) -> Array:
    """Samples (count, size) between 0 and 1, never 0 or 1 themselves."""
    from scipy.stats import qmc

    if sampler == "random":
        drawn = np.random.default_rng(seed).random((count, size))
    elif sampler == "sobol":
        drawn = qmc.Sobol(size, seed=seed).random_base2(max(0, (count - 1).bit_length()))[:count]
    else:
        kind = {"halton": qmc.Halton, "latin_hypercube": qmc.LatinHypercube}[sampler]
        drawn = kind(size, seed=seed).random(count)
    found: Array = np.clip(drawn, 2.0**-53, 1.0 - 2.0**-53)
    return found


def _drawn(axis: AxisTable, unit: Array) -> Column:
    """Values of a random axis by the inverse of its distribution."""
    name, paths, kind = axis_name(axis), tuple(axis.field), kind_of(axis)
    if kind == "among":
        options = [_checked(x, axis) for x in axis.among or []]
        chosen = [options[int(u * len(options))] for u in unit]
        return Column(name, paths, axis.relative, _plain_array(chosen))
    if kind == "normal":
        from scipy.special import ndtri

        mean, deviation = axis.normal or (0.0, 0.0)
        if not (math.isfinite(mean) and math.isfinite(deviation) and deviation > 0.0):
            raise InputError(
                must_be(f"axis '{axis.field[0]}': normal", "[mean, deviation > 0]", axis.normal, "")
            )
        return Column(name, paths, axis.relative, mean + deviation * ndtri(unit))
    low, high = _ends(axis, kind, log=kind == "log_uniform")
    values = low * (high / low) ** unit if kind == "log_uniform" else low + (high - low) * unit
    return Column(name, paths, axis.relative, values)


def _saltelli(random: list[AxisTable], table: SweepTable) -> list[Dimension]:
    """Rows of two matrices A and B of samples, and of A with one column of B each (Saltelli et al. 2010)."""
    d = len(random)
    if d < 2 or table.samples is None:
        raise InputError("the kind 'sensitivity' needs sweep.samples and at least two random axes")
    if table.samples & (table.samples - 1):
        raise InputError(must_be("sweep.samples", "a power of 2 for a sensitivity", table.samples, ""))
    drawn = unit_samples("sobol", table.samples, 2 * d, table.seed)
    blocks = [drawn[:, :d], drawn[:, d:]]
    for k in range(d):
        mixed = blocks[0].copy()
        mixed[:, k] = blocks[1][:, k]
        blocks.append(mixed)
    stacked = np.stack(blocks, axis=1).reshape(-1, d)  # all matrices of a row one after the other
    columns = tuple(_drawn(axis, stacked[:, k]) for k, axis in enumerate(random))
    return [Dimension(SAMPLE, len(stacked), columns)]
