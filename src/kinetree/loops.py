"""Closed loops: assembly, dependent motion, forces of cut joints, mobility, subsystems.

>>> import kinetree as kt
>>> bar = kt.zoo.four_bar()
>>> kt.loops.mobility(bar), kt.loops.structure(bar).independent
(1, ('crank_pivot',))
"""

from typing import TYPE_CHECKING

from kinetree.analysis.reduced import loop_bias_torque as bias_torque
from kinetree.analysis.reduced import loop_jacobian as jacobian
from kinetree.analysis.reduced import loop_mass_matrix as mass_matrix
from kinetree.dynamics.loops.assembly import AssemblyMode as AssemblyMode
from kinetree.dynamics.loops.assembly import assemble as assemble
from kinetree.dynamics.loops.assembly import assembly_modes as assembly_modes
from kinetree.dynamics.loops.assembly import dependent_motion as dependent_motion
from kinetree.dynamics.loops.coordinates import CutCoordinates as CutCoordinates
from kinetree.dynamics.loops.coordinates import cut_coordinates as cut_coordinates
from kinetree.dynamics.loops.dynamics import LoopForces as LoopForces
from kinetree.dynamics.loops.dynamics import loop_forces as forces
from kinetree.dynamics.loops.dynamics import loop_forward_dynamics as forward_dynamics
from kinetree.dynamics.loops.dynamics import loop_inverse_dynamics as inverse_dynamics
from kinetree.dynamics.loops.hessian import LoopTorqueHessian as LoopTorqueHessian
from kinetree.dynamics.loops.hessian import loop_torque_hessian as torque_hessian
from kinetree.dynamics.loops.reactions import LoopReactionDerivatives as LoopReactionDerivatives
from kinetree.dynamics.loops.reactions import LoopReactions as LoopReactions
from kinetree.dynamics.loops.reactions import loop_reaction_derivatives as reaction_derivatives
from kinetree.dynamics.loops.reactions import loop_reactions as reactions
from kinetree.dynamics.loops.sensitivity import LoopForwardDerivatives as LoopForwardDerivatives
from kinetree.dynamics.loops.sensitivity import LoopInverseDerivatives as LoopInverseDerivatives
from kinetree.dynamics.loops.sensitivity import (
    loop_forward_dynamics_derivatives as forward_dynamics_derivatives,
)
from kinetree.dynamics.loops.sensitivity import (
    loop_inverse_dynamics_derivatives as inverse_dynamics_derivatives,
)
from kinetree.dynamics.loops.structure import LoopStructure as LoopStructure
from kinetree.dynamics.loops.structure import Subsystem as Subsystem
from kinetree.dynamics.loops.structure import mobility as mobility
from kinetree.dynamics.loops.structure import structure as structure
from kinetree.dynamics.loops.structure import subsystems as subsystems
from kinetree.dynamics.loops.system import gap as gap
from kinetree.other_names import names_of

__all__ = [
    "AssemblyMode",
    "CutCoordinates",
    "LoopForces",
    "LoopForwardDerivatives",
    "LoopInverseDerivatives",
    "LoopReactionDerivatives",
    "LoopReactions",
    "LoopStructure",
    "LoopTorqueHessian",
    "Subsystem",
    "assemble",
    "assembly_modes",
    "bias_torque",
    "cut_coordinates",
    "dependent_motion",
    "forces",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "gap",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "jacobian",
    "mass_matrix",
    "mobility",
    "reaction_derivatives",
    "reactions",
    "structure",
    "subsystems",
    "torque_hessian",
]

if not TYPE_CHECKING:  # a checker knows the names
    __getattr__ = names_of(__name__, __all__)


def __dir__() -> list[str]:
    return list(__all__)
