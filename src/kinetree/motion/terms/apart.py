"""Bodies that keep apart: capsules from capsules, capsules from boxes, with exact derivatives.

A distance is the least over z of a function psi(p) of p = sum_k c_k(z) P_k: P are places of bodies, z from 0
to 1 says where along the segments the nearest points are. A small term nu (z - 1/2)^2 makes z unique, also
for segments that are parallel. By the envelope theorem the slopes are those at fixed z; second derivatives
follow from psi_z = 0: V_qq = L_qq - L_qz L_zz^-1 L_zq over those z that are not at 0 or 1.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from typing_extensions import override

from kinetree.algebra.arrays import Array, number, vector
from kinetree.algebra.rotation import rotation_matrix
from kinetree.declare import Parameter, declare
from kinetree.errors import InputError, must_be
from kinetree.model.tree import Flags
from kinetree.motion.problem.places import Place
from kinetree.motion.problem.profile import RATES
from kinetree.motion.problem.setting import Setting
from kinetree.motion.program.evaluation import At
from kinetree.motion.terms.arguments import BodyName, Instants, OtherBody
from kinetree.motion.terms.contract import Bounded, Constraint, Distance, Rows

ORIGIN = (0.0, 0.0, 0.0)
USUAL = 0.01  # m: what a small distance is measured by
SEEN = 0.005  # part of what violations are measured by that may be missed between instants
ROUNDING = 1e-4  # m: what distances are too small by at most
HALVINGS = 46  # until the nearest point of a segment is found
POWER = 4  # of the mean that measures how deep a point is in a box


@declare("keep_apart", "least distance between capsules of two bodies, or of a body and the world")
class KeepApart(Constraint):
    """Two capsules of bodies keep a distance: a link from an obstacle, or two links of one arm (m).

    The first is the segment from ``start`` to ``end`` (3,) in the frame of ``body`` with a ``radius``, the
    other that from ``of_start`` to ``of_end`` in the frame of ``of``, the world or another body; without an
    end it is a sphere. ``clearance`` is what must be left between their surfaces. The distance is never
    overestimated, and underestimated by 0.1 mm at most.

    >>> KeepApart("fore", "column", start=(0, 0, 0), end=(0.4, 0, 0), radius=0.05, of_radius=0.1).family
    'distance of capsules'
    """

    family = "distance of capsules"

    def __init__(
        self,
        body: BodyName,
        of: OtherBody = "world",
        *,
        start: Annotated[
            ArrayLike,
            Parameter("Where its capsule begins, in its frame", "m", "vector", default_text="default 0"),
        ] = ORIGIN,
        end: Annotated[
            ArrayLike | None,
            Parameter("Where its capsule ends", "m", "vector", default_text="default the start: a sphere"),
        ] = None,
        radius: Annotated[float, Parameter("Radius of its capsule", "m")] = 0.0,
        of_start: Annotated[
            ArrayLike,
            Parameter(
                "Where the other capsule begins, in the other frame", "m", "vector", default_text="default 0"
            ),
        ] = ORIGIN,
        of_end: Annotated[
            ArrayLike | None,
            Parameter("Where it ends", "m", "vector", default_text="default its start: a sphere"),
        ] = None,
        of_radius: Annotated[float, Parameter("Radius of the other capsule", "m")] = 0.0,
        clearance: Annotated[float, Parameter("Least distance between their surfaces", "m")] = 0.0,
        at: Instants = "samples",
    ) -> None:
        self.body, self.of, self.at = body, of, at
        self.ends = (*_segment(body, start, end), *_segment(of, of_start, of_end))
        radii = _size(radius, f"radius of '{body}'"), _size(of_radius, f"radius of '{of}'")
        self.distance = sum(radii) + _size(clearance, "clearance")
        if self.distance <= 0.0:
            raise InputError(f"{self.family}: give a radius or a clearance above 0 m, got none")
        if str(body) == str(of):
            raise InputError(f"{self.family}: '{body}' cannot keep apart from itself; name two bodies")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        names = [setting.body(name, self.family) for name in (self.body, self.body, self.of, self.of)]
        places = [Place(setting.extended, name, x) for name, x in zip(names, self.ends, strict=True)]
        function = _Capsules(places, self.distance)
        label = f"{self.body} from {self.of}"
        return [_above(function, self, self.distance, self.distance, setting, label)]


@declare("keep_out_box", "a box that a capsule of a body stays out of")
class KeepOutBox(Constraint):
    """A capsule of a body stays out of a box (m).

    The box has edges ``size`` (3,) along the axes of ``rotation`` (3, 3) about its ``center`` (3,), in the
    world or in the frame of the body ``of``. The capsule goes from ``start`` to ``end`` in the frame of
    ``body``, with a ``radius``; without an end it is a sphere or a point. ``clearance`` is what must be left
    between them. Outside, the distance is never overestimated, and underestimated by 0.1 mm at most; inside,
    a smooth measure of depth leads the search out.

    >>> KeepOutBox("fore", (0.5, 0, 0.2), (0.2, 0.4, 0.4), end=(0.4, 0, 0), radius=0.05).family
    'keep-out box'
    """

    family = "keep-out box"

    def __init__(
        self,
        body: BodyName,
        center: Annotated[
            ArrayLike, Parameter("Center of the box, in the world or in another body", "m", "vector")
        ],
        size: Annotated[ArrayLike, Parameter("Edges of the box along its axes", "m", "vector")],
        *,
        start: Annotated[
            ArrayLike,
            Parameter("Where the capsule begins on the body", "m", "vector", default_text="default 0"),
        ] = ORIGIN,
        end: Annotated[
            ArrayLike | None,
            Parameter("Where the capsule ends", "m", "vector", default_text="default the start: a sphere"),
        ] = None,
        radius: Annotated[float, Parameter("Radius of the capsule", "m")] = 0.0,
        rotation: Annotated[
            ArrayLike | None, Parameter("Axes of the box as columns (no unit)", kind="matrix")
        ] = None,
        of: Annotated[str, Parameter("Name of the body that the box is fixed in")] = "world",
        clearance: Annotated[float, Parameter("Least distance between them", "m")] = 0.0,
        at: Instants = "samples",
    ) -> None:
        self.body, self.of, self.at = body, of, at
        self.center, self.size = vector(center, 3, "center"), vector(size, 3, "size of the box")
        if not (self.size > 0.0).all():
            raise InputError(must_be(f"{self.family}: size", "> 0 m", self.size.tolist()))
        self.ends = _segment(body, start, end)
        self.rotation = np.eye(3) if rotation is None else rotation_matrix(rotation, "rotation of the box")
        self.distance = _size(radius, f"radius of '{body}'") + _size(clearance, "clearance")
        if str(body) == str(of):
            raise InputError(f"{self.family}: '{body}' cannot keep out of its own box; name another body")

    @override
    def bounded(self, setting: Setting) -> list[Bounded]:
        """What is bounded, between what, and where."""
        body, other = (setting.body(name, self.family) for name in (self.body, self.of))
        places = [Place(setting.extended, body, x) for x in self.ends]
        center = Place(setting.extended, other, self.center)
        axes = [Place(setting.extended, other, x, direction=True) for x in self.rotation.T]
        function = _OutOfBox(places, center, axes, 0.5 * self.size)
        label, depth = f"{self.body} from the box of {self.of}", self.distance + 0.5 * float(self.size.min())
        return [_above(function, self, self.distance, depth, setting, label)]


def _above(
    function: _Closest, term: KeepApart | KeepOutBox, least: float, depth: float, setting: Setting, label: str
) -> Rows:
    """A distance that is at least so much; ``depth`` is by how much it can be too small in the middle.

    Violations are measured by the depth where it is small, so that no obstacle is too thin to count.
    """
    low, high = np.array([least]), np.array([np.inf])
    s = setting.where(term.at, term.family)
    size = min(max(least, USUAL), max(depth, ROUNDING))
    function.resolution = min(SEEN * max(least, USUAL), 0.25 * size)
    scale = np.array([size])
    return Rows(function, s, low, high, term.family, [label], "m", scale, "distance")


def _segment(body: str, start: ArrayLike, end: ArrayLike | None) -> tuple[Array, Array]:
    a = vector(start, 3, f"start on '{body}'")
    return a, a if end is None else vector(end, 3, f"end on '{body}'")


def _size(value: float, what: str) -> float:
    x = number(value, what)
    if x < 0.0:
        raise InputError(must_be(what, ">= 0 m", x, "g"))
    return x


class _Near(NamedTuple):
    """The nearest points at m samples: free z, weights c and their rates, psi and derivatives."""

    free: Flags  # (m, Z)
    c: Array  # (m, K)
    dc: Array  # (Z, K)
    value: Array  # (m,) of psi and of what makes z unique
    slope: Array  # (m, 3)
    bend: Array  # (m, 3, 3)
    points: Array  # (m, K, 3)


class _Closest(Distance):
    """The least of psi(p(z)) + nu |z - 1/2|^2 over z, as a function of the pose."""

    of_pose, size = True, 1
    nu: float

    @override
    def speed(self, at: At) -> Array:
        """That of the fastest of the points P, for p moves by weights c that add up to 1 on each body."""
        rate = self.point_slopes(at) @ at.moving[:, None, 1, :, None]
        v: Array = np.linalg.norm(rate[..., 0], axis=-1)
        own, other = v[:, :2].max(axis=1), v[:, 2:].max(axis=1, initial=0.0)
        return np.asarray(own + other)

    @abstractmethod
    def near(self, at: At) -> _Near:
        """Where the nearest points are."""

    @abstractmethod
    def point_slopes(self, at: At) -> Array:
        """Slopes of the places P, (m, K, 3, n)."""

    @abstractmethod
    def point_bend(self, at: At, k: int, weight: Array) -> Array:
        """Second derivatives of weight . P_k, (m, n, n); weight (m, 3)."""

    def least(self, at: At) -> tuple[Array, Array]:
        """The least value (m,) and its slopes (m, n)."""
        near = self.near(at)
        moved = np.einsum("mk,mkin->min", near.c, self.point_slopes(at))
        return near.value, (near.slope[:, None] @ moved)[:, 0]

    def curvature(self, at: At) -> Array:
        """Second derivatives of the least value, (m, n, n)."""
        near, J = self.near(at), self.point_slopes(at)
        moved = np.einsum("mk,mkin->min", near.c, J)
        bent = near.bend @ moved
        H: Array = np.swapaxes(moved, 1, 2) @ bent
        for k in range(near.c.shape[1]):
            H = H + self.point_bend(at, k, near.c[:, k, None] * near.slope)
        along = np.einsum("zk,mki->mzi", near.dc, near.points)  # dp/dz
        mixed = along @ bent + np.einsum("zk,mi,mkin->mzn", near.dc, near.slope, J)
        mixed = np.where(near.free[:, :, None], mixed, 0.0)
        S = along @ near.bend @ np.swapaxes(along, 1, 2) + 2.0 * self.nu * np.eye(len(near.dc))
        both = near.free[:, :, None] & near.free[:, None, :]
        S = np.where(both, S, np.eye(len(near.dc)))
        return H - np.swapaxes(mixed, 1, 2) @ np.linalg.solve(S, mixed)


class _Capsules(_Closest):
    """The distance of two segments: the root of the least square."""

    def __init__(self, places: list[Place], distance: float) -> None:
        self.places, self.nu = places, 4.0 * distance * ROUNDING

    @override
    def near(self, at: At) -> _Near:
        P = np.stack([place.position_of(at.frames) for place in self.places], axis=1)
        z, free = nearest_of_segments(P, self.nu)
        t, u = z.T
        c = np.stack([1.0 - t, t, u - 1.0, -u], axis=1)
        dc = np.array([[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
        p = np.einsum("mk,mki->mi", c, P)
        value = (p * p).sum(axis=1) + self.nu * ((z - 0.5) ** 2).sum(axis=1)
        return _Near(free, c, dc, value, 2.0 * p, np.broadcast_to(2.0 * np.eye(3), (len(p), 3, 3)), P)

    @override
    def point_slopes(self, at: At) -> Array:
        return np.stack([place.slopes(at.frames) for place in self.places], axis=1)

    @override
    def point_bend(self, at: At, k: int, weight: Array) -> Array:
        return self.places[k].bend(at.frames, weight)

    @override
    def values(self, at: At) -> Array:
        return (_root(self.near(at).value) - ROUNDING)[:, None]

    @override
    def slopes(self, at: At) -> Array:
        square, slope = self.least(at)
        return _by_pose(slope / (2.0 * _root(square)[:, None]))

    @override
    def bend(self, at: At, weight: Array) -> None:
        square, slope = self.least(at)
        root = _root(square)
        w = weight[:, 0]
        outer = slope[:, :, None] * slope[:, None, :]
        H = self.curvature(at) / (2.0 * root)[:, None, None] - outer / (4.0 * root**3)[:, None, None]
        at.add_block(0, 0.5 * w[:, None, None] * H)


class _OutOfBox(_Closest):
    """The signed distance of a segment from a box."""

    def __init__(self, places: list[Place], center: Place, axes: list[Place], half: Array) -> None:
        self.places, self.center, self.axes, self.half, self.nu = places, center, axes, half, 4.0 * ROUNDING

    def _in_box(self, at: At) -> tuple[Array, Array, Array]:
        """Ends in the box's frame, from its center in world axes, (m, 2, 3) each, and its axes (m, 3, 3)."""
        x = np.stack([place.position_of(at.frames) for place in self.places], axis=1)
        away = x - self.center.position_of(at.frames)[:, None]
        e = np.stack([axis.position_of(at.frames) for axis in self.axes], axis=1)
        return away @ np.swapaxes(e, 1, 2), away, e

    @override
    def near(self, at: At) -> _Near:
        y, _, _ = self._in_box(at)
        t, free = nearest_to_box(y, self.half, self.nu)
        c = np.stack([1.0 - t, t], axis=1)
        value, slope, bend = signed_distance(np.einsum("mk,mki->mi", c, y), self.half)
        value = value + self.nu * (t - 0.5) ** 2 - 0.25 * self.nu
        return _Near(free[:, None], c, np.array([[-1.0, 1.0]]), value, slope, bend, y)

    @override
    def point_slopes(self, at: At) -> Array:
        _, away, e = self._in_box(at)
        middle = self.center.slopes(at.frames)
        turned = np.stack([axis.slopes(at.frames) for axis in self.axes], axis=1)  # (m, 3 axes, 3, n)
        J = np.stack([place.slopes(at.frames) - middle for place in self.places], axis=1)
        slopes: Array = e[:, None] @ J + np.einsum("mki,main->mkan", away, turned)
        return slopes

    @override
    def point_bend(self, at: At, k: int, weight: Array) -> Array:
        _, away, e = self._in_box(at)
        frames, place = at.frames, self.places[k]
        push = (weight[:, None] @ e)[:, 0]
        H = place.bend(frames, push) - self.center.bend(frames, push)
        D = place.slopes(frames) - self.center.slopes(frames)
        for a, axis in enumerate(self.axes):
            w = weight[:, a, None]
            H = H + axis.bend(frames, w * away[:, k])
            cross = np.swapaxes(D, 1, 2) @ axis.slopes(frames)
            H = H + w[:, :, None] * (cross + np.swapaxes(cross, 1, 2))
        return H

    @override
    def values(self, at: At) -> Array:
        return self.near(at).value[:, None]

    @override
    def slopes(self, at: At) -> Array:
        return _by_pose(self.least(at)[1])

    @override
    def bend(self, at: At, weight: Array) -> None:
        at.add_block(0, 0.5 * weight[:, :, None] * self.curvature(at))


