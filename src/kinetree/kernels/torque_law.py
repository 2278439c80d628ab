"""Built-in torque laws: given torques, tables of time, PID about a desired motion, model-based terms.

tau = given + table(t) + kp e + kd ed + ki (integral of e) + model term, limited, on actuated axes;
e = q_desired - q ([Shah2013], eqs. 9.2-9.13). Springs, friction and stops of the joints are here as well.
"""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.kernels.floating import floating_inverse
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import lanewise, nothing, sign, where_less
from kinetree.kernels.rnea import rnea
from kinetree.model.tree import Tree

AXIS = Layout(
    world=False,
    constant=True,
    actuated=int,
    passive=int,  # whether it has a spring, friction or stops
    bounded=int,  # whether both limits of its position are finite numbers
    stopped=int,  # whether the limits are met by stops
    leads=int,  # whether it is one of the coordinates of the state; others follow them
    dof=int,  # the coordinate that it is or follows
    more=int,  # the row with the next coordinate that it follows, and its ratio; END: no more
    piece=int,  # the row with the first or next piece of a function by which it follows; END: no more
    kp=1,
    kd=1,
    ki=1,
    ratio=1,  # of its position to that coordinate, and what is added
    shift=1,
    begin=1,  # of a piece: from where on it counts, what its powers are about, and their coefficients
    center=1,
    powers=10,
    limit=1,  # largest torque
    lower=1,
    upper=1,
    stop_k=1,
    stop_c=1,
)
END = -1
POWERS = 10
NO_MODEL, GRAVITY, COMPUTED, DESIRED = 0, 1, 2, 3  # what a law adds: nothing, g(q), M alpha + h, tau(desired)


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


@lanewise
def ramp_sign(x, width):
    """The sign of x, but a straight line from -width to width."""
    return where_less(x, -width, -1.0, where_less(width, x, 1.0, x / width))


@lanewise
def dry_friction(coulomb, bias, rate, slow):
    """Coulomb friction, coulomb + bias forwards and coulomb - bias backwards; ramps lead through rest."""
    return (coulomb + bias * sign(rate)) * ramp_sign(rate, slow)


@lanewise
def model_torque(tree, work, base_work, floating, q, qd, qdd, wrench, base, check, tau):
    """Torques by inverse dynamics; a floating base has none and accelerates freely ([Shah2013], 9.8)."""
    if floating:
        floating_inverse(tree, base_work, q, qd, qdd, wrench, base, tau, check)
    else:
        rnea(tree, work, q, qd, qdd, wrench, tau, nothing(q))


@lanewise
def limited(x, most):
    """x within -most and most."""
    return where_less(x, -most, -most, where_less(most, x, most, x))


@lanewise
def beyond_limits(head, axes, i, q, stops):
    """1 beyond the upper and below the lower limit, else 0: by the state, or as the present step holds it."""
    if head.holding[0] == 0:
        return where_less(axes.upper[i], q, 1.0, 0.0), where_less(q, axes.lower[i], 1.0, 0.0)
    return 0.0 * q + stops[2 * i], 0.0 * q + stops[2 * i + 1]


@lanewise
def joint_torque(tree, axes, i, q, qd, slow, above, below):
    """What spring, friction and stops do to axis i: the spring's part, and the rest, which is lost."""
    spring = -tree.stiffness[i] * (q - tree.rest[i])
    dry = dry_friction(tree.coulomb[i], tree.coulomb_bias[i], qd, slow)
    loss = -(tree.viscous[i] * qd + dry)
    if axes.stopped[i] == 1:
        push = above * (axes.stop_k[i] * (q - axes.upper[i]) + axes.stop_c[i] * qd)
        pull = below * (axes.stop_k[i] * (axes.lower[i] - q) - axes.stop_c[i] * qd)
        loss = loss - where_less(0.0, push, push, 0.0) + where_less(0.0, pull, pull, 0.0)
    return spring, loss
