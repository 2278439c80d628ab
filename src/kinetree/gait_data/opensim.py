"""The motion of a human as OpenSim's gait models name it: pelvis first, angles in degrees, y up.

Names and signs are those of Rajagopal et al. (2016): tilt is positive backwards, list to the right, rotation
to the left; flexion, adduction and internal rotation of the hip, flexion of knee and elbow, dorsiflexion are
positive. The rotations of the pelvis go about z (to the right), x (forward) and y (up) in this order. The
origin of the pelvis is between its front spines, ahead of and above the hips: by 56.3 and 78.5 mm at a
stature of 1.70 m, in proportion to the distance of the hips in people of other size. Spine, wrists and toes
are put together as far as these models have them; models differ in where joints are.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers, vector
from kinetree.algebra.three_turns import ThreeTurns
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.analysis.rooting import change_root
from kinetree.errors import InputError, listed, must_be
from kinetree.gait_data.strides import on_pelvis
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.human.segments import proportions
from kinetree.model.mechanism import Mechanism
from kinetree.result.opensim import TO_OPENSIM, opensim_table
from kinetree.result.result import Result

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
PELVIS_ORIGIN = (0.056276, 0.07849)  # m ahead of and above the hips in Rajagopal2016
STATURE = 1.70  # m, of that model
TILT, WAY = ("pelvis_tilt", "pelvis_list", "pelvis_rotation"), ("pelvis_tx", "pelvis_ty", "pelvis_tz")


def is_human(mechanism: Mechanism) -> bool:
    """Whether a mechanism has a human's pelvis and legs."""
    return "pelvis" in mechanism.body_names and all(name in mechanism.joint_names for name in LEGS)


def opensim_coordinates(result: Result, origin: ArrayLike | None = None) -> dict[str, Array]:
    """Coordinates of OpenSim's gait models (m,) by name, in degrees and m, from a result of a human.

    ``origin``: how far ahead of and above the middle of the hips (m) the model has the origin of its pelvis;
    by default that of Rajagopal et al. (2016) in proportion to the person, 56.3 and 78.5 mm at 1.70 m.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> person = kt.zoo.human()
    >>> still = {"time": [0.0], "q": [[0.0] * 55], "qd": [[0.0] * 55]}
    >>> found = opensim_coordinates(build_result("simulate", person, still))
    >>> float(found["pelvis_ty"][0].round(3)), float(found["knee_angle_r"][0])
    (1.017, 0.0)
    """
    mechanism, q = result.mechanism, np.asarray(result["q"].values)
    person = _person(mechanism)
    if person is not mechanism:
        q = change_root(mechanism, person, q).q
    R, p = forward_kinematics(person, q)["pelvis"]
    turn = TO_OPENSIM @ R @ TO_OPENSIM.T
    # R = Rz(tilt) Rx(list) Ry(rotation)
    tilt = (
        np.arctan2(-turn[:, 0, 1], turn[:, 1, 1]),
        np.arcsin(np.clip(turn[:, 2, 1], -1.0, 1.0)),
        np.arctan2(-turn[:, 2, 0], turn[:, 2, 2]),
    )
    found = dict(zip(TILT, tilt, strict=True))
    column = {name: q[:, j] for j, name in enumerate(person.joint_names)}
    for end, side in SIDES.items():
        for theirs, (ours, sign) in JOINTS.items():
            if f"{side}{ours}" in column:
                found[theirs + end] = sign * column[f"{side}{ours}"]
    for theirs, (ours, sign) in SPINE.items():
        parts = [column[f"{name}.{ours}"] for name in TRUNK if f"{name}.{ours}" in column]
        if parts:
            found[theirs] = sign * np.sum(parts, axis=0)
    place = (p + R @ _origin(person, origin)) @ TO_OPENSIM.T
    ways = dict(zip(WAY, place.T, strict=True))
    return ways | {name: np.degrees(x) for name, x in found.items()}


