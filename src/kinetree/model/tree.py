"""The compiled mechanism: frozen arrays, all that algorithms see.

A joint with several degrees of freedom becomes several *axes* with no body between them. The frame of an
axis has the axis on its z, so every degree of freedom turns about or slides along its own local z. Bodies
on fixed joints are lumped into the axis that carries them and keep their place in its frame.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.algebra.rotation import rotation_to_axis
from kinetree.algebra.smooth_functions import FunctionTable
from kinetree.errors import ModelError
from kinetree.model.body import WORLD
from kinetree.model.joint import PARAMETERS, Joint
from kinetree.model.kept import Kept
from kinetree.model.spring import Spring

if TYPE_CHECKING:
    from kinetree.model.mechanism import Link, Mechanism

Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
Kind = TypeVar("Kind", bound=np.generic)
WORLD_AXIS = -1  # what the roots hang on
FAR = 2.0**50  # m: where weights are carried from; coordinates of bodies vanish in comparison


@dataclass(frozen=True, eq=False)
class Laws:
    """Axes that follow one coordinate each by smooth functions that are no straight lines, k of them."""

    axes: Integers  # (k,)
    leaders: Integers  # (k,): the coordinates
    table: FunctionTable  # of k functions
    names: tuple[str, ...]

    def at(self, q: Array, order: int = 0) -> Array:
        """Their positions, or derivatives of these by their coordinates, (..., k)."""
        return self.table.at(q[..., self.leaders], order)


@dataclass(frozen=True, eq=False)
class Coupling:
    """Mimic joints and locked axes: all coordinates from the independent ones, q_axes = linear q + offset.

    Axes that follow a coordinate by another function have zeros there and are in ``laws``.
    """

    linear: Array  # (n_axes, n_dof)
    offset: Array  # (n_axes,)
    laws: Laws | None = None

    @property
    def matrix(self) -> Array:
        """(n_axes, n_dof) of linear mimics, q_axes = matrix q + offset; an error where one is no such."""
        self.check_linear()
        return self.linear

    def check_linear(self, what: str = "closed loops and this function") -> None:
        """Raise where a joint follows another by a function that is no straight line."""
        if self.laws is not None:
            raise ModelError(
                f"joint '{self.laws.names[0]}' follows another by a function that is no straight line; "
                f"{what} support linear mimics only"
            )

    @cached_property
    def leader(self) -> Integers:
        """(n_axes,): the independent coordinate that an axis is or follows; of several the heaviest."""
        return _frozen(np.argmax(np.abs(self.linear) + self.followed, axis=1), np.int64)

    @cached_property
    def followed(self) -> Array:
        """(n_axes, n_dof): 1 where a function that is no straight line ties an axis to a coordinate."""
        found = np.zeros(self.linear.shape)
        if self.laws is not None:
            found[self.laws.axes, self.laws.leaders] = 1.0
        return frozen(found)

    @cached_property
    def own_axes(self) -> Integers:
        """(n_dof,): the axes that are independent coordinates themselves."""
        alone = np.asarray(self.linear == 1.0) & np.equal(self.offset[:, None], 0.0)
        alone = alone & ~self.has_several[:, None]
        return _frozen([int(np.flatnonzero(column)[0]) for column in alone.T], np.int64)

    @cached_property
    def has_several(self) -> Flags:
        """(n_axes,): whether an axis follows more than one coordinate."""
        return np.asarray(np.count_nonzero(self.linear, axis=1) > 1)

    def at(self, q: Array) -> Array:
        """Coordinates of all axes (..., n_axes) from the independent ones (..., n_dof)."""
        axes: Array = q @ self.linear.T + self.offset
        if self.laws is not None:
            axes[..., self.laws.axes] = axes[..., self.laws.axes] + self.laws.at(q)
        return axes

    def slopes(self, q: Array) -> Array:
        """G = d q_axes / dq, (..., n_axes, n_dof), or (n_axes, n_dof) where it does not depend on q."""
        if self.laws is None:
            return self.linear
        found = self.laws.at(q, 1)
        G: Array = np.zeros((*q.shape[:-1], *self.linear.shape), dtype=found.dtype)
        G[...] = self.linear
        G[..., self.laws.axes, self.laws.leaders] = found
        return G

    def bends(self, q: Array, qd: Array) -> Array:
        """Accelerations of the axes at qdd = 0, (..., n_axes): d2 q_axes / dq2 qd^2."""
        if self.laws is None:
            return np.zeros(len(self.linear))
        bent = self.laws.at(q, 2) * qd[..., self.laws.leaders] ** 2
        found: Array = np.zeros((*bent.shape[:-1], len(self.linear)), dtype=bent.dtype)
        found[..., self.laws.axes] = bent
        return found

    def derivative(self, q: Array, order: int) -> Array:
        """A derivative (2 and up) of every axis by the coordinate that it follows, (..., n_axes)."""
        found: Array = np.zeros((*q.shape[:-1], len(self.linear)))
        if self.laws is not None:
            found[..., self.laws.axes] = self.laws.at(q, order)
        return found


@dataclass(frozen=True, eq=False)
class Springs:
    """Springs and dampers between points of axes (-1: the world), whose frames the points are given in.

    The last ones may be weights that are carried from outside: springs to a point so far above, `FAR`, that
    their force is constant to rounding; ``lift`` is that force (N, upwards), zero for true springs.
    """

    names: tuple[str, ...]
    axis_a: Integers
    axis_b: Integers
    top: Integers  # the last axis that carries both, which no spring moves; -1: the world
    point_a: Array  # (springs, 3)
    point_b: Array
    stiffness: Array
    damping: Array
    rest_length: Array
    turning: Array  # N m s/rad
    lift: Array  # (springs, 3), in the world


@dataclass(frozen=True, eq=False)
class Tree:
    """Axes first (shape (n, ...)), then bodies (shape (n_bodies, ...)).

    Axis i sits at ``rotation``, ``position`` in the frame of axis ``parent[i]`` at q = 0 (-1: the world).
    ``mass``, ``first_moment`` and ``second_moment`` (integral of r r^T dm) are about the origin of the axis
    frame, in its axes; ``massive`` is False for the empty bodies inside multi-DOF joints.
    """

    parent: Integers
    turns: Flags
    rotation: Array
    position: Array
    mass: Array
    first_moment: Array
    second_moment: Array
    massive: Flags
    gravity: Array
    lower: Array
    upper: Array
    velocity_limit: Array
    effort_limit: Array
    armature: Array
    viscous: Array
    coulomb: Array  # mean of both directions
    coulomb_bias: Array  # half of what the positive direction has more
    stiffness: Array
    rest: Array
    axis_names: tuple[str, ...]
    axis_body: Integers  # the body whose joint the axis belongs to
    body_names: tuple[str, ...]
    body_parent: Integers
    body_axis: Integers  # the axis that carries the body; -1: fixed to the world
    body_rotation: Array  # the body frame in the frame of its axis
    body_position: Array
    body_mass: Array
    body_first_moment: Array
    body_second_moment: Array
    coupling: Coupling | None = None
    springs: Springs | None = None
    kept: Kept = field(default_factory=Kept, init=False, repr=False)  # what other packages derive from it

    @property
    def n(self) -> int:
        """Number of axes: the length of q, before mimic joints are tied together."""
        return len(self.parent)

    @property
    def n_bodies(self) -> int:
        """Number of bodies."""
        return len(self.body_parent)

    @property
    def n_dof(self) -> int:
        """Number of independent coordinates."""
        return self.n if self.coupling is None else self.coupling.linear.shape[1]

    @cached_property
    def passive(self) -> Flags:
        """Which axes have a spring or friction."""
        return _frozen((self.stiffness != 0) | (self.viscous != 0) | (self.coulomb != 0), np.bool_)


def compile_tree(mechanism: Mechanism, *, welds_as_axes: bool = False) -> Tree:
    """Expand joints to axes, align each axis with z, lump welded bodies, freeze.

    With ``welds_as_axes`` fixed joints become axes too, locked at zero by the coupling, so that every body
    has an axis of its own.
    """
    rows = _Rows(welds_as_axes)
    for k, link in enumerate(mechanism.links):
        rows.add(k, link, mechanism.body_index(link.parent) if link.parent != WORLD else WORLD_AXIS)
    return rows.frozen_tree(mechanism)


class _Rows:
    """The growing lists behind a Tree; used only while compiling."""

    def __init__(self, welds_as_axes: bool) -> None:
        self.welds_as_axes = welds_as_axes
        self.parent: list[int] = []
        self.turns: list[bool] = []
        self.placement: list[Placement] = []
        self.axis_names: list[str] = []
        self.axis_body: list[int] = []
        self.parameters: dict[str, list[float]] = {key: [] for key in PARAMETERS}
        self.body_parent: list[int] = []
        self.body_axis: list[int] = []
        self.body_placement: list[Placement] = []

    def add(self, k: int, link: Link, parent: int) -> None:
        """Append the axes of a link's joint and its body."""
        carrier = WORLD_AXIS if parent == WORLD_AXIS else self.body_axis[parent]
        carried = Placement() if parent == WORLD_AXIS else self.body_placement[parent]
        place = carried @ link.placement  # the joint frame, seen from the axis that carries it
        joint = link.joint
        if self.welds_as_axes and joint.n_dof == 0:
            joint = Joint.of_kind(joint.name, "revolute")
        for a, name in enumerate(joint.dof_names):
            to_axis = Placement(frozen(rotation_to_axis(joint.axes[a])))
            self.parent.append(carrier)
            self.turns.append(joint.turns[a])
            self.placement.append(place @ to_axis)
            self.axis_names.append(name)
            self.axis_body.append(k)
            for key, values in self.parameters.items():
                values.append(float(getattr(joint, key)[a]))
            carrier, place = len(self.parent) - 1, to_axis.inverse
        self.body_parent.append(parent)
        self.body_axis.append(carrier)
        self.body_placement.append(place)

    def frozen_tree(self, mechanism: Mechanism) -> Tree:
        """The arrays, with the inertia of all bodies lumped into their axes."""
        inertias = [link.body.inertia for link in mechanism.links]
        mass = np.array([inertia.mass for inertia in inertias])
        first = np.array([inertia.first_moment for inertia in inertias])
        second = np.array([inertia.second_moment for inertia in inertias])
        R, p = _stacked(self.body_placement)
        body_axis = np.array(self.body_axis, dtype=np.int64)
        lumped = lumped_inertia(len(self.parent), body_axis, R, p, mass, first, second)
        axis_R, axis_p = _stacked(self.placement)
        return Tree(
            parent=_frozen(self.parent, np.int64),
            turns=_frozen(self.turns, np.bool_),
            rotation=axis_R,
            position=axis_p,
            mass=frozen(lumped[0]),
            first_moment=frozen(lumped[1]),
            second_moment=frozen(lumped[2]),
            massive=_frozen((lumped[0] != 0) | lumped[2].any(axis=(1, 2)), np.bool_),
            gravity=mechanism.gravity,
            axis_names=tuple(self.axis_names),
            axis_body=_frozen(self.axis_body, np.int64),
            body_names=mechanism.body_names,
            body_parent=_frozen(self.body_parent, np.int64),
            body_axis=_frozen(body_axis, np.int64),
            body_rotation=R,
            body_position=p,
            body_mass=frozen(mass),
            body_first_moment=frozen(first),
            body_second_moment=frozen(second),
            coupling=_coupling(mechanism, self.axis_names),
            springs=self._springs(mechanism),
            **self._joint_values(),
        )

    def _joint_values(self) -> dict[str, Array]:
        """Parameters of the joints; Coulomb friction as mean of both directions and half the difference."""
        values = {key: np.array(column, dtype=np.float64) for key, column in self.parameters.items()}
        ahead, back = 0.5 * values["coulomb"], 0.5 * values.pop("coulomb_reverse")
        values |= {"coulomb": ahead + back, "coulomb_bias": ahead - back}
        return {key: frozen(column) for key, column in values.items()}

    def _springs(self, mechanism: Mechanism) -> Springs | None:
        """The springs between points of axes, and weights that are carried from outside."""
        springs = [*mechanism.springs, *carried_weights(mechanism)]
        if not springs:
            return None
        lift = np.zeros((len(springs), 3))
        for k in range(len(mechanism.springs), len(springs)):
            lift[k] = springs[k].stiffness * springs[k].point_a
        a = [self._point(mechanism, spring.body_a, spring.point_a) for spring in springs]
        b = [self._point(mechanism, spring.body_b, spring.point_b) for spring in springs]
        top = [self._common(x[0], y[0]) for x, y in zip(a, b, strict=True)]
        return Springs(
            names=tuple(spring.name for spring in springs),
            axis_a=_frozen([axis for axis, _ in a], np.int64),
            axis_b=_frozen([axis for axis, _ in b], np.int64),
            top=_frozen(top, np.int64),
            point_a=frozen([point for _, point in a]),
            point_b=frozen([point for _, point in b]),
            stiffness=frozen([spring.stiffness for spring in springs]),
            damping=frozen([spring.damping for spring in springs]),
            rest_length=frozen([spring.rest for spring in springs]),
            turning=frozen([spring.turn_damping for spring in springs]),
            lift=frozen(lift),
        )

    def _point(self, mechanism: Mechanism, body: str, point: Array) -> tuple[int, Array]:
        """The axis that carries a point of a body, and the point in its frame."""
        if body == WORLD:
            return WORLD_AXIS, point
        k = mechanism.body_index(body)
        place = self.body_placement[k]
        return self.body_axis[k], place.rotation @ point + place.position

    def _common(self, a: int, b: int) -> int:
        """The last axis that carries both of two axes."""
        while a != b:
            if a > b:
                a = self.parent[a]
            else:
                b = self.parent[b]
        return a


