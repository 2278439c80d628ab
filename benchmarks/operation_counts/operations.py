"""Numbers of operations."""

from __future__ import annotations

from typing import Any, NamedTuple


class Ops(NamedTuple):
    """Multiplications with divisions, and additions with subtractions."""

    M: int
    A: int

    def __add__(self, other: Any) -> Ops:
        return Ops(self.M + other[0], self.A + other[1])

    def __sub__(self, other: Any) -> Ops:
        return Ops(self.M - other[0], self.A - other[1])

    def times(self, n: int) -> Ops:
        """n times as many."""
        return Ops(n * self.M, n * self.A)

    def __str__(self) -> str:
        return "-" if not (self.M or self.A) else f"{self.M}M {self.A}A"


NONE = Ops(0, 0)
