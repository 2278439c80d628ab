"""Bodies that are no bodies of the machine: lengths and rotors on the world that follow its joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetree.model.body import WORLD

if TYPE_CHECKING:
    from kinetree.model.mechanism import Link, Mechanism


def aids(mechanism: Mechanism) -> list[Link]:
    """Links on the world, without mass and shapes, that move by following joints: tendons and rotors.

    They carry springs, friction, limits and inertia of several joints together; no one else knows them as
    bodies.

    >>> import kinetree as kt
    >>> aids(kt.zoo.gripper())
    []
    """
    if not any(link.joint.mimic is not None and link.parent == WORLD for link in mechanism.links):
        return []
    able = {WORLD}
    for link in mechanism.links:
        body, follows = link.body, link.joint.mimic is not None
        if follows and link.parent in able and body.inertia.mass == 0.0 and not body.shapes:
            able.add(body.name)
    for link in reversed(mechanism.links):
        if link.body.name not in able:
            able.discard(link.parent)
    return [link for link in mechanism.links if link.body.name in able]
