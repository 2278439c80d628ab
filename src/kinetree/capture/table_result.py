"""Tables of OpenSim as results, to compare them with others."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.capture.dynamics import read_motion
from kinetree.errors import FileError, listed
from kinetree.formats.regular_file import PathLike, checked_path
from kinetree.gait_data.opensim import human_coordinates, is_human
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.opensim import OpenSimTable, read_opensim
from kinetree.result.result import Result

ENDS = ("_moment", "_force")  # of the names of generalized forces in OpenSim's tables
TABLES = (".mot", ".sto")


def table_result(path: PathLike, mechanism: Mechanism) -> Result:
    r"""A motion (q) or generalized forces (tau) of a mechanism from a table of OpenSim.

    Columns are called as the joints, those of forces with _moment or _force behind; a human's as in OpenSim's
    gait models.

    >>> import kinetree as kt, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "id.sto")
    >>> count = file.write_text("id\nendheader\ntime joint1_moment joint2_moment\n0 1 2\n0.1 3 4\n")
    >>> table_result(file, kt.zoo.two_link())["tau"].values.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    place = checked_path(path)
    table = read_opensim(place)
    forces = _forces(table, mechanism)
    if forces is not None:
        return build_result("table", mechanism, {"time": table.time, "tau": forces})
    if is_human(mechanism) and "pelvis_tilt" in table.columns:
        q = human_coordinates(mechanism, table.columns, degrees=table.degrees)
        return build_result("table", mechanism, {"time": table.time, "q": q})
    if not any("_".join(name.split()) in table.columns for name in mechanism.joint_names):
        raise FileError(
            f"{place}: no column is called as a joint of mechanism '{mechanism.name}', such as "
            f"{listed(mechanism.joint_names, 6)}; it has {listed(table.columns, 12)}"
        )
    time, q = read_motion(place, mechanism)
    return build_result("table", mechanism, {"time": time, "q": q})


def _forces(table: OpenSimTable, mechanism: Mechanism) -> Array | None:
    """Generalized forces in the order of the joints, if all are there."""
    found = []
    for name in mechanism.joint_names:
        own = [f"{'_'.join(name.split())}{end}" for end in ENDS]
        column = next((table.columns[x] for x in own if x in table.columns), None)
        if column is None:
            return None
        found.append(column)
    return np.stack(found, axis=1)
