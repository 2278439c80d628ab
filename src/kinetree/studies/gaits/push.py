"""The ground's unknown force on a foot: along the normal at each contact point, across it in their middle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kinetree.motion.terms import UnknownForce
from kinetree.motion.terms.contract import Constraint
from kinetree.studies.gaits.walker import Foot, Legged


def tangents(who: Legged) -> str:
    """The axes along the ground in which a robot moves: "x", or "xy"."""
    return who.forward if who.flat else who.forward + who.across


def unknown_push(
    who: Legged, foot: Foot, names: Sequence[str], across: str, *, largest: float, start: float, **common: Any
) -> list[Constraint]:
    """One force per contact point by ``names``, which only pushes, and one called ``across`` in their middle.

    ``largest`` bounds each component (N), ``start`` is where forces along the normal begin (N); ``common``
    goes to every force.
    """
    common |= {"size": who.weight, "at": "points"}
    found: list[Constraint] = [
        UnknownForce(
            foot.body, point, name=name, axes=who.up, lower=0.0, upper=largest, start=start, **common
        )
        for name, point in zip(names, foot.points, strict=True)
    ]
    along: dict[str, Any] = {"name": across, "axes": tangents(who), "lower": -largest, "upper": largest}
    return [*found, UnknownForce(foot.body, foot.middle, **along, **common)]
