"""Stores of sweeps that are damaged, or written by someone who means harm."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.change import anything, changed_bytes, changed_table
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError

CANARY = "canary"
HARM = f"import pathlib\npathlib.Path({CANARY!r}).touch()\ndef law(*given):\n    return 0.0\n"
PICKLE = f"cos\nsystem\n(S'touch {CANARY}'\ntR.".encode()
CODECS: tuple[dict[str, Any], ...] = (
    {"name": "numcodecs.pickle", "configuration": {}}, {"id": "pickle"}, {"name": "pickle"},
    {"name": "numcodecs.json2", "configuration": {}}, {"name": "gzip", "configuration": {"level": 1}},
    {"name": "blosc", "configuration": {}}, {"name": "sharding_indexed", "configuration": {}},
    {"name": "transpose", "configuration": {"order": [0]}},
)  # fmt: skip
HUGE = (0, -1, 3, 10**6, 3 * 10**8, 2**31, 2**63, 2**70, 1.5, "3", None)


def _values(arm: Any, angle: float, k: float) -> dict[str, Any]:
    if k > 2.5:
        raise ValueError("too many")
    return {"value": 10.0 * k + angle, "row": [angle, k]}


@cache
def _store() -> tuple[Path, Any]:
    """A store in a folder of its own, and its result."""
    from kinetree.sweeps.executors import Here

    place = Path(tempfile.mkdtemp(prefix="kinetree-fuzz-store-"), "s.zarr")
    axes = {"angle": [0.5, 1.5], "k": [1.0, 2.0, 3.0]}
    kt.sweep(_values, axes, mechanism=kt.zoo.two_link(), store=place, executor=Here())
    study = {"study.duration": [0.01, 0.02]}
    other = place.with_name("t.zarr")
    kt.sweep("gripper_free_fall", study, store=other, executor=Here())
    return place, {place: kt.load_result(place), other: kt.load_result(other)}


def stores(rng: np.random.Generator, folder: Path) -> str:
    """A store with a few changes: refused, or the same numbers, and nothing of it runs."""
    _, whole = _store()
    source = list(whole)[int(rng.integers(2))]
    place = folder / "case.zarr"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(source, place)
    for _ in range(int(rng.integers(1, 4))):
        CHANGES[int(rng.integers(len(CHANGES)))](rng, place)
    outcome = ACCEPTED
    try:
        found = kt.load_result(place)
        repr(found)
        _compare(found, whole[source])
    except kt.KinetreeError:
        outcome = REFUSED
    for ask in (kt.sweeps.sweep_status, lambda x: kt.sweeps.case_result(x, 0)):
        with suppress(kt.KinetreeError):
            ask(place)
    if (folder / CANARY).exists() or (place / CANARY).exists() or os.path.exists(CANARY):
        raise WrongAnswerError("code of a store was run")
    return outcome


def _compare(found: Any, whole: Any) -> None:
    """Numbers of cases that have ended are those that were written."""
    if found.statistics.get("cases") != whole.statistics["cases"]:
        return  # another plan, which is whole in itself
    ended = np.asarray(found.dataset["status"].values) == 1
    for name in whole.variables:
        if name in ("status", "message") or name not in found:
            continue
        a, b = np.asarray(found[name].values), np.asarray(whole[name].values)
        if a.shape == b.shape and not np.array_equal(a[ended], b[ended], equal_nan=True):
            raise WrongAnswerError(f"other numbers of '{name}' were read")
        if np.isnan(a[ended]).any():
            raise WrongAnswerError(f"'{name}' is missing in cases that are ok")


# ---- changes ---------------------------------------------------------------------------------------------


def _pick(rng: np.random.Generator, place: Path, pattern: str) -> Path | None:
    found = sorted(path for path in place.rglob(pattern) if path.is_file() and not path.is_symlink())
    return found[int(rng.integers(len(found)))] if found else None


def _chunk(rng: np.random.Generator, place: Path) -> None:
    """A chunk that is removed, cut, changed, a link, or another one's."""
    path = _pick(rng, place, "c/**/[0-9]*")
    if path is None:
        return
    kind = int(rng.integers(5))
    if kind == 0:
        path.unlink()
    elif kind == 1:
        path.write_bytes(path.read_bytes()[: int(rng.integers(60))])
    elif kind == 2:
        path.write_bytes(changed_bytes(rng, path.read_bytes()))
    elif kind == 3:
        path.write_bytes(PICKLE)
    else:
        path.unlink()
        path.symlink_to("/dev/zero" if rng.integers(2) else "/etc/hostname")


