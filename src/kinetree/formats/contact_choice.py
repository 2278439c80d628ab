"""Which bodies of a description touch the ground, the same for URDF, SDF and MJCF."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kinetree.errors import InputError, listed, must_be, unknown_name
from kinetree.model.contact_point import ContactPoint

Contacts = bool | Iterable[str] | None


@dataclass(frozen=True)
class ContactChoice:
    """What ``contacts`` of :func:`kinetree.load` asks for.

    None: bodies that a free joint carries, and on a floor of the file all that move. True: all bodies that
    move. False: none. Otherwise the bodies that are named.
    """

    given: bool | tuple[str, ...] | None = None

    @classmethod
    def of(cls, contacts: Contacts) -> ContactChoice:
        """The choice, checked as far as it can be without a mechanism.

        >>> ContactChoice.of(["foot"]).wants("foot", usual=False)
        True
        """
        if contacts is None or isinstance(contacts, bool):
            return cls(contacts)
        if isinstance(contacts, str | bytes) or not isinstance(contacts, Iterable):
            raise InputError(must_be("contacts", "True, False or names of bodies", contacts))
        names = tuple(contacts)
        for name in names:
            if not isinstance(name, str):
                raise InputError(must_be("contacts", "True, False or names of bodies", name))
        return cls(names)

    def wants(self, body: str, usual: bool) -> bool:
        """Whether collisions of a body that moves become contact points; ``usual`` unless it is said."""
        if isinstance(self.given, tuple):
            return body in self.given
        return usual if self.given is None else self.given

    def check_names(self, bodies: Collection[str]) -> None:
        """Refuse names that no body has."""
        for name in self.given if isinstance(self.given, tuple) else ():
            if name not in bodies:
                raise InputError(unknown_name("body", name, bodies).after("contacts: "))

    def check_found(self, points: Iterable[ContactPoint]) -> None:
        """Refuse names of bodies that have nothing to touch with."""
        if isinstance(self.given, tuple):
            touching = {point.body for point in points}
            bare = [name for name in self.given if name not in touching]
            if bare:
                raise InputError(
                    f"contacts: {listed(bare)} has no collision that can touch the ground, or does not move"
                )
