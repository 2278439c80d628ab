"""Mesh files with a scene inside, .dae (COLLADA) and .glb (glTF), as colored triangles.

The package trimesh reads them, with pycollada for .dae (extra ``meshes``). The unit of a COLLADA file is
applied. Its upward axis is not: robot descriptions place meshes by their coordinates, as ROS shows them.
"""

from __future__ import annotations

import io
import warnings
from typing import Any

import numpy as np

from kinetree.errors import FileError, MissingExtraError
from kinetree.formats.surface import MeshSurface, hex_color
from kinetree.formats.xml_file import parse_xml

MOST_PARTS = 2000


def dae_surfaces(content: bytes, name: str) -> list[MeshSurface]:
    """The surfaces of a COLLADA file; one with entities or a document type is refused before it is read."""
    root = parse_xml(content, name)
    asset = next((child for child in root.children if _plain(child.tag) == "asset"), None)
    units = [child for child in asset.children if _plain(child.tag) == "unit"] if asset is not None else []
    scale = units[0].number("meter", 1.0) if units else 1.0
    if not (np.isfinite(scale) and scale > 0.0):
        raise FileError(f"{name}: its unit is {scale:g} m; it must be greater than 0")
    return _surfaces(content, "dae", scale, name)


def glb_surfaces(content: bytes, name: str) -> list[MeshSurface]:
    """The surfaces of a binary glTF file, by their coordinates as they are."""
    return _surfaces(content, "glb", 1.0, name)


def _plain(tag: str) -> str:
    return tag.rpartition("}")[2]


def _surfaces(content: bytes, kind: str, scale: float, name: str) -> list[MeshSurface]:
    try:
        import trimesh

        if kind == "dae":
            import collada  # type: ignore[import-untyped]  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(error.name or "trimesh", "meshes", f"drawing .{kind} meshes") from None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            scene: Any = trimesh.load(io.BytesIO(content), file_type=kind, force="scene", process=False)
            parts = scene.dump(concatenate=False)
    except Exception as error:  # a reader of another package may fail in any way on a damaged file
        said = " ".join(str(error).split())[:200] or type(error).__name__
        raise FileError(f"{name}: is not a readable mesh file: {said}") from None
    if len(parts) > MOST_PARTS:
        raise FileError(f"{name}: has {len(parts)} parts; at most {MOST_PARTS} are drawn")
    found = []
    for part in parts:
        if not hasattr(part, "faces") or not len(part.faces):
            continue
        corners = np.asarray(part.vertices, dtype=np.float64) * scale
        found.append(MeshSurface(corners, np.asarray(part.faces, dtype=np.int64), _color(part)))
    return found


def _color(part: Any) -> str | None:
    """The main color of a part; its texture or the colors of its corners are averaged."""
    try:
        visual = part.visual
        material = getattr(visual, "material", None)
        if material is None:
            if getattr(visual, "defined", False):
                return hex_color(np.asarray(visual.face_colors, dtype=np.float64).mean(axis=0) / 255.0)
            return None
        picture = getattr(material, "image", None) or getattr(material, "baseColorTexture", None)
        if picture is not None:
            small = np.asarray(picture.convert("RGB").resize((8, 8)), dtype=np.float64)
            return hex_color(small.reshape(-1, 3).mean(axis=0) / 255.0)
        return hex_color(np.asarray(material.main_color, dtype=np.float64) / 255.0)
    except (AttributeError, ValueError, TypeError, IndexError):
        return None
