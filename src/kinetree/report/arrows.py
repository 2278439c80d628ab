"""Forces of a motion as arrows in the world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.report.frames import Frames
from kinetree.report.palette import FORCE_COLOR, REACTION_COLOR

STRONG = 0.95  # the part of all forces over time that are weaker than the one drawn longest
SLIGHT = 1e-9  # of the strongest: no force


class Arrows(NamedTuple):
    """Arrows of one kind over time: where they begin and what they add to it, both (T, k, 3) in m.

    ``per_newton`` is the length (m) of a force of 1 N, except for the few strongest.
    """

    kind: str
    color: str
    at: Array
    vector: Array
    per_newton: float


def force_arrows(motion: Frames, longest: float) -> list[Arrows]:
    """The forces of the ground on contact points or feet, and the joint reactions, as far as there are.

    A strong force is as long as ``longest`` (m); the few beyond it, as in impacts, are not longer.

    >>> import kinetree as kt
    >>> from kinetree.report.frames import frames
    >>> fall = kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1, times=3, reactions=True)
    >>> [(x.kind, x.vector.shape) for x in force_arrows(frames(fall), 0.1)]
    [('reaction', (3, 4, 3))]
    """
    found = []
    if motion.contact_force is not None:
        lengths = _scaled(motion.contact_force, longest)
        found.append(Arrows("contact", FORCE_COLOR, motion.contact_position, *lengths))
    if motion.foot_force is not None and motion.foot_point is not None:
        lengths = _scaled(motion.foot_force, longest)
        found.append(Arrows("contact", FORCE_COLOR, motion.foot_point, *lengths))
    if motion.reaction is not None:
        found.append(Arrows("reaction", REACTION_COLOR, motion.position, *_scaled(motion.reaction, longest)))
    return found


def _scaled(force: Array, longest: float) -> tuple[Array, float]:
    """The forces (T, k, 3) as lengths, and the length of 1 N."""
    size = np.linalg.norm(force, axis=-1, keepdims=True)
    acting = size[size > SLIGHT * size.max(initial=0.0)]
    if not len(acting):
        return np.zeros_like(force), 0.0
    strong = float(np.quantile(acting, STRONG))
    scaled: Array = force * longest / np.maximum(size, strong)
    return scaled, longest / strong