def _root(square: Array) -> Array:
    root: Array = np.sqrt(square + ROUNDING**2 * 1e-4)
    return root


def _by_pose(slope: Array) -> Array:
    """Slopes of one number by q, (m, n), as those by (q, qd, qdd), (m, 3, 1, n)."""
    found = np.zeros((len(slope), RATES, 1, slope.shape[1]))
    found[:, 0, 0] = slope
    return found


def nearest_of_segments(P: Array, nu: float) -> tuple[Array, Flags]:
    """Where two segments are nearest, (m, 2) from 0 to 1, and which of both are not at an end.

    The least of |w + t d - u e|^2 + nu ((t - 1/2)^2 + (u - 1/2)^2): inside the square, or on one of its
    edges.

    >>> P = np.array([[[0, 0, 0], [1, 0, 0], [0.3, 1, -1], [0.3, 1, 1]]], dtype=float)
    >>> nearest_of_segments(P, 1e-9)[0].round(6).tolist()
    [[0.3, 0.5]]
    """
    w, d, e = P[:, 0] - P[:, 2], P[:, 1] - P[:, 0], P[:, 3] - P[:, 2]
    dd, ee, de = (np.einsum("mi,mi->m", a, b) for a, b in ((d, d), (e, e), (d, e)))
    dw, ew = (np.einsum("mi,mi->m", a, w) for a in (d, e))
    # gradient: (dd + nu) t - de u = nu/2 - dw;  -de t + (ee + nu) u = nu/2 + ew
    a, b = dd + nu, ee + nu
    r1, r2 = 0.5 * nu - dw, 0.5 * nu + ew
    det = a * b - de**2
    t, u = (b * r1 + de * r2) / det, (a * r2 + de * r1) / det
    candidates = [(t, u)]
    for fixed in (0.0, 1.0):
        candidates.append((np.full_like(t, fixed), np.clip((r2 + de * fixed) / b, 0.0, 1.0)))
        candidates.append((np.clip((r1 + de * fixed) / a, 0.0, 1.0), np.full_like(u, fixed)))
    cost = []
    for x, y in candidates:
        value = a * x * x + b * y * y - 2.0 * de * x * y - 2.0 * r1 * x - 2.0 * r2 * y
        cost.append(np.where((x >= 0.0) & (x <= 1.0) & (y >= 0.0) & (y <= 1.0), value, np.inf))
    best = np.argmin(np.array(cost), axis=0)
    z = np.array([np.stack(pair, axis=1) for pair in candidates])[best, np.arange(len(best))]
    return z, (z > 0.0) & (z < 1.0)


