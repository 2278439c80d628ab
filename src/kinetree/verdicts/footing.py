"""Robots on the ground: whether they fall, slip, stray from their way or sink in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import Poses, forward_kinematics
from kinetree.model.body import WORLD
from kinetree.model.contact_point import ContactPoint
from kinetree.model.joint_kind import KINDS
from kinetree.model.mechanism import Mechanism
from kinetree.result.variables import ABOVE, DRIFT, HEIGHT, SINKING, SLIP, TILT
from kinetree.verdicts.finding import Finding, Findings
from kinetree.verdicts.margins import Verdicts

LOADED = 0.05  # of the weight: a foot that carries less does not slip
LASTS = 0.1  # s for which a depth must last to count
TALLEST = 2.0 / 3.0  # m: of higher bases, feet still sink no deeper than those of this height may
STANDS = 1e-9  # m: a base lower than this above its feet has no height


class GroundShape(Protocol):
    """What a verdict must know of the ground."""

    def heights(self, mechanism: Mechanism, places: Array) -> Array:
        """Heights (...) of points (..., 3) above it."""

    def frame(self, mechanism: Mechanism) -> tuple[Array, Array, Array]:
        """Normal, forward and side direction, each (3,)."""

    def contact_names(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The contact points that can touch it."""


def floats(mechanism: Mechanism) -> bool:
    """Whether the first body moves by itself: freely, or in a plane without drives."""
    link = mechanism.links[0]
    joint = link.joint
    plane = KINDS[joint.kind].slides_in_a_plane and not any(joint.driven)
    return link.parent == WORLD and (joint.is_free or plane)


