"""What a sweep's store may contain, judged from its files before any library opens it.

Stores come from other people, too. Zarr reads many formats and codecs, some of which run code; a store of
Kinetree has format 3, a few types of numbers, texts, and chunks that are compressed by Zstandard (RFC 8878)
and end in a CRC-32C. Nothing else is opened, and nothing that claims more memory than there is.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from kinetree.algebra.memory import available_bytes
from kinetree.errors import FileError, cut

META = "zarr.json"
LARGEST_JSON = 50_000_000  # bytes
SIZES = {"int8": 1, "int32": 4, "int64": 8, "uint64": 8, "float64": 8}  # bytes of a number
TEXT, TEXT_SIZE = "string", 16  # bytes of a text in memory, without its letters
ZSTD = {"name": "zstd", "configuration": {"level": 1, "checksum": False}}
CRC = {"name": "crc32c"}
LITTLE = {"endian": "little"}
KEYS = {"name": "default", "configuration": {"separator": "/"}}
MAGIC = b"\x28\xb5\x2f\xfd"  # of Zstandard
HEAD = 18  # bytes of the longest header of a frame
SHARE = 0.5  # of the available memory that a store may take
UNWRITTEN = 1 << 30  # bytes of chunks that no file stands for
REPAIR = "--resume computes its cases again"
Index = tuple[int, ...]
Size = Annotated[int, Field(strict=True, ge=1, lt=1 << 62)]
Name = Annotated[str, Field(strict=True, pattern=r"^[^\W\d]\w*$", max_length=500)]


Template = tuple[list[Name], list[Size], str, str]


class StudyNames(BaseModel):
    """Name, title and file of the study."""

    model_config = ConfigDict(extra="allow", strict=True)
    name: str
    title: str


class Identity(BaseModel):
    """What decides about the results."""

    model_config = ConfigDict(extra="allow", strict=True)
    study: dict[str, Any]
    files: dict[str, str] = {}


class StoredPlan(BaseModel):
    """All keys that the store of a sweep has; others are kept as they are."""

    model_config = ConfigDict(extra="allow")
    format: Annotated[int, Field(strict=True, ge=1)]
    title: str
    name: str
    dims: Annotated[list[Name], Field(min_length=1, max_length=30)]
    shape: Annotated[list[Size], Field(min_length=1, max_length=30)]
    coordinates: list[Name]
    statuses: Annotated[list[str], Field(min_length=2, max_length=127)]
    sweep: dict[str, Any]
    study: StudyNames
    folder: str
    identity: Identity
    digest: str
    mechanism: str
    provenance: dict[str, Any]
    templates: dict[Name, Template] = {}
    labels: dict[Name, list[str]] = {}
    messages: list[str] = []


def checked_plan(table: dict[str, Any], place: Path, newest: int) -> dict[str, Any]:
    """The table of a plan with defaults for keys that it lacks; a FileError names what is wrong."""
    if isinstance(table.get("format"), int) and table["format"] > newest:
        raise FileError(f"{place}: was written by a newer Kinetree: pip install --upgrade kinetree")
    try:
        found = StoredPlan.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise FileError(f"{place}: is damaged: {cut(key)}: {cut(str(first['msg']))}") from None
    if len(found.dims) != len(found.shape):
        raise FileError(f"{place}: is damaged: {len(found.dims)} dims for a shape of {len(found.shape)}")
    for name, (dims, own, *_) in found.templates.items():
        if len(dims) != len(own) or len(own) > 30:
            raise FileError(f"{place}: is damaged: {len(dims)} dims of '{cut(name)}', shape of {len(own)}")
    defaults: dict[str, Any] = {"templates": {}, "labels": {}, "messages": []}
    return {**defaults, **table}


class ArrayFacts(NamedTuple):
    """An array of a store, as its metadata state it."""

    name: str
    dims: tuple[str, ...]
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str

    @property
    def grid(self) -> tuple[int, ...]:
        """How many chunks there are along each dimension."""
        return tuple(-(-n // size) for n, size in zip(self.shape, self.chunks, strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes in memory, without the letters of texts."""
        return math.prod(self.shape) * SIZES.get(self.dtype, TEXT_SIZE)

    @property
    def chunk_bytes(self) -> int | None:
        """Bytes of a chunk before compression; not known for texts."""
        return None if self.dtype == TEXT else math.prod(self.chunks) * SIZES[self.dtype]

    def region(self, index: Index) -> tuple[slice, ...]:
        """The block of a chunk."""
        return tuple(
            slice(k * size, min((k + 1) * size, n))
            for k, size, n in zip(index, self.chunks, self.shape, strict=True)
        )

    def all_chunks(self) -> Iterable[Index]:
        """The indexes of all chunks."""
        return itertools.product(*map(range, self.grid))


