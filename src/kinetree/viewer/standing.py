"""The pose that a page begins with."""

from __future__ import annotations

from kinetree.algebra.arrays import Array
from kinetree.model.mechanism import Mechanism
from kinetree.report.skeleton import resting_pose
from kinetree.simulation.standing import standing


def rest(mechanism: Mechanism) -> Array:
    """The pose (n_dof,) that a page begins with: a state, or one near zero, put on the ground."""
    q = resting_pose(mechanism)
    return q if mechanism.states else standing(mechanism, q)
