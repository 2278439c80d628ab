"""Instants of a motion in phases: Gauss nodes in each of them, for rows and integrals alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers
from kinetree.errors import InputError, expect, must_be, shown

MOST = 1000  # nodes in one phase


@dataclass(frozen=True)
class GaussSamples:
    """Gauss-Legendre nodes between ``ends`` from 0 to 1, ``counts`` of them in each phase.

    Constraints hold there, and objectives are integrated with the weights of the nodes: the integrand may
    have corners and jumps where contact begins or ends. With ``start``, s = 0 is also an instant, without
    weight; :class:`AddedSamples` adds others.

    >>> samples = GaussSamples((0.0, 0.25, 1.0), (2, 3))
    >>> samples.s.round(3).tolist()
    [0.0, 0.053, 0.197, 0.335, 0.625, 0.915]
    >>> float(samples.weights @ samples.s**3)
    0.25
    """

    ends: Sequence[float]
    counts: Sequence[int]
    start: bool = True

    def __post_init__(self) -> None:
        ends = finite(numbers(self.ends, "ends of phases"), "ends of phases")
        if (
            ends.ndim != 1
            or len(ends) < 2
            or ends[0] != 0.0
            or ends[-1] != 1.0
            or (np.diff(ends) <= 0.0).any()
        ):
            raise InputError(f"ends of phases must ascend from 0 to 1, got {shown(self.ends)}")
        expect(self.counts, Iterable, "counts", "integers, one for each phase")
        counts = list(self.counts)
        if len(counts) != len(ends) - 1 or any(type(k) is not int or not 1 <= k <= MOST for k in counts):
            raise InputError(
                f"{len(ends) - 1} phases need as many counts from 1 to {MOST}, got {shown(self.counts)}"
            )
        object.__setattr__(self, "ends", tuple(ends.tolist()))
        object.__setattr__(self, "counts", tuple(counts))

    @cached_property
    def _nodes(self) -> tuple[Array, Array]:
        s, weights = ([np.zeros(1)], [np.zeros(1)]) if self.start else ([], [])
        for a, b, k in zip(self.ends[:-1], self.ends[1:], self.counts, strict=True):
            x, w = _gauss(k)
            s.append(a + (b - a) * (x + 1.0) / 2.0)
            weights.append((b - a) * w / 2.0)
        return frozen(np.concatenate(s)), frozen(np.concatenate(weights))

    @property
    def s(self) -> Array:
        """All instants, ascending."""
        return self._nodes[0]

    @property
    def weights(self) -> Array:
        """Their weights in integrals over s; the sum is 1."""
        return self._nodes[1]

    def finer(self, factor: int) -> GaussSamples:
        """The same phases with a multiple of the nodes."""
        return GaussSamples(self.ends, [factor * k for k in self.counts], self.start)


@lru_cache(maxsize=256)
def _gauss(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes on [-1, 1] and their weights: eigenvalues of a matrix, worth keeping."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return frozen(nodes), frozen(weights)


@dataclass(frozen=True)
class AddedSamples:
    """The ``given`` samples, and ``more`` instants s (m,) at which constraints also hold.

    Objectives are integrated as with the given samples alone; changes from instant to instant, as in
    :class:`kinetree.terms.TorqueRate`, are taken between all instants where :class:`GaussSamples` are given.
    ``given`` is what ``samples`` of a :class:`kinetree.Problem` takes: a number per segment, instants from 0
    to 1, or :class:`GaussSamples`. Use this class for corners that must be sampled; :func:`tighten` adds
    instants at which bounds were exceeded.

    >>> samples = AddedSamples(GaussSamples((0.0, 1.0), (2,)), [0.3])
    >>> samples.with_more([0.3, 0.7]).more
    (0.3, 0.7)
    """

    given: Any
    more: Sequence[float]

    def __post_init__(self) -> None:
        if isinstance(self.given, AddedSamples):
            raise InputError("samples were added to these before; add others by with_more()")
        more = finite(numbers(self.more, "added samples"), "added samples")
        if more.ndim != 1 or ((more < 0.0) | (more > 1.0)).any():
            raise InputError(must_be("added samples", "s from 0 to 1", self.more))
        object.__setattr__(self, "more", tuple(np.unique(more).tolist()))

    def with_more(self, s: ArrayLike) -> AddedSamples:
        """The same samples with further instants s (m,)."""
        return AddedSamples(self.given, (*self.more, *np.asarray(s).tolist()))


def given_samples(samples: Any) -> Any:
    """Samples as they were given, before any were added."""
    return samples.given if isinstance(samples, AddedSamples) else samples
