"""Closed loops: assembly, dependent motion, forces of cut joints, mobility, subsystems.

>>> import kinetree as kt
>>> bar = kt.zoo.four_bar()
>>> kt.loops.mobility(bar), kt.loops.structure(bar).independent
(1, ('crank_pivot',))
"""

from typing import TYPE_CHECKING

from kinetree.analysis.loops.assembly import AssemblyMode as AssemblyMode
from kinetree.analysis.loops.assembly import assemble as assemble
from kinetree.analysis.loops.assembly import assembly_modes as assembly_modes
from kinetree.analysis.loops.assembly import dependent_motion as dependent_motion
from kinetree.analysis.loops.coordinates import CutCoordinates as CutCoordinates
from kinetree.analysis.loops.coordinates import cut_coordinates as cut_coordinates
from kinetree.analysis.loops.dynamics import LoopForces as LoopForces
from kinetree.analysis.loops.dynamics import loop_forces as forces
from kinetree.analysis.loops.dynamics import loop_forward_dynamics as forward_dynamics
from kinetree.analysis.loops.dynamics import loop_inverse_dynamics as inverse_dynamics
from kinetree.analysis.loops.hessian import LoopTorqueHessian as LoopTorqueHessian
from kinetree.analysis.loops.hessian import loop_torque_hessian as torque_hessian
from kinetree.analysis.loops.reactions import LoopReactionDerivatives as LoopReactionDerivatives
from kinetree.analysis.loops.reactions import LoopReactions as LoopReactions
from kinetree.analysis.loops.reactions import loop_reaction_derivatives as reaction_derivatives
from kinetree.analysis.loops.reactions import loop_reactions as reactions
from kinetree.analysis.loops.reduced import loop_bias_torque as bias_torque
from kinetree.analysis.loops.reduced import loop_jacobian as jacobian
from kinetree.analysis.loops.reduced import loop_mass_matrix as mass_matrix
from kinetree.analysis.loops.sensitivity import LoopForwardDerivatives as LoopForwardDerivatives
from kinetree.analysis.loops.sensitivity import LoopInverseDerivatives as LoopInverseDerivatives
from kinetree.analysis.loops.sensitivity import (
    loop_forward_dynamics_derivatives as forward_dynamics_derivatives,
)
from kinetree.analysis.loops.sensitivity import (
    loop_inverse_dynamics_derivatives as inverse_dynamics_derivatives,
)
from kinetree.analysis.loops.structure import LoopStructure as LoopStructure
from kinetree.analysis.loops.structure import Subsystem as Subsystem
from kinetree.analysis.loops.structure import mobility as mobility
from kinetree.analysis.loops.structure import structure as structure
from kinetree.analysis.loops.structure import subsystems as subsystems
from kinetree.analysis.loops.system import gap as gap
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
