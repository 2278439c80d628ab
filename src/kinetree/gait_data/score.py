"""How like a measured gait a gait is: shape, range, differences, peaks and when they occur."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, expect, must_be
from kinetree.gait_data.curves import ALL
from kinetree.gait_data.cycle import GaitCycle, checked_curve
from kinetree.gait_data.measured import Measured, measured_walking

WITHIN = 2.0  # standard deviations
# What a predicted gait should reach: correlations, ratio of ranges, vertical peaks (BW), stance (%)
LEAST_R = {
    "hip_flexion": 0.95,
    "knee_flexion": 0.92,
    "ankle_flexion": 0.8,
    "force_vertical": 0.95,
    "force_foreaft": 0.95,
    "hip_moment": 0.7,
    "knee_moment": 0.7,
    "ankle_moment": 0.7,
}
RANGES, RANGE = ("hip_flexion", "knee_flexion", "ankle_flexion"), (0.8, 1.2)
PEAK, STANCE = (1.0, 1.3), (58.0, 65.0)


@dataclass(frozen=True)
class CurveScore:
    """Comparison of one curve with the measured one.

    ``r`` is the correlation over the cycle; ``range_ratio`` the range of values relative to the measured
    range; ``rmse`` the root mean square difference after removing the constant offset, ``rmse_sd`` the same
    relative to the mean standard deviation between people; ``within`` the fraction of the cycle within two
    standard deviations of the mean; both are NaN where that deviation is not known. Largest and least values
    come with the percent of the cycle they occur at. A ``doubtful`` curve was measured with known faults.
    """

    curve: str
    unit: str
    r: float
    range: float
    range_measured: float
    range_ratio: float
    offset: float
    rmse: float
    rmse_sd: float
    within: float
    peak: float
    peak_at: float
    peak_measured: float
    peak_measured_at: float
    least: float
    least_at: float
    least_measured: float
    least_measured_at: float
    doubtful: bool


@dataclass(frozen=True)
class GaitScore:
    """Scores of all curves for a data set, vertical peaks and valley (percent, BW), stance (%)."""

    data: str
    source: str
    curves: tuple[CurveScore, ...]
    peaks: tuple[tuple[float, float], ...]
    peaks_measured: tuple[tuple[float, float], ...]
    valley: float
    valley_measured: float
    stance: float
    stance_measured: float

    def __getitem__(self, curve: str) -> CurveScore:
        for row in self.curves:
            if row.curve == curve:
                return row
        raise InputError(
            f"the score has no curve '{curve}'; it has {', '.join(x.curve for x in self.curves)}"
        )

    @property
    def bars(self) -> dict[str, tuple[float, tuple[float, float], bool]]:
        """Criteria of a human gait: value, allowed range, and whether it is met."""
        wanted: dict[str, tuple[float, tuple[float, float]]] = {}
        for row in self.curves:
            if row.doubtful:
                continue
            if row.curve in LEAST_R:
                wanted[f"r of {row.curve}"] = row.r, (LEAST_R[row.curve], 1.0)
            if row.curve in RANGES:
                wanted[f"range of {row.curve}"] = row.range_ratio, RANGE
        if any(row.curve == "force_vertical" and not row.doubtful for row in self.curves):
            for k, name in enumerate(("first", "second")):
                height = self.peaks[k][1] if k < len(self.peaks) else float("nan")
                wanted[f"{name} vertical peak"] = height, PEAK
            wanted["stance"] = self.stance, STANCE
        return {
            name: (value, (low, high), bool(low <= value <= high + 1e-12))
            for name, (value, (low, high)) in wanted.items()
        }

    @property
    def missed(self) -> tuple[str, ...]:
        """Names of the criteria that are not met."""
        return tuple(name for name, (_, _, reached) in self.bars.items() if not reached)

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and texts; numbers that are not known are None."""
        bars = {
            name: {"value": value, "allowed": list(allowed), "reached": reached}
            for name, (value, allowed, reached) in self.bars.items()
        }
        found: dict[str, Any] = _known(asdict(self) | {"bars": bars, "missed": list(self.missed)})
        return found