class Footing:
    """Motions q (m, k, n_dof) of a mechanism on a ground at times (k,), with the poses of all bodies.

    ``wanted`` (k, n_dof): the reference motion, if there is one.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        ground: GroundShape,
        margins: Verdicts,
        times: Array,
        q: Array,
        wanted: Array | None = None,
    ) -> None:
        self.mechanism, self.ground, self.margins, self.times = mechanism, ground, margins, times
        self.up = ground.frame(mechanism)[0]
        self.q, self.wanted = q, wanted
        self.poses = forward_kinematics(mechanism, q)
        self.base = mechanism.links[0].body.name
        used = set(ground.contact_names(mechanism))
        self.points = [x for x in mechanism.contact_points if x.name in used]

    @property
    def has_reference(self) -> bool:
        """Whether the reference motion has one of the base; laws that leave it alone ask for zero."""
        n = self.mechanism.links[0].joint.n_dof
        return self.wanted is not None and bool(self.wanted[:, :n].any())

    def _asked(self) -> Poses:
        """Poses (m, k) that the reference asks for, from the start of each motion on."""
        course = np.repeat(self.q[:, :1], len(self.times), axis=1)
        if self.wanted is not None:
            first = 0 if self.has_reference else self.mechanism.links[0].joint.n_dof
            course[..., first:] = self.wanted[:, first:]
        return forward_kinematics(self.mechanism, course)

    def falls(self) -> Findings:
        """Tilt and height of the base, relative to the reference."""
        found: Findings = {}
        if self.margins.tilt is None and self.margins.height is None:
            return found
        asked = self._asked()
        (R, p), (R_asked, p_asked) = self.poses[self.base], asked[self.base]
        if self.margins.tilt is not None:
            found[TILT] = self._tilt(R, R_asked, self.margins.tilt)
        if self.margins.height is not None:
            standing = np.full(p.shape[:-1], -np.inf)
            for point in self.points:
                R_foot, p_foot = asked[point.body]
                standing = np.maximum(standing, (p_asked - p_foot - R_foot @ point.position) @ self.up)
            found[HEIGHT] = self._height(p, standing, self.margins.height)
        return found

    def _tilt(self, R: Array, R_asked: Array, allowed: float) -> Finding:
        tilt = _angle(R, self.up) - _angle(R_asked, self.up)
        times, base = self.times, self.base

        def words(m: int) -> str:
            k = int(np.argmax(tilt[m]))
            if tilt[m, k] <= allowed:
                return f"the base '{base}' tilts by at most {np.degrees(max(tilt[m, k], 0.0)):.3g} degrees"
            when = times[int(np.argmax(tilt[m] > allowed))]
            return (
                f"the robot fell: its base '{base}' tilts by more than {np.degrees(allowed):.3g} degrees "
                f"from t = {when:.4g} s, by {np.degrees(tilt[m, k]):.3g} degrees at t = {times[k]:.4g} s"
            )

        return Finding(np.maximum(0.0, tilt.max(axis=1)), allowed, "rad", words)

    def _height(self, p: Array, standing: Array, allowed: float) -> Finding:
        height = self.ground.heights(self.mechanism, p)
        # a base that starts at the height of its feet has no height to lose
        tall = standing > STANDS
        lost = np.where(tall, 1.0 - height / np.where(tall, standing, 1.0), 0.0)
        times, base = self.times, self.base

        def words(m: int) -> str:
            k = int(np.argmax(lost[m]))
            if lost[m, k] <= allowed:
                kept = 100.0 * (1.0 - max(0.0, lost[m, k]))
                return f"the base '{base}' keeps at least {kept:.3g} % of its height above its feet"
            when = times[int(np.argmax(lost[m] > allowed))]
            return (
                f"the robot fell: its base '{base}' is {height[m, k]:.3g} m above the ground at t = "
                f"{times[k]:.4g} s, standing height {standing[m, k]:.3g} m; too low from t = {when:.4g} s"
            )

        return Finding(np.maximum(0.0, lost.max(axis=1)), allowed, "1", words)

    def drift(self) -> Findings:
        """How far the base strays along the ground from its reference, relative to the reference's length."""
        allowed = self.margins.drift
        if allowed is None or not self.has_reference:
            return {}
        p, asked = self.poses[self.base][1], self._asked()[self.base][1]
        away = self._along((p - p[:, :1]) - (asked - asked[:, :1]))
        path = np.linalg.norm(np.diff(self._along(asked), axis=1), axis=-1).sum(axis=1)
        scale = np.maximum(path, self._least_way)
        part = np.linalg.norm(away, axis=-1) / scale[:, None]
        times, base = self.times, self.base

        def words(m: int) -> str:
            k = int(np.argmax(part[m]))
            off, way = part[m, k] * scale[m], path[m]
            what = f"{off:.3g} m at t = {times[k]:.4g} s; its reference goes {way:.3g} m"
            if part[m, k] <= allowed:
                return f"the base '{base}' stays near its reference along the ground: {what}"
            return f"the base '{base}' strays from its reference along the ground by {what}"

        return {DRIFT: Finding(part.max(axis=1), allowed, "1", words)}

    def slip(self, contact: Array, mass: float) -> Findings:
        """How far a loaded foot slips, from rows of contact points (m, k, points, 7 or more).

        Columns 0 to 2 are the force, 5 and 6 the velocity along the ground.
        """
        allowed, weight = self.margins.slip, mass * float(np.linalg.norm(self.mechanism.gravity))
        if allowed is None or not weight > 0.0 or not len(self.times) > 1:
            return {}
        bodies = list(dict.fromkeys(x.body for x in self.points))
        normal = np.maximum(contact[..., :3] @ self.up, 0.0)
        speed = np.linalg.norm(contact[..., 5:7], axis=-1)
        slipped = np.zeros((*contact.shape[:2], len(bodies)))
        for b, body in enumerate(bodies):
            own = [k for k, x in enumerate(self.points) if x.body == body]
            load = normal[..., own].sum(axis=-1)
            mean = (normal[..., own] * speed[..., own]).sum(axis=-1) / np.where(load > 0.0, load, 1.0)
            slipped[..., b] = np.where(load > LOADED * weight, mean, 0.0)
        h = np.diff(self.times)[None, :, None]
        way = (0.5 * h * (slipped[:, 1:] + slipped[:, :-1])).sum(axis=1)  # (m, bodies)
        base = self._along(self.poses[self.base][1])
        gone = np.linalg.norm(np.diff(base, axis=1), axis=-1).sum(axis=1)
        scale = np.maximum(gone, self._least_way)
        part = way / scale[:, None]

        def words(m: int) -> str:
            b = int(np.argmax(part[m]))
            size = f"'{bodies[b]}' slips by {way[m, b]:.3g} m while it is loaded"
            if part[m, b] <= allowed:
                return f"feet hold: {size}"
            return f"{size}, while the base goes {gone[m]:.3g} m: the ground does not hold it"

        return {SLIP: Finding(part.max(axis=1), allowed, "1", words)}

    def _along(self, places: Array) -> Array:
        """Places (..., 3) without their heights."""
        along: Array = places - (places @ self.up)[..., None] * self.up
        return along

    @property
    def size(self) -> Array:
        """The height (m,) of a floating base above its lowest contact point at the start.

        Else how far contact points are from the origins of their bodies; infinite for a single point, which
        has no size.
        """
        local = [float(np.linalg.norm(x.position) + np.linalg.norm(x.extent)) for x in self.points]
        reach = np.full(len(self.q), max(local, default=0.0))
        height = np.zeros(len(self.q))
        if floats(self.mechanism):
            start = forward_kinematics(self.mechanism, self.q[:, 0])
            places = np.stack([_underside(start, x, self.up) for x in self.points], axis=-2)
            height = start[self.base][1] @ self.up - (places @ self.up).min(axis=-1)
        size: Array = np.where(height > STANDS, height, np.where(reach > STANDS, reach, np.inf))
        return size

    @property
    def _least_way(self) -> Array:
        """Ways (m,) along the ground below this are short."""
        size = self.size
        return np.where(np.isfinite(size), size, STANDS)

    def above(self) -> Findings:
        """How deep points of bodies that no contact force holds are in the ground."""
        allowed = self.margins.depth
        if allowed is None:
            return {}
        feet = self._point_heights().min(axis=-1)
        known = list(self._body_points())
        heights = self.ground.heights(self.mechanism, _places(self.poses, [(x, y) for x, _, y in known]))
        depth = np.minimum(feet, 0.0)[..., None] - heights
        flat, times = depth.reshape(len(depth), -1), self.times

        def words(m: int) -> str:
            k, c = np.unravel_index(int(np.argmax(flat[m])), depth.shape[1:])
            if depth[m, k, c] <= allowed:
                return "no body is below the ground"
            body, what, _ = known[c]
            first = times[int(np.argmax(depth[m, :, c] > allowed))]
            return (
                f"{what} of body '{body}' is {-heights[m, k, c]:.3g} m below the ground at t = "
                f"{times[k]:.4g} s, from t = {first:.4g} s: no contact point is there, so nothing holds it"
            )

        return {ABOVE: Finding(np.maximum(0.0, flat.max(axis=1)), allowed, "m", words)}

    def sinking(self, layer: float = 0.0) -> Findings:
        """How deep contact points stay in the ground, below a layer (m) that does not carry.

        Impacts that are over within a tenth of a second do not count.
        """
        allowed = self.margins.sinking
        if allowed is None or not self.points:
            return {}
        depth = np.maximum(0.0, -self._point_heights() - layer)
        depth = _lasting(depth, self.times)
        size, times, points = self.size, self.times, self.points
        size = np.where(np.isfinite(size), np.minimum(size, TALLEST), size)
        flat = depth.reshape(len(depth), -1)

        def words(m: int) -> str:
            k, c = np.unravel_index(int(np.argmax(flat[m])), depth.shape[1:])
            what = f"'{points[c].name}' is {depth[m, k, c]:.3g} m in the ground at t = {times[k]:.4g} s"
            if depth[m, k, c] <= allowed * size[m]:
                return f"contact points stay near the surface: {what}"
            return f"the contact point {what}, deeper than {allowed * size[m]:.3g} m: the ground is too soft"

        return {SINKING: Finding(flat.max(axis=1) / size, allowed, "1", words)}

    def _point_heights(self) -> Array:
        """Heights (m, k, points) of what reaches deepest of every contact point."""
        places = np.stack([_underside(self.poses, x, self.up) for x in self.points], axis=-2)
        return self.ground.heights(self.mechanism, places)

    def _body_points(self) -> Iterator[tuple[str, str, Array]]:
        """Points of bodies that are known: body, what it is, place (3,) in the body frame."""
        used = {point.name for point in self.points}
        for link in self.mechanism.links:
            if link.body.inertia.mass > 0.0:  # bodies without mass are frames between joints
                yield link.body.name, "the origin", np.zeros(3)
                yield link.body.name, "the center of mass", np.asarray(link.body.inertia.center)
        for point in self.mechanism.contact_points:
            if point.name not in used:
                yield point.body, f"the point '{point.name}'", point.position


