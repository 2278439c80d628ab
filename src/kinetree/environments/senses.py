"""What a robot observes: each sense is a row of numbers for every episode, with noise and delay."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from kinetree.algebra.arrays import Array
from kinetree.environments.moment import Moment, Robot
from kinetree.errors import InputError, listed, must_be, unknown_name

TOUCH = 1.0  # N: a weaker force is no contact


@dataclass(frozen=True, kw_only=True)
class Sense(ABC):
    """One kind of observation; ``noise`` is the standard deviation in its unit, ``delay`` is in s.

    A sense of your own derives from it, with ``names`` and ``read``.
    """

    noise: float = 0.0
    delay: float = 0.0

    def __post_init__(self) -> None:
        for name in ("noise", "delay"):
            x = getattr(self, name)
            if not (isinstance(x, int | float) and 0.0 <= x < np.inf):
                raise InputError(must_be(f"{name} of {type(self).__name__}", "a number >= 0", x))

    @abstractmethod
    def names(self, robot: Robot) -> tuple[str, ...]:
        """The names of its numbers; raises where the robot has no such thing."""

    @abstractmethod
    def read(self, moment: Moment) -> Array:
        """Its numbers (b, k)."""


@dataclass(frozen=True, kw_only=True)
class JointPositions(Sense):
    """Encoders: coordinates of joints (rad, m), of all but a free base unless ``joints`` are named."""

    joints: tuple[str, ...] | None = None

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Joints."""
        return _chosen(self.joints, robot.joints)

    def read(self, moment: Moment) -> Array:
        """Coordinates."""
        return moment.q[:, [moment.robot.columns[name] for name in self.names(moment.robot)]]


@dataclass(frozen=True, kw_only=True)
class JointVelocities(Sense):
    """Rates of joints (rad/s, m/s), of all but a free base unless ``joints`` are named."""

    joints: tuple[str, ...] | None = None

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Joints, with the ending of a rate."""
        return tuple(f"{name}_rate" for name in _chosen(self.joints, robot.joint_rates))

    def read(self, moment: Moment) -> Array:
        """Rates."""
        robot = moment.robot
        return moment.qd[:, [robot.rates[name] for name in _chosen(self.joints, robot.joint_rates)]]


@dataclass(frozen=True, kw_only=True)
class _BaseSense(Sense):
    """A sense of a free base, whose numbers have the endings ``parts``."""

    word = ""
    parts: tuple[str, ...] = ("x", "y", "z")

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Word and part."""
        robot.check_floats(type(self).__name__)
        return tuple(f"{self.word}_{part}" for part in self.parts)


@dataclass(frozen=True, kw_only=True)
class BaseQuaternion(_BaseSense):
    """Orientation of the base as a unit quaternion (w, x, y, z), w >= 0."""

    word = "base"
    parts: tuple[str, ...] = ("qw", "qx", "qy", "qz")

    def read(self, moment: Moment) -> Array:
        """The quaternion."""
        return quaternions(moment.rotation)


@dataclass(frozen=True, kw_only=True)
class BaseHeight(_BaseSense):
    """Height of the origin of the base in the world (m)."""

    word = "base"
    parts: tuple[str, ...] = ("height",)

    def read(self, moment: Moment) -> Array:
        """z."""
        return moment.base_position[:, 2:3]


@dataclass(frozen=True, kw_only=True)
class BaseVelocity(_BaseSense):
    """Velocity of the origin of the base in its own axes (m/s)."""

    word = "base_velocity"

    def read(self, moment: Moment) -> Array:
        """v."""
        return moment.base_velocity


@dataclass(frozen=True, kw_only=True)
class BodyRates(_BaseSense):
    """Angular velocity of the base in its own axes, a gyroscope (rad/s)."""

    word = "body_rate"

    def read(self, moment: Moment) -> Array:
        """w."""
        return moment.body_rates


@dataclass(frozen=True, kw_only=True)
class ProjectedGravity(_BaseSense):
    """Direction of gravity in axes of the base, a unit vector: (0, 0, -1) if it stands upright."""

    word = "gravity"

    def read(self, moment: Moment) -> Array:
        """-R^T z."""
        return -moment.rotation[:, 2, :]


@dataclass(frozen=True, kw_only=True)
class InertialSensor(_BaseSense):
    """Accelerometer and gyroscope at the origin of the base, in its axes (m/s^2, rad/s).

    The specific force a - g is the mean over the last action, as a sensor that is read once per action has.
    """

    word = "imu"
    parts: tuple[str, ...] = ("ax", "ay", "az", "wx", "wy", "wz")

    def read(self, moment: Moment) -> Array:
        """R^T (a - g) and w."""
        elapsed = np.minimum(moment.time, moment.elapsed)[:, None]
        turn = moment.robot.placement.rotation.T
        change = (moment.qd[:, :3] - moment.last_qd[:, :3]) @ turn
        a = np.divide(change, elapsed, out=np.zeros_like(change), where=elapsed > 0.0)
        force = a - np.asarray(moment.robot.mechanism.gravity)
        return np.concatenate([np.einsum("bji,bj->bi", moment.rotation, force), moment.body_rates], axis=1)


