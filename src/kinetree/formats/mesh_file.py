"""Mesh files of a description as triangles, read from one folder and never from outside it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from kinetree.errors import FileError
from kinetree.formats.mesh_home import LARGEST_MESH, file_digest
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.mesh_scene import dae_surfaces, glb_surfaces
from kinetree.formats.regular_file import PathLike, check_is_file, file_content
from kinetree.formats.surface import MeshSurface, hex_color, used_corners
from kinetree.formats.xml_file import parse_xml
from kinetree.model.body import Shape

MOST_TRIANGLES = 1_000_000  # of one file
FARTHEST = 1e12  # m, of a corner
OWN_COLORS = (".dae", ".glb")  # whose colors count before those of the description
STL_HEAD, STL_RECORD = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])
PLACE = "a mesh"


def mesh_surfaces(shape: Shape, folder: PathLike | None = None) -> list[MeshSurface]:
    """The surfaces of a mesh in the frame of its body, in the colors of the file or of the shape.

    It is looked for in ``folder``, or else in the shape's own; an error says why it cannot be drawn.
    """
    path = _path(shape, folder)
    suffix = path.suffix.lower()
    given = None if shape.color is None else hex_color(np.array(shape.color))
    place, mirrored = shape.placement, bool(np.prod(shape.size) < 0.0)
    made = []
    for part in _read(path):
        corners = (part.corners * shape.size) @ place.rotation.T + place.position
        triangles = part.triangles[:, ::-1] if mirrored else part.triangles
        color = (part.color or given) if suffix in OWN_COLORS else (given or part.color)
        made.append(MeshSurface(corners, triangles, color))
    return made


def _path(shape: Shape, folder: PathLike | None) -> Path:
    """Where the file of a mesh is, never outside its folder; one that a result remembers is unchanged."""
    where = shape.folder if folder is None else folder
    if where is None:
        raise FileError(f"mesh file '{shape.file}': its folder is not known")
    home = MeshFolder.only(where)
    assert home.root is not None
    path = home.root / home.kept(str(shape.file), PLACE)
    if path.suffix.lower() not in READERS:
        raise FileError(f"{path}: meshes are read from {', '.join(READERS)} files")
    if folder is None and shape.digest is not None and path.is_file() and file_digest(path) != shape.digest:
        raise FileError(
            f"{path}: differs from the file that the result was made with; give the folder of "
            f"the right one to draw it"
        )
    return path


def _read(path: Path) -> list[MeshSurface]:
    try:
        check_is_file(path, "mesh file")
        found = path.stat()
        return list(_surfaces(str(path), found.st_mtime_ns, found.st_size))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None


@lru_cache(maxsize=256)
def _surfaces(name: str, changed: int, size: int) -> tuple[MeshSurface, ...]:
    """The surfaces of a file as it was at one time, equal corners joined."""
    path = Path(name)
    try:
        found = READERS[path.suffix.lower()](file_content(path, LARGEST_MESH), path)
    except FileError:
        raise
    except (ValueError, IndexError, struct.error, OverflowError):
        raise FileError(f"{path}: is not a readable mesh file") from None
    count = sum(len(x.triangles) for x in found)
    if count > MOST_TRIANGLES:
        raise FileError(f"{path}: has {count} triangles; at most {MOST_TRIANGLES} are drawn")
    for surface in found:
        _check_corners(surface, path)
    if not count or not all(_is_sound(x) for x in found):
        raise FileError(f"{path}: is damaged: it has no triangles, or triangles with missing vertices")
    return tuple(_joined(x) for x in found)


def _is_sound(surface: MeshSurface) -> bool:
    inside = surface.triangles.min(initial=0) >= 0 and surface.triangles.max(initial=-1) < len(
        surface.corners
    )
    return bool(inside)


def _check_corners(surface: MeshSurface, path: Path) -> None:
    """All corners are numbers that a body can have."""
    wrong = ~(np.abs(surface.corners) <= FARTHEST).all(axis=1)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise _far_corner(f"{path}, corner {k + 1}", surface.corners[k])


def _far_corner(where: str, corner: Iterable[float]) -> FileError:
    values = ", ".join(f"{x:g}" for x in corner)
    return FileError(f"{where}: is at ({values}); coordinates must be finite and at most {FARTHEST:g}")


def _joined(surface: MeshSurface) -> MeshSurface:
    """The surface with equal corners joined."""
    distinct, number = np.unique(surface.corners.astype(np.float32), axis=0, return_inverse=True)
    triangles = number.reshape(-1)[surface.triangles]
    return MeshSurface(distinct.astype(np.float64), triangles, surface.color)


def _stl(content: bytes, path: Path) -> list[MeshSurface]:
    if len(content) >= STL_HEAD:
        (count,) = struct.unpack_from("<I", content, STL_HEAD - 4)
        if len(content) == STL_HEAD + count * STL_RECORD.itemsize:
            corners = np.frombuffer(content, STL_RECORD, count, STL_HEAD)["corners"].astype(np.float64)
            return [MeshSurface(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3))]
    rows = []
    for number, line in enumerate(content.decode("ascii", errors="replace").splitlines(), start=1):
        words = line.split()
        if len(words) == 4 and words[0].lower() == "vertex":
            rows.append(_corner(words[1:], path, number))
    return [MeshSurface(np.array(rows).reshape(-1, 3), np.arange(len(rows)).reshape(-1, 3))]


def _corner(words: list[str], path: Path, line: int) -> list[float]:
    values = [float(x) for x in words]
    if not all(abs(x) <= FARTHEST for x in values):
        raise _far_corner(f"{path}, line {line}", values)
    return values


def _obj(content: bytes, path: Path) -> list[MeshSurface]:
    """Vertices and faces, those with more corners than three as fans, one surface per material."""
    corners: list[list[float]] = []
    faces: dict[str, list[tuple[int, int, int]]] = {}
    colors: dict[str, str] = {}
    material = ""
    for number, line in enumerate(content.decode("utf-8", errors="replace").splitlines(), start=1):
        key, *words = line.split() or [""]
        if key == "v":
            corners.append(_corner(words[:3], path, number))
        elif key == "f":
            found = [int(word.partition("/")[0]) for word in words]
            around = [k - 1 if k > 0 else len(corners) + k for k in found]
            faces.setdefault(material, []).extend((around[0], b, c) for b, c in pairwise(around[1:]))
        elif key == "usemtl":
            material = " ".join(words)
        elif key == "mtllib":
            colors |= _materials(path, " ".join(words))
    points = np.array(corners).reshape(-1, 3)
    made = [
        MeshSurface(points, np.array(x, dtype=np.int64).reshape(-1, 3), colors.get(n))
        for n, x in faces.items()
    ]
    return [MeshSurface(*used_corners(x), x.color) if _is_sound(x) else x for x in made]


def _materials(path: Path, name: str) -> dict[str, str]:
    """Colors by material of the .mtl file of an .obj file; none if it is not there or elsewhere."""
    found: dict[str, str] = {}
    place = path.with_name(Path(name).name)
    try:
        if place.suffix.lower() != ".mtl":
            return {}
        lines = file_content(place, LARGEST_MESH).decode("utf-8", errors="replace").splitlines()
    except FileError:
        return {}
    material = ""
    for line in lines:
        key, *words = line.split() or [""]
        if key == "newmtl":
            material = " ".join(words)
        elif key == "Kd" and len(words) >= 3:
            found[material] = hex_color(np.array([float(x) for x in words[:3]], dtype=np.float64))
    return found


def _dae(content: bytes, path: Path) -> list[MeshSurface]:
    return dae_surfaces(content, str(path))


def _glb(content: bytes, path: Path) -> list[MeshSurface]:
    return glb_surfaces(content, str(path))


def _vtp(content: bytes, path: Path) -> list[MeshSurface]:
    """Polygons of VTK's XML format, as OpenSim's geometry has them: numbers in text only."""
    root = parse_xml(content, str(path))
    found = []
    for piece in (x for data in root.all("PolyData") for x in data.all("Piece")):
        polygons = {x.text("Name"): x for part in piece.all("Polys") for x in part.all("DataArray")}
        points = [x for part in piece.all("Points") for x in part.all("DataArray")]
        for array in (*polygons.values(), *points):
            if array.attributes.get("format", "ascii") != "ascii":
                raise FileError(f"{path}: holds numbers in binary form; only text is read")
        corners = np.array(points[0].content.split(), dtype=np.float64).reshape(-1, 3)
        ring = np.array(polygons["connectivity"].content.split(), dtype=np.int64)
        ends = np.array(polygons["offsets"].content.split(), dtype=np.int64)
        triangles = [
            (ring[a], ring[k], ring[k + 1]) for a, b in pairwise([0, *ends]) for k in range(a + 1, b - 1)
        ]
        found.append(MeshSurface(corners, np.array(triangles, dtype=np.int64).reshape(-1, 3), None))
    return found


READERS: dict[str, Callable[[bytes, Path], list[MeshSurface]]] = {
    ".stl": _stl,
    ".obj": _obj,
    ".dae": _dae,
    ".glb": _glb,
    ".vtp": _vtp,
}
