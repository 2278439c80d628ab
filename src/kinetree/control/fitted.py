"""A control law fitted to one mechanism: gains, limits and tables with one entry per degree of freedom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.analysis.hybrid import hybrid_dynamics
from kinetree.analysis.inverse import gravity_torque, inverse_dynamics
from kinetree.control.desired_motion import DesiredMotion, constant
from kinetree.control.per_joint import Checked, columns, spread
from kinetree.control.structure import (
    check_same_loops,
    check_same_structure,
    effort_limits,
    has_floating_base,
    has_idle_joints,
)
from kinetree.control.torque_source import TorqueSource
from kinetree.dynamics.coupling import all_axes
from kinetree.dynamics.loads import Wrenches, body_loads
from kinetree.kernels.torque_law import COMPUTED, DESIRED, GRAVITY, NO_MODEL
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers
from kinetree.model.variants import without_parameters
from kinetree.state import State, Wrench

LIMITS_OF_MODEL = "model"


@dataclass(frozen=True, eq=False)
class Recipe:
    """What a controller consists of before it meets a mechanism; see `kernels.torque_law`."""

    desired: DesiredMotion | None = None
    kp: Checked = 0.0
    kd: Checked = 0.0
    ki: Checked = 0.0
    torques: TorqueSource | None = None
    mode: int = NO_MODEL
    model: Mechanism | None = None
    aware: bool = False


@dataclass(frozen=True, eq=False)
class Fitted:
    """The parts for one mechanism, all arrays (n_dof,)."""

    mechanism: Mechanism
    recipe: Recipe
    actuated: Flags
    kp: Array
    kd: Array
    ki: Array
    limit: Array
    floating: bool
    chosen: Integers  # which coordinate of the desired motion belongs to each degree of freedom
    table: PiecewisePolynomial | None

    @property
    def model(self) -> Mechanism:
        """What the controller believes the mechanism to be."""
        return self.mechanism if self.recipe.model is None else self.recipe.model

    @property
    def desired_table(self) -> PiecewisePolynomial | None:
        """The desired motion of all degrees of freedom; without one, rest at zero if there are gains."""
        desired, n = self.recipe.desired, self.mechanism.n_dof
        if desired is None:
            return constant(np.zeros(n)) if self.kd.any() else None
        table = desired.table
        if desired.n == n:
            return table
        padded = np.where(self.actuated, table.coefficients[:, :, self.chosen], 0.0)
        return PiecewisePolynomial(table.breaks, padded)

    def want(self, t: ArrayLike) -> State:
        """Desired state (..., n_dof) at times (...); zero where nothing is desired."""
        if self.recipe.desired is None:
            rest = np.zeros((*np.shape(t), self.mechanism.n_dof))
            return State(rest, rest, rest)
        state = self.recipe.desired.at(t)
        if self.recipe.desired.n == self.mechanism.n_dof:
            return state
        parts = (np.where(self.actuated, x[..., self.chosen], 0.0) for x in (state.q, state.qd, state.qdd))
        return State(*parts)

    def feedback(self, want: State, q: Array, qd: Array, integral: Array) -> Array:
        """Kp e + kd ed + ki (integral of e), e = q_desired - q ([Shah2013], eq. 9.2)."""
        return self.kp * (want.q - q) + self.kd * (want.qd - qd) + self.ki * integral

    def total(self, t: ArrayLike, q: Array, qd: Array, integral: Array, wrenches: Wrenches) -> Array:
        """The torque of the law (..., n_dof), within the limits."""
        want = self.want(t)
        tau = self.feedback(want, q, qd, integral)
        mode = self.recipe.mode
        if mode == COMPUTED:
            tau = self._computed(q, qd, want.qdd + tau, wrenches)
        elif mode == DESIRED:
            tau = tau + self._of_motion(want, q)
        elif mode == GRAVITY and self.mechanism.loops:
            from kinetree.analysis.tracking import holding_torque  # not needed for trees

            tau = tau + holding_torque(self.model, q, self.actuated)
        elif mode == GRAVITY:
            tau = tau + gravity_torque(self.model, q)
        if self.table is not None:
            tau = tau + self.table.at(t)
        return np.clip(np.where(self.actuated, tau, 0.0), -self.limit, self.limit)

    def _computed(self, q: Array, qd: Array, alpha: Array, wrenches: Wrenches) -> Array:
        """M alpha + h; a floating base and joints without drives follow ([Shah2013], eqs. 9.3-9.9)."""
        known = self._known_to_model(q, wrenches) if self.recipe.aware else None
        if self.mechanism.loops:
            from kinetree.analysis.tracking import tracking_torque

            return tracking_torque(self.model, q, qd, alpha, self.actuated, known)
        driven = [name for name, x in zip(self.mechanism.joint_names, self.actuated, strict=True) if x]
        return hybrid_dynamics(self.model, q, qd, alpha, prescribed=driven, wrenches=known).tau

    def _of_motion(self, want: State, q: Array) -> Array:
        """Torques of the desired motion; with loops, that of the driven joints determines all others."""
        if self.mechanism.loops and self.recipe.desired is not None and self.recipe.desired.n < len(self.kp):
            from kinetree.analysis.tracking import whole_motion

            want = whole_motion(self.model, want, self.actuated, q)
        return inverse_dynamics(self.model, want.q, want.qd, want.qdd)

    @property
    def is_constrained(self) -> bool:
        """Whether computed torques must leave some joints to themselves, or to loops."""
        return bool(self.mechanism.loops) or has_idle_joints(self.mechanism)

    def _known_to_model(self, q: Array, wrenches: Wrenches) -> Wrenches:
        """Loads as felt in the bodies' own frames, wherever the model believes these to be."""
        if wrenches is None or self.recipe.model is None:
            return wrenches
        loads = body_loads(self.mechanism, all_axes(self.mechanism.tree, q), wrenches)
        assert loads is not None
        names = enumerate(self.mechanism.body_names)
        return [Wrench(name, loads[..., k, :3], loads[..., k, 3:], frame="body") for k, name in names]


