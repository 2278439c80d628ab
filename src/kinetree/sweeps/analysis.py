"""What the cases of a sweep say together: quantiles, distinct optima, fronts, sensitivities.

Only cases that succeeded count; results carry the number of those that did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed, unknown_name
from kinetree.result.result import Result
from kinetree.study.sweep_tables import SweepTable, checked_table
from kinetree.sweeps.case import STATUSES
from kinetree.sweeps.dimensions import RANDOM, SAMPLE, axis_name, kind_of

if TYPE_CHECKING:
    from xarray import DataArray

OK = STATUSES.index("ok")
DIFFERENT = 1e-3  # of objectives, or of the range of motions: difference of distinct optima


def sweep_table(result: Result) -> SweepTable:
    """The table [sweep] of a result."""
    if result.task != "sweep":
        raise InputError(f"this needs the result of a sweep, got that of the task '{result.task}'")
    return checked_table(result.settings["sweep"])


def measures(result: Result, *, scalar: bool = False) -> list[str]:
    """Names of the measures: variables of the cases without those kept over instants."""
    dims = _dims(result)
    found = [name for name in result.variables if name not in ("status", "message")]
    found = [name for name in found if "instant" not in result[name].dims]
    return [name for name in found if result[name].dims == dims] if scalar else found


def _dims(result: Result) -> tuple[str, ...]:
    return tuple(map(str, result["status"].dims))


def _checked(result: Result, name: str | None) -> str:
    known = [x for x in result.variables if x not in ("status", "message")]
    if name is None:
        chosen = sweep_table(result).objectives or measures(result)
        if not chosen:
            raise InputError("the sweep has no measures: none of its cases succeeded")
        return chosen[0]
    if name not in known:
        raise InputError(unknown_name("measure", name, known))
    return name


# ---- Monte Carlo ----------------------------------------------------------------------------------------


def quantiles(result: Result, name: str | None = None, q: Sequence[float] | None = None) -> DataArray:
    """Quantiles of a measure or a stored variable over the samples; failed cases are ignored.

    >>> quantiles(result, "peak_tau", [0.05, 0.95])  # doctest: +SKIP
    """
    table, chosen = sweep_table(result), _checked(result, name)
    if SAMPLE not in result["status"].dims:
        raise InputError(f"the sweep has no samples but the axes {listed(_dims(result))}; no axis is random")
    found: DataArray = result[chosen].quantile(list(q or table.quantiles), dim=SAMPLE, skipna=True)
    return found


@dataclass(frozen=True, eq=False)
class Convergence:
    """The mean of a measure after 1, 2, ... samples, with its standard error (nan for one)."""

    count: Array
    mean: Array
    error: Array

    @property
    def relative_error(self) -> float:
        """Standard error of the last mean, relative to that mean."""
        return float(self.error[-1] / abs(self.mean[-1])) if self.mean[-1] != 0.0 else float("inf")


def convergence(result: Result, name: str | None = None) -> Convergence:
    """Convergence of the mean of a measure with the number of samples; its error assumes independent samples.

    The error of low-discrepancy samples is usually smaller.

    >>> convergence(result, "peak_tau").relative_error  # doctest: +SKIP
    """
    chosen = _checked(result, name)
    values = _flat(result, chosen)
    values = values[np.isfinite(values)]
    if not len(values):
        raise InputError(f"'{chosen}' has no values: no case succeeded")
    n = np.arange(1.0, len(values) + 1.0)
    mean = np.cumsum(values) / n
    square = np.cumsum((values - values[0]) ** 2) / n - (mean - values[0]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.maximum(square, 0.0) / (n - 1))
    error[0] = np.nan
    return Convergence(n, mean, error)


def _flat(result: Result, name: str) -> Array:
    """A measure of all cases, one after the other; of several numbers, the largest."""
    array = result[name].transpose(*_dims(result), ...)
    values = np.asarray(array.values, dtype=np.float64).reshape(result["status"].size, -1)
    return values[:, 0] if values.shape[1] == 1 else values.max(axis=1)


# ---- several starts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Optimum:
    """An optimum, how often it was found, by which cases, and the best of them."""

    objective: float
    count: int
    best: int
    cases: tuple[int, ...]


def optima(result: Result, name: str | None = None, tolerance: float = DIFFERENT) -> list[Optimum]:
    """The distinct optima among solved cases, the best first.

    Two are the same if their objectives differ by less than the relative ``tolerance``, and the stored
    variables, such as the motions q, by less than ten times that, relative to their range.

    >>> [(x.objective, x.count) for x in optima(result)]  # doctest: +SKIP
    """
    chosen = _checked(result, name)
    objective, status = _flat(result, chosen), result["status"].values.ravel()
    solved = [int(k) for k in np.flatnonzero((status == OK) & np.isfinite(objective))]
    shapes = _motions(result)
    found: list[list[int]] = []
    for case in sorted(solved, key=lambda k: (objective[k], k)):
        for group in found:
            same = abs(objective[case] - objective[group[0]]) <= tolerance * max(
                abs(objective[group[0]]), 1e-12
            )
            if same and _same_motion(shapes, case, group[0], 10.0 * tolerance):
                group.append(case)
                break
        else:
            found.append([case])
    return [Optimum(float(objective[g[0]]), len(g), g[0], tuple(sorted(g))) for g in found]


def _motions(result: Result) -> list[Array]:
    """Variables that were kept over instants, of all cases one after the other."""
    count = result["status"].size
    kept = [name for name in result.variables if "instant" in result[name].dims and name != "time"]
    return [
        np.asarray(result[name].transpose(*_dims(result), ...).values).reshape(count, -1)
        for name in kept
        if name == "q" or "q" not in kept
    ]


def _same_motion(motions: list[Array], a: int, b: int, tolerance: float) -> bool:
    for values in motions:
        size = float(np.ptp(values[b])) or 1.0
        if float(np.abs(values[a] - values[b]).max()) > tolerance * size:
            return False
    return True


# ---- fronts ---------------------------------------------------------------------------------------------


def pareto_front(result: Result, names: Sequence[str] | None = None) -> list[int]:
    """Cases that no other solved case dominates, for measures to minimize, sorted by the first measure.

    >>> pareto_front(result, ["duration", "effort"])  # doctest: +SKIP
    """
    chosen = list(names or sweep_table(result).objectives or ())
    if len(chosen) < 2:
        raise InputError(f"a front needs at least two measures, got {listed(chosen)}")
    values = np.stack([_flat(result, _checked(result, name)) for name in chosen], axis=1)
    status = result["status"].values.ravel()
    cases = np.flatnonzero((status == OK) & np.isfinite(values).all(axis=1))
    front = []
    for case in cases:
        others = values[cases]
        beaten = (others <= values[case]).all(axis=1) & (others < values[case]).any(axis=1)
        if not beaten.any():
            front.append(int(case))
    return sorted(front, key=lambda k: (values[k, 0], k))


# ---- sensitivity ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Sobol indices of a measure by axis: shares of its variance, alone and with all interactions.

    ``first_range`` and ``total_range`` (axes, 2) are intervals that contain the index with 95 % confidence.
    """

    axes: tuple[str, ...]
    first: Array
    total: Array
    first_range: Array
    total_range: Array
    rows: int
    left_out: int