def nearest_to_box(y: Array, half: Array, nu: float) -> tuple[Array, Flags]:
    """Where segments y (m, 2, 3) in a box's frame are nearest to it, and whether that is not at an end.

    The distance is convex along a segment, so that its slope is bisected.
    """
    d = y[:, 1] - y[:, 0]

    def slope(t: Array, k: Any) -> Array:
        g = _slope_from_box(y[k, 0] + t[:, None] * d[k], half)
        change: Array = np.einsum("mi,mi->m", g, d[k]) + 2.0 * nu * (t - 0.5)
        return change

    low, high = np.zeros(len(y)), np.ones(len(y))
    at_start, at_end = slope(low, slice(None)) >= 0.0, slope(high, slice(None)) <= 0.0
    free = ~(at_start | at_end)
    t = np.where(at_start, 0.0, 1.0)
    inside = np.flatnonzero(free)
    if inside.size:
        low, high = low[inside], high[inside]
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            rises = slope(middle, inside) > 0.0
            low, high = np.where(rises, low, middle), np.where(rises, middle, high)
        t[inside] = 0.5 * (low + high)
    return t, free


def _slope_from_box(y: Array, half: Array) -> Array:
    """Slopes (m, 3) of the signed distance alone."""
    beyond = np.maximum(np.abs(y) - half, 0.0)
    outside = np.sqrt(np.einsum("mi,mi->m", beyond, beyond))
    is_out = outside > 0.0
    found = beyond * np.sign(y) / np.where(is_out, outside, 1.0)[:, None]
    if not is_out.all():
        found[~is_out] = signed_distance(y[~is_out], half)[1]
    return np.asarray(found)


