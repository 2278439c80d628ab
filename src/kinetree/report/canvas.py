"""Matplotlib 3-D axes as paper for mechanisms: the view, the scale, the ground and the marks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.forms import SAME_POINT
from kinetree.report.label_places import box_distance, label_places
from kinetree.report.palette import (
    ALERT,
    AXIS_COLORS,
    GROUND,
    INK,
    MUSCLE,
    OBSTACLE,
    PAPER,
    PATH,
    module_color,
)
from kinetree.report.skeleton import BodyMark, JointMark, Skeleton, extent

AIR = 1.12  # the picture's width beside that of what it shows
FULL_SIZE = 3.5  # inches: on smaller axes lines and marks get smaller too
PEDESTAL = [(0.0, 0.0), (-0.7, -1.0), (0.7, -1.0), (0.0, 0.0)]
FLAT = 12  # faces of a body above which it is round: its skin is drawn with light and shade
COILS = 5  # of a spring
LABEL_SIZE = 7  # points
MANY_JOINTS = 20  # from which on only those that move are named
LONGEST_LABEL = 36  # letters in a line
NEAR = 0.5  # of the size: how far the picture goes on for what is around the mechanism
ROUND_STEPS = (1.0, 2.0, 5.0, 10.0)


class Canvas:
    """Axes set up for some poses: seen along the normal if planar, else from the front and above."""

    def __init__(
        self,
        ax: Any,
        shots: list[Skeleton],
        gravity: Array,
        view: tuple[float, float] | None,
        *,
        height: float | None = None,
        seen: tuple[float, float] = (1.0, 1.0),
        also: Array | None = None,
        marks: bool = False,
        stands: bool = True,
    ) -> None:
        """``height`` of the ground (m), or of a grid that is none (not ``stands``); ``seen``: the parts of
        the square axes' sides that are on paper; ``also``: points (k, 3) that are to be within the picture,
        too; ``marks``: draw those of joints and centers of mass also over bodies that are drawn as they look.
        """
        self.ax, self.seen, self.marks, self.stands = ax, np.array(seen), marks, stands
        points = np.concatenate([x for shot in shots for x in (shot.points, shot.corners)])
        self.size = extent(points)
        self.normal = shots[0].normal if all(shot.normal is not None for shot in shots) else None
        self.up = _up_axis(gravity)
        self.grounded = shots[0].grounded
        self.height = 0.0 if self.grounded else float(points[:, self.up].min())
        self.height = self.height if height is None else height
        elevation, azimuth, vertical = _view(self.normal, self.up)
        if view is not None:
            elevation, azimuth = view
        self.right, self.above, self.towards = _screen(elevation, azimuth, vertical)
        ax.view_init(elev=elevation, azim=azimuth, vertical_axis="xyz"[vertical])
        ax.set_proj_type("ortho")
        ax.set_axis_off()
        ax.computed_zorder = False
        self.step = grid_step(self.size)
        inches = min(ax.bbox.width, ax.bbox.height) / ax.figure.dpi
        self.pen = float(np.clip(inches / FULL_SIZE, 0.6, 1.0))
        self.tips = self._world_axes(points)
        self.drawn = np.concatenate([points, self.tips])
        low, high = points.min(axis=0) - NEAR * self.size, points.max(axis=0) + NEAR * self.size
        more = np.zeros((0, 3)) if also is None else np.clip(also, low, high)
        self._fit(np.concatenate([points, self._floor(points), self.tips, more]))

    def _world_axes(self, points: Array) -> Array:
        """Tips of the world's axes (3, 3), or none (0, 3) if the world's origin is far from the mechanism."""
        room = (1.0 if self.grounded else 0.3) * self.size
        near = bool(np.all(points.min(axis=0) <= room) and np.all(points.max(axis=0) >= -room))
        return 0.12 * self.size * np.eye(3) if near else np.zeros((0, 3))

    def _floor(self, points: Array) -> Array:
        """What the ground adds to the picture in space: its corners below the mechanism, (k, 3)."""
        if self.normal is not None:
            return np.zeros((0, 3))
        low, high = points.min(axis=0), points.max(axis=0)
        middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 0.2 * self.size)
        corners = middle + half * np.array([[-1, -1, -1], [-1, 1, 1], [1, -1, 1], [1, 1, -1]])
        snapped = np.where(corners < middle, np.floor(corners / self.step), np.ceil(corners / self.step))
        floor: Array = snapped * self.step
        floor[:, self.up] = self.height
        return floor

    def _fit(self, points: Array) -> None:
        """Equal scales on all axes, and all points within the square picture with some air."""
        low, high = points.min(axis=0), points.max(axis=0)
        self.low, self.high, self.middle = low, high, 0.5 * (low + high)
        seen = np.column_stack([points @ self.right, points @ self.above])
        half = 0.5 * AIR * max(self.size, float((np.ptp(seen, axis=0) / self.seen).max()))
        shift = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        self.half, self.shift = half, shift
        center = shift[0] * self.right + shift[1] * self.above + self.towards * (self.towards @ self.middle)
        limits = np.column_stack([center - half, center + half])
        self.ax.set(xlim=limits[0], ylim=limits[1], zlim=limits[2])
        self.ax.set_box_aspect((1, 1, 1))
        width = 2 * half * abs(self._on_paper(center + self.right) - self._on_paper(center))
        self.ax.set_box_aspect((1, 1, 1), zoom=float(self.ax.viewLim.width / width))
        if self.normal is not None:
            self.low, self.high = limits.T

    def _on_paper(self, point: Array) -> float:
        """Horizontal coordinate of a point on the axes' paper."""
        homogeneous = self.ax.get_proj() @ np.append(point, 1.0)
        return float(homogeneous[0] / homogeneous[3])

    def _depth(self, points: Array) -> float:
        """How near points (k, 3) are to the eye, between 0 and 1."""
        near = self.towards @ (points.mean(axis=0) - self.middle)
        return float(np.clip(0.5 + 0.5 * near / (np.sqrt(3) * self.size), 0.0, 1.0))

    def _lines(self, lines: Any, **style: Any) -> Any:
        from mpl_toolkits.mplot3d.art3d import Line3DCollection  # type: ignore[import-untyped]

        return self.ax.add_collection3d(Line3DCollection(lines, **style))

    def obstacles(self, faces: Sequence[Array]) -> None:
        """What a motion keeps out of: clear polygons (k, 3), behind all that moves."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        if len(faces):
            style = {"facecolors": OBSTACLE, "edgecolors": OBSTACLE, "linewidths": 0.4, "alpha": 0.3}
            self.ax.add_collection3d(Poly3DCollection(faces, zorder=0.6, **style))

    # ---- the ground -----------------------------------------------------------------------------------

    def ground(self) -> None:
        """Grid on the ground, or in the plane of a planar mechanism, and the world's axes."""
        across = self.up if self.normal is None else int(np.argmax(self.normal))
        height = self.height if self.normal is None else 0.0
        lines = _grid(self.low, self.high, across, height, self.step)
        self._lines(lines, colors=GROUND, linewidths=0.5, alpha=0.45, zorder=0)
        note = f"grid {self.step:g} m"
        if not self.stands and self.normal is None:
            note += ", not a floor"
        corner = 0.5 + np.array([0.49, -0.49]) * self.seen
        self.ax.text2D(*corner, note, transform=self.ax.transAxes, ha="right", fontsize=7.5, color=GROUND)
        for k, tip in enumerate(self.tips):
            if self.normal is not None and k == across:
                continue
            color = AXIS_COLORS[k]
            self._lines([[np.zeros(3), tip]], colors=color, linewidths=1.4, zorder=1)
            self.ax.text(*(1.25 * tip), "xyz"[k], color=color, fontsize=8, ha="center", va="center", zorder=1)

    def _pedestal(self, seat: Array, zorder: float) -> None:
        """What a joint stands on: a triangle with its tip in the joint, or on the ground below it."""
        foot = seat.copy()
        if self.normal is None:
            foot[self.up] = self.height
            if abs(foot[self.up] - seat[self.up]) > 0.02 * self.size:
                self._lines(
                    [[foot, seat]], colors=GROUND, linewidths=6.0 * self.pen, zorder=1.5, capstyle="butt"
                )
        self.ax.scatter(
            *foot[:, None], marker=PEDESTAL, s=480 * self.pen**2, c=GROUND, linewidths=0, zorder=zorder
        )

    # ---- the mechanism --------------------------------------------------------------------------------

    def skeleton(self, shot: Skeleton, strength: float = 1.0, layer: int = 0) -> None:
        """One pose; below full strength it is a faint one without marks for points."""
        base = 2.0 + 3.0 * layer
        self._looks(shot, strength, base + 0.5)
        for body in shot.bodies:
            self._body(body, strength, base)
        for joint in shot.joints:
            if self.marks or not joint.covered:
                self._joint(joint, strength, base)
        if strength == 1.0:
            self._points(shot, base + 2.0)

    def _looks(self, shot: Skeleton, strength: float, zorder: float) -> None:
        """Bodies as their description shows them, together, so that the nearer hides what is behind it."""
        from matplotlib.colors import to_rgb

        from kinetree.report.solids_artist import placed_solids

        parts = [
            (
                solid,
                x.place.rotation,
                x.place.position,
                np.array(to_rgb(solid.color or module_color(x.module))),
            )
            for x in shot.bodies
            if x.look is not None
            for solid in x.look.solids
        ]
        artist = placed_solids(parts, strength, zorder)
        if artist is not None:
            self.ax.add_artist(artist)

    def labels(self, shot: Skeleton) -> None:
        """The joints' names beside them, with a thin line where they stand apart; one place, one label.

        Where there are many joints, those that do not move have no label.
        """
        from matplotlib.patheffects import Normal, Stroke

        many = len(shot.joints) > MANY_JOINTS
        names: dict[tuple[float, ...], list[str]] = {}
        for joint in shot.joints:
            if not joint.kind.is_free and not (many and joint.kind.is_fixed):
                names.setdefault(tuple(joint.position.round(6)), []).append(joint.name)
        if not names:
            return
        places, texts = np.array(list(names)), [_label(group) for group in names.values()]
        sizes = np.array([[0.62 * max(map(len, x.split("\n"))), 1.25 * (1 + x.count("\n"))] for x in texts])
        corners = label_places(
            self._in_points(places), LABEL_SIZE * sizes, tuple(self.page), self._in_points(shot.points)
        )
        marks, sizes = self._in_points(places), LABEL_SIZE * sizes
        for k, (place, text, corner) in enumerate(zip(places, texts, corners, strict=True)):
            low = self._in_world(corner, place)
            gaps = box_distance(marks, corner, corner + sizes[k])
            if gaps[k] > min(1.5 * LABEL_SIZE, np.delete(gaps, k).min(initial=np.inf)):
                end = self._in_world(np.clip(marks[k], corner, corner + sizes[k]), place)
                self._lines([[place, end]], colors=INK, linewidths=0.5, zorder=89)
            style = {"fontsize": LABEL_SIZE, "color": INK, "zorder": 90, "parse_math": False}
            label = self.ax.text(*low, text, va="bottom", ha="left", linespacing=1.0, **style)
            label.set_path_effects([Stroke(linewidth=2.2, foreground=PAPER, alpha=0.85), Normal()])

    @property
    def page(self) -> Array:
        """Width and height of what is seen, in points."""
        box = self.ax.bbox
        found: Array = self.seen * np.array([box.width, box.height]) * 72.0 / self.ax.figure.dpi
        return found

    @property
    def per_point(self) -> float:
        """Meters per point of the paper."""
        box = self.ax.bbox
        return float(2.0 * self.half * self.ax.figure.dpi / (72.0 * min(box.width, box.height)))

    def _in_points(self, places: Array) -> Array:
        """Points of the world (k, 3) on the paper (k, 2), from its lower left corner, in points."""
        flat = np.column_stack([places @ self.right, places @ self.above]) - self.shift
        found: Array = flat / self.per_point + 0.5 * self.page
        return found

    def _in_world(self, point: Array, beside: Array) -> Array:
        """The place (3,) in the world of a point (2,) of the paper, at the depth of another place."""
        across, along = (point - 0.5 * self.page) * self.per_point + self.shift
        found: Array = across * self.right + along * self.above + (beside @ self.towards) * self.towards
        return found

    def _body(self, body: BodyMark, strength: float, base: float) -> None:
        from matplotlib.patheffects import Normal, Stroke
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        if body.look is not None:
            return
        color = module_color(body.module)
        if len(body.faces) > FLAT and all(len(face) == 4 for face in body.faces):
            self._skin(np.array(body.faces), color, strength, base)
            return
        if body.faces:
            plate = Poly3DCollection(body.faces, facecolors=color, edgecolors=color, linewidths=1.0)
            plate.set(alpha=0.35 * strength, zorder=base + self._depth(np.concatenate(body.faces)))
            self.ax.add_collection3d(plate)
        if strength == 1.0 and body.mass > 0:
            self._lines([[body.origin, body.center]], colors=INK, linewidths=0.8, linestyles=":", zorder=base)
        for line in body.lines:
            link = self._lines(
                [line], colors=color, linewidths=4.0 * self.pen, alpha=strength, capstyle="round"
            )
            link.set_zorder(base + self._depth(line))
            if strength == 1.0:
                link.set_path_effects([Stroke(linewidth=4.0 * self.pen + 1.4, foreground=INK), Normal()])

    def _skin(self, faces: Array, color: str, strength: float, base: float) -> None:
        """Round shapes (k, 4, 3): what faces the eye, lighter where it faces the light."""
        from matplotlib.colors import to_rgb
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        normal = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
        length = np.linalg.norm(normal, axis=1)
        normal /= np.maximum(length, 1e-30)[:, None]
        seen = (normal @ self.towards > -0.05) & (length > 0.0)
        light = self.towards + 0.8 * self.above - 0.5 * self.right
        shine = np.clip(normal[seen] @ (light / np.linalg.norm(light)), 0.0, 1.0)[:, None]
        dark, full = 0.55 * np.array(to_rgb(color)), 0.75 * np.array(to_rgb(color)) + 0.25
        colors = np.append(dark + shine * (full - dark), np.full((len(shine), 1), 0.9 * strength), axis=1)
        skin = Poly3DCollection(faces[seen], facecolors=colors, edgecolors=colors, linewidths=0.3)
        skin.set(zorder=base + self._depth(faces.reshape(-1, 3)))
        self.ax.add_collection3d(skin)

    def _joint(self, joint: JointMark, strength: float, base: float) -> None:
        if joint.kind.is_free:
            return
        depth = base + 0.2 + self._depth(joint.position[None, :])
        rail = [[joint.seat, joint.position]]
        if np.linalg.norm(joint.position - joint.seat) > SAME_POINT:
            self._lines(rail, colors=INK, linewidths=1.2, linestyles="--", alpha=strength, zorder=depth)
        if strength < 1.0:
            self._joint_marker(joint, 0.25, strength, depth)
            return
        if joint.grounded:
            self._pedestal(joint.seat, 1.6 if self.normal is None else depth - 0.01)
        if joint.axis is not None and self.normal is None:
            half = 0.045 * self.size * joint.axis
            axis = [[joint.position - half, joint.position + half]]
            self._lines(axis, colors=INK, linewidths=1.3, zorder=depth + 0.01)
        self._joint_marker(joint, 1.0, 1.0, depth + 0.02)

    def _joint_marker(self, joint: JointMark, size: float, alpha: float, zorder: float) -> None:
        style: dict[str, Any] = {
            "c": INK if joint.kind.marker_filled else PAPER,
            "alpha": alpha,
            "zorder": zorder,
        }
        if not joint.kind.is_fixed:  # its marker has no face
            style["edgecolors"] = INK
        area = size * 34.0 * self.pen**2 * joint.kind.marker_area
        marker = joint.kind.marker
        self.ax.scatter(
            *joint.position[:, None], marker=marker, s=area, linewidths=1.2, depthshade=False, **style
        )

    def _points(self, shot: Skeleton, zorder: float) -> None:
        style: dict[str, Any] = {"depthshade": False, "zorder": zorder}
        heavy = shot.weights(self.marks)
        if heavy:
            masses = np.array([body.mass for body in heavy])
            centers = np.array([body.center for body in heavy]).T
            self.ax.scatter(
                *centers, s=self.pen**2 * (4 + 12 * masses / masses.max()), c=INK, linewidths=0, **style
            )
        if len(shot.contacts) and (self.marks or not shot.has_looks):
            self.ax.scatter(*shot.contacts.T, marker="v", s=16 * self.pen**2, c=ALERT, linewidths=0, **style)
        for spring in shot.springs:
            line = zigzag(spring.at_a, spring.at_b, self.towards, 0.02 * self.size)
            pieces = [[start, end] for start, end in pairwise(line)]
            self._lines(pieces, colors=INK, linewidths=1.1 * self.pen, zorder=zorder)
        muscles = [[start, end] for path in shot.muscles for start, end in pairwise(path)]
        if muscles:
            self._lines(muscles, colors=MUSCLE, linewidths=1.3 * self.pen, alpha=0.75, zorder=zorder)
        for loop in shot.loops:
            self._lines([[loop.at_a, loop.at_b]], colors=ALERT, linestyles=":", linewidths=1.4, zorder=zorder)
            ends = np.array([loop.at_a, loop.at_b]).T
            self.ax.scatter(
                *ends, s=70 * self.pen**2, facecolors="none", edgecolors=ALERT, linewidths=1.5, **style
            )

    def path(self, points: Array) -> None:
        """The path (k, 3) that a named frame has gone, with a dot where it is."""
        self._lines([points], colors=PATH, linewidths=1.4 * self.pen, zorder=79)
        self.ax.scatter(*points[-1:].T, color=PATH, s=16, depthshade=False, zorder=79)

    def arrows(self, at: Array, vectors: Array, color: str) -> None:
        """Arrows (k, 3) that begin at points (k, 3), with heads that keep their size on the picture."""
        for start, vector in zip(at, vectors, strict=True):
            length = float(np.linalg.norm(vector))
            if length < 0.01 * self.size:
                continue
            along = vector / length
            across = np.cross(along, self.towards)
            across /= max(float(np.linalg.norm(across)), 1e-9)
            head = min(0.04 * self.size, 0.5 * length)
            tip, neck = start + vector, start + vector - head * along
            barbs = [[tip, neck + 0.4 * head * across], [tip, neck - 0.4 * head * across]]
            self._lines([[start, tip], *barbs], colors=color, linewidths=1.8 * self.pen, zorder=80)


