"""Motions that come as numbers: arrays, or a CSV file whose header names the joints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.algebra.piecewise import PiecewisePolynomial
from kinetree.errors import FileError, InputError, listed, texts, unknown_name
from kinetree.formats.regular_file import checked_path
from kinetree.trajectories.csv_table import read_lines, row_of_numbers
from kinetree.trajectories.polynomials import PolynomialTrajectory

Between = Literal["spline", "linear", "hold"]
BETWEEN: tuple[Between, ...] = ("spline", "linear", "hold")
RATES = ("velocity", "acceleration")  # what a column may hold other than positions: 'knee:velocity'


def from_table(
    times: ArrayLike,
    q: ArrayLike,
    qd: ArrayLike | None = None,
    qdd: ArrayLike | None = None,
    *,
    between: Between = "spline",
) -> PolynomialTrajectory:
    """Through positions q (k, n), and velocities qd and accelerations qdd if given, at times (k,) from 0 s.

    Positions alone are joined by a cubic spline with two continuous derivatives, or as ``between`` says by
    lines, or each is held until the next. With velocities the polynomials have degree 3, with accelerations
    too degree 5, and meet what is given.

    >>> from_table([0.0, 1.0, 2.0], [[0.0], [1.0], [0.0]], between="linear").at([0.5, 1.5]).qd[:, 0].tolist()
    [1.0, -1.0]
    """
    if not isinstance(between, str) or between not in BETWEEN:
        raise InputError(unknown_name("way between rows", between, BETWEEN))
    if qd is None and qdd is None:
        make = {
            "spline": PiecewisePolynomial.cubic,
            "linear": PiecewisePolynomial.linear,
            "hold": PiecewisePolynomial.hold,
        }
        return PolynomialTrajectory(make[between](times, q))
    if between != "spline":
        raise InputError(f"rows with velocities are joined by polynomials that meet them, not by '{between}'")
    if qd is None:
        raise InputError("accelerations are given without velocities; give both, or positions alone")
    if qdd is not None:
        return PolynomialTrajectory(PiecewisePolynomial.quintic(times, q, qd, qdd))
    return PolynomialTrajectory(_cubic_hermite(times, q, qd))


def read_csv(path: str | os.PathLike[str], joint_names: Sequence[str] | None = None) -> PolynomialTrajectory:
    r"""The motion in a CSV file: a header ``time, joint1, joint2, ...`` and rows of numbers (s, rad, m).

    Columns ``joint1:velocity`` and ``joint1:acceleration`` may give the rates, for all joints or for none.
    ``joint_names`` (a mechanism's, say) sets the order of the coordinates and must all be there; without it
    the order is that of the file. Empty lines and lines that start with # are ignored.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "motion.csv"
    ...     _ = file.write_text("time, elbow, shoulder\n0, 0.0, 1.0\n1, 0.5, 2.0\n")
    ...     read_csv(file, ["shoulder", "elbow"]).at(0.5).q.tolist()
    [1.5, 0.25]
    """
    name = os.fspath(checked_path(path))
    lines = read_lines(name, "a motion")
    (number, header), rows = lines[0], lines[1:]
    columns = _columns(name, number, header, joint_names)
    values = np.array([row_of_numbers(f"{name}, line {line}", header, cells) for line, cells in rows])
    if len(values) < 2:
        raise FileError(f"{name}: a motion needs at least 2 rows of numbers, found {len(values)}")
    _check_times(name, [line for line, _ in rows], values[:, 0])
    parts = [values[:, index] if index else None for index in columns]
    if parts[0] is None:
        raise FileError(f"{name}, line {number}: the header names no joint")
    return from_table(values[:, 0], parts[0], parts[1], parts[2])


def _cubic_hermite(times: ArrayLike, q: ArrayLike, qd: ArrayLike) -> PiecewisePolynomial:
    """Polynomials of degree 3 through positions and velocities (k, n)."""
    line = PiecewisePolynomial.linear(times, q)  # checks times and positions
    x = np.asarray(q, dtype=np.float64)
    v = finite(numbers(qd, "qd"), "qd")
    if v.shape != x.shape:
        raise InputError(f"qd must have the shape of the positions, {x.shape}, got shape {v.shape}")
    width = np.diff(line.breaks)[:, None]
    h = np.where(width > 0, width, 1.0)
    mean = line.coefficients[:, 1]
    second, third = (3 * mean - 2 * v[:-1] - v[1:]) / h, (v[:-1] + v[1:] - 2 * mean) / h**2
    rates = np.where(width[:, None, :] > 0, np.stack([v[:-1], second, third], axis=1), 0.0)
    return PiecewisePolynomial(line.breaks, np.concatenate([line.coefficients[:, :1], rates], axis=1))


# ---- reading ------------------------------------------------------------------------------------------
def _columns(
    name: str, line: int, header: list[str], joint_names: Sequence[str] | None
) -> tuple[list[int], list[int], list[int]]:
    """Which columns hold the positions, velocities and accelerations, in the order of the joints."""
    where = f"{name}, line {line}"
    for k, title in enumerate(header):
        if not title or title in header[:k]:
            fault = f"the title of another, '{title}'" if title else "no title"
            raise FileError(f"{where}: column {k + 1} has {fault}")
    in_file = [title for title in header[1:] if _split(title)[1] is None]
    joints = in_file if joint_names is None else list(texts(joint_names, "joint_names"))
    allowed = [*joints, *(f"{joint}:{rate}" for rate in RATES for joint in joints)]
    for title in header[1:]:
        if title not in allowed:
            raise FileError(unknown_name("column", title, allowed).after(f"{where}: "))
    found = []
    for rate in (None, *RATES):
        titles = [joint if rate is None else f"{joint}:{rate}" for joint in joints]
        missing = [title for title in titles if title not in header]
        if missing and (rate is None or len(missing) < len(titles)):
            raise FileError(f"{where}: columns are missing: {listed(missing)}")
        found.append([] if missing else [header.index(title) for title in titles])
    if found[2] and not found[1]:
        raise FileError(f"{where}: there are accelerations but no velocities; give both or neither")
    return found[0], found[1], found[2]


def _split(title: str) -> tuple[str, str | None]:
    """Joint and kind of rate of a column's title."""
    joint, colon, rate = title.rpartition(":")
    return (joint, rate) if colon and rate in RATES else (title, None)


def _check_times(name: str, lines: list[int], times: Array) -> None:
    if times[0] != 0.0:
        raise FileError(f"{name}, line {lines[0]}: time must begin at 0, got {times[0]:g}")
    back = np.diff(times) <= 0
    if back.any():
        k = int(np.argmax(back))
        raise FileError(
            f"{name}, line {lines[k + 1]}: time must ascend, got {times[k + 1]:g} after {times[k]:g}"
        )
