"""The ground's reaction out of the motion itself: the two-step active-passive algorithm.

[Barman2020], section 5.1. What a mechanism with a free root asks of the world, tau0 = ID(q, qd, qdd), has a
resultant F: a force f and a moment m about the world's origin. Its zero-moment point is where the ground
pushes. The same F on the feet, shared out by c_k with sum c_k = 1, leaves no force in the root, and torques
are

    tau = tau0 - sum_k c_k J_k^T F        J_k: twist of foot k in the world's origin per joint rate

For weights y of the torques and T_k = J_k y, y . tau = y . tau0 - F . sum_k c_k T_k. As F is among the forces
of an inverse dynamics with six more axes below the root, y . tau = y_full(q) . tau0 with -sum_k c_k T_k as
weights of these axes: slopes and curvature are those of the kernels at y_full, and those of T_k.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, listed, texts
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.places import BodySpin, Place, cross
from kinetree.motion.problem.setting import Setting
from kinetree.motion.problem.unknowns import MOTION
from kinetree.motion.program.evaluation import At, Evaluation
from kinetree.motion.terms.arguments import During, RowInstants
from kinetree.motion.terms.contract import Acting, Bounded, Constraint, a_part, row
from kinetree.state import Wrench

ROUNDING = 0.05  # of the share between two feet, where it reaches 0 or 1
SUM = 1e-9  # by which shares may miss 1
LIGHT = 1e-3  # of the weight: below it there is no zero-moment point to share by


@declare("ground_reaction", "ground reaction of the motion, distributed to feet")
class GroundReaction(Constraint):
    """The ground carries what the motion asks of it, on one or several ``feet``: bodies of a free mechanism.

    Its resultant, the force and the moment of "world" as :class:`ZeroMomentPoint` and
    :class:`ReactionLimit` read it, acts on the feet, so that the free root has no force. One foot carries
    all. Several share it by ``shares`` (k, feet) at instants ``s`` (k,), straight between them. ``during`` a
    part of the motion the first two may share their part by where the zero-moment point is ``between`` two
    places (2, 2) in the ground, x and y (m), one for each of them (Xiang et al. 2009): at its own place a
    foot carries all of it. Without shares the first carries all before that, the second afterwards. Any share
    gives the same motion of the root, but other torques of the legs. Nothing is sought: the ground does what
    it must, also pull, unless a :class:`ZeroMomentPoint` forbids it.

    All feet carry their part at the common zero-moment point, as the documents have it. With ``apart`` the
    two feet that share by places carry it at their own ones, moved there along the line d = b - a between
    them: to the part c_k (f, m) come the moments -c_a c_b d x f of the first foot and c_a c_b d x f of the
    second, which cancel.

    >>> GroundReaction("right_foot").family
    'ground reaction'
    """

    family = "ground reaction"

    def __init__(
        self,
        feet: Annotated[str | Sequence[str], Parameter("Bodies on the ground", kind="names")],
        shares: Annotated[
            ArrayLike | None, Parameter("Share of each foot, a row for each s (no unit)", kind="rows")
        ] = None,
        s: RowInstants = None,
        between: Annotated[
            ArrayLike | None,
            Parameter(
                "Positions x, y between which the zero-moment point distributes the load of the first two",
                "m",
                "rows",
            ),
        ] = None,
        during: During = (0.0, 1.0),
        apart: Annotated[bool, Parameter("Whether these two carry their shares at these positions")] = False,
    ) -> None:
        if not isinstance(apart, bool) or (apart and (between is None or shares is not None)):
            raise InputError(
                f"{self.family}: apart must be true or false, and true only for two feet that share between "
                f"positions; got {apart!r}"
            )
        self.apart = apart
        self.feet = [feet] if isinstance(feet, str) else list(texts(feet, f"feet of {self.family}"))
        self.during = a_part(during, self.family)
        if not self.feet or len(set(self.feet)) < len(self.feet):
            raise InputError(
                f"{self.family}: name at least one foot, each once, got {listed(self.feet) or 'none'}"
            )
        self.shares: Array | None = None
        self.s: Array | None = None
        self.between: Array | None = None
        if between is not None:
            self.between = self._places(between, shares)
        if shares is not None:
            self.shares, self.s = self._given(shares, s)
        elif len(self.feet) > 1 and between is None:
            raise InputError(
                f"{self.family}: {len(self.feet)} feet share the ground reaction: give shares and s, or the "
                f"positions between which the zero-moment point moves"
            )

    def _places(self, between: ArrayLike, shares: ArrayLike | None) -> Array:
        places = row(between, f"places between which {self.family} is shared")
        if len(self.feet) < 2 or (shares is None and len(self.feet) > 2):
            raise InputError(
                f"{self.family}: between is for the first two of several feet, and more than two also need "
                f"shares; got {listed(self.feet)}"
            )
        if places.shape not in ((2, 2), (2, 3)):
            raise InputError(f"{self.family}: between must have shape (2, 2), got {places.shape}")
        if not np.linalg.norm(places[1, :2] - places[0, :2]) > 0.0:
            raise InputError(f"{self.family}: the two positions between which feet share must differ")
        return np.asarray(places[:, :2])

    def _given(self, shares: ArrayLike, s: ArrayLike | None) -> tuple[Array, Array]:
        table = np.atleast_2d(row(shares, f"shares of {self.family}"))
        at = np.linspace(0.0, 1.0, len(table)) if s is None else row(s, f"s of {self.family}")
        if table.ndim != 2 or table.shape != (len(np.atleast_1d(at)), len(self.feet)):
            raise InputError(
                f"{self.family}: shares must have one row for each s and one number for each of "
                f"{listed(self.feet)}, got shape {table.shape} and s of shape {np.shape(at)}"
            )
        if (table < 0.0).any() or (np.abs(table.sum(axis=1) - 1.0) > SUM).any():
            raise InputError(f"{self.family}: shares must be 0 or more and add up to 1 at every s")
        if (np.diff(at) <= 0.0).any() or at[0] < 0.0 or at[-1] > 1.0:
            raise InputError(f"{self.family}: s must ascend within [0, 1], got {np.asarray(at).tolist()}")
        return table, np.atleast_1d(at)

    @override
    def reactions(self) -> tuple[str, ...]:
        """The resultant is what the world gives."""
        return (WORLD,)

    @override
    def carried(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The coordinates of the free root, whose forces vanish."""
        roots = [link for link in mechanism.links if link.parent == WORLD and not link.joint.is_fixed]
        if len(roots) != 1 or not roots[0].joint.is_free:
            raise InputError(f"{self.family}: the mechanism must have one free root, such as a pelvis")
        return tuple(roots[0].joint.dof_names)

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """Nothing: see :class:`ZeroMomentPoint` for what the ground can give."""
        return []

    @override
    def acting(self, setting: Setting) -> list[Acting]:
        """The ground's push on the feet."""
        for name in self.feet:
            if setting.body(name, self.family) == WORLD:
                raise InputError(f"{self.family}: the world has no feet; name bodies of the mechanism")
        return [GroundPush(setting, self)]


