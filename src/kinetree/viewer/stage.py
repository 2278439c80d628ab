"""The mechanism on the page: its solids, marks, ground and forces in the browser's 3-D scene."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis
from kinetree.algebra.rotation_vector import quaternion
from kinetree.formats.surface import hex_color
from kinetree.model.body import WORLD, Shape
from kinetree.model.joint_kind import BALL, BLOCK, PIN
from kinetree.report.canvas import grid_step
from kinetree.report.frames import GroundPlane
from kinetree.report.looks import welded
from kinetree.report.obstacles import Obstacle
from kinetree.report.palette import ALERT, CENTER_COLOR, GROUND, INK, OBSTACLE, PAPER
from kinetree.report.scene import Scene, SceneBody, SceneJoint
from kinetree.report.shapes import shape_faces
from kinetree.report.solid import Solid

TERRAIN = (200, 206, 200)
FAR = 20.0  # of the mechanism's size: where endless steps of the ground end
CLEAR = 0.45  # opacity of bodies that are seen through
JOINT, POINT = 0.023, 0.011  # radius of a joint's mark and of a point, of the mechanism's size


def rgb(color: str) -> tuple[int, int, int]:
    """The three bytes of a color such as "#2f6db5".

    >>> rgb("#2f6db5")
    (47, 109, 181)
    """
    red, green, blue = (int(color[k : k + 2], 16) for k in (1, 3, 5))
    return red, green, blue


class Stage:
    """One mechanism in the scene of a viser server; ``size`` (m) scales all marks."""

    def __init__(self, server: Any, scene: Scene, size: float, root: str = "/mechanism") -> None:
        """``root`` is the name of all of it in the scene, not to be used again after it was removed."""
        self.server, self.scene, self.size, self.root = server, scene, size, root
        self._whole = server.scene.add_frame(root, show_axes=False)
        self.shifted: Array = np.zeros(3)  # how far the view has gone along
        self._bodies: list[Any] = []
        self._arrows: dict[str, Any] = {}
        self._labels: list[Any] = []
        self._solids: list[Any] = []
        self._terrain: Any = None
        self._blocks: list[Any] = []
        self._obstacles: list[Any] = []
        self._owners: list[int] = []  # the body of each solid
        for k, body in enumerate(scene.bodies):
            place = f"{self.root}/{k}"
            self._bodies.append(server.scene.add_frame(place, show_axes=False))
            self._add_body(place, body)
            self._owners += [k] * (len(self._solids) - len(self._owners))
        for k, joint in enumerate(scene.joints):
            if joint.covered:
                continue
            self._add_joint(f"{self.root}/{joint.body}/joint{k}", joint)
            if joint.grounded:
                self._add_seat(f"{self.root}/seat{k}", joint)
        sliding = [joint for joint in scene.joints if joint.kind.slides and not joint.kind.is_free]
        self._rails = [joint for joint in sliding if not joint.covered]
        self._rail_lines = self._add_lines("rails", len(self._rails), GROUND)
        self._spring_lines = self._add_lines("springs", len(scene.springs), INK)
        hidden = any(joint.covered for joint in scene.joints)
        for k, point in enumerate(() if hidden else scene.contacts):
            self._add_point(f"{self._frame(point.body)}/contact{k}", point.position)
        for k, pair in enumerate(scene.loops):
            for side, point in enumerate(pair):
                self._add_point(f"{self._frame(point.body)}/loop{k}-{side}", point.position, large=True)
        self._center = server.scene.add_icosphere(
            f"{self.root}/center", 1.6 * POINT * size, rgb(CENTER_COLOR), opacity=0.8, cast_shadow=False
        )

    def remove(self) -> None:
        """Clear the scene of all that belongs to the mechanism."""
        self.server.scene.remove_by_name(self.root)

    # ---- what moves -----------------------------------------------------------------------------------

    def pose(self, position: Array, turn: Array, center: Array) -> None:
        """Put the bodies at positions (B, 3) with quaternions (B, 4), and the mark of the center of mass."""
        with self.server.atomic():
            for frame, x, unit in zip(self._bodies, position, turn, strict=True):
                frame.position, frame.wxyz = tuple(x), tuple(unit)
            self._center.position = tuple(center)
            if self._rail_lines is not None:
                self._rail_lines.points = self._rail_points(position, turn)
            if self._spring_lines is not None:
                self._spring_lines.points = self._spring_points(position, turn)

    def arrows(self, kind: str, at: Array, vector: Array, color: str) -> None:
        """Show arrows (k, 3) that begin at points (k, 3) instead of those of the same kind before."""
        long = np.linalg.norm(vector, axis=-1) > 0.2 * POINT * self.size
        points = np.stack([at, at + vector], axis=1)[long].astype(np.float32)
        known = self._arrows.get(kind)
        if known is not None and not len(points):
            known.visible = False
        elif known is not None:
            known.points, known.colors = points, np.tile(np.array(rgb(color), np.uint8), (len(points), 1))
            known.visible = True
        elif len(points):
            thick = 0.008 * self.size
            self._arrows[kind] = self.server.scene.add_arrows(
                f"{self.root}/{kind}", points, rgb(color),
                shaft_radius=thick, head_radius=2.4 * thick, head_length=5.0 * thick,
            )  # fmt: skip

    def shift_view(self, offset: Array) -> None:
        """Let the view go along by an offset (3,) in m.

        The scene is moved instead of the eyes: these belong to the pages, which report late where they are.
        """
        self.shifted = self.shifted + offset
        self._whole.position = tuple((-self.shifted).tolist())

    def hide_arrows(self, *kinds: str) -> None:
        """Take arrows away; all unless kinds are named."""
        for kind in kinds or self._arrows:
            if kind in self._arrows:
                self._arrows[kind].visible = False

    def see_through(self, wanted: bool) -> None:
        """Draw the bodies so that what is in them is seen, or solid."""
        for solid in self._solids:
            solid.opacity = CLEAR if wanted else None

    def grab(self, dragged: Callable[[int, Any], None]) -> None:
        """Let bodies be dragged with the mouse: ``dragged(body, event)`` is called in the order of events."""
        self.let_go()
        for body, solid in zip(self._owners, self._solids, strict=True):

            async def on_drag(event: Any, body: int = body) -> None:
                dragged(body, event)

            solid.on_drag("left")(on_drag)

    def let_go(self) -> None:
        """Dragging turns the view again."""
        for solid in self._solids:
            solid.remove_drag_callback()

    def labels(self, wanted: bool) -> None:
        """Write the joints' names beside them, or take them away."""
        if wanted and not self._labels:
            self._labels = [
                self.server.scene.add_label(
                    f"{self.root}/{joint.body}/name{k}", joint.name, anchor="bottom-left"
                )
                for k, joint in enumerate(self.scene.joints)
                if not joint.kind.is_fixed
            ]
        for label in self._labels:
            label.visible = wanted

    # ---- what stays -----------------------------------------------------------------------------------

    def ground(self, plane: GroundPlane | None, low: float) -> None:
        """The grid: the ground of a simulation, else level at a height ``low`` (m), else in the plane."""
        scene = self.scene
        if plane is not None:
            normal, origin = plane.normal, plane.origin
        elif scene.normal is not None:
            normal, origin = scene.normal, -0.02 * self.size * scene.normal
        else:
            normal, origin = scene.up, low * scene.up
        step = grid_step(self.size)
        self.server.scene.add_grid(
            f"{self.root}/ground", infinite_grid=True, fade_distance=25.0 * self.size, fade_strength=2.0,
            cell_size=step, cell_color=(222, 226, 230), section_size=5.0 * step,
            section_color=(185, 193, 200),
            wxyz=_towards(normal), position=tuple(origin), plane_color=rgb(PAPER),
            shadow_opacity=0.125 if abs(normal @ scene.up) > 0.5 else 0.0,
        )  # fmt: skip

        if self._terrain is not None:
            self._terrain.remove()
            self._terrain = None
        if plane is not None and plane.terrain is not None:
            rows = plane.surface()
            self._terrain = self._mesh(
                f"{self.root}/terrain", rows.reshape(-1, 3), _cells(*rows.shape[:2]), TERRAIN, flat=False
            )
        for block in self._blocks:
            block.remove()
        blocks = () if plane is None else plane.blocks(plane.origin[None], FAR * self.size)
        self._blocks = [
            self.server.scene.add_box(
                f"{self.root}/block{k}", TERRAIN, tuple(block.size), **_placed(block.placement)
            )
            for k, block in enumerate(blocks)
        ]

    def obstacles(self, found: Sequence[Obstacle]) -> None:
        """What a motion keeps out of, clear, in place of those before."""
        for old in self._obstacles:
            old.remove()
        names = [body.name for body in self.scene.bodies]
        self._obstacles = []
        for k, one in enumerate(found):
            place = self.root if one.body == WORLD else f"{self.root}/{names.index(one.body)}"
            corners, triangles = welded(shape_faces(one.shape))
            self._obstacles.append(
                self.server.scene.add_mesh_simple(
                    f"{place}/obstacle{k}", corners.astype(np.float32), triangles.astype(np.uint32),
                    color=rgb(OBSTACLE), opacity=0.4, side="double", flat_shading=True,
                )
            )  # fmt: skip

    def _add_body(self, place: str, body: SceneBody) -> None:
        for k, shape in enumerate(body.shapes):
            color = body.color if shape.color is None else hex_color(np.array(shape.color))
            self._add_shape(f"{place}/shape{k}", shape, rgb(color))
        for k, solid in enumerate(body.solids):
            if len(solid.triangles):
                self._add_mesh(
                    f"{place}/solid{k}", *_parted(solid), rgb(solid.color or body.color), flat=False
                )

    def _add_shape(self, name: str, shape: Shape, color: tuple[int, int, int]) -> None:
        api, size, place = self.server.scene, shape.size, _placed(shape.placement)
        if shape.kind == "box":
            self._solids.append(api.add_box(name, color, tuple(size), **place))
        elif shape.kind == "sphere":
            self._solids.append(api.add_icosphere(name, float(size[0]), color, **place))
        elif shape.kind == "cylinder":
            self._solids.append(api.add_cylinder(name, float(size[0]), float(size[1]), color, **place))
        else:
            self._add_mesh(name, *welded(shape_faces(shape)), color, flat=False)

    def _add_mesh(
        self, name: str, corners: Array, triangles: Array, color: tuple[int, int, int], flat: bool
    ) -> None:
        self._solids.append(self._mesh(name, corners, triangles, color, flat))

    def _mesh(
        self, name: str, corners: Array, triangles: Array, color: tuple[int, int, int], flat: bool
    ) -> Any:
        return self.server.scene.add_mesh_simple(
            name, corners.astype(np.float32), triangles.astype(np.uint32),
            color=color, side="double", flat_shading=flat,
        )  # fmt: skip

    def _add_joint(self, name: str, joint: SceneJoint) -> None:
        api, radius, ink = self.server.scene, JOINT * self.size, rgb(INK)
        turn = {} if joint.axis is None else {"wxyz": _towards(joint.axis)}
        if joint.kind.solid == PIN:
            api.add_cylinder(name, radius, 2.6 * radius, ink, **turn)
        elif joint.kind.solid == BLOCK:
            api.add_box(name, ink, (1.8 * radius, 1.8 * radius, 2.4 * radius), **turn)
        elif joint.kind.solid == BALL:
            api.add_icosphere(name, radius, ink)

    def _add_seat(self, name: str, joint: SceneJoint) -> None:
        """What a joint stands on: a plate below it, or a column from the ground."""
        radius, up, api = JOINT * self.size, self.scene.up, self.server.scene
        height = float(joint.seat @ up)
        turn = {"wxyz": _towards(up)}
        if self.scene.normal is not None or height < 4.0 * radius:
            below = tuple(joint.seat - 1.8 * radius * up)
            api.add_box(name, rgb(GROUND), (4.0 * radius, 4.0 * radius, 0.8 * radius), position=below, **turn)
            return
        middle, foot = joint.seat - 0.5 * height * up, joint.seat - (height - 0.4 * radius) * up
        api.add_cylinder(name, 0.9 * radius, height, rgb(GROUND), position=tuple(middle), **turn)
        api.add_cylinder(
            f"{name}-foot", 2.4 * radius, 0.8 * radius, rgb(GROUND), position=tuple(foot), **turn
        )

    def _add_point(self, name: str, position: Array, *, large: bool = False) -> None:
        radius = (1.6 if large else 1.0) * POINT * self.size
        self.server.scene.add_icosphere(name, radius, rgb(ALERT), position=tuple(position), cast_shadow=False)

    def _add_lines(self, name: str, count: int, color: str) -> Any:
        if not count:
            return None
        points = np.zeros((count, 2, 3), np.float32)
        thick = 0.3 * JOINT * self.size
        return self.server.scene.add_line_segments(f"{self.root}/{name}", points, rgb(color), thickness=thick)

    def _rail_points(self, position: Array, turn: Array) -> Array:
        """From a prismatic joint's seat on the parent to its body, (k, 2, 3)."""
        ends = []
        for joint in self._rails:
            seat = joint.seat
            if joint.parent >= 0:
                seat = position[joint.parent] + _rotated(turn[joint.parent], joint.seat)
            ends.append([seat, position[joint.body]])
        return np.array(ends, dtype=np.float32)

    def _spring_points(self, position: Array, turn: Array) -> Array:
        """Both ends of every spring, (k, 2, 3)."""
        ends = [
            [
                x.position if x.body < 0 else position[x.body] + _rotated(turn[x.body], x.position)
                for x in pair
            ]
            for pair in self.scene.springs
        ]
        return np.array(ends, dtype=np.float32)

    def _frame(self, body: int) -> str:
        return self.root if body < 0 else f"{self.root}/{body}"


