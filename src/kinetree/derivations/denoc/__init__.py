"""DeNOC: recursive dynamics from decoupled natural orthogonal complements.

[Mohan2007]; [Shah2013], chapters 4 to 7. The twists of all links are t = N_l N_d qd; of the Newton-Euler
equations of all links the constraint wrenches vanish when they are multiplied by N_d^T N_l^T. N_l and N_d are
never formed here: products with them are the forward and backward recursions of [Shah2013], Tables 6.1, 6.2,
7.1 and 7.2, from module to module, from link to link and over the axes of each joint, with the empty links
inside joints skipped. The matrices themselves are in `denoc.matrices`.

``modules`` is the user's own partition (``mechanism.partition(...)``); the answers do not depend on it.
"""

from __future__ import annotations

from kinetree.derivations.contract import Formulation
from kinetree.derivations.denoc.floating import floating_base_inverse_dynamics
from kinetree.derivations.denoc.forward import accelerations, forward_dynamics
from kinetree.derivations.denoc.inverse import bias_torque, inverse_dynamics, joint_reactions, mass_matrix
from kinetree.derivations.denoc.loops import closed_forward_dynamics, closed_inverse_dynamics

__all__ = [
    "FORMULATION",
    "accelerations",
    "bias_torque",
    "floating_base_inverse_dynamics",
    "forward_dynamics",
    "inverse_dynamics",
    "joint_reactions",
    "mass_matrix",
]

FORMULATION = Formulation(
    name="denoc",
    title="Decoupled natural orthogonal complements (DeNOC), module by module",
    source="[Shah2013], chapters 4 to 8 and appendix A; [Mohan2007]",
    cost="O(n) torques and accelerations, O(n depth) mass matrix",
    can=frozenset({"inverse_dynamics", "mass_matrix", "bias_torque", "forward_dynamics", "joint_reactions"}),
    closed={"inverse_dynamics": closed_inverse_dynamics, "forward_dynamics": closed_forward_dynamics},
)