class Shared(NamedTuple):
    """How feet share a resultant F = (f, m), (m, ...): shares and their derivatives by F."""

    values: Array  # (m, feet)
    slopes: Array  # (m, feet, 6)
    bends: Array  # (m, feet, 6, 6)


class _Now(NamedTuple):
    """What is known at the samples of one motion; ``moved`` is c_a c_b of feet that carry apart."""

    F: Array  # (m, 6)
    shared: Shared
    moved: Shared | None


class GroundPush(Acting):
    """The resultant of a free mechanism on its feet."""

    reads = (MOTION,)
    alone = True

    def __init__(self, setting: Setting, term: GroundReaction) -> None:
        self.term, self.rows = term, setting.reaction(WORLD)
        self.feet = [
            (name, Place(setting.extended, name, (0.0, 0.0, 0.0)), BodySpin(setting.extended, name))
            for name in term.feet
        ]
        self.moving = setting.profiles.varying
        self.weight = setting.mechanism.mass * float(np.linalg.norm(setting.mechanism.gravity)) or 1.0
        self._known: tuple[Evaluation, _Now] | None = None
        self.arms: list[Array] = []  # by which the part of each of two feet is moved, (3,)
        if term.apart and term.between is not None:
            d = np.append(term.between[1] - term.between[0], 0.0)
            self.arms = [-d, d]

    # ---- resultant and shares ------------------------------------------------------------------------
    def _now(self, at: At) -> _Now:
        evaluation = at.evaluation
        if self._known is None or self._known[0] is not evaluation:
            F = evaluation.mechanics.torques(evaluation.motion.part(at.part))[:, self.rows]
            shared = self.shared(at.s, F)
            self._known = evaluation, _Now(F, shared, _product(shared) if self.term.apart else None)
        return self._known[1]

    def shared(self, s: Array, F: Array) -> Shared:
        """Who carries how much of resultants F (m, 6) at instants s (m,)."""
        m, k = len(s), len(self.feet)
        values, slopes, bends = np.zeros((m, k)), np.zeros((m, k, 6)), np.zeros((m, k, 6, 6))
        begin, end = self.term.during
        if self.term.shares is not None and self.term.s is not None:
            for foot in range(k):
                values[:, foot] = np.interp(s, self.term.s, self.term.shares[:, foot])
        elif self.term.between is None:
            values[:, 0] = 1.0
        else:
            values[s <= end, 0] = values[s > end, 1] = 1.0
        if self.term.between is not None:
            some = (s >= begin) & (s <= end)
            both = values[some, :2].sum(axis=1)
            x, by, twice = _between(F[some], self.term.between, LIGHT * self.weight)
            for foot, sign, offset in ((0, 1.0, 0.0), (1, -1.0, 1.0)):
                values[some, foot] = both * (offset + sign * x)
                slopes[some, foot] = (sign * both)[:, None] * by
                bends[some, foot] = (sign * both)[:, None, None] * twice
        return Shared(values, slopes, bends)

    # ---- what the contract of loads asks for ---------------------------------------------------------
    @override
    def wrenches(self, at: At) -> list[Wrench]:
        """The ground's push on every foot, at the origin of its frame."""
        F, shared, moved = self._now(at)
        found = []
        for k, (name, place, _) in enumerate(self.feet):
            own, p = shared.values[:, k, None], place.position_of(at.all_frames)
            moment = own * _moment(F, p)
            if moved is not None and k < len(self.arms):
                moment = moment + moved.values * cross(self.arms[k], F[:, :3])
            found.append(Wrench(name, own * F[:, :3], moment))
        return found

    @override
    def add_torques(self, at: At, tau: Array) -> None:
        """The forces of the world stay those that the motion asks for."""
        tau[:, self.rows] = self._now(at).F

    @override
    def add_motion_slopes(self, at: At, slopes: Array) -> None:
        """What the change of the resultant, of its shares and of the feet's places adds."""
        F, shared, moved = self._now(at)
        by_motion = self._resultant_slopes(at)
        frames = at.all_frames
        for k, (_, place, spin) in enumerate(self.feet):
            own = shared.values[:, k, None, None, None]
            p, P = place.position_of(frames), place.slopes(frames)[:, :, self.moving]
            change = shared.slopes[:, None, None, k] @ by_motion  # of the share, (m, 3, 1, n)
            force = own * by_motion[:, :, :3] + F[:, None, :3, None] * change
            moment = own * (by_motion[:, :, 3:] - _crossed(p, by_motion[:, :, :3]))
            moment += _moment(F, p)[:, None, :, None] * change
            moment[:, 0] -= own[:, 0] * _columns_cross(P, F[:, :3])
            if moved is not None and k < len(self.arms):
                moment += _lever_slopes(self.arms[k], F, by_motion, moved)
            slopes -= np.swapaxes(place.slopes(frames), 1, 2)[:, None] @ force
            slopes -= np.swapaxes(spin.slopes(frames), 1, 2)[:, None] @ moment
        slopes[:, :, self.rows] = by_motion

    def _resultant_slopes(self, at: At) -> Array:
        """dF by (q, qd, qdd) of what moves, (m, 3, 6, n)."""
        evaluation = at.evaluation
        _, slopes = evaluation.mechanics.slopes(evaluation.motion.part(at.part))
        return np.array(slopes[:, :, self.rows])

    @override
    def bend_torques(self, at: At, weight: Array) -> None:
        """Second derivatives that the kernels with given pushes do not have."""
        evaluation, frames = at.evaluation, at.all_frames
        F, shared, moved = self._now(at)
        by_motion = self._resultant_slopes(at)
        joints, ground = np.array(weight), np.zeros_like(weight)
        joints[:, self.rows], ground[:, self.rows] = 0.0, weight[:, self.rows]
        f = F[:, :3]
        m, n = len(weight), len(self.moving)
        u, cross_slopes = np.zeros((m, 6)), np.zeros((m, 6, n))
        square, bent = np.zeros((m, 6, 6)), np.zeros((m, n, n))
        for k, (_, place, spin) in enumerate(self.feet):
            c, g = shared.values[:, k], shared.slopes[:, k]
            p, P = place.position_of(frames), place.slopes(frames)[:, :, self.moving]
            v, w = ((x.slopes(frames) @ joints[:, :, None])[..., 0] for x in (place, spin))
            dv, dw = (x.change(frames, joints)[:, :, self.moving] for x in (place, spin))
            T = np.concatenate([v + cross(p, w), w], axis=1)
            top = dv + _columns_cross(P, w) + np.swapaxes(cross(p[:, None], np.swapaxes(dw, 1, 2)), 1, 2)
            dT = np.concatenate([top, dw], axis=1)
            parts = [(T, dT, c, g, shared.bends[:, k])]
            if moved is not None and k < len(self.arms):  # w . (arm x f) = f . (w x arm)
                lever, by_q = np.zeros_like(T), np.zeros_like(dT)
                lever[:, :3] = cross(w, self.arms[k])
                by_q[:, :3] = _columns_cross(dw, np.broadcast_to(self.arms[k], (m, 3)))
                parts.append((lever, by_q, moved.values[:, 0], moved.slopes[:, 0], moved.bends[:, 0]))
            for T, dT, c, g, twice in parts:
                h, dh = (F * T).sum(axis=1), (F[:, None] @ dT)[:, 0]
                u += c[:, None] * T + h[:, None] * g
                cross_slopes += c[:, None, None] * dT + g[:, :, None] * dh[:, None]
                outer = g[:, :, None] * T[:, None]
                square += outer + np.swapaxes(outer, 1, 2) + h[:, None, None] * twice
            mixed = -np.swapaxes(_columns_cross(P, f), 1, 2) @ dw
            turned = place.bend(frames, -cross(f, w))[:, self.moving][:, :, self.moving]
            bent += shared.values[:, k, None, None] * (mixed + np.swapaxes(mixed, 1, 2) + turned)
        full = np.zeros((m, 3, 6, n))
        full[:, 0] = cross_slopes
        at.add_outer(np.full((m, 6), -2.0), full, by_motion)
        turned = square @ np.moveaxis(by_motion, 2, 1).reshape(m, 6, -1)
        at.add_outer(np.full((m, 6), -1.0), by_motion, np.moveaxis(turned.reshape(m, 6, 3, n), 1, 2))
        at.add_block(0, -0.5 * bent)
        motion, half = evaluation.motion.part(at.part), evaluation.half[at.part]
        if ground.any():
            evaluation.mechanics.bend(motion, -ground, half, evaluation.pushes)
        ground[:, self.rows] -= u
        evaluation.mechanics.bend(motion, ground, half)


