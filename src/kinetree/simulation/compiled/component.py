"""What takes part in a simulation beside mechanism, built-in law, ground and stops, joined by address.

A component brings numbers of its own into the context, states of its own into the state, and C functions that
the one compiled right-hand side calls. All of them are int64 f(t, y*, out*, context*, own*), where y* is the
state of all lanes, own* are the component's numbers, and any answer but 0 stops the integration:

- "law" fills the torques ``given`` (lanes, axes), before the built-in law adds its own;
- "rates" reads and changes the torques in the row ``tau`` of the context, after the law, and fills the rates
  of its states in dy*; or it adds forces to the wrenches ``f``, ``n`` of the axes in the workspace, and what
  power drives give and friction takes through them to the row ``powers``;
- "slopes" fills its lines of J (n + more, 2 n + more): `compiled.jacobian` says what is in the others;
- "motion" (of one component at most) fills the row ``qdd`` of the context from the row ``total``, instead of
  articulated bodies;
- "events" fills the values of its event functions, for one simulation at a time.

Of the work that the torques ``tau`` do, a component may name parts of its own: quadratures (J) whose rates it
fills, and which results and the audit of energy show beside the work of the actuators.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.word_call import ArrayKind
from kinetree.kernels.layout import Layout

DRIVING, LOST = 0, 1  # of the row ``powers``
JOINT_LIMIT, LIMITS = "joint_limit", ("upper", "lower")  # names of events, and of their two kinds
OBSERVED = [ArrayKind("f8", rank) for rank in (1, 1, 1, 2, 2, 2, 2)]  # arrays that `observe` takes
FUNCTIONS = ("law", "rates", "slopes", "motion", "events")
COMPONENT = Layout(
    world=False,
    constant=True,
    own=int,  # where its numbers are in the context
    n_events=int,
    **dict.fromkeys(FUNCTIONS, int),  # addresses; 0: it has none
)


class Watched(NamedTuple):
    """An event function of a component: what results call it, and where it counts."""

    kind: str
    name: str
    direction: int = 0  # -1, 0 (both) or 1
    is_kink: bool = False  # whether rates jump there, so that a step must end
    is_limit: bool = False  # whether it is a limit of a joint, of which coming back is not reported

    @property
    def asked(self) -> str:
        """What ``stop_at`` calls it."""
        return JOINT_LIMIT if self.is_limit else self.kind


class Component:
    """A component without anything, to be derived from."""

    name = ""  # of its states
    n_state = 0
    works: tuple[str, ...] = ()  # names of its parts of the actuators' work
    watched: tuple[Watched, ...] = ()
    pushes = False  # whether it adds forces to the wrenches of axes, whose places it reads
    is_made = False  # whether its "motion" is code for one mechanism: axes need no places but for forces
    is_sloped = False  # whether stiff methods take its states into account: "slopes" or differences

    @property
    def damps(self) -> bool:
        """Whether it can take energy out of the motion without states of its own."""
        return False

    def numbers(self, parts: Any) -> Array:
        """Its own numbers for compiled code, given all `ContextParts`: where its states and works are."""
        return np.zeros(0)

    def address(self, function: str, lanes: int) -> int:
        """Where one of `FUNCTIONS` is; 0 if it has none."""
        return 0

    def set_models(self, tables: Array, numbers: Array) -> None:
        """Take model tables (lanes, n + 1, width), one for each lane; its own numbers begin ``numbers``."""

    def start(self) -> Array:
        """Its states (n_state,) at the beginning."""
        return np.zeros(self.n_state)

    def variables(self, states: Array) -> dict[str, Any]:
        """What results show of its states (..., k, n_state).

        Arrays of names that results know, or (dimensions from time on, values, unit, meaning).
        """
        return {}

    def join(self, system: Any) -> None:
        """Meet the running system, whose context exists from now on."""

    @property
    def has_slopes(self) -> bool:
        """Whether exact slopes are known for all that it does."""
        return False

    def drives(self, axis: int) -> bool:
        """Whether the torque of an axis is its own business, so that the axis keeps its coordinate."""
        return False


class StateLayout:
    """Where the parts of a state are, by name.

    Positions ``q`` and velocities ``qd`` (n each), then states whose slopes stiff methods know (``sloped``),
    ``others``, and ``work``, the quadratures of energy.

    >>> StateLayout(2, {"current": 2}, {}, 4).places["work"]
    slice(6, 10, None)
    """

    def __init__(self, n: int, sloped: Mapping[str, int], others: Mapping[str, int], works: int) -> None:
        self.n, self.n_more, self.n_sums = n, sum(sloped.values()), works
        self.places: dict[str, slice] = {}
        self.size = 0
        for name, count in {"q": n, "qd": n, **sloped, **others, "work": works}.items():
            self.places[name] = slice(self.size, self.size + count)
            self.size += count
        self.q, self.qd, self.work = (self.places[name] for name in ("q", "qd", "work"))

    @property
    def n_moving(self) -> int:
        """States whose slopes stiff methods know: positions, velocities and ``sloped``."""
        return 2 * self.n + self.n_more
