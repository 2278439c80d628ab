"""Mesh files and the paths to them: pipes, links, NaN, damage, huge counts; nothing is read elsewhere."""

from __future__ import annotations

import contextlib
import os
import struct
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError
from fuzz.watch import watched
from kinetree.formats.mesh_file import mesh_surfaces

Rng = np.random.Generator
CORNERS = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
ODD = ("nan", "inf", "-inf", "1e300", "1e39", "1e-300", "x", "", "1e999", "0x10", "1_0")
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
MODELS = {
    ".urdf": '<robot name="r"><link name="b">' + INERTIAL + "<collision><geometry>"
    '<mesh filename="{file}"/></geometry></collision><visual><geometry><mesh filename="{file}"/></geometry>'
    "</visual></link></robot>",
    ".sdf": '<sdf version="1.9"><model name="m"><link name="b"><collision name="c"><geometry><mesh>'
    "<uri>{file}</uri></mesh></geometry></collision></link></model></sdf>",
    ".xml": '<mujoco><asset><mesh name="m" file="{file}"/></asset><worldbody><body><freejoint/>'
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/></body></worldbody>'
    "</mujoco>",
}  # fmt: skip


def _pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _content(rng: Rng, suffix: str) -> bytes:
    """A mesh, sound or with one thing wrong."""
    corners: list[list[Any]] = [list(map(float, x)) for x in CORNERS]
    faces = [list(x) for x in FACES]
    kind = int(rng.integers(6))
    if kind == 0:
        corners[int(rng.integers(4))][int(rng.integers(3))] = _pick(rng, ODD)
    elif kind == 1:
        faces[int(rng.integers(4))][int(rng.integers(3))] = int(_pick(rng, (-9, 4, 99, 2**31, 2**62)))
    if suffix == ".obj":
        lines = [f"v {x} {y} {z}" for x, y, z in corners] + [
            f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces
        ]
        if kind == 2:
            lines.append(
                _pick(rng, ("mtllib pipe.mtl", "mtllib ../../etc/passwd", "f 1", "v", "v 1 2", "f a b c"))
            )
        content = "\n".join(lines).encode()
    elif rng.uniform() < 0.5:
        rows = ["vertex {} {} {}".format(*corners[k % 4]) for face in faces for k in face]
        content = "\n".join(["solid s", *rows, "endsolid"]).encode()
    else:
        with contextlib.suppress(ValueError):
            corners = [[float(x) for x in row] for row in corners]
        numbers = [
            [x if isinstance(x, float) else 0.0 for x in corners[k % 4]] for face in faces for k in face
        ]
        with np.errstate(over="ignore"):
            values = np.array(numbers).astype("<f4")
        count = int(_pick(rng, (4, 4, 4, 5, 2**31, 2**32 - 1, 0))) if kind == 3 else 4
        records = b"".join(bytes(12) + values[3 * k : 3 * k + 3].tobytes() + bytes(2) for k in range(4))
        content = bytes(80) + struct.pack("<I", count) + records
    if kind == 4:
        content = content[: int(rng.integers(len(content)))]
    elif kind == 5:
        at = int(rng.integers(len(content)))
        content = content[:at] + bytes(rng.integers(0, 256, 3, dtype=np.uint8)) + content[at + 3 :]
    return content


def _placed(rng: Rng, folder: Path, outside: Path, suffix: str) -> str:
    """Put a mesh, or what is none, somewhere; the name by which the model calls it."""
    file = folder / f"mesh{suffix}"
    if file.is_dir() and not file.is_symlink():
        file.rmdir()
    file.unlink(missing_ok=True)
    kind = int(rng.integers(12))
    if kind == 0:
        os.mkfifo(file)
    elif kind == 1:
        file.symlink_to(outside / f"secret{suffix}")
    elif kind == 2:
        file.symlink_to(_pick(rng, ("/dev/zero", "/dev/stdin", "/proc/self/mem", file.name)))
    elif kind == 3:
        file.mkdir()
    elif kind == 4:
        return str(
            _pick(rng, (
                str(outside / f"secret{suffix}"), f"../{outside.name}/secret{suffix}", "/dev/zero",
                "x" * 5000,
                f"file://{outside}/secret{suffix}", f"package://{outside.name}/secret{suffix}", "%00", "..",
                f"package://../{outside.name}/secret{suffix}", f"model://{outside.name}/secret{suffix}", "",
            ))
        )  # fmt: skip
    elif kind != 5:
        file.write_bytes(_content(rng, suffix))
    return file.name


def meshes(rng: Rng, folder: Path) -> str:
    """A model with one mesh: it is read or refused, what is read is finite, and nothing else is opened."""
    outside = folder.parent / f"{folder.name}-outside"
    inside = folder / "robot"
    for place in (outside, inside):
        place.mkdir(exist_ok=True)
    suffix = str(_pick(rng, (".obj", ".stl")))
    (outside / f"secret{suffix}").write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    if not (inside / "pipe.mtl").exists():
        os.mkfifo(inside / "pipe.mtl")
    kind = str(_pick(rng, list(MODELS)))
    file = inside / f"case{kind}"
    file.write_text(MODELS[kind].format(file=_placed(rng, inside, outside, suffix)), encoding="utf-8")
    try:
        with watched(outside, Path("/dev/zero"), Path("/proc/self/mem"), Path("/etc/passwd")):
            return _read(file, kind)
    finally:
        (outside / f"secret{suffix}").unlink(missing_ok=True)
        outside.rmdir() if not any(outside.iterdir()) else None


def _read(file: Path, kind: str) -> str:
    try:
        robot = kt.load(file) if kind == ".xml" else kt.load(file, floating_base=True)
    except kt.KinetreeError:
        return REFUSED
    numbers = [point.position for point in robot.contact_points]
    outcome = ACCEPTED
    for link in robot.links:
        for shape in link.body.shapes:
            if shape.kind != "mesh":
                continue
            try:
                numbers += [surface.corners for surface in mesh_surfaces(shape)]
            except kt.KinetreeError:
                outcome = REFUSED
    if not all(np.isfinite(x).all() for x in numbers):
        raise WrongAnswerError("a mesh was accepted whose corners are not finite")
    return outcome


def prepare() -> None:
    """Import what meshes need, before files are watched."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Path(folder, "mesh.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 2 3 4\n")
        for suffix, text in MODELS.items():
            file = Path(folder, f"case{suffix}")
            file.write_text(text.format(file="mesh.obj"))
            _read(file, suffix)


MESHES = (
    Fuzzer("meshes", "mesh files and paths to them: pipes, links, NaN, damage", meshes, prepare, seconds=20),
)
