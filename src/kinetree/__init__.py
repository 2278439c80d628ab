"""Kinetree: dynamics and motion of articulated systems, from one model.

>>> import kinetree as kt
>>> arm = kt.zoo.kuka_kr5()
>>> kt.gravity_torque(arm, [0.0] * 6).shape
(6,)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kinetree.algebra.placement import Placement
from kinetree.analysis.by_formulation import FormulationTable, formulations
from kinetree.analysis.energy import center_of_mass, kinetic_energy, momentum, potential_energy
from kinetree.analysis.evaluate import unchecked
from kinetree.analysis.floating import floating_base_inverse_dynamics
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.inverse import (
    bias_torque,
    gravity_torque,
    inverse_dynamics,
    joint_reactions,
    mass_matrix,
)
from kinetree.analysis.kinematics import (
    Poses,
    body_accelerations,
    body_velocities,
    forward_kinematics,
    jacobian,
)
from kinetree.analysis.reaction_sensitivity import JointReactionDerivatives, joint_reaction_derivatives
from kinetree.analysis.regressor import inertia_regressor, inertial_parameters
from kinetree.analysis.sensitivity import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from kinetree.analysis.torque_hessian import TorqueHessian, torque_hessian
from kinetree.errors import (
    FileError,
    InputError,
    KinetreeError,
    MissingExtraError,
    ModelError,
    SimulationError,
    SingularityError,
)
from kinetree.model import zoo
from kinetree.model.body import Body, Shape
from kinetree.model.builder import Builder
from kinetree.model.contact_point import ContactPoint
from kinetree.model.dh import from_dh
from kinetree.model.files import load, save
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint, Mimic
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism
from kinetree.state import State, Wrench, random_state

if TYPE_CHECKING:
    from kinetree import control, trajectories
    from kinetree.algebra.piecewise import PiecewisePolynomial
    from kinetree.analysis.inverse_kinematics import InverseKinematics, Target, inverse_kinematics
    from kinetree.analysis.zero_moment_point import zero_moment_point
    from kinetree.formulations.equations_of_motion import SymbolicEquations, equations_of_motion
    from kinetree.motion import terms
    from kinetree.motion.predict import predict
    from kinetree.motion.prediction import Prediction
    from kinetree.motion.problem import Problem
    from kinetree.motion.refine import refine, tighten
    from kinetree.report.draw import draw
    from kinetree.result.netcdf import load_result
    from kinetree.result.result import Result
    from kinetree.simulation.batch import simulate_batch
    from kinetree.simulation.contact import ContactForces, contact_forces
    from kinetree.simulation.ground import Ground, Region, Soil
    from kinetree.simulation.options import Stops, Trigger
    from kinetree.simulation.simulate import AccuracyWarning, simulate
    from kinetree.simulation.simulator import Motion, Simulator
    from kinetree.study.run import run
    from kinetree.trajectories.base import Trajectory

__version__ = "0.1.0"

__all__ = [
    "AccuracyWarning",
    "Body",
    "Builder",
    "ContactForces",
    "ContactPoint",
    "FileError",
    "FormulationTable",
    "ForwardDynamicsDerivatives",
    "Ground",
    "Inertia",
    "InputError",
    "InverseDynamicsDerivatives",
    "InverseKinematics",
    "Joint",
    "JointReactionDerivatives",
    "KinetreeError",
    "Link",
    "Loop",
    "Mechanism",
    "Mimic",
    "MissingExtraError",
    "ModelError",
    "Motion",
    "PiecewisePolynomial",
    "Placement",
    "Poses",
    "Prediction",
    "Problem",
    "Region",
    "Result",
    "Shape",
    "SimulationError",
    "Simulator",
    "SingularityError",
    "Soil",
    "State",
    "Stops",
    "SymbolicEquations",
    "Target",
    "TorqueHessian",
    "Trajectory",
    "Trigger",
    "Wrench",
    "bias_torque",
    "body_accelerations",
    "body_velocities",
    "center_of_mass",
    "contact_forces",
    "control",
    "draw",
    "equations_of_motion",
    "floating_base_inverse_dynamics",
    "formulations",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "forward_kinematics",
    "from_dh",
    "gravity_torque",
    "inertia_regressor",
    "inertial_parameters",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "inverse_kinematics",
    "jacobian",
    "joint_reaction_derivatives",
    "joint_reactions",
    "kinetic_energy",
    "load",
    "load_result",
    "mass_matrix",
    "momentum",
    "potential_energy",
    "predict",
    "random_state",
    "refine",
    "run",
    "save",
    "simulate",
    "simulate_batch",
    "terms",
    "tighten",
    "torque_hessian",
    "trajectories",
    "unchecked",
    "zero_moment_point",
    "zoo",
]

_LATER = {  # loaded when first used, so that importing the package stays quick
    "AccuracyWarning": "kinetree.simulation.simulate",
    "ContactForces": "kinetree.simulation.contact",
    "Ground": "kinetree.simulation.ground",
    "InverseKinematics": "kinetree.analysis.inverse_kinematics",
    "Motion": "kinetree.simulation.simulator",
    "PiecewisePolynomial": "kinetree.algebra.piecewise",
    "Prediction": "kinetree.motion.prediction",
    "Problem": "kinetree.motion.problem",
    "Region": "kinetree.simulation.ground",
    "Result": "kinetree.result.result",
    "Simulator": "kinetree.simulation.simulator",
    "Soil": "kinetree.simulation.ground",
    "Stops": "kinetree.simulation.options",
    "SymbolicEquations": "kinetree.formulations.equations_of_motion",
    "Target": "kinetree.analysis.inverse_kinematics",
    "Trajectory": "kinetree.trajectories.base",
    "Trigger": "kinetree.simulation.options",
    "contact_forces": "kinetree.simulation.contact",
    "draw": "kinetree.report.draw",
    "equations_of_motion": "kinetree.formulations.equations_of_motion",
    "inverse_kinematics": "kinetree.analysis.inverse_kinematics",
    "load_result": "kinetree.result.netcdf",
    "predict": "kinetree.motion.predict",
    "refine": "kinetree.motion.refine",
    "run": "kinetree.study.run",
    "simulate": "kinetree.simulation.simulate",
    "simulate_batch": "kinetree.simulation.batch",
    "tighten": "kinetree.motion.refine",
    "zero_moment_point": "kinetree.analysis.zero_moment_point",
}
_ROOMS = {
    "control": "kinetree.control",
    "terms": "kinetree.motion.terms",
    "trajectories": "kinetree.trajectories",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(_ROOMS[name])
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'kinetree' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
