"""Muscles at poses: lengths, rates, moment arms, paths, and where paths jump."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, number
from kinetree.dynamics.checks import given
from kinetree.dynamics.muscles.paths import PathGeometry, path_geometry, path_tables, polylines
from kinetree.errors import InputError, shown, unknown_name
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism

HALVINGS = 40  # of the interval between two poses, to find where a path jumps
SMOOTH = 20.0  # a path jumps where its length changes by more than this many times what slopes say, and more


def geometry(mechanism: Mechanism, q: ArrayLike) -> tuple[PathGeometry, tuple[int, ...]]:
    """Lengths and slopes at poses q (..., n_dof) as rows, and the shape of the batch."""
    need_muscles(mechanism)
    at = given(mechanism, q, "q")
    rows = np.ascontiguousarray(at.reshape(-1, mechanism.n_dof))
    return path_geometry(mechanism, rows), at.shape[:-1]


def need_muscles(mechanism: Mechanism) -> None:
    """Raise if there are none."""
    expect_mechanism(mechanism)
    if not mechanism.muscles:
        raise InputError(
            f"mechanism '{mechanism.name}' has no muscles; add them with Builder.muscle, [[muscle]] tables "
            "of its file, or load a model that has them"
        )


def lengths(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Lengths of the paths of all muscles, tendons included, (..., muscles) (m), at poses q (..., n_dof).

    Around wraps a path is the shortest one.

    >>> import kinetree as kt
    >>> kt.muscles.lengths(kt.zoo.muscle_arm(), [0.0, 1.0]).round(4).tolist()
    [0.1628, 0.1432, 0.1576, 0.1837, 0.3158, 0.3038]
    """
    found, batch = geometry(mechanism, q)
    return found.length.reshape(*batch, -1)


def rates(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike) -> Array:
    """Rates of the lengths, dl/dt = dl/dq qd, (..., muscles) (m/s).

    >>> import kinetree as kt
    >>> kt.muscles.rates(kt.zoo.muscle_arm(), [0.0, 1.0], [0.0, 2.0]).round(4).tolist()
    [0.0, 0.0, -0.0856, 0.0631, -0.0972, 0.0636]
    """
    found, batch = geometry(mechanism, q)
    speed = given(mechanism, qd, "qd")
    slope = found.slope.reshape(*batch, *found.slope.shape[1:])
    rate: Array = (slope @ speed[..., None])[..., 0]
    return rate


def moment_arms(mechanism: Mechanism, q: ArrayLike) -> Array:
    """Moment arms of all muscles about all coordinates, -dl/dq, (..., muscles, n_dof) (m).

    Positive where the muscle's pull increases the coordinate. They include what follows a coordinate: mimic
    joints, moving path points.

    >>> import kinetree as kt
    >>> kt.muscles.moment_arms(kt.zoo.muscle_arm(), [0.0, 1.0])[3].round(4).tolist()
    [-0.0, -0.0316]
    """
    found, batch = geometry(mechanism, q)
    arms = np.negative(found.slope, out=found.slope)
    return arms.reshape(*batch, *arms.shape[1:])


def paths(mechanism: Mechanism, q: ArrayLike) -> dict[str, Array]:
    """For each muscle the corners of its path in the world, (points, 3) (m), at one pose q (n_dof,).

    Between the points where it comes to and leaves a wrap it follows the wrap.

    >>> import kinetree as kt
    >>> kt.muscles.paths(kt.zoo.muscle_arm(), [0.0, 1.0])["deltoid"].tolist()
    [[-0.02, 0.05, 0.0], [0.14, 0.02, 0.0]]
    """
    need_muscles(mechanism)
    at = given(mechanism, q, "q")
    if at.ndim != 1:
        raise InputError(f"q must be one pose of shape ({mechanism.n_dof},), got shape {at.shape}")
    found = polylines(mechanism, at)
    return {muscle.name: points for muscle, (points, _) in zip(mechanism.muscles, found, strict=True)}


@dataclass(frozen=True, eq=False)
class Jump:
    """A path of a ``muscle`` that jumps between poses ``row`` and row + 1 of a motion, at ``q`` (n_dof,).

    Its length changes there by ``size`` (m) without any motion: it flips to the other side of a wrap, or a
    conditional point comes or goes.

    >>> Jump("gluteus", 3, np.zeros(2), 0.003).size
    0.003
    """

    muscle: str
    row: int
    q: Array
    size: float


def jumps(mechanism: Mechanism, q: ArrayLike, least: float = 1e-5) -> list[Jump]:
    """Where paths jump by more than ``least`` (m) along poses q (m, n_dof), which straight lines join.

    Real muscles do not jump: lengths, moment arms and forces near such a pose depend on the side from which
    it is reached, and derivatives do not exist there.

    >>> import kinetree as kt, numpy as np
    >>> arm = kt.zoo.muscle_arm()
    >>> kt.muscles.jumps(arm, np.linspace([0.0, 0.1], [0.5, 2.0], 50))
    []
    """
    need_muscles(mechanism)
    rows = given(mechanism, q, "q")
    if rows.ndim != 2:
        raise InputError(f"q must be poses of shape (m, {mechanism.n_dof}), got shape {rows.shape}")
    limit = number(least, "least")
    if limit <= 0.0:
        raise InputError(f"least must be > 0 m, got {shown(least)}")
    found = path_geometry(mechanism, np.ascontiguousarray(rows))
    step = np.diff(rows, axis=0)
    slope = (found.slope @ np.concatenate([step, np.zeros((1, rows.shape[1]))])[:, :, None])[..., 0][:-1]
    end = (found.slope[1:] @ step[:, :, None])[..., 0]
    off = np.abs(np.diff(found.length, axis=0) - 0.5 * (slope + end))
    suspects = np.argwhere(off > limit / SMOOTH)
    jumps = [_located(mechanism, rows, int(row), int(i)) for row, i in suspects]
    return [jump for jump in jumps if abs(jump.size) > limit]


def _located(mechanism: Mechanism, rows: Array, row: int, muscle: int) -> Jump:
    """The largest jump of a muscle between two poses, by halving the interval."""
    a, b = rows[row], rows[row + 1]
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        t = np.array([low, middle, high])
        found = path_geometry(mechanism, a + t[:, None] * (b - a))
        length, slope = found.length[:, muscle], found.slope[:, muscle] @ (b - a)
        off = np.abs(np.diff(length) - 0.5 * (slope[1:] + slope[:-1]) * np.diff(t))
        low, high = (low, middle) if off[0] >= off[1] else (middle, high)
    found = path_geometry(mechanism, np.stack([a + low * (b - a), a + high * (b - a)]))
    size = float(np.diff(found.length[:, muscle])[0])
    return Jump(mechanism.muscles[muscle].name, row, a + 0.5 * (low + high) * (b - a), size)


def muscle_index(mechanism: Mechanism, name: str) -> int:
    """The place of a muscle among those of a mechanism."""
    names = path_tables(mechanism).names
    if name not in names:
        raise InputError(unknown_name("muscle", name, names))
    return names.index(name)
