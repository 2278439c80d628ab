"""Muscles in predictions: the least cost of making the torques of joints by the muscles that span them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from typing_extensions import override

from kinetree.algebra.arrays import Array, number
from kinetree.algebra.bspline import Integers
from kinetree.declare import Parameter, declare
from kinetree.dynamics.muscles.machine.least_cost import (
    MOST_COORDINATES,
    MOST_DEGREE,
    compiled,
    cost_bends,
    least_costs,
)
from kinetree.dynamics.muscles.paths import path_geometry
from kinetree.dynamics.muscles.polynomials import (
    LEAST_ARM,
    SEED,
    WIDE,
    LengthPolynomials,
    length_polynomials,
)
from kinetree.errors import InputError, unknown_name
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.profile import PAIRS, RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.contract import Objective
from kinetree.motion.terms.functions import TorqueValue

TOLERANCE = 1e-10  # of the largest torque, or N m: where sharing ends
POSES = 60  # at which the joints that muscles span are found
ABOVE = 10.0  # what an activation beyond 1 costs: half of this times its square
Ranges = Mapping[str, Sequence[float]] | None


@dataclass(frozen=True, eq=False)
class MuscleArrays:
    """The muscles of a mechanism as the machine code reads them, and the cost of their activations."""

    lengths: LengthPolynomials
    numbers: Array  # (k, 5): greatest force, optimal and slack length, thickness, greatest speed
    weight: Array
    exponent: float
    smoothing: float
    compliance: float

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Tables of lengths and numbers."""
        p = self.lengths
        return p.exponents, p.coefficients, p.terms, p.span, p.dims, self.numbers, p.top

    @property
    def cost(self) -> tuple[Any, ...]:
        """What sharing minimizes."""
        return self.weight, self.exponent, self.smoothing, ABOVE, self.compliance

    def shared(
        self, q: Array, qd: Array, tau: Array, start: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Prices (m, n), activations (m, k) and least costs (m,) of samples."""
        m, n = q.shape
        k, width = len(self.weight), self.lengths.span.shape[1]
        lam = np.zeros((m, n)) if start is None or start.shape != (m, n) else start.copy()
        a, value = np.empty((m, k)), np.empty(m)
        compiled(least_costs)(
            q, qd, tau, *self.arguments, *self.cost, TOLERANCE, lam, a, value, _powers(),
            np.empty(MOST_COORDINATES), np.empty((k, width)), np.empty((n, n)),
            *(np.empty(n) for _ in range(3)),
        )  # fmt: skip
        return lam, a, value

    def derived(self, q: Array, qd: Array, lam: Array, second: bool = True) -> tuple[Array, Array]:
        """Slopes (m, 3 n) and Hessians (m, 3 n, 3 n) of the dual by (q, qd, lam), at given tau.

        Without ``second`` the Hessians are not filled.
        """
        m, n = q.shape
        slope, hess = np.empty((m, 3 * n)), np.empty((m if second else 0, 3 * n, 3 * n))
        c = MOST_COORDINATES
        compiled(cost_bends)(
            q, qd, lam, *self.arguments, *self.cost, int(second), _powers(), np.empty(c), np.empty((c, c)),
            np.empty((c, c, c)), np.empty((4 + 2 * c, 3 * c)), slope, hess,
        )  # fmt: skip
        return slope, hess


def _powers() -> Array:
    return np.empty((MOST_COORDINATES, 4, MOST_DEGREE + 1))


@declare("muscle_cost", "least cost of making torques by muscles")
class MuscleCost(Objective):
    """Integral of the least cost of sharing torques among the mechanism's muscles.

    At each instant min sum_i w_i a_i^p / p with sum_i F_i r_ij a_i + e_j = tau_j, over activations a, with
    e_j^2 / reserve^2 and a smooth floor -smoothing ln a and ceiling a = 1, w_i = 1, or with ``by_volume`` the
    share of the muscle's volume, of mean 1. Its derivatives are exact, and there are no further unknowns:
    sharing has a dual with one unknown a joint, which is solved in each sample. Lengths of muscles are
    polynomials of joint angles, fitted within ``ranges`` (default the limits of the joints). Tendons are
    rigid, curves those of De Groote and Fregly (2016). Passive forces of fibers are not counted: passive
    moments of joints stand for them.

    >>> (0.5 * MuscleCost()).weight
    0.5
    """

    family = "muscle cost"
    quadrature_error = 1e-2  # torques have corners at knots

    def __init__(
        self,
        exponent: Annotated[float, Parameter("The power p, 2 or more (no unit)", kind="positive")] = 2.0,
        smoothing: Annotated[
            float, Parameter("Weight of the floor of activations (no unit)", kind="positive")
        ] = 1e-3,
        reserve: Annotated[
            float, Parameter("Torque that muscles lack at a cost of 1", "N m", "positive")
        ] = 1.0,
        by_volume: Annotated[bool, Parameter("Whether muscles are weighed by volume")] = False,
        ranges: Annotated[
            Ranges, Parameter("Ranges of joints for the fit of lengths (rad, m)", kind="bounds")
        ] = None,
    ) -> None:
        self.exponent = number(exponent, f"exponent of {self.family}")
        self.smoothing = number(smoothing, f"smoothing of {self.family}")
        self.reserve = number(reserve, f"reserve of {self.family}")
        self.by_volume, self.ranges = by_volume, dict(ranges or {})
        if self.exponent < 2.0:
            raise InputError(f"exponent of {self.family} must be 2 or more, got {exponent}")
        for key in ("smoothing", "reserve"):
            if getattr(self, key) <= 0.0:
                raise InputError(f"{key} of {self.family} must be > 0, got {getattr(self, key):g}")

    def table(self, mechanism: Mechanism) -> MuscleArrays:
        """The muscles of a mechanism with fitted lengths over the joints that they span."""
        if not mechanism.muscles:
            raise InputError(f"{self.family}: mechanism '{mechanism.name}' has no muscles")
        for name in self.ranges:
            if name not in mechanism.joint_names:
                raise InputError(
                    f"{self.family}: ranges: {unknown_name('joint', name, mechanism.joint_names)}"
                )
        joints = spanned(mechanism)
        lengths = length_polynomials(mechanism, joints, [self._range(mechanism, name) for name in joints])
        muscles = mechanism.muscles
        numbers = [
            (
                x.max_isometric_force,
                x.optimal_fiber_length,
                x.tendon_slack_length,
                x.optimal_fiber_length * np.sin(x.pennation_angle),
                x.max_contraction_velocity * x.optimal_fiber_length,
            )
            for x in muscles
        ]
        weight = np.ones(len(muscles))
        if self.by_volume:
            weight = np.array([x.mass for x in muscles])
            weight = weight / weight.mean()
        given = self.exponent, self.smoothing, 0.5 * self.reserve**2
        return MuscleArrays(lengths, np.array(numbers), weight, *given)

    def _range(self, mechanism: Mechanism, name: str) -> tuple[float, float]:
        if name in self.ranges:
            low, high = (float(x) for x in self.ranges[name])
            return low, high
        k = mechanism.joint_index(name)
        low, high = float(mechanism.lower[k]), float(mechanism.upper[k])
        return (low if np.isfinite(low) else -WIDE), (high if np.isfinite(high) else WIDE)

    def activations(self, mechanism: Mechanism, q: Array, qd: Array, torque: Array) -> dict[str, Array]:
        """The activations of all muscles, (m,) by name, of a motion with its torques, (m, n_dof) each."""
        table = self.table(mechanism)
        columns = [mechanism.joint_index(name) for name in table.lengths.joints]
        parts = (np.ascontiguousarray(np.asarray(x, dtype=np.float64)[:, columns]) for x in (q, qd, torque))
        _, a, _ = table.shared(*parts)
        return {name: a[:, i] for i, name in enumerate(table.lengths.names)}

    @override
    def integrand(self, setting: Setting) -> LeastCost:
        """What is integrated over the motion."""
        table = self.table(setting.mechanism)
        joints = setting.joints(list(table.lengths.joints), self.family)
        columns = np.array([setting.column[j] for j in joints])
        if (columns < 0).any():
            held = [name for name, c in zip(table.lengths.joints, columns, strict=True) if c < 0]
            raise InputError(f"{self.family}: joint '{held[0]}' does not move; freeze it in the mechanism")
        return LeastCost(table, setting.own[joints], columns)


def spanned(mechanism: Mechanism) -> list[str]:
    """The joints about which muscles have moment arms at some poses, in the order of q."""
    low = np.where(np.isfinite(mechanism.lower), mechanism.lower, -WIDE)
    high = np.where(np.isfinite(mechanism.upper), mechanism.upper, WIDE)
    q = low + (high - low) * np.random.default_rng(SEED).random((POSES, mechanism.n_dof))
    arms = np.abs(path_geometry(mechanism, q).slope).max(axis=(0, 1))
    return [name for name, arm in zip(mechanism.joint_names, arms, strict=True) if arm > LEAST_ARM]


class LeastCost(TorqueValue):
    """The least cost V(q, qd, tau) of sharing, one number at each sample."""

    def __init__(self, table: MuscleArrays, rows: Integers, columns: Integers) -> None:
        self.table, self.rows, self.columns = table, rows, columns
        self._key: bytes | None = None
        self._price: Array | None = None
        self._first: Array | None = None
        self._second: Array | None = None

    def _solved(self, at: At) -> tuple[Array, Array, Array]:
        """q, qd and torques of the joints, for which prices and values are kept."""
        q, qd = (np.ascontiguousarray(at.moving[:, rate, self.columns]) for rate in (0, 1))
        tau = np.ascontiguousarray(at.tau[:, self.rows])
        key = q.tobytes() + qd.tobytes() + tau.tobytes()
        if key != self._key:
            self._price, _, self._value = self.table.shared(q, qd, tau, self._price)
            self._key, self._first, self._second = key, None, None
        return q, qd, tau

    def _sloped(self, at: At) -> tuple[Array, Array]:
        """Prices (m, n) and slopes (m, 3 n) of the dual."""
        q, qd, _ = self._solved(at)
        assert self._price is not None
        if self._first is None:
            self._first, _ = self.table.derived(q, qd, self._price, second=False)
        return self._price, self._first

    def _derived(self, at: At) -> tuple[Array, Array]:
        """Prices (m, n) and Hessians (m, 3 n, 3 n) of the dual."""
        q, qd, _ = self._solved(at)
        assert self._price is not None
        if self._second is None:
            self._first, self._second = self.table.derived(q, qd, self._price)
        return self._price, self._second

    @override
    def values(self, at: At) -> Array:
        """The values at all samples."""
        self._solved(at)
        return self._value[:, None].copy()

    @override
    def pulls(self, at: At) -> Array:
        """The prices of torques."""
        return self._sloped(at)[0]

    @override
    def own_slopes(self, at: At) -> Array:
        """Derivatives by q and qd at fixed torques."""
        price, slope = self._sloped(at)
        m, n = price.shape
        found = np.zeros((m, RATES, 1, at.moving.shape[2]))
        found[:, 0, 0, self.columns] = slope[:, :n]
        found[:, 1, 0, self.columns] = slope[:, n : 2 * n]
        return found

    @override
    def root(self, at: At) -> Array:
        """L^-1 of -d2(dual)/dlam2 = L L^T, whose square is the Hessian by torques."""
        price, hess = self._derived(at)
        n = price.shape[1]
        L = np.linalg.cholesky(-hess[:, 2 * n :, 2 * n :])
        return np.linalg.inv(L)

    @override
    def bend_rest(self, at: At, weight: Array) -> None:
        """All second derivatives but those by torques alone."""
        price, hess = self._derived(at)
        n = price.shape[1]
        at.weigh_torques(self.rows, weight * price)
        by_torque = np.linalg.solve(-hess[:, 2 * n :, 2 * n :], hess[:, 2 * n :, : 2 * n])  # (m, n, 2 n)
        own = hess[:, : 2 * n, : 2 * n] + np.swapaxes(hess[:, 2 * n :, : 2 * n], 1, 2) @ by_torque
        own = weight[:, :, None] * own
        for a, b, share in ((0, 0, 0.5), (0, 1, 1.0), (1, 1, 0.5)):
            block = share * own[:, a * n : (a + 1) * n, b * n : (b + 1) * n]
            at.add_entries(PAIRS.index((a, b)), self.columns, block)
        cross = np.swapaxes(by_torque, 1, 2) * weight[:, :, None]  # (m, 2 n, n)
        half, slopes = at.half, at.torque_slopes
        for a in (0, 1):
            X = cross[:, a * n : (a + 1) * n]
            for b in range(RATES):
                block = X @ slopes[:, b][:, self.rows]
                if a == b:
                    block = 0.5 * block  # both halves alike: diagonal blocks are symmetric
                if a <= b:
                    half[:, PAIRS.index((a, b)), self.columns] += block
                if a >= b:
                    half[:, PAIRS.index((b, a)), :, self.columns] += np.swapaxes(block, 0, 1)
        for name, x in at.torque_curves.items():
            full = np.zeros((len(weight), RATES, at.moving.shape[2], x.shape[2]))
            for a in (0, 1):
                full[:, a, self.columns] = cross[:, a * n : (a + 1) * n] @ x[:, self.rows]
            at.add_mixed(name, full)
