"""Every kernel there is, for warm-up and tests."""

from __future__ import annotations

from kinetree.kernels.aba import ABA, ABA_ALONE, ABA_UNLOADED
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.crba import CRBA
from kinetree.kernels.energy import ENERGY
from kinetree.kernels.floating import FLOATING_INVERSE
from kinetree.kernels.jacobian import JACOBIAN
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.layout import Kernel
from kinetree.kernels.load_gradient import LOAD_GRADIENT, LOAD_HESSIAN
from kinetree.kernels.load_reaction import LOAD_REACTION
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT
from kinetree.kernels.regressor import REGRESSOR
from kinetree.kernels.rnea import RNEA, RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_ADJOINT, RNEA_HESSIAN
from kinetree.kernels.udu import MASS_INVERSE, UDU

PLAIN = (
    RNEA_UNLOADED,
    ABA_UNLOADED,
    ABA_ALONE,
    CRBA,
    UDU,
    MASS_INVERSE,
    RNEA_GRADIENT,
    RNEA_ADJOINT,
    RNEA_HESSIAN,
    ABA_GRADIENT,
)  # one number per axis in every input and output: these can also be compiled for single states
WIDE = (
    ENERGY,
    KINEMATICS,
    JACOBIAN,
    REGRESSOR,
    REACTION_GRADIENT,
    RNEA,
    ABA,
    FLOATING_INVERSE,
    LOAD_GRADIENT,
    LOAD_HESSIAN,
    LOAD_REACTION,
)


def all_kernels() -> tuple[Kernel, ...]:
    """Every kernel, once."""
    return PLAIN + WIDE
