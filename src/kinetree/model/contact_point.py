"""Points of bodies that may touch the ground. A description without forces."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.algebra.arrays import Array, array_key, same_arrays, vector
from kinetree.errors import ModelError
from kinetree.model.body import checked_name


@dataclass(frozen=True, eq=False)
class ContactPoint:
    """A named point of a body, ``position`` (3,) in the body frame (m)."""

    name: str
    body: str
    position: Array

    def __post_init__(self) -> None:
        checked_name(self.name, "a contact point")
        what = f"contact point '{self.name}': position"
        object.__setattr__(self, "position", vector(self.position, 3, what, ModelError))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ContactPoint)
            and (self.name, self.body) == (other.name, other.body)
            and same_arrays([(self.position, other.position)])
        )

    def __hash__(self) -> int:
        return hash((self.name, self.body, array_key(self.position)))
