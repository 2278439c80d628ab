"""C3D files of motion capture: markers, and analog channels of force plates. Through the package ezc3d."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.capture.plates import CHANNELS, Plate, plate_force
from kinetree.capture.trial import LENGTHS, GroundForce, Trial, unit_length
from kinetree.errors import FileError, InputError
from kinetree.formats.regular_file import check_readable, check_writable, file_content

KEY, BLOCK = 0x50, 512
MOMENTS = {"nmm": 1e-3, "n.mm": 1e-3, "n*mm": 1e-3, "nm": 1.0, "n.m": 1.0, "n*m": 1.0, "ncm": 1e-2}  # N m
INSTALL = "C3D files need the package ezc3d: pip install 'kinetree[c3d]'"


def read_c3d(path: Path) -> Trial:
    """The trial of a file, in the axes that it has."""
    check_readable(path)
    _check_whole(path)
    ezc3d = _package()
    try:
        file = ezc3d.c3d(str(path))
    except Exception as reason:  # the library raises bare exceptions of C++
        raise FileError(f"{path}: is not a readable C3D file ({reason})") from None
    points, data = file["parameters"]["POINT"], file["data"]
    rate = float(points["RATE"]["value"][0])
    units = str((points.get("UNITS", {}).get("value") or ["mm"])[0]).strip() or "mm"
    scale = unit_length(units, f"{path}: POINT:UNITS")
    count = int(data["points"].shape[1])
    names = [str(x).strip() for x in points.get("LABELS", {}).get("value", [])][:count]
    positions = scale * np.moveaxis(data["points"][:3], 0, -1).transpose(1, 0, 2)
    seen = np.asarray(data["meta_points"]["residuals"])[0].T >= 0.0
    positions = np.where(seen[..., None], positions, np.nan)
    positions[np.isnan(positions).any(axis=-1)] = np.nan
    first = int(file["header"]["points"]["first_frame"])
    time = (first + np.arange(len(positions))) / rate
    forces = tuple(_forces(file, path, scale, first / rate))
    return Trial(_unique(names, count), time, positions, forces, str(path), units)


def _package() -> Any:
    try:
        import ezc3d  # type: ignore[import-untyped]
    except ImportError:
        raise InputError(INSTALL) from None
    return ezc3d


def _check_whole(path: Path) -> None:
    """Refuse what is no C3D file, and files that end before their last frame."""
    content = file_content(path)
    if len(content) < BLOCK or content[1] != KEY:
        raise FileError(f"{path}: is not a C3D file: its second byte must be 0x50")
    try:
        processor = content[BLOCK * (content[0] - 1) + 3]
        order = ">" if processor == 86 else "<"
        points, analogs, first, last = struct.unpack(order + "HHHH", content[2:10])
        scale = struct.unpack(order + "f", content[12:16])[0]
        start = struct.unpack(order + "H", content[16:18])[0]
    except (IndexError, struct.error):
        raise FileError(f"{path}: is not a readable C3D file: its header is damaged") from None
    if processor == 85:  # numbers of VAX, whose scale is not read here
        return
    size = 4 if scale < 0 else 2
    frames = last - first + 1
    whole = BLOCK * (start - 1) + frames * size * (4 * points + analogs)
    if frames < 65535 and len(content) < whole:
        raise FileError(
            f"{path}: is cut off: its header announces {frames} frames in {whole} bytes, the file has "
            f"{len(content)}"
        )


def _unique(names: list[str], count: int) -> tuple[str, ...]:
    """A name for each marker; those without one, or with one that is there already, get numbers."""
    found: list[str] = []
    for k in range(count):
        name = names[k] if k < len(names) and names[k] else f"marker {k + 1}"
        found.append(name if name not in found else f"{name} ({k + 1})")
    return tuple(found)


def _forces(file: Any, path: Path, length: float, begin: float) -> list[GroundForce]:
    """What the plates of a file feel."""
    parameters = file["parameters"]
    platform = parameters.get("FORCE_PLATFORM")
    used = 0 if platform is None else int((platform.get("USED", {}).get("value") or [0])[0])
    if not used or not file["data"]["analogs"].size:
        return []
    assert platform is not None
    analog = parameters["ANALOG"]
    values = np.asarray(file["data"]["analogs"])[0].T  # (n, channels)
    rate = float(analog["RATE"]["value"][0])
    time = begin + np.arange(len(values)) / rate
    units = [str(x).strip().lower() for x in analog.get("UNITS", {}).get("value", [])]
    corners = np.asarray(platform["CORNERS"]["value"]).reshape(3, 4, -1, order="A")
    origins = np.asarray(platform["ORIGIN"]["value"]).reshape(3, -1, order="A")
    matrices = np.asarray(platform.get("CAL_MATRIX", {}).get("value", np.zeros((6, 6, 0))))
    channels = np.asarray(platform["CHANNEL"]["value"], dtype=np.int64)
    channels = channels.reshape(-1, used, order="A") if channels.ndim < 2 else channels
    found = []
    for k in range(used):
        kind = int(platform["TYPE"]["value"][k])
        if kind not in CHANNELS:
            raise FileError(f"{path}: plate {k + 1} is of type {kind}, which is not read; types 1 to 4 are")
        matrix = matrices[:, :, k] if kind == 4 and matrices.shape[-1] > k else None
        plate = Plate(f"plate {k + 1}", kind, length * corners[:, :, k].T, length * origins[:, k], matrix)
        chosen = channels[: CHANNELS[kind], k] - 1
        if (chosen < 0).any() or (chosen >= values.shape[1]).any():
            raise FileError(f"{path}: plate {k + 1} names channels that the file does not have")
        moment = MOMENTS.get(units[chosen[-1]] if chosen[-1] < len(units) else "", length)
        found.append(plate_force(plate, time, values[:, chosen], length, moment))
    return found


def write_c3d(trial: Trial, path: Path, units: str, force: bool) -> None:
    """Write the markers of a trial; forces are not written, as a plate's channels cannot be had from them."""
    check_writable(path, force)
    file = _package().c3d()
    file["header"]["points"]["first_frame"] = max(0, round(float(trial.time[0]) * trial.rate))
    file["parameters"]["POINT"]["RATE"]["value"] = [trial.rate]
    file["parameters"]["POINT"]["LABELS"]["value"] = list(trial.markers)
    file["parameters"]["POINT"]["UNITS"]["value"] = [units]
    points: Array = np.ones((4, len(trial.markers), len(trial.time)))
    points[:3] = np.moveaxis(trial.positions, -1, 0).transpose(0, 2, 1) / LENGTHS[units]
    file["data"]["points"] = points
    file.write(str(path))
