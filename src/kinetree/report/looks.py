"""What bodies look like by their description: meshes and primitive shapes as colored triangles."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import FileError, KinetreeWarning, MissingExtraError
from kinetree.formats.mesh_file import mesh_surfaces
from kinetree.formats.regular_file import PathLike
from kinetree.formats.surface import hex_color
from kinetree.model.body import Shape
from kinetree.model.mechanism import Mechanism
from kinetree.report.shapes import shape_faces
from kinetree.report.solid import Solid, within

MOST_TRIANGLES = 400_000  # of all bodies in a picture


@dataclass(frozen=True, eq=False)
class Look:
    """The surfaces of a body in its frame, and some points (k, 3) at its ends that show where it reaches."""

    solids: tuple[Solid, ...]
    ends: Array


def looks(
    mechanism: Mechanism, meshes: PathLike | None = None, most: int = MOST_TRIANGLES
) -> dict[str, Look]:
    """What each body looks like that has shapes that can be drawn, by name.

    Meshes are read from where the description had them; those that cannot be read are named in one warning,
    and a body with no shape left is not in the answer. Or they are read from the folder ``meshes``, in which
    all must be.
    """
    return _looks(mechanism, meshes, most, lambda shape: True)


def mesh_looks(
    mechanism: Mechanism, meshes: PathLike | None = None, most: int = MOST_TRIANGLES
) -> dict[str, Look]:
    """The same of mesh files alone; the primitive shapes of a body are for whoever draws them finer."""
    return _looks(mechanism, meshes, most, lambda shape: shape.kind == "mesh")


def is_visible(shape: Shape) -> bool:
    """Whether there is anything to see of a shape."""
    return shape.color is None or shape.color[3] > 0.0


def _looks(
    mechanism: Mechanism, meshes: PathLike | None, most: int, wanted: Callable[[Shape], bool]
) -> dict[str, Look]:
    solids, faults = _described_solids(mechanism, meshes, wanted)
    owners = [name for name, own in solids.items() for _ in own]
    made = within([x for own in solids.values() for x in own], most)
    _warn_of_faults(mechanism.name, faults)
    by_body: dict[str, list[Solid]] = {}
    for name, solid in zip(owners, made, strict=True):
        if len(solid.triangles):
            by_body.setdefault(name, []).append(solid)
    return {name: Look(tuple(own), _ends(own)) for name, own in by_body.items()}


def _described_solids(
    mechanism: Mechanism, meshes: PathLike | None, wanted: Callable[[Shape], bool]
) -> tuple[dict[str, list[Solid]], list[Exception]]:
    """The surfaces of all shapes by body, and the errors of those that cannot be drawn."""
    found: dict[str, list[Solid]] = {}
    faults: list[Exception] = []
    for link in mechanism.links:
        for shape in link.body.shapes:
            nowhere = shape.kind == "mesh" and shape.folder is None and meshes is None
            if nowhere or not wanted(shape) or not is_visible(shape):
                continue
            try:
                solids = mesh_solids(shape, meshes) if shape.kind == "mesh" else [primitive_solid(shape)]
            except (FileError, MissingExtraError) as fault:
                if meshes is not None and isinstance(fault, FileError):
                    raise
                faults.append(fault)
                continue
            found.setdefault(link.body.name, []).extend(x for x in solids if len(x.triangles))
    return found, faults


def _warn_of_faults(name: str, faults: Iterable[Exception]) -> None:
    """One warning for all meshes that are not drawn: how many, and why the first is not."""
    stated = list(faults)
    missing = [fault for fault in stated if isinstance(fault, MissingExtraError)]
    if not stated:
        return
    first = (missing or stated)[0]
    count = "one mesh is" if len(stated) == 1 else f"{len(stated)} meshes are"
    warnings.warn(
        f"{name}: {count} not drawn, bodies without other shapes are shown as links between their joints; "
        f"{first}",
        KinetreeWarning,
        stacklevel=5,
    )


def mesh_solids(shape: Shape, folder: PathLike | None = None) -> list[Solid]:
    """The surfaces of a mesh in the frame of its body, read from ``folder`` or where the shape has it."""
    return [Solid(x.corners, x.triangles, x.color) for x in mesh_surfaces(shape, folder)]


def primitive_solid(shape: Shape) -> Solid:
    """A box, sphere, cylinder, capsule or ellipsoid as triangles."""
    return Solid(
        *welded(shape_faces(shape)), None if shape.color is None else hex_color(np.array(shape.color))
    )


def welded(faces: list[Array]) -> tuple[Array, np.ndarray]:
    """Corners and triangles of polygons that share their corners, for smooth shading."""
    if not faces:
        return np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)
    corners = np.concatenate(faces)
    _, first, number = np.unique(corners.round(7), axis=0, return_index=True, return_inverse=True)
    triangles, start = [], 0
    for face in faces:
        k = number.ravel()[start : start + len(face)]
        triangles += [(k[0], k[j], k[j + 1]) for j in range(1, len(face) - 1)]
        start += len(face)
    kept = [t for t in triangles if len(set(t)) == 3]
    return corners[first], np.array(kept, dtype=np.int64).reshape(-1, 3)


def _ends(solids: list[Solid]) -> Array:
    """The corners farthest along each of some directions."""
    corners = np.concatenate([x.corners for x in solids])
    steps = np.array([-1.0, 0.0, 1.0])
    grid = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(-1, 3)
    directions = grid[np.abs(grid).sum(axis=1) > 0]
    ends: Array = corners[np.unique(np.argmax(corners @ directions.T, axis=0))]
    return ends
