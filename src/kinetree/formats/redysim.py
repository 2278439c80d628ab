"""Mechanisms and tasks of ReDySim, from its MATLAB files inputs.m, initials.m and trajectory.m.

[Shah2013], chapter 10: inputs.m has modified Denavit-Hartenberg parameters, masses and inertias of all links
(Tables 10.1, 10.3, 10.10), initials.m the state and settings of a simulation (Tables 10.6, 10.8),
trajectory.m the ends of a cycloidal motion (Table 10.2).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import FileError, listed, must_be
from kinetree.formats.matlab_values import Unread, matlab_values
from kinetree.formats.passed_over import PassedOver, warn_of_unphysical
from kinetree.formats.regular_file import read_text
from kinetree.model.body import WORLD
from kinetree.model.dh import from_dh
from kinetree.model.joint_kind import FIXED, REVOLUTE
from kinetree.model.joint_kind import KINDS as ALL
from kinetree.model.mechanism import Mechanism

Tables = dict[str, dict[str, Any]]
KINDS = {x.n_dof: x.name for x in ALL.values() if x.sequence or x.is_turn or x.is_fixed}  # by n_j
LENGTHS = ("alp", "a", "b", "dx", "dy", "dz", "m")
MOMENTS = ("Icxx", "Icyy", "Iczz", "Icxy", "Iczx", "Icyz")
GROUND = ("k", "odf", "vz_max", "mu", "ch")  # of floating bases
UNREAD, ASSUMED = "not-read", "assumed"  # rules of remarks
METHODS = {0: "dopri5", 1: "radau", 2: "rk4"}  # ode45, ode15s, ode5


def load_redysim(path: Path, allow_unphysical: bool = False, strict: bool = False) -> Mechanism:
    """The open tree of an inputs.m file; one warning names what of it is not used.

    Of closed loops the file has the tree only: inv_kine.m and jacobian.m are code.
    """
    rows, unread = _rows(path)
    heard, source = PassedOver(str(path), strict), str(path)
    for line in unread:
        heard.note(UNREAD, f"line {line.line} ({line.why})", f"{source}, line {line.line}: {line.why}")
    table = rows.table()
    several = sorted({row["joint"] for row in table} - {REVOLUTE, FIXED})
    if several:
        heard.mention(ASSUMED, f"axes of {listed(several)} joints, of which n_j has the number only", source)
    if rows.is_closed:
        heard.mention(UNREAD, "cut joints, which the code of inv_kine.m has: add each as a [[loop]]", source)
    if ground := [name for name in GROUND if name in rows.values]:
        heard.mention(UNREAD, f"ground {listed(ground)}, which belongs to a study", source)
    name = path.resolve().parent.name if path.stem == "inputs" else path.stem
    mechanism = from_dh(table, "modified", name or "mechanism", rows.gravity(), not strict)
    heard.warn()
    if not allow_unphysical:
        warn_of_unphysical(mechanism, source)
    return mechanism


def _rows(path: Path) -> tuple[_Rows, list[Unread]]:
    """The rows of the file, and its lines without value; n is the number of links where it is used only."""
    text = read_text(path)
    values, _ = matlab_values(text)
    count = values["bt"].size if "bt" in values else 0
    values, unread = matlab_values(text, {"n": count})
    return _Rows(path, values, unread), unread


def redysim_task(path: Path, mechanism: Mechanism) -> tuple[list[Tables], list[str]]:
    """The tables of studies from initials.m and trajectory.m beside an inputs.m file, and notes.

    A note says what of them is code instead of values.
    """
    inputs, _ = matlab_values(read_text(path))
    tables: list[Tables] = []
    notes: list[str] = []
    for name, read in (("initials.m", _simulation), ("trajectory.m", _motion)):
        if (place := path.with_name(name)).is_file():
            found = read(place, inputs, mechanism, notes)
            tables += [found] if found else []
    return tables, notes


class _Rows:
    """The names of an inputs.m file as rows of a Denavit-Hartenberg table."""

    def __init__(self, path: Path, values: Mapping[str, Array], unread: Sequence[Unread]) -> None:
        self.path, self.values, self.unread = path, values, unread
        self.parents = self.integers("bt")
        self.count = len(self.parents)

    @property
    def is_closed(self) -> bool:
        """Whether the system has closed loops."""
        return "type" in self.values and bool(self.values["type"].ravel()[0] == 1.0)

    def given(self, name: str) -> Array:
        """The numbers of a name, which must be there."""
        if name not in self.values:
            lines = [x for x in self.unread if re.match(rf"{name}\s*[(=]", x.text)]
            why = f"line {lines[0].line}: {lines[0].why}" if lines else "no line assigns it"
            raise FileError(f"{self.path}: has no {name}, which every inputs.m of ReDySim has; {why}")
        return self.values[name].ravel()

    def each(self, name: str) -> Array:
        """One number for every link."""
        found = self.given(name)
        if len(found) != self.count:
            raise FileError(f"{self.path}: {name} has {len(found)} numbers for {self.count} links (bt)")
        return found

    def integers(self, name: str) -> list[int]:
        """Integers of a name."""
        found = self.given(name)
        if (found != np.round(found)).any():
            raise FileError(must_be(f"{self.path}: {name}", "integers", found.tolist()))
        return [int(x) for x in found]

    def gravity(self) -> Array:
        """Gravitational acceleration (3,)."""
        found = self.given("g")
        if len(found) != 3:
            raise FileError(must_be(f"{self.path}: g", "three numbers (m/s^2)", found.tolist()))
        return found

    def variables(self) -> list[int]:
        """Variables of each joint: n_j, which one of the book's files calls n."""
        name = "n_j" if "n_j" in self.values else "n"
        if name == "n" and self.given(name).size != self.count:
            return [1] * self.count
        self.each(name)
        found = self.integers(name)
        for k, x in enumerate(found):
            if x not in KINDS:
                known = ", ".join(map(str, KINDS))
                raise FileError(f"{self.path}: {name}: joint {k + 1} has {x} variables; allowed: {known}")
        return found

    def table(self) -> list[dict[str, Any]]:
        """A row for every link: modified parameters, mass, center of mass, inertia about it."""
        alpha, a, b, dx, dy, dz, mass = (self.each(name) for name in LENGTHS)
        moments = [self.each(name) if name in self.values else np.zeros(self.count) for name in MOMENTS]
        driven = self.each("aj") if "aj" in self.values else np.ones(self.count)
        rows = []
        for k, (parent, n) in enumerate(zip(self.parents, self.variables(), strict=True)):
            if not 0 <= parent <= k:
                raise FileError(
                    must_be(f"{self.path}: bt: the parent of link {k + 1}", f"0 to {k}", parent, "")
                )
            numbers = {"alpha": alpha[k], "a": a[k], "b": b[k], "mass": mass[k]}
            rows.append(
                {
                    "name": f"link{k + 1}",
                    "parent": WORLD if parent == 0 else f"link{parent}",
                    "joint": KINDS[n],
                    "joint_name": f"joint{k + 1}",
                    **{key: float(x) for key, x in numbers.items()},
                    "center": [float(x[k]) for x in (dx, dy, dz)],
                    "inertia": [float(x[k]) for x in moments],
                    **({"driven": bool(driven[k])} if n else {}),
                }
            )
        return rows


