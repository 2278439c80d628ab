"""Curves of Hill type muscles: forces of fibers and tendons, without units, with their slopes.

Lengths of fibers l are in optimal lengths, speeds v in greatest speeds, forces in greatest isometric forces,
and lengths of tendons in slack lengths. A fiber pulls with a f_l(l) f_v(v) + f_p(l) + beta v.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log, sqrt
from typing import Protocol

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.bezier import BezierCurve

Both = tuple[Array, Array]  # a value and its slope


class Curves(Protocol):
    """The curves of a kind of muscle."""

    damping: float

    def active(self, length: Array) -> Both:
        """f_l and its slope."""

    def passive(self, length: Array) -> Both:
        """f_p and its slope."""

    def velocity(self, speed: Array, activation: Array) -> Both:
        """f_v and its slope; of Thelen's muscle it depends on the activation."""

    def tendon(self, length: Array) -> Both:
        """Force of the tendon and its slope."""


class DeGroote2016:
    """De Groote, Kinney, Rao and Fregly 2016, equations S1 to S4: smooth everywhere."""

    hills = (  # b1, b2, b3, b4 of b1 exp(-((l - b2) / (b3 + b4 l))^2 / 2)
        (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
        (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
        (0.1, 1.0, 0.5 * sqrt(0.5), 0.0),
    )
    d1, d2, d3, d4 = -0.3211346127989808, -8.149, -0.374, 0.8825327733249912
    stiffness, least = 4.0, 0.2  # of passive fibers: their shape, and the length at which they pull nothing

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self.damping = numbers["fiber_damping"]
        self.width = numbers["active_force_width_scale"]
        self.strain = numbers["passive_fiber_strain_at_one_norm_force"]
        self.has_passive = not numbers["ignore_passive_fiber_force"]
        self.steepness = log((1.0 + 0.2) / 0.2) / numbers["tendon_strain_at_one_norm_force"]

    def active(self, length: Array) -> Both:
        """Three hills."""
        x = (length - 1.0) / self.width + 1.0
        value, slope = np.zeros_like(x), np.zeros_like(x)
        for b1, b2, b3, b4 in self.hills:
            w = b3 + b4 * x
            z = (x - b2) / w
            hill = b1 * np.exp(-0.5 * z * z)
            value, slope = value + hill, slope - hill * z * (b3 + b4 * b2) / (w * w)
        return value, slope / self.width

    def passive(self, length: Array) -> Both:
        """(exp(4 (l - 1) / e) - o) / (exp(4) - o), zero at l = 0.2."""
        if not self.has_passive:
            return np.zeros_like(length), np.zeros_like(length)
        rate = self.stiffness / self.strain
        offset = exp(rate * (self.least - 1.0))
        share = 1.0 / (exp(self.stiffness) - offset)
        grown = np.exp(rate * (length - 1.0))
        return (grown - offset) * share, rate * grown * share

    def velocity(self, speed: Array, activation: Array) -> Both:
        """d1 asinh(d2 v + d3) + d4."""
        z = self.d2 * speed + self.d3
        return self.d1 * np.arcsinh(z) + self.d4, self.d1 * self.d2 / np.sqrt(z * z + 1.0)

    def tendon(self, length: Array) -> Both:
        """0.2 exp(k (l - 1)) - 0.2."""
        grown = 0.2 * np.exp(self.steepness * (length - 1.0))
        return grown - 0.2, self.steepness * grown


class Millard2012:
    """Millard, Uchida, Seth and Delp 2013: quintic Bezier curves."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self.damping = numbers["fiber_damping"]
        self._active = _active_curve(numbers)
        self._velocity = _velocity_curve(numbers)
        self._passive = _passive_curve(numbers)
        self._tendon = _tendon_curve(numbers)

    def active(self, length: Array) -> Both:
        """Five pieces between the least and the greatest active length."""
        return self._active.at(length)

    def passive(self, length: Array) -> Both:
        """A foot, a corner, a line."""
        return self._passive.at(length)

    def velocity(self, speed: Array, activation: Array) -> Both:
        """Two pieces for shortening, two for lengthening."""
        return self._velocity.at(speed)

    def tendon(self, length: Array) -> Both:
        """A toe and a line."""
        return self._tendon.at(length)


def _active_curve(n: Mapping[str, float]) -> BezierCurve:
    x0, x1, x3 = (
        n[f"{key}_fiber_length"] for key in ("min_norm_active", "transition_norm", "max_norm_active")
    )
    slope, low = n["shallow_ascending_slope"], n["minimum_value"]
    top = 0.95  # where the shallow line would reach the plateau
    y1 = 1.0 - slope * (top - x1)
    fall = -1.0 / ((x3 - 0.05) - 1.05)
    knots = [
        (x0, low, 0.0),
        (0.5 * (x0 + x1), 0.5 * y1, 1.25 * y1 / (x1 - x0)),
        (0.5 * (x1 + top), 0.5 * (y1 + 1.0), slope),
        (1.0, 1.0, 0.0),
        (0.5 * (1.05 + x3), 0.5, fall),
        (x3, low, 0.0),
    ]
    return BezierCurve.bent(knots, [1.0] * 5)


def _velocity_curve(n: Mapping[str, float]) -> BezierCurve:
    shortening, near = n["concentric_slope_at_vmax"], n["concentric_slope_near_vmax"]
    lengthening, close = n["eccentric_slope_at_vmax"], n["eccentric_slope_near_vmax"]
    most = n["max_eccentric_velocity_force_multiplier"]
    knots = [
        (-1.0, 0.0, shortening),
        (-0.9, 0.05 * (near + shortening), near),
        (0.0, 1.0, n["isometric_slope"]),
        (0.9, most - 0.05 * (close + lengthening), close),
        (1.0, most, lengthening),
    ]
    return BezierCurve.bent(knots, [n["concentric_curviness"]] * 2 + [n["eccentric_curviness"]] * 2)


def _passive_curve(n: Mapping[str, float]) -> BezierCurve:
    zero, one = n["passive_strain_at_zero_force"], n["passive_strain_at_one_norm_force"]
    steep = n.get("passive_stiffness_at_one_norm_force", 2.0 / (one - zero))
    low = n.get("passive_stiffness_at_low_force", 0.2)
    step = min(0.1 / steep, 0.1 * (one - zero))
    knots = [
        (1.0 + zero, 0.0, 0.0),
        (1.0 + zero + step, low * 0.5 * step, low),
        (1.0 + one, 1.0, steep),
    ]
    return BezierCurve.bent(knots, [n.get("passive_curviness", 0.75)] * 2)


def _tendon_curve(n: Mapping[str, float]) -> BezierCurve:
    one = n["tendon_strain_at_one_norm_force"]
    steep = n.get("tendon_stiffness_at_one_norm_force", 1.375 / one)
    toe = n.get("tendon_norm_force_at_toe_end", 2.0 / 3.0)
    end = 1.0 + one + (toe - 1.0) / steep
    foot = 1.0 + (end - 1.0) / 10.0
    middle = 1.0 + one + (0.5 * toe - 1.0) / steep
    slope = 0.5 * toe / (middle - foot)
    bend = foot + 0.5 * (middle - foot)
    knots = [(1.0, 0.0, 0.0), (bend, slope * (bend - foot), slope), (end, toe, steep)]
    return BezierCurve.bent(knots, [n.get("tendon_curviness", 0.5)] * 2)


class Thelen2003:
    """Thelen 2003, with the tendon's toe and the linear ends of force and velocity of OpenSim's muscle."""

    damping = 0.0

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self.spread, self.shape = numbers["KshapeActive"], numbers["KshapePassive"]
        self.strain, self.stretch = numbers["FmaxMuscleStrain"], numbers["FmaxTendonStrain"]
        self.curve, self.most = numbers["Af"], numbers["Flen"]
        self.threshold = numbers["fv_linear_extrap_threshold"]

    def active(self, length: Array) -> Both:
        """exp(-(l - 1)^2 / gamma)."""
        x = length - 1.0
        value = np.exp(-x * x / self.spread)
        return value, -2.0 * x / self.spread * value

    def passive(self, length: Array) -> Both:
        """(exp(k (l - 1) / e) - 1) / (exp(k) - 1) beyond l = 1."""
        rate, share = self.shape / self.strain, 1.0 / (exp(self.shape) - 1.0)
        x = np.maximum(length - 1.0, 0.0)
        grown = np.exp(rate * x)
        return (grown - 1.0) * share, np.where(length > 1.0, rate * grown * share, 0.0)

    def velocity(self, speed: Array, activation: Array) -> Both:
        """f with v = (1/4 + 3 a/4) (f - 1) / b: b = 1 + f/A shortening, (2 + 2/A)(L - f)/(L - 1) else."""
        reach = 0.25 + 0.75 * activation
        w, A, L = speed / reach, self.curve, self.most
        c = (2.0 + 2.0 / A) / (L - 1.0)
        held = np.clip(w, -1.0, 0.0)
        short, by_short = (1.0 + held) / (1.0 - held / A), (1.0 + 1.0 / A) / (1.0 - held / A) ** 2
        top = self.threshold * L  # f beyond which the curve goes on straight
        last = (top - 1.0) / (c * (L - top))
        held = np.clip(w, 0.0, last)
        long, by_long = (1.0 + c * L * held) / (1.0 + c * held), c * (L - 1.0) / (1.0 + c * held) ** 2
        value, slope = np.where(w < 0.0, short, long), np.where(w < 0.0, by_short, by_long)
        beyond = np.where(w < -1.0, w + 1.0, np.where(w > last, w - last, 0.0))
        return value + slope * beyond, slope / reach

    def tendon(self, length: Array) -> Both:
        """An exponential toe up to a third of the force, then a line."""
        e = length - 1.0
        toe_force, k = 0.33, 3.0
        toe = 99.0 * self.stretch * exp(3.0) / (166.0 * exp(3.0) - 67.0)
        line = 0.67 / (self.stretch - toe)
        share = toe_force / (exp(k) - 1.0)
        grown = np.exp(k * np.clip(e, 0.0, toe) / toe)
        value = np.where(e > toe, toe_force + line * (e - toe), share * (grown - 1.0))
        return np.where(e > 0.0, value, 0.0), np.where(
            e > toe, line, np.where(e > 0.0, share * k / toe * grown, 0.0)
        )


KINDS: Mapping[str, type[DeGroote2016 | Millard2012 | Thelen2003]] = {
    "degroote2016": DeGroote2016,
    "millard2012": Millard2012,
    "thelen2003": Thelen2003,
}
