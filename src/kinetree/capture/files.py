"""Trials from and to files, by their suffix."""

from __future__ import annotations

from dataclasses import replace

from kinetree.capture.c3d import read_c3d, write_c3d
from kinetree.capture.external_loads import read_forces
from kinetree.capture.trc import read_trc, write_trc
from kinetree.capture.trial import LENGTHS, Trial
from kinetree.errors import FileError, InputError, listed, unknown_name
from kinetree.formats.regular_file import PathLike, checked_path

READERS = {".trc": read_trc, ".c3d": read_c3d}
WRITERS = {".trc": write_trc, ".c3d": write_c3d}


def read_trial(path: PathLike, forces: PathLike | None = None) -> Trial:
    """A trial from a .trc or .c3d file; ``forces`` is a .mot, .sto or OpenSim's external loads file (.xml).

    Lengths become m whatever the file has; markers that were not seen are NaN. C3D files need the extra
    ``c3d`` (the package ezc3d); their plates' analog channels become force, point and moment.

    >>> import pathlib, tempfile
    >>> trial = Trial(("toe",), [0.0, 0.01], [[[0.1, 0.2, 0.3]], [[0.1, 0.2, float("nan")]]])
    >>> file = pathlib.Path(tempfile.mkdtemp(), "step.trc")
    >>> write_trial(trial, file)
    >>> read_trial(file).positions[:, 0].round(6).tolist()
    [[0.1, 0.2, 0.3], [nan, nan, nan]]
    """
    place = checked_path(path)
    suffix = place.suffix.lower()
    if suffix not in READERS:
        raise FileError(f"{place}: a trial is read from {listed(READERS)} files, not from '{suffix}'")
    trial = READERS[suffix](place)
    return trial if forces is None else replace(trial, forces=read_forces(forces))


def write_trial(trial: Trial, path: PathLike, units: str = "mm", force: bool = False) -> None:
    """Write a trial to a .trc or .c3d file, in the ``units`` mm or m; ``force`` replaces an existing file.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "still.trc")
    >>> write_trial(Trial(("toe",), [0.0, 0.01], [[[0.1, 0.2, 0.3]]] * 2), file, units="m")
    >>> read_trial(file).units
    'm'
    """
    place = checked_path(path)
    if units not in LENGTHS:
        raise InputError(unknown_name("unit of length", units, LENGTHS))
    if place.suffix.lower() not in WRITERS:
        raise FileError(f"{place}: a trial is written to {listed(WRITERS)} files, not to '{place.suffix}'")
    WRITERS[place.suffix.lower()](trial, place, units, force)
