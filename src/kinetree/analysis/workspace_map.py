"""Which positions a body reaches, and how far each is from a singularity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, number, numbers
from kinetree.algebra.shown import Shown
from kinetree.analysis.inverse_kinematics import inverse_kinematics
from kinetree.analysis.kinematics import AT_ORIGIN, jacobian
from kinetree.analysis.targets import Target
from kinetree.doors import upstairs
from kinetree.dynamics.loops.assembly import assemble
from kinetree.dynamics.loops.structure import mobility, regular_pose
from kinetree.dynamics.loops.system import constraints
from kinetree.errors import InputError
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags
from kinetree.state import Coordinates

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 1e-9  # relative: smaller singular values are zero
SELDOM = 1e-6  # relative: directions in which a body moves less than this at all poses are none of its own


@dataclass(frozen=True, eq=False, repr=False)
class Workspace(Shown):
    """Positions of a ``body``, which of them are ``reached``, poses there, and their ``dexterity``.

    ``points`` (..., 3) in m; ``reached`` (...); ``q`` (..., n_dof), the nearest pose where a point is not
    reached; ``dexterity`` (...) from 0, singular, to 1, alike in all directions; NaN where not reached.
    """

    body: str
    points: Array
    reached: Flags
    q: Array
    dexterity: Array

    def plot(self, ax: Any = None, show: bool = False) -> Figure:
        """Draw the points colored by dexterity, and those not reached as gray dots; return the Figure."""
        figure: Figure = upstairs("plot_workspace")(self, ax=ax, show=show)
        return figure


def workspace(
    mechanism: Mechanism,
    body: str,
    points: ArrayLike,
    q0: Coordinates | None = None,
    *,
    rotation: ArrayLike | None = None,
    point: ArrayLike = AT_ORIGIN,
    length: float | None = None,
    limits: bool = True,
    restarts: int = 20,
) -> Workspace:
    """Try positions (..., 3) of a body or frame (m) by inverse kinematics, and measure how singular they are.

    Meant is the origin of the body, or a ``point`` (3,) in its frame (m).

    Dexterity is the inverse condition number of G in [v; length w] = G qd, where qd are the rates of the
    driven joints: 0 where they move the body in some direction not at all, or hold it not at all (both kinds
    of singularities of parallel robots). Rotations w count only if a ``rotation`` (3, 3) of the body is
    asked for, by a ``length`` (m) that by default makes both parts alike in size. Closed loops stay on the
    branch of q0; ``limits`` and ``restarts`` are those of :func:`kinetree.inverse_kinematics`.

    >>> import kinetree as kt
    >>> arm = kt.zoo.two_link(length=(0.4, 0.3))
    >>> found = workspace(arm, "link2", [(0.3, 0.4, 0), (0.7, 0, 0), (0.8, 0, 0)], point=(0.3, 0, 0))
    >>> found.reached.tolist(), found.dexterity.round(3).tolist()
    ([True, True, False], [0.413, 0.0, nan])
    """
    expect_mechanism(mechanism)
    places = finite(numbers(points, "points"), "points")
    if places.ndim < 1 or places.shape[-1] != 3:
        raise InputError(f"points must have shape (..., 3), got shape {places.shape}")
    flat = places.reshape(-1, 3)
    if mechanism.loops:
        q0 = assemble(mechanism, np.zeros(mechanism.n_dof) if q0 is None else q0)
    aim = Target(body, flat, rotation, point=point)
    found = inverse_kinematics(mechanism, aim, q0, limits=limits, restarts=restarts)
    reached = np.asarray(found.converged)
    dexterity = np.full(len(flat), np.nan)
    if reached.any():
        G, held = _transmission(mechanism, body, point, found.q[reached])
        usual, _ = _transmission(mechanism, body, point, _generic(mechanism))
        dexterity[reached] = np.where(held, _evenness(G, usual, rotation is not None, length), 0.0)
    shape = places.shape[:-1]
    q = found.q.reshape(*shape, mechanism.n_dof)
    return Workspace(body, places, reached.reshape(shape), q, dexterity.reshape(shape))


def _transmission(mechanism: Mechanism, body: str, point: ArrayLike, q: Array) -> tuple[Array, Flags]:
    """G (k, 6, drives) from rates of the drives to [v; w] of a point, and where these hold it (k,)."""
    J = jacobian(mechanism, q, body, point)
    if mechanism.loops:
        loops = np.linalg.svd(constraints(mechanism, q).J)[2]
        moves = np.swapaxes(loops[..., mechanism.n_dof - mobility(mechanism) :, :], -1, -2)
    else:
        moves = np.broadcast_to(np.eye(mechanism.n_dof), (len(q), mechanism.n_dof, mechanism.n_dof))
    drives, body_moves = moves[:, np.asarray(mechanism.driven)], J @ moves
    back = np.linalg.pinv(drives, rcond=ROUNDING)
    undriven = body_moves - body_moves @ back @ drives
    size = np.abs(body_moves).max(axis=(-2, -1))
    return body_moves @ back, np.abs(undriven).max(axis=(-2, -1)) <= SELDOM * size


def _generic(mechanism: Mechanism) -> Array:
    """A pose (1, n_dof) that is singular in no mechanism but by chance."""
    if mechanism.loops:
        return regular_pose(mechanism).q[None]
    return np.random.default_rng(0).uniform(-1.0, 1.0, (1, mechanism.n_dof))


def _evenness(G: Array, usual: Array, turning: bool, length: float | None) -> Array:
    """The smallest singular value of G (k, 6, drives) over its largest, in directions that the body has.

    These are as many as at the best of the poses and at one that is generic, whose G is ``usual``.
    """
    rows = np.concatenate([G, usual])
    if turning:
        v, w = (np.linalg.norm(x, axis=(-2, -1)) for x in (G[:, :3], G[:, 3:]))
        if length is None:
            length = float(np.median(v) / np.median(w)) if np.median(w) > ROUNDING * np.median(v) else 0.0
        rows = np.concatenate([rows[:, :3], number(length, "length") * rows[:, 3:]], axis=1)
    else:
        rows = rows[:, :3]
    values = np.linalg.svd(rows, compute_uv=False)
    directions = max(1, int((values > SELDOM * values[:, :1]).sum(axis=-1).max()))
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(values[:, directions - 1] / values[:, 0])[: len(G)]