@dataclass(frozen=True, kw_only=True)
class FootContact(Sense):
    """1 where a contact point touches the ground with more than 1 N, else 0."""

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Contact points."""
        return tuple(f"{name}_contact" for name in _contact_names(robot, "FootContact"))

    def read(self, moment: Moment) -> Array:
        """Whether they touch."""
        return np.asarray(np.linalg.norm(moment.force, axis=-1) > TOUCH, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class FootForce(Sense):
    """Forces of the ground on contact points in the world, relative to the weight."""

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Contact points and axes."""
        return tuple(f"{name}_force_{x}" for name in _contact_names(robot, "FootForce") for x in "xyz")

    def read(self, moment: Moment) -> Array:
        """F / (m g)."""
        mechanism = moment.robot.mechanism
        weight = mechanism.mass * max(float(np.linalg.norm(mechanism.gravity)), 1e-9)
        return moment.force.reshape(len(moment.force), -1) / weight


@dataclass(frozen=True, kw_only=True)
class HeightSamples(Sense):
    """Height of the ground below the base (m) at points (x, y) around it, turned with its heading."""

    points: tuple[tuple[float, float], ...] = ((0.2, 0.0), (0.4, 0.0))

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Points by number."""
        robot.check_floats("HeightSamples")
        if robot.ground is None:
            raise InputError("HeightSamples needs a ground")
        return tuple(f"ground_{k}" for k in range(len(self.points)))

    def read(self, moment: Moment) -> Array:
        """Heights, relative to the origin of the base."""
        ground, ahead = moment.robot.ground, moment.rotation[:, :2, 0]
        assert ground is not None
        ahead = ahead / np.maximum(np.linalg.norm(ahead, axis=1, keepdims=True), 1e-9)
        side = np.stack([-ahead[:, 1], ahead[:, 0]], axis=1)
        x, y = np.asarray(self.points).T
        level = moment.base_position[:, None, :2] + x[:, None] * ahead[:, None] + y[:, None] * side[:, None]
        places = np.concatenate([level, np.zeros((*level.shape[:2], 1))], axis=-1)
        heights = ground.heights(moment.robot.mechanism, places.reshape(-1, 3)).reshape(level.shape[:2])
        return -heights - moment.base_position[:, 2:3]


@dataclass(frozen=True, kw_only=True)
class LastAction(Sense):
    """The action before this moment; ``size`` is that of the task's action."""

    size: int = 1

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Numbers."""
        return tuple(f"action_{k}" for k in range(self.size))

    def read(self, moment: Moment) -> Array:
        """From -1 to 1."""
        return moment.action


@dataclass(frozen=True, kw_only=True)
class DrawnNumbers(Sense):
    """The numbers that the task draws for each episode, such as a target; ``size`` of them."""

    size: int = 1

    def names(self, robot: Robot) -> tuple[str, ...]:
        """Numbers."""
        return tuple(f"goal_{k}" for k in range(self.size))

    def read(self, moment: Moment) -> Array:
        """As drawn."""
        return moment.goal


@dataclass(frozen=True, kw_only=True)
class Reading(Sense):
    """Numbers (b, k) that a function of the moment returns, with their names."""

    function: Callable[[Moment], Array]
    labels: tuple[str, ...]

    def names(self, robot: Robot) -> tuple[str, ...]:
        """As given."""
        return self.labels

    def read(self, moment: Moment) -> Array:
        """What the function returns."""
        return self.function(moment)


def _chosen(names: tuple[str, ...] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """The named ones, or all."""
    for name in names or ():
        if name not in known:
            raise InputError(unknown_name("joint", name, known))
    if names is not None and len(set(names)) < len(names):
        raise InputError(must_be("joints", "named once each", listed(names), ""))
    return known if names is None else names


def quaternions(rotation: Array) -> Array:
    """Unit quaternions (b, 4) as (w, x, y, z), w >= 0, of rotation matrices (b, 3, 3)."""
    x, y, z, w = Rotation.from_matrix(rotation).as_quat().T
    found = np.stack([w, x, y, z], axis=1)
    return np.where(found[:, :1] < 0.0, -found, found)


def _contact_names(robot: Robot, what: str) -> tuple[str, ...]:
    if robot.ground is None:
        raise InputError(f"{what} needs a ground; pass ground=kinetree.Ground(...)")
    return robot.ground.contact_names(robot.mechanism)
