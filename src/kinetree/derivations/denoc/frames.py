"""A tree in modified DH frames, link by link and module by module ([Shah2013], sections 3.2 and 4.1).

The tree's axis frames have the joint axis on z, but x and the origin wherever the user put them. Turned about
and shifted along z so that x lies on the common normal to the next axis, they become DH frames, and the way
from a link to its parent is two planar screws (see `denoc_screws`). Where the tree branches only one child
can have this; the others need one more constant screw about the parent's z, as do links whose joint has
several axes, because their origin stays where the axes meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import atan2, cos, hypot, sin
from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.derivations.contract import step
from kinetree.derivations.denoc.entries import (
    Entry,
    Numbers,
    Vector,
    add,
    constant,
    constants,
    is_null,
    scale,
    variables,
)
from kinetree.derivations.denoc.screws import Composite, Screw, Screws, Turn
from kinetree.errors import InputError
from kinetree.kernels.number import sincos
from kinetree.model.kept import once_per_tree
from kinetree.model.modules import BASE, Module
from kinetree.model.tree import WORLD_AXIS, Tree

X, Y, Z = 0, 1, 2
RIGHT = 1e-14  # rad: an angle this near to a multiple of 90 degrees is one
NOTHING = 1e-15  # relative to 1 m: a length that is rounding error
OBLIQUE = 0.1  # sine of the least angle between two axes whose common normal is used
FREE = (False, False, False, True, True, True)  # three slides, three turns: a floating base

Links = tuple[tuple[int, ...], ...]  # the axes of each link's joint
Modules = Sequence[Module] | None


class Way(NamedTuple):
    """Rz(gamma) T(a, y, epsilon) Rx(alpha) Rz(theta) Tz(b): any placement; cosines and sines are exact."""

    gamma: tuple[float, float]
    a: float
    y: float
    epsilon: float
    alpha: tuple[float, float]
    theta: float
    b: float


class DhAxis(NamedTuple):
    """One axis in its DH frame."""

    name: str
    parent: int
    turns: bool
    level: str  # what its operations are counted under
    theta: float  # turn about and shift along the axis at q = 0
    b: float
    fixed: Screws  # the constant screws from there to the parent
    arm: Vector  # a_(beta,k) at q = 0: from the parent's origin to this one, in the parent's frame
    e: Vector  # direction of the axis in the parent's frame
    M: Composite | None  # mass matrix of the link, None if there is no body
    phi: tuple[float, float]  # this frame in the tree's axis frame: cosine and sine of a turn about z,
    d: float  # and a shift along it


@dataclass(frozen=True, eq=False)
class DhTree:
    """All axes, and the links in modules; module 0 is the base (empty if it is the world)."""

    tree: Tree
    axes: tuple[DhAxis, ...]
    modules: tuple[Links, ...]

    @cached_property
    def hinged(self) -> frozenset[int]:
        """Axes that turn about one point of the world: no joint feels the force on their link."""
        found: set[int] = set()
        for joint in joint_axes(self.tree).values():
            axes = [self.axes[j] for j in joint]
            still = all(is_null(axis.arm) for axis in axes[1:])
            if axes[0].parent == WORLD_AXIS and still and all(axis.turns for axis in axes):
                found.update(joint)
        return frozenset(found)

    @cached_property
    def floating(self) -> bool:
        """Whether everything hangs on one link with a free joint."""
        return len(self.modules[BASE]) == 1

    def order(self, modules: Modules) -> tuple[Links, ...]:
        """The links in the modules of the user's partition, or in the tree's own."""
        if modules is None:
            return self.modules
        axes, names = joint_axes(self.tree), self.tree.body_names
        bodies = {name: axes.get(k, ()) for k, name in enumerate(names)}
        listed = [name for module in modules for name in module.bodies]
        order = tuple(tuple(bodies[x] for x in module.bodies if bodies.get(x)) for module in modules)
        place = {j: k for k, j in enumerate(outward(order))} | {WORLD_AXIS: -1}
        complete = sorted(listed) == sorted(names) and len(place) == self.tree.n + 1
        if not complete or any(place[self.axes[j].parent] > place[j] for j in outward(order)):
            raise InputError(
                f"the modules {[list(module.bodies) for module in modules]} are not a partition of the "
                f"bodies "
                f"{list(names)}, parents first; make one with mechanism.partition(...)"
            )
        return order


def outward(modules: tuple[Links, ...]) -> Iterator[int]:
    """Axes from the base to the tips: modules, links of a module, axes of a joint."""
    for module in modules:  # inter-modular
        for joint in module:  # intra-modular
            yield from joint  # joint level


def inward(modules: tuple[Links, ...]) -> Iterator[int]:
    """The recursion from the tips to the base."""
    for module in reversed(modules):
        for joint in reversed(module):
            yield from reversed(joint)


@once_per_tree
def dh_tree(tree: Tree) -> DhTree:
    """The tree in DH frames; made once."""
    return _new_dh_tree(tree)


class PlacedAxes(NamedTuple):
    """The axes at coordinates q: the screws to the parent, and the parent's arm to the origin."""

    screws: list[Screws]
    arms: list[Vector]


