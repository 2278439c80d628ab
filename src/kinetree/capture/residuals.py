"""A measured motion changed a little, so that less remains between it and the measured forces of the ground.

One spline of degree five for all coordinates, with the least sum of squared changes of coordinates,
relative to what is believable, and of squared residual forces of the base, relative to what is allowed:
Gauss and Newton's method with exact derivatives of inverse dynamics, its normal equations in bands.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.bspline import Integers
from kinetree.analysis.kinematics import forward_kinematics, jacobian
from kinetree.analysis.sensitivity import inverse_dynamics_derivatives
from kinetree.capture.dynamics import assigned, base_body, wrenches_of
from kinetree.capture.motion import DEGREE, low_passed
from kinetree.capture.trial import GroundForce
from kinetree.errors import InputError
from kinetree.model.body import WORLD
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.state import State, independent_axes

ROUNDS = 15
SETTLED = 1e-6  # rad or m
ANGLE, LENGTH = 0.0175, 0.005  # rad, m: what is believed of measured coordinates
SPEEDING = 300.0  # 1/s^2: times these, what is believed of their accelerations
REACH = 0.1  # m from the origin of a foot to further points that stay where they were seen
FORCE, MOMENT = 10.0, 3.0  # N, N m: a fifth of what Hicks et al. (2015) allow a walking adult


def reduced_residuals(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    forces: Sequence[GroundForce],
    *,
    cutoff: float = 6.0,
    knots: float = 0.05,
    feet: Sequence[str] | None = None,
    angle: float = ANGLE,
    length: float = LENGTH,
) -> State:
    """q, qd and qdd of a motion near the measured one that needs less of the base.

    ``q`` (m, n_dof) at times (m,) is low-passed at ``cutoff`` (Hz) first; ``knots`` (s) are that far apart.
    ``angle`` (rad) and ``length`` (m) are changes that weigh as much as 10 N or 3 N m at the base.

    >>> import kinetree as kt
    >>> reduced_residuals(kt.zoo.two_link(), [0.0, 0.1], [[0, 0], [0, 0]], ())
    Traceback (most recent call last):
    kinetree.errors.InputError: residuals are reduced against measured forces of the ground: none are given
    """
    expect_mechanism(mechanism)
    if not forces:
        raise InputError("residuals are reduced against measured forces of the ground: none are given")
    t, given = finite(numbers(time, "time"), "time"), finite(numbers(q, "q"), "q")
    count = max(1, round(float(t[-1] - t[0]) / number(knots, "knots")))
    if count + DEGREE > len(t):
        raise InputError(f"knots = {knots:g} s apart are too many for {len(t)} frames")
    measured = low_passed(t, given, cutoff)
    chosen = base_coordinates(mechanism)
    turns = mechanism.tree.turns[independent_axes(mechanism)]
    tight = 1.0 / np.where(turns, angle, length) ** 2
    weak = 1.0 / np.where(turns[chosen], MOMENT, FORCE) ** 2
    bases, points = _splines(t, measured, count)
    bend = bases[2] @ points
    acting = assigned(mechanism, t, measured, [x.at(t) for x in forces], feet)
    stood, _ = _feet(mechanism, measured, acting)
    weights = np.concatenate([weak, np.full(stood.shape[1], 1.0 / length**2)])
    for _ in range(ROUNDS):
        now = [basis @ points for basis in bases]
        loads = wrenches_of(mechanism, now[0], acting) or None
        d = inverse_dynamics_derivatives(mechanism, now[0], now[1], now[2], loads)
        places, moves = _feet(mechanism, now[0], acting)
        slopes = [np.concatenate([d.dtau_dq[:, chosen], moves], axis=1)]
        slopes += [np.concatenate([x[:, chosen], 0.0 * moves], axis=1) for x in (d.dtau_dqd, d.dtau_dqdd)]
        rest = np.concatenate([d.tau[:, chosen], places - stood], axis=1)
        pulls = [(bases[0], tight, now[0] - measured), (bases[2], tight / SPEEDING**2, now[2] - bend)]
        step = _step(bases, slopes, weights, rest, pulls)
        points = points + step
        if np.abs(step).max() < SETTLED:
            break
    return State(*(basis @ points for basis in bases))


def _feet(mechanism: Mechanism, q: Array, acting: Sequence[GroundForce]) -> tuple[Array, Array]:
    """Points of the bodies that forces act on, (m, k), and their derivatives by the coordinates (m, k, n)."""
    places, slopes = [], []
    poses = forward_kinematics(mechanism, q)
    for name in dict.fromkeys(x.body for x in acting if x.body is not None):
        R, p = poses[name]
        for point in (np.zeros(3), *(REACH * np.eye(3))):
            places.append(p + R @ point)
            slopes.append(jacobian(mechanism, q, name, point)[:, :3])
    return np.concatenate(places, axis=1), np.concatenate(slopes, axis=1)


def base_coordinates(mechanism: Mechanism) -> Integers:
    """The coordinates that carry the first body with a mass from the world."""
    name = base_body(mechanism)
    if name is None:
        raise InputError(f"mechanism '{mechanism.name}' has no base that moves freely")
    links = {x.body.name: x for x in mechanism.links}
    found: list[int] = []
    while name != WORLD:
        joint = links[name].joint
        if joint.mimic is None:
            found += [mechanism.joint_index(x) for x in joint.dof_names]
        name = links[name].parent
    return np.array(sorted(found), dtype=np.int64)


def _splines(t: Array, measured: Array, count: int) -> tuple[list[Array], Array]:
    """Values of all basis functions with two derivatives, (m, p) each, and control points near the motion."""
    from scipy.interpolate import BSpline, make_lsq_spline

    inner = np.linspace(t[0], t[-1], count + 1)[1:-1]
    knots = np.concatenate([[t[0]] * (DEGREE + 1), inner, [t[-1]] * (DEGREE + 1)])
    every = BSpline(knots, np.eye(count + DEGREE), DEGREE)
    bases = [every(t), every.derivative(1)(t), every.derivative(2)(t)]
    return bases, make_lsq_spline(t, measured, knots, DEGREE).c


def _step(
    bases: list[Array],
    slopes: list[Array],
    weak: Array,
    rest: Array,
    pulls: list[tuple[Array, Array, Array]],
) -> Array:
    """The step of all control points, (p, n); ``pulls``: bases, weights and errors of what is to stay."""
    from scipy.linalg import solveh_banded

    p, n = bases[0].shape[1], slopes[0].shape[2]
    parts = [x.T[:, :, None, None] * y[None] for x, y in zip(bases, slopes, strict=True)]
    rows = parts[0] + parts[1] + parts[2]  # (p, m, r, n)
    weighed = rows * weak[:, None]
    right = np.einsum("jsrn,sr->jn", weighed, rest)
    for basis, tight, off in pulls:
        right = right + basis.T @ (off * tight)
    band = np.zeros(((DEGREE + 1) * n, p * n))
    lower = np.subtract.outer(np.arange(n), np.arange(n))
    for lag in range(DEGREE + 1):
        blocks = np.einsum("jsra,jsrb->jab", rows[lag:], weighed[: p - lag])
        for basis, tight, _ in pulls:
            near = np.einsum("sj,sj->j", basis[:, lag:], basis[:, : p - lag])
            blocks[:, np.arange(n), np.arange(n)] += near[:, None] * tight
        for a in range(n):
            for b in range(n):
                row = lag * n + int(lower[a, b])
                if row >= 0:
                    band[row, np.arange(p - lag) * n + b] = blocks[:, a, b]
    return np.asarray(-solveh_banded(band, right.ravel(), lower=True)).reshape(p, n)
