"""Torques that depend on time alone: tables and constants."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import frozen
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.control.controller import Controller
from kinetree.control.fitted import Recipe
from kinetree.control.per_joint import PerJoint, checked
from kinetree.control.torque_source import ConstantSource, TableSource
from kinetree.errors import FileError, InputError, texts, unknown_name
from kinetree.formats.regular_file import checked_path
from kinetree.trajectories.csv_table import read_lines, row_of_numbers

Kind = Literal["linear", "hold", "cubic"]
MAKE = {
    "linear": PiecewisePolynomial.linear,
    "hold": PiecewisePolynomial.hold,
    "cubic": PiecewisePolynomial.cubic,
}


def read_torque_file(path: str | os.PathLike[str]) -> tuple[list[float], list[list[float]], list[str]]:
    """Times (k,), torques (k, n) and names of the joints; errors name file and line."""
    file = os.fspath(checked_path(path))
    (number, header), *rows = read_lines(file, "a torque table")
    where = f"{file}, line {number}"
    joints = header[1:]
    for k, name in enumerate(joints):
        if not name or name in joints[:k]:
            raise FileError(f"{where}: column {k + 2} needs the name of a joint of its own, got '{name}'")
    if not joints or not rows:
        raise FileError(
            f"{where}: a torque table needs a joint's column and a row of numbers after this line"
        )
    times: list[float] = []
    values: list[list[float]] = []
    for line, cells in rows:
        t, *torques = row_of_numbers(f"{file}, line {line}", header, cells)
        if times and t < times[-1]:
            raise FileError(f"{file}, line {line}: time must ascend, got {t:g} after {times[-1]:g}")
        times.append(t)
        values.append(torques)
    return times, values, joints


@dataclass(frozen=True, eq=False, repr=False)
class TorqueTable(Controller):
    """Torques ``values`` (k, n) at ``times`` (k,) in s; before and after them the end values are held.

    ``kind`` selects linear interpolation, hold until the next row, or a cubic spline. ``joints`` names the
    columns; other joints get no torque. Without names there is a column for each degree of freedom, with or
    without those of a floating base.

    >>> import kinetree as kt
    >>> table = TorqueTable([0.0, 1.0], [[0.0], [2.0]], joints=["joint3"])
    >>> table.torque(kt.zoo.gripper(), 0.5, [0.0] * 4, [0.0] * 4).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """

    times: ArrayLike
    values: ArrayLike
    kind: Kind = "linear"
    joints: Sequence[str] | None = None
    source: TableSource = field(init=False)

    @classmethod
    def read(cls, path: str | os.PathLike[str], kind: Kind = "linear", **options: object) -> TorqueTable:
        r"""The table in a CSV file: a header ``time, joint1, joint2, ...`` and rows of numbers (s, N m, N).

        ``options`` are limits and period. Empty lines and lines that start with # are ignored.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "torques.csv"
        ...     _ = file.write_text("time, elbow\n0, 0.5\n1, 1.5\n")
        ...     TorqueTable.read(file)
        TorqueTable(2 rows for elbow from 0 to 1 s, linear)
        """
        times, values, joints = read_torque_file(path)
        return cls(times, values, kind, joints, **options)  # type: ignore[arg-type]

    def _checked_recipe(self) -> Recipe:
        if self.kind not in MAKE:
            raise InputError(unknown_name("kind of table", self.kind, MAKE))
        polynomial = MAKE[self.kind](self.times, self.values)
        joints = None if self.joints is None else _names(self.joints, polynomial.n)
        source = TableSource(polynomial, joints, "torque table")
        self._set(times=frozen(self.times), values=frozen(self.values), joints=joints, source=source)
        return Recipe(torques=source)

    def __repr__(self) -> str:
        t, values = np.asarray(self.times), np.asarray(self.values)
        for_whom = ", ".join(self.joints) if self.joints else f"{values.shape[1]} joints"
        more = [f"{name}={x!r}" for name in ("limits", "period") if (x := getattr(self, name)) is not None]
        stated = [f"{len(t)} rows for {for_whom} from {t[0]:g} to {t[-1]:g} s", self.kind, *more]
        return f"TorqueTable({', '.join(stated)})"


@dataclass(frozen=True, eq=False, repr=False)
class ConstantTorque(Controller):
    """Constant torques: one number for all joints, (n_dof,), or by joint name, zero for the others.

    >>> import kinetree as kt
    >>> ConstantTorque({"joint2": 0.5}).torque(kt.zoo.gripper(), 0.0, [0.0] * 4, [0.0] * 4).tolist()
    [0.0, 0.5, 0.0, 0.0]
    """

    values: PerJoint

    def _checked_recipe(self) -> Recipe:
        values = checked(self.values, "torque", signed=True)
        self._set(values=values)
        return Recipe(torques=ConstantSource(values))


def _names(joints: Sequence[str], count: int) -> tuple[str, ...]:
    names = texts(joints, "joints")
    if len(names) != count:
        raise InputError(f"a torque table of {count} columns needs as many joint names, got {len(names)}")
    twice = [name for k, name in enumerate(names) if name in names[:k]]
    if twice:
        raise InputError(f"a torque table names the joint '{twice[0]}' twice")
    return names
