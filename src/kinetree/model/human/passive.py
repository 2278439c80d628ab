"""Passive moments of hip, knee and ankle: what muscles, tendons and ligaments do without any activity.

R. Riener, T. Edrich (1999), Identification of passive elastic joint moments in the lower extremities, J.
Biomech. 32, 539-544: each moment is a sum of exponential functions of its own angle and of the neighbors',
since some muscles pass two joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers
from kinetree.errors import InputError, must_be, texts, unknown_name
from kinetree.model.human.joints import DEGREE, REFERENCE_SIZE
from kinetree.model.human.segments import SIDES, checked_size

JOINTS = ("hip.flexion", "knee", "ankle.flexion")
# moment of, sign, constant of the exponent, its change by hip, knee and ankle per degree. Here dorsiflexion
# is positive; in the article plantar flexion is, for the ankle's angle and moment
_EXPONENTIALS = (
    ("hip.flexion", 1.0, 1.4655, (-0.0750, -0.0034, 0.0)),
    ("hip.flexion", -1.0, 1.3403, (0.0305, -0.0226, 0.0)),
    ("knee", 1.0, 1.800, (0.0217, -0.0352, 0.0460)),
    ("knee", -1.0, -3.971, (-0.0128, 0.0495, 0.0004)),
    ("knee", 1.0, 2.220, (0.0, -0.150, 0.0)),
    ("ankle.flexion", -1.0, 2.1016, (0.0, -0.0176, 0.0843)),
    ("ankle.flexion", 1.0, -7.9763, (0.0, 0.0008, -0.1949)),
)
_OFFSETS = {"hip.flexion": 8.072, "knee": -4.820, "ankle.flexion": 1.792}  # N m
STEEPEST = 6.0  # of exponents: beyond 400 N m, which no one measured, a parabola goes on


@dataclass(frozen=True, eq=False)
class PassiveMoments:
    """Moments (N m) of relaxed joints as functions of their angles: offset_j + sum_k a_kj exp(c_k + b_k . q).

    ``names`` are the degrees of freedom, in order, of angles (rad) and moments alike. A moment is positive in
    the direction in which its angle grows. Exponents above 6 continue as parabolas with the same value, slope
    and curvature, so that all numbers stay finite.

    >>> import kinetree as kt
    >>> relaxed = kt.human.passive_moments(sides=["left"])
    >>> relaxed.names
    ('left_hip.flexion', 'left_knee', 'left_ankle.flexion')
    >>> relaxed.moments([0.0, 0.0, 0.0]).round(1)
    array([ 8.6, 10.4, -6.4])
    """

    names: tuple[str, ...]
    offsets: Array  # (n,) N m
    amplitudes: Array  # (k, n) N m: what each exponential does to each joint
    constants: Array  # (k,)
    rates: Array  # (k, n) 1/rad

    def moments(self, q: ArrayLike, qd: ArrayLike | None = None) -> Array:
        """Moments at angles ``q`` (..., n); they do not depend on velocities."""
        found: Array = self.offsets + self._grown(q)[0] @ self.amplitudes
        return found

    def slopes(self, q: ArrayLike, qd: ArrayLike | None = None) -> Array:
        """Their derivatives, (..., 1, n, n): by angles; rows are moments, columns angles."""
        first, n = self._grown(q)[1], len(self.names)
        return (first @ self._slopes).reshape(*first.shape[:-1], 1, n, n)

    def bends(self, q: ArrayLike, qd: ArrayLike | None, weight: ArrayLike) -> Array:
        """Second derivatives of weight . moments by the angles, (..., 1, n, n); ``weight`` (..., n)."""
        second, n = self._grown(q)[2] * (np.asarray(weight) @ self.amplitudes.T), len(self.names)
        return (second @ self._bends).reshape(*second.shape[:-1], 1, n, n)

    @cached_property
    def _slopes(self) -> Array:
        """What each exponential does to each slope, (k, n n)."""
        found: Array = (self.amplitudes[:, :, None] * self.rates[:, None]).reshape(len(self.constants), -1)
        return found

    @cached_property
    def _bends(self) -> Array:
        """Products of its rates, (k, n n)."""
        found: Array = (self.rates[:, :, None] * self.rates[:, None]).reshape(len(self.constants), -1)
        return found

    def _grown(self, q: ArrayLike) -> tuple[Array, Array, Array]:
        """The exponentials (..., k) with two derivatives by their exponents."""
        n, angles = len(self.names), finite(numbers(q, "q"), "q")
        if angles.ndim == 0 or angles.shape[-1] != n:
            raise InputError(f"q must have shape (..., {n}), one for each joint, got shape {angles.shape}")
        exponent = self.constants + angles @ self.rates.T
        more = exponent - STEEPEST
        if (more <= 0.0).all():
            value = np.exp(exponent)
            return value, value, value
        over = np.maximum(more, 0.0)
        value = np.exp(np.minimum(exponent, STEEPEST))
        return value * (1.0 + over + 0.5 * over * over), value * (1.0 + over), value


def passive_moments(
    height: float = 1.75, mass: float = 75.0, sides: Sequence[str] = SIDES, factor: float = 1.0
) -> PassiveMoments:
    """Passive moments of hip, knee and ankle flexion of both legs, or of one.

    Riener and Edrich (1999), eqs. 1-3, means of ten healthy adults. They are taken to be those of a person of
    75 kg and 1.75 m and to grow with weight times stature, as strength does; ``factor`` multiplies all.

    >>> short, tall = (passive_moments(h, m).moments([0.2] * 6)[0] for h, m in ((1.5, 50.0), (1.9, 90.0)))
    >>> float((tall / short).round(2))
    2.28
    """
    height, mass = checked_size(height, mass)
    if not 0.0 <= number(factor, "factor of passive moments") < np.inf:
        raise InputError(must_be("factor of passive moments", "0 or more", factor, ""))
    chosen = texts([sides] if isinstance(sides, str) else sides, "sides")
    for side in chosen:
        if side not in SIDES:
            raise InputError(unknown_name("side", side, SIDES))
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError(must_be("sides", f"some of {list(SIDES)}, each once", chosen))
    size = factor * mass * height / REFERENCE_SIZE
    n, k = len(JOINTS), len(_EXPONENTIALS)
    amplitudes, rates = np.zeros((2, k * len(chosen), n * len(chosen)))
    for leg in range(len(chosen)):
        for row, (joint, sign, _, by) in enumerate(_EXPONENTIALS):
            amplitudes[leg * k + row, leg * n + JOINTS.index(joint)] = size * sign
            rates[leg * k + row, leg * n : (leg + 1) * n] = np.array(by) / DEGREE
    return PassiveMoments(
        tuple(f"{side}_{joint}" for side in chosen for joint in JOINTS),
        frozen(np.tile([size * _OFFSETS[joint] for joint in JOINTS], len(chosen))),
        frozen(amplitudes),
        frozen(np.tile([constant for _, _, constant, _ in _EXPONENTIALS], len(chosen))),
        frozen(rates),
    )
