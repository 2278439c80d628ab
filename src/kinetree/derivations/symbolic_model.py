"""A mechanism's tree over exact numbers or symbols, for equations to read. Needs the extra ``symbolic``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy

from kinetree.derivations.homogeneous import Numbers, object_array
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree

ROUND = 1e-12  # rotation matrices this near to 0, 1/2 and 1 mean that
JOINT_SYMBOLS = {
    "armature": "J",
    "viscous": "b",
    "coulomb": "f",
    "coulomb_bias": "d",
    "stiffness": "k",
    "rest": "r",
}


class Parameters:
    """Turns the model's numbers into exact numbers or, on request, into symbols that it remembers."""

    def __init__(self, *, as_symbols: bool) -> None:
        self.as_symbols = as_symbols
        self.values: dict[Any, float] = {}
        self.inertial: list[Any] = []  # symbols that the equations of motion are linear in

    def number(self, value: float, name: str, *, inertial: bool = False) -> Any:
        """Zero, an exact number, or a symbol of this name."""
        if value == 0 or not self.as_symbols:
            return exact(value)
        symbol = sympy.Symbol(name, real=True)
        self.values[symbol] = float(value)
        if inertial:
            self.inertial.append(symbol)
        return symbol

    def vector(self, values: Any, name: str) -> Numbers:
        """Three of them: name and x, y, z."""
        return np.array(
            [self.number(v, f"{name}{axis}") for v, axis in zip(values, "xyz", strict=True)], object
        )


def exact(value: float) -> Any:
    """The decimal number that was meant, as a fraction: 0.1 is 1/10."""
    return sympy.Rational(f"{float(value):.15g}")


def exact_rotation(R: Any) -> Numbers:
    """A rotation matrix with its entries 0, 1/2 and 1 exact; others are rounded fractions."""
    values = np.asarray(R, dtype=np.float64)
    near = np.round(2 * values) / 2
    cleaned = np.where(np.abs(values - near) < ROUND, near, values)
    return np.array([exact(x) for x in cleaned.ravel()], object).reshape(values.shape)


def symbolic_tree(mechanism: Mechanism, parameters: Parameters) -> Tree:
    """The compiled tree with arrays of SymPy numbers.

    Bodies and axes are numbered from 1: mass m_1, center of mass c_1x, inertia about it I_1xx, place of the
    joint in the parent p_1x, gravity g; of joints armature J_1, friction b_1 and f_1, spring k_1, rest r_1.
    Where dry friction differs by direction it is f_1 + d_1 forwards and f_1 - d_1 backwards.
    """
    tree = mechanism.tree
    position, body_position = _positions(mechanism, parameters)
    mass, first, second = _inertias(mechanism, parameters, body_position)
    of_joints: dict[str, Any] = {
        key: object_array(
            parameters.number(x, f"{letter}_{i + 1}", inertial=key == "armature")
            for i, x in enumerate(getattr(tree, key))
        )
        for key, letter in JOINT_SYMBOLS.items()
    }
    return replace(
        tree,
        rotation=exact_rotation(tree.rotation),
        position=position,
        mass=mass,
        first_moment=first,
        second_moment=second,
        gravity=_gravity(tree, parameters),
        **of_joints,
    )


def _positions(mechanism: Mechanism, parameters: Parameters) -> tuple[Numbers, Numbers]:
    """Places of the axes in their parents' frames (n, 3), and of the bodies in their axes' (n_bodies, 3)."""
    tree = mechanism.tree
    axes = np.zeros((tree.n, 3), object)
    bodies = np.zeros((tree.n_bodies, 3), object)
    for k, link in enumerate(mechanism.links):
        place = parameters.vector(link.placement.position, f"p_{k + 1}")
        parent = tree.body_parent[k]
        if parent != WORLD_AXIS:
            place = bodies[parent] + exact_rotation(tree.body_rotation[parent]) @ place
        own = np.flatnonzero(tree.axis_body == k)
        if own.size:
            axes[own[0]] = place  # further axes of the joint, and the body, are where the first one is
        else:
            bodies[k] = place
    return axes, bodies


def _inertias(
    mechanism: Mechanism, parameters: Parameters, body_position: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """Mass, first and second moment of all that each axis carries, about its frame's origin."""
    tree = mechanism.tree
    mass, first, second = (np.zeros((tree.n, *shape), object) for shape in ((), (3,), (3, 3)))
    for k, link in enumerate(mechanism.links):
        axis = tree.body_axis[k]
        if axis == WORLD_AXIS:
            continue
        R, p = exact_rotation(tree.body_rotation[k]), body_position[k]
        m = parameters.number(link.body.inertia.mass, f"m_{k + 1}", inertial=True)
        c = R @ parameters.vector(link.body.inertia.center, f"c_{k + 1}") + p
        moment = R @ _moment(link.body.inertia.moment, k, parameters) @ R.T
        half_trace = np.trace(moment) * sympy.Rational(1, 2)
        mass[axis] += m
        first[axis] += m * c
        second[axis] += half_trace * np.eye(3, dtype=int) - moment + m * np.outer(c, c)
    return mass, first, second


def _moment(moment: Any, k: int, parameters: Parameters) -> Numbers:
    """The inertia about the center of mass, its entries above the diagonal the same symbols as below."""
    named = np.zeros((3, 3), object)
    for a in range(3):
        for b in range(a, 3):
            name = f"I_{k + 1}{'xyz'[a]}{'xyz'[b]}"
            named[a, b] = named[b, a] = parameters.number(moment[a, b], name, inertial=True)
    return named


def _gravity(tree: Tree, parameters: Parameters) -> Numbers:
    """The direction of gravity times g."""
    size = float(np.linalg.norm(tree.gravity))
    if size == 0 or not parameters.as_symbols:
        return object_array(exact(x) for x in tree.gravity)
    g: Numbers = exact_rotation(tree.gravity / size) * parameters.number(size, "g")
    return g
