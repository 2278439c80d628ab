"""What every formulation promises: the same functions over the same tree, and an honest list of abilities.

A formulation is a module with a ``FORMULATION`` and functions named as in ``ABILITIES``. They take the
compiled tree and one state as arrays (n,) of any kind of number: float, complex (derivatives by complex
step), counting (operation counts) or SymPy symbols. Loads are fixed in the world. Functions for closed loops
(``closed``) take a `Closed` after the tree, and float states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kinetree.kernels.number import CountingNumber
from kinetree.model.tree import Tree

ABILITIES = {
    "inverse_dynamics": "tau(tree, q, qd, qdd, loads=())",
    "mass_matrix": "M(tree, q)",
    "bias_torque": "h(tree, q, qd, loads=())",
    "forward_dynamics": "qdd(tree, q, qd, tau, loads=())",
    "joint_reactions": "(n, 6) force, moment through each axis in its frame: (tree, q, qd, qdd, loads=())",
    "inverse_dynamics_derivatives": "(tau, dtau_dq, dtau_dqd, dtau_dqdd): (tree, q, qd, qdd, loads=())",
    "joint_reaction_derivatives": "(w, dw_dq, dw_dqd, dw_dqdd), dw (n, 6, n): (tree, q, qd, qdd, loads=())",
}


class Load(NamedTuple):
    """A force (N) and a moment (N m) in world axes on what an axis carries, at a point of its frame (m)."""

    axis: int
    force: Any
    moment: Any
    point: Any


Loads = Sequence[Load]
POINT, DIRECTION, ROD = "point", "direction", "rod"  # types of rows of a cut joint


class ConstraintRow(NamedTuple):
    """A scalar constraint of a cut joint, with e fixed in frame A and f in frame B.

    With the placement X = (R, d) of B seen from A: a point, e . d = 0; a direction, e . R f = constant; a
    rod, d . d = constant^2.
    """

    type: str
    e: Any
    f: Any
    constant: float


class Cut(NamedTuple):
    """A cut joint between frames (4, 4) placed on two axes, -1 the world, and its rows."""

    name: str
    axis_a: int
    place_a: Any
    axis_b: int
    place_b: Any
    rows: tuple[ConstraintRow, ...]


class Closed(NamedTuple):
    """What closes a tree: its cut joints, and which axes are driven, (n,)."""

    cuts: tuple[Cut, ...]
    driven: Any


def any_tree(tree: Tree) -> str | None:
    """No tree is refused."""
    return None


@dataclass(frozen=True)
class Formulation:
    """A way to derive the equations of motion: where it comes from, what it can do, what it costs."""

    name: str
    title: str
    source: str
    cost: str
    can: frozenset[str]
    refuses: Callable[[Tree], str | None] = any_tree  # why it cannot handle a tree, or None
    closed: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # its abilities with closed loops

    def __post_init__(self) -> None:
        unknown = self.can - ABILITIES.keys()
        if unknown:
            raise ValueError(f"formulation '{self.name}' lists unknown abilities {sorted(unknown)}")


@dataclass
class StepCounts:
    """Operations by step of an algorithm, filled while it runs on counting numbers."""

    steps: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def total(self) -> dict[str, int]:
        """Operations of all steps together."""
        kinds = CountingNumber.counts.keys()
        return {kind: sum(step[kind] for step in self.steps.values()) for kind in kinds}


_recording: list[StepCounts] = []


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name a part of an algorithm; its operations are counted under that name. Steps do not nest."""
    if not _recording:
        yield
        return
    before = dict(CountingNumber.counts)
    try:
        yield
    finally:
        spent = _recording[-1].steps.setdefault(name, dict.fromkeys(before, 0))
        for kind, count in CountingNumber.counts.items():
            spent[kind] += count - before[kind]


@contextmanager
def counted_steps() -> Iterator[StepCounts]:
    """Record the operations of every step that runs inside."""
    counts = StepCounts()
    _recording.append(counts)
    try:
        yield counts
    finally:
        _recording.pop()
