"""Mechanisms from Denavit-Hartenberg tables, and the DH rows of Euler-angle joints.

Two conventions, both with joint axes on z:

* ``"modified"`` ([Shah2013], section 3.2): T = Rx(alpha) Tx(a) Rz(theta) Tz(b). The link frame sits at the
  joint.
* ``"classic"`` ([Barman2020], eq. 2.3; [Xiang2009], eq. 1; [Mohan2007], appendix A): T = Rz(theta) Tz(d)
  Tx(a) Rx(alpha). The link frame sits at the far (distal) end of the link, with the axis of the next joint on
  its z.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import pi
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, number, numbers, vector
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import (
    THREE_AXIS_SEQUENCES,
    TWO_AXIS_SEQUENCES,
    rotation_about,
    sequence_axes,
)
from kinetree.errors import InputError, ModelError, must_be, shown, unknown_name
from kinetree.model.body import WORLD, Body, checked_name
from kinetree.model.inertia import UNPHYSICAL, Inertia
from kinetree.model.joint import PARAMETERS, Joint, Mimic
from kinetree.model.joint_kind import KINDS, REVOLUTE
from kinetree.model.mechanism import EARTH, Link, Mechanism

ONE_AXIS_AT_MOST = [kind for kind in KINDS.values() if kind.n_dof <= 1]
JOINT_KINDS = {
    "modified": tuple(KINDS),
    "classic": tuple(kind.name for kind in sorted(ONE_AXIS_AT_MOST, key=lambda kind: kind.is_fixed)),
}
LENGTHS, ANGLES = ("a", "b"), ("alpha", "theta")
BODY_KEYS = ("name", "parent", "mass", "center", "inertia", "allow_unphysical")
JOINT_KEYS = ("joint", "joint_name", "sequence", "mimic", "driven", *PARAMETERS)
KEYS = (*LENGTHS, "d", *ANGLES, *BODY_KEYS, *JOINT_KEYS)


def from_dh(
    rows: Sequence[Mapping[str, Any]],
    convention: str = "modified",
    name: str = "mechanism",
    gravity: ArrayLike = EARTH,
    allow_unphysical: bool = False,
) -> Mechanism:
    """A mechanism from a Denavit-Hartenberg table, one row per body, parents before children.

    Every key of a row has a default. Geometry (m, rad): ``a``, ``alpha``, ``b`` (or ``d``, the same) and
    ``theta``. The coordinate q of a revolute joint is added to theta, that of a prismatic one to b.
    ``name`` defaults to link1, link2, ...; ``parent`` is an earlier row's name or index (from 0) or "world",
    by default the row before, and for the first row the world.
    ``joint`` is the kind, default revolute; modified tables also take the kinds with several degrees of
    freedom and their ``sequence``, with alpha, a, theta, b placing the joint. ``joint_name`` defaults to
    joint1, joint2, ...; ``mimic`` and the joint parameters (limits, armature, ...) are those of
    :meth:`Joint.of_kind`.

    ``mass`` (kg), ``center`` of mass and ``inertia`` about it (3 numbers: the diagonal; 6: xx, yy, zz, xy,
    xz, yz; or 3 x 3) are given in the link frame of the convention, as the documents do;
    ``allow_unphysical`` is that of :class:`Inertia`, of a row or of the entire table.

    The body frame of a modified table is the link frame. That of a classic table stands at the joint: z on
    the joint's axis, x along the link's common normal; the link frame is Tz(d) Tx(a) Rx(alpha) away from it
    (:func:`distal_frames`), and center and inertia are carried over. A classic row is relative to its
    parent's link frame, also where the tree branches.

    >>> rod = dict(a=0.4, mass=0.5, center=(-0.2, 0, 0), inertia=(0, 0.1, 0.1))
    >>> from_dh([rod, rod], convention="classic", name="two links")
    Mechanism('two links', 2 bodies, 2 degrees of freedom)
    """
    ends = {WORLD: Placement()}
    links = []
    for row in _table(rows, convention, allow_unphysical):
        joint_frame, ends[row.name] = row.frames(convention)
        body = Body(row.name, row.inertia.moved(ends[row.name]))
        links.append(Link(body, row.joint, row.parent, ends[row.parent] @ joint_frame))
    return Mechanism(name, tuple(links), vector(gravity, 3, "gravity", ModelError))


def distal_frames(rows: Sequence[Mapping[str, Any]], convention: str = "classic") -> list[Placement]:
    """The link frame of each row in the body frame that :func:`from_dh` gives it.

    Classic: Tz(d) Tx(a) Rx(alpha), at the far end of the link; modified: the body frame itself. Use them to
    express reactions in the frames of the documents (:func:`kinetree.analysis.wrenches_in_frames`).

    >>> import kinetree as kt
    >>> kt.model.distal_frames([{"a": 0.5, "mass": 1.0}])[0].position.tolist()
    [0.5, 0.0, 0.0]
    """
    return [row.frames(convention)[1] for row in _table(rows, convention)]


# ---- reading a table --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Row:
    """One checked row; the inertia is in the link frame."""

    name: str
    parent: str
    a: float
    alpha: float
    b: float
    theta: float
    inertia: Inertia
    joint: Joint

    def frames(self, convention: str) -> tuple[Placement, Placement]:
        """The joint frame in the parent's link frame, and the link frame in the body frame, at q = 0."""
        across = _shift(self.a, 0.0) @ _turn("x", self.alpha)  # both along and about x: they commute
        if convention == "modified":
            return across @ _turn("z", self.theta) @ _shift(0.0, self.b), Placement()
        return _turn("z", self.theta), _shift(0.0, self.b) @ across