def _product(shared: Shared) -> Shared:
    """c_a c_b of the first two feet, with its derivatives by F, as that of one foot."""
    (a, b), (by_a, by_b) = shared.values.T[:2], np.moveaxis(shared.slopes, 1, 0)[:2]
    outer = by_a[:, :, None] * by_b[:, None]
    bends = a[:, None, None] * shared.bends[:, 1] + b[:, None, None] * shared.bends[:, 0]
    slopes = a[:, None] * by_b + b[:, None] * by_a
    return Shared((a * b)[:, None], slopes[:, None], (bends + outer + np.swapaxes(outer, 1, 2))[:, None])


def _lever_slopes(arm: Array, F: Array, by_motion: Array, moved: Shared) -> Array:
    """Slopes (m, 3, 3, n) of c arm x f for a share c of resultants F with slopes by_motion (m, 3, 6, n)."""
    change = moved.slopes[:, None] @ by_motion  # of the share, (m, 3, 1, n)
    push = _crossed(np.broadcast_to(arm, (len(F), 3)), by_motion[:, :, :3])
    found: Array = moved.values[:, :, None, None] * push
    return found + cross(arm, F[:, :3])[:, None, :, None] * change


def _moment(F: Array, p: Array) -> Array:
    """The moment of resultants about p: m - p x f."""
    return F[:, 3:] - cross(p, F[:, :3])


