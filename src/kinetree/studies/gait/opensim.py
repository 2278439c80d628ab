"""The motion of a human as OpenSim's gait models name it: pelvis first, angles in degrees, y up.

Names and signs are those of Rajagopal et al. (2016): tilt is positive backwards, list to the right, rotation
to the left; flexion, adduction and internal rotation of the hip, flexion of knee and elbow, dorsiflexion are
positive. The rotations of the pelvis go about z (to the right), x (forward) and y (up) in this order. Spine,
wrists and toes are put together as far as these models have them; models differ in where joints are.
"""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.rooting import change_root
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism
from kinetree.result.opensim import TO_OPENSIM, opensim_table
from kinetree.result.result import Result
from kinetree.studies.gait.strides import on_pelvis

JOINTS = {  # OpenSim's coordinate, ours, sign
    "hip_flexion": ("hip.flexion", 1.0),
    "hip_adduction": ("hip.adduction", 1.0),
    "hip_rotation": ("hip.rotation", 1.0),
    "knee_angle": ("knee", 1.0),
    "ankle_angle": ("ankle.flexion", 1.0),
    "subtalar_angle": ("ankle.inversion", 1.0),
    "mtp_angle": ("toe", 1.0),
    "arm_flex": ("shoulder.flexion", 1.0),
    "arm_add": ("shoulder.adduction", 1.0),
    "arm_rot": ("shoulder.rotation", 1.0),
    "elbow_flex": ("elbow.flexion", 1.0),
    "pro_sup": ("elbow.pronation", 1.0),
}
SPINE = {
    "lumbar_extension": ("flexion", -1.0),
    "lumbar_bending": ("bending", 1.0),
    "lumbar_rotation": ("rotation", 1.0),
}
SIDES = {"_r": "right_", "_l": "left_"}
LEGS = tuple(f"{side}{name}" for side in SIDES.values() for name in ("hip.flexion", "knee", "ankle.flexion"))
TRUNK = ("lumbar", "waist", "chest", "thorax")


def is_human(mechanism: Mechanism) -> bool:
    """Whether a mechanism has a human's pelvis and legs."""
    return "pelvis" in mechanism.body_names and all(name in mechanism.joint_names for name in LEGS)


def opensim_coordinates(result: Result) -> dict[str, Array]:
    """Coordinates of OpenSim's gait models (m,) by name, in degrees and m, from a result of a human.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> person = kt.zoo.human()
    >>> still = {"time": [0.0], "q": [[0.0] * 55], "qd": [[0.0] * 55]}
    >>> found = opensim_coordinates(build_result("simulate", person, still))
    >>> float(found["pelvis_ty"][0].round(3)), float(found["knee_angle_r"][0])
    (0.936, 0.0)
    """
    mechanism, q = result.mechanism, np.asarray(result["q"].values)
    if not is_human(mechanism):
        raise InputError(f"'{mechanism.name}' is not a human: OpenSim's coordinates are for kt.zoo.human")
    person = on_pelvis(mechanism)
    if person is not mechanism:
        q = change_root(mechanism, person, q).q
    R, p = forward_kinematics(person, q)["pelvis"]
    turn = TO_OPENSIM @ R @ TO_OPENSIM.T
    # R = Rz(tilt) Rx(list) Ry(rotation)
    found = {
        "pelvis_tilt": np.arctan2(-turn[:, 0, 1], turn[:, 1, 1]),
        "pelvis_list": np.arcsin(np.clip(turn[:, 2, 1], -1.0, 1.0)),
        "pelvis_rotation": np.arctan2(-turn[:, 2, 0], turn[:, 2, 2]),
    }
    column = {name: q[:, j] for j, name in enumerate(person.joint_names)}
    for end, side in SIDES.items():
        for theirs, (ours, sign) in JOINTS.items():
            if f"{side}{ours}" in column:
                found[theirs + end] = sign * column[f"{side}{ours}"]
    for theirs, (ours, sign) in SPINE.items():
        parts = [column[f"{name}.{ours}"] for name in TRUNK if f"{name}.{ours}" in column]
        if parts:
            found[theirs] = sign * np.sum(parts, axis=0)
    place = p @ TO_OPENSIM.T
    ways = {f"pelvis_t{axis}": place[:, k] for k, axis in enumerate("xyz")}
    return ways | {name: np.degrees(x) for name, x in found.items()}


def opensim_motion(result: Result) -> str:
    """The table as a motion file (.mot)."""
    found = opensim_coordinates(result)
    order = ["pelvis_tilt", "pelvis_list", "pelvis_rotation", "pelvis_tx", "pelvis_ty", "pelvis_tz"]
    names = [*order, *(name for name in found if name not in order)]
    return opensim_table(
        f"{result.mechanism.name} q", result, names, np.stack([found[x] for x in names], axis=1), True
    )
