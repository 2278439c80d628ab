"""The mechanisms that are counted on: every parameter is a general number, nothing is saved by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import kinetree as kt
from kinetree.algebra.rotation import rotation_about, rotation_to_axis
from kinetree.derivations.denoc import slender as denoc_slender

KINDS = ("revolute", "universal", "spherical")  # joints with 1, 2 and 3 degrees of freedom


def general(joints: Sequence[tuple[str, int]], floating: bool = False) -> kt.Mechanism:
    """A tree of joints, each a kind and the place of its parent in the list (-1: the base).

    Every DH parameter, length and inertia is a general number. As [Shah2013] assumes, the common normal to
    the next axis passes through the center of a joint that has several axes. Where the tree branches the
    other branches stand anywhere.
    """
    rng = np.random.default_rng(7)
    links, ends, grown = [], {-1: ("world", kt.Placement())}, set()
    if floating:
        base = kt.Joint.of_kind("base", "free")
        links.append(kt.model.Link(kt.Body("base", _inertia(rng)), base))
        ends[-1] = ("base", _turn(rotation_to_axis(base.axes[-1])))
    for k, (kind, place) in enumerate(joints):
        parent, near = ends[place]
        joint, body = kt.Joint.of_kind(f"joint{k}", kind), kt.Body(f"link{k}", _inertia(rng))
        if place in grown:
            near = near @ _dh(rng)
        grown.add(place)
        first = _turn(rotation_to_axis(joint.axes[0]))
        links.append(kt.model.Link(body, joint, parent, near @ _dh(rng) @ first.inverse))
        ends[k] = (body.name, _turn(rotation_to_axis(joint.axes[-1])))
    return kt.Mechanism("general", tuple(links), np.array([1.0, 2.0, -9.0]))


def chain(kinds: Sequence[str]) -> list[tuple[str, int]]:
    """Joints one after the other."""
    return [(kind, k - 1) for k, kind in enumerate(kinds)]


def legs(count: int, kinds: Sequence[str]) -> list[tuple[str, int]]:
    """Equal legs on the base."""
    n = len(kinds)
    return [(kind, leg * n + k - 1 if k else -1) for leg in range(count) for k, kind in enumerate(kinds)]


def _turn(rotation: Any) -> kt.Placement:
    return kt.Placement.at((0.0, 0.0, 0.0), rotation)


def _dh(rng: np.random.Generator) -> kt.Placement:
    """Rx(alpha) Tx(a) Rz(theta) Tz(b) with general numbers."""
    alpha, theta = rng.uniform(0.4, 1.2, 2)
    a, b = rng.uniform(0.1, 0.5, 2)
    across = kt.Placement.at((a, 0.0, 0.0), rotation_about("x", alpha))
    return across @ kt.Placement.at((0.0, 0.0, b), rotation_about("z", theta))


def _inertia(rng: np.random.Generator) -> kt.Inertia:
    points = rng.uniform(-0.4, 0.4, (6, 3))
    parts = [kt.Inertia.point(0.2, point) for point in points]
    return sum(parts[1:], parts[0])


def slender_arm(n: int) -> denoc_slender.SlenderArm:
    """A chain of bent slender links with general parameters."""
    rng = np.random.default_rng(7)
    lengths = {"a": rng.uniform(0.1, 0.5, n), "b": rng.uniform(0.1, 0.5, n)}
    return denoc_slender.SlenderArm(rng.uniform(1, 2, n), alpha=rng.uniform(0.3, 1, n), **lengths)
