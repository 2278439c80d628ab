"""Motions of mechanisms with closed loops: the dependent coordinates at every sample, on one branch.

Splines move the independent coordinates u; the others follow from the loops, c(q) = 0, by Newton's iteration
from the nearest pose that is known, and stay on their branch (`machine.positions`). Velocities and
accelerations follow from J qd = 0, J = dc/dq, and its time derivative.

Along the motion, dq = G du, dqd = G du' + G' du and dqdd = G du'' + 2 G' du' + G'' du, with

    J G = 0     J G' = -J' G     J G'' = -2 J' G' - J'' G

where ' is the time derivative. Second derivatives of g . (q, qd, qdd) along a motion are those of
mu0 . c + mu1 . c' + mu2 . c'', with multipliers that make g . (q, qd, qdd) + mu . c stationary in the
dependent coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.dynamics.coupling import all_axes, all_rates
from kinetree.dynamics.loops.dynamics import DETERMINED
from kinetree.dynamics.loops.jets import RowJets
from kinetree.dynamics.loops.positions import loop_positions_of
from kinetree.dynamics.loops.structure import independent_coordinates, independent_rows
from kinetree.dynamics.loops.system import RANK, constraints, loop_rows, refuse_cut_forces
from kinetree.errors import AssemblyError, InputError, listed, must_be
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers

SHORTEST = 2.0**-7  # of the way from a known pose: shorter steps are not tried
REMEMBERED = 64  # motions whose poses are kept, so that one that was followed can be followed again
PULLED = 1e4  # condition of J_d relative to that of J above which a choice of independent joints is bad


class Closure:
    """The loops of a mechanism for prediction: which coordinates are free to choose, and how others follow.

    ``mechanism`` has its loops, ``own`` coordinates and perhaps locked axes. ``guess`` (n_dof,) is
    a pose with closed loops on the wanted branch. ``independent`` names joints, or None: driven ones first.
    ``hasty`` is for motions that change from call to call: what cannot be followed fails at once.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        own: Integers,
        driven: Flags,
        guess: Array,
        independent: Sequence[str] | None,
        *,
        hasty: bool = False,
    ) -> None:
        self.mechanism, self.own, self.guess, self.hasty = mechanism, own, guess, hasty
        self.rows = loop_rows(mechanism)
        refuse_cut_forces(mechanism, "predictions")
        J = constraints(mechanism, guess).J[:, own]
        size = np.linalg.svd(J, compute_uv=False)
        rank = int((size > RANK * size[0]).sum())
        mobility = len(own) - rank
        chosen = _independent(mechanism, own, driven, J, mobility, independent)
        self.independent = own[chosen]
        self.dependent = np.delete(own, chosen)
        self.varying = np.concatenate([self.independent, self.dependent])
        self.kept = np.array(independent_rows(J, rank), dtype=np.int64)
        J_d = np.delete(J, chosen, axis=1)
        smallest = np.linalg.svd(J_d[self.kept], compute_uv=False).min(initial=np.inf)
        if J_d.shape[1] != rank or smallest * PULLED < size[rank - 1]:
            names = [mechanism.joint_names[k] for k in self.independent]
            raise InputError(
                f"mechanism '{mechanism.name}' has mobility {mobility} at the first pose, but "
                f"{listed(names)} do not determine it there: name {mobility} independent joints, or start "
                f"outside this singular position"
            )
        self._ahead = loop_positions_of(mechanism)
        self.failure = ""  # why the last motion could not be followed
        self._known = np.zeros(1), np.array(guess)[None]
        self._followed_before: dict[bytes, Array] = {}

    @property
    def n_independent(self) -> int:
        """Mobility: how many coordinates splines move."""
        return len(self.independent)

    @property
    def independent_names(self) -> tuple[str, ...]:
        """The joints that splines move."""
        return tuple(self.mechanism.joint_names[k] for k in self.independent)

    # ---- positions, velocities, accelerations ----------------------------------------------------------
    def motion(self, s: Array, u: Array) -> Array:
        """q, qd and qdd of all coordinates, (3, m, n_dof), from those of the independent ones, (m, 3, k)."""
        found = np.zeros((3, len(s), self.mechanism.n_dof))
        found[0] = self._positions(s, u[:, 0])
        found[1][:, self.independent], found[2][:, self.independent] = u[:, 1], u[:, 2]
        found[1], found[2], _ = self._ahead.rates(found[0], found[1], found[2], self.dependent)
        return found

    def pose(self, u: Array) -> Array:
        """The pose (n_dof,) on the branch at independent coordinates (k,), from the guess."""
        q, reached = self._followed(self.guess[None], u[None], np.zeros(1))
        if not reached.all():
            raise AssemblyError(self.failure)
        pose: Array = q[0]
        return pose

    def opened_by(self, q: Array) -> float:
        """The largest gap of all rows, redundant ones included, at poses (m, n_dof): m, or sines."""
        return float(np.abs(constraints(self.mechanism, q).gap).max(initial=0.0))

    def undetermined(self, component: Integers) -> Flags:
        """Which torques of locked axes redundant constraints leave open, in some poses near the first one."""
        u = self.guess[self.independent]
        loose = np.zeros(len(component), dtype=bool)
        for aside in (0.0, 0.01, -0.013):
            J = constraints(self.mechanism, self.pose(u + aside)).J
            U, size, _ = np.linalg.svd(J[:, self.own])
            rank = int((size > RANK * size[0]).sum())
            loose |= np.abs(U[:, rank:].T @ J[:, component]).max(axis=0, initial=0.0) > DETERMINED
        return loose

    def _positions(self, s: Array, u: Array) -> Array:
        """Poses (m, n_dof) from the nearest known ones; they are known from now on."""
        key = s.tobytes() + u.tobytes()
        if key in self._followed_before:  # whatever was tried since
            return self._followed_before[key]
        at, poses = self._known
        place = np.clip(np.searchsorted(at, s), 1, max(len(at) - 1, 1))
        near = place - 1 if len(at) == 1 else np.where(s - at[place - 1] <= at[place] - s, place - 1, place)
        hasty = self.hasty and len(at) > 1
        if len(at) == 1:
            q, reached = self._chain(s, u)
        else:
            q, reached = self._followed(poses[near], u, s, hasty=hasty)
            if hasty and not reached.all():  # the known motion may be too far away: along this one
                q, reached = self._chain(s, u)
        while not hasty and not reached.all():  # from neighbors that were reached
            there, missing = np.flatnonzero(reached), np.flatnonzero(~reached)
            if not len(there):
                break
            nearest = there[np.abs(s[missing][:, None] - s[there]).argmin(axis=1)]
            q[missing], found = self._followed(q[nearest], u[missing], s[missing])
            reached[missing] = found
            if not found.any():
                break
        if not reached.all():
            raise AssemblyError(self.failure)
        order = np.unique(s, return_index=True)[1]
        if self.hasty or len(order) >= len(at):
            self._known = s[order], np.array(q[order])
        if self.hasty:
            self._followed_before[key] = frozen(q)
            if len(self._followed_before) > REMEMBERED:
                del self._followed_before[next(iter(self._followed_before))]
        return q

    def _chain(self, s: Array, u: Array) -> tuple[Array, Flags]:
        """Poses at u (m, k) in their order from the first one, up to one that is not reached."""
        order, reached, k = np.argsort(s), np.zeros(len(s), dtype=bool), 0
        last = self.guess
        q = np.tile(last, (len(s), 1))
        q[:, self.independent] = u
        while k < len(s):
            found, count = self._ahead.chain(last, q[order[k:]], self.dependent)
            q[order[k : k + count]], k = found[:count], k + count
            if k < len(s):
                last = q[order[k - 1]] if k else last
                there = order[k : k + 1]
                q[there], good = self._followed(last[None], u[there], s[there])
                if not good[0]:
                    break
                last, k = q[order[k]], k + 1
        reached[order[:k]] = True
        return q, reached

    def _followed(self, start: Array, u: Array, s: Array, *, hasty: bool = False) -> tuple[Array, Flags]:
        """Poses at u (m, k) on the branch of poses ``start`` (m, n_dof), and where that succeeded.

        ``hasty``: the first failure ends it.
        """
        q, m = np.array(start), len(u)
        begun, way = start[:, self.independent], u - start[:, self.independent]
        done, share = np.zeros(m), np.ones(m)
        reached, lost = np.zeros(m, dtype=bool), np.zeros(m, dtype=bool)
        while not (reached | lost).all():
            now = np.flatnonzero(~(reached | lost))
            ahead = np.minimum(done[now] + share[now], 1.0)
            wanted = q[now]
            wanted[:, self.independent] = begun[now] + ahead[:, None] * way[now]
            found, good = self._ahead.follow(q[now], wanted, self.dependent)
            went = now[good]
            q[went], done[went], share[went] = found[good], ahead[good], 2.0 * share[went]
            reached[went] = done[went] >= 1.0
            share[now[~good]] *= 0.5
            lost[now] = share[now] < SHORTEST
            if hasty and lost.any():
                break
        if lost.any():
            self._explain(q[lost][0], u[lost][0], float(s[lost][0]))
        return q, reached

    def _explain(self, q: Array, u: Array, s: float) -> None:
        """Keep a sentence about a sample that could not be reached from a pose."""
        J_d = constraints(self.mechanism, q).J[self.kept][:, self.dependent]
        U, _, Vt = np.linalg.svd(J_d)
        loop = self.rows.loops[self.rows.loop_of_row[self.kept[int(np.abs(U[:, -1]).argmax())]]].name
        names = self.mechanism.joint_names
        joint = names[self.dependent[int(np.abs(Vt[-1]).argmax())]]
        wanted, reached = (
            ", ".join(f"{names[k]} = {x:.4g}" for k, x in zip(self.independent, values, strict=True))
            for values in (u, q[self.independent])
        )
        self.failure = (
            f"mechanism '{self.mechanism.name}': at s = {s:.3g} the loops cannot be closed on the branch of "
            f"the first pose at {wanted}: the path ends at {reached}, next to a singular position of "
            f"loop '{loop}' where joint '{joint}' would change its branch"
        )

    # ---- derivatives -----------------------------------------------------------------------------------
    def jets(self, q: Array, qd: Array | None = None, qdd: Array | None = None) -> RowJets:
        """The independent rows with time derivatives along a motion, (m, n_dof) each."""
        tree = self.mechanism.tree
        rates = [None if x is None else all_rates(tree, x) for x in (qd, qdd)]
        return RowJets(self.rows, self.kept, all_axes(tree, q), *rates)

    def columns(self, by_axis: Array) -> Array:
        """Columns over all axes as columns over all coordinates."""
        coupling = self.mechanism.tree.coupling
        return by_axis if coupling is None else by_axis @ coupling.matrix

    def both(self, by_axes: Array) -> Array:
        """Matrices over pairs of axes as matrices over pairs of coordinates that vary."""
        coupling = self.mechanism.tree.coupling
        full = by_axes if coupling is None else coupling.matrix.T @ by_axes @ coupling.matrix
        return full[..., self.varying[:, None], self.varying]

    def following(self, q: Array, qd: Array, qdd: Array) -> ClosureDerivatives:
        """How the motion changes with the independent coordinates."""
        return ClosureDerivatives(self, q, qd, qdd)


