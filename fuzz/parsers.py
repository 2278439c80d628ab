"""Mechanism files and tables that are nearly right: TOML, URDF, MJCF, Denavit-Hartenberg."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.answers import compare
from fuzz.change import changed_table, changed_text
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer

ROBOTS = ("gripper", "two_link", "quadruped", "four_bar", "hexapod", "kuka_kr5")
MJCF = """<mujoco model="arm">
  <compiler angle="radian"/>
  <option gravity="0 0 -9.81"/>
  <worldbody>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" type="hinge" axis="0 1 0" range="-2 2" damping="0.1" armature="0.01"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2"/>
      <body name="fore" pos="0.4 0 0" euler="0 0.3 0">
        <joint name="elbow" type="hinge" axis="0 1 0.2" stiffness="3" springref="0.2"/>
        <inertial pos="0.2 0 0" mass="1.5" diaginertia="0.01 0.02 0.02"/>
        <body name="hand" pos="0.3 0 0">
          <joint name="slide" type="slide" axis="1 0 0" limited="true" range="0 0.1"/>
          <geom type="box" size="0.05 0.04 0.02" density="800"/>
        </body>
      </body>
    </body>
    <body name="ball" pos="1 0 2"><freejoint/><geom type="sphere" size="0.1" mass="1"/></body>
  </worldbody>
</mujoco>"""


@cache
def texts(suffix: str) -> tuple[str, ...]:
    """Good files to begin with."""
    if suffix == ".xml":
        return (MJCF,)
    found = []
    for name in ROBOTS:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, f"robot{suffix}")
            try:
                kt.save(getattr(kt.zoo, name)(), place)
            except kt.KinetreeError:
                continue
            found.append(place.read_text(encoding="utf-8"))
    return tuple(found)


def prepare() -> None:
    """Compile what answers need, once, before children are made."""
    for suffix in (".toml", ".urdf", ".xml"):
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
    place = _written(folder, suffix, changed_text(rng, known[int(rng.integers(len(known)))]))
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
    Fuzzer("dh", "tables of Denavit and Hartenberg", dh, prepare),
)
