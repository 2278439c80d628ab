"""Results as NetCDF-4 files: written completely or not at all, checked in every byte when read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileError, InputError, KinetreeError, listed
from kinetree.formats.mesh_home import mesh_record, with_mesh_record
from kinetree.formats.regular_file import PathLike, check_is_file, check_writable, checked_path, write_bytes
from kinetree.formats.toml_writer import toml_text
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import check_required
from kinetree.result.labeled import (
    Variables,
    attributes,
    described,
    labeled_dataset,
)
from kinetree.result.records import Check, json_text, plain_check
from kinetree.result.result import Result, arrays_of
from kinetree.result.seal import check_seal, sealed
from kinetree.result.variables import Variable

SUFFIX = ".nc"
FORMAT = (1, 0)  # a reader understands every file of its own major version
SIGNATURE = b"\x89HDF\r\n\x1a\n"
COMPRESSION = {"compression": "gzip", "compression_opts": 4, "shuffle": True}
HIGHEST_COMPRESSION = 1100  # gzip cannot do better
TABLES = ("settings", "audit", "statistics", "messages", "provenance", "stop")  # kept as JSON
NOT_JUDGED = "not_judged"  # another one, where there is any
DESCRIPTION = ("units", "unit_along", "long_name", "may_be_missing", "dtype")
TEXTS = ("task", "mechanism", *TABLES)
MESHES = "meshes"  # where mesh files are and what they held; only in results whose mechanism has some


def save_result(result: Result, path: PathLike, force: bool = False) -> None:
    """Write a result; see :meth:`kinetree.result.result.Result.save`."""
    place = with_result_suffix(checked_path(path))
    check_writable(place, force)
    write_bytes(place, result_bytes(result))


def load_result(path: PathLike) -> Result:
    """Read a result that was saved as a .nc file; it equals the one that was written, bit for bit.

    A folder .zarr is the store of a sweep, which may still be running: :func:`kinetree.sweep`.

    >>> import kinetree as kt, tempfile, pathlib
    >>> from kinetree.result.build import build_result
    >>> run = build_result("simulate", kt.zoo.two_link(), {"time": [0], "q": [[1, 2]], "qd": [[0, 0]]})
    >>> path = pathlib.Path(tempfile.mkdtemp(), "run.nc")
    >>> run.save(path)
    >>> load_result(path).equals(run)
    True
    """
    if checked_path(path).suffix.lower() == ".zarr":
        from kinetree.result.zarr_store import load_store

        return load_store(path)
    place = with_result_suffix(checked_path(path))
    _check_readable(place)
    check_seal(place)
    try:
        with import_module("h5py").File(place, "r") as file:
            _check_version(place, file)
            _check_contents(place, file)
            return _read(place, file)
    except KinetreeError:
        raise
    except Exception as error:  # a damaged file makes the library raise whatever it stumbles over
        said = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{place}: is incomplete or damaged: {said}") from None


# ---- writing --------------------------------------------------------------------------------------------


def result_bytes(result: Result) -> bytes:
    """The content of the file."""
    texts, (coordinates, variables) = _texts(result), arrays_of(result)
    content = BytesIO()
    with import_module("h5netcdf").File(content, "w") as file:
        file.attrs["Conventions"] = "CF-1.11"
        file.attrs["title"] = f"{result.task} of {result.mechanism.name}, written by Kinetree"
        file.attrs["kinetree_format"] = ".".join(map(str, FORMAT))
        file.attrs["checksum"] = _checksum(texts, coordinates, variables)
        for name, text in texts.items():
            file.attrs[name] = text
        meshes = mesh_record(result.mechanism)
        if meshes:
            file.attrs[MESHES] = json.dumps(meshes, ensure_ascii=False)
        for name, label in coordinates.items():
            if label.dims == (name,):
                file.dimensions[name] = len(label.values)
        for name, variable in (coordinates | variables).items():
            _write(file, name, variable, coordinates)
    return sealed(content.getvalue())


def _texts(result: Result) -> dict[str, str]:
    """All that is no array, as texts."""
    tables = {
        "settings": result.settings,
        "audit": {name: plain_check(check) for name, check in result.audit.items()},
        "statistics": result.statistics,
        "messages": list(result.messages),
        "provenance": result.provenance,
        "stop": None if result.complete else {"time": result.stopped_at, "reason": result.stop_reason},
    }
    if result.not_judged:
        tables[NOT_JUDGED] = result.not_judged
    texts = {"task": result.task, "mechanism": toml_text(result.mechanism)}
    return texts | {
        name: json.dumps(table, ensure_ascii=False, allow_nan=False) for name, table in tables.items()
    }


def _write(file: Any, name: str, variable: Variable, coordinates: Variables) -> None:
    values, attrs = variable.values, attributes(variable, coordinates)
    units = [label for label, x in coordinates.items() if x.dims != (label,) and x.dims[0] in variable.dims]
    if units and name not in coordinates:
        attrs["coordinates"] = " ".join(units)
    if values.dtype.kind == "U":
        text = import_module("h5py").string_dtype("utf-8")
        array = file.create_variable(name, variable.dims, dtype=text)
        if values.size:
            array[...] = values.astype(object)
    else:
        if values.dtype.kind == "b":
            values, attrs["dtype"] = values.astype(np.int8), "bool"  # as xarray marks truth values
        options = COMPRESSION if values.size and values.ndim else {}
        file.create_variable(
            name, variable.dims, dtype=values.dtype.newbyteorder("<"), data=values, **options
        )
    file.variables[name].attrs.update(attrs)


def _checksum(texts: Mapping[str, str], *arrays: Variables) -> str:
    """SHA-256 of all texts, names, units and numbers."""
    digest = hashlib.sha256(json_text(dict(texts)).encode())
    for variables in arrays:
        for name, variable in sorted(variables.items()):
            values = variable.values
            stated = [
                name,
                variable.dims,
                variable.unit,
                variable.long_name,
                variable.may_be_missing,
                values.shape,
            ]
            digest.update(json_text([*stated, values.dtype.kind]).encode())
            texts_inside = values.dtype.kind == "U"
            numbers = values.astype(values.dtype.newbyteorder("<"), copy=False) if not texts_inside else None
            digest.update(json_text(values.tolist()).encode() if numbers is None else numbers.tobytes())
    return digest.hexdigest()


# ---- reading --------------------------------------------------------------------------------------------


def _read(place: Path, file: Any) -> Result:
    missing = [name for name in (*TEXTS, "checksum") if name not in file.attrs]
    if missing:
        raise FileError(f"{place}: is damaged: it lacks the attributes {listed(missing)}")
    texts = {name: str(file.attrs[name]) for name in (*TEXTS, NOT_JUDGED) if name in file.attrs}
    found = {name: array for name, array in ((x, file[x]) for x in file) if hasattr(array, "dims")}
    arrays = {name: _variable(name, array) for name, array in found.items()}
    try:
        check_required(texts["task"], arrays)
    except InputError as error:
        raise FileError(f"{place}: is incomplete: {error}") from None
    beside = {word for array in found.values() for word in array.attrs.get("coordinates", "").split()}
    coordinates = {name: x for name, x in arrays.items() if x.dims == (name,) or name in beside}
    variables = {name: x for name, x in arrays.items() if name not in coordinates}
    if _checksum(texts, coordinates, variables) != file.attrs["checksum"]:
        raise FileError(f"{place}: was changed or damaged after it was written: its checksum does not match")
    tables = {name: json.loads(texts[name]) for name in TABLES}
    stop = tables["stop"] or {"time": None, "reason": None}
    return Result(
        labeled_dataset(coordinates, variables),
        with_mesh_record(_mechanism(place, texts["mechanism"]), _meshes(file)),
        texts["task"],
        tables["settings"],
        {name: Check.from_table(table) for name, table in tables["audit"].items()},
        tables["statistics"],
        tuple(tables["messages"]),
        tables["provenance"],
        stop["time"],
        stop["reason"],
        json.loads(texts.get(NOT_JUDGED, "{}")),
    )


def _check_contents(place: Path, file: Any) -> None:
    """Refuse what lies in other files, and arrays that together claim more than the file can hold."""
    h5py = import_module("h5py")
    total = 0
    for name in file:
        if not isinstance(file.get(name, getlink=True), h5py.HardLink):
            raise FileError(f"{place}: is damaged: '{name}' is a link to another location or file")
        found = file[name]
        if not isinstance(found, h5py.Dataset):
            continue
        if found.external or found.is_virtual:
            raise FileError(f"{place}: is damaged: the numbers of '{name}' lie in other files")
        total += found.nbytes
    if total > HIGHEST_COMPRESSION * os.path.getsize(place):
        raise FileError(f"{place}: is damaged: its arrays claim to have {total / 1e6:.0f} MB")


def _variable(name: str, array: Any) -> Variable:
    values = np.asarray(array.asstr()[()] if array.dtype.kind == "O" else array[()])
    attrs = {key: array.attrs[key] for key in DESCRIPTION if key in array.attrs}
    kind = np.bool_ if attrs.get("dtype") == "bool" else values.dtype.newbyteorder("=")
    values = np.array(values, dtype=np.str_ if values.dtype.kind in "OU" else kind)
    values.setflags(write=False)
    own = array.is_scale  # the labels of a dimension
    dims = (name,) if own else tuple(dim[0].name.rpartition("/")[-1] for dim in array.dims)
    return described(dims, values, attrs)


def _meshes(file: Any) -> Any:
    """The record of mesh files; one that cannot be read is none, as it changes no number."""
    try:
        return json.loads(str(file.attrs.get(MESHES, "{}")))
    except ValueError:
        return {}


def _mechanism(place: Path, text: str) -> Mechanism:
    from kinetree.formats.toml_file import (
        mechanism_from_toml,
    )  # slow to load; writers need none

    try:
        return mechanism_from_toml(text, source=f"{place}, its mechanism")
    except KinetreeError as error:
        raise FileError(str(error)) from None


def _check_version(place: Path, file: Any) -> None:
    if "kinetree_format" not in file.attrs:
        raise FileError(f"{place}: is not a Kinetree result: it has no attribute 'kinetree_format'")
    written = str(file.attrs["kinetree_format"])
    major = written.partition(".")[0]
    if not major.isdecimal():
        raise FileError(f"{place}: is damaged: its kinetree_format is '{written}', which is not a version")
    if int(major) > FORMAT[0]:
        raise FileError(
            f"{place}: was written by a newer Kinetree (format {written}, this one reads {FORMAT[0]}.x); "
            f"upgrade with: pip install --upgrade kinetree"
        )


def with_result_suffix(place: Path) -> Path:
    """The path, if it ends as those of results do."""
    if place.suffix.lower() != SUFFIX:
        shown = f"the suffix '{place.suffix}'" if place.suffix else "no suffix"
        raise FileError(f"{place}: has {shown}; a result is a file with the suffix {SUFFIX}")
    return place


def _check_readable(place: Path) -> None:
    check_is_file(place, "result")
    try:
        with open(place, "rb") as file:
            start = file.read(len(SIGNATURE))
    except OSError as error:
        raise FileError(f"{place}: cannot be read: {error.strerror or error}") from None
    if start != SIGNATURE:
        kind = "is empty" if not start else "is not a NetCDF-4 file"
        kind = "is a NetCDF file of the classic format" if start.startswith(b"CDF") else kind
        raise FileError(f"{place}: {kind}; results of Kinetree are NetCDF-4 (HDF5) files")