# ---- metadata -------------------------------------------------------------------------------------------


def json_file(path: Path) -> dict[str, Any]:
    """The table of a JSON file, which is a regular file of a reasonable size."""
    try:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode):
            raise FileError(f"{path}: is not a regular file")
        if found.st_size > LARGEST_JSON:
            raise FileError(f"{path}: has {found.st_size / 1e6:.0f} MB, which no such file needs")
        table = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: is damaged: {cut(' '.join(str(error).split()))}") from None
    if not isinstance(table, dict):
        raise FileError(f"{path}: is damaged: it has no table")
    return table


def group_arrays(store: Path) -> dict[str, ArrayFacts]:
    """All arrays that the metadata of a store list, by name."""
    if not os.path.lexists(store / META):
        raise FileError(f"{store}: is not a store of Zarr format 3: it has no {META}")
    root = json_file(store / META)
    if root.get("zarr_format") != 3 or root.get("node_type") != "group":
        raise FileError(f"{store}: is not a group of Zarr format 3, which stores of sweeps are")
    listed = root.get("consolidated_metadata")
    inside = listed.get("metadata") if isinstance(listed, Mapping) else None
    if not isinstance(inside, Mapping) or not isinstance(root.get("attributes", {}), Mapping):
        raise FileError(f"{store}: is damaged: {META} does not list its arrays")
    return {str(name): array_facts(store, str(name), table) for name, table in inside.items()}


def stored_array(store: Path, name: str) -> ArrayFacts:
    """One array by its own metadata."""
    _check_folder(store / name)
    return array_facts(store, name, json_file(store / name / META))


def array_facts(store: Path, name: str, table: Any) -> ArrayFacts:
    """The facts of an array, if it is one that Kinetree writes."""
    if not isinstance(table, Mapping) or not name.isidentifier():
        raise FileError(f"{store}: is damaged: {cut(repr(name))} is not an array of a sweep")

    def refuse(key: str) -> FileError:
        value = cut(repr(table.get(key)))
        return FileError(f"{store}: '{name}' has the {key} {value}, which stores of sweeps do not have")

    for key, wanted in (("zarr_format", 3), ("node_type", "array"), ("chunk_key_encoding", KEYS)):
        if table.get(key) != wanted:
            raise refuse(key)
    if table.get("storage_transformers"):
        raise refuse("storage_transformers")
    shape: Any = table.get("shape")
    dims, dtype, grid = table.get("dimension_names"), table.get("data_type"), table.get("chunk_grid")
    regular = isinstance(grid, Mapping) and grid.get("name") == "regular"
    inside = grid.get("configuration") if isinstance(grid, Mapping) and regular else None
    chunks: Any = inside.get("chunk_shape") if isinstance(inside, Mapping) else None
    if not _are_sizes(shape):
        raise refuse("shape")
    if not _are_sizes(chunks) or len(chunks) != len(shape):
        raise refuse("chunk_grid")
    if not isinstance(dims, list) or len(dims) != len(shape) or not all(isinstance(x, str) for x in dims):
        raise refuse("dimension_names")
    if not isinstance(dtype, str) or dtype not in (*SIZES, TEXT):
        raise refuse("data_type")
    if table.get("codecs") not in _codecs(dtype):
        raise refuse("codecs")
    if not _is_fill(table.get("fill_value"), dtype):
        raise refuse("fill_value")
    attributes = table.get("attributes", {})
    texts = ("long_name", "units", "coordinates")
    if not isinstance(attributes, Mapping) or not all(isinstance(attributes.get(x, ""), str) for x in texts):
        raise refuse("attributes")
    return ArrayFacts(name, tuple(dims), tuple(shape), tuple(chunks), dtype)


def _are_sizes(value: Any) -> bool:
    """Whether a value is a list of sizes of dimensions."""
    return (
        isinstance(value, list)
        and 0 < len(value) <= 32
        and all(isinstance(x, int) and not isinstance(x, bool) and 0 < x < 1 << 62 for x in value)
    )


def _codecs(dtype: str) -> list[list[dict[str, Any]]]:
    """The lists of codecs that a type of data may have."""
    if dtype == TEXT:
        first: list[dict[str, Any]] = [{"name": "vlen-utf8", "configuration": {}}, {"name": "vlen-utf8"}]
    elif dtype == "int8":
        first = [{"name": "bytes"}, *({"name": "bytes", "configuration": x} for x in ({}, LITTLE))]
    else:
        first = [{"name": "bytes", "configuration": LITTLE}]
    return [[codec, ZSTD, CRC] for codec in first]


def _is_fill(value: Any, dtype: str) -> bool:
    if dtype == TEXT:
        return isinstance(value, str) and not value
    if isinstance(value, bool):
        return False
    return value == "NaN" or isinstance(value, int | float) if dtype == "float64" else isinstance(value, int)


