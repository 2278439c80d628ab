"""Kinetree: dynamics and motion of articulated systems, from one model.

>>> import kinetree as kt
>>> arm = kt.zoo.kuka_kr5()
>>> kt.gravity_torque(arm, [0.0] * 6).shape
(6,)
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinetree import control, terms, trajectories, zoo
    from kinetree.algebra.piecewise import PiecewisePolynomial
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
    from kinetree.analysis.inverse_kinematics import InverseKinematics, Target, inverse_kinematics
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
    from kinetree.analysis.zero_moment_point import zero_moment_point
    from kinetree.derivations.equations_of_motion import SymbolicEquations, equations_of_motion
    from kinetree.errors import (
        FileError,
        InputError,
        KinetreeError,
        KinetreeWarning,
        MissingExtraError,
        ModelError,
        SimulationError,
        SingularityError,
    )
    from kinetree.formats.files import load, save
    from kinetree.model.body import Body, Shape
    from kinetree.model.builder import Builder
    from kinetree.model.contact_point import ContactPoint
    from kinetree.model.dh import from_dh
    from kinetree.model.inertia import Inertia
    from kinetree.model.joint import Joint, Mimic
    from kinetree.model.loop import Loop
    from kinetree.model.mechanism import Link, Mechanism
    from kinetree.motion.outcome.phased_prediction import PhasedPrediction
    from kinetree.motion.outcome.prediction import Prediction
    from kinetree.motion.predict import predict
    from kinetree.motion.predict_phases import predict_phases
    from kinetree.motion.problem.phases import Junction, Phases
    from kinetree.motion.problem.problem import Problem
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
    from kinetree.state import State, Wrench, random_state
    from kinetree.study.run import run
    from kinetree.trajectories.base import Trajectory
    from kinetree.viewer.page import view

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
    "Junction",
    "KinetreeError",
    "KinetreeWarning",
    "Link",
    "Loop",
    "Mechanism",
    "Mimic",
    "MissingExtraError",
    "ModelError",
    "Motion",
    "PhasedPrediction",
    "Phases",
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
    "predict_phases",
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
    "view",
    "zero_moment_point",
    "zoo",
]

_HOMES = {  # where each name lives; loaded when first used, so that importing the package is quick
    "AccuracyWarning": "kinetree.simulation.simulate",
    "Body": "kinetree.model.body",
    "Builder": "kinetree.model.builder",
    "ContactForces": "kinetree.simulation.contact",
    "ContactPoint": "kinetree.model.contact_point",
    "FileError": "kinetree.errors",
    "FormulationTable": "kinetree.analysis.by_formulation",
    "ForwardDynamicsDerivatives": "kinetree.analysis.sensitivity",
    "Ground": "kinetree.simulation.ground",
    "Inertia": "kinetree.model.inertia",
    "InputError": "kinetree.errors",
    "InverseDynamicsDerivatives": "kinetree.analysis.sensitivity",
    "InverseKinematics": "kinetree.analysis.inverse_kinematics",
    "Joint": "kinetree.model.joint",
    "JointReactionDerivatives": "kinetree.analysis.reaction_sensitivity",
    "KinetreeError": "kinetree.errors",
    "KinetreeWarning": "kinetree.errors",
    "Link": "kinetree.model.mechanism",
    "Loop": "kinetree.model.loop",
    "Mechanism": "kinetree.model.mechanism",
    "Mimic": "kinetree.model.joint",
    "MissingExtraError": "kinetree.errors",
    "ModelError": "kinetree.errors",
    "Junction": "kinetree.motion.problem.phases",
    "Motion": "kinetree.simulation.simulator",
    "PhasedPrediction": "kinetree.motion.outcome.phased_prediction",
    "Phases": "kinetree.motion.problem.phases",
    "PiecewisePolynomial": "kinetree.algebra.piecewise",
    "Placement": "kinetree.algebra.placement",
    "Poses": "kinetree.analysis.kinematics",
    "Prediction": "kinetree.motion.outcome.prediction",
    "Problem": "kinetree.motion.problem.problem",
    "Region": "kinetree.simulation.ground",
    "Result": "kinetree.result.result",
    "Shape": "kinetree.model.body",
    "SimulationError": "kinetree.errors",
    "Simulator": "kinetree.simulation.simulator",
    "SingularityError": "kinetree.errors",
    "Soil": "kinetree.simulation.ground",
    "State": "kinetree.state",
    "Stops": "kinetree.simulation.options",
    "SymbolicEquations": "kinetree.derivations.equations_of_motion",
    "Target": "kinetree.analysis.inverse_kinematics",
    "TorqueHessian": "kinetree.analysis.torque_hessian",
    "Trajectory": "kinetree.trajectories.base",
    "Trigger": "kinetree.simulation.options",
    "Wrench": "kinetree.state",
    "bias_torque": "kinetree.analysis.inverse",
    "body_accelerations": "kinetree.analysis.kinematics",
    "body_velocities": "kinetree.analysis.kinematics",
    "center_of_mass": "kinetree.analysis.energy",
    "contact_forces": "kinetree.simulation.contact",
    "draw": "kinetree.report.draw",
    "equations_of_motion": "kinetree.derivations.equations_of_motion",
    "floating_base_inverse_dynamics": "kinetree.analysis.floating",
    "formulations": "kinetree.analysis.by_formulation",
    "forward_dynamics": "kinetree.analysis.forward",
    "forward_dynamics_derivatives": "kinetree.analysis.sensitivity",
    "forward_kinematics": "kinetree.analysis.kinematics",
    "from_dh": "kinetree.model.dh",
    "gravity_torque": "kinetree.analysis.inverse",
    "inertia_regressor": "kinetree.analysis.regressor",
    "inertial_parameters": "kinetree.analysis.regressor",
    "inverse_dynamics": "kinetree.analysis.inverse",
    "inverse_dynamics_derivatives": "kinetree.analysis.sensitivity",
    "inverse_kinematics": "kinetree.analysis.inverse_kinematics",
    "jacobian": "kinetree.analysis.kinematics",
    "joint_reaction_derivatives": "kinetree.analysis.reaction_sensitivity",
    "joint_reactions": "kinetree.analysis.inverse",
    "kinetic_energy": "kinetree.analysis.energy",
    "load": "kinetree.formats.files",
    "load_result": "kinetree.result.netcdf",
    "mass_matrix": "kinetree.analysis.inverse",
    "momentum": "kinetree.analysis.energy",
    "potential_energy": "kinetree.analysis.energy",
    "predict": "kinetree.motion.predict",
    "predict_phases": "kinetree.motion.predict_phases",
    "random_state": "kinetree.state",
    "refine": "kinetree.motion.refine",
    "run": "kinetree.study.run",
    "save": "kinetree.formats.files",
    "simulate": "kinetree.simulation.simulate",
    "simulate_batch": "kinetree.simulation.batch",
    "tighten": "kinetree.motion.refine",
    "torque_hessian": "kinetree.analysis.torque_hessian",
    "unchecked": "kinetree.analysis.evaluate",
    "view": "kinetree.viewer.page",
    "zero_moment_point": "kinetree.analysis.zero_moment_point",
}
_ROOMS = {
    "control": "kinetree.control",
    "terms": "kinetree.terms",
    "trajectories": "kinetree.trajectories",
    "zoo": "kinetree.zoo",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found = import_module(_ROOMS[name])
    elif name in _HOMES:
        found = getattr(import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'kinetree' has no attribute '{name}'")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Entrance(ModuleType):
    """The package; importing a room does not hide the public function that is called as the room is."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Entrance
