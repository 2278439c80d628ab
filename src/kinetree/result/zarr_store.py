"""Results of many cases as a Zarr store: written chunk by chunk as they come, checksummed, read as a Result.

The store is a folder that ``xarray.open_zarr`` opens. Its arrays have the axes of the sweep as dimensions;
every chunk carries a CRC-32C. In the folder ``kinetree`` inside are the plan, a heartbeat for whoever asks
how far it is, and the lock of the process that writes.
"""

from __future__ import annotations

import errno
import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import FileError
from kinetree.formats.files import PathLike, checked_path, write_bytes
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.result.result import Result

if TYPE_CHECKING:
    from xarray import Dataset

SUFFIX, INSIDE = ".zarr", "kinetree"
PLAN, HEARTBEAT, LOCK = "plan.json", "heartbeat.json", "lock"
FORMAT = 1
CHUNK_BYTES, CHUNK_CASES = 1 << 20, 1024
STATUS_CHUNK = 1 << 16
STATUS, MESSAGE = "status", "message"


class Template(NamedTuple):
    """A variable of the cases: its own dimensions and shape beside those of the sweep, unit and meaning."""

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    unit: str
    meaning: str


class Chunks:
    """Which cases lie in one chunk: runs of consecutive numbers, cut so that each is a block of the grid."""

    def __init__(self, shape: Sequence[int], most: int) -> None:
        self.shape = tuple(shape)
        level, inner = len(shape), 1  # dimensions from `level` on are in one chunk
        while level > 0 and inner * shape[level - 1] <= most:
            level -= 1
            inner *= shape[level]
        self.level = max(level - 1, 0)  # the dimension that is cut
        size = self.shape[self.level] if level == 0 else max(1, most // inner)
        self.inner = int(np.prod(self.shape[self.level + 1 :], dtype=np.int64))
        self.size = max(1, size)

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The shape of a chunk, along the dimensions of the sweep."""
        return (*(1 for _ in self.shape[: self.level]), self.size, *self.shape[self.level + 1 :])

    def run(self, case: int) -> tuple[int, int]:
        """First case, and the one after the last, of the chunk that a case lies in."""
        row = self.inner * self.shape[self.level]
        start = case // row * row
        block = (case - start) // (self.inner * self.size)
        first = start + block * self.inner * self.size
        return first, min(first + self.inner * self.size, start + row)

    def region(self, first: int, last: int) -> tuple[slice, ...]:
        """The block of the grid with the cases of a run."""
        index = np.unravel_index(first, self.shape)
        along = (last - first) // self.inner
        slices = [slice(int(k), int(k) + 1) for k in index[: self.level]]
        start = int(index[self.level])
        whole = [slice(0, n) for n in self.shape[self.level + 1 :]]
        return (*slices, slice(start, start + along), *whole)


class ZarrStore:
    """A store that is being written, or one that was."""

    def __init__(self, path: PathLike) -> None:
        self.path = store_path(path)

    # ---- making it --------------------------------------------------------------------------------------

    def create(self, plan: Mapping[str, Any], grid: Dataset) -> None:
        """Write an empty store: the plan, and a dataset with the axes of the sweep."""
        if self.path.exists():
            raise FileError(
                f"{self.path}: already exists; continue it with --resume, or replace it with --force"
            )
        with _disk(self.path):
            (self.path / INSIDE).mkdir(parents=True)
            self.write_plan(plan)
            with _quiet():
                coded = {str(name): _codec() for name in grid.variables}
                grid.to_zarr(self.path, mode="a", consolidated=True, zarr_format=3, encoding=coded)
            shape = tuple(plan["shape"])
            status = Chunks(shape, STATUS_CHUNK)
            self._add(STATUS, plan, (), shape, status.chunk_shape, "int8", 0, "number of the status")
            text = Chunks(shape, CHUNK_CASES)
            self._add(MESSAGE, plan, (), shape, text.chunk_shape, "str", "", "what went wrong")
            self._consolidate()

    def add_variables(
        self, plan: Mapping[str, Any], templates: Mapping[str, Template], labels: Mapping[str, Sequence[str]]
    ) -> None:
        """Add the variables of the cases, all missing, and the labels of their own dimensions."""
        import zarr

        with _disk(self.path), _quiet():
            group, shape = zarr.open_group(self.path, mode="a", use_consolidated=False), tuple(plan["shape"])
            for dim, names in labels.items():
                size = (len(names),)
                group.create_array(
                    dim,
                    shape=size,
                    chunks=size,
                    dtype="str",
                    dimension_names=(dim,),
                    overwrite=True,
                    **_codec(),
                )[:] = np.array(list(names))
            for name, (dims, own, unit, meaning) in templates.items():
                chunk = Chunks(shape, chunk_cases(own)).chunk_shape
                args = (dims, (*shape, *own), (*chunk, *own), "float64", np.nan, meaning, unit)
                self._add(name, plan, *args)
            self._consolidate()

    def _add(
        self,
        name: str,
        plan: Mapping[str, Any],
        dims: tuple[str, ...],
        shape: tuple[int, ...],
        chunks: tuple[int, ...],
        dtype: Any,
        fill: Any,
        meaning: str,
        unit: str = "",
    ) -> None:
        import zarr

        group = zarr.open_group(self.path, mode="a", use_consolidated=False)
        if name in group:
            return  # a process that ended before it could say so
        attributes: dict[str, Any] = {"long_name": meaning, **({"units": unit} if unit else {})}
        if plan["coordinates"]:
            attributes["coordinates"] = " ".join(plan["coordinates"])
        group.create_array(
            name, shape=shape, chunks=chunks, dtype=dtype, fill_value=fill, attributes=attributes,
            dimension_names=(*plan["dims"], *dims), **_codec(),
        )  # fmt: skip

    def _consolidate(self) -> None:
        import zarr

        with _quiet():
            zarr.consolidate_metadata(self.path)

    def write_plan(self, plan: Mapping[str, Any]) -> None:
        """Write what the store is about."""
        write_bytes(self.path / INSIDE / PLAN, json.dumps({"format": FORMAT, **plan}).encode())

    # ---- writing to it ----------------------------------------------------------------------------------

    def write(self, name: str, region: tuple[slice, ...], values: Any) -> None:
        """Write a block of a variable, whole chunks; a chunk is replaced at once or not at all."""
        import zarr

        with _disk(self.path), _quiet():
            zarr.open_array(self.path / name, mode="r+")[region] = values

    def read(self, name: str, region: tuple[slice, ...] = ()) -> Any:
        """Read a block of a variable; damaged chunks are an error."""
        import zarr

        try:
            return zarr.open_array(self.path / name, mode="r")[region or ...]
        except Exception as error:
            raise FileError(f"{self.path}: '{name}' is damaged: {' '.join(str(error).split())}") from None

    def has(self, name: str) -> bool:
        """Whether there is a variable of a name."""
        return (self.path / name / "zarr.json").exists()

    def status(self) -> Array:
        """The number of the status of all cases, one after the other."""
        found: Array = np.asarray(self.read(STATUS)).reshape(-1)
        return found

    def plan(self) -> dict[str, Any]:
        """What the store is about; see `create`."""
        place = self.path / INSIDE / PLAN
        try:
            found: dict[str, Any] = json.loads(place.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"{self.path}: is not a sweep store: {error}") from None
        if found.get("format", 0) > FORMAT:
            raise FileError(f"{self.path}: was written by a newer Kinetree: pip install --upgrade kinetree")
        return found

    # ---- who writes -------------------------------------------------------------------------------------

    def beat(self, **stated: Any) -> None:
        """Tell whoever asks how far it is, if that can be written."""
        place = self.path / INSIDE / HEARTBEAT
        text = json.dumps({**stated, "process": os.getpid(), "when": time.time()})
        with suppress(OSError):
            spare = place.with_suffix(".tmp")
            spare.write_text(text, encoding="utf-8")
            spare.replace(place)

    def heartbeat(self) -> dict[str, Any]:
        """What was reported last; empty if nothing was."""
        try:
            found: dict[str, Any] = json.loads((self.path / INSIDE / HEARTBEAT).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No one else writes meanwhile; the lock goes with the process, however it ends."""
        with open(self.path / INSIDE / LOCK, "a+b") as file:
            if not _try_lock(file):
                who = self.heartbeat().get("process", "unknown")
                raise FileError(f"{self.path}: is being written by another process ({who})")
            yield

    def is_locked(self) -> bool:
        """Whether a process is writing."""
        try:
            with open(self.path / INSIDE / LOCK, "a+b") as file:
                return not _try_lock(file)
        except OSError:
            return False


def chunk_cases(own: Sequence[int]) -> int:
    """How many cases go into one chunk of a variable that has such a shape for each case."""
    return max(1, min(CHUNK_CASES, CHUNK_BYTES // (8 * max(1, int(np.prod(own, dtype=np.int64))))))


def store_path(path: PathLike) -> Path:
    """The path of a store, which ends in .zarr."""
    place = checked_path(path)
    if place.suffix.lower() != SUFFIX:
        raise FileError(f"{place}: the store of a sweep is a folder with the suffix {SUFFIX}")
    return place


def load_store(path: PathLike) -> Result:
    """The result of a sweep: axes as dimensions, status and message of every case; read when it is needed."""
    import xarray as xr

    store = ZarrStore(path)
    if not store.path.is_dir():
        raise FileError(f"{store.path}: is not a folder; there is no such sweep store")
    plan = store.plan()
    try:
        with _quiet():
            data = xr.open_zarr(store.path, chunks=None, consolidated=True)
            data = data.load()
    except Exception as error:
        raise FileError(f"{store.path}: is damaged: {' '.join(str(error).split())}") from None
    counts = np.bincount(np.asarray(data[STATUS].values).ravel(), minlength=len(plan["statuses"]))
    stated = {name: int(n) for name, n in zip(plan["statuses"], counts, strict=True) if n}
    missing = stated.get("waiting", 0)
    return Result(
        data,
        mechanism_from_toml(plan["mechanism"], f"{store.path}, its mechanism"),
        "sweep",
        settings={"sweep": plan["sweep"], "study": plan["study"], "identity": plan["identity"]},
        statistics={"cases": int(np.prod(plan["shape"], dtype=object)), **stated},
        messages=tuple(plan.get("messages", ())),
        provenance=plan["provenance"],
        stopped_at=float(missing) if missing else None,
        stop_reason=f"{missing} cases are not finished; continue with --resume" if missing else None,
    )


def _codec() -> dict[str, Any]:
    from zarr.codecs import Crc32cCodec, ZstdCodec

    return {"compressors": [ZstdCodec(level=1), Crc32cCodec()]}


@contextmanager
def _quiet() -> Iterator[None]:
    """Zarr warns of its metadata being consolidated, which other readers may ignore."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


class DiskError(FileError):
    """The disk is full, or a file cannot be written."""


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        why = "the disk is full" if full else error.strerror or error
        raise DiskError(
            f"{path}: cannot be written: {why}; earlier cases are safe, continue with --resume"
        ) from None


def _try_lock(file: Any) -> bool:
    """Take the lock of an open file, if it is free."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
