"""Mesh files of a description as triangles, read from one folder and never from outside it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import FileError
from kinetree.formats.files import PathLike
from kinetree.formats.mesh_path import MeshFolder
from kinetree.model.body import Shape
from kinetree.report.shapes import hull_solid

LARGEST_FILE = 50_000_000  # bytes
MOST_TRIANGLES = 2000  # a finer mesh is shown as its convex hull
STL_HEAD, STL_RECORD = 84, np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("extra", "<u2")])


def mesh_solids(shapes: Sequence[Shape], folder: PathLike | None) -> Iterator[tuple[Array, np.ndarray]]:
    """Corners (k, 3) in the body frame and triangles (m, 3) of the shapes that are meshes.

    Without a folder there are none. Files other than .stl and .obj are left out; one that is missing or
    cannot be read is an error.
    """
    if folder is None:
        return
    home = MeshFolder.only(folder)
    for shape in shapes:
        if shape.kind != "mesh" or Path(str(shape.file)).suffix.lower() not in READERS:
            continue
        assert home.root is not None
        path = home.root / home.kept(str(shape.file), "mesh")
        corners, triangles = _simplified(*_read(path))
        yield (corners * shape.size) @ shape.placement.rotation.T + shape.placement.position, triangles


def _read(path: Path) -> tuple[Array, np.ndarray]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FileError(f"{path}: has more than {LARGEST_FILE} bytes; use a coarser mesh")
        corners, triangles = READERS[path.suffix.lower()](path.read_bytes())
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, IndexError, struct.error):
        raise FileError(f"{path}: is no mesh file that can be read") from None
    inside = len(triangles) > 0 and triangles.min() >= 0 and triangles.max() < len(corners)
    if not inside or not np.isfinite(corners).all():
        raise FileError(f"{path}: is damaged: it has no triangles, or corners that do not exist")
    return corners, triangles


def _simplified(corners: Array, triangles: np.ndarray) -> tuple[Array, np.ndarray]:
    """The mesh with equal corners joined, or its hull if it is very fine."""
    if len(triangles) > MOST_TRIANGLES:
        corners, triangles = hull_solid(corners, 1e-3 * float(np.ptp(corners, axis=0).max()))
    distinct, number = np.unique(corners, axis=0, return_inverse=True)
    return distinct, number.reshape(-1)[triangles]


def _stl(content: bytes) -> tuple[Array, np.ndarray]:
    if len(content) >= STL_HEAD:
        (count,) = struct.unpack_from("<I", content, STL_HEAD - 4)
        if len(content) == STL_HEAD + count * STL_RECORD.itemsize:
            corners = np.frombuffer(content, STL_RECORD, count, STL_HEAD)["corners"].astype(np.float64)
            return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)
    words = (line.split() for line in content.decode("ascii", errors="replace").splitlines())
    rows = [[float(x) for x in row[1:4]] for row in words if len(row) == 4 and row[0].lower() == "vertex"]
    return np.array(rows).reshape(-1, 3), np.arange(len(rows)).reshape(-1, 3)


def _obj(content: bytes) -> tuple[Array, np.ndarray]:
    """Vertices and faces, those with more corners than three as fans."""
    corners: list[list[float]] = []
    triangles: list[tuple[int, int, int]] = []
    for line in content.decode("utf-8", errors="replace").splitlines():
        key, *words = line.split() or [""]
        if key == "v":
            corners.append([float(x) for x in words[:3]])
        elif key == "f":
            found = [int(word.partition("/")[0]) for word in words]
            around = [k - 1 if k > 0 else len(corners) + k for k in found]
            triangles += [(around[0], b, c) for b, c in pairwise(around[1:])]
    return np.array(corners).reshape(-1, 3), np.array(triangles, dtype=np.int64).reshape(-1, 3)


READERS = {".stl": _stl, ".obj": _obj}