def _turn(axis: str, angle: float) -> Placement:
    """A turned frame; right angles give exact zeros."""
    R = rotation_about(axis, angle)
    return Placement(frozen(np.where(np.abs(R) < 1e-15, 0.0, R)))


def _shift(x: float, z: float) -> Placement:
    return Placement(position=frozen([x, 0.0, z]))


def _table(rows: Sequence[Mapping[str, Any]], convention: str, allow_unphysical: bool = False) -> list[_Row]:
    """All rows, checked; one error names all rows at fault."""
    if not isinstance(convention, str) or convention not in JOINT_KINDS:
        raise InputError(unknown_name("DH convention", convention, JOINT_KINDS))
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Sequence):
        raise ModelError(must_be("a DH table", "a list of rows", type(rows).__name__, ""))
    names = [_name(k, row) for k, row in enumerate(rows)]
    table, wrong = [], []
    for k, row in enumerate(rows):
        what = f"DH row {k} ('{names[k]}')"
        if names[k] in names[:k]:
            raise ModelError(f"{what} has the name of row {names.index(names[k])}; names must differ")
        try:
            given = {"allow_unphysical": allow_unphysical, **row}
            table.append(_row(given, names[k], _parent(row, k, names), k, convention))
        except ModelError as reason:
            wrong.append(f"{what}: {reason}")
    if wrong:
        hint = UNPHYSICAL if any(x.endswith(UNPHYSICAL) for x in wrong) else ""
        raise ModelError("; ".join(x.removesuffix(UNPHYSICAL) for x in wrong) + hint)
    return table


def _name(k: int, row: Mapping[str, Any]) -> str:
    if not isinstance(row, Mapping):
        raise ModelError(must_be(f"DH row {k}", "a mapping such as {'a': 0.1, 'mass': 1}", row))
    name = checked_name(row.get("name", f"link{k + 1}"), f"DH row {k}")
    if name == WORLD:
        raise ModelError(f"DH row {k} may not be named '{WORLD}': that is the fixed root frame of the tree")
    return name


def _row(row: Mapping[str, Any], name: str, parent: str, k: int, convention: str) -> _Row:
    """One row; the errors raised here need not repeat which."""
    for key in row:
        if key not in KEYS:
            raise ModelError(unknown_name("key", key, KEYS))
    if "b" in row and "d" in row:
        raise ModelError("give either b or d: they are two names of the same offset along z")
    kind = row.get("joint", REVOLUTE)
    if kind not in JOINT_KINDS[convention]:
        raise ModelError(unknown_name(f"joint kind of a {convention} table", kind, JOINT_KINDS[convention]))
    values = {"b": row.get("d", 0.0)} | {key: row[key] for key in (*LENGTHS, *ANGLES) if key in row}
    geometry = {key: number(values.get(key, 0.0), key, ModelError) for key in (*LENGTHS, *ANGLES)}
    for key in ANGLES:
        if abs(geometry[key]) > 2 * pi + 1e-9:
            raise ModelError(
                f"{key} must be at most one revolution (2 pi rad), got {geometry[key]:g}; is it in degrees?"
            )
    given = {key: row[key] for key in JOINT_KEYS[2:] if key in row}
    if "mimic" in given:
        given["mimic"] = _mimic(given["mimic"])
    joint = Joint.of_kind(row.get("joint_name", f"joint{k + 1}"), kind, **given)
    return _Row(name, parent, inertia=_inertia(row), joint=joint, **geometry)


def _parent(row: Mapping[str, Any], k: int, names: list[str]) -> str:
    """The name of the row's parent."""
    parent = row.get("parent", k - 1 if k else WORLD)
    if isinstance(parent, int | np.integer) and not isinstance(parent, bool):
        if not 0 <= parent < k:
            earlier = f"an earlier row (its name, or 0 to {k - 1}) or " if k else "in the first row "
            raise ModelError(must_be("parent", f"{earlier}'{WORLD}'", parent, ""))
        return names[int(parent)]
    if parent in names[k:]:
        raise ModelError(f"parent '{parent}' is not an earlier row; parents go before their children")
    if parent not in (WORLD, *names):
        raise ModelError(unknown_name("parent", parent, (WORLD, *names[:k])))
    return str(parent)


