"""A lift beside people who squat without a box: ranges of joints, moments, the force of the ground."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError, listed
from kinetree.gait_data.measured import measured_squat
from kinetree.result.result import Result

SOURCE = "51 squats of 10 people without a box (Uhlrich et al. 2023; Werling et al. 2023)"
GRAVITY = 9.80665  # m/s^2, of the body weights of the data
SPINE = ("lumbar.flexion", "waist.flexion", "chest.flexion")
LEG = {"hip": "hip.flexion", "knee": "knee", "ankle": "ankle.flexion"}
# curve: title, unit, column of the data, sign: moments that extend and flexions are positive
ROWS = {
    "hip_flexion": ("hip flexion", "deg", "hip_flexion_deg", 1.0),
    "knee_flexion": ("knee flexion", "deg", "knee_flexion_deg", 1.0),
    "ankle_flexion": ("ankle dorsiflexion", "deg", "ankle_dorsiflexion_deg", 1.0),
    "spine_flexion": ("spine flexion", "deg", "lumbar_extension_deg", -1.0),
    "hip_moment": ("hip moment", "N m/kg", "hip_flexion_moment_nm_per_kg", -1.0),
    "knee_moment": ("knee moment", "N m/kg", "knee_flexion_moment_nm_per_kg", -1.0),
    "ankle_moment": ("ankle moment", "N m/kg", "ankle_dorsiflexion_moment_nm_per_kg", -1.0),
    "spine_moment": ("spine moment", "N m/kg", "lumbar_extension_moment_nm_per_kg", 1.0),
    "ground_force": ("ground force, up", "BW", "grf_vertical_total_bw", 1.0),
}
WITHIN = 2.0  # standard deviations


@dataclass(frozen=True)
class SquatRow:
    """Least and largest value of one quantity beside the mean squat; ``sd`` is that at its largest value.

    Both legs are averaged, the spine is the sum of its joints. ``ratio`` is that of the ranges; ``away`` is
    how many standard deviations the largest value is from the measured one.
    """

    quantity: str
    title: str
    unit: str
    least: float
    largest: float
    least_measured: float
    largest_measured: float
    sd: float
    ratio: float
    away: float

    @property
    def within(self) -> bool:
        """Whether the largest value is within two standard deviations."""
        return abs(self.away) <= WITHIN


@dataclass(frozen=True)
class SquatScore:
    """All quantities of a lift beside the measured squat, and the largest net forces in the joints (N)."""

    rows: tuple[SquatRow, ...]
    forces: dict[str, float]
    source: str = SOURCE

    def __getitem__(self, quantity: str) -> SquatRow:
        for row in self.rows:
            if row.quantity == quantity:
                return row
        raise InputError(f"the score has no '{quantity}'; it has {listed(x.quantity for x in self.rows)}")

    def as_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and texts."""
        rows = [asdict(row) | {"within": row.within} for row in self.rows]
        return {"source": self.source, "quantities": rows, "forces": dict(self.forces)}


def squat_score(lifted: Result) -> SquatScore:
    """A result of lifting beside people who squat without a box (`kinetree.gait_analysis.measured_squat`).

    >>> import kinetree as kt
    >>> score = kt.lifting.squat_score(kt.lifting.lift(box=1.0, shelf=0.7, lean=60.0).to_result())
    >>> score["knee_flexion"].within, 100 < score["knee_flexion"].largest < 125
    (True, True)
    """
    if not isinstance(lifted, Result) or "lifting" not in lifted.settings or "lifting_force" not in lifted:
        raise InputError(
            "a score beside squats needs a result of lifting, such as that of 'kinetree run lifting'"
        )
    mine, data = _curves(lifted), measured_squat()
    rows = []
    for name, (title, unit, column, sign) in ROWS.items():
        mean, sd = sign * data[f"{column}_mean"], data[f"{column}_sd"]
        at, own = int(np.argmax(mean)), mine[name]
        least, largest = float(own.min()), float(own.max())
        low, high = float(mean.min()), float(mean[at])
        rows.append(
            SquatRow(
                name, title, unit, least, largest, low, high, float(sd[at]), (largest - least) / (high - low),
                (largest - high) / float(sd[at]),
            )
        )  # fmt: skip
    joints = [str(x) for x in lifted["lifting_joint"].values]
    most = np.asarray(lifted["lifting_force"].values).max(axis=0)
    return SquatScore(tuple(rows), {name: float(x) for name, x in zip(joints, most, strict=True)})


def _curves(lifted: Result) -> dict[str, Array]:
    """What is compared, over time: angles in degrees, moments per mass of the body, force in body weights."""
    names = [str(x) for x in lifted["joint"].values]
    needed = [f"{side}_{x}" for side in ("right", "left") for x in LEG.values()]
    missing = [x for x in (*needed, *SPINE) if x not in names]
    if missing:
        raise InputError(
            f"mechanism '{lifted.mechanism.name}' is no human that lifts: it lacks {listed(missing)}"
        )
    q, tau = (np.asarray(lifted[x].values) for x in ("q", "tau"))
    mass = float(lifted.settings["lifting"]["mass"])
    found: dict[str, Array] = {}
    for key, joint in LEG.items():
        both = [names.index(f"{side}_{joint}") for side in ("right", "left")]
        found[f"{key}_flexion"] = np.degrees(q[:, both].mean(axis=1))
        found[f"{key}_moment"] = -tau[:, both].mean(axis=1) / mass
    spine = [names.index(x) for x in SPINE]
    found["spine_flexion"] = np.degrees(q[:, spine].sum(axis=1))
    found["spine_moment"] = -tau[:, spine[0]] / mass
    found["ground_force"] = np.asarray(lifted["ground_reaction"].values)[..., 2].sum(axis=1) / (
        mass * GRAVITY
    )
    return found
