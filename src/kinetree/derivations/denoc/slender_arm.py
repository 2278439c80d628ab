"""The table of a serial robot made of bent slender links (002, section 3.2 and Table 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, sin
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, frozen, numbers, vector
from kinetree.derivations.denoc.entries import Entry, constant
from kinetree.derivations.denoc.frames import X, constant_turn, exact_angle
from kinetree.derivations.denoc.screws import Turn
from kinetree.errors import ModelError
from kinetree.model.dh import from_dh
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import EARTH, Mechanism
from kinetree.model.tree import Tree


class SlenderLink(NamedTuple):
    """Constants of one link, computed off-line: m, and C_1 to C_5 of step 3 with payload and hub."""

    m: Entry
    C_1: Entry
    C_2: Entry
    C_3: Entry
    C_4: Entry
    C_5: Entry
    hub: Entry
    a: Entry
    b: Entry
    alpha: Turn


@dataclass(frozen=True, eq=False)
class SlenderArm:
    """A serial robot of bent slender links: one number per link (SI units), as in 002, Table 2.

    ``mass`` of the rods, ``a`` and ``b`` their lengths along x_(i+1) and z_i, ``alpha`` the angle to the next
    axis, ``payload`` a mass at the far end, ``hub`` the inertia of the motor about the joint axis.

    >>> SlenderArm.puma().n
    6
    """

    mass: Array
    a: Array
    b: Array
    alpha: Array
    payload: Array | float = 0.0
    hub: Array | float = 0.0
    gravity: Array = EARTH  # type: ignore[assignment]

    def __post_init__(self) -> None:
        n = np.size(self.mass)
        for name in ("mass", "a", "b", "alpha", "payload", "hub"):
            values = finite(numbers(getattr(self, name), name, ModelError), name, ModelError)
            if values.ndim > 1 or values.size not in (1, n) or n == 0:
                raise ModelError(f"{name} must have one number per link ({n}), got shape {values.shape}")
            if name in ("mass", "payload", "hub") and (values < 0).any():
                raise ModelError(f"{name} must be >= 0, got {values.tolist()}")
            object.__setattr__(self, name, frozen(np.broadcast_to(values, (n,))))
        length = np.abs(self.a) + np.abs(self.b)
        for k in np.flatnonzero((length == 0) & (self.mass > 0)):
            raise ModelError(
                f"link {k + 1} has a rod of mass {self.mass[k]:g} kg, but a = b = 0: it needs a length"
            )
        object.__setattr__(self, "gravity", vector(self.gravity, 3, "gravity", ModelError))

    @classmethod
    def puma(cls, gravity: ArrayLike = EARTH) -> SlenderArm:
        """The PUMA robot of 002, Table 2."""
        right = np.pi / 2
        return cls(
            mass=frozen([10.521, 15.7612, 8.767, 0, 0, 0]),
            a=frozen([0, 0.432, 0.02, 0, 0, 0]),
            b=frozen([0.2, 0.149, 0, 0.432, 0, 0.056]),
            alpha=frozen([-right, 0, right, -right, right, 0]),
            hub=frozen([0, 0, 0, 0.181, 0.0735, 0.0141]),
            gravity=frozen(gravity),
        )

    @property
    def n(self) -> int:
        """Number of links and joints."""
        return len(self.mass)

    @property
    def links(self) -> list[SlenderLink]:
        """The constants of all links."""
        return [self._link(i) for i in range(self.n)]

    def _link(self, i: int) -> SlenderLink:
        """C_1 to C_5 of step 3; C_5 has half the printed value (errata), and b may be negative."""
        m, a, b, payload = (float(x[i]) for x in (self.mass, self.a, self.b, np.asarray(self.payload)))
        rho = m / (abs(a) + abs(b)) if m else 0.0
        m_b, m_a = rho * abs(b), rho * abs(a)
        return SlenderLink(
            constant(m + payload),
            constant(-(m_b / 2 + m_a + payload) * b),
            constant(-(m_a / 2 + payload) * a),
            constant((m_b / 3 + m_a + payload) * b**2),
            constant((m_a / 3 + payload) * a**2),
            constant((m_a / 2 + payload) * a * b),
            constant(np.asarray(self.hub)[i]),
            constant(a),
            constant(b),
            constant_turn(X, exact_angle(cos(self.alpha[i]), sin(self.alpha[i]))),
        )

    def mechanism(self, name: str = "slender_arm") -> Mechanism:
        """The same robot for all other algorithms: body frames at O_i, turned by theta_i."""
        rows: Any = [{"a": self.a[i], "b": self.b[i], "alpha": self.alpha[i]} for i in range(self.n)]
        geometry = from_dh(rows, "classic", name, self.gravity)
        payload, hub = np.asarray(self.payload), np.asarray(self.hub)
        links = []
        for i, link in enumerate(geometry.links):
            rod = Inertia.bent_rod(self.mass[i], self.a[i], self.b[i], payload[i], hub[i])
            links.append(replace(link, body=replace(link.body, inertia=rod)))
        return replace(geometry, links=tuple(links))

    @cached_property
    def tree(self) -> Tree:
        """The compiled tree of the mechanism."""
        return self.mechanism().tree