def gait_score(cycle: GaitCycle, data: Measured | str = "arnold5") -> GaitScore:
    """Compare every measured curve of a cycle with its mean and standard deviation.

    >>> from kinetree.gait_data.cycle import GaitCycle
    >>> data = measured_walking("arnold5")
    >>> same = GaitCycle(data.percent, dict(data.mean), 62.0, 1.1, 75.0)
    >>> score = gait_score(same, data)
    >>> round(score["knee_flexion"].r, 12), score["knee_flexion"].within, score.missed
    (1.0, 1.0, ())
    """
    data = measured_walking(data) if isinstance(data, str) else data
    expect(cycle, GaitCycle, "cycle", "a GaitCycle, such as gait_cycle gives")
    expect(data, Measured, "data", "measured data or their name")
    rows = tuple(_row(key, cycle[key], data) for key in ALL if key in cycle.curves and key in data.mean)
    if not rows:
        raise InputError(f"the cycle has no curve that '{data.name}' has")
    found = {}
    for name, curves, stance in (("mine", cycle.curves, cycle.stance), ("theirs", data.mean, data.stance)):
        force = curves.get("force_vertical")
        found[name] = ((), float("nan")) if force is None else vertical_peaks(force, stance)
    return GaitScore(
        data.name, data.source, rows, found["mine"][0], found["theirs"][0], found["mine"][1],
        found["theirs"][1], float(cycle.stance), data.stance,
    )  # fmt: skip


def vertical_peaks(force: Array, stance: float) -> tuple[tuple[tuple[float, float], ...], float]:
    """The largest local maximum in each half of stance, (percent, BW), and the least force between them.

    >>> t = np.arange(101)
    >>> peaks, valley = vertical_peaks(np.where(t < 60, 1.0 - 0.2 * np.cos(t / 60 * 4 * np.pi), 0.0), 60.0)
    >>> peaks, round(valley, 2)
    (((15.0, 1.2), (45.0, 1.2)), 0.8)
    """
    force = checked_curve(force, "force")
    expect(stance, float | int, "stance", "a share of the cycle (%), or NaN where it is not known")
    n = len(force) - 1
    known = 0.0 <= stance <= 100.0
    if not known and stance == stance:  # not NaN
        raise InputError(must_be("stance", "between 0 and 100 %, or NaN where it is not known", stance))
    end = min(n - 1, round((stance if known else 60.0) / 100.0 * n))
    inner = np.arange(1, end)
    tops = inner[(force[inner] >= force[inner - 1]) & (force[inner] > force[inner + 1])]
    found = []
    for half in (tops[tops <= end / 2], tops[tops > end / 2]):
        if len(half):
            k = int(half[np.argmax(force[half])])
            found.append((100.0 * k / n, round(float(force[k]), 9)))
    valley = float("nan")
    if len(found) == 2:
        first, last = (round(x[0] * n / 100.0) for x in found)
        valley = float(force[first : last + 1].min())
    return tuple(found), valley


def _row(key: str, mine: Array, data: Measured) -> CurveScore:
    mean, sd = data.mean[key], data.sd[key]
    mine = np.asarray(mine, dtype=np.float64)
    if mine.shape != mean.shape:
        raise InputError(
            f"curve '{key}' must have {len(mean)} values, one for each percent, got {mine.shape}"
        )
    if not np.isfinite(mine).all():
        raise InputError(must_be(f"curve '{key}'", "finite", mine[~np.isfinite(mine)][0], ""))
    a, b = mine - mine.mean(), mean - mean.mean()
    spread = float(np.sqrt((a @ a) * (b @ b)))
    rmse = float(np.sqrt(np.mean((a - b) ** 2)))
    top, bottom, top_b, bottom_b = (int(f(x)) for x in (mine, mean) for f in (np.argmax, np.argmin))
    percent = data.percent
    return CurveScore(
        key,
        ALL[key].unit,
        float(a @ b) / spread if spread > 0.0 else 0.0,
        float(np.ptp(mine)),
        float(np.ptp(mean)),
        float(np.ptp(mine) / np.ptp(mean)),
        float(mine.mean() - mean.mean()),
        rmse,
        rmse / float(np.mean(sd)),
        float(np.mean(np.abs(mine - mean) <= WITHIN * sd)) if np.isfinite(sd).all() else float("nan"),
        float(mine[top]),
        float(percent[top]),
        float(mean[top_b]),
        float(percent[top_b]),
        float(mine[bottom]),
        float(percent[bottom]),
        float(mean[bottom_b]),
        float(percent[bottom_b]),
        key in data.doubtful,
    )


def _known(value: Any) -> Any:
    """The table with None in place of NaN."""
    if isinstance(value, dict):
        return {key: _known(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_known(x) for x in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