def placed(dh: DhTree, q: Numbers) -> PlacedAxes:
    """Joint angles, their sines and cosines; one addition each where q = 0 is not theta = 0 or b = 0."""
    screws: list[Screws] = []
    arms: list[Vector] = []
    with step("joint angles"):
        for axis, value in zip(dh.axes, variables(q, len(dh.axes)), strict=True):
            if axis.turns:
                turn, shift, arm = joint_turn(value + constant(axis.theta)), constant(axis.b), axis.arm
            else:
                turn = constant_turn(Z, exact_angle(cos(axis.theta), sin(axis.theta)))
                shift, arm = value + constant(axis.b), add(axis.arm, scale(value, axis.e))
            screws.append((Screw(turn, shift), *axis.fixed))
            arms.append(arm)
    return PlacedAxes(screws, arms)


def joint_turn(angle: Entry) -> Turn:
    """The turn about a joint's axis; Python's own numbers are quicker than NumPy's scalars."""
    s, c = (x.item() if isinstance(x, np.generic) else x for x in sincos(angle.value))
    return Turn(Z, Entry(c), Entry(s), constant=False)


# ---- making the frames --------------------------------------------------------------------------------
def _new_dh_tree(tree: Tree) -> DhTree:
    joints = joint_axes(tree)
    ways = [_way(tree.rotation[i], tree.position[i]) for i in range(tree.n)]
    main: dict[int, int] = {}  # the child whose common normal an axis has its x on
    for i in range(tree.n):
        main.setdefault(int(tree.parent[i]), i)
    phi, d = [(1.0, 0.0)] * tree.n, [0.0] * tree.n
    for i in range(tree.n):
        if i in main:
            phi[i] = ways[main[i]].gamma
            d[i] = ways[main[i]].epsilon if len(joints[int(tree.axis_body[i])]) == 1 else 0.0
    modules = _modules(tree, joints)
    levels = _levels(tree, joints, modules)
    axes = [_dh_axis(tree, i, ways[i], phi, d, levels[i]) for i in range(tree.n)]
    return DhTree(tree, tuple(axes), modules)


def _dh_axis(
    tree: Tree, i: int, way: Way, phi: list[tuple[float, float]], d: list[float], level: str
) -> DhAxis:
    j = int(tree.parent[i])
    gamma, epsilon = way.gamma, way.epsilon
    if j != WORLD_AXIS:
        (c, s), (C, S) = gamma, phi[j]
        gamma, epsilon = exact_angle(c * C + s * S, s * C - c * S), _length(epsilon - d[j])
    theta, b = _length(way.theta + atan2(*phi[i][::-1])), _length(way.b + d[i])
    (c, s), (C, S) = gamma, way.alpha
    screws = (
        Screw(constant_turn(X, way.alpha), constant(way.a)),
        Screw(Turn(Y), constant(way.y)),
        Screw(constant_turn(Z, gamma), constant(epsilon)),
    )
    e = np.array([s * S, -c * S, C])
    arm = np.array([c * way.a - s * way.y, s * way.a + c * way.y, epsilon]) + b * e
    return DhAxis(
        tree.axis_names[i],
        j,
        bool(tree.turns[i]),
        level,
        theta,
        b,
        tuple(x for x in screws if x.turn.s.value or x.turn.c.value != 1.0 or x.shift.value),
        constants(_length(x) for x in arm),
        constants(e),
        _mass_matrix(tree, i, phi[i], d[i]) if tree.massive[i] else None,
        phi[i],
        d[i],
    )