def _lasting(depth: Array, times: Array) -> Array:
    """Depths (m, k, c), cut off above those that last for 0.1 s, or half of the time, altogether."""
    if len(times) < 2:
        return depth
    share = np.zeros(len(times))
    share[:-1] += 0.5 * np.diff(times)
    share[1:] += 0.5 * np.diff(times)
    least = min(LASTS, 0.5 * float(times[-1] - times[0]))
    order = np.argsort(-depth, axis=1)
    since = np.cumsum(share[order], axis=1)
    first = np.argmax(since >= (1.0 - 1e-9) * least, axis=1)[:, None]
    most = np.take_along_axis(depth, np.take_along_axis(order, first, axis=1), axis=1)
    lasting: Array = np.minimum(depth, most)
    return lasting


def _angle(R: Array, up: Array) -> Array:
    """Angles (m, k) by which what points up at the start is tilted, from rotations (m, k, 3, 3)."""
    first = np.einsum("mji,j->mi", R[:, 0], up)
    now = np.einsum("mkij,mj->mki", R, first)
    angle: Array = np.arctan2(np.linalg.norm(np.cross(now, up), axis=-1), now @ up)
    return angle


def _underside(poses: Poses, point: ContactPoint, normal: Array) -> Array:
    """Places (..., 3) of a contact point, or of what of its sphere or ellipsoid reaches farthest down."""
    R, p = poses[point.body]
    place: Array = p + (R @ point.lowest(np.swapaxes(R, -1, -2) @ normal)[..., None])[..., 0]
    return place


def _places(poses: Poses, points: list[tuple[str, Array]]) -> Array:
    """Points of bodies or frames in the world, (..., points, 3)."""
    found = []
    for body, place in points:
        R, p = poses[body]
        found.append(p + R @ place)
    return np.stack(found, axis=-2)
