"""Torques that depend on time alone, and how they spread over the joints of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control.desired_motion import constant
from kinetree.control.per_joint import Checked, columns, joint_places, spread
from kinetree.control.structure import why_idle
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism


@dataclass(frozen=True, eq=False)
class TableSource:
    """Polynomials of time, a column for each of the ``joints``, or for all joints in the order of q."""

    polynomial: PiecewisePolynomial
    joints: tuple[str, ...] | None = None
    what: str = "torques"

    @property
    def breaks(self) -> Array:
        """Times where the torques are not smooth."""
        return self.polynomial.kinks

    def fitted(self, mechanism: Mechanism) -> PiecewisePolynomial:
        """The torques of all degrees of freedom: zero for joints without a column and for a floating base."""
        c, n = self.polynomial.coefficients, mechanism.n_dof
        full = np.zeros((*c.shape[:2], n))
        if self.joints is not None:
            for k, name in enumerate(self.joints):
                places = joint_places(name, mechanism, self.what)
                if len(places) > 1:
                    names = [mechanism.joint_names[place] for place in places]
                    raise InputError(f"{self.what}: '{name}' has {len(places)} axes; name them: {names}")
                full[:, :, places[0]] = c[:, :, k]
            return PiecewisePolynomial(self.polynomial.breaks, full)
        actuated = mechanism.actuated
        full[:, :, actuated] = c[:, :, columns(self.polynomial.n, mechanism, self.what)[actuated]]
        if self.polynomial.n == n:
            self._check_base(mechanism)
        return PiecewisePolynomial(self.polynomial.breaks, full)

    def _check_base(self, mechanism: Mechanism) -> None:
        driven = np.any(self.polynomial.coefficients, axis=(0, 1)) & ~mechanism.actuated
        if driven.any():
            k = int(np.argmax(driven))
            name = mechanism.joint_names[k]
            raise InputError(f"{self.what} must be zero for '{name}', which {why_idle(mechanism, k)}")


@dataclass(frozen=True, eq=False)
class ConstantSource:
    """Constant torques."""

    values: Checked

    @property
    def breaks(self) -> Array:
        """There are none."""
        return np.zeros(0)

    def fitted(self, mechanism: Mechanism) -> PiecewisePolynomial:
        """The torques of all degrees of freedom."""
        if isinstance(self.values, np.ndarray):
            return TableSource(constant(self.values), None, "torque").fitted(mechanism)
        return constant(spread(self.values, mechanism, "torque", unnamed=0.0, free=0.0))


TorqueSource = TableSource | ConstantSource
