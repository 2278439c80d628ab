"""States of a mechanism that have names: the pose to stand in, the pose to start from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array, array_key, frozen, numbers, same_arrays
from kinetree.errors import InputError, ModelError, must_be, unknown_name
from kinetree.model.body import checked_name


@dataclass(frozen=True, eq=False)
class NamedState:
    """Positions ``q`` and velocities ``qd`` (n_dof,) of a mechanism, at rest unless given.

    ``control`` (n_actuators,) is what the mechanism's actuators are commanded there, if it is known.
    """

    name: str
    q: Array
    qd: Array = field(default_factory=lambda: frozen([]))
    control: Array | None = None

    def __post_init__(self) -> None:
        checked_name(self.name, "a state")
        q = _vector(self.q, f"state '{self.name}': q")
        qd = _vector(self.qd, f"state '{self.name}': qd") if len(self.qd) else frozen(np.zeros_like(q))
        if q.shape != qd.shape:
            raise ModelError(f"state '{self.name}': q has {len(q)} numbers and qd {len(qd)}")
        control = None if self.control is None else _vector(self.control, f"state '{self.name}': control")
        for key, value in (("q", q), ("qd", qd), ("control", control)):
            object.__setattr__(self, key, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NamedState) or (self.control is None) != (other.control is None):
            return False
        pairs = [(self.q, other.q), (self.qd, other.qd)]
        if self.control is not None and other.control is not None:
            pairs.append((self.control, other.control))
        return self.name == other.name and same_arrays(pairs)

    def __hash__(self) -> int:
        return hash((self.name, array_key(self.q)))


class NamedStates(Mapping[str, NamedState]):
    """States by name, in their order; an unknown name is an error that lists the known ones."""

    def __init__(self, states: Iterable[NamedState] = ()) -> None:
        self._all = tuple(states)
        self._by_name = {state.name: state for state in self._all}

    def __getitem__(self, name: str) -> NamedState:
        if name not in self:
            raise InputError(unknown_name("state", name, self._by_name))
        return self._by_name[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return (state.name for state in self._all)

    def __len__(self) -> int:
        return len(self._all)

    def get(self, name: str, default: Any = None) -> Any:
        """The state of a name, or what is given instead."""
        return self._by_name[name] if name in self else default

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedStates) and self._all == other._all

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return f"NamedStates({', '.join(self)})"


def _vector(values: Any, what: str) -> Array:
    array = numbers(values, what, ModelError)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ModelError(must_be(what, "a list of finite numbers", array.tolist()))
    return frozen(array)
