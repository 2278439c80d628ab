"""Pairs of bodies that may touch: spheres and capsules, as they are drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kinetree.algebra.arrays import Array, number
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import InputError, listed, shown, unknown_name
from kinetree.kernels.capsules import PAIR
from kinetree.kernels.layout import layout_rows
from kinetree.model.body import Shape
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS
from kinetree.state import Coordinates, coordinates

ROUND = ("sphere", "capsule")
FRICTION = 0.7
CLEAR = 1e-3  # m: bodies that are nearer at home touch, as the parts of one housing do


@dataclass(frozen=True)
class BodyPair:
    """Two bodies that may touch, by their shapes that are spheres and capsules, with Coulomb ``friction``.

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
class Capsule:
    """A capsule on an axis: center and half segment (3,) in its frame, radius (m)."""

    axis: int
    center: Array
    half: Array
    radius: float


def body_pairs(mechanism: Mechanism, q: Coordinates | None = None) -> list[BodyPair]:
    """Pairs of bodies with spheres or capsules that are no neighbors and do not touch at q, by default zero.

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
    able = [name for name in mechanism.body_names if capsules_of(mechanism, name)]
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


def capsules_of(mechanism: Mechanism, name: str) -> list[Capsule]:
    """The spheres and capsules of a body, on the axis that carries it."""
    body = mechanism.body_index(name)
    tree, shapes = mechanism.tree, mechanism.links[body].body.shapes
    R, p = tree.body_rotation[body], tree.body_position[body]
    return [_capsule(shape, int(tree.body_axis[body]), R, p) for shape in shapes if shape.kind in ROUND]


def _capsule(shape: Shape, axis: int, R: Array, p: Array) -> Capsule:
    center = R @ shape.placement.position + p
    half = np.zeros(3)
    if shape.kind == "capsule":
        half = R @ shape.placement.rotation[:, 2] * (0.5 * float(shape.size[1]))
    return Capsule(axis, center, half, float(shape.size[0]))


def _distance(mechanism: Mechanism, q: Array, one: str, other: str) -> float:
    """The least distance of two bodies at a pose (m), by points 1/100 of a length apart."""
    poses, tree, places = forward_kinematics(mechanism, q), mechanism.tree, []
    for name in (one, other):
        k = mechanism.body_index(name)
        R = poses.rotation[k] @ tree.body_rotation[k].T
        p = poses.position[k] - R @ tree.body_position[k]
        places.append([(R @ x.center + p, R @ x.half, x.radius) for x in capsules_of(mechanism, name)])
    s, least = np.linspace(-1.0, 1.0, 101)[:, None], np.inf
    for c, h, r in places[0]:
        for d, k, o in places[1]:
            gaps = np.linalg.norm((c + s * h)[:, None] - (d + s * k)[None], axis=-1)
            least = min(least, float(gaps.min()) - r - o)
    return least


def read_pairs(
    mechanism: Mechanism, pairs: Iterable[BodyPair | tuple[str, str]]
) -> tuple[tuple[str, ...], Array]:
    """Names of the contacts between bodies, one for every pair of their shapes, and the table of them."""
    names, rows = [], []
    for given in pairs:
        pair = _read(mechanism, given)
        for i, x in enumerate(capsules_of(mechanism, pair.body)):
            for j, y in enumerate(capsules_of(mechanism, pair.other)):
                names.append(f"{pair.body}/{pair.other}" + (f"/{i}/{j}" if i + j else ""))
                rows.append(_row(x, y, pair.friction))
    return tuple(names), np.concatenate(rows) if rows else np.zeros((0, PAIR.width))


def _read(mechanism: Mechanism, given: object) -> BodyPair:
    """A pair whose bodies the mechanism has, with shapes that can touch."""
    if isinstance(given, tuple) and len(given) == 2:
        given = BodyPair(str(given[0]), str(given[1]))
    if not isinstance(given, BodyPair):
        raise InputError(f"pairs must be BodyPair or pairs of names of bodies, got {shown(given)}")
    for name in (given.body, given.other):
        if name not in mechanism.body_names:
            raise InputError(f"pairs: {unknown_name('body', name, mechanism.body_names)}")
        if not capsules_of(mechanism, name):
            kinds = [shape.kind for shape in mechanism.links[mechanism.body_index(name)].body.shapes]
            raise InputError(
                f"pairs: body '{name}' has no {' or '.join(ROUND)}, its shapes are: {listed(kinds)}"
            )
    if given.body == given.other:
        raise InputError(f"pairs: body '{given.body}' cannot touch itself")
    return given


def _row(a: Capsule, b: Capsule, friction: float) -> Array:
    bound = np.linalg.norm(a.half) + np.linalg.norm(b.half) + a.radius + b.radius
    return layout_rows(
        PAIR, 1, a=a.axis, b=b.axis, ca=[a.center], cb=[b.center], ha=[a.half], hb=[b.half],
        radius=a.radius + b.radius, radius_b=b.radius, bound=bound, friction=friction,
    )  # fmt: skip