def _mimic(value: object) -> Mimic:
    """A Mimic, also from a mapping with its fields."""
    if isinstance(value, Mimic):
        return value
    if not isinstance(value, Mapping) or not {"joint"} <= set(value) <= {"joint", "multiplier", "offset"}:
        raise ModelError(
            f"mimic must have a joint and may have a multiplier and an offset, got {shown(value)}"
        )
    return Mimic(**value)


def _inertia(row: Mapping[str, Any]) -> Inertia:
    """The inertia in the link frame."""
    unphysical = row.get("allow_unphysical", False)
    if not isinstance(unphysical, bool):
        raise ModelError(must_be("allow_unphysical", "true or false", unphysical))
    center: Any = row.get("center", (0.0, 0.0, 0.0))
    return Inertia(row.get("mass", 0.0), center, _moment(row.get("inertia", (0.0, 0.0, 0.0))), unphysical)


def _moment(values: ArrayLike) -> Array:
    """The inertia as :class:`Inertia` takes it; six numbers become a matrix."""
    array = finite(numbers(values, "inertia", ModelError), "inertia", ModelError)
    if array.shape == (6,):
        xx, yy, zz, xy, xz, yz = array
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if array.shape not in ((3,), (3, 3)):
        raise ModelError(
            "inertia must be 3 numbers (its diagonal), 6 (xx, yy, zz, xy, xz, yz) or a 3 x 3 matrix, "
            f"got shape {array.shape}"
        )
    return array


# ---- Euler-angle joints -----------------------------------------------------------------------


class EulerDhRow(NamedTuple):
    """Q = Rx(alpha) Rz(q[angle] + theta), or Rx(alpha) Rz(theta) if angle is None (rad).

    >>> import kinetree as kt
    >>> kt.model.euler_dh_rows("ZYZ")[1]
    EulerDhRow(alpha=-1.5707963267948966, angle=1, theta=0.0)
    """

    alpha: float
    angle: int | None
    theta: float


# alpha (deg), number of the Euler angle (0: none, a constant row), constant part of theta (deg)
_EULER_ROWS: dict[str, tuple[tuple[int, int, int], ...]] = {
    "ZXZ": ((0, 1, 90), (90, 2, 0), (-90, 3, -90)),
    "ZYZ": ((0, 1, 0), (-90, 2, 0), (90, 3, 0)),
    "ZXY": ((0, 1, 90), (90, 2, -90), (-90, 3, -90), (90, 0, 0)),
    "ZYX": ((0, 1, 0), (-90, 2, 90), (90, 3, 90), (-90, 0, -90)),
    "YXY": ((-90, 1, 90), (90, 2, 0), (-90, 3, -90), (90, 0, 0)),
    "YZY": ((-90, 1, 0), (90, 2, 0), (-90, 3, 0), (90, 0, 0)),
    "YXZ": ((-90, 1, 90), (90, 2, 90), (-90, 3, -90)),
    "YZX": ((-90, 1, 0), (90, 2, 90), (90, 3, 0), (-90, 0, -90)),
    "XYX": ((0, 0, 90), (90, 1, -90), (-90, 2, 0), (90, 3, 90), (-90, 0, -90)),
    "XZX": ((0, 0, 90), (90, 1, 0), (-90, 2, 0), (90, 3, 0), (-90, 0, -90)),
    "XYZ": ((0, 0, 90), (90, 1, -90), (-90, 2, -90), (90, 3, 0)),
    "XZY": ((0, 0, 90), (90, 1, 0), (-90, 2, -90), (-90, 3, 0), (90, 0, 0)),
    "ZX": ((0, 1, 90), (90, 2, 0), (-90, 0, -90)),
    "ZY": ((0, 1, 0), (-90, 2, 0), (90, 0, 0)),
    "YX": ((-90, 1, 90), (90, 2, 90), (-90, 0, -90)),
    "YZ": ((-90, 1, 0), (90, 2, 0)),
    "XY": ((0, 0, 90), (90, 1, -90), (-90, 2, -90), (90, 0, 0)),
    "XZ": ((0, 0, 90), (90, 1, 0), (-90, 2, -90)),
}


def euler_dh_rows(sequence: str) -> tuple[EulerDhRow, ...]:
    """The modified DH rows whose product is the rotation of an Euler sequence.

    [Shah2013], Tables 3.6 and 3.8. The joint with these Euler angles is then a chain of revolute joints about
    z with massless links between them. There are twelve sequences of three axes and six of two; rows missing
    from the printed tables are added.

    >>> [row.angle for row in euler_dh_rows("ZXY")]
    [0, 1, 2, None]
    """
    name = sequence_axes(sequence, (*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES), "DH rows of Euler angles")
    return tuple(
        EulerDhRow(alpha / 90 * (pi / 2), k - 1 if k else None, theta / 90 * (pi / 2))
        for alpha, k, theta in _EULER_ROWS[name]
    )
