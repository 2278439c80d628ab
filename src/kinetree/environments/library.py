"""Tasks that come along: pendulum, cart-pole, reacher, hopper, quadruped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.environments.actions import Positions, Torques
from kinetree.environments.moment import Moment
from kinetree.environments.senses import (
    BaseHeight,
    BaseVelocity,
    BodyRates,
    DrawnNumbers,
    FootContact,
    JointPositions,
    JointVelocities,
    LastAction,
    ProjectedGravity,
    Reading,
)
from kinetree.environments.task import LearningTask
from kinetree.model.builder import Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo.arms import two_link
from kinetree.model.zoo.legged import quadruped as zoo_quadruped
from kinetree.simulation.ground import Ground
from kinetree.simulation.standing import standing

Row = NDArray[Any]
LEVEL = (0.0, 0.0, -9.81)  # m/s^2


# ---- pendulum ---------------------------------------------------------------------------------------------
def pendulum() -> LearningTask:
    """A pendulum of 1 kg and 1 m swings up with 2 N m; the angle is 0 upright.

    Reward: -(angle^2 + 0.1 rate^2 + 0.001 torque^2), as in the classic task of gymnasium.
    """
    builder = Builder("pendulum", gravity=LEVEL)
    rod = Inertia.rod(1.0, (0.0, 0.0, 1.0))
    builder.world.revolute("pivot", axis="y", effort_limit=2.0, velocity_limit=8.0).body("rod", rod)

    def reward(moment: Moment) -> Row:
        angle = (moment.position("pivot") + np.pi) % (2.0 * np.pi) - np.pi
        return -(angle**2 + 0.1 * moment.velocity("pivot") ** 2 + 0.001 * (2.0 * moment.action[:, 0]) ** 2)

    def direction(moment: Moment) -> Row:
        angle = moment.position("pivot")
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    observe = (Reading(function=direction, labels=("cosine", "sine")), JointVelocities())
    return LearningTask(
        builder.build(), reward, observe, spread=np.pi, spread_rates=1.0, dt=0.01, hold=5, limit=200
    )


# ---- cart-pole --------------------------------------------------------------------------------------------
def cart_pole() -> LearningTask:
    """A pole of 1 m stands on a cart, which 10 N push; it ends 12 degrees off, or 2.4 m away."""
    builder = Builder("cart_pole", gravity=LEVEL)
    cart = builder.world.prismatic("rail", axis="x", effort_limit=10.0).body("cart", Inertia.point(1.0))
    cart.revolute("pivot", axis="y", driven=False).body("pole", Inertia.rod(0.1, (0.0, 0.0, 1.0)))

    def ends(moment: Moment) -> Row:
        return (np.abs(moment.position("pivot")) > 0.209) | (np.abs(moment.position("rail")) > 2.4)

    def reward(moment: Moment) -> Row:
        return 1.0 - ends(moment)

    return LearningTask(
        builder.build(), reward, ends=ends, spread=0.05, spread_rates=0.05, dt=0.005, hold=4, limit=500
    )


# ---- reacher ----------------------------------------------------------------------------------------------
def reacher() -> LearningTask:
    """An arm of two links in the horizontal plane reaches for a random point.

    Reward: minus the distance of the tip (m) and a little effort.
    """
    arm = two_link(mass=(0.05, 0.05), length=(0.1, 0.1), inertia=(1e-4, 1e-4))
    arm = arm.with_frame("tip", arm.body_names[-1], (0.1, 0.0, 0.0))

    def goal(random: np.random.Generator, count: int) -> Array:
        angle, reach = random.uniform(-np.pi, np.pi, count), 0.2 * np.sqrt(random.uniform(0.0, 1.0, count))
        return np.stack([reach * np.cos(angle), reach * np.sin(angle)], axis=1)

    def to_goal(moment: Moment) -> Row:
        return moment.goal - moment.place("tip")[:, :2]

    def reward(moment: Moment) -> Row:
        found: Row = -np.linalg.norm(to_goal(moment), axis=1) - 0.01 * (moment.action**2).sum(axis=1)
        return found

    near = Reading(function=to_goal, labels=("goal_x", "goal_y"))
    observe = (JointPositions(), JointVelocities(), DrawnNumbers(size=2), near)
    act = Torques(scale=0.05)
    return LearningTask(
        arm, reward, observe, act, spread=3.0, spread_rates=0.0, goal=goal, dt=0.005, hold=4, limit=100
    )


# ---- hopper -----------------------------------------------------------------------------------------------
def hopper_mechanism() -> Mechanism:
    """A trunk on one leg of thigh, shank and foot, in the plane x-z; 1.25 m high, 12 kg."""
    builder = Builder("hopper", gravity=LEVEL)
    rail = builder.world.prismatic("ahead", axis="x", driven=False).body("slider", Inertia.point(0.0))
    lift = rail.prismatic("up", axis="z", driven=False).body("lift", Inertia.point(0.0))
    trunk = lift.revolute("pitch", axis="y", driven=False).body("trunk", Inertia.rod(5.0, (0.0, 0.0, 0.4)))
    thigh = trunk.revolute("hip", axis="y", lower=-0.3, upper=2.4, effort_limit=120.0).body(
        "thigh", Inertia.rod(4.0, (0.0, 0.0, -0.45))
    )
    shank = thigh.revolute(
        "knee", axis="y", at=(0.0, 0.0, -0.45), lower=-2.4, upper=0.0, effort_limit=120.0
    ).body("shank", Inertia.rod(2.0, (0.0, 0.0, -0.45)))
    foot = shank.revolute(
        "ankle", axis="y", at=(0.0, 0.0, -0.45), lower=-0.8, upper=0.8, effort_limit=60.0
    ).body("foot", Inertia.rod(1.0, (0.26, 0.0, 0.0), (-0.13, 0.0, 0.0)))
    foot.contact("heel", at=(-0.13, 0.0, 0.0), radius=0.06)
    foot.contact("toe", at=(0.26, 0.0, 0.0), radius=0.06)
    shank.contact("knee", at=(0.0, 0.0, 0.0), radius=0.05)
    trunk.contact("head", at=(0.0, 0.0, 0.4), radius=0.05)
    return builder.build()


def hopper() -> LearningTask:
    """A hopper goes forward; it ends when its trunk is low or tilts.

    Reward: 1 for each action, the speed ahead (m/s), less a little effort.
    """
    mechanism = hopper_mechanism()
    home = np.zeros(mechanism.n_dof)
    home[mechanism.joint_index("up")] = 0.96

    def ends(moment: Moment) -> Row:
        return (moment.position("up") < 0.6) | (np.abs(moment.position("pitch")) > 0.6)

    def reward(moment: Moment) -> Row:
        effort: Row = (moment.action**2).sum(axis=1)
        return 1.0 + moment.velocity("ahead") - 0.01 * effort

    joints = ("up", "pitch", "hip", "knee", "ankle")
    observe = (JointPositions(joints=joints), JointVelocities(), FootContact())
    return LearningTask(
        mechanism, reward, observe, ends=ends, home=home, spread=0.005, spread_rates=0.05,
        ground=Ground(), dt=0.004, hold=2, limit=1000,
    )  # fmt: skip


# ---- quadruped --------------------------------------------------------------------------------------------
def quadruped() -> LearningTask:
    """The quadruped of the zoo trots ahead under position servos; it ends when it falls.

    Reward: nearness to 0.5 m/s ahead, less sideways and turning speed and changes of the action.
    """
    mechanism = zoo_quadruped()
    home = standing(mechanism, np.zeros(mechanism.n_dof))
    height = float(home[2])

    def ends(moment: Moment) -> Row:
        return (moment.base_position[:, 2] < 0.6 * height) | (moment.upright < 0.5)

    def reward(moment: Moment) -> Row:
        v, w = moment.base_velocity, moment.body_rates
        ahead = np.exp(-4.0 * (v[:, 0] - 0.5) ** 2)
        change = ((moment.action - moment.last_action) ** 2).sum(axis=1)
        found: Row = ahead - 0.5 * v[:, 1] ** 2 - 0.1 * w[:, 2] ** 2 - 0.01 * change
        return found

    n = int(mechanism.actuated.sum())
    observe = (
        BaseHeight(), ProjectedGravity(), BaseVelocity(), BodyRates(), JointPositions(), JointVelocities(),
        FootContact(), LastAction(size=n),
    )  # fmt: skip
    stiff = 2.0 * mechanism.mass * 9.81 * height  # N m/rad: m g L
    return LearningTask(
        mechanism, reward, observe, Positions(kp=stiff), ends, home, spread=0.0, spread_rates=0.05,
        ground=Ground(), dt=0.004, hold=5, limit=500,
    )  # fmt: skip


TASKS: dict[str, Callable[[], LearningTask]] = {
    "Pendulum": pendulum,
    "CartPole": cart_pole,
    "Reacher": reacher,
    "Hopper": hopper,
    "Quadruped": quadruped,
}
