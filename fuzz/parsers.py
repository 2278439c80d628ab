"""Mechanism files and tables that are nearly right: TOML, URDF, MJCF, SDF, Denavit-Hartenberg."""

from __future__ import annotations

import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.answers import compare
from fuzz.change import changed_table, changed_text
from fuzz.linkages import same_in_other_frames
from fuzz.models import MJCF, SDF, WITH_LOOP, WITH_TIPS, YAML
from fuzz.plausible import plausible
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer

ROBOTS = ("gripper", "two_link", "quadruped", "four_bar", "hexapod", "kuka_kr5")
BY_HAND: dict[str, tuple[str, ...]] = {".xml": (MJCF,), ".sdf": SDF}
PLAUSIBLE, ALSO_DAMAGED = 0.7, 0.85  # of the cases: a model that can be meant; one that is damaged, too


@cache
def texts(suffix: str) -> tuple[str, ...]:
    """Good files to begin with."""
    if suffix in BY_HAND:
        return BY_HAND[suffix]
    found = []
    for name in ROBOTS:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore", kt.errors.KinetreeWarning)  # what a format cannot represent
            place = Path(folder, f"robot{suffix}")
            try:
                kt.save(getattr(kt.zoo, name)(), place)
            except kt.KinetreeError:
                continue
            found.append(place.read_text(encoding="utf-8"))
    return tuple(found)


def prepare() -> None:
    """Compile what answers need, once, before children are made."""
    for suffix in (".toml", ".urdf", ".xml", ".sdf"):
        texts(suffix)
    for name in ROBOTS:
        compare(getattr(kt.zoo, name)(), np.random.default_rng(0))
    kt.load(_written(Path(tempfile.mkdtemp()), ".xml", MJCF))


def _written(folder: Path, suffix: str, text: str) -> Path:
    place = folder / f"case{suffix}"
    place.write_text(text, encoding="utf-8", errors="surrogateescape")
    return place


def _file(suffix: str, rng: np.random.Generator, folder: Path) -> str:
    known = texts(suffix)
    place = _written(folder, suffix, changed(rng, known[int(rng.integers(len(known)))], suffix))
    return _loaded(place, rng)


def changed(rng: np.random.Generator, text: str, suffix: str) -> str:
    """A text with changes that leave it plausible, with such that damage it, or both."""
    kind = rng.uniform()
    if kind < ALSO_DAMAGED:
        text = plausible(rng, text, suffix)
    return text if kind < PLAUSIBLE else changed_text(rng, text)


def _loaded(place: Path, rng: np.random.Generator) -> str:
    try:
        mechanism = kt.load(place)
    except kt.KinetreeError:
        return REFUSED
    compare(mechanism, rng)
    return ACCEPTED


def toml(rng: np.random.Generator, folder: Path) -> str:
    """A mechanism file in TOML."""
    return _file(".toml", rng, folder)


def urdf(rng: np.random.Generator, folder: Path) -> str:
    """A URDF file."""
    return _file(".urdf", rng, folder)


def mjcf(rng: np.random.Generator, folder: Path) -> str:
    """An MJCF file."""
    return _file(".xml", rng, folder)


def sdf(rng: np.random.Generator, folder: Path) -> str:
    """An SDF file."""
    return _file(".sdf", rng, folder)


def loops(rng: np.random.Generator, folder: Path) -> str:
    """A linkage with other frames of its cuts, or a URDF file with a loop: of URDF+, or in YAML beside it."""
    if rng.random() < 0.5:
        same_in_other_frames(rng)
        return ACCEPTED
    beside, kind = folder / "case.yaml", int(rng.integers(3))
    beside.unlink(missing_ok=True)
    if kind == 0:
        return _loaded(_written(folder, ".urdf", changed(rng, WITH_LOOP, ".urdf")), rng)
    beside.write_text(
        changed_text(rng, YAML) if kind == 1 else YAML, encoding="utf-8", errors="surrogateescape"
    )
    text = WITH_TIPS if kind == 1 else changed(rng, WITH_TIPS, ".urdf")
    found = _loaded(_written(folder, ".urdf", text), rng)
    beside.unlink(missing_ok=True)
    return found


def dh(rng: np.random.Generator, folder: Path) -> str:
    """A table of Denavit and Hartenberg."""
    rows: Any = [
        {
            "b": float(rng.normal()), "theta": float(rng.normal()), "a": float(rng.normal()),
            "alpha": float(rng.normal()), "mass": float(rng.uniform(0.1, 3)),
            "center": rng.normal(size=3).tolist(), "inertia": rng.uniform(0.5, 0.9, 3).tolist(),
            "joint": str(rng.choice(["revolute", "prismatic"])),
        }
        for _ in range(int(rng.integers(1, 7)))
    ]  # fmt: skip
    given: Any = {"rows": rows, "convention": str(rng.choice(["modified", "classic"]))}
    for _ in range(int(rng.integers(0, 3))):
        given = changed_table(rng, given)
    if not isinstance(given, dict):
        given = {"rows": given}
    more = {key: value for key, value in given.items() if key in ("convention", "name", "gravity")}
    try:
        mechanism = kt.from_dh(given.get("rows", rows), **more)
    except kt.KinetreeError:
        return REFUSED
    compare(mechanism, rng)
    return ACCEPTED


PARSERS = (
    Fuzzer("toml", "mechanism files in TOML, answers against other formulations", toml, prepare),
    Fuzzer("urdf", "URDF files, answers against other formulations", urdf, prepare),
    Fuzzer("mjcf", "MJCF files, answers against other formulations", mjcf, prepare),
    Fuzzer("sdf", "SDF files, answers against other formulations", sdf, prepare),
    Fuzzer(
        "loops",
        "linkages in other frames; URDF files with loops in elements or YAML; answers against the open tree",
        loops,
        prepare,
    ),
    Fuzzer("dh", "tables of Denavit and Hartenberg", dh, prepare),
)
