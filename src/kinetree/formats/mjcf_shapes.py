"""The geoms of a compiled MuJoCo model as shapes for drawing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.mjcf_compiled import CompiledModel, placement_from
from kinetree.formats.xml_file import Element
from kinetree.model.body import Shape

DRAWN_GROUPS = (0, 1, 2)  # MuJoCo's viewer hides the others by default
PLAIN = np.array([0.5, 0.5, 0.5, 1.0], dtype=np.float32)  # a geom's color unless it is given
Color = tuple[float, float, float, float]


class ShapeReader:
    """Makes the shapes of bodies; boxes, cylinders, capsules, spheres, and meshes whose file is known.

    A mesh with its own reference pose is ignored: the file does not show it where the body has it.
    """

    def __init__(self, compiled: CompiledModel, inside: MeshFolder, elements: list[Element]) -> None:
        self.compiled, self.inside = compiled, inside
        self._textures: dict[int, Array] = {}
        self.moved = {
            Path(x.attributes.get("file", "")).name
            for x in elements
            if x.tag == "mesh" and {"refpos", "refquat"} & x.attributes.keys()
        }

    def shapes_of(self, b: int) -> tuple[Shape, ...]:
        """The shapes of body b, of those geoms that MuJoCo draws by itself.

        Where a body has geoms that only show it, groups with none of these are there for contact alone.
        """
        m = self.compiled.m
        first = int(m.body_geomadr[b])
        geoms = range(first, first + int(m.body_geomnum[b]))
        drawn = [g for g in geoms if m.geom_group[g] in DRAWN_GROUPS and self._color(g)[3] > 0.0]
        shown = {int(m.geom_group[g]) for g in drawn if not (m.geom_contype[g] or m.geom_conaffinity[g])}
        made = [self._shape(g) for g in drawn if not shown or int(m.geom_group[g]) in shown]
        return tuple(shape for shape in made if shape is not None)

    def _color(self, g: int) -> Color:
        """The color of a geom or of its material, which a texture is averaged into."""
        m = self.compiled.m
        material = int(m.geom_matid[g])
        own = np.array(m.geom_rgba[g], dtype=np.float64)
        if material < 0:
            return _clipped(own)
        plain = np.array_equal(own, PLAIN)
        color = np.array(m.mat_rgba[material], dtype=np.float64) if plain else own
        texture = next((int(t) for t in np.ravel(m.mat_texid[material]) if t >= 0), -1)
        if texture >= 0:
            color[:3] *= self._texture_color(texture)
        return _clipped(color)

    def _texture_color(self, texture: int) -> Array:
        """The mean color (3,) of a texture, from 0 to 1."""
        if texture not in self._textures:
            m = self.compiled.m
            channels, start = int(m.tex_nchannel[texture]), int(m.tex_adr[texture])
            count = int(m.tex_width[texture]) * int(m.tex_height[texture])
            pixels = m.tex_data[start : start + channels * count].reshape(-1, channels)
            mean = np.asarray(pixels, dtype=np.float64).mean(axis=0) / 255.0
            self._textures[texture] = mean[:3] if channels >= 3 else np.full(3, mean[0])
        return self._textures[texture]

    def _shape(self, g: int) -> Shape | None:
        m = self.compiled.m
        x, y, z = (float(size) for size in m.geom_size[g])
        place = placement_from(m.geom_pos[g], m.geom_quat[g], f"geom {g}")
        kind = self.compiled.label("mjtGeom", m.geom_type[g])
        if kind == "mesh":
            return self._mesh(g)
        sizes = {"box": (2 * x, 2 * y, 2 * z), "cylinder": (x, 2 * y), "capsule": (x, 2 * y), "sphere": (x,)}
        sizes["ellipsoid"] = (x, y, z)
        if kind not in sizes:
            return None
        return Shape(kind, frozen(sizes[kind]), place, color=self._color(g))

    def _mesh(self, g: int) -> Shape | None:
        """A mesh by its file; MuJoCo moves its frame to the center of mass, this moves it back."""
        m = self.compiled.m
        mesh = int(m.geom_dataid[g])
        address = int(m.mesh_pathadr[mesh])
        if address < 0 or self.inside.root is None:
            return None
        path = os.path.abspath(m.paths[address:].split(b"\0", 1)[0].decode())
        if Path(path).name in self.moved:
            return None
        is_below = Path(path).is_relative_to(self.inside.root)
        file = Path(path).relative_to(self.inside.root) if is_below else Path(path)
        what = f"mesh '{path}'"
        centred = placement_from(m.mesh_pos[mesh], m.mesh_quat[mesh], what)
        place = placement_from(m.geom_pos[g], m.geom_quat[g], what) @ centred.inverse
        kept = file.as_posix()
        return Shape("mesh", m.mesh_scale[mesh], place, kept, self._color(g), self.inside.holding(kept))


def _clipped(values: Array) -> Color:
    red, green, blue, opacity = (float(x) for x in np.clip(values, 0.0, 1.0))
    return red, green, blue, opacity
