"""Result files, studies, command lines and entries of the kernel cache that are nearly right."""

from __future__ import annotations

import os
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.change import TEXTS, anything, changed_bytes, changed_table, changed_text
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError

SEALED_END = 128  # bytes from the end in which a seal lies
TAKES_LONG = ("walking", "lifting", "planar_biped_jump", "quadruped_predicted_trot")  # checked, not run
EXAMPLES = (
    "gripper_free_fall", "gripper_inverse_dynamics", "kuka_free_fall", "two_link_minimum_time",
    "four_bar_free_fall", "prismatic_arm", "two_link_joint_free", "quadruped_fall", *TAKES_LONG,
)  # fmt: skip
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("info", "gripper"), ("check", "kuka_kr5"), ("zoo",), ("examples",), ("verify", "two_link"),
    ("formulations",),
    ("run", "gripper_free_fall", "--set", "study.duration=0.01", "--force", "--quiet"),
    ("inverse", "gripper"), ("export", "a.nc", "b.csv"), ("compare", "a.nc", "a.nc"),
    ("schema",), ("new", "study"),
    ("convert", "a.toml", "b.urdf"), ("derivatives", "two_link"), ("plot", "a.nc", "-o", "a.png"),
)  # fmt: skip


# ---- results ---------------------------------------------------------------------------------------------


@cache
def _result() -> tuple[bytes, kt.Result]:
    run = kt.simulate(kt.zoo.gripper(), [-1.2, 0, 0, 0], duration=0.1, times=11)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "run.nc")
        run.save(place)
        return place.read_bytes(), kt.load_result(place)


def results(rng: np.random.Generator, folder: Path) -> str:
    """A damaged result file: refused, or the same result."""
    content, whole = _result()
    place = folder / "case.nc"
    changed = changed_bytes(rng, content)
    if rng.integers(200) == 0:  # without its seal it is opened in a process of its own
        changed = changed_bytes(rng, content[: -SEALED_END + 40])
    place.write_bytes(changed)
    try:
        found = kt.load_result(place)
    except kt.KinetreeError:
        return REFUSED
    if not found.equals(whole):
        raise WrongAnswerError("a damaged file was read as another result")
    return ACCEPTED


# ---- studies ---------------------------------------------------------------------------------------------


@cache
def _studies() -> tuple[str, ...]:
    from kinetree.study.examples import example_text

    return tuple(example_text(name) for name in EXAMPLES)


def studies(rng: np.random.Generator, folder: Path) -> str:
    """A study of short duration, changed as a text or as a table."""
    from kinetree.study.run import prepared

    which = int(rng.integers(len(EXAMPLES)))
    text = _studies()[which]
    place = folder / "case.toml"
    settings: dict[str, Any] = {}
    if rng.integers(2):
        text = changed_text(rng, text)
    else:
        table = changed_table(rng, tomllib.loads(text))
        settings = table if isinstance(table, dict) else {}
        settings = {key: value for key, value in settings.items() if isinstance(value, dict)}
    place.write_text(text, encoding="utf-8", errors="surrogateescape")
    try:
        study = prepared(place, settings)
        duration = study.study.tables.study.duration
        if study.study.task in ("simulate", "control", "inverse") and duration is not None and duration > 2.0:
            return ACCEPTED  # it would run; only short ones do
        if EXAMPLES[which] in TAKES_LONG:
            return ACCEPTED
        outcome = study.outcome()
    except kt.KinetreeError:
        return REFUSED
    if outcome.result is not None and not np.isfinite(np.asarray(outcome.result.q.values)).all():
        raise WrongAnswerError("positions that are no numbers")
    return ACCEPTED


def _prepare_studies() -> None:
    for name, text in zip(EXAMPLES, _studies(), strict=True):
        if name in TAKES_LONG:
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "study.toml")
            place.write_text(text, encoding="utf-8")
            kt.run(place)


# ---- command lines ---------------------------------------------------------------------------------------


def commands(rng: np.random.Generator, folder: Path) -> str:
    """A command with some arguments changed: exit codes 0, 1, 2, 3 or 130, and no traceback."""
    from typer.testing import CliRunner

    from kinetree.cli.app import app

    words = list(COMMANDS[int(rng.integers(len(COMMANDS)))])
    if not (folder / "a.nc").exists():
        (folder / "a.nc").write_bytes(_result()[0])
        kt.save(kt.zoo.gripper(), folder / "a.toml", force=True)
    for _ in range(int(rng.integers(0, 3))):
        k = int(rng.integers(1, len(words) + 1))
        kind = rng.integers(3)
        text = TEXTS[int(rng.integers(len(TEXTS)))] if kind else str(anything(rng))
        text = text.replace("\0", "")
        if rng.integers(2) and k < len(words):
            words[k] = text
        else:
            words.insert(k, text if rng.integers(2) else f"--{text[:12]}")
    done = CliRunner().invoke(app, words)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code not in (0, 1, 2, 3, 130):
        raise WrongAnswerError(f"{words}: exit code {done.exit_code}")
    return ACCEPTED if done.exit_code == 0 else REFUSED


# ---- the kernel cache ------------------------------------------------------------------------------------


def cache_entries(rng: np.random.Generator, folder: Path) -> str:
    """A damaged, swapped or planted entry: never loaded, and the answer is right."""
    from numba import types

    from kinetree.engine import disk_cache, keyed, machine_code

    place = folder / "cache"
    place.mkdir(mode=0o700, exist_ok=True)
    disk_cache.cache_folder = lambda: place

    def halve(x: float) -> float:
        return x / 2.0

    def answer() -> Any:
        run: Any = machine_code.compiled_function(halve, [types.float64], "halve")
        if run(3.0) != 1.5:
            raise WrongAnswerError("code from the cache gives another answer")
        return run

    answer()
    (entry,) = place.rglob("numba-*")
    whole = entry.read_bytes()
    changed = changed_bytes(rng, whole) if rng.integers(8) else os.urandom(int(rng.integers(5000)))
    entry.write_bytes(changed)
    run = answer()
    hit = sum(run.stats.cache_hits.values()) == 1
    if hit != (changed == whole):
        raise WrongAnswerError("a damaged entry was loaded" if hit else "a good entry was dropped")
    keyed.drop(entry.parent, entry.name)
    return ACCEPTED if hit else REFUSED


FILES = (
    Fuzzer("results", "damaged result files", results, lambda: _result() and None),
    Fuzzer("studies", "study files and settings", studies, _prepare_studies, seconds=120, batch=50),
    Fuzzer("cli", "command lines", commands, lambda: _result() and None, seconds=120, batch=50),
    Fuzzer("cache", "entries of the kernel cache", cache_entries),
)
