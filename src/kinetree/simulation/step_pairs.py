"""Pairs of bodies that may touch: spheres, capsules and boxes, as they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import InputError, listed, shown, unknown_name
from kinetree.kernels.layout import layout_rows
from kinetree.model.body import Shape
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS
from kinetree.simulation.compiled.box_contacts import BOX_PAIR, SLOTS
from kinetree.simulation.compiled.capsules import PAIR
from kinetree.state import Coordinates, coordinates

ROUND = ("sphere", "capsule")
SOLID = (*ROUND, "box")
FRICTION = 0.7
CLEAR = 1e-3  # m: bodies that are nearer at home touch, as the parts of one housing do


@dataclass(frozen=True)
class BodyPair:
    """Two bodies that may touch, by their spheres, capsules and boxes, with Coulomb ``friction``.

    >>> BodyPair("fore", "column", friction=0.3).other
    'column'
    """

    body: str
    other: str
    friction: float = FRICTION

    def __post_init__(self) -> None:
        friction = number(self.friction, "friction of a pair of bodies")
        if friction < 0.0:
            raise InputError(f"friction of a pair of bodies must be >= 0, got {friction:g}")


@dataclass(frozen=True, eq=False)
class PairSolid:
    """A capsule or box on an axis: center (3,), half segment (3,) and radius, orientation, half sizes."""

    axis: int
    center: Array
    half: Array
    radius: float
    orientation: Array
    sizes: Array | None = None  # (3,) of a box

    @property
    def bound(self) -> float:
        """Radius of a sphere around it (m)."""
        if self.sizes is not None:
            return float(np.linalg.norm(self.sizes))
        return float(np.linalg.norm(self.half)) + self.radius


@dataclass(frozen=True, eq=False)
class PairTable:
    """Contacts between bodies: their names and axes, tables of capsules and of boxes."""

    names: tuple[str, ...]
    axes: tuple[tuple[int, int], ...]
    capsules: Array
    boxes: Array


def body_pairs(mechanism: Mechanism, q: Coordinates | None = None) -> list[BodyPair]:
    """Pairs of bodies with spheres, capsules or boxes, no neighbors, that are apart at q, by default zero.

    A list to change before it goes to :class:`kinetree.Stepper`.

    >>> import kinetree as kt
    >>> kt.simulation.body_pairs(kt.zoo.two_link())
    []
    """
    expect_mechanism(mechanism)
    tree = mechanism.tree
    pose = coordinates(mechanism, np.zeros(mechanism.n_dof) if q is None else q, "q")
    if pose.ndim != 1:
        raise InputError(f"q must have shape ({mechanism.n_dof},), that of one pose, got {pose.shape}")
    able = [name for name in mechanism.body_names if solids_of(mechanism, name)]
    found = []
    for k, one in enumerate(able):
        for other in able[k + 1 :]:
            a, b = (int(tree.body_axis[mechanism.body_index(name)]) for name in (one, other))
            if not _neighbors(mechanism, a, b) and _distance(mechanism, pose, one, other) > CLEAR:
                found.append(BodyPair(one, other))
    return found


def _neighbors(mechanism: Mechanism, a: int, b: int) -> bool:
    """Whether axes carry the same body, or are joined by one joint; the world is no one's neighbor."""
    tree = mechanism.tree

    def carrier(i: int) -> int:
        body = tree.axis_body[i]
        while i != WORLD_AXIS and tree.axis_body[i] == body:
            i = int(tree.parent[i])
        return i

    if a == b:
        return True
    return WORLD_AXIS not in (a, b) and (carrier(a) == b or carrier(b) == a)


def solids_of(mechanism: Mechanism, name: str) -> list[PairSolid]:
    """The spheres, capsules and boxes of a body, on the axis that carries it."""
    body = mechanism.body_index(name)
    tree, shapes = mechanism.tree, mechanism.links[body].body.shapes
    R, p = tree.body_rotation[body], tree.body_position[body]
    return [_solid(shape, int(tree.body_axis[body]), R, p) for shape in shapes if shape.kind in SOLID]


def _solid(shape: Shape, axis: int, R: Array, p: Array) -> PairSolid:
    center, turned = R @ shape.placement.position + p, R @ shape.placement.rotation
    half, size = np.zeros(3), np.asarray(shape.size)
    if shape.kind == "box":
        return PairSolid(axis, center, half, 0.0, turned, 0.5 * size)
    if shape.kind == "capsule":
        half = turned[:, 2] * (0.5 * float(size[1]))
    return PairSolid(axis, center, half, float(size[0]), turned)


def _distance(mechanism: Mechanism, q: Array, one: str, other: str) -> float:
    """The least distance of two bodies at a pose (m), boxes as spheres around corners, edges and faces."""
    poses, tree, places = forward_kinematics(mechanism, q), mechanism.tree, []
    for name in (one, other):
        k = mechanism.body_index(name)
        R = poses.rotation[k] @ tree.body_rotation[k].T
        p = poses.position[k] - R @ tree.body_position[k]
        places.append([(_points(x) @ R.T + p, x.radius) for x in solids_of(mechanism, name)])
    least = np.inf
    for x, r in places[0]:
        for y, o in places[1]:
            gaps = np.linalg.norm(x[:, None] - y[None], axis=-1)
            least = min(least, float(gaps.min()) - r - o)
    return least


