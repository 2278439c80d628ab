"""What rewards and senses read of all episodes after an action: states, base, feet."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.simulation.ground import Ground
from kinetree.simulation.step_coordinates import rotations
from kinetree.simulation.stepper import Stepper


class Robot:
    """A mechanism with the columns of its joints in the states of a stepper with quaternions."""

    def __init__(self, stepper: Stepper, ground: Ground | None) -> None:
        self.mechanism: Mechanism = stepper.mechanism
        self.stepper, self.ground = stepper, ground
        self.columns = {name: k for k, name in enumerate(stepper.coordinate_names)}
        self.rates = {name: k for k, name in enumerate(stepper.rate_names)}
        first = self.mechanism.links[0]
        self.floats = first.floats and f"{first.joint.name}.w" in self.columns
        self.placement = first.placement  # of a free joint in the world
        self.joints = tuple(self.columns)[7 if self.floats else 0 :]
        self.joint_rates = tuple(self.rates)[6 if self.floats else 0 :]

    def check_floats(self, what: str) -> None:
        """Raise unless the first body floats."""
        if not self.floats:
            raise InputError(f"{what} needs a free base; '{self.mechanism.name}' is fixed to the world")


@dataclass(eq=False)
class Moment:
    """All episodes at one moment, batch first: b episodes.

    ``q`` (b, nq) and ``qd`` (b, n) have quaternions (w, x, y, z) and body rates for free and ball joints;
    ``time`` (b,) since the start of each episode; ``action`` and ``last_action`` (b, k) from -1 to 1;
    ``goal`` (b, m) are the numbers that the task drew for each episode. Arrays are read-only, and valid until
    the next action: copy what is to be kept.
    """

    robot: Robot
    q: Array
    qd: Array
    time: Array
    action: Array
    last_action: Array
    goal: Array
    force: Array = field(repr=False)
    gap: Array = field(repr=False)
    last_qd: Array = field(repr=False)
    elapsed: float

    def position(self, joint: str) -> Array:
        """Coordinate of a joint (b,), in rad or m."""
        return self.q[:, self._column(joint, self.robot.columns)]

    def velocity(self, joint: str) -> Array:
        """Rate of a joint (b,)."""
        return self.qd[:, self._column(joint, self.robot.rates)]

    def place(self, body: str) -> Array:
        """Position of the origin of a body or frame in the world, (b, 3), at this moment."""
        q, _ = self.robot.stepper.mechanism_state()
        return np.asarray(forward_kinematics(self.robot.mechanism, q)[body][1])

    @cached_property
    def rotation(self) -> Array:
        """From axes of the base to those of the world, (b, 3, 3)."""
        self.robot.check_floats("rotation")
        return np.asarray(self.robot.placement.rotation @ rotations(self.q[:, 3:7]))

    @property
    def base_position(self) -> Array:
        """Origin of the base in the world (b, 3)."""
        self.robot.check_floats("base_position")
        place = self.robot.placement
        return np.asarray(self.q[:, :3] @ place.rotation.T + place.position)

    @cached_property
    def base_velocity(self) -> Array:
        """Velocity of the origin of the base in its own axes (b, 3)."""
        return np.asarray(np.einsum("bji,bj->bi", rotations(self.q[:, 3:7]), self.qd[:, :3]))

    @property
    def body_rates(self) -> Array:
        """Angular velocity of the base in its own axes (b, 3)."""
        self.robot.check_floats("body_rates")
        return self.qd[:, 3:6]

    @property
    def upright(self) -> Array:
        """Cosine of the angle between the z axis of the base and the vertical (b,)."""
        return self.rotation[:, 2, 2]

    def _column(self, joint: str, columns: dict[str, int]) -> int:
        if joint not in columns:
            raise InputError(unknown_name("joint", joint, columns))
        return columns[joint]
