"""Functions for the digital human ``kt.zoo.human``: sizes, strength, fatigue, mirror images."""

from typing import TYPE_CHECKING

from kinetree.model.human.fatigue import (
    COMPARTMENT_RATES,
    CompartmentRates,
    endurance,
    fatigue,
    fatigued_share,
    rates_of,
    repetitions,
)
from kinetree.model.human.joints import FROZEN_WHILE_WALKING, mirror_image
from kinetree.model.human.muscles import with_leg_muscles
from kinetree.model.human.passive import PassiveMoments, passive_moments
from kinetree.model.human.segments import Proportions, Segment, proportions, size_at
from kinetree.model.human.strength import (
    Strength,
    TorqueBounds,
    constant_torques,
    scaled_torques,
    strength,
)
from kinetree.other_names import names_of

__all__ = [
    "COMPARTMENT_RATES",
    "FROZEN_WHILE_WALKING",
    "CompartmentRates",
    "PassiveMoments",
    "Proportions",
    "Segment",
    "Strength",
    "TorqueBounds",
    "constant_torques",
    "endurance",
    "fatigue",
    "fatigued_share",
    "mirror_image",
    "passive_moments",
    "proportions",
    "rates_of",
    "repetitions",
    "scaled_torques",
    "size_at",
    "strength",
    "with_leg_muscles",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
