"""People on feet, as problems of walking and lifting see them: what they carry, how strong they are."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kinetree.algebra.arrays import Array
from kinetree.analysis.legs import OnFeet
from kinetree.model.body import Shape
from kinetree.model.human.joints import ROOT as LABELS
from kinetree.model.inertia import Inertia
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Mechanism

ROOT = tuple(f"root.{label}" for label in LABELS)


@dataclass(frozen=True, eq=False)
class PersonOnFeet(OnFeet):
    """A person on feet; the mechanism is rooted as the problem needs it, ``person`` at the pelvis."""

    person: Mechanism

    @property
    @abstractmethod
    def torques(self) -> dict[str, tuple[float, float]]:
        """Least and largest torque of every joint (N m)."""

    @cached_property
    def sizes(self) -> dict[str, float]:
        """What torques are measured by: the larger of both (N m)."""
        return {name: max(-low, high) for name, (low, high) in self.torques.items()}


def carrying(person: Mechanism, name: str, load: Inertia, shapes: Sequence[Shape] = ()) -> Mechanism:
    """The person with a load on a body, drawn as these shapes."""
    body = person.link(name).body
    loaded = replace(body, inertia=body.inertia + load, shapes=(*body.shapes, *shapes))
    links = (replace(x, body=loaded) if x.body.name == name else x for x in person.links)
    return replace(person, links=tuple(links))


def on_foot(person: Mechanism, body: str, heel: Array) -> Mechanism:
    """The person rooted at a foot, with the heel point (3,) as origin; the root is driven, by the ground."""
    ground = Joint.of_kind("root", "free", sequence="ZXY", labels=LABELS)
    return person.rooted_at(body, point=heel, base=ground)
