"""How much do algorithms for forward dynamics magnify rounding errors? Each runs in single precision."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import inverse_dynamics
from kinetree.derivations import denoc, spatial
from kinetree.documents.forced_simulation import ForcedMotion
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Tree

UNIT_ROUNDOFF = 2.0**-24  # of single precision
SEED = 2007
Numbers = NDArray[Any]
Way = Callable[[Tree, Any, Any, Any], Any]


class SingleNumber:
    """A float, or an array of floats (m,), that is rounded to single precision after every operation.

    >>> float(SingleNumber(1.0) / 3.0)
    0.3333333432674408
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = np.float32(value).astype(np.float64)

    def __add__(self, other: Any) -> SingleNumber:
        return SingleNumber(self.value + _value(other))

    def __sub__(self, other: Any) -> SingleNumber:
        return SingleNumber(self.value - _value(other))

    def __rsub__(self, other: Any) -> SingleNumber:
        return SingleNumber(_value(other) - self.value)

    def __mul__(self, other: Any) -> SingleNumber:
        return SingleNumber(self.value * _value(other))

    def __truediv__(self, other: Any) -> SingleNumber:
        return SingleNumber(self.value / _value(other))

    def __rtruediv__(self, other: Any) -> SingleNumber:
        return SingleNumber(_value(other) / self.value)

    def __neg__(self) -> SingleNumber:
        return SingleNumber(-self.value)

    def __float__(self) -> float:
        return float(self.value)

    def sin(self) -> SingleNumber:
        """Sine."""
        return SingleNumber(np.sin(self.value))

    def cos(self) -> SingleNumber:
        """Cosine."""
        return SingleNumber(np.cos(self.value))

    def sqrt(self) -> SingleNumber:
        """Square root."""
        return SingleNumber(np.sqrt(self.value))

    def sign(self) -> SingleNumber:
        """-1, 0 or 1."""
        return SingleNumber(np.sign(self.value))

    __radd__, __rmul__ = __add__, __mul__


def _value(number: Any) -> Any:
    return number.value if isinstance(number, SingleNumber) else number


def singles(values: Array) -> Numbers:
    """The values (k,), or (k, m) of m states, as k numbers of single precision."""
    numbers = np.empty(len(values), object)
    numbers[:] = [SingleNumber(x) for x in values]
    return numbers


def floats(numbers: Any, states: int) -> Array:
    """Numbers (k,) of m states as floats (m, k)."""
    return np.stack([np.broadcast_to(_value(x), states) for x in numbers], axis=1)


# ---- four ways to the same accelerations --------------------------------------------------------------
def cholesky_solved(M: Any, right: Any) -> Numbers:
    """x (n,) of M x = right by the Cholesky decomposition M = L L^T, over any kind of number."""
    n, x = len(right), np.array(right)
    L = np.array(M)
    for j in range(n):
        for i in range(j, n):
            for k in range(j):
                L[i, j] = L[i, j] - L[i, k] * L[j, k]
        L[j, j] = np.sqrt(L[j, j])
        for i in range(j + 1, n):
            L[i, j] = L[i, j] / L[j, j]
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[i, k] * x[k]
        x[i] = x[i] / L[i, i]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k, i] * x[k]
        x[i] = x[i] / L[i, i]
    return x


def _link_phi(tree: Tree, q: Any, qd: Any, tau: Any) -> Any:
    return tau - denoc.bias_torque(tree, q, qd)


WAYS: dict[str, Way] = {
    "recursive, link frames": lambda tree, q, qd, tau: denoc.accelerations(
        tree, q, _link_phi(tree, q, qd, tau)
    ),
    "Cholesky, link frames": lambda tree, q, qd, tau: cholesky_solved(
        denoc.mass_matrix(tree, q), _link_phi(tree, q, qd, tau)
    ),
    "recursive, world frame": lambda tree, q, qd, tau: spatial.forward_dynamics(tree, q, qd, tau),
    "Cholesky, world frame": lambda tree, q, qd, tau: cholesky_solved(
        spatial.mass_matrix(tree, q), tau - spatial.bias_torque(tree, q, qd)
    ),
}  # the first two are [Mohan2007]'s recursive and nonrecursive algorithm, the others what Kinetree compiles


@dataclass(frozen=True, eq=False)
class Rounding:
    """Errors of accelerations in units of the roundoff, for each way (w,) and state (m,).

    ``driven``: states of a prescribed motion with its torques; ``falling``: random states without torques.
    Relative to the state's largest acceleration, or to the mean of these where that is larger.
    """

    ways: tuple[str, ...]
    driven: Array
    falling: Array

    def median(self, way: str, situation: str) -> float:
        """The middle one of the errors of a way, ``driven`` or ``falling``."""
        return float(np.median(getattr(self, situation)[self.ways.index(way)]))


def rounding_errors(motion: ForcedMotion, states: int = 40) -> Rounding:
    """Compare all ways in single precision with double precision, at `states` states of either kind."""
    mechanism, rng = motion.mechanism, np.random.default_rng(SEED)
    n, middle = mechanism.n_dof, (np.arange(states) + 0.5) / states * motion.duration
    wanted = motion.at(middle)
    driven = (wanted.q, wanted.qd, inverse_dynamics(mechanism, wanted.q, wanted.qd, wanted.qdd))
    falling = (
        rng.uniform(-np.pi, np.pi, (states, n)),
        rng.standard_normal((states, n)),
        np.zeros((states, n)),
    )
    return Rounding(tuple(WAYS), _errors(mechanism, *driven), _errors(mechanism, *falling))


def _errors(mechanism: Mechanism, q: Array, qd: Array, tau: Array) -> Array:
    """Errors (w, m) in units of the roundoff at states (m, n_dof), whose numbers are rounded beforehand."""
    rounded = [singles(x.T) for x in (q, qd, tau)]
    states = zip(*(floats(x, len(q)) for x in rounded), strict=True)
    exact = np.array([WAYS["recursive, link frames"](mechanism.tree, *state) for state in states])
    found = np.array([floats(way(mechanism.tree, *rounded), len(q)) for way in WAYS.values()])
    errors, sizes = np.abs(found - exact).max(axis=2), np.abs(exact).max(axis=1)
    relative: Array = errors / np.maximum(sizes, sizes.mean()) / UNIT_ROUNDOFF
    return relative
