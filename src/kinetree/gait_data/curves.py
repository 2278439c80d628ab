"""Which curves describe a gait: their names, units, and the columns of measured data."""

from __future__ import annotations

from typing import NamedTuple


class CurveKind(NamedTuple):
    """One curve over the cycle: ``title``, ``unit``, its ``column`` among measured data and its ``source``.

    The source is a degree of freedom without its side for angles, moments and powers, a direction for forces,
    or a joint for the size of the force in it.
    """

    title: str
    unit: str
    column: str | None
    source: str


ANGLES = {
    "hip_flexion": CurveKind("hip flexion", "deg", "hip_flexion_deg", "hip.flexion"),
    "knee_flexion": CurveKind("knee flexion", "deg", "knee_flexion_deg", "knee"),
    "ankle_flexion": CurveKind("ankle flexion", "deg", "ankle_dorsiflexion_deg", "ankle.flexion"),
    "hip_adduction": CurveKind("hip adduction", "deg", "hip_adduction_deg", "hip.adduction"),
    "hip_rotation": CurveKind("hip rotation", "deg", "hip_int_rotation_deg", "hip.rotation"),
}
FORCES = {
    "force_vertical": CurveKind("vertical force", "BW", "grf_vertical_bw", "vertical"),
    "force_foreaft": CurveKind("fore-aft force", "BW", "grf_foreaft_bw", "foreaft"),
    "force_lateral": CurveKind("lateral force", "BW", "grf_lateral_bw", "lateral"),
}
MOMENTS = {
    "hip_moment": CurveKind("hip moment", "N m/kg", "hip_flexion_moment_nm_per_kg", "hip.flexion"),
    "knee_moment": CurveKind("knee moment", "N m/kg", "knee_flexion_moment_nm_per_kg", "knee"),
    "ankle_moment": CurveKind(
        "ankle moment", "N m/kg", "ankle_dorsiflexion_moment_nm_per_kg", "ankle.flexion"
    ),
}
POWERS = {
    "hip_power": CurveKind("hip power", "W/kg", None, "hip.flexion"),
    "knee_power": CurveKind("knee power", "W/kg", None, "knee"),
    "ankle_power": CurveKind("ankle power", "W/kg", None, "ankle.flexion"),
}
REACTIONS = {
    "hip_reaction": CurveKind("net hip joint force", "BW", None, "hip"),
    "knee_reaction": CurveKind("net knee joint force", "BW", None, "knee"),
    "ankle_reaction": CurveKind("net ankle joint force", "BW", None, "ankle"),
}
ALL = ANGLES | FORCES | MOMENTS | POWERS | REACTIONS
