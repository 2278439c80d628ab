"""The digital human besides its mechanism, ``kt.zoo.human``: sizes, strength, fatigue, mirror images."""

from kinetree.model.human.fatigue import fatigue, repetitions
from kinetree.model.human.joints import FROZEN_WHILE_WALKING, mirror_image
from kinetree.model.human.segments import Proportions, Segment, proportions, size_at
from kinetree.model.human.strength import (
    Strength,
    TorqueLimits,
    constant_torques,
    scaled_torques,
    strength,
)

__all__ = [
    "FROZEN_WHILE_WALKING",
    "Proportions",
    "Segment",
    "Strength",
    "TorqueLimits",
    "constant_torques",
    "fatigue",
    "mirror_image",
    "proportions",
    "repetitions",
    "scaled_torques",
    "size_at",
    "strength",
]
