"""Questions about states, one step below the package: answers with derivatives, formulations, regressors."""

from .by_formulation import FormulationTable as FormulationTable
from .by_formulation import formulations as formulations
from .checks import unchecked as unchecked
from .floating import floating_base_inverse_dynamics as floating_base_inverse_dynamics
from .hessian import TorqueHessian as TorqueHessian
from .hessian import torque_hessian as torque_hessian
from .hybrid import HybridDynamics as HybridDynamics
from .hybrid import HybridDynamicsDerivatives as HybridDynamicsDerivatives
from .hybrid import hybrid_dynamics as hybrid_dynamics
from .hybrid import hybrid_dynamics_derivatives as hybrid_dynamics_derivatives
from .inverse_kinematics import InverseKinematics as InverseKinematics
from .inverse_kinematics import Target as Target
from .kinematics import Poses as Poses
from .kinematics import body_accelerations as body_accelerations
from .moment_point import zero_moment_point as zero_moment_point
from .reaction_sensitivity import JointReactionDerivatives as JointReactionDerivatives
from .reaction_sensitivity import joint_reaction_derivatives as joint_reaction_derivatives
from .regressor import inertia_regressor as inertia_regressor
from .regressor import inertial_parameters as inertial_parameters
from .rooting import change_root as change_root
from .sensitivity import ForwardDynamicsDerivatives as ForwardDynamicsDerivatives
from .sensitivity import InverseDynamicsDerivatives as InverseDynamicsDerivatives
from .symbolic import SymbolicEquations as SymbolicEquations
from .symbolic import equations_of_motion as equations_of_motion
