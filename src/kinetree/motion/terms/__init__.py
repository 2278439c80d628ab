"""Objectives and constraints of motion problems; one small class each."""

from kinetree.motion.terms.boundary import Boundary, Hold, Periodic, Symmetric
from kinetree.motion.terms.contract import Constraint, Function, Objective
from kinetree.motion.terms.custom import CustomConstraint, CustomObjective
from kinetree.motion.terms.effort import (
    SquaredTorque,
    Time,
    TorqueLimits,
    TorqueRateLimits,
    time_and_torque,
)
from kinetree.motion.terms.force import SquaredForce, UnknownForce
from kinetree.motion.terms.limits import AccelerationLimits, JointLimits, VelocityLimits
from kinetree.motion.terms.power import Power, StrengthLimit
from kinetree.motion.terms.reach import GroundClearance, KeepOut, Orientation, PointPosition
from kinetree.motion.terms.reaction import ReactionLimit, SquaredReaction, ZeroMomentPoint
from kinetree.motion.terms.smoothness import Jerk, Tracking
from kinetree.motion.terms.speed import PointSpeed, PointVelocity

__all__ = [
    "AccelerationLimits",
    "Boundary",
    "Constraint",
    "CustomConstraint",
    "CustomObjective",
    "Function",
    "GroundClearance",
    "Hold",
    "Jerk",
    "JointLimits",
    "KeepOut",
    "Objective",
    "Orientation",
    "Periodic",
    "PointPosition",
    "PointSpeed",
    "PointVelocity",
    "Power",
    "ReactionLimit",
    "SquaredForce",
    "SquaredReaction",
    "SquaredTorque",
    "StrengthLimit",
    "Symmetric",
    "Time",
    "TorqueLimits",
    "TorqueRateLimits",
    "Tracking",
    "UnknownForce",
    "VelocityLimits",
    "ZeroMomentPoint",
    "time_and_torque",
]
