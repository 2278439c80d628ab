"""A motion to be followed, from whatever holds one: a trajectory, a result, a prediction, a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array, numbers
from kinetree.errors import FileError, InputError, must_be, shown
from kinetree.result.netcdf import load_result
from kinetree.result.result import Result
from kinetree.trajectories.base import Trajectory
from kinetree.trajectories.csv_table import read_lines
from kinetree.trajectories.tabulated_motion import read_csv

ROWS = 401  # of a trajectory, straight between
TABLE, RESULTS = ".csv", (".nc", ".h5", ".hdf5")


class ReferencePositions(NamedTuple):
    """Positions q (m, n) at s (m,) from 0 to 1, and the names of the joints, None for all in their order."""

    q: Array
    s: Array
    names: tuple[str, ...] | None


def followed(reference: Any) -> ReferencePositions | None:
    """The motion of what is given; None for bare numbers."""
    if isinstance(reference, str | os.PathLike):
        return _of_file(Path(reference))
    if isinstance(reference, Trajectory):
        t = np.linspace(0.0, reference.duration, ROWS)
        return ReferencePositions(reference.at(t).q, t / t[-1], None)
    if isinstance(reference, Result):
        if "q" not in reference:
            raise InputError(f"a result to track needs positions q; this one, of {reference.task}, has none")
        names = tuple(str(x) for x in reference.q["joint"].values)
        return _timed(np.asarray(reference.time.values), np.asarray(reference.q.values), names)
    problem = getattr(reference, "problem", None)  # a prediction, which stands above terms
    if problem is not None and hasattr(reference, "q") and hasattr(reference, "t"):
        return _timed(reference.t, reference.q, tuple(problem.mechanism.joint_names))
    if isinstance(reference, tuple) and len(reference) == 2 and np.ndim(reference[0]) == 1:
        t, q = numbers(reference[0], "times of the reference"), np.asarray(reference[1])
        if q.ndim == 2:
            if len(q) != len(t) or (np.diff(t) < 0.0).any():
                raise InputError(
                    f"times of the reference must ascend, one for each of its {len(q)} rows, got {shown(t)}"
                )
            return _timed(t, numbers(q, "reference"), None)
    if callable(reference):
        raise InputError(must_be("a reference to track", "numbers, a motion or a file", reference))
    return None


def _timed(t: Array, q: Array, names: tuple[str, ...] | None) -> ReferencePositions:
    """With times from 0 to 1; of instants that are there twice the later one counts."""
    if len(t) < 2 or not t[-1] > t[0]:
        raise InputError(f"a motion to track needs at least two instants, got {len(t)}")
    keep = np.append(np.diff(t) > 0.0, True)
    return ReferencePositions(q[keep], (t[keep] - t[0]) / (t[-1] - t[0]), names)


def _of_file(path: Path) -> ReferencePositions:
    kind = path.suffix.lower()
    if kind in RESULTS:
        found = followed(load_result(path))
        assert found is not None
        return found
    if kind != TABLE:
        raise FileError(f"{path}: a motion to track is a result ({', '.join(RESULTS)}) or a table ({TABLE})")
    header = read_lines(str(path), "a motion")[0][1]
    names = tuple(title for title in header[1:] if ":" not in title)  # others are rates
    motion = read_csv(path)
    t = np.unique(motion.table().breaks)
    return ReferencePositions(motion.at(t).q, t / t[-1], names)
