"""Armature for joints of a description that has none, so that every joint moves inertia."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from kinetree.algebra.arrays import frozen, number
from kinetree.errors import InputError, unknown_name
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Mechanism


def with_armature(mechanism: Mechanism, armature: float | Mapping[str, float]) -> Mechanism:
    """The mechanism with an armature (kg m^2, or kg where it slides) for joints that have none.

    One number is for every joint, a dict for the joints that it names.

    >>> import kinetree as kt
    >>> with_armature(kt.zoo.gripper(), 0.01).tree.armature.tolist()
    [0.01, 0.01, 0.01, 0.01]
    """
    joints = [link.joint for link in mechanism.links if link.joint.n_dof and link.joint.mimic is None]
    if not isinstance(armature, Mapping):
        armature = {joint.name: armature for joint in joints if not joint.is_free}
    names = [joint.name for joint in joints]
    for name, value in armature.items():
        if name not in names:
            raise InputError(f"armature: {unknown_name('joint', name, names)}")
        if number(value, f"armature of '{name}'") < 0.0:
            raise InputError(f"armature of '{name}' must be >= 0 kg m^2 (kg), got {value}")
    links = [
        replace(link, joint=_with_armature(link.joint, float(armature.get(link.joint.name, 0.0))))
        for link in mechanism.links
    ]
    return replace(mechanism, links=tuple(links))


def _with_armature(joint: Joint, armature: float) -> Joint:
    own = joint.armature
    return replace(joint, armature=frozen(np.where(own == 0.0, armature, own))) if armature else joint
