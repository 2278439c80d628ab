"""Many steps under given torques, and the gradient of a function of all states by what led to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from kinetree.algebra.arrays import Array, numbers
from kinetree.errors import InputError, shown

if TYPE_CHECKING:
    from kinetree.simulation.stepper import Stepper


@dataclass(frozen=True, eq=False)
class RolloutGradient:
    """Slopes of a function of the states of a rollout.

    ``by_start`` (..., 2 n) by the state before it, positions along rates, then rates, as in
    :class:`StepDerivatives`; ``by_torque`` and ``by_target`` (K, ..., n); ``smooth`` (K, ...) is False where
    a step has a derivative on one side only.

    >>> import numpy as np
    >>> import kinetree as kt
    >>> run = kt.Stepper(kt.zoo.two_link(), batch=3).rollout(np.zeros((10, 2)))
    >>> run.gradient(np.ones(4)).by_start.shape
    (3, 4)
    """

    by_start: Array
    by_torque: Array
    by_target: Array
    smooth: NDArray[np.bool_]


class StepRollout:
    """Steps of a `Stepper` under torques: the states after each, and gradients of functions of these.

    ``q`` (K + 1, ..., nq) and ``qd`` (K + 1, ..., n) are those that the stepper shows, the first before any
    step. The gradient is the discrete adjoint: exact, that of these steps and not of an equation that they
    approximate. States are kept at every square root of K steps only and those between are computed again, so
    that gradients of long rollouts need little memory.

    >>> import numpy as np
    >>> import kinetree as kt
    >>> arm = kt.Stepper(kt.zoo.two_link(), 0.001)
    >>> run = arm.rollout(np.zeros((20, 2)), times=5)
    >>> run.q.shape, round(float(arm.time), 9)
    ((21, 2), 0.1)
    """

    def __init__(self, stepper: Stepper, torque: ArrayLike, target: ArrayLike | None, times: int) -> None:
        if not isinstance(times, int | np.integer) or isinstance(times, bool) or times < 1:
            raise InputError(f"times must be an integer of at least 1, got {shown(times)}")
        self.stepper, self.times = stepper, int(times)
        self.torque = self._per_step(torque, "torque", None)
        self.target = None if target is None else self._per_step(target, "target", len(self.torque))
        count = len(self.torque) * self.times
        self._every = max(1, int(np.sqrt(count)))
        self._kept: list[Array] = []
        states = [(stepper.q.copy(), stepper.qd.copy())]
        for step in range(count):
            if step % self._every == 0:
                self._kept.append(stepper.save())
            self._step(step)
            if (step + 1) % self.times == 0:
                states.append((stepper.q.copy(), stepper.qd.copy()))
        self._end = stepper.save()
        self.q, self.qd = (np.stack(part) for part in zip(*states, strict=True))

    def gradient(self, slopes: ArrayLike) -> RolloutGradient:
        """Slopes of a function by start, torques and targets, from those by the states.

        slopes: (2 n_dof,) or (batch, 2 n_dof) by the last state, or (K + 1, ..., 2 n_dof) by all states; of
        positions along rates. The stepper is afterwards where it was before.
        """
        stepper, count = self.stepper, len(self.torque) * self.times
        seeds, now = self._seeds(slopes), stepper.save()
        by_torque, smooth = np.zeros_like(self.torque), np.ones(self.torque.shape[:-1], dtype=np.bool_)
        by_target, state = np.zeros_like(self.torque), seeds[-1]
        every = np.arange(stepper.batch or 1)
        try:
            for first in range(self._every * (len(self._kept) - 1), -1, -self._every):
                between = self._between(first, min(first + self._every, count))
                for step in range(first + len(between) - 1, first - 1, -1):
                    stepper._bring_back(between[step - first], every)
                    k, rest = divmod(step, self.times)
                    aim = None if self.target is None else self.target[k]
                    found = stepper.pull_back(state, self.torque[k], target=aim)
                    by_torque[k] += found.by_torque
                    by_target[k] += found.by_target
                    smooth[k] &= found.smooth
                    state = found.by_state + (seeds[k] if rest == 0 else 0.0)
        finally:
            stepper.restore(now)
        return RolloutGradient(state, by_torque, by_target, smooth)

    def _between(self, first: int, last: int) -> list[Array]:
        """States before steps first..last - 1, from the one that is kept."""
        found = [self._kept[first // self._every]]
        self.stepper.restore(found[0])
        for step in range(first, last - 1):
            self._step(step)
            found.append(self.stepper.save())
        return found

    def _step(self, step: int) -> None:
        """Take a step with its torque and target."""
        k = step // self.times
        self.stepper.step(self.torque[k], target=None if self.target is None else self.target[k])

    def _per_step(self, values: ArrayLike, what: str, count: int | None) -> Array:
        """Values (K, ..., n_dof)."""
        array, n, batch = numbers(values, what), self.stepper.mechanism.n_dof, self.stepper.batch
        inner = (n,) if batch is None else (batch, n)
        if count is not None and array.shape in ((n,), inner):
            array = np.broadcast_to(array, (count, *array.shape))
        if array.ndim == 2 and batch is not None and array.shape[1] == n:
            array = array[:, None, :]
        if array.shape[1:] not in (inner, (1, n)) or len(array) != (count or len(array)) or not len(array):
            steps = "K" if count is None else str(count)
            allowed = f"({steps}, {n})" if batch is None else f"({steps}, {n}) or ({steps}, {batch}, {n})"
            raise InputError(f"{what} must have shape {allowed}, got {np.shape(values)}")
        if not np.isfinite(array).all():
            raise InputError(f"{what} must be finite, got {array[~np.isfinite(array)][0]}")
        return np.array(np.broadcast_to(array, (len(array), *inner)))

    def _seeds(self, slopes: ArrayLike) -> Array:
        """Slopes by all states (K + 1, ..., 2 n_dof)."""
        array, n, batch = numbers(slopes, "slopes"), self.stepper.mechanism.n_dof, self.stepper.batch
        inner = (2 * n,) if batch is None else (batch, 2 * n)
        full = (len(self.torque) + 1, *inner)
        if not np.isfinite(array).all():
            raise InputError(f"slopes must be finite, got {array[~np.isfinite(array)][0]}")
        if array.shape == full:
            return array
        if array.shape not in ((2 * n,), inner):
            raise InputError(f"slopes must have shape {(2 * n,)}, {inner} or {full}, got {array.shape}")
        found = np.zeros(full)
        found[-1] = array
        return found
