"""The equations of motion in the independent joints: G^T (M G qdd_i + M g + h) = G^T tau, qdd = G qdd_i + g.

G (n_dof, mobility) says how all joints follow the independent ones while the loops stay closed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics, mass_matrix
from kinetree.analysis.kinematics import AT_ORIGIN, jacobian
from kinetree.dynamics.checks import given
from kinetree.dynamics.loads import Wrenches
from kinetree.dynamics.loops.coordinates import cut_forces, has_cut_forces
from kinetree.dynamics.loops.dynamics import broadcast
from kinetree.dynamics.loops.linear import swapped
from kinetree.dynamics.loops.sensitivity import Independent, chosen_joints, refuse_dependent
from kinetree.dynamics.loops.system import RANK, Constraints, constraints, refuse_open_loops
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers


def loop_jacobian(
    mechanism: Mechanism,
    q: ArrayLike,
    body: str,
    point: ArrayLike = AT_ORIGIN,
    independent: Independent = None,
) -> Array:
    """J (..., 6, mobility) with [velocity of the point; angular velocity] = J qd of the independent joints.

    World axes; ``point`` (3,) in the body's frame (m). ``independent`` are the joints of :func:`structure`,
    driven ones first, unless named.

    >>> import kinetree as kt
    >>> bar = kt.zoo.four_bar()
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> kt.loops.jacobian(bar, q, "coupler").shape
    (6, 1)
    """
    expect_mechanism(mechanism)
    q = given(mechanism, q, "q")
    return jacobian(mechanism, q, body, point) @ _followed(mechanism, q, independent)[0]


def loop_mass_matrix(mechanism: Mechanism, q: ArrayLike, independent: Independent = None) -> Array:
    """G^T M G (..., mobility, mobility): the inertia that the independent joints feel, all others following.

    >>> import kinetree as kt
    >>> ladder = kt.zoo.n_four_bar(2)  # bars of 1 m, 1 kg that swing together
    >>> q = [0.4 * (-1 if "crank" in name else 1) for name in ladder.joint_names]
    >>> kt.loops.mass_matrix(ladder, q).round(9).tolist()
    [[3.0]]
    """
    expect_mechanism(mechanism)
    q = given(mechanism, q, "q")
    G = _followed(mechanism, q, independent)[0]
    reduced: Array = swapped(G) @ mass_matrix(mechanism, q) @ G
    return reduced


def loop_bias_torque(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    wrenches: Wrenches = None,
    independent: Independent = None,
) -> Array:
    """h (..., mobility) in G^T tau = G^T M G qdd_i + h: all that acts on the independent joints at qdd_i = 0.

    Coriolis and centrifugal forces, also those of the changing transmission, gravity, springs, friction and
    loads.

    >>> import kinetree as kt
    >>> bar = kt.zoo.four_bar()
    >>> q = kt.loops.assemble(bar, [0.0, 1.0, 4.3], hold=["crank_pivot"])
    >>> h, held = kt.loops.bias_torque(bar, q, [0.0] * 3), kt.gravity_torque(bar, q)
    >>> h.round(6).tolist(), held.round(6).tolist()
    ([1.957095], [1.957095, 0.0, 0.0])
    """
    expect_mechanism(mechanism)
    q, qd, _ = broadcast(mechanism, q, qd, np.zeros(mechanism.n_dof))
    G, found, chosen = _followed(mechanism, q, independent, qd)
    g = np.zeros_like(q)
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False
    g[..., free] = -(np.linalg.pinv(found.J[..., free], rcond=RANK) @ found.rate[..., None])[..., 0]
    tau = inverse_dynamics(mechanism.opened(), q, qd, g, wrenches)
    if has_cut_forces(mechanism):
        tau = tau - cut_forces(mechanism, found.motion).torque
    bias: Array = (swapped(G) @ tau[..., None])[..., 0]
    return bias


def _followed(
    mechanism: Mechanism, q: Array, independent: Independent, qd: Array | None = None
) -> tuple[Array, Constraints, Integers]:
    """G, the loops and the places of the independent joints."""
    names, chosen = chosen_joints(mechanism, independent)
    found = constraints(mechanism, q, qd)
    refuse_open_loops(mechanism, found, np.zeros_like(q) if qd is None else qd, None)
    refuse_dependent(mechanism, found, names, chosen)
    free = np.ones(mechanism.n_dof, dtype=bool)
    free[chosen] = False
    G = np.zeros((*q.shape, len(chosen)))
    G[..., chosen, np.arange(len(chosen))] = 1.0
    G[..., free, :] = -np.linalg.pinv(found.J[..., free], rcond=RANK) @ found.J[..., chosen]
    return G, found, chosen
