"""A mechanism in one line of characters: its joints from the world outwards."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby

from kinetree.model.body import WORLD
from kinetree.model.joint_kind import KINDS
from kinetree.model.mechanism import Mechanism

GROUND = "┷"


def sketch(mechanism: Mechanism) -> str:
    """A line such as ┷─o─o: o turns, ▭ slides, ∞ and ● turn about two and three axes, ~ floats.

    Branches stand in brackets, alike ones once with their number; ⟲ says that loops are closed.

    >>> import kinetree as kt
    >>> print(sketch(kt.zoo.two_link()), sketch(kt.zoo.quadruped()), sketch(kt.zoo.four_bar()))
    ┷─o─o ~─4×(∞─o) ┷─(o, o─o)⟲
    """
    children: dict[str, list[str]] = defaultdict(list)
    for link in mechanism.links:
        children[link.parent].append(link.body.name)
    drawn: dict[str, str] = {}
    for link in reversed(mechanism.links):
        branches = _joined([drawn[name] for name in children[link.body.name]])
        drawn[link.body.name] = KINDS[link.joint.kind].letter + branches
    roots = [drawn[name] for name in children[WORLD]]
    floating = len(roots) == 1 and mechanism.links[0].joint.is_free
    text = roots[0] if floating else GROUND + _joined(roots)
    return text + ("⟲" if mechanism.loops else "")


def _joined(branches: list[str]) -> str:
    """What hangs on a body: nothing, one branch, or several in brackets."""
    if len(branches) < 2:
        return "".join(f"─{branch}" for branch in branches)
    groups = [(branch, len(list(alike))) for branch, alike in groupby(sorted(branches, key=branches.index))]
    if len(groups) == 1:
        return f"─{groups[0][1]}×({groups[0][0]})"
    return "─(" + ", ".join(branch if n == 1 else f"{n}×{branch}" for branch, n in groups) + ")"