def _points(x: PairSolid) -> Array:
    """Points of a solid, 1/100 of its length or 1/8 of its sizes apart, in the frame of its axis."""
    if x.sizes is None:
        return x.center + np.linspace(-1.0, 1.0, 101)[:, None] * x.half
    grid = np.stack(np.meshgrid(*[np.linspace(-1.0, 1.0, 9)] * 3), axis=-1).reshape(-1, 3)
    found: Array = x.center + (grid * x.sizes) @ x.orientation.T
    return found


def read_pairs(mechanism: Mechanism, pairs: Iterable[BodyPair | tuple[str, str]], first: int) -> PairTable:
    """Contacts between bodies, which are numbered from ``first`` on: of capsules, then those of boxes."""
    capsules: list[tuple[str, PairSolid, PairSolid, float]] = []
    boxes: list[tuple[str, PairSolid, PairSolid, float]] = []
    for given in pairs:
        pair = _read(mechanism, given)
        for i, x in enumerate(solids_of(mechanism, pair.body)):
            for j, y in enumerate(solids_of(mechanism, pair.other)):
                name = f"{pair.body}/{pair.other}" + (f"/{i}/{j}" if i + j else "")
                flat = x.sizes is not None or y.sizes is not None
                (boxes if flat else capsules).append((name, x, y, pair.friction))
    names, axes = [name for name, *_ in capsules], [(x.axis, y.axis) for _, x, y, _ in capsules]
    rows = [_row(x, y, friction) for _, x, y, friction in capsules]
    table = []
    for name, x, y, friction in boxes:
        for a, b, center in _ordered(x, y):
            slots = SLOTS if a.sizes is not None else 1
            table.append(_box_row(a, b, center, friction, first + len(names)))
            swapped = a is y
            one, other = name.split("/", 1)
            stem = f"{other}/{one}" if swapped else name
            names += [stem if slots == 1 else f"{stem}:{k}" for k in range(slots)]
            axes += [(a.axis, b.axis)] * slots
    return PairTable(
        tuple(names), tuple(axes), np.concatenate(rows) if rows else np.zeros((0, PAIR.width)),
        np.concatenate(table) if table else np.zeros((0, BOX_PAIR.width)),
    )  # fmt: skip


def _ordered(x: PairSolid, y: PairSolid) -> list[tuple[PairSolid, PairSolid, Array]]:
    """Two boxes as they are; else what is round first, each end of a capsule by itself, with its center."""
    if x.sizes is not None and y.sizes is not None:
        return [(x, y, x.center)]
    a, b = (x, y) if x.sizes is None else (y, x)
    if not a.half.any():
        return [(a, b, a.center)]
    return [(a, b, a.center + sign * a.half) for sign in (1.0, -1.0)]


def _box_row(a: PairSolid, b: PairSolid, center: Array, friction: float, slot: int) -> Array:
    sizes = np.array([a.radius, 0.0, 0.0]) if a.sizes is None else a.sizes
    return layout_rows(
        BOX_PAIR, 1, a=a.axis, b=b.axis, slot=slot, round=int(a.sizes is None), ca=[center],
        Ra=a.orientation.reshape(1, 9), ha=[sizes], cb=[b.center], Rb=b.orientation.reshape(1, 9),
        hb=[b.sizes], friction=friction, bound=a.bound + b.bound,
    )  # fmt: skip


def _read(mechanism: Mechanism, given: object) -> BodyPair:
    """A pair whose bodies the mechanism has, with shapes that can touch."""
    if isinstance(given, tuple) and len(given) == 2:
        given = BodyPair(str(given[0]), str(given[1]))
    if not isinstance(given, BodyPair):
        raise InputError(f"pairs must be BodyPair or pairs of names of bodies, got {shown(given)}")
    for name in (given.body, given.other):
        if name not in mechanism.body_names:
            raise InputError(f"pairs: {unknown_name('body', name, mechanism.body_names)}")
        if not solids_of(mechanism, name):
            kinds = [shape.kind for shape in mechanism.links[mechanism.body_index(name)].body.shapes]
            raise InputError(
                f"pairs: body '{name}' has no {' or '.join(SOLID)}, its shapes are: {listed(kinds)}"
            )
    if given.body == given.other:
        raise InputError(f"pairs: body '{given.body}' cannot touch itself")
    return given


def _row(a: PairSolid, b: PairSolid, friction: float) -> Array:
    return layout_rows(
        PAIR, 1, a=a.axis, b=b.axis, ca=[a.center], cb=[b.center], ha=[a.half], hb=[b.half],
        radius=a.radius + b.radius, radius_b=b.radius, bound=a.bound + b.bound, friction=friction,
    )  # fmt: skip
