"""What all motions during one step of a walk have in common."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import expect
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.gait_parameters import GaitParameters


@dataclass(frozen=True, eq=False)
class StepMotion(Trajectory):
    """A motion by one formula from the beginning of a step to its end."""

    parameters: GaitParameters

    def __post_init__(self) -> None:
        expect(self.parameters, GaitParameters, "parameters", "GaitParameters")

    @cached_property
    def breaks(self) -> Array:
        """Begin and end of the step: where a foot lifts off and touches down."""
        return frozen([0.0, self.parameters.step_time])