def _metadata(rng: np.random.Generator, place: Path) -> None:
    """Metadata of the group or of an array, changed as bytes or as a table."""
    path = _pick(rng, place, "zarr.json")
    if path is None:
        return
    content = path.read_bytes()
    if rng.integers(3) == 0:
        path.write_bytes(changed_bytes(rng, content))
        return
    try:
        path.write_text(json.dumps(changed_table(rng, json.loads(content)), default=str))
    except ValueError:  # damaged before
        return


def _array(rng: np.random.Generator, place: Path) -> None:
    """One key of an array, where it is listed and its own."""
    try:
        root = json.loads((place / "zarr.json").read_text())
        arrays = root["consolidated_metadata"]["metadata"]
        name = sorted(arrays)[int(rng.integers(len(arrays)))]
        table = arrays[name]
        kind = int(rng.integers(5))
        if kind == 0:
            table["shape"][int(rng.integers(len(table["shape"])))] = HUGE[int(rng.integers(len(HUGE)))]
        elif kind == 1:
            sizes = table["chunk_grid"]["configuration"]["chunk_shape"]
            sizes[int(rng.integers(len(sizes)))] = HUGE[int(rng.integers(len(HUGE)))]
        elif kind == 2:
            table["codecs"][int(rng.integers(3))] = CODECS[int(rng.integers(len(CODECS)))]
        elif kind == 3:
            table["data_type"] = ("|O", "float32", "bytes", "complex128", "null")[int(rng.integers(5))]
        else:
            table[str(rng.choice(sorted(table)))] = anything(rng)
        (place / "zarr.json").write_text(json.dumps(root, default=str))
        (place / name / "zarr.json").write_text(json.dumps(table, default=str))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return  # damaged before


def _format_2(rng: np.random.Generator, place: Path) -> None:
    """The store in the format before, with a codec that unpickles."""
    for path in (place, *(x for x in place.iterdir() if x.is_dir() and x.name != "kinetree")):
        if rng.integers(4):
            (path / "zarr.json").unlink(missing_ok=True)
        if path == place:
            (path / ".zgroup").write_text('{"zarr_format": 2}')
            continue
        array = {"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "fill_value": None}
        array |= {"order": "C", "compressor": None, "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}
        (path / ".zarray").write_text(json.dumps(array))
        (path / "0").write_bytes(PICKLE)


def _plan(rng: np.random.Generator, place: Path) -> None:
    """A plan that is damaged, or that names code, folders and files."""
    path = place / "kinetree" / "plan.json"
    try:
        table = json.loads(path.read_bytes())
        kind = int(rng.integers(4))
        if kind == 0:
            path.write_bytes(changed_bytes(rng, path.read_bytes()))
            return
        if kind == 1:
            table = changed_table(rng, table)
        elif kind == 2:
            table[str(rng.choice(sorted(table)))] = anything(rng)
        else:
            (place / "own.py").write_text(HARM)
            table |= {"folder": str(place), "code": ["own.py"]}
            table["sweep"]["function"] = "own.py:law"
            table["identity"]["study"]["torque"] = "own.py:law"
            table["identity"]["measuring"] = "own.py:law"
        path.write_text(json.dumps(table, default=str))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return  # damaged before


CHANGES = (_chunk, _metadata, _array, _format_2, _plan)
STORES = (Fuzzer("stores", "damaged and hostile stores of sweeps", stores, lambda: _store() and None),)