def human_coordinates(
    person: Mechanism,
    coordinates: Mapping[str, ArrayLike],
    origin: ArrayLike | None = None,
    degrees: bool = True,
) -> Array:
    """Coordinates q (m, n_dof) of a human from those of OpenSim's gait models (m,) by name, as in .mot files.

    The inverse of :func:`opensim_coordinates`, with the same ``origin`` of the pelvis; angles in degrees
    unless ``degrees`` is false. What is missing is zero; what the human has no joint for, such as wrists and
    kneecaps, is left out. Motions of the lumbar joint go to all joints of the spine in equal parts.

    >>> import kinetree as kt
    >>> person = kt.zoo.human()
    >>> q = human_coordinates(person, {"pelvis_ty": [1.017], "knee_angle_r": [90.0]})
    >>> [float(q[0, person.joint_index(x)].round(3)) for x in ("right_knee", "root.z")]
    [1.571, 0.0]
    """
    expect_mechanism(person, "person")
    target, person = person, _person(person)
    given = {name: finite(numbers(x, f"'{name}'"), f"'{name}'") for name, x in coordinates.items()}
    own = {f"{x}{end}" for x in JOINTS for end in SIDES} | {*SPINE, *TILT, *WAY}
    known = {name: x for name, x in given.items() if name in own}
    if not known or len({x.shape for x in known.values()}) != 1 or next(iter(known.values())).ndim != 1:
        raise InputError(
            must_be(
                "coordinates of OpenSim",
                f"rows of equally many numbers for names such as {listed(sorted(own))}",
                listed((f"{name} {x.shape}" for name, x in given.items())),
                "",
            )
        )
    count = len(next(iter(known.values())))
    unit = np.pi / 180.0 if degrees else 1.0
    q = np.zeros((count, person.n_dof))
    for end, side in SIDES.items():
        for theirs, (ours, sign) in JOINTS.items():
            if theirs + end in known and f"{side}{ours}" in person.joint_names:
                q[:, person.joint_index(f"{side}{ours}")] = sign * unit * known[theirs + end]
    for theirs, (ours, sign) in SPINE.items():
        parts = [f"{name}.{ours}" for name in TRUNK if f"{name}.{ours}" in person.joint_names]
        for name in parts if theirs in known else ():
            q[:, person.joint_index(name)] = sign * unit * known[theirs] / len(parts)
    nothing = np.zeros(count)
    tilt, way = (np.stack([known.get(name, nothing) for name in names], axis=1) for names in (TILT, WAY))
    turns = ThreeTurns(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
    R = TO_OPENSIM.T @ np.array([turns.rotation(unit * x) for x in tilt]) @ TO_OPENSIM
    p = way @ TO_OPENSIM - R @ _origin(person, origin)
    root = next(link for link in person.links if link.parent == WORLD)
    first, X, base = (
        person.joint_index(root.joint.dof_names[0]),
        root.placement,
        ThreeTurns(root.joint.axes[-3:]),
    )
    q[:, first : first + 3] = (p - X.position) @ X.rotation @ np.linalg.inv(root.joint.axes[:3])
    near = np.zeros(3)
    for k, one in enumerate(R):
        near = base.angles(X.rotation.T @ one, near)
        q[k, first + 3 : first + 6] = near
    return q if person is target else change_root(person, target, q).q


def _person(mechanism: Mechanism) -> Mechanism:
    """The human rooted at the middle of the hips."""
    if not is_human(mechanism):
        raise InputError(f"'{mechanism.name}' is not a human: OpenSim's coordinates are for kt.zoo.human")
    return on_pelvis(mechanism)


def _origin(person: Mechanism, given: ArrayLike | None) -> Array:
    """Where OpenSim has the origin of the pelvis, in ours (3,)."""
    if given is not None:
        ahead, above = vector(given, 2, "origin of the pelvis, ahead of and above the hips (m)")
        return np.array([ahead, 0.0, above])
    left, right = (
        next(link.placement.position for link in person.links if link.joint.name == f"{side}_hip")
        for side in ("left", "right")
    )
    scale = float(np.linalg.norm(left - right)) / (2.0 * proportions("male", STATURE, 75.0).hip)
    ahead, above = PELVIS_ORIGIN
    return np.array([scale * ahead, 0.0, scale * above])


def opensim_motion(result: Result) -> str:
    """The table as a motion file (.mot)."""
    found = opensim_coordinates(result)
    order = [*TILT, *WAY]
    names = [*order, *(name for name in found if name not in order)]
    return opensim_table(
        f"{result.mechanism.name} q", result, names, np.stack([found[x] for x in names], axis=1), True
    )