# ---- chunks ---------------------------------------------------------------------------------------------


def chunk_files(store: Path, facts: ArrayFacts) -> dict[Index, Path]:
    """The files of chunks that are there, by index; links and whatever is no regular file are refused."""
    top = store / facts.name
    _check_folder(top)
    if not os.path.lexists(top / "c"):
        return {}
    level: list[tuple[Index, Path]] = [((), top / "c")]
    for depth, count in enumerate(facts.grid):
        last, found = depth == len(facts.grid) - 1, []
        for index, folder in level:
            _check_folder(folder)
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
            for entry in listed:
                number = int(entry.name) if entry.name.isascii() and entry.name.isdecimal() else count
                if number >= count or entry.name != str(number):
                    continue  # left by a process that was killed, or not of this array
                if last and not entry.is_file(follow_symlinks=False):
                    raise FileError(f"{entry.path}: is not a regular file")
                found.append(((*index, number), Path(entry.path)))
        level = found
    return dict(level)


def _check_folder(path: Path) -> None:
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from None
    if not stat.S_ISDIR(mode):
        raise FileError(f"{path}: is not a folder; links in a store are not followed")


def content_size(path: Path) -> int | None:
    """Bytes that a chunk has before compression, as its header states; None if it states none.

    RFC 8878, section 3.1.1.1.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:
        return None
    if len(head) < 6 or head[:4] != MAGIC:
        return None
    flags = head[4]
    single, kind = flags >> 5 & 1, flags >> 6
    size = (single, 2, 4, 8)[kind]
    start = 5 + (1 - single) + (0, 1, 2, 4)[flags & 3]
    if not size or len(head) < start + size:
        return None
    return int.from_bytes(head[start : start + size], "little") + (256 if kind == 1 else 0)


def needed_chunks(facts: ArrayFacts, cases: np.ndarray) -> list[Index]:
    """The chunks in which cases lie: ``cases`` (k, d) are their indexes along the dimensions of the sweep."""
    d = cases.shape[1]
    if facts.grid[d:] != (1,) * (len(facts.grid) - d):
        raise ValueError("the own dimensions of a variable are in one chunk")
    found = np.unique(cases // np.array(facts.chunks[:d]), axis=0) if len(cases) else np.empty((0, d), int)
    rest = (0,) * (len(facts.grid) - d)
    return [(*map(int, row), *rest) for row in found]


def chunk_name(index: Index) -> str:
    """The path of a chunk inside its array."""
    return "/".join(("c", *map(str, index)))


def check_chunks(
    store: Path, facts: ArrayFacts, files: Mapping[Index, Path], needed: Iterable[Index]
) -> None:
    """Raise if a chunk is missing that should be there, or one that is there claims another size."""
    missing = next((index for index in needed if index not in files), None)
    if missing is not None:
        raise FileError(f"{store}: chunk {chunk_name(missing)} of '{facts.name}' is missing; {REPAIR}")
    for index, path in files.items():
        if not is_plausible(facts, path):
            raise FileError(f"{store}: chunk {chunk_name(index)} of '{facts.name}' is damaged; {REPAIR}")


def is_plausible(facts: ArrayFacts, path: Path) -> bool:
    """Whether a chunk claims the size that it should have."""
    size = content_size(path)
    return size is not None and facts.chunk_bytes in (None, size)


def check_memory(store: Path, arrays: Sequence[tuple[ArrayFacts, Mapping[Index, Path]]]) -> None:
    """Raise if arrays claim more memory than there is, or much that no file stands for."""
    unwritten, total, known = 0, 0, available_bytes()
    free = math.inf if known is None else known
    for facts, files in arrays:
        letters = sum(content_size(path) or 0 for path in files.values()) if facts.dtype == TEXT else 0
        absent = math.prod(facts.grid) - len(files)
        unwritten += absent * math.prod(facts.chunks) * SIZES.get(facts.dtype, TEXT_SIZE) if absent else 0
        total += facts.nbytes + 2 * letters
        size = (facts.nbytes + letters) / 1e9
        stated = f"{store}: '{facts.name}' of shape {facts.shape} takes {size:.3g} GB in memory"
        if total > SHARE * free:
            raise FileError(
                f"{stated}, all arrays up to it {total / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free; at "
                f"most {SHARE:.0%} of these are used. xarray.open_zarr reads parts of a store"
            )
        if unwritten > UNWRITTEN:
            raise FileError(
                f"{stated}, and {absent:,} of its {math.prod(facts.grid):,} chunks are not written; at most "
                f"{UNWRITTEN / 1e9:.3g} GB may be missing. xarray.open_zarr reads parts of a store"
            )
