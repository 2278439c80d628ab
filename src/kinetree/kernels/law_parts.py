"""What a built-in torque law consists of: the contract between controllers and compiled simulation."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.kernels.torque_law import NO_MODEL
from kinetree.model.tree import Tree


@dataclass(frozen=True, eq=False)
class DriveParts:
    """Actuators between a law and the joints: T di/dt = u - i with u = tau_law / k within limits, tau = k i.

    All arrays are per degree of freedom, (n_dof,); those that are not ``driven`` get the law's torque itself.
    """

    driven: Array  # bool
    lag: Array  # T, s
    gain: Array  # k, N m/A or N/A
    limit: Array  # largest command, A; infinite where there is none
    start: Array  # current at the start, A


@dataclass(frozen=True, eq=False)
class LawParts:
    """tau = table(t) + kp e + kd ed + ki (integral of e) + model term, on actuated axes, within limits.

    All arrays are per axis, (n,). ``mode`` names the model term (`kernels.torque_law`): none, gravity of the
    model at q, M alpha + h with alpha = qdd_desired + kp e + kd ed + ki (integral of e) (computed torque), or
    inverse dynamics of the desired motion. ``floating``: computed torque leaves the base's six axes free.
    ``aware``: the model knows the forces of the ground and the external loads. ``period`` > 0 (s): the torque
    is held between sampling instants. ``breaks``: times (s) where the law jumps or has a kink.
    """

    actuated: Array  # bool
    kp: Array
    kd: Array
    ki: Array
    limit: Array  # largest torque, infinite where there is none
    desired: PiecewisePolynomial | None = None
    table: PiecewisePolynomial | None = None
    mode: int = NO_MODEL
    model: Tree | None = None  # None: the simulated mechanism itself
    floating: bool = False
    aware: bool = False
    period: float = 0.0
    breaks: tuple[float, ...] = ()
    drive: DriveParts | None = None  # actuators with states of their own
