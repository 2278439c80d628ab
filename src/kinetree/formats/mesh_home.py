"""Where the mesh files of a mechanism are, and what they held: what a result remembers of its looks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from kinetree.formats.regular_file import file_content
from kinetree.model.body import Shape
from kinetree.model.mechanism import Mechanism

LARGEST_MESH = 50_000_000  # bytes; no larger file is opened


def with_mesh_folder(mechanism: Mechanism, folder: str | os.PathLike[str]) -> Mechanism:
    """The mechanism, with meshes that have no folder yet looked for in this one."""
    place = os.path.abspath(folder)
    return _changed(mechanism, lambda x: x if x.folder else replace(x, folder=place))


def mesh_record(mechanism: Mechanism) -> dict[str, dict[str, str]]:
    """Folder and digest by file: ``{"link0.stl": {"folder": "/robots/arm", "sha256": "..."}}``.

    A file that is not there, or too large to be drawn, has no digest.
    """
    record: dict[str, dict[str, str]] = {}
    for shape in _meshes(mechanism):
        if shape.folder is None or shape.file is None:
            continue
        digest = shape.digest or file_digest(Path(shape.folder, shape.file))
        record[shape.file] = {"folder": shape.folder} | ({"sha256": digest} if digest else {})
    return record


def with_mesh_record(mechanism: Mechanism, record: Any) -> Mechanism:
    """The mechanism with its meshes where a record says, to be drawn only if they are still the same."""
    if not isinstance(record, Mapping):
        return mechanism

    def remembered(shape: Shape) -> Shape:
        stated = record.get(shape.file)
        if not isinstance(stated, Mapping):
            return shape
        folder, digest = stated.get("folder"), stated.get("sha256")
        if not isinstance(folder, str) or not isinstance(digest, str):
            return shape
        return replace(shape, folder=folder, digest=digest)

    return _changed(mechanism, remembered)


def file_digest(path: Path) -> str | None:
    """SHA-256 of a regular file; None if there is none, or it is too large or cannot be read."""
    try:
        found = path.stat()
        return _digest(str(path), found.st_mtime_ns, found.st_size)
    except (OSError, ValueError):  # also what is not a regular file
        return None


@lru_cache(maxsize=1024)
def _digest(path: str, changed: int, size: int) -> str:
    """The digest of a file as it was at one time, so that saving many results reads it once."""
    return hashlib.sha256(file_content(Path(path), LARGEST_MESH)).hexdigest()


def _meshes(mechanism: Mechanism) -> list[Shape]:
    return [shape for link in mechanism.links for shape in link.body.shapes if shape.kind == "mesh"]


def _changed(mechanism: Mechanism, change: Callable[[Shape], Shape]) -> Mechanism:
    """The mechanism with other mesh shapes; itself if it has none."""
    if not _meshes(mechanism):
        return mechanism
    links = []
    for link in mechanism.links:
        shapes = tuple(change(x) if x.kind == "mesh" else x for x in link.body.shapes)
        links.append(replace(link, body=replace(link.body, shapes=shapes)))
    return replace(mechanism, links=tuple(links))
