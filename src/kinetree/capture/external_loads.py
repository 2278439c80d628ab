"""Forces of the ground from tables of OpenSim (.mot, .sto), and from its files of external loads (.xml)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.capture.trial import GroundForce
from kinetree.errors import FileError, listed
from kinetree.formats.osim_document import every, flag, name_of, value
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import PathLike, check_writable, checked_path, file_content, write_text
from kinetree.formats.xml_file import parse_xml
from kinetree.result.opensim import OpenSimTable, read_opensim

WORLDS = ("", "ground", "/ground")
AXES = "xyz"


def read_forces(path: PathLike) -> tuple[GroundForce, ...]:
    r"""Forces of a table, or of a file of external loads, which says on which bodies they act.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "grf.mot")
    >>> names = " ".join(f"plate_force_{x}{axis}" for x in "vp" for axis in "xyz")
    >>> count = file.write_text(f"grf\nendheader\ntime {names}\n0 1 700 2 0.1 0 0.3\n")
    >>> read_forces(file)[0].force.tolist()
    [[1.0, 700.0, 2.0]]
    """
    place = checked_path(path)
    if place.suffix.lower() == ".xml":
        return _external(place)
    table = read_opensim(place)
    stems = [x[: -len("vx")] for x in table.columns if x.endswith("vx") and f"{x[:-1]}y" in table.columns]
    if not stems:
        raise FileError(
            f"{place}: has no columns of forces such as ground_force_vx, _vy, _vz; it has "
            f"{listed(table.columns)}"
        )
    return tuple(
        _force(table, place, stem.rstrip("_") or "force", (f"{stem}v", f"{stem}p", _torques(stem, table)))
        for stem in stems
    )


def _torques(stem: str, table: OpenSimTable) -> str | None:
    """What the names of the columns of a force's moment begin with."""
    names = re.sub(r"force_?$", "torque_", stem), re.sub(r"force", "torque", stem), f"{stem}m", f"{stem}t"
    for name in names:
        if f"{name}x" in table.columns and name != stem:
            return name
    return None


def _external(path: Path) -> tuple[GroundForce, ...]:
    """The forces that a file of external loads applies."""
    passed = PassedOver(str(path))
    root = parse_xml(file_content(path), str(path), passed)
    loads = next(every(root, "ExternalLoads"), None)
    name = None if loads is None else value(loads, "datafile")
    if loads is None or not name:
        raise FileError(
            f"{path}: is not a file of external loads: an <ExternalLoads> with a <datafile> is needed"
        )
    place = path.parent / name
    table = read_opensim(place)
    found = []
    for element in every(loads, "ExternalForce"):
        if not flag(element, "appliesForce", True) or flag(element, "isDisabled", False):
            continue
        for key in ("force_expressed_in_body", "point_expressed_in_body"):
            if (value(element, key) or "").strip() not in WORLDS:
                raise FileError(
                    f"{element.place}: <{key}> must be ground; forces in axes of bodies are not read"
                )
        force_key, point_key, torque_key = (
            value(element, f"{x}_identifier") or None for x in ("force", "point", "torque")
        )
        force = _force(table, place, name_of(element), (force_key, point_key, torque_key))
        body = (value(element, "applied_to_body") or "").rsplit("/", 1)[-1]
        found.append(replace(force, body=body or None))
    return tuple(found)


def _force(
    table: OpenSimTable, path: Path, name: str, keys: tuple[str | None, str | None, str | None]
) -> GroundForce:
    """A force with its point and moment, by what the names of its columns begin with."""
    nothing = np.zeros((len(table.time), 3))
    force, point, moment = (nothing if key is None else _columns(table, path, key) for key in keys)
    return GroundForce(name, table.time, force, point, moment)


def _columns(table: OpenSimTable, path: Path, key: str) -> Array:
    """The first three columns whose names begin with a word, as OpenSim finds them."""
    names = [name for name in table.columns if name.startswith(key)][: len(AXES)]
    if len(names) < len(AXES):
        raise FileError(
            f"{path}: three columns whose names begin with '{key}' are needed; it has {listed(table.columns)}"
        )
    return np.stack([table.columns[name] for name in names], axis=1)


def external_loads_text(forces: tuple[GroundForce, ...], datafile: str) -> str:
    """A file of external loads of OpenSim for forces, whose numbers are in ``datafile``."""
    rows = []
    for force in forces:
        stem = _stem(force.name)
        rows.append(
            f'      <ExternalForce name="{stem}">\n'
            f"        <applied_to_body>{force.body or 'ground'}</applied_to_body>\n"
            "        <force_expressed_in_body>ground</force_expressed_in_body>\n"
            "        <point_expressed_in_body>ground</point_expressed_in_body>\n"
            f"        <force_identifier>{stem}_force_v</force_identifier>\n"
            f"        <point_identifier>{stem}_force_p</point_identifier>\n"
            f"        <torque_identifier>{stem}_torque_</torque_identifier>\n"
            "      </ExternalForce>\n"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="40000">\n'
        '  <ExternalLoads name="loads">\n    <objects>\n'
        + "".join(rows)
        + f"    </objects>\n    <datafile>{datafile}</datafile>\n  </ExternalLoads>\n</OpenSimDocument>\n"
    )


def write_forces(forces: tuple[GroundForce, ...], path: PathLike, force: bool = False) -> None:
    """Write forces as OpenSim reads external loads: a .mot file, and an .xml file of its name beside it.

    All forces are given at the times of the first one.

    >>> import pathlib, tempfile
    >>> push = GroundForce("right", [0.0, 1.0], [[0, 700, 0]] * 2, [[0.1, 0, 0]] * 2, [[0, 2, 0]] * 2, "foot")
    >>> file = pathlib.Path(tempfile.mkdtemp(), "step.mot")
    >>> write_forces((push,), file)
    >>> again = read_forces(file.with_suffix(".xml"))[0]
    >>> again.body, again.force[0].tolist(), again.moment[0].tolist()
    ('foot', [0.0, 700.0, 0.0], [0.0, 2.0, 0.0])
    """
    place = checked_path(path)
    beside = place.with_suffix(".xml")
    for file in (place, beside):
        check_writable(file, force)
    time = forces[0].time
    names, columns = ["time"], [time]
    for one in forces:
        same = one.at(time)
        for what, values in (("force_v", same.force), ("force_p", same.point), ("torque_", same.moment)):
            names += [f"{_stem(one.name)}_{what}{axis}" for axis in AXES]
            columns += list(values.T)
    rows = ["\t".join(repr(float(x)) for x in row) for row in np.stack(columns, axis=1)]
    head = [place.stem, "version=1", f"nRows={len(rows)}", f"nColumns={len(names)}", "inDegrees=no"]
    write_text(place, "\n".join([*head, "endheader", "\t".join(names), *rows]) + "\n", force)
    write_text(beside, external_loads_text(forces, place.name), force)


def _stem(name: str) -> str:
    return "_".join(name.split())