def _label(names: list[str]) -> str:
    """Names of joints in one place, in lines of some length."""
    lines = [""]
    for name in names:
        joined = f"{lines[-1]}, {name}" if lines[-1] else name
        if lines[-1] and len(joined) > LONGEST_LABEL:
            lines[-1] += ","
            lines.append(name)
        else:
            lines[-1] = joined
    return "\n".join(lines)


def zigzag(start: Array, end: Array, towards: Array, width: float) -> Array:
    """Points (k, 3) of a spring drawn between two points, across the direction to the eye."""
    along = end - start
    across = np.cross(towards, along)
    length = float(np.linalg.norm(across))
    if length < 1e-12:
        return np.array([start, end])
    places = np.concatenate([[0.0, 0.2], np.linspace(0.2, 0.8, 2 * COILS + 1)[1:-1], [0.8, 1.0]])
    sides = np.concatenate([[0.0, 0.0], np.tile([1.0, -1.0], COILS)[: 2 * COILS - 1], [0.0, 0.0]])
    line: Array = start + places[:, None] * along + (width / length) * sides[:, None] * across
    return line


def _up_axis(gravity: Array) -> int:
    """The coordinate axis that gravity follows, or z."""
    return int(np.argmax(np.abs(gravity))) if np.any(gravity) else 2


