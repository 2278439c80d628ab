"""Names and frames of an SDF model: which link a frame is attached to, and where it is in its model.

Each model is a scope of names. The frame of a link is given in that of the model, the frame of a joint in
that of its child, a frame in what it is attached to, unless ``relative_to`` says otherwise; ``a::b`` is b in
the nested model a (SDFormat specification, "Pose frame semantics").
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from kinetree.algebra.placement import Placement
from kinetree.errors import ModelError, listed, unknown_name
from kinetree.formats.sdf_values import pose, pose_frame, word
from kinetree.formats.xml_file import Element
from kinetree.model.body import WORLD

MODEL = "__model__"
DELIMITER = "::"
NAMED = ("link", "joint", "frame")


@dataclass
class Scope:
    """A model, or a world, with its links, joints and frames by name, and the models inside it.

    ``prefix`` stands before the names of its parts in the mechanism; a merged model has that of its owner.
    """

    element: Element
    prefix: str = ""
    owner: Scope | None = None
    placing: Element | None = None  # the <include> that places it, if it has a pose of its own
    parts: dict[str, Element] = field(default_factory=dict)
    models: dict[str, Scope] = field(default_factory=dict)
    merged: list[Scope] = field(default_factory=list)
    _local: dict[str, Placement] = field(default_factory=dict)

    @property
    def is_world(self) -> bool:
        """Whether it is a <world>, whose frame is the world's."""
        return self.element.tag == WORLD

    def add(self, element: Element) -> None:
        """Keep a link, joint or frame under its name."""
        name = element.text("name")
        first = self.parts.get(name)
        if first is not None or name in self.models:
            where = f", the first on line {first.line}" if first is not None else ""
            raise ModelError(f"{element.place}: two elements are called '{name}'{where}; names must differ")
        self.parts[name] = element

    def all_scopes(self) -> Iterator[Scope]:
        """The scope and those inside it."""
        yield self
        for inner in (*self.models.values(), *self.merged):
            yield from inner.all_scopes()

    def elements(self, tag: str) -> list[Element]:
        """Its own links, joints or frames."""
        return [x for x in self.parts.values() if x.tag == tag]

    def full(self, name: str) -> str:
        """The name of one of its parts in the mechanism."""
        return self.prefix + name

    # ---- frames -------------------------------------------------------------------------------------

    def local(self, name: str, asking: Element) -> Placement:
        """Where a frame is in the frame of this model; ``asking`` is the element that names it."""
        chain: dict[str, None] = {}
        while name not in self._local:
            if name in chain:
                raise ModelError(f"{asking.place}: frames are given by each other: {listed([*chain, name])}")
            outside = self._elsewhere(name, asking)
            if outside is not None:
                self._local[name] = outside
                break
            chain[name] = None
            asking = self.parts[name]
            name = self._reference(asking)
        place = self._local[name]
        for own in reversed(chain):
            place = place @ pose(self.parts[own])
            self._local[own] = place
        return place

    def in_world(self, name: str, asking: Element) -> Placement:
        """Where a frame is in the world."""
        return self.model_place @ self.local(name, asking)

    @property
    def model_place(self) -> Placement:
        """Where the frame of the model is in the world."""
        place = Placement()
        scope: Scope | None = self
        while scope is not None and not scope.is_world:
            place = scope.in_owner @ place
            scope = scope.owner
        return place

    @property
    def in_owner(self) -> Placement:
        """Where the frame of the model is in that of its owner."""
        if "" not in self._local:
            placed = self.element if self.placing is None else self.placing
            place = pose(placed)
            frame = pose_frame(placed)
            if frame and self.owner is not None:
                place = self.owner.local(frame, placed) @ place
            held = self._placement_frame()
            self._local[""] = place @ self.local(held, placed).inverse if held else place
        return self._local[""]

    def _placement_frame(self) -> str:
        if self.placing is not None and self.placing.one("placement_frame") is not None:
            return word(self.placing, "placement_frame")
        return self.element.attributes.get("placement_frame", "")

    def _reference(self, element: Element) -> str:
        """The frame that the pose of one of its parts is given in."""
        given = pose_frame(element)
        if given:
            return given
        if element.tag == "joint":
            return word(element, "child")
        return element.attributes.get("attached_to") or MODEL if element.tag == "frame" else MODEL

    def _elsewhere(self, name: str, asking: Element) -> Placement | None:
        """Where a frame is that is not one of the scope's own parts; None for these."""
        if name == MODEL or (name == WORLD and self.is_world):
            return Placement()
        if name in self.parts:
            return None
        if name == WORLD:
            return self.model_place.inverse
        scope, rest = self._inner(name, asking)
        return scope.in_owner @ scope.local(rest, asking)

    def _inner(self, name: str, asking: Element) -> tuple[Scope, str]:
        """The model inside this one that a name is in, and the name in it."""
        for scope in self.merged:
            if name in scope.parts:
                return scope, name
        first, _, rest = name.partition(DELIMITER)
        if first not in self.models:
            known = [*self.parts, *self.models, *(x for scope in self.merged for x in scope.parts), WORLD]
            raise ModelError(unknown_name("frame", name, known).after(f"{asking.place}: "))
        return self.models[first], rest or MODEL

    # ---- links ----------------------------------------------------------------------------------------

    def link_of(self, name: str, asking: Element) -> str:
        """The link, by its name in the mechanism, that a frame is attached to, or the world."""
        seen: dict[str, None] = {}
        while True:
            if name == WORLD or (name == MODEL and self.is_world):
                return WORLD
            if name in seen:
                raise ModelError(
                    f"{asking.place}: frames are attached to each other: {listed([*seen, name])}"
                )
            seen[name] = None
            if name == MODEL:
                return self.canonical(asking)
            if name not in self.parts:
                scope, rest = self._inner(name, asking)
                return scope.link_of(rest, asking)
            asking = self.parts[name]
            if asking.tag == "link":
                return self.full(name)
            is_joint = asking.tag == "joint"
            name = word(asking, "child") if is_joint else asking.attributes.get("attached_to") or MODEL

    def canonical(self, asking: Element) -> str:
        """The link that the frame of the model is attached to: as named, or the first."""
        named = self.element.attributes.get("canonical_link")
        if named:
            return self.link_of(named, asking)
        for scope in self.all_scopes():
            for link in scope.elements("link"):
                return scope.full(link.text("name"))
        raise ModelError(f"{self.element.place}: the model has no link, so nothing can be attached to it")
