"""Objectives and constraints of motion problems; one small class each."""

from kinetree.motion.terms.apart import KeepApart, KeepOutBox
from kinetree.motion.terms.boundary import Boundary, Hold, Periodic, Symmetric
from kinetree.motion.terms.contract import Constraint, Function, Objective
from kinetree.motion.terms.custom import CustomConstraint, CustomObjective
from kinetree.motion.terms.cut_force import CutForce
from kinetree.motion.terms.effort import (
    Effort,
    SquaredTorque,
    Time,
    TorqueLimits,
    TorqueRate,
    TorqueRateLimits,
    time_and_torque,
)
from kinetree.motion.terms.force import Friction, SquaredForce, UnknownForce, UnknownMoment
from kinetree.motion.terms.ground import GroundReaction
from kinetree.motion.terms.joint_moments import HumanPassive, JointMoments, JointSprings
from kinetree.motion.terms.limits import AccelerationLimits, JointLimits, VelocityLimits
from kinetree.motion.terms.muscles import MuscleCost
from kinetree.motion.terms.posture import (
    JointCombination,
    JointProduct,
    Posture,
    SquaredAcceleration,
    SquaredSum,
)
from kinetree.motion.terms.power import Power, StrengthLimit
from kinetree.motion.terms.reach import (
    GroundClearance,
    KeepOut,
    Orientation,
    PendulumProduct,
    PointPosition,
    RelativePosition,
)
from kinetree.motion.terms.reaction import ReactionLimit, SquaredReaction, ZeroMomentPoint
from kinetree.motion.terms.smoothness import Jerk, Tracking
from kinetree.motion.terms.speed import PointSpeed, PointVelocity
from kinetree.motion.terms.strength import HumanStrength
from kinetree.motion.terms.support import Support, TorqueCombination

# Objectives, then constraints, in the order of the documentation and of the rows of problems.
__all__ = [  # noqa: RUF022
    "Time",
    "SquaredTorque",
    "Power",
    "Effort",
    "MuscleCost",
    "TorqueRate",
    "SquaredAcceleration",
    "Posture",
    "SquaredSum",
    "Jerk",
    "SquaredReaction",
    "SquaredForce",
    "Tracking",
    "CustomObjective",
    "TorqueLimits",
    "TorqueRateLimits",
    "VelocityLimits",
    "AccelerationLimits",
    "JointLimits",
    "StrengthLimit",
    "HumanStrength",
    "HumanPassive",
    "ReactionLimit",
    "PointPosition",
    "PointVelocity",
    "PointSpeed",
    "Orientation",
    "KeepOut",
    "KeepApart",
    "KeepOutBox",
    "GroundClearance",
    "ZeroMomentPoint",
    "Boundary",
    "Periodic",
    "Symmetric",
    "Hold",
    "UnknownForce",
    "CutForce",
    "UnknownMoment",
    "Friction",
    "GroundReaction",
    "Support",
    "TorqueCombination",
    "JointSprings",
    "JointCombination",
    "JointProduct",
    "PendulumProduct",
    "CustomConstraint",
    "RelativePosition",
    "Constraint",
    "Function",
    "JointMoments",
    "Objective",
    "time_and_torque",
]