def _placed(placement: Placement) -> dict[str, Any]:
    return {"wxyz": tuple(quaternion(placement.rotation)), "position": tuple(placement.position)}


def _towards(axis: Array) -> tuple[float, ...]:
    """The turn (w, x, y, z) of z into a direction."""
    return tuple(quaternion(rotation_to_axis(axis / np.linalg.norm(axis))).tolist())


def _rotated(unit: Array, vector: Array) -> Array:
    """A vector (3,) turned by a quaternion (w, x, y, z)."""
    w, u = unit[0], unit[1:]
    turned: Array = vector + 2.0 * np.cross(u, np.cross(u, vector) + w * vector)
    return turned


def _cells(n: int, m: int) -> Array:
    """Triangles (k, 3) between n rows of m places."""
    first = (np.arange(n - 1)[:, None] * m + np.arange(m - 1)).ravel()
    return np.concatenate([first[:, None] + [0, m, m + 1], first[:, None] + [0, m + 1, 1]])


def _parted(solid: Solid) -> tuple[Array, np.ndarray]:
    """Corners and triangles that share a corner only where the surface is smooth, so that edges are seen."""
    corners = solid.corners[solid.triangles].reshape(-1, 3)
    rows = np.column_stack([corners, solid.normals.reshape(-1, 3).round(3)])
    _, first, number = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return corners[first], number.reshape(-1, 3)
