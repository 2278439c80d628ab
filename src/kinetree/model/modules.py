"""Kinematic modules: a tree cut into serial chains ([Shah2013], section 4.1).

Each module contains serially connected links only, and emerges from the last link of its parent module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kinetree.errors import ModelError, unknown_name
from kinetree.model.body import WORLD

if TYPE_CHECKING:
    from kinetree.model.mechanism import Mechanism

BASE = 0  # the number of the base module: the world, or the floating base


@dataclass(frozen=True)
class Module:
    """A serial chain of bodies.

    ``number`` starts at 1, and 0 is the base: the world, or the body on a free joint. ``parent`` is the
    number of the module from whose last body this one emerges.
    """

    number: int
    bodies: tuple[str, ...]
    parent: int | None


def automatic_modules(mechanism: Mechanism) -> tuple[Module, ...]:
    """The longest serial chains: a module ends where the tree branches or stops.

    A single body on a free joint is module 0, the floating base; otherwise module 0 is the world and holds
    no bodies.
    """
    children = _children(mechanism)
    base = _base_bodies(mechanism)
    groups: list[list[str]] = []
    starts = list(children[base[-1] if base else WORLD])
    while starts:
        chain = [starts.pop(0)]
        while len(children[chain[-1]]) == 1:
            chain.append(children[chain[-1]][0])
        groups.append(chain)
        starts.extend(children[chain[-1]])
    return _numbered(mechanism, base, groups)


def checked_modules(mechanism: Mechanism, groups: Sequence[Sequence[str]]) -> tuple[Module, ...]:
    """Modules from the user's lists of body names, without the base; both conditions are checked."""
    base = _base_bodies(mechanism)
    expected = [name for name in mechanism.body_names if name not in base]
    seen: set[str] = set()
    for group in groups:
        if not group:
            raise ModelError("a module must hold at least one body, got an empty one")
        for body in group:
            if body not in expected:
                raise ModelError(unknown_name("body", body, expected).after(f"module {list(group)}: "))
            if body in seen:
                raise ModelError(f"body '{body}' is in two modules; each body belongs to exactly one")
            seen.add(body)
        for parent, child in pairwise(group):
            if mechanism.link(child).parent != parent:
                raise ModelError(
                    f"module {list(group)} is not serial: body '{child}' is carried by "
                    f"'{mechanism.link(child).parent}', not by '{parent}' (condition 1 of [Shah2013], 4.1)"
                )
    missing = [name for name in expected if name not in seen]
    if missing:
        raise ModelError(f"bodies {missing} are in no module; each body belongs to exactly one")
    return _numbered(mechanism, base, [list(group) for group in groups])


def _numbered(mechanism: Mechanism, base: list[str], groups: list[list[str]]) -> tuple[Module, ...]:
    """Modules numbered outward, with parents; the parent must be the last body of its module."""
    groups = sorted(groups, key=lambda group: mechanism.body_index(group[0]))
    module_of = {body: k + 1 for k, group in enumerate(groups) for body in group}
    module_of.update(dict.fromkeys([WORLD, *base], BASE))
    last = {k + 1: group[-1] for k, group in enumerate(groups)}
    last[BASE] = base[-1] if base else WORLD
    modules = [Module(BASE, tuple(base), None)]
    for k, group in enumerate(groups):
        parent = mechanism.link(group[0]).parent
        if last[module_of[parent]] != parent:
            raise ModelError(
                f"module {group} emerges from body '{parent}', which is not the last body "
                f"'{last[module_of[parent]]}' of its module (condition 2 of [Shah2013], 4.1)"
            )
        modules.append(Module(k + 1, tuple(group), module_of[parent]))
    return tuple(modules)


def _base_bodies(mechanism: Mechanism) -> list[str]:
    """The floating base, if the tree hangs on one body with a free joint."""
    roots = [link for link in mechanism.links if link.parent == WORLD and not link.joint.is_fixed]
    floating = len(roots) == 1 and roots[0].joint.is_free
    return [roots[0].body.name] if floating else []


def _children(mechanism: Mechanism) -> dict[str, list[str]]:
    children: dict[str, list[str]] = defaultdict(list)
    for link in mechanism.links:
        children[link.parent].append(link.body.name)
    return children
