"""What may drive a mechanism: the types of ``torque`` and ``controller``, as type checkers see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.kernels.torque_law import DriveParts, LawParts
from kinetree.model.mechanism import Mechanism


class TorqueLaw(Protocol):
    """A function of time (s), positions and velocities (n_dof,) that returns torques (n_dof,) in N m or N.

    >>> import kinetree as kt, numpy as np
    >>> def brake(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    ...     return -0.1 * qd
    >>> law: kt.simulation.TorqueLaw = brake
    >>> kt.simulate(kt.zoo.two_link(), [0.1, 0.2], duration=0.1, torque=law, times=3).q.shape
    (3, 2)
    """

    def __call__(self, t: float, q: Array, qd: Array, /) -> ArrayLike:
        """Torques (n_dof,) at time t (s), from q and qd (n_dof,)."""


class JointLaw(Protocol):
    """A function of time (s), positions and velocities (n_dof,) that returns the torque of one joint."""

    def __call__(self, t: float, q: Array, qd: Array, /) -> float:
        """The torque (N m) or force (N) of the joint."""


class HasLawParts(Protocol):
    """A controller of :mod:`kinetree.control` that runs as machine code."""

    def law_parts(self, mechanism: Mechanism) -> LawParts:
        """The law as compiled simulations take it."""


class HasDriveParts(Protocol):
    """An actuator with a state of its own, such as :class:`kinetree.control.FirstOrderActuator`."""

    def drive_parts(self, mechanism: Mechanism) -> DriveParts:
        """The actuators as compiled simulations take them."""


class HasPrescribedParts(Protocol):
    """Joints that move as prescribed, :class:`kinetree.control.Prescribed`."""

    def prescribed_parts(self, mechanism: Mechanism) -> Any:
        """Places in q, motion, and times at which steps end."""


class HasServoParts(Protocol):
    """Actuators of the mechanism's own, :class:`kinetree.control.ModelActuators`."""

    def servo_parts(self, mechanism: Mechanism) -> dict[str, Array]:
        """The servos as compiled simulations take them."""


class HasSampled(Protocol):
    """A law with a memory that is called once per period, such as :class:`kinetree.control.SampledLaw`."""

    def sampled(self, mechanism: Mechanism) -> Any:
        """The law as it runs in one simulation."""


Vector = NDArray[Any] | Sequence[float]
TorqueTable = tuple[Vector, NDArray[Any] | Sequence[Vector]]
JointTorque = float | tuple[Vector, Vector] | JointLaw | HasLawParts | PiecewisePolynomial
TorqueGiven = Vector | TorqueTable | PiecewisePolynomial | TorqueLaw | Mapping[str, JointTorque] | None
ControllerGiven = (
    HasLawParts | HasDriveParts | HasPrescribedParts | HasServoParts | HasSampled | TorqueLaw | None
)
