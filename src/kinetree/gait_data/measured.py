"""Measured motions that come with the package: mean and standard deviation over subjects."""

from __future__ import annotations

from csv import DictReader
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import InputError, unknown_name
from kinetree.gait_data.curves import ALL, ANGLES, FORCES, MOMENTS, POWERS

DATA = files("kinetree.gait_data") / "data"
DATA_SETS = ("arnold5", "opencap10")
TRIALS = {"arnold5": "Arnold2013", "opencap10": "OpenCap2022"}
SOURCES = {
    "arnold5": "5 men at 1.25 m/s (Arnold et al. 2013; Werling et al. 2023)",
    "opencap10": "10 subjects at 1.04 to 1.44 m/s (Uhlrich et al. 2023; Werling et al. 2023)",
}
DOUBTFUL = {"arnold5": (), "opencap10": ("ankle_flexion", "ankle_moment", *FORCES)}  # see data/SOURCES.md


@dataclass(frozen=True, eq=False)
class Measured:
    """Measured walking: ``mean`` and ``sd`` (101,) of every curve over ``percent`` of the cycle.

    ``stance`` (% of the cycle), ``speed`` (m/s) and ``cycle`` (s) are means over trials. Curves that are
    ``doubtful`` have known faults and are shown, but count for nothing.

    >>> import kinetree as kt
    >>> data = kt.gait_analysis.measured_walking("arnold5")
    >>> data.mean["knee_flexion"].shape, data.stance
    ((101,), 62.6)
    """

    name: str
    source: str
    percent: Array
    mean: dict[str, Array]
    sd: dict[str, Array]
    stance: float
    speed: float
    doubtful: tuple[str, ...]
    cycle: float = float("nan")


def mean_powers(data: Measured) -> dict[str, Array]:
    """Powers (W/kg) of the mean cycle: mean moments times rates of mean angles, by name of the curve.

    The published data are means and standard deviations over subjects, not curves of trials: how powers
    differ between people does not follow from them, and the mean of products is not quite the product of
    means. So there is a line to look at, no band, and no score.

    >>> float(mean_powers(measured_walking())["ankle_power"].max().round(1))
    2.4
    """
    duration = data.cycle
    found = {}
    for key, kind in POWERS.items():
        angle, moment = (
            next(x for x, other in kinds.items() if other.source == kind.source)
            for kinds in (ANGLES, MOMENTS)
        )
        if angle in data.mean and moment in data.mean and duration > 0.0:
            t = data.percent / 100.0 * duration
            rate = np.gradient(np.radians(data.mean[angle]), t, edge_order=2)
            found[key] = data.mean[moment] * rate
    return found


@cache
def measured_walking(name: str = "arnold5") -> Measured:
    """Measured walking by the name of its data set, "arnold5" or "opencap10".

    >>> data = measured_walking("arnold5")
    >>> float(data.mean["knee_flexion"].max().round(1)), data.stance
    (71.2, 62.6)
    """
    if not isinstance(name, str) or name not in DATA_SETS:
        raise InputError(unknown_name("data set of measured walking", name, DATA_SETS))
    table = _columns(f"walking_{name}.csv")
    curves = {key: kind.column for key, kind in ALL.items() if kind.column is not None}
    trials = _rows("walking_trials.csv")
    mine = [row for row in trials if row["dataset"] == TRIALS[name]]
    return Measured(
        name,
        SOURCES[name],
        table["pct_cycle"],
        {key: table[f"{column}_mean"] for key, column in curves.items()},
        {key: table[f"{column}_sd"] for key, column in curves.items()},
        round(float(np.mean([float(row["toe_off_pct"]) for row in mine])), 2),
        float(np.mean([float(row["mean_speed_m_per_s"]) for row in mine])),
        DOUBTFUL[name],
        float(np.mean([float(row["cycle_time_s"]) for row in mine])),
    )


def measured_squat() -> dict[str, Array]:
    """Mean and standard deviation of squats over percent of the motion, by the columns of the data.

    >>> float(measured_squat()["knee_flexion_deg_mean"].max()) > 90
    True
    """
    return _columns("squat_opencap10.csv")


def _columns(name: str) -> dict[str, Array]:
    rows = _rows(name)
    return {key: frozen([float(row[key]) for row in rows]) for key in rows[0]}


def _rows(name: str) -> list[dict[str, str]]:
    return list(DictReader((DATA / name).read_text(encoding="utf-8").splitlines()))
