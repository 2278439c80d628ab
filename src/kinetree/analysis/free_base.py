"""A floating base without drives, in O(n): its composite body accelerates as if free ([Shah2013], 7.1)."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import GIMBAL_LOCK
from kinetree.dynamics.checks import checking
from kinetree.dynamics.evaluate import evaluate
from kinetree.dynamics.loads import Wrenches, axis_loads, body_loads, with_springs
from kinetree.errors import SingularityError
from kinetree.kernels.aba import SINGULAR
from kinetree.kernels.floating import BASE, FLOATING_INVERSE
from kinetree.kernels.tree_columns import gross_inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS


def base_is_alone(mechanism: Mechanism) -> bool:
    """Whether all bodies hang on the first joint and nothing but inertia acts on its axes.

    >>> import kinetree as kt
    >>> base_is_alone(kt.zoo.quadruped())
    True
    """
    tree = mechanism.tree
    alone = tree.coupling is None and int((tree.parent == WORLD_AXIS).sum()) == 1
    return alone and not (tree.passive[:BASE].any() or tree.armature[:BASE].any())


def freed(mechanism: Mechanism, q: Array, qd: Array, qdd: Array, wrenches: Wrenches) -> tuple[Array, Array]:
    """Base acceleration (..., 6) and torques (..., n_dof) in O(n): the composite body accelerates as if free.

    ``qdd`` (..., n_dof) are zero for the base, whose torques come out zero.
    """
    tree = mechanism.tree
    load = axis_loads(tree, body_loads(mechanism, q, with_springs(mechanism, q, qd, wrenches)))
    smallest = np.array([SINGULAR * gross_inertia(tree)[BASE - 1] ** 3, SINGULAR, GIMBAL_LOCK])

    def check(found: list[Array]) -> None:
        if checking() and not (np.abs(found[2]) > smallest).all():
            raise SingularityError(undefined_base(mechanism))

    found = evaluate(FLOATING_INVERSE, tree, [q, qd, qdd, load], [BASE, tree.n, 3], explain=check)
    check(found)
    return found[0], found[1]


def undefined_base(mechanism: Mechanism) -> str:
    """Why a floating base has no acceleration in a state."""
    return (
        f"the acceleration of the base of '{mechanism.name}' is not defined in this state: its composite "
        f"inertia is singular, or its Euler angles (sequence {mechanism.links[0].joint.sequence}) are in "
        "gimbal lock"
    )