def sensitivity(result: Result, name: str | None = None, resamples: int = 200) -> Sensitivity:
    """Sobol indices (Saltelli et al. 2010) of a measure, from the cases of a sweep of the kind "sensitivity".

    Rows of the design in which a case failed are left out.

    >>> sensitivity(result, "peak_tau").first  # doctest: +SKIP
    """
    from scipy.stats import sobol_indices

    table, chosen = sweep_table(result), _checked(result, name)
    if table.kind != "sensitivity" or len(_dims(result)) != 1:
        raise InputError(
            f"Sobol indices need a sweep of the kind 'sensitivity' over random axes, got '{table.kind}'"
        )
    axes = tuple(axis_name(axis) for axis in table.axis if kind_of(axis) in RANDOM)
    values = _flat(result, chosen).reshape(-1, len(axes) + 2)
    whole = np.isfinite(values).all(axis=1)
    count = 1 << (int(whole.sum()).bit_length() - 1) if whole.any() else 0  # a power of 2, as SciPy wants
    if count < 2:
        raise InputError(
            f"'{chosen}': too few rows of the design succeeded, {int(whole.sum())} of {len(values)}"
        )
    rows = values[whole][:count]
    parts: Any = {"f_A": rows[None, :, 0], "f_B": rows[None, :, 1], "f_AB": rows[:, 2:].T[:, None, :]}
    if float(np.var(rows[:, :2])) == 0.0:
        zero, ends = np.zeros(len(axes)), np.zeros((len(axes), 2))
        return Sensitivity(axes, zero, zero, ends, ends, count, len(values) - count)
    found = sobol_indices(func=parts, n=count)
    spread = _resampled(rows, resamples)
    return Sensitivity(
        axes,
        np.ravel(found.first_order),
        np.ravel(found.total_order),
        np.quantile(spread[:, 0], [0.025, 0.975], axis=0).T,
        np.quantile(spread[:, 1], [0.025, 0.975], axis=0).T,
        count,
        len(values) - count,
    )


def _resampled(rows: Array, resamples: int) -> Array:
    """Indices (resamples, 2, axes) of rows drawn again, with estimators of Saltelli 2010, table 2."""
    rng, found = np.random.default_rng(0), []
    for _ in range(resamples):
        drawn = rows[rng.integers(len(rows), size=len(rows))]
        f_a, f_b, mixed = drawn[:, 0], drawn[:, 1], drawn[:, 2:].T
        variance = np.var(np.concatenate([f_a, f_b])) or 1.0
        first = np.mean(f_b * (mixed - f_a), axis=1) / variance
        total = 0.5 * np.mean((f_a - mixed) ** 2, axis=1) / variance
        found.append((first, total))
    return np.array(found)