def _mass_matrix(tree: Tree, i: int, phi: tuple[float, float], d: float) -> Composite:
    """Mass matrix of what the axis carries, about the origin and in the axes of the DH frame."""
    m, h, S = float(tree.mass[i]), tree.first_moment[i], tree.second_moment[i]
    (c, s), shift = phi, np.array([0.0, 0.0, d])
    R = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
    S = S - np.outer(h, shift) - np.outer(shift, h) + m * np.outer(shift, shift)
    S, h = R @ S @ R.T, R @ (h - m * shift)
    size = np.abs(S).max(initial=0.0)
    S = np.where(np.abs(S) < NOTHING * size, 0.0, S)
    h = np.where(np.abs(h) < NOTHING * np.sqrt(m * size), 0.0, h)
    J = np.diag([S[1, 1] + S[2, 2], S[2, 2] + S[0, 0], S[0, 0] + S[1, 1]]) - S + np.diag(np.diag(S))
    return Composite(tuple(constants(row) for row in J), constants(-h), constant(m))


def _way(R: Array, p: Array) -> Way:
    """The common normal of two axes, from the placement of the second in the frame of the first."""
    sine = hypot(R[0, 2], R[1, 2])
    if sine < RIGHT:  # parallel: through the second origin
        alpha, r = (1.0 if R[2, 2] > 0 else -1.0, 0.0), hypot(p[0], p[1])
        gamma = exact_angle(p[0] / r, p[1] / r) if _length(r) else (1.0, 0.0)
    else:
        alpha, gamma = exact_angle(R[2, 2], sine), exact_angle(-R[1, 2] / sine, R[0, 2] / sine)
    (c, s), (C, S) = gamma, alpha
    theta = atan2(-(c * R[0, 1] + s * R[1, 1]), c * R[0, 0] + s * R[1, 0])
    a, y, z = c * p[0] + s * p[1], c * p[1] - s * p[0], p[2]
    if S == 0.0:
        b, y = z * C, 0.0
    elif abs(S) < OBLIQUE:  # the common normal may be far away: keep the origin
        b = 0.0
    else:
        b, y = -y / S, 0.0
    epsilon = z - b * C
    return Way(gamma, _length(a), _length(y), _length(epsilon), alpha, theta, _length(b))


def exact_angle(c: float, s: float) -> tuple[float, float]:
    """Cosine and sine, exact for right angles, which only exchange components."""
    if abs(s) < RIGHT:
        return (1.0 if c > 0 else -1.0), 0.0
    return (float(c), float(s)) if abs(c) >= RIGHT else (0.0, 1.0 if s > 0 else -1.0)


def _length(x: float) -> float:
    return 0.0 if abs(x) < NOTHING else float(x)


def constant_turn(axis: int, angle: tuple[float, float]) -> Turn:
    """A turn of the model by an angle given as cosine and sine."""
    return Turn(axis, constant(angle[0]), constant(angle[1]))


# ---- links and modules ----------------------------------------------------------------------------------
def joint_axes(tree: Tree) -> dict[int, tuple[int, ...]]:
    """The axes of each body's joint, by body."""
    joints: dict[int, tuple[int, ...]] = {}
    for i, body in enumerate(tree.axis_body.tolist()):
        joints[body] = (*joints.get(body, ()), i)
    return joints


def _modules(tree: Tree, joints: dict[int, tuple[int, ...]]) -> tuple[Links, ...]:
    """The longest serial chains of links, the base first ([Shah2013], section 4.1)."""
    children: dict[int, list[tuple[int, ...]]] = {}
    for joint in joints.values():
        children.setdefault(int(tree.parent[joint[0]]), []).append(joint)
    roots = children.get(WORLD_AXIS, [])
    floating = len(roots) == 1 and tuple(tree.turns[list(roots[0])].tolist()) == FREE
    chains: list[list[tuple[int, ...]]] = []
    starts = list(children.get(roots[0][-1], [])) if floating else list(roots)
    while starts:
        chain = [starts.pop(0)]
        while len(children.get(chain[-1][-1], [])) == 1:
            chain.append(children[chain[-1][-1]][0])
        chains.append(chain)
        starts.extend(children.get(chain[-1][-1], []))
    base = (roots[0],) if floating else ()
    return (base, *(tuple(chain) for chain in sorted(chains)))


def _levels(tree: Tree, joints: dict[int, tuple[int, ...]], modules: tuple[Links, ...]) -> list[str]:
    """What an axis is in the tables of the book: of the base, first of a joint, or a further one."""
    levels = ["r > 1"] * tree.n
    for joint in joints.values():
        levels[joint[0]] = "root" if tree.parent[joint[0]] == WORLD_AXIS else "r = 1"
    for i in outward(modules[:1]):
        levels[i] = "base"
    return levels
