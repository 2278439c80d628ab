"""The recursions module by module, every quantity by name ([Shah2013], Tables 6.3 and 6.4).

Inverse dynamics: twists t, their rates t', wrenches of inertia w*, wrenches w~ of composite modules, torques.
Forward dynamics: phi = tau - h, phi^ and phi~, eta~ and eta, mu~ and mu, accelerations. All vectors of twists
and wrenches are [angular; linear] of the links of a module, about the origins of their frames, in world axes,
as the matrices of `denoc_matrices` are; mass matrices of composite and articulated modules are there.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.derivations.denoc.blocks import Partition, cross_tensor
from kinetree.derivations.denoc.entries import variables
from kinetree.derivations.denoc.labels import TWIST
from kinetree.derivations.denoc.matrices import DenocMatrices, denoc_matrices
from kinetree.derivations.denoc.motion import drive
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS
from kinetree.state import coordinates

Modules = dict[int, Array]
VECTORS = {  # of the links of a module, (6 links,)
    "t": "twist",
    "t_dot": "rate of the twist, minus gravity",
    "w_star": "wrench of inertia of the links",
    "w_tilde": "wrench of the composite module",
    "eta_tilde": "wrench on the module by the forces of the modules beyond it",
    "eta": "wrench that the module passes to its parent",
    "mu_tilde": "acceleration from the modules before it",
    "mu": "acceleration with the module's own joints",
}
JOINTS = {  # of the joints of a module
    "tau": "torque of the drives",
    "phi": "torque minus bias torque, tau - h",
    "phi_hat": "remaining phi of the module",
    "phi_tilde": "acceleration with all modules before it at rest",
    "qdd": "acceleration",
}
MATRICES = {
    "M_bar": "mass matrix of the module",
    "M_tilde": "mass matrix of the composite module",
    "M_hat": "mass matrix of the articulated module",
    "I_hat": "pivot: inertia of the articulated module about its joints",
    "Psi": "transfer of joint forces to the module",
}


@dataclass(frozen=True, eq=False)
class DenocSteps:
    """All quantities of both recursions at one state, by name and module; see :func:`denoc_steps`.

    ``vectors[name][module]`` are arrays in the order of the module's links or joints.
    """

    mechanism: Mechanism
    matrices: DenocMatrices
    vectors: dict[str, Modules]

    def of(self, name: str, module: int) -> Array:
        """A quantity of a module: (6 links,) or (joints,); mass matrices (6 links, 6 links)."""
        block = self.matrices.block(module)
        if name in MATRICES:
            return np.asarray(getattr(self.matrices, name)(block.number))
        if name not in self.vectors:
            raise InputError(unknown_name("quantity", name, (*VECTORS, *JOINTS, *MATRICES)))
        return self.vectors[name][block.number]

    @property
    def modules(self) -> tuple[int, ...]:
        """Numbers of the modules, those before first."""
        return tuple(block.number for block in self.matrices.blocks)

    def links(self, module: int) -> tuple[str, ...]:
        """Names of the links of a module: of the last axis of their joints."""
        return tuple(self.mechanism.tree.axis_names[k] for k in self.matrices.block(module).rows)

    def joints(self, module: int) -> tuple[str, ...]:
        """Names of the joints of a module."""
        return tuple(self.mechanism.tree.axis_names[k] for k in self.matrices.block(module).columns)

    def labeled(self) -> Any:
        """All vectors as an xarray Dataset: (link, component) and (joint,), with the module of each.

        >>> import kinetree as kt
        >>> steps = denoc_steps(kt.zoo.gripper(), [0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.5, 0.2], [0.0] * 4)
        >>> data = steps.labeled()
        >>> data.t.sel(link="joint3", component="wz").item()  # 1 + 0 + 0.5 rad/s
        1.5
        >>> data.w_tilde.sel(link="joint1").attrs["long_name"]
        'wrench of the composite module'
        """
        xarray = import_module("xarray")
        every = {"link": self.links, "joint": self.joints}
        names = {dim: [x for i in self.modules for x in of(i)] for dim, of in every.items()}
        owner = {dim: [i for i in self.modules for _ in of(i)] for dim, of in every.items()}
        found = {}
        for table, dims in ((VECTORS, ("link", "component")), (JOINTS, ("joint",))):
            for name, meaning in table.items():
                values = np.concatenate([self.of(name, i) for i in self.modules])
                shaped = values.reshape(-1, 6) if table is VECTORS else values
                found[name] = (dims, shaped, {"long_name": meaning})
        coordinates_ = {**names, "component": list(TWIST)} | {
            f"{dim}_module": (dim, owner[dim]) for dim in every
        }
        return xarray.Dataset(found, coords=coordinates_)


def denoc_steps(
    mechanism: Mechanism,
    q: ArrayLike,
    qd: ArrayLike,
    qdd: ArrayLike,
    modules: Partition = None,
) -> DenocSteps:
    """Both recursions at one state: torques of the motion, and from these its accelerations again.

    ``q``, ``qd``, ``qdd`` (n_dof,); ``modules`` as in `denoc_matrices`. Torques have the inertia, springs and
    friction of the drives in them, as those of `inverse_dynamics`.

    >>> import kinetree as kt
    >>> arm = kt.zoo.gripper()
    >>> state = [0.1, 0.2, 0.3, 0.4], [1.0, 0.0, 0.5, 0.2], [0.5, 0.0, 1.0, 0.0]
    >>> steps = denoc_steps(arm, *state)
    >>> steps.modules, steps.joints(2)
    ((1, 2, 3), ('joint2', 'joint3'))
    >>> bool(np.isclose(steps.of("tau", 3)[0], kt.inverse_dynamics(arm, *state)[3]))
    True
    """
    matrices = denoc_matrices(mechanism, q, modules)
    state = [coordinates(mechanism, x, what) for x, what in ((q, "q"), (qd, "qd"), (qdd, "qdd"))]
    vectors = _inverse(matrices, *state)
    bias = _inverse(matrices, state[0], state[1], np.zeros(len(state[2])))["tau"]
    vectors |= _forward(matrices, {i: tau - bias[i] for i, tau in vectors["tau"].items()})
    return DenocSteps(mechanism, matrices, vectors)


# ---- Table 6.3 --------------------------------------------------------------------------------------------
def _inverse(matrices: DenocMatrices, q: Array, qd: Array, qdd: Array) -> dict[str, Modules]:
    """Outward: t and t'; w*. Inward: w~ and tau."""
    tree = matrices.tree
    t, t_dot = _motion(matrices, qd, qdd)
    w = np.zeros((tree.n, 6))
    for k in range(tree.n):
        M, spin = matrices.M_k(k), cross_tensor(t[k, :3])
        gyroscopic = M @ np.concatenate([t[k, :3], np.zeros(3)])
        w[k] = M @ t_dot[k] + np.concatenate([spin @ gyroscopic[:3], spin @ gyroscopic[3:]])
    found: dict[str, Modules] = {
        name: {b.number: values[list(b.rows)].ravel() for b in matrices.blocks}
        for name, values in (("t", t), ("t_dot", t_dot), ("w_star", w))
    }
    w_tilde = {i: values.copy() for i, values in found["w_star"].items()}
    torques: Modules = {}
    for block in reversed(matrices.blocks):
        i = block.number
        if block.parent is not None:
            w_tilde[block.parent] += matrices.A_bar(i, block.parent).T @ w_tilde[i]
        felt = matrices.N_bar(i).T @ w_tilde[i]
        columns = list(block.columns)
        rates = [variables(x[columns], len(columns)) for x in (q, qd, qdd)]
        entries = variables(felt, len(columns))
        torques[i] = np.array(
            [float(drive(tree, j, entries[c], *(x[c] for x in rates)).value) for c, j in enumerate(columns)]
        )
    return found | {"w_tilde": w_tilde, "tau": torques}