def _crossed(p: Array, columns: Array) -> Array:
    """p (m, 3) times columns (m, r, 3, n)."""
    return np.swapaxes(cross(p[:, None, None], np.swapaxes(columns, 2, 3)), 2, 3)


def _columns_cross(columns: Array, w: Array) -> Array:
    """Columns (m, 3, n) times w (m, 3)."""
    return np.swapaxes(cross(np.swapaxes(columns, 1, 2), w[:, None]), 1, 2)


def _between(F: Array, places: Array, least: float) -> tuple[Array, Array, Array]:
    """The first foot's share of resultants (m, 6), its slopes (m, 6) and curvature (m, 6, 6).

    x = (d . (zmp - b)) / d^2 with d = a - b and zmp = (-m_y, m_x) / f_z, then rounded into [0, 1].
    """
    a, b = places
    d = (a - b) / ((a - b) @ (a - b))
    push = np.maximum(F[:, 2], least)
    upper = d[1] * F[:, 3] - d[0] * F[:, 4]
    x = upper / push - d @ b
    slopes = np.zeros_like(F)
    slopes[:, 3], slopes[:, 4] = d[1] / push, -d[0] / push
    carries = F[:, 2] > least
    slopes[:, 2] = np.where(carries, -upper / push**2, 0.0)
    bends = np.zeros((len(F), 6, 6))
    for k, factor in ((3, d[1]), (4, -d[0])):
        bends[:, 2, k] = bends[:, k, 2] = np.where(carries, -factor / push**2, 0.0)
    bends[:, 2, 2] = np.where(carries, 2.0 * upper / push**3, 0.0)
    low, high = (np.sqrt(y * y + ROUNDING**2) for y in (x, x - 1.0))
    value = 0.5 * (1.0 + low - high)
    first = 0.5 * (x / low - (x - 1.0) / high)
    second = 0.5 * ROUNDING**2 * (low**-3 - high**-3)
    outer = slopes[:, :, None] * slopes[:, None]
    return value, first[:, None] * slopes, first[:, None, None] * bends + second[:, None, None] * outer
