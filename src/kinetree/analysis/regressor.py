"""Torques as a linear function of the bodies' inertial parameters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.dynamics.checks import given
from kinetree.dynamics.coupling import axis_slopes, axis_state
from kinetree.dynamics.evaluate import evaluate_full
from kinetree.kernels.regressor import REGRESSOR
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism

PARAMETERS = 10  # m; m cx, m cy, m cz; Ixx, Ixy, Ixz, Iyy, Iyz, Izz about the body's origin


def inertial_parameters(mechanism: Mechanism) -> Array:
    """The ten inertial parameters of every body, (n_bodies, 10), in body axes about the body's origin.

    Mass (kg), first moment (kg m), rotational inertia xx, xy, xz, yy, yz, zz (kg m^2).

    >>> import kinetree as kt
    >>> kt.analysis.inertial_parameters(kt.zoo.gripper())[0, :2].round(6).tolist()
    [0.4, 0.02]
    """
    expect_mechanism(mechanism)
    rows = []
    for link in mechanism.links:
        inertia = link.body.inertia
        moment = inertia.moment_about_origin[np.triu_indices(3)]
        rows.append(np.concatenate([[inertia.mass], inertia.first_moment, moment]))
    return np.array(rows)


def inertia_regressor(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, *, threads: int | None = None
) -> Array:
    """Y (..., n_dof, n_bodies, 10) with tau = sum Y pi over bodies and parameters: dtau/dpi.

    For identification: tau without armature, friction and springs is linear in the inertial parameters
    (:func:`inertial_parameters`). With closed loops tau are the torques of the driven joints.

    >>> import kinetree as kt, numpy as np
    >>> arm = kt.zoo.kuka_kr5()
    >>> s = kt.random_state(arm, np.random.default_rng(0))
    >>> Y = kt.analysis.inertia_regressor(arm, s.q, s.qd, s.qdd)
    >>> tau = np.tensordot(Y, kt.analysis.inertial_parameters(arm), axes=2)
    >>> bool(np.allclose(tau, kt.inverse_dynamics(arm, s.q, s.qd, s.qdd)))
    True
    """
    expect_mechanism(mechanism)
    if mechanism.loops:
        return _of_drives(mechanism, q, qd, qdd, threads)
    tree = mechanism.jointed_tree
    q, qd, qdd = axis_state(mechanism, tree, q, qd, qdd)
    _, (values,) = evaluate_full(REGRESSOR, tree, [q, qd, qdd], [], threads)
    Y: Array = values.reshape(*values.shape[:-1], tree.n, tree.n_bodies, PARAMETERS)
    if tree.coupling is not None:
        Y = np.einsum("...ad,...abp->...dbp", axis_slopes(tree, q), Y)
    return Y


def _of_drives(
    mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike, threads: int | None
) -> Array:
    """Y (..., n_dof, n_bodies, 10) of the drives' torques, those of least sum of squares."""
    from kinetree.dynamics.loops.system import constraints, refuse_open_loops
    from kinetree.dynamics.loops.verbs import by_drives

    q, qd, qdd = (given(mechanism, x, what) for x, what in ((q, "q"), (qd, "qd"), (qdd, "qdd")))
    found = constraints(mechanism, q, qd, qdd)
    refuse_open_loops(mechanism, found, qd, qdd)
    Y = inertia_regressor(mechanism.opened(), q, qd, qdd, threads=threads)
    flat = Y.reshape(*Y.shape[:-2], -1)
    return by_drives(mechanism, np.broadcast_to(q, (*Y.shape[:-3], q.shape[-1])), flat).reshape(Y.shape)
