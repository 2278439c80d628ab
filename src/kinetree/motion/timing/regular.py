"""A path whose parameter goes on evenly: a trajectory without its own timing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.errors import InputError, shown
from kinetree.model.mechanism import Mechanism
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.combined import sequence
from kinetree.trajectories.following import FollowedMotion
from kinetree.trajectories.splines import interpolate
from kinetree.trajectories.timed_path import TimedPath

STANDS = 1e-6  # of the largest |q'|: so slow counts as standing still
FINE = 4001  # instants at which a path is looked at
NODES = 301  # places through which a spline replaces a stretch from rest to rest


class Regular(NamedTuple):
    """A path whose q' is nowhere zero, and how far it is from the one asked for (rad or m)."""

    path: Trajectory
    apart: float


def regular(mechanism: Mechanism, path: Trajectory | ArrayLike) -> Regular:
    """The path of a trajectory, of joint positions (m, n_dof) or of whatever a :class:`TimedPath` times.

    A trajectory that stands still somewhere, as at its ends, is replaced by splines of degree 5 over the
    length of its way in joint space, one for each stretch between rests; where joints follow a body or other
    joints, that is done with what they follow.
    """
    if isinstance(path, TimedPath):
        return regular(mechanism, path.path)
    if isinstance(path, FollowedMotion):
        given = _without_rests(path.path)
        return Regular(replace(path, path=given.path), given.apart)
    if not isinstance(path, Trajectory):
        path = _through(mechanism, path)
    if path.n_dof != mechanism.n_dof:
        raise InputError(
            f"the path has {path.n_dof} coordinates, but '{mechanism.name}' has {mechanism.n_dof} joints"
        )
    return _without_rests(path)


def _without_rests(path: Trajectory) -> Regular:
    """The path itself if it stands still nowhere, else splines over its length."""
    t = np.union1d(np.linspace(0.0, path.duration, FINE), path.breaks)
    speed = np.linalg.norm(path.at(t).qd, axis=1)
    if not speed.max() > 0.0:
        raise InputError("the path does not move; there is nothing to time")
    if speed.min() > STANDS * speed.max():
        return Regular(path, 0.0)
    return _by_length(path, t, speed)


def _through(mechanism: Mechanism, points: ArrayLike) -> Trajectory:
    """A spline through joint positions over the length of their chords."""
    if isinstance(points, str):
        raise InputError(f"the path must be a trajectory or joint positions (m, n_dof), got {shown(points)}")
    x = finite(numbers(points, "path"), "path")
    if x.ndim != 2 or len(x) < 2 or x.shape[1] != mechanism.n_dof:
        raise InputError(
            f"the path must be a trajectory or joint positions (m, {mechanism.n_dof}) with m of at "
            f"least 2, got "
            f"shape {x.shape}"
        )
    chords = np.linalg.norm(np.diff(x, axis=0), axis=1)
    if (chords <= 0.0).any():
        k = int(np.argmin(chords)) + 1
        raise InputError(f"position {k} of the path is the same as the one before it: {x[k].tolist()}")
    return interpolate(np.concatenate([[0.0], np.cumsum(chords)]), x, degree=min(3, len(x) - 1))


def _by_length(path: Trajectory, t: Array, speed: Array) -> Regular:
    """Splines over the length between the instants at which the path stands still."""
    still = speed <= STANDS * speed.max()
    ends = np.unique(np.concatenate([[0], np.flatnonzero(still), [len(t) - 1]]))
    parts, apart = [], 0.0
    for begin, end in pairwise(ends.tolist()):
        if end - begin < 2:  # it rests
            continue
        part, off = _stretch(path, float(t[begin]), float(t[end]))
        parts.append(part)
        apart = max(apart, off)
    if not parts:
        raise InputError("the path moves only at an instant; there is nothing to time")
    return Regular(parts[0] if len(parts) == 1 else sequence(*parts), apart)


def _stretch(path: Trajectory, begin: float, end: float) -> tuple[Trajectory, float]:
    """One spline, and how far it is from the path."""
    t = begin + (end - begin) * 0.5 * (1.0 - np.cos(np.linspace(0.0, np.pi, FINE)))
    q = path.at(t).q
    length = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(q, axis=0), axis=1))])
    wanted = np.linspace(0.0, length[-1], NODES)
    chosen = np.unique(np.clip(np.searchsorted(length, wanted), 0, len(t) - 1))
    chosen[0], chosen[-1] = 0, len(t) - 1
    spline = interpolate(length[chosen], q[chosen], degree=5)
    return spline, float(np.abs(spline.at(length).q - q).max())