def fitted(recipe: Recipe, limits: Checked | str | None, mechanism: Mechanism) -> Fitted:
    """The law for a mechanism; whatever does not fit is named."""
    expect_mechanism(mechanism)
    if recipe.model is not None:
        check_same_structure(mechanism, recipe.model)
        check_same_loops(mechanism, recipe.model)
    n, actuated = mechanism.n_dof, mechanism.actuated
    floating = recipe.mode == COMPUTED and not mechanism.loops and has_floating_base(mechanism)
    kp, kd, ki = (
        spread(value, mechanism, what, unnamed=None, free=0.0)
        for value, what in ((recipe.kp, "kp"), (recipe.kd, "kd"), (recipe.ki, "ki"))
    )
    chosen = np.arange(n) if recipe.desired is None else columns(recipe.desired.n, mechanism, "trajectory")
    table = None if recipe.torques is None else recipe.torques.fitted(mechanism)
    limit = torque_limits(limits, mechanism)
    return Fitted(mechanism, recipe, actuated, kp, kd, ki, limit, floating, chosen, table)


def without_passive(model: Mechanism) -> Mechanism:
    """The model without springs and friction of its joints, so that holding it still takes gravity only."""
    if not model.tree.passive.any():
        return model
    return without_parameters(model, "stiffness", "viscous", "coulomb")


def torque_limits(limits: Checked | str | None, mechanism: Mechanism) -> Array:
    """The largest torques (n_dof,) that checked limits allow; infinite where there is none."""
    if limits is None:
        return np.full(mechanism.n_dof, np.inf)
    if isinstance(limits, str):
        return np.where(mechanism.actuated, effort_limits(mechanism), np.inf)
    return spread(limits, mechanism, "limits", unnamed=np.inf, free=np.inf)
