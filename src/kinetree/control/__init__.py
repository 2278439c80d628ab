"""Controllers: laws that turn time and state into the torques of the joints ([Shah2013], chapter 9)."""

from typing import TYPE_CHECKING

from kinetree.control.actuator import FirstOrderActuator
from kinetree.control.controller import Controller
from kinetree.control.feedback import PD, PID
from kinetree.control.gains import LQR, Gains, gains
from kinetree.control.model_actuators import ModelActuators
from kinetree.control.model_based import ComputedTorque, Feedforward, GravityCompensation
from kinetree.control.model_error import perturb
from kinetree.control.phases import Phase, Phases
from kinetree.control.predictive.goals import JointGoal, LimitGoal, PointGoal
from kinetree.control.predictive.mpc import MPC
from kinetree.control.prescribed import Prescribed
from kinetree.control.sampled import ContactReading, SampledLaw
from kinetree.control.torque_table import ConstantTorque, TorqueTable
from kinetree.control.walking import WalkingLaw
from kinetree.control.whole_body.task import JointTask, OrientationTask, PointTask, TaskRows
from kinetree.other_names import names_of

__all__ = [
    "LQR",
    "MPC",
    "PD",
    "PID",
    "ComputedTorque",
    "ConstantTorque",
    "ContactReading",
    "Controller",
    "Feedforward",
    "FirstOrderActuator",
    "Gains",
    "GravityCompensation",
    "JointGoal",
    "JointTask",
    "LimitGoal",
    "ModelActuators",
    "OrientationTask",
    "Phase",
    "Phases",
    "PointGoal",
    "PointTask",
    "Prescribed",
    "SampledLaw",
    "TaskRows",
    "TorqueTable",
    "WalkingLaw",
    "gains",
    "perturb",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
