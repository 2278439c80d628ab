"""What acts on a robot on its feet: the ground's unknown forces, and nothing on the trunk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import override

from kinetree.analysis.legged_stance import LeggedStance
from kinetree.analysis.legs import Foot
from kinetree.model.mechanism import Mechanism
from kinetree.motion.terms import TorqueCombination, UnknownForce
from kinetree.motion.terms.contract import Constraint


class Unheld(TorqueCombination):
    """Nothing but the ground acts along a coordinate of the trunk, at the knots, with or without a drive."""

    def __init__(self, name: str, size: float) -> None:
        super().__init__({name: 1.0}, 0.0, 0.0, size=size, at="knots")
        self.name = name

    @override
    def carried(self, mechanism: Mechanism) -> tuple[str, ...]:
        """The coordinate itself."""
        return (self.name,)


def tangents(who: LeggedStance) -> str:
    """The axes along the ground in which a robot moves: "x", or "xy"."""
    return who.forward if who.flat else who.forward + who.across


def unknown_push(
    who: LeggedStance,
    foot: Foot,
    names: Sequence[str],
    across: str,
    *,
    largest: float,
    start: float,
    **common: Any,
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
