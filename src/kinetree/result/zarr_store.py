"""Results of many cases as a Zarr store: written chunk by chunk as they come, checksummed, read as a Result.

The store is a folder that ``xarray.open_zarr`` opens. Its arrays have the axes of the sweep as dimensions;
every chunk carries a CRC-32C. In the folder ``kinetree`` inside are the plan, a heartbeat for whoever asks
how far it is, and the lock of the process that writes.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import FileError, KinetreeError, cut
from kinetree.formats.regular_file import PathLike, checked_path, write_bytes
from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.model.mechanism import Mechanism
from kinetree.result.result import Result
from kinetree.result.store_contents import (
    META,
    REPAIR,
    TEXT,
    ArrayFacts,
    Index,
    check_chunks,
    check_memory,
    checked_plan,
    chunk_files,
    group_arrays,
    is_plausible,
    json_file,
    needed_chunks,
    stored_array,
)

if TYPE_CHECKING:
    from xarray import Dataset

SUFFIX, INSIDE = ".zarr", "kinetree"
PLAN, HEARTBEAT, LOCK = "plan.json", "heartbeat.json", "lock"
FORMAT = 2  # since 2, every chunk in which a case has ended is written, also an empty one
CHUNK_BYTES, CHUNK_CASES = 1 << 20, 1024
STATUS_CHUNK = 1 << 16
STATUS, MESSAGE = "status", "message"


class Template(NamedTuple):
    """A variable of the cases: its dimensions and shape after those of the sweep, unit and meaning."""

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
        if os.path.lexists(self.path):
            raise FileError(
                f"{self.path}: already exists; continue it with --resume, or replace it with --force"
            )
        with _disk(self.path):
            (self.path / INSIDE).mkdir(parents=True)
            self.write_plan(plan)
            self.write_grid(plan, grid)

    def write_grid(self, plan: Mapping[str, Any], grid: Dataset) -> None:
        """Write the axes of the sweep; status and message if they are not there yet."""
        with _disk(self.path), _quiet():
            coded = {str(name): _codec() for name in grid.variables if not self.has(str(name))}
            grid.to_zarr(self.path, mode="a", consolidated=False, zarr_format=3, encoding=coded)
            shape = tuple(plan["shape"])
            text = Chunks(shape, CHUNK_CASES)
            self._add(MESSAGE, plan, (), shape, text.chunk_shape, "str", "", "what went wrong")
            status = Chunks(shape, STATUS_CHUNK)
            self._add(STATUS, plan, (), shape, status.chunk_shape, "int8", 0, "number of the status")
            if not chunk_files(self.path, stored_array(self.path, STATUS)):
                self.write(STATUS, (), np.zeros(shape, dtype=np.int8))
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

        stored_array(self.path, name)
        with _disk(self.path), _quiet(), zarr.config.set({"array.write_empty_chunks": True}):
            zarr.open_array(self.path / name, mode="r+", zarr_format=3)[region or ...] = values

    def read(self, name: str, region: tuple[slice, ...] = ()) -> Any:
        """Read a block of a variable; damaged chunks are an error, missing ones are filled."""
        import zarr

        stored_array(self.path, name)
        try:
            return zarr.open_array(self.path / name, mode="r", zarr_format=3)[region or ...]
        except Exception as error:
            said = cut(" ".join(str(error).split()))
            raise FileError(f"{self.path}: '{name}' is damaged: {said}; {REPAIR}") from None

    def has(self, name: str) -> bool:
        """Whether there is a variable of a name."""
        return (self.path / name / META).exists()

    def is_made(self) -> bool:
        """Whether the axes, status and message are there: then the metadata list them."""
        return isinstance(_table(self.path / META).get("consolidated_metadata"), Mapping)

    def status(self) -> Array:
        """The number of the status of all cases, one after the other; missing chunks are an error."""
        plan = self.plan()
        if not self.is_made():
            raise FileError(
                f"{self.path}: is just being made, or was left so: it has no status yet. Read it later; "
                f"--resume continues it if no process is writing"
            )
        facts = stored_array(self.path, STATUS)
        self._check_of_plan(plan, facts)
        files = chunk_files(self.path, facts)
        check_memory(self.path, [(facts, files)])
        check_chunks(self.path, facts, files, facts.all_chunks() if plan["format"] > 1 else ())
        found: Array = np.asarray(self.read(STATUS)).reshape(-1)
        if found.min() < 0 or found.max() >= len(plan["statuses"]):
            raise FileError(f"{self.path}: 'status' is damaged: it has numbers that stand for nothing")
        return found

    def _check_of_plan(self, plan: Mapping[str, Any], facts: ArrayFacts) -> None:
        if not is_of_plan(plan, facts):
            raise FileError(f"{self.path}: '{facts.name}' does not belong to the sweep of the store")

    def message(self, case: int) -> str:
        """The message of a case, after type and sizes of all messages were looked at."""
        plan, facts = self.plan(), stored_array(self.path, MESSAGE)
        self._check_of_plan(plan, facts)
        check_memory(self.path, [(facts, chunk_files(self.path, facts))])
        chunks = Chunks(tuple(plan["shape"]), CHUNK_CASES)
        first, last = chunks.run(case)
        return str(np.asarray(self.read(MESSAGE, chunks.region(first, last))).reshape(-1)[case - first])

    def plan(self) -> dict[str, Any]:
        """What the store is about; see `create`."""
        place = self.path / INSIDE / PLAN
        if not os.path.lexists(place):
            raise FileError(f"{self.path}: is not a sweep store: it has no {INSIDE}/{PLAN}")
        return checked_plan(json_file(place), place, FORMAT)

    # ---- repairing it -----------------------------------------------------------------------------------

    def mend(self, plan: Mapping[str, Any], grid: Dataset) -> Array:
        """The status of all cases, those waiting again whose chunks are missing or damaged.

        Axes and labels are written again where they are missing; what cannot be read is deleted.
        """
        self.check_files()
        if not self.is_made():
            self.write_grid(plan, grid)
        facts = stored_array(self.path, STATUS)
        self._check_of_plan(plan, facts)
        check_memory(self.path, [(facts, chunk_files(self.path, facts))])
        self._drop_damaged(facts)
        status: Array = np.array(self.read(STATUS)).reshape(-1)
        status[(status < 0) | (status >= len(plan["statuses"]))] = 0
        before = status.copy()
        for name in (MESSAGE, *plan["templates"]):
            if self.has(name):
                self._wait_again(plan, name, before, status)
            else:  # added, all missing, when the writer begins
                status[status == 1] = 0
        self.write(STATUS, (), status.reshape(plan["shape"]))
        if any(not self._is_whole(str(name)) for name in grid.variables):
            self.write_grid(plan, grid)
        if any(not self._is_whole(name) for name in plan["labels"]):
            self.add_variables(plan, {}, plan["labels"])
        return status

    def _wait_again(self, plan: Mapping[str, Any], name: str, before: Array, status: Array) -> None:
        """Let the cases wait that lie in missing or damaged chunks of a variable."""
        facts = stored_array(self.path, name)
        if not is_of_plan(plan, facts):
            raise FileError(f"{self.path}: '{name}' does not belong to the sweep of the store")
        there = self._drop_damaged(facts)
        for index in required_chunks(plan, facts, before):
            if index not in there:
                ends = [range(part.start, part.stop) for part in facts.region(index)[: len(plan["dims"])]]
                status[np.ravel_multi_index(np.ix_(*ends), plan["shape"]).ravel()] = 0

    def _drop_damaged(self, facts: ArrayFacts) -> set[Index]:
        """The indexes of all chunks that can be read; the files of others are deleted."""
        found = set()
        for index, path in chunk_files(self.path, facts).items():
            with suppress(FileError):
                if is_plausible(facts, path):
                    self.read(facts.name, facts.region(index))
                    found.add(index)
                    continue
            with _disk(self.path):
                path.unlink()
        return found

    def _is_whole(self, name: str) -> bool:
        """Whether an array is there with all its chunks."""
        if not self.has(name):
            return False
        facts = stored_array(self.path, name)
        check_memory(self.path, [(facts, chunk_files(self.path, facts))])
        there = self._drop_damaged(facts)
        return all(index in there for index in facts.all_chunks())

    def check_files(self) -> None:
        """Raise if there is a link in the store: what is written to it stays in it."""
        if self.path.is_symlink():
            raise FileError(f"{self.path}: is a link; give the path of the store itself")
        for folder, folders, files in os.walk(self.path):
            for name in (*folders, *files):
                if os.path.islink(os.path.join(folder, name)):
                    raise FileError(f"{os.path.join(folder, name)}: is a link; a store has none")

    def remove(self) -> None:
        """Delete the store, if it is one and no process writes to it; a link is never followed."""
        if self.path.is_symlink():
            raise FileError(
                f"{self.path}: is a link, which --force does not follow; remove the link, or name the store "
                f"itself: {os.path.realpath(self.path)}"
            )
        self.plan()  # an error if it is something else
        with self.locked():
            pass
        with _disk(self.path):
            shutil.rmtree(self.path)

    # ---- the writer -------------------------------------------------------------------------------------

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
            return json_file(self.path / INSIDE / HEARTBEAT)
        except FileError:
            return {}

    @contextmanager
    def locked(self) -> Iterator[None]:
        """No one else writes meanwhile; the lock goes with the process, however it ends."""
        place = self.path / INSIDE / LOCK
        if place.is_symlink():
            raise FileError(f"{place}: is a link; links in a store are not followed")
        with open(place, "a+b") as file:
            if not _try_lock(file):
                who = self.heartbeat().get("process", "unknown")
                raise FileError(f"{self.path}: is being written by another process ({who})")
            yield

    def is_locked(self) -> bool:
        """Whether a process is writing."""
        try:
            place = self.path / INSIDE / LOCK
            if not stat.S_ISREG(os.lstat(place).st_mode):
                return False
            with open(place, "rb") as file:
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
    """The result of a sweep: axes as dimensions, status and message of every case.

    A store that is being written is read as far as it is; its status is read first, as it is written last.
    """
    store = ZarrStore(path)
    if not store.path.is_dir():
        raise FileError(f"{store.path}: is not a folder; there is no such sweep store")
    status = store.status()
    arrays, plan = group_arrays(store.path), store.plan()
    check_arrays(store.path, plan, arrays, status)
    data = _read_arrays(store, arrays)
    data[STATUS].values = status.reshape(data[STATUS].shape)
    statuses = ", ".join(plan["statuses"])
    data.attrs |= {"title": plan["title"], "kinetree_sweep": plan["digest"], "statuses": statuses}
    counts = np.bincount(status, minlength=len(plan["statuses"]))
    stated = {name: int(n) for name, n in zip(plan["statuses"], counts, strict=True) if n}
    missing = stated.get(plan["statuses"][0], 0)
    return Result(
        data,
        _mechanism(store.path, plan["mechanism"]),
        "sweep",
        settings={"sweep": plan["sweep"], "study": plan["study"], "identity": plan["identity"]},
        statistics={"cases": int(np.prod(plan["shape"], dtype=object)), **stated},
        messages=tuple(plan["messages"]),
        provenance=plan["provenance"],
        stopped_at=float(missing) if missing else None,
        stop_reason=f"{missing} cases are not finished; continue with --resume" if missing else None,
    )


def _read_arrays(store: ZarrStore, arrays: Iterable[str]) -> Dataset:
    """All arrays of a store whose contents were checked."""
    import xarray as xr

    options: Any = {"chunks": None, "consolidated": True, "zarr_format": 3}
    options |= {"mask_and_scale": False, "decode_times": False}
    try:
        with _quiet():
            data: Dataset = xr.open_zarr(store.path, **options).load()
    except Exception as error:  # whatever the libraries stumble over
        for name in arrays:
            store.read(name)  # the error of the array that is damaged
        said = cut(" ".join(str(error).split()) or type(error).__name__)
        raise FileError(f"{store.path}: is damaged: {said}") from None
    for array in data.variables.values():
        array.attrs.pop("_FillValue", None)
    return data


def _mechanism(path: Path, text: str) -> Mechanism:
    try:
        return mechanism_from_toml(text, f"{path}, its mechanism")
    except KinetreeError as error:
        raise FileError(str(error)) from None


def check_arrays(
    path: Path, plan: Mapping[str, Any], arrays: Mapping[str, ArrayFacts], status: Array
) -> None:
    """Raise unless the arrays of a store are those of its plan, with all chunks of cases that have ended."""
    for name in (STATUS, MESSAGE, *plan["dims"], *plan["coordinates"]):
        if name not in arrays:
            raise FileError(f"{path}: is damaged: it has no '{name}'; {REPAIR}")
    files = {name: chunk_files(path, facts) for name, facts in arrays.items()}
    for name, facts in arrays.items():
        if not is_of_plan(plan, facts):
            raise FileError(f"{path}: '{name}' does not belong to the sweep of the store")
    check_memory(path, [(facts, files[name]) for name, facts in arrays.items()])
    for name, facts in arrays.items():
        check_chunks(path, facts, files[name], required_chunks(plan, facts, status))


def required_chunks(plan: Mapping[str, Any], facts: ArrayFacts, status: Array) -> Iterable[Index]:
    """The chunks of an array that must be there, given the numbers of the status of all cases."""
    old = plan["format"] < FORMAT
    if facts.name == STATUS:
        return () if old else facts.all_chunks()
    if facts.name in plan["templates"] or facts.name == MESSAGE:
        if old and facts.name == MESSAGE:
            return ()
        ended = np.flatnonzero(status == 1 if old else status != 0)
        return needed_chunks(facts, np.stack(np.unravel_index(ended, plan["shape"]), axis=1))
    return facts.all_chunks()


def is_of_plan(plan: Mapping[str, Any], facts: ArrayFacts) -> bool:
    """Whether an array has the type, dimensions and chunks that the plan of the sweep gives it."""
    sizes = dict(zip(plan["dims"], plan["shape"], strict=True))
    if facts.name == STATUS:
        return facts.dtype == "int8" and _fits(plan, facts, (), STATUS_CHUNK)
    if facts.name == MESSAGE:
        return facts.dtype == TEXT and _fits(plan, facts, (), CHUNK_CASES)
    if facts.name in plan["templates"]:
        dims, own, *_ = plan["templates"][facts.name]
        named = facts.dims == (*plan["dims"], *dims)
        return named and facts.dtype == "float64" and _fits(plan, facts, tuple(own), chunk_cases(own))
    if facts.name in (*plan["dims"], *plan["coordinates"]):
        return len(facts.shape) == 1 and sizes.get(facts.dims[0]) == facts.shape[0]
    own_sizes = {d: n for dims, own, *_ in plan["templates"].values() for d, n in zip(dims, own, strict=True)}
    labels = facts.dims == (facts.name,) and facts.dtype == TEXT
    return labels and own_sizes.get(facts.name) == facts.shape[0]


def _fits(plan: Mapping[str, Any], facts: ArrayFacts, own: tuple[int, ...], most: int) -> bool:
    shape = tuple(plan["shape"])
    chunks = (*Chunks(shape, most).chunk_shape, *own)
    return facts.shape == (*shape, *own) and facts.chunks == chunks


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


def _table(path: Path) -> dict[str, Any]:
    """The table of a JSON file; empty if there is none."""
    return json_file(path) if os.path.lexists(path) else {}
