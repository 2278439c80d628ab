"""Whether a simulation has gone out of hand, where, and what to try."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.simulation.gimbal import lock_message
from kinetree.simulation.settings import FIXED, Options
from kinetree.simulation.system import System

FASTEST = 1e9  # rad/s or m/s: beyond it a simulation has diverged


def has_diverged(system: System, y: Array) -> bool:
    """Whether a state (lanes, size) is not finite or faster than anything that moves."""
    if y.size and -FASTEST < np.minimum.reduce(y, axis=None) and np.maximum.reduce(y, axis=None) < FASTEST:
        return False  # NaN is neither below nor above
    speed = float(np.abs(y[:, system.at.qd]).max(initial=0.0))
    return not (speed < FASTEST and np.isfinite(y).all())


def diverged(system: System, options: Options, t: float, y: Array) -> str:
    """Where and in which joint a simulation went out of hand, or locked, with the state y (lanes, size)."""
    locked = lock_message(system, t, y)
    if locked is not None:
        return locked
    speed = np.abs(np.nan_to_num(y[:, system.at.qd], nan=np.inf)).max(axis=0)
    joint = system.mechanism.joint_names[int(np.argmax(speed))]
    return (
        f"the simulation diverged at t = {t:.6g} s: the fastest joint is '{joint}' with {speed.max():.3g} "
        f"per second; {remedy(options)}"
    )


def remedy(options: Options) -> str:
    """What to try when a simulation cannot go on."""
    if options.method in FIXED:
        return (
            f"try a step shorter than {options.step:g} s, the method 'auto' or softer ground, stops and gains"
        )
    return "no step was short enough: try softer ground, stops and gains, or the method 'radau'"
