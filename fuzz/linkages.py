"""Mechanisms with closed loops, also overconstrained ones, and the same with other frames of their cuts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import atan2, cos, pi, sin, tan
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.answers import compare
from fuzz.runner import WrongAnswerError

Array = Any
Line = tuple[Array, Array]  # a point of an axis, and its direction


def ring(name: str, lines: Sequence[Line], rng: np.random.Generator, kinds: str = "") -> kt.Mechanism:
    """A single loop of joints on lines, the last of them cut; all frames are parallel to the world's.

    Closed at q = 0. ``kinds`` has a letter for each joint: r (revolute, also without letters), p (prismatic)
    or c (cylindrical).
    """
    kind = {"r": "revolute", "p": "prismatic", "c": "cylindrical"}
    names = [kind[x] for x in (kinds or "r" * len(lines))]
    build = kt.Builder(name)
    on, last = build.world, np.zeros(3)
    for k, ((point, axis), which) in enumerate(zip(lines[:-1], names[:-1], strict=True)):
        joint = on.joint(f"j{k}", which, axis=axis, at=point - last, driven=k == 0)
        on, last = joint.body(f"link{k}", _inertia(lines[k + 1][0] - point, rng)), point
    point, axis = lines[-1]
    build.loop("cut", "world", on, kind=names[-1], axis=axis, at_a=point, at_b=point - last)
    return build.build()


def _inertia(end: Array, rng: np.random.Generator) -> kt.Inertia:
    """Of a rod with a thick middle that is a little off its line."""
    mass, spread = rng.uniform(0.5, 2.0), rng.uniform(0.002, 0.02, 3)
    center = 0.5 * end + 0.05 * rng.standard_normal(3)
    turn = _turn(rng.standard_normal(3), rng.uniform(0.0, pi))
    about_center = turn @ np.diag(spread.sum() - spread) @ turn.T
    return kt.Inertia(mass, center, about_center)


def bennett(rng: np.random.Generator) -> kt.Mechanism:
    """Bennett's linkage: four axes, opposite links equal, lengths as the sines of their twists."""
    return ring("bennett", _bennett(*_sides(rng)), rng)


def _sides(rng: np.random.Generator) -> tuple[float, float, float, float]:
    """a, alpha, beta and an angle of Bennett's linkage."""
    alpha, beta = rng.uniform(0.4, 0.9), rng.uniform(1.1, 1.5)
    return rng.uniform(0.3, 0.6), alpha, beta, rng.uniform(0.7, 2.0)


def _bennett(a: float, alpha: float, beta: float, theta: float) -> list[Line]:
    """Its four axes in the world, at an angle theta of the first joint; the first link lies on x."""
    b = a * sin(beta) / sin(alpha)
    other = 2.0 * atan2(sin(0.5 * (beta + alpha)), sin(0.5 * (beta - alpha)) * tan(0.5 * theta))
    angles, sides = (theta, other, -theta, -other), ((a, alpha), (b, beta), (a, alpha), (b, beta))
    R, p, lines = np.eye(3), np.zeros(3), []
    for k in range(4):
        lines.append((p.copy(), R[:, 2].copy()))
        length, twist = sides[k]
        p = p + R @ np.array([length, 0.0, 0.0])
        R = R @ _turn((1.0, 0.0, 0.0), twist) @ _turn((0.0, 0.0, 1.0), angles[(k + 1) % 4])
    if np.abs(p).max() > 1e-9 or abs(R[2, 2] - 1.0) > 1e-9:
        raise AssertionError("Bennett's linkage is open")
    return lines


def goldberg(rng: np.random.Generator, n: int = 5) -> kt.Mechanism:
    """Goldberg's linkages of n = 5 or 6 axes: n - 3 of Bennett's with a common link, which is left out.

    Two links of neighbors that meet at one end of the common link are welded to each other.
    """
    a, alpha, beta, theta = _sides(rng)
    first = _bennett(a, alpha, beta, theta)
    lines = [first[3], first[2], first[1]]  # the common link joins first[0] and first[1]
    shared = (first[0], first[1])
    for k in range(n - 3 - 1):
        gamma = rng.uniform(1.0, 1.5)
        other = _bennett(a, alpha, gamma, rng.uniform(0.7, 2.0))
        moved = _moved(other, other[:2], shared)
        lines.append(moved[2])
        shared = (moved[3], moved[2])
        if k == n - 3 - 2:
            lines.append(moved[3])
    return ring(f"goldberg{n}", lines, rng)