def _simulation(
    place: Path, inputs: Mapping[str, Array], mechanism: Mechanism, notes: list[str]
) -> Tables | None:
    """Tables of a study that simulates, from initials.m."""
    values, unread = matlab_values(read_text(place), inputs)
    missing = [name for name in ("ti", "tf") if name not in values]
    if missing:
        notes.append(f"{place}: has no {listed(missing)}: no study of a simulation is written")
        return None
    first, last = (float(values[name].ravel()[0]) for name in ("ti", "tf"))
    initial: dict[str, Any] = {}
    for key, names in (("q", ("q0", "th")), ("qd", ("dq0", "dth"))):
        parts = [values[name].ravel() for name in names if name in values]
        found = np.concatenate(parts) if parts else np.zeros(0)
        if len(found) == mechanism.n_dof:
            initial[key] = found.tolist()
        else:
            notes.append(
                f"{place}: {' and '.join(names)} have {len(found)} numbers for {mechanism.n_dof} "
                f"coordinates: {key} starts at zero"
            )
    kind = int(values["int_type"].ravel()[0]) if "int_type" in values else 0
    integrator: dict[str, Any] = {"method": METHODS.get(kind, METHODS[0])}
    step = float(values["step"].ravel()[0]) if "step" in values else 0.01
    if integrator["method"] == "rk4":
        integrator["step"] = step
    else:
        integrator |= {k: float(values[k].ravel()[0]) for k in ("rtol", "atol") if k in values}
    notes += [f"{place}, line {x.line}: {x.why}" for x in unread]
    return {
        "study": {"task": "simulate", "duration": last - first},
        "initial": initial,
        "integrator": integrator,
        "output": {"samples": round((last - first) / step) + 1},
    }


def _motion(
    place: Path, inputs: Mapping[str, Array], mechanism: Mechanism, notes: list[str]
) -> Tables | None:
    """Tables of a study of torques along the cycloid between thi and thf of trajectory.m."""
    values, _ = matlab_values(read_text(place), inputs)
    missing = [name for name in ("thi", "thf", "Tp") if name not in values]
    if missing:
        notes.append(
            f"{place}: has no {listed(missing)}: a motion by other code than the cycloid is not read"
        )
        return None
    start, end = values["thi"].ravel(), values["thf"].ravel()
    if {len(start), len(end)} != {mechanism.n_dof}:
        notes.append(
            f"{place}: thi and thf have {len(start)} and {len(end)} numbers for {mechanism.n_dof} joints"
        )
        return None
    duration = float(values["Tp"].ravel()[0])
    step = float(next((values[x].ravel()[0] for x in ("ts", "step") if x in values), 0.01))
    return {
        "study": {"task": "inverse"},
        "trajectory": {
            "kind": "cycloid",
            "start": start.tolist(),
            "end": end.tolist(),
            "duration": duration,
        },
        "output": {"samples": round(duration / step) + 1, "reactions": True},
    }