def carried_weights(mechanism: Mechanism) -> list[Spring]:
    """Gravity compensation as springs without length to points `FAR` above: their pull is constant."""
    g = float(np.linalg.norm(mechanism.gravity))
    found = []
    for link in mechanism.links:
        body = link.body
        share, mass = body.gravity_compensation, body.inertia.mass
        if g and share * mass:
            above = -np.copysign(FAR, share) / g * mechanism.gravity
            name = f"gravity compensation of {body.name}"
            pull = abs(share) * mass * g / FAR
            found.append(Spring(name, WORLD, body.name, frozen(above), body.inertia.center, pull))
    return found


def _stacked(placements: list[Placement]) -> tuple[Array, Array]:
    R = np.array([x.rotation for x in placements]).reshape(-1, 3, 3)
    return frozen(R), frozen(np.array([x.position for x in placements]).reshape(-1, 3))


def _frozen(values: object, kind: type[Kind]) -> NDArray[Kind]:
    array = np.array(values, dtype=kind)
    array.setflags(write=False)
    return array


def lumped_inertia(
    n: int, axis: Integers, R: Array, p: Array, m: Array, h: Array, S: Array
) -> tuple[Array, Array, Array]:
    """Mass, first and second moment of all bodies on each axis, about the axis frame's origin."""
    k = np.einsum("bij,bj->bi", R, h)
    kp = k[:, :, None] * p[:, None, :]
    moved = (
        R @ S @ R.transpose(0, 2, 1)
        + kp
        + kp.transpose(0, 2, 1)
        + m[:, None, None] * p[:, :, None] * p[:, None, :]
    )
    mass, first, second = np.zeros(n), np.zeros((n, 3)), np.zeros((n, 3, 3))
    moving = axis != WORLD_AXIS
    np.add.at(mass, axis[moving], m[moving])
    np.add.at(first, axis[moving], (k + m[:, None] * p)[moving])
    np.add.at(second, axis[moving], moved[moving])
    return mass, first, second


