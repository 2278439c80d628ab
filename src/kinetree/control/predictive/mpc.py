"""A controller that plans: at every tick the best torques over a short time ahead; the first acts."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array, number
from kinetree.control.predictive.goals import MotionGoal, expect_goals
from kinetree.control.predictive.shooting import Shooting, TorquePlan
from kinetree.dynamics.checks import unchecked
from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism, check_open


class MPC:
    """Model predictive control: torques within bounds that minimize goals over ``horizon`` (s).

    At each tick the plan of the tick before is shifted, started from the measured state, and improved by
    ``iterations`` of a Gauss-Newton method with exact derivatives; the first torque of it acts. ``goals`` are
    summed, such as :class:`JointGoal` and :class:`PointGoal`; ``effort`` is the price of torques relative to
    their bounds, which are ``limits`` (N m, one number or by joint) or the mechanism's own. ``step`` (s) is
    that of the motion ahead. ``delay`` (s): how long after a reading a torque acts, as in `SampledLaw`.

    Used as the law of a :class:`SampledLaw`. For mechanisms without closed loops, and without contact.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    >>> plan = kt.control.MPC(arm, kt.control.JointGoal([0.5, 0.5], weight=100.0, weight_rates=1.0))
    >>> law = kt.control.SampledLaw(plan, period=0.01)
    >>> moved = kt.simulate(arm, [0.0, 0.0], duration=1.0, controller=law)
    >>> bool(abs(moved.q.values[-1] - 0.5).max() < 0.1)
    True
    """

    def __init__(
        self,
        mechanism: Mechanism,
        goals: MotionGoal | Sequence[MotionGoal],
        *,
        horizon: float = 0.4,
        step: float = 0.02,
        effort: float = 1e-3,
        limits: float | dict[str, float] | None = None,
        iterations: int = 1,
        delay: float = 0.0,
    ) -> None:
        expect_mechanism(mechanism)
        check_open(mechanism, "MPC")
        h, ahead = number(step, "step"), number(horizon, "horizon")
        if not 0.0 < h <= ahead or round(ahead / h) > 1000:
            raise InputError(f"horizon must be 1 to 1000 steps of {h:g} s, got {ahead:g} s")
        if type(iterations) is not int or iterations < 1:
            raise InputError(must_be("iterations", "an integer of at least 1", iterations))
        if number(effort, "effort") < 0.0 or number(delay, "delay") < 0.0:
            raise InputError(f"effort and delay must be >= 0, got {effort:g} and {delay:g}")
        drives = np.flatnonzero(mechanism.actuated)
        if not len(drives):
            raise InputError(f"'{mechanism.name}' has no joints with drives")
        found = expect_goals(goals, mechanism)
        bound = _bounds(mechanism, drives, limits)
        self._shooting = Shooting(mechanism, found, drives, bound, effort, round(ahead / h), h)
        self._iterations, self._delay = iterations, delay
        self._stated = {
            "controller": "MPC",
            "goals": [type(goal).__name__ for goal in found],
            "horizon": ahead,
            "step": h,
            "effort": float(effort),
            "limits": bound.tolist(),
            "iterations": iterations,
            "delay": delay,
        }
        self.reset()

    def reset(self) -> None:
        """Forget the plan; the next tick begins without torques."""
        m = len(self._shooting.drives)
        self._torques = np.zeros((self._shooting.steps, m))
        self._begun: float | None = None
        self._gains: Array | None = None
        self._sent: list[tuple[float, Array]] = []
        self.times: list[float] = []  # s: of each solve
        self._shooting.damping = 1e-9

    def settings(self) -> dict[str, Any]:
        """All arguments in plain numbers and texts."""
        return dict(self._stated)

    def statistics(self) -> dict[str, Any]:
        """Solves, and how long they took (ms): median, the longest of 99 of 100, the longest."""
        if not self.times:
            return {"solves": 0}
        ms = 1e3 * np.array(self.times)
        return {
            "solves": len(ms), "median_ms": float(np.median(ms)), "p99_ms": float(np.percentile(ms, 99)),
            "longest_ms": float(ms.max()),
        }  # fmt: skip

    def planned(self, t: float, q: Array, qd: Array) -> TorquePlan:
        """The plan from a state at a time: torques, states, feedback, cost."""
        shooting = self._shooting
        times = np.asarray(t + shooting.dt * np.arange(shooting.steps + 1), dtype=np.float64)
        plan = shooting.rolled(np.concatenate([q, qd]), self._shifted(t))
        plan.cost = shooting.cost(plan, times)
        if not np.isfinite(plan.cost):
            plan = shooting.rolled(plan.x[0], np.zeros_like(plan.u))
            plan.cost = shooting.cost(plan, times)
        for _ in range(self._iterations):
            before = plan.cost
            plan = shooting.improved(plan, times)
            if not plan.cost < before:
                break
        self._torques, self._begun = plan.u, t
        return plan

    def __call__(self, t: float, q: Array, qd: Array) -> Array:
        """Torques (n_dof,) for a state that was read at a time (s)."""
        begin = perf_counter()
        with (
            unchecked(),
            np.errstate(all="ignore"),
        ):  # a motion ahead that blows up is a plan that is not taken
            later, place, speed = self._foreseen(t, np.array(q, float), np.array(qd, float))
            first = self.planned(later, place, speed).u[0]
        if self._delay:
            self._sent.append((later, first))
        self.times.append(perf_counter() - begin)
        return np.asarray(first @ self._shooting.share)

    def _shifted(self, t: float) -> Array:
        """The torques of the plan before at the middles of steps from a time on; the last one is held."""
        if self._begun is None:
            return self._torques
        shooting = self._shooting
        k = ((t - self._begun) / shooting.dt + np.arange(shooting.steps) + 0.5).astype(int)
        return np.asarray(self._torques[np.clip(k, 0, shooting.steps - 1)])

    def _foreseen(self, t: float, q: Array, qd: Array) -> tuple[float, Array, Array]:
        """Time and state when the torque will act, moved on by the torques that are under way."""
        end = t + self._delay
        if not self._delay:
            return t, q, qd
        self._sent = [sent for sent in self._sent if sent[0] > t - self._delay]
        x, shooting, now = np.concatenate([q, qd]), self._shooting, t
        count = max(1, round(self._delay / shooting.dt * 4))
        for k in range(count):
            middle = now + (k + 0.5) * self._delay / count
            acting = [u for since, u in self._sent if since <= middle]
            u = acting[-1] if acting else np.zeros(len(shooting.drives))
            x = shooting.moved(x, u, self._delay / count)
        n = shooting.n
        return end, x[:n], x[n:]


def _bounds(mechanism: Mechanism, drives: NDArray[np.intp], limits: float | dict[str, float] | None) -> Array:
    """The largest torques of the drives; infinite where nothing limits them."""
    names = [mechanism.joint_names[k] for k in drives]
    bound = np.array(mechanism.effort_limit[drives], dtype=np.float64)
    if isinstance(limits, dict):
        for name, limit in limits.items():
            if name not in names:
                raise InputError(unknown_name("joint", name, names).after("limits: "))
            bound[names.index(name)] = number(limit, f"limit of '{name}'")
    elif limits is not None:
        bound[:] = number(limits, "limits")
    if (bound <= 0.0).any():
        raise InputError(f"limits must be > 0; those of {listed(np.array(names)[bound <= 0.0])} are not")
    return bound