def _moved(lines: Sequence[Line], pair: Sequence[Line], onto: Sequence[Line]) -> list[Line]:
    """Lines moved as a body such that two of them come to lie on two others."""

    def frame(two: Sequence[Line]) -> tuple[Array, Array]:
        (p, z), (r, _) = two
        x = (r - p) / np.linalg.norm(r - p)
        return np.stack([x, np.cross(z, x), z], axis=1), p

    (A, p), (B, r) = frame(pair), frame(onto)
    R = B @ A.T
    return [(r + R @ (x - p), R @ z) for x, z in lines]


def sarrus(rng: np.random.Generator) -> kt.Mechanism:
    """Sarrus's linkage: two legs of three parallel axes each; the plate between them moves straight."""
    lines = []
    turn = rng.uniform(0.6, 2.4)
    for angle in (0.0, turn):
        u, side = np.array([cos(angle), sin(angle), 0.0]), np.array([-sin(angle), cos(angle), 0.0])
        out, up = rng.uniform(0.3, 0.5), rng.uniform(0.2, 0.3)
        leg = [0.4 * u, (0.4 + out) * u + [0.0, 0.0, up], 0.35 * u + [0.0, 0.0, 0.5]]
        lines.append([(p, side) for p in leg])
    return ring("sarrus", [*lines[0], *lines[1][::-1]], rng)


def spherical(rng: np.random.Generator) -> kt.Mechanism:
    """Four axes through one point."""
    angles = np.sort(rng.uniform(0.0, 2.0 * pi, 4)) + 0.3 * np.arange(4)
    tilt = rng.uniform(0.5, 0.9, 4)
    axes = [np.array([cos(a) * sin(t), sin(a) * sin(t), cos(t)]) for a, t in zip(angles, tilt, strict=True)]
    return ring("spherical", [(0.4 * axis, axis) for axis in axes], rng)


def bricard(rng: np.random.Generator) -> kt.Mechanism:
    """Bricard's linkage with a plane of symmetry: axes 1 and 4 lie in it, 2 and 6, 3 and 5 are mirrored."""
    mirror = np.array([1.0, -1.0, 1.0])
    p1, p4 = np.array([-0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.1])
    z1, z4 = _unit([rng.normal(), 0.0, 1.0]), _unit([rng.normal(), 0.0, 1.0])
    p2, p3 = np.array([-0.3, 0.4, rng.uniform(0.0, 0.3)]), np.array([0.3, 0.5, rng.uniform(-0.3, 0.0)])
    z2, z3 = _unit(rng.standard_normal(3)), _unit(rng.standard_normal(3))
    return ring(
        "bricard",
        [(p1, z1), (p2, z2), (p3, z3), (p4, z4), (mirror * p3, mirror * z3), (mirror * p2, mirror * z2)],
        rng,
    )


def parallelogram(rng: np.random.Generator, cranks: int = 3, angle: float | None = None) -> kt.Mechanism:
    """Equal cranks that carry one rod, as on a locomotive; all but one of its joints are cut."""
    angle = rng.uniform(0.2, 1.3) if angle is None else angle
    build, length = kt.Builder(f"parallelogram{cranks}", gravity=(0.0, -9.81, 0.0)), rng.uniform(0.3, 0.6)
    places = 0.5 * np.arange(cranks) + rng.uniform(0.0, 0.2, cranks)
    tip, arms = length * np.array([cos(angle), sin(angle), 0.0]), []
    for k, x in enumerate(places):
        joint = build.world.revolute(f"crank{k}_joint", at=(x, 0.0, 0.0), driven=k == 0)
        arms.append(joint.body(f"crank{k}", _inertia(tip, rng)))
    rod = arms[0].revolute("rod_joint", at=tip, driven=False).body("rod", _inertia(np.ones(3), rng))
    for k in range(1, cranks):
        build.loop(f"pin{k}", arms[k], rod, at_a=tip, at_b=(places[k] - places[0], 0.0, 0.0))
    return build.build()


def four_bar(rng: np.random.Generator) -> kt.Mechanism:
    """Four parallel axes, not along an axis of the world, of which one may be a slider."""
    turn = _turn(rng.standard_normal(3), rng.uniform(0.0, pi))
    corners = np.array([[0.0, 0.0], [0.2, 0.3], [0.8, 0.5], [0.9, 0.0]]) + rng.uniform(-0.05, 0.05, (4, 2))
    lines = [(turn @ np.array([*x, rng.uniform(-0.1, 0.1)]), turn[:, 2]) for x in corners]
    if rng.random() < 0.5:
        return ring("four_bar", lines, rng)
    lines[-1] = (lines[-1][0], turn @ _unit([cos(0.4), sin(0.4), 0.0]))
    return ring("slider_crank", lines, rng, "rrrp")