def _motion(matrices: DenocMatrices, qd: Array, qdd: Array) -> tuple[Array, Array]:
    """Twists of all axes and their rates (n, 6), of the origins of their frames; the base rises by -g."""
    tree = matrices.tree
    t, t_dot = np.zeros((tree.n + 1, 6)), np.zeros((tree.n + 1, 6))
    t_dot[-1, 3:] = -tree.gravity
    for k in range(tree.n):
        j, p = int(tree.parent[k]), matrices.p(k)
        before = -1 if j == WORLD_AXIS else j
        A = np.eye(6) if j == WORLD_AXIS else matrices.A(k, j)
        t[k] = A @ t[before] + p * qd[k]
        spin = cross_tensor(t[k, :3])
        p_dot = np.concatenate([spin @ p[:3], spin @ p[3:]])
        t_dot[k] = A @ t_dot[before] + p_dot * qd[k] + p * qdd[k]
        if j != WORLD_AXIS:  # A' t: the arm between the two origins moves with both
            t_dot[k, 3:] += np.cross(t[j, 3:] - t[k, 3:], t[j, :3])
    return t[:-1], t_dot[:-1]


# ---- Table 6.4 --------------------------------------------------------------------------------------------
def _forward(matrices: DenocMatrices, phi: Modules) -> dict[str, Modules]:
    """Inward: phi^, phi~, eta, eta~. Outward: mu~, mu and the accelerations."""
    eta_tilde = {b.number: np.zeros(6 * len(b.rows)) for b in matrices.blocks}
    eta, phi_hat, phi_tilde = Modules(), Modules(), Modules()
    for block in reversed(matrices.blocks):
        i = block.number
        phi_hat[i] = phi[i] - matrices.N_bar(i).T @ eta_tilde[i]
        phi_tilde[i] = np.asarray(np.linalg.solve(matrices.I_hat(i), phi_hat[i]), dtype=np.float64)
        eta[i] = matrices.Psi(i) @ phi_hat[i] + eta_tilde[i]
        if block.parent is not None:
            eta_tilde[block.parent] += matrices.A_bar(i, block.parent).T @ eta[i]
    mu, mu_tilde, qdd = Modules(), Modules(), Modules()
    for block in matrices.blocks:
        i = block.number
        mu_tilde[i] = np.zeros(6 * len(block.rows))
        if block.parent is not None:
            mu_tilde[i] = matrices.A_bar(i, block.parent) @ mu[block.parent]
        qdd[i] = phi_tilde[i] - matrices.Psi(i).T @ mu_tilde[i]
        mu[i] = matrices.N_bar(i) @ qdd[i] + mu_tilde[i]
    return {
        "phi": phi,
        "phi_hat": phi_hat,
        "phi_tilde": phi_tilde,
        "eta_tilde": eta_tilde,
        "eta": eta,
        "mu_tilde": mu_tilde,
        "mu": mu,
        "qdd": qdd,
    }
