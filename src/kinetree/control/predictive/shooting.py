"""Gauss-Newton shooting with bounded torques: roll out, linearize, sweep back, try.

States x = (q, v) go on by the explicit midpoint rule, torques u are constant over a step. The backward sweep
is Riccati's recursion for the quadratic model of the remaining cost; torques at their bounds stay there
(Tassa, Mansard, Todorov, ICRA 2014), with the curvature of the dynamics left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.analysis.forward import forward_dynamics
from kinetree.analysis.sensitivity import forward_dynamics_derivatives
from kinetree.control.predictive.goals import MotionGoal
from kinetree.model.mechanism import Mechanism

SHARES = (1.0, 0.5, 0.25, 0.1, 0.02)  # of a step that are tried
LEAST = 1e-4  # of the decrease that the model promises, for a step to be taken
FIRM, SOFTEST, STIFFEST = 10.0, 1e-9, 1e6  # factor of the damping of torques, and its bounds
PROJECTIONS, SETTLED = (
    20,
    1e-9,
)  # changes of the set of torques at their bounds; relative slope that ends them


@dataclass(eq=False)
class TorquePlan:
    """Torques (k, m) over the time ahead, their states (k + 1, 2 n), feedback (k, m, 2 n), and their cost."""

    u: Array
    x: Array
    gains: Array
    cost: float


class Shooting:
    """A mechanism, what it is to do, and the time ahead: ``steps`` of ``dt`` (s)."""

    def __init__(
        self,
        mechanism: Mechanism,
        goals: tuple[MotionGoal, ...],
        drives: NDArray[np.intp],
        bound: Array,
        effort: float,
        steps: int,
        dt: float,
    ) -> None:
        """``drives``: numbers of the coordinates that are driven; ``bound`` (m,) of their torques."""
        self.mechanism, self.goals, self.drives, self.bound = mechanism, goals, drives, bound
        self.steps, self.dt, self.n = steps, dt, mechanism.n_dof
        self.share = np.zeros((len(drives), self.n))
        self.share[np.arange(len(drives)), drives] = 1.0
        self.price = effort * dt / np.where(np.isfinite(bound), bound, 1.0) ** 2
        self.damping = SOFTEST
        self._damper = np.where(np.isfinite(bound), bound, 1.0) ** -2

    # ---- the motion ---------------------------------------------------------------------------------------
    def rolled(self, x: Array, u: Array, plan: TorquePlan | None = None, share: float = 0.0) -> TorquePlan:
        """The motion from a state under torques, or under the feedback of a plan."""
        states, taken = np.empty((self.steps + 1, 2 * self.n)), np.array(u)
        states[0] = x
        for k in range(self.steps):
            if plan is not None:
                taken[k] = plan.u[k] + share * (u[k] - plan.u[k]) + plan.gains[k] @ (states[k] - plan.x[k])
            taken[k] = np.minimum(np.maximum(taken[k], -self.bound), self.bound)
            states[k + 1] = self.moved(states[k], taken[k], self.dt)
        return TorquePlan(taken, states, np.zeros((self.steps, len(self.drives), 2 * self.n)), np.inf)

    def moved(self, x: Array, u: Array, h: float) -> Array:
        """The state after a step of h (s) under torques."""
        n, tau = self.n, u @ self.share
        q, v = x[:n], x[n:]
        middle = v + 0.5 * h * forward_dynamics(self.mechanism, q, v, tau)
        a = forward_dynamics(self.mechanism, q + 0.5 * h * v, middle, tau)
        return np.concatenate([q + h * middle, v + h * a])

    def linearized(self, plan: TorquePlan) -> tuple[Array, Array]:
        """A (k, 2 n, 2 n) and B (k, 2 n, m) of all steps."""
        n, h, tau = self.n, self.dt, plan.u @ self.share
        q, v = plan.x[:-1, :n], plan.x[:-1, n:]
        first = forward_dynamics_derivatives(self.mechanism, q, v, tau)
        middle = v + 0.5 * h * first.qdd
        second = forward_dynamics_derivatives(self.mechanism, q + 0.5 * h * v, middle, tau)
        unit = np.broadcast_to(np.eye(n), first.dqdd_dq.shape)
        by_v = unit + 0.5 * h * first.dqdd_dqd
        later = second.dqdd_dqd
        A = np.empty((len(q), 2 * n, 2 * n))
        A[:, :n, :n], A[:, :n, n:] = unit + 0.5 * h * h * first.dqdd_dq, h * by_v
        A[:, n:, :n] = h * (second.dqdd_dq + 0.5 * h * later @ first.dqdd_dq)
        A[:, n:, n:] = unit + h * (0.5 * h * second.dqdd_dq + later @ by_v)
        B = np.empty((len(q), 2 * n, len(self.drives)))
        by_u = first.dqdd_dtau[:, :, self.drives]
        B[:, :n] = 0.5 * h * h * by_u
        B[:, n:] = h * (second.dqdd_dtau[:, :, self.drives] + 0.5 * h * later @ by_u)
        return A, B

    # ---- the cost -----------------------------------------------------------------------------------------
    def cost(self, plan: TorquePlan, t: Array) -> float:
        """Half the sum of all squares."""
        total = 0.5 * float((self.price * plan.u**2).sum())
        for goal in self.goals:
            r, _, _ = goal.rows(self.mechanism, t, plan.x[:, : self.n], plan.x[:, self.n :])
            squares = (r * r).sum(axis=1)
            total += 0.5 * (self.dt * float(squares[:-1].sum()) + goal.final * float(squares[-1]))
        return total if np.isfinite(total) else np.inf

    def quadratic(self, plan: TorquePlan, t: Array) -> tuple[Array, Array]:
        """Gradient (k + 1, 2 n) and Hessian (k + 1, 2 n, 2 n) of the cost of states, by Gauss and Newton."""
        size = 2 * self.n
        gradient, hessian = np.zeros((len(t), size)), np.zeros((len(t), size, size))
        for goal in self.goals:
            r, by_q, by_v = goal.rows(self.mechanism, t, plan.x[:, : self.n], plan.x[:, self.n :])
            J = np.concatenate([by_q, by_v], axis=2)
            weight = np.full(len(t), self.dt)
            weight[-1] = goal.final
            gradient += weight[:, None] * np.matmul(r[:, None], J)[:, 0]
            hessian += weight[:, None, None] * np.matmul(J.transpose(0, 2, 1), J)
        return gradient, hessian

    # ---- the search ---------------------------------------------------------------------------------------
    def improved(self, plan: TorquePlan, t: Array) -> TorquePlan:
        """The plan after one iteration; the same plan with new gains if no step makes it cheaper."""
        A, B = self.linearized(plan)
        gradient, hessian = self.quadratic(plan, t)
        wanted, gains, promise = self._swept(plan, A, B, gradient, hessian)
        guide = TorquePlan(plan.u, plan.x, gains, plan.cost)
        for share in SHARES:
            tried = self.rolled(plan.x[0], plan.u + wanted, guide, share)
            tried.cost, tried.gains = self.cost(tried, t), gains
            if tried.cost <= plan.cost - LEAST * share * promise:
                self.damping = max(self.damping / FIRM, SOFTEST)
                return tried
        self.damping = min(self.damping * FIRM * FIRM, STIFFEST)
        return guide

    def _swept(
        self, plan: TorquePlan, A: Array, B: Array, gradient: Array, hessian: Array
    ) -> tuple[Array, Array, float]:
        """Changes of torques (k, m), feedback (k, m, 2 n), and the decrease of the cost that they promise."""
        m = len(self.drives)
        wanted, gains = np.zeros((self.steps, m)), np.zeros((self.steps, m, 2 * self.n))
        s, S, promise = gradient[-1], hessian[-1], 0.0
        price = np.diag(self.price)
        damper = np.diag(self.damping * self._damper)
        for k in range(self.steps - 1, -1, -1):
            SA, SB = S @ A[k], S @ B[k]
            g = self.price * plan.u[k] + B[k].T @ s
            H, G = B[k].T @ SB + price, B[k].T @ SA
            step, K = bounded_step(H + damper, g, G, -self.bound - plan.u[k], self.bound - plan.u[k])
            wanted[k], gains[k] = step, K
            promise -= float(g @ step + 0.5 * step @ H @ step)
            s = gradient[k] + A[k].T @ s + K.T @ (g + H @ step) + G.T @ step
            S = hessian[k] + A[k].T @ SA + K.T @ H @ K + K.T @ G + G.T @ K
            S = 0.5 * (S + S.T)
        return wanted, gains, promise


def bounded_step(H: Array, g: Array, G: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """The least g . u + u . H u / 2 within bounds, and feedback -H^-1 G of torques that are not at them.

    A projected Newton method: torques that press against a bound stay there, the others are solved for.
    """
    u = np.minimum(np.maximum(np.zeros_like(g), low), high)
    free, small = np.ones(len(g), dtype=bool), SETTLED * float(np.abs(g).max(initial=1.0))
    for _ in range(PROJECTIONS):
        slope = g + H @ u
        free = ~(((u <= low) & (slope > 0.0)) | ((u >= high) & (slope < 0.0)))
        if not free.any() or np.abs(slope[free]).max() < small:
            break
        change = np.zeros_like(u)
        change[free] = -np.linalg.solve(H[np.ix_(free, free)], slope[free])
        for share in (1.0, 0.5, 0.25, 0.1, 0.01):
            moved = np.minimum(np.maximum(u + share * change, low), high) - u
            if slope @ moved + 0.5 * moved @ H @ moved < 0.0:
                break
        u = u + moved
    K = np.zeros_like(G)
    if free.any():
        K[free] = -np.linalg.solve(H[np.ix_(free, free)], G[free])
    return u, K