def _coupling(mechanism: Mechanism, axis_names: list[str]) -> Coupling | None:
    """The matrix that ties mimic joints to the joints they follow and locks axes of fixed joints."""
    mimics = {x.joint.name: x.joint.mimic for x in mechanism.links if x.joint.mimic is not None}
    locked = {x.joint.name for x in mechanism.links if x.joint.n_dof == 0}
    if len(axis_names) == mechanism.n_dof:
        return None
    matrix, offset = np.zeros((len(axis_names), mechanism.n_dof)), np.zeros(len(axis_names))
    bent: list[tuple[int, int, FunctionTable, str]] = []
    for row, name in enumerate(axis_names):
        if name in locked:
            continue
        mimic = mimics.get(name)
        law = None if mimic is None else mimic.law
        if mimic is not None and law is not None:
            bent.append((row, mechanism.joint_index(mimic.joint), law.table, name))
            continue
        for leader, ratio in ((name, 1.0),) if mimic is None else mimic.leaders:
            matrix[row, mechanism.joint_index(leader)] = ratio
        offset[row] = mimic.offset if mimic else 0.0
    if not bent:
        return Coupling(frozen(matrix), frozen(offset))
    rows, leaders, tables, names = zip(*bent, strict=True)
    laws = Laws(
        _frozen(rows, np.int64), _frozen(leaders, np.int64), FunctionTable.stacked(tables), tuple(names)
    )
    return Coupling(frozen(matrix), frozen(offset), laws)
