"""A mechanism from one format into another, with notes of what could not be carried over."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinetree.errors import FileError, InputError, listed
from kinetree.formats.files import save
from kinetree.formats.kinds import WRITTEN
from kinetree.formats.regular_file import PathLike, check_writable, read_text, write_text
from kinetree.model import zoo
from kinetree.model.mechanism import Mechanism
from kinetree.study.models import mechanism_of

CONVENTIONS = ("modified", "classic")


def convert(
    source: PathLike,
    target: PathLike,
    force: bool = False,
    convention: str | None = None,
    **options: Any,
) -> tuple[Mechanism, list[str]]:
    """Read a mechanism and write it in the format of the target's suffix; returns it and the notes.

    ``source`` is a .toml, .urdf, .xacro, .sdf, .xml (MJCF), .m (inputs.m of ReDySim) or .csv file (a DH
    table), or a name of the zoo; initials.m and trajectory.m beside an inputs.m become studies beside a .toml
    target, named in the notes;
    ``convention`` is that of a DH table in CSV; ``options`` are those of :func:`kinetree.load` for URDF, SDF
    and MJCF files, ``allow_unphysical`` also for DH tables.

    >>> import tempfile, pathlib
    >>> convert("two_link", pathlib.Path(tempfile.mkdtemp(), "two_link.urdf"))[1][0]
    "URDF cannot represent all of mechanism 'two_link'; left out: gravity (0 0 0)"
    """
    place = Path(target)
    if place.suffix.lower() not in WRITTEN:
        raise FileError(f"{place}: a mechanism can be converted into {listed(WRITTEN)}")
    if Path(source) == place or (place.exists() and Path(source).exists() and place.samefile(source)):
        raise InputError(f"{place}: is the input file; give another one to write")
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        mechanism = _read(source, convention, options)
        studies, further = _studies(Path(source), place, mechanism)
        for study in studies:
            check_writable(study, force)
        save(mechanism, place, force)
        for study, text in studies.items():
            write_text(study, text, force)
    return mechanism, [*dict.fromkeys(str(warning.message) for warning in heard), *further]


def _studies(source: Path, target: Path, mechanism: Mechanism) -> tuple[dict[Path, str], list[str]]:
    """The studies that initials.m and trajectory.m of ReDySim become, by file, and notes."""
    if source.suffix.lower() != ".m" or target.suffix.lower() != ".toml":
        return {}, []
    from kinetree.formats.redysim import redysim_task
    from kinetree.formats.toml_writer import tables_text

    tables, notes = redysim_task(source, mechanism)
    studies = {}
    for found in tables:
        head = {"task": found["study"]["task"], "title": f"{mechanism.name}, from ReDySim"}
        whole = {"study": {**head, **found["study"]}, "mechanism": {"file": target.name}}
        studies[target.with_name(f"{target.stem}_{head['task']}.toml")] = tables_text(
            {**whole, **_rest(found)}
        )
    return studies, [*notes, *(f"wrote {path}" for path in studies)]


def _rest(tables: Mapping[str, Any]) -> dict[str, Any]:
    return {key: table for key, table in tables.items() if key != "study" and table}


def _read(source: PathLike, convention: str | None, options: dict[str, Any]) -> Mechanism:
    place = Path(source)
    if place.suffix.lower() != ".csv" or str(source) in zoo.ZOO:
        if convention is not None:
            raise InputError(f"a convention is for DH tables in .csv files, not for {place}")
        return mechanism_of(str(source), **options)
    unphysical = options.pop("allow_unphysical", False)
    if options:
        raise InputError(f"{listed(options)}: for .urdf, .sdf and .xml files, not for {place}")
    from kinetree.formats.dh_csv import mechanism_from_dh_csv

    return mechanism_from_dh_csv(
        read_text(place), str(place), convention or CONVENTIONS[0], place.stem, unphysical
    )