def spatial(rng: np.random.Generator) -> kt.Mechanism:
    """Seven revolute joints, or revolute and cylindrical ones, on random lines: mobility one."""
    corners = [np.array([cos(a), sin(a), 0.0]) for a in 2.0 * pi * np.arange(7) / 7.0]
    lines = [(0.5 * x + rng.uniform(-0.1, 0.1, 3), _unit(rng.standard_normal(3))) for x in corners]
    if rng.random() < 0.5:
        return ring("seven_axes", lines, rng)
    return ring("cylindrical", lines[:4], rng, "rccc")


KINDS: dict[str, Callable[[np.random.Generator], kt.Mechanism]] = {
    "bennett": bennett,
    "goldberg5": goldberg,
    "goldberg6": lambda rng: goldberg(rng, 6),
    "sarrus": sarrus,
    "spherical": spherical,
    "bricard": bricard,
    "parallelogram3": parallelogram,
    "parallelogram4": lambda rng: parallelogram(rng, 4),
    "four_bar": four_bar,
    "spatial": spatial,
}


def in_other_frames(mechanism: kt.Mechanism, rng: np.random.Generator) -> kt.Mechanism:
    """The same mechanism with the frames of its cut joints turned about and moved along their axes.

    Both frames of a joint go together, so that its coordinates stay the same, too.
    """
    return replace(
        mechanism,
        loops=tuple(_turned_cut(loop, rng) for loop in mechanism.loops),
    )


def _turned_cut(loop: kt.model.Loop, rng: np.random.Generator) -> kt.model.Loop:
    kind, angle = loop.joint.kind, rng.uniform(-pi, pi)
    if kind == "spherical" and not loop.joint.parameters():
        turn = kt.Placement.at((0.0, 0.0, 0.0), _turn(rng.standard_normal(3), angle))
    elif kind in ("revolute", "prismatic", "cylindrical"):
        axis = np.asarray(loop.joint.axes[0])
        along = rng.uniform(-0.2, 0.2, 3) if kind == "prismatic" else rng.uniform(-0.2, 0.2) * axis
        turn = kt.Placement.at(along, _turn(axis, angle))
    else:
        return loop
    return replace(loop, placement_a=loop.placement_a @ turn, placement_b=loop.placement_b @ turn)


def same_in_other_frames(rng: np.random.Generator) -> None:
    """Raise :class:`WrongAnswerError` where a linkage answers otherwise with other frames of its cuts.

    Accelerations are compared with those of the open tree under the loops' forces, too.
    """
    mechanism = KINDS[str(rng.choice(list(KINDS)))](rng)
    other, rest = in_other_frames(mechanism, rng), np.zeros(mechanism.n_dof)
    compare(mechanism, rng)
    compare(other, rng)
    tau = rng.standard_normal(mechanism.n_dof)
    found = [kt.forward_dynamics(x, rest, rest, tau) for x in (mechanism, other)]
    _agree(*found, 1e-7, f"{mechanism.name}: accelerations")
    _agree(
        *(kt.inverse_dynamics(x, rest, rest, found[0]) for x in (mechanism, other)),
        1e-7,
        f"{mechanism.name}: torques",
    )
    if rng.random() < 0.2:
        ends = [kt.simulate(x, rest, duration=0.1, rtol=1e-10, atol=1e-10).q[-1] for x in (mechanism, other)]
        _agree(np.asarray(ends[0]), np.asarray(ends[1]), 1e-6, f"{mechanism.name}: motion")


def _agree(a: Array, b: Array, close: float, what: str) -> None:
    if not np.abs(a - b).max() <= close * max(1.0, np.abs(a).max()):
        raise WrongAnswerError(f"{what} depend on frames: {np.abs(a - b).max():.3g} apart")


def _unit(v: Any) -> Array:
    return np.asarray(v) / np.linalg.norm(v)


def _turn(axis: Any, angle: float) -> Array:
    """The rotation about an axis by an angle."""
    x, y, z = _unit(axis)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + sin(angle) * K + (1.0 - cos(angle)) * K @ K
