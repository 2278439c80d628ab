"""Torques and reactions along a motion with their derivatives, for all samples in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import Integers
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.analysis.sensitivity import inverse_dynamics_derivatives, torque_hessian
from kinetree.dynamics.checks import check_finite
from kinetree.dynamics.loads import load_moments
from kinetree.engine.repeated import Repeated
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.layout import Kernel
from kinetree.kernels.load_gradient import LOAD_GRADIENT, LOAD_HESSIAN
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
from kinetree.model.mechanism import Mechanism
from kinetree.motion.compiled.assembly import add_load_torques, add_torque_blocks, compiled
from kinetree.motion.problem.places import AxisFrames
from kinetree.motion.problem.profile import ProfileMotion
from kinetree.state import Wrench

if TYPE_CHECKING:
    from kinetree.motion.terms.contract import Acting

Pushes = Sequence[Wrench]


class Mechanics:
    """Inverse dynamics of a mechanism whose ``moving`` coordinates vary, under loads.

    ``loads`` are known: they act on bodies, and their forces may have a first axis, one entry per sample.
    ``acting`` depend on what is sought; who evaluates them passes them as ``pushes``, with forces (m, 3).
    """

    def __init__(
        self,
        mechanism: Mechanism,
        moving: Integers,
        loads: Sequence[Wrench] = (),
        acting: Sequence[Acting] = (),
    ) -> None:
        self.mechanism, self.moving, self.loads = mechanism, moving, tuple(loads)
        self.acting = tuple(acting)
        self.all_moving = np.array_equal(moving, np.arange(mechanism.n_dof))
        self.every = moving if self.all_moving else np.arange(mechanism.n_dof)
        tree = mechanism.tree
        self.coupled = tree.coupling is not None or tree.springs is not None  # the general way
        self._moments = load_moments(mechanism, mechanism.tree, self.loads) if self.loads else None
        self._spread_moments: dict[int, Array] = {}  # for each number of samples
        self._known: dict[tuple[Kernel, int], Repeated] = {}

    def _repeated(self, kernel: Kernel, count: int) -> Repeated:
        """A kernel that is called with every iteration."""
        key = kernel, count
        if key not in self._known:
            self._known[key] = Repeated(kernel, self.mechanism.tree, count)
        return self._known[key]

    def frames(self, motion: ProfileMotion) -> AxisFrames:
        """Frames of all axes."""
        return AxisFrames(self.mechanism, self.moving, motion.q, motion.qd)

    def torques(self, motion: ProfileMotion, pushes: Pushes = ()) -> Array:
        """Torques of all coordinates, (m, n_dof)."""
        if self.coupled:
            return inverse_dynamics(self.mechanism, *motion[:3], (*self.loads, *pushes) or None)
        tau = np.empty(motion.q.shape)
        self._repeated(RNEA_UNLOADED, len(tau)).fill(motion[:3], [tau])
        if self.loads or pushes:
            self._add_loads(motion, tau, self._load_inputs(motion.q, pushes))
        check_finite([tau])
        return tau

    def slopes(self, motion: ProfileMotion, pushes: Pushes = ()) -> tuple[Array, Array]:
        """Torques (m, n_dof) and their derivatives by (q, qd, qdd) of what moves, (m, 3, n_dof, n)."""
        tau, found = self.all_slopes(motion, pushes)
        return tau, self.of_moving(found)

    def all_slopes(self, motion: ProfileMotion, pushes: Pushes = ()) -> tuple[Array, Array]:
        """Torques (m, n_dof) and their derivatives by (q, qd, qdd) of all coordinates, (3, m, n_dof, n_dof).

        Forces of the ``pushes`` count as given.
        """
        m, n = motion.q.shape
        if self.coupled:
            d = inverse_dynamics_derivatives(self.mechanism, *motion[:3], (*self.loads, *pushes) or None)
            return d.tau, np.stack([d.dtau_dq, d.dtau_dqd, d.dtau_dqdd])
        tau = np.empty((m, n))
        full = self._repeated(RNEA_GRADIENT, m).arrays(motion[:3], [tau])
        if self.loads or pushes:
            inputs = self._load_inputs(motion.q, pushes)
            self._add_loads(motion, tau, inputs)
            full[0] += self._repeated(LOAD_GRADIENT, m).arrays(inputs)[0]
        check_finite([tau])
        return tau, full.reshape(3, m, n, n)

    def of_moving(self, slopes: Array) -> Array:
        """Derivatives by all coordinates (3, m, n_dof, n_dof) as those by what moves, (m, 3, n_dof, n)."""
        found = slopes.swapaxes(0, 1)
        return found if self.all_moving else found[..., self.moving]

    def bend(self, motion: ProfileMotion, weight: Array, half: Array, pushes: Pushes = ()) -> None:
        """Add the half Hessian of weight . tau by (q, qd, qdd) to ``half``; weight (m, n_dof)."""
        m, n = motion.q.shape
        if self.coupled:
            h = torque_hessian(self.mechanism, *motion[:3], weight, (*self.loads, *pushes) or None)
            blocks = np.stack([h.q_q, h.q_qd, h.qd_qd, h.q_qdd])
        else:
            unused = [np.empty((m, n)) for _ in range(RNEA_HESSIAN.outputs)]
            blocks = self._repeated(RNEA_HESSIAN, m).arrays([*motion[:3], weight], unused)
            if self.loads or pushes:
                q, moments = self._load_inputs(motion.q, pushes)
                blocks[0] += self._repeated(LOAD_HESSIAN, m).arrays([q, weight, moments])[0]
            blocks = blocks.reshape(-1, m, n, n)
        compiled(add_torque_blocks)(blocks, self.moving, half)

    def _load_inputs(self, q: Array, pushes: Pushes) -> list[Array]:
        """q and the moments of all loads, as the kernels want them."""
        if self._moments is not None and len(q) not in self._spread_moments:
            shape = len(q), self._moments.shape[-1]
            self._spread_moments[len(q)] = np.array(np.broadcast_to(self._moments, shape), order="C")
        if not pushes:
            return [q, self._spread_moments[len(q)]]
        moments = load_moments(self.mechanism, self.mechanism.tree, pushes)
        return [q, moments if self._moments is None else moments + self._spread_moments[len(q)]]

    def _add_loads(self, motion: ProfileMotion, tau: Array, inputs: list[Array]) -> None:
        """Add -J^T load, without mimic joints."""
        tree, (q, moments) = self.mechanism.tree, inputs
        m, n = q.shape
        pose, rates = np.empty((m, 12 * n)), [np.empty((m, 6 * n)) for _ in range(2)]
        self._repeated(KINEMATICS, m).fill(motion[:3], [pose, *rates])
        compiled(add_load_torques)(pose, tree.parent, tree.turns, moments, tau)
