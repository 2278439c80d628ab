"""The geoms of a compiled MuJoCo model as shapes for drawing."""

from __future__ import annotations

import os
from pathlib import Path

from kinetree.algebra.arrays import frozen
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.mjcf_compiled import CompiledModel, placement_from
from kinetree.formats.xml_file import Element
from kinetree.model.body import Shape

DRAWN_GROUPS = (0, 1, 2)  # MuJoCo's viewer hides the others unless asked


class ShapeReader:
    """Makes the shapes of bodies; boxes, cylinders, capsules, spheres, and meshes whose file is known.

    A mesh with a reference pose of its own is passed over: the file does not show it where the body has it.
    """

    def __init__(self, compiled: CompiledModel, inside: MeshFolder, elements: list[Element]) -> None:
        self.compiled, self.inside = compiled, inside
        self.moved = {
            Path(x.attributes.get("file", "")).name
            for x in elements
            if x.tag == "mesh" and {"refpos", "refquat"} & x.attributes.keys()
        }

    def shapes_of(self, b: int) -> tuple[Shape, ...]:
        """The shapes of body b, of those geoms that MuJoCo draws by itself."""
        m = self.compiled.m
        first = int(m.body_geomadr[b])
        geoms = range(first, first + int(m.body_geomnum[b]))
        made = [self._shape(g) for g in geoms if m.geom_group[g] in DRAWN_GROUPS]
        return tuple(shape for shape in made if shape is not None)

    def _shape(self, g: int) -> Shape | None:
        m = self.compiled.m
        x, y, z = (float(size) for size in m.geom_size[g])
        place = placement_from(m.geom_pos[g], m.geom_quat[g], f"geom {g}")
        kind = self.compiled.label("mjtGeom", m.geom_type[g])
        if kind == "mesh":
            return self._mesh(g)
        sizes = {"box": (2 * x, 2 * y, 2 * z), "cylinder": (x, 2 * y), "capsule": (x, 2 * y), "sphere": (x,)}
        sizes["ellipsoid"] = (x, y, z)
        return Shape(kind, frozen(sizes[kind]), place) if kind in sizes else None

    def _mesh(self, g: int) -> Shape | None:
        """A mesh by its file; MuJoCo moves its frame to the centre of mass, this moves it back."""
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
        return Shape("mesh", m.mesh_scale[mesh], place, file.as_posix())