def signed_distance(y: Array, half: Array) -> tuple[Array, Array, Array]:
    """Distance of points y (m, 3) from a box with half edges (3,), with slopes (m, 3) and second derivatives.

    Outside that of geometry; inside minus a mean of the depths (h^2 - y^2) / (2 h) below the faces, which is
    smooth, convex, and zero on the surface with the slope of the distance.

    >>> signed_distance(np.array([[1.0, 1.0, 0.0]]), np.array([0.5, 0.5, 0.5]))[0].round(6).tolist()
    [0.707107]
    """
    beyond = np.maximum(np.abs(y) - half, 0.0)
    outside = np.linalg.norm(beyond, axis=1)
    is_out = outside > 0.0
    far = np.where(is_out, outside, 1.0)[:, None]
    n = beyond * np.sign(y) / far
    active = (beyond > 0.0)[:, :, None] * np.eye(3)
    curved = (active - n[:, :, None] * n[:, None, :]) / far[:, :, None]
    inner = np.where(is_out[:, None], 0.0, y)
    m = np.maximum((half**2 - inner**2) / (2.0 * half), 1e-12 * half)
    depth = ((m ** -float(POWER)).sum(axis=1)) ** (-1.0 / POWER)
    part = (depth[:, None] / m) ** (POWER + 1)
    along = inner / half
    slope = part * along
    pairs = (part[:, :, None] * part[:, None, :]) / depth[:, None, None] - (part / m)[:, :, None] * np.eye(3)
    bent = -(POWER + 1.0) * pairs * along[:, :, None] * along[:, None, :] + (part / half)[
        :, :, None
    ] * np.eye(3)
    out = is_out[:, None]
    value = np.where(is_out, outside, -depth)
    return value, np.where(out, n, slope), np.where(out[:, :, None], curved, bent)