class ClosureDerivatives:
    """Derivatives of (q, qd, qdd) of all coordinates by those of the independent ones, at m samples.

    Coordinates that vary come in the order of ``Closure.varying``, the independent ones first.
    """

    def __init__(self, closure: Closure, q: Array, qd: Array, qdd: Array) -> None:
        self.closure, self.jets = closure, closure.jets(q, qd, qdd)
        k = closure.n_independent
        self.J = closure.columns(self.jets.J)[..., closure.varying]
        J, J1, J2 = self.J
        self._inverse = np.linalg.inv(J[..., k:])
        m, n = J.shape[0], J.shape[2]
        G, G1, G2 = np.zeros((3, m, n, k))
        G[:, :k] = np.eye(k)
        G[:, k:] = -self._inverse @ J[..., :k]
        G1[:, k:] = -self._inverse @ (J1 @ G)
        G2[:, k:] = -self._inverse @ (2.0 * (J1 @ G1) + J2 @ G)
        self.G, self.G1, self.G2 = G, G1, G2

    def reduced(self, slopes: Array, part: slice) -> Array:
        """Slopes (m, 3, r, n) by (q, qd, qdd) at some samples as those by independent ones, (m, 3, r, k)."""
        G, G1, G2 = self.G[part], self.G1[part], self.G2[part]
        x, v, a = slopes[:, 0], slopes[:, 1], slopes[:, 2]
        return np.stack([x @ G + v @ G1 + a @ G2, v @ G + 2.0 * (a @ G1), a @ G], axis=1)

    def reduced_twice(self, half: Array, gradient: Array) -> tuple[Array, Array]:
        """Half Hessians (m, 6, n, n) and gradients (m, 3, n) as those by the independent coordinates."""
        m, n, k = self.G.shape
        M = np.zeros((m, 3, n, 3, n))
        for block, (r, c) in enumerate(_PAIRS):
            M[:, r, :, c] = half[:, block]
        self._add_closure(M, gradient)
        D = self._whole
        turned = (np.swapaxes(D, 1, 2) @ M.reshape(m, 3 * n, 3 * n) @ D).reshape(m, 3, k, 3, k)
        found = np.empty((m, len(_PAIRS), k, k))
        for block, (r, c) in enumerate(_PAIRS):
            both = turned[:, r, :, c] + np.swapaxes(turned[:, c, :, r], 1, 2)
            found[:, block] = 0.5 * both if r == c else both
        return found, self.reduced(gradient[:, :, None], slice(None))[:, :, 0]

    @cached_property
    def _whole(self) -> Array:
        """d(q, qd, qdd) / d(u, u', u''), (m, 3 n, 3 k)."""
        m, n, k = self.G.shape
        D = np.zeros((m, 3, n, 3, k))
        for r in range(3):
            D[:, r, :, r] = self.G
        D[:, 1, :, 0], D[:, 2, :, 0], D[:, 2, :, 1] = self.G1, self.G2, 2.0 * self.G1
        return D.reshape(m, 3 * n, 3 * k)

    def _add_closure(self, M: Array, gradient: Array) -> None:
        """Add the half Hessian of the loops' conditions with multipliers that balance the gradient."""
        k, closure, jets = self.closure.n_independent, self.closure, self.jets
        _, J1, J2 = (J[..., k:] for J in self.J)
        back = np.swapaxes(self._inverse, 1, 2)

        def times(matrix: Array, vector: Array) -> Array:
            product: Array = (np.swapaxes(matrix, 1, 2) @ vector[..., None])[..., 0]
            return product

        g0, g1, g2 = (gradient[:, r, k:] for r in range(3))
        mu2 = -(back @ g2[..., None])[..., 0]
        mu1 = -(back @ (g1 + 2.0 * times(J1, mu2))[..., None])[..., 0]
        mu0 = -(back @ (g0 + times(J1, mu1) + times(J2, mu2))[..., None])[..., 0]
        first, second, third = (closure.both(jets.bend(mu)) for mu in (mu0, mu1, mu2))
        M[:, 0, :, 0] += 0.5 * (first[0] + second[1] + third[2])
        M[:, 0, :, 1] += second[0] + 2.0 * third[1]
        M[:, 0, :, 2] += third[0]
        M[:, 1, :, 1] += third[0]


_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # blocks of a half Hessian, as in `profile`


def _independent(
    mechanism: Mechanism, own: Integers, driven: Flags, J: Array, mobility: int, names: Sequence[str] | None
) -> Integers:
    """Places among the own coordinates of those that splines move."""
    if names is None:
        return np.array(independent_coordinates(J, mobility, driven), dtype=np.int64)
    if isinstance(names, str):
        raise InputError(must_be("independent", "a list of joints", names))
    places = {int(k): place for place, k in enumerate(own)}
    chosen = [places[mechanism.joint_index(name)] for name in names]
    if len(set(chosen)) != len(chosen):
        raise InputError(f"independent joints must differ, got {listed(list(names))}")
    if len(chosen) != mobility:
        raise InputError(
            f"mechanism '{mechanism.name}' has mobility {mobility}, but {len(chosen)} independent joints are "
            f"named: {listed(list(names))}"
        )
    return np.array(sorted(chosen), dtype=np.int64)