def _view(normal: Array | None, up: int) -> tuple[float, float, int]:
    """Elevation, azimuth (deg) and the vertical axis that matplotlib turns about."""
    if normal is None:
        return 20.0, -58.0, up
    along = int(np.argmax(normal))
    if along == 2:
        return 90.0, -90.0, 2
    return 0.0, -90.0 if along == 1 else 0.0, 2


def _screen(elevation: float, azimuth: float, vertical: int) -> tuple[Array, Array, Array]:
    """Unit vectors (3,) in the world: to the right and up on the picture, and from it to the eye."""
    e, a = np.radians(elevation), np.radians(azimuth)
    right = np.array([-np.sin(a), np.cos(a), 0.0])
    above = np.array([-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e)])
    towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
    turn = vertical - 2
    return np.roll(right, turn), np.roll(above, turn), np.roll(towards, turn)


def grid_step(size: float) -> float:
    """A round distance of which the mechanism's size holds about five."""
    power = 10.0 ** np.floor(np.log10(size / 5))
    return float(min((step * power for step in ROUND_STEPS), key=lambda step: abs(step - size / 5)))


def _grid(low: Array, high: Array, across: int, height: float, step: float) -> list[Array]:
    """Lines at multiples of the step between two corners, in the plane at a height across an axis."""
    first, second = (k for k in range(3) if k != across)
    lines = []
    for a, b in ((first, second), (second, first)):
        for x in step * np.arange(np.ceil(low[a] / step - 1e-9), np.floor(high[a] / step + 1e-9) + 1):
            line = np.full((2, 3), height)
            line[:, a], line[:, b] = x, (low[b], high[b])
            lines.append(line)
    return lines
