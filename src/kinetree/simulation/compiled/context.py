"""The memory of one running simulation: model, ground, loads, law, components and scratch in one array.

A header says how many of everything there are and where it is, so compiled code needs one pointer only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.kernels import aba, floating, rnea, rnea_gradient
from kinetree.kernels.external_load import LOAD
from kinetree.kernels.force_slopes import CHAIN
from kinetree.kernels.ground import CONTACT, FLAGS, PLANE, POINT, REGION, SOUGHT
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.kernels.model_table import TREE, n_pairs, tree_table
from kinetree.kernels.rates import LOCK
from kinetree.kernels.torque_law import NO_MODEL
from kinetree.model.tree import Tree
from kinetree.simulation.compiled.component import COMPONENT, FUNCTIONS, Component, StateLayout, Watched

INTEGRAL = "error_integral"  # the block of the built-in law in the state
FORCE_AND_MOMENT = 6  # numbers of a load that may vary
ACTUATOR, GROUND, JOINT, EXTERNAL, SUMS = 0, 1, 2, 3, 4  # energies that are integrated beside the state
ROWS = (
    "q",
    "qd",
    "qdd",
    "tau",  # of the law, or of what it commands
    "command",  # of the law
    "given",  # the part of it that others write
    "held",  # the law's torque since the last sampling instant
    "total",
    "feedback",
    "modelled",
    "spare",
    "at_q",
    "at_qd",
    "at_qdd",
    "want",
    "want_d",
    "want_dd",
)  # scratch with one number per axis and lane
TABLES = (
    "tree",
    "model",
    "axes",
    "plane",
    "points",
    "regions",
    "terrain",
    "loads",
    "moving",
    "locks",
    "desired",
    "table",
    "components",
)
SCRATCH = (
    "work",
    "law_work",
    "base_work",
    "wrench",
    "contact",
    "sought",
    "flags",
    "stops",
    "base",
    "check",
    "log",
    "reduced",
    "powers",
    "applied",  # powers of ground and loads
    "load_now",
)
SLOPES = (
    "slope_work",
    "slope_pairs",
    "slope_chain",
    "slope_law",
    "slope_free",
    "slope_rates",
)  # scratch of the Jacobian
HEADER = Layout(
    world=False,
    constant=True,
    n=int,  # axes
    n_dof=int,  # positions in the state: fewer if there are mimic joints
    size=int,  # numbers of one state
    more=int,  # states of components whose slopes count
    integral=int,  # where the integrals of errors are in a state
    energy=int,  # where the work is
    n_components=int,
    motion=int,  # address of what finds accelerations; 0: articulated bodies
    motion_own=int,  # where the numbers of its component are
    placed=int,  # 1: something acts on places and velocities of axes, which code for one mechanism leaves out
    forces=int,  # address of what adds the forces of ground and loads; 0: there are none
    law=int,  # address of the built-in law; 0: torques are given
    n_points=int,
    n_regions=int,
    uneven=int,  # 1: every contact point has a plane of its own
    n_loads=int,
    n_locks=int,
    n_log=int,  # sampling instants that are kept
    mode=int,  # what the law adds from a model
    floating=int,
    sampled=int,  # 1: torques are held between sampling instants
    aware=int,  # 1: the law's model knows the ground's and the external forces
    integrating=int,  # 1: the state has integrals of the errors
    holding=int,  # 1: contact and stops are as flags and stops tell, whatever the state
    desired_count=int,
    desired_order=int,
    table_count=int,
    table_order=int,
    moving_count=int,  # of loads that vary
    moving_order=int,
    period=1,  # s between sampling instants
    lock_margin=1,  # squared sine or cosine of the middle Euler angle at which gimbal lock is near
    slow=1,  # speed up to which dry friction is a straight line
    skin=1,  # m: how far above the surface a contact point is seen to have left it
    calm=1,  # m/s: what a contact point has to rise or sink at to be seen rising or sinking
    **dict.fromkeys((*TABLES, *SCRATCH, *SLOPES, *ROWS), int),  # where each part begins
)


@dataclass(eq=False)
class ContextParts:
    """What a simulation consists of besides the state; rows as the layouts of the kernels have them."""

    tree: Tree
    axes: Array
    model: Tree | None = None  # what a model-based law believes
    plane: Array = field(default_factory=lambda: np.zeros((1, PLANE.width)))
    points: Array = field(default_factory=lambda: np.zeros((0, POINT.width)))
    regions: Array = field(default_factory=lambda: np.zeros((0, REGION.width)))
    terrain: Array | None = None  # numbers of uneven ground: see `compiled.terrain`
    loads: Array = field(default_factory=lambda: np.zeros((0, LOAD.width)))
    moving: tuple[Array, Array] | None = None  # of loads that vary: breaks, coefficients (k, order, 6 m)
    locks: Array = field(default_factory=lambda: np.zeros((0, LOCK.width)))
    desired: tuple[Array, Array] | None = None  # breaks (k + 1,), coefficients (k, order, n)
    table: tuple[Array, Array] | None = None
    mode: int = NO_MODEL
    floating: bool = False
    aware: bool = False
    integrating: bool = False
    period: float = 0.0  # s; zero for laws in continuous time
    n_log: int = 0
    slow: float = 1e-3  # rad/s or m/s
    lock_margin: float = 0.04
    skin: float = 0.0
    calm: float = 0.0
    rtol: float = 1e-8
    stiff: bool = False  # whether there is scratch for the Jacobian
    components: tuple[Component, ...] = ()
    lanes: int = 1
    varied: bool = False  # whether the mechanism's numbers differ from lane to lane

    @cached_property
    def at(self) -> StateLayout:
        """Where everything is in a state."""
        known = [part for part in self.components if part.n_state]
        sloped = {part.name: part.n_state for part in known if part.is_sloped}
        others = {part.name: part.n_state for part in known if not part.is_sloped}
        if self.integrating:
            others[INTEGRAL] = self.tree.n
        return StateLayout(self.tree.n_dof, sloped, others, SUMS + len(self.works))

    @property
    def has_forces(self) -> bool:
        """Whether ground or loads may act."""
        return len(self.points) > 0 or len(self.loads) > 0

    @property
    def is_made(self) -> bool:
        """Whether the motion is found by code that was made for the mechanism."""
        return any(part.is_made for part in self.components)

    @property
    def has_law(self) -> bool:
        """Whether there is more to a torque than what is given."""
        return self.desired is not None or self.table is not None or self.mode != NO_MODEL

    @property
    def works(self) -> tuple[str, ...]:
        """Names of the work of components, in the order of their quadratures."""
        return tuple(name for part in self.components for name in part.works)

    @property
    def watched(self) -> tuple[Watched, ...]:
        """The events of components, in the order of their functions."""
        return tuple(event for part in self.components for event in part.watched)

    def works_at(self, component: Component) -> slice:
        """Where the quadratures of a component are in a state."""
        before = self.components[: self.components.index(component)]
        start = self.at.work.start + SUMS + sum(len(part.works) for part in before)
        return slice(start, start + len(component.works))

    @property
    def size(self) -> int:
        """Numbers of one state."""
        return self.at.size


class Context:
    """One array for compiled code, and views of its parts for everyone else."""

    def __init__(self, parts: ContextParts) -> None:
        self.parts, self.lanes = parts, parts.lanes
        sections = _sections(parts)
        for k, part in enumerate(parts.components):
            sections[f"component {k}"] = part.numbers(parts)
        self.start: dict[str, int] = {}
        place = _rounded(HEADER.width)
        for name, content in sections.items():
            self.start[name] = place
            place += _rounded(content if isinstance(content, int) else content.size)
        self.memory = aligned(place)
        self.memory[:] = 0.0
        for name, content in sections.items():
            if not isinstance(content, int):
                self.memory[self.start[name] : self.start[name] + content.size] = content.ravel()
        _write_header(self.memory, parts, self.start)
        self.connect()

    def connect(self) -> None:
        """Write the addresses of the components, which may differ from system to system."""
        parts, integers = self.parts, self.memory.view(np.int64)
        for k, part in enumerate(parts.components):
            addresses = {name: part.address(name, self.lanes) for name in FUNCTIONS}
            own = self.start[f"component {k}"]
            row = layout_rows(COMPONENT, 1, own=own, n_events=len(part.watched), **addresses)
            begin = self.start["components"] + k * COMPONENT.width
            self.memory[begin : begin + COMPONENT.width] = row[0]
            if addresses["motion"]:
                integers[HEADER.places["motion"][0]] = addresses["motion"]
                integers[HEADER.places["motion_own"][0]] = own

    def call(self, name: str, address: int) -> None:
        """Let right-hand sides call "forces" or "law" at an address."""
        self.memory.view(np.int64)[HEADER.places[name][0]] = address

    def rows(self, name: str, width: int | None = None) -> Array:
        """A view (lanes, width) of a part; its width is the number of axes unless given."""
        start, width = self.start[name], self.parts.tree.n if width is None else width
        view: Array = self.memory[start : start + self.lanes * width].reshape(self.lanes, width)
        return view

    def set_models(self, tables: Array) -> None:
        """Write model tables (lanes, n + 1, width), one for each lane."""
        start = self.start["tree"]
        self.memory[start : start + tables.size] = np.moveaxis(tables, 0, -1).ravel()
        for k, part in enumerate(self.parts.components):
            part.set_models(tables, self.memory[self.start[f"component {k}"] :])

    @property
    def given(self) -> Array:
        """Constant torques, (lanes, n)."""
        return self.rows("given")

    @property
    def contact(self) -> Array:
        """Output of the contact points, (lanes, points, 7): see `kernels.ground`."""
        count = len(self.parts.points)
        return self.rows("contact", CONTACT * count).reshape(self.lanes, count, CONTACT)

    @property
    def log(self) -> Array:
        """Torques since each sampling instant, (instants, lanes, n)."""
        shape = (self.parts.n_log, self.lanes, self.parts.tree.n)
        start = self.start["log"]
        view: Array = self.memory[start : start + int(np.prod(shape))].reshape(shape)
        return view


def _write_header(memory: Array, parts: ContextParts, start: dict[str, int]) -> None:
    whole_numbers: dict[str, int] = {
        "n": parts.tree.n,
        "n_dof": parts.tree.n_dof,
        "size": parts.size,
        "more": parts.at.n_more,
        "integral": parts.at.places[INTEGRAL].start if parts.integrating else 0,
        "energy": parts.at.work.start,
        "n_components": len(parts.components),
        "placed": int(parts.has_forces or any(part.pushes for part in parts.components)),
        "n_points": len(parts.points),
        "n_regions": len(parts.regions),
        "uneven": int(parts.terrain is not None),
        "n_loads": len(parts.loads),
        "n_locks": len(parts.locks),
        "n_log": parts.n_log,
        "mode": parts.mode,
        "floating": int(parts.floating),
        "sampled": int(parts.period > 0.0),
        "aware": int(parts.aware),
        "integrating": int(parts.integrating),
        "desired_count": len(parts.desired[1]) if parts.desired else 0,
        "desired_order": parts.desired[1].shape[1] if parts.desired else 0,
        "table_count": len(parts.table[1]) if parts.table else 0,
        "table_order": parts.table[1].shape[1] if parts.table else 0,
        "moving_count": len(parts.moving[1]) if parts.moving else 0,
        "moving_order": parts.moving[1].shape[1] if parts.moving else 0,
        **{name: place for name, place in start.items() if name in HEADER.places},
    }
    integers = memory.view(np.int64)
    for name, value in whole_numbers.items():
        integers[HEADER.places[name][0]] = value
    for name in ("period", "lock_margin", "slow", "skin", "calm"):
        memory[HEADER.places[name][0]] = getattr(parts, name)


def _rounded(size: int, unit: int = 8) -> int:
    return (size + unit - 1) // unit * unit


def _sections(parts: ContextParts) -> dict[str, Any]:
    """Contents of the tables, sizes of scratch, in the order they have in memory."""
    n, lanes = parts.tree.n, parts.lanes
    model = parts.model if parts.model is not None else parts.tree
    return {
        "tree": _spread(_without_passive(tree_table(parts.tree)), lanes if parts.varied else 1),
        "model": tree_table(model),
        **{name: getattr(parts, name) for name in ("axes", "points", "regions", "loads", "locks")},
        "plane": _spread(_planes(parts), lanes),
        "terrain": np.zeros(1) if parts.terrain is None else parts.terrain,
        "desired": _polynomials(parts.desired),
        "table": _polynomials(parts.table),
        "moving": _polynomials(parts.moving),
        "load_now": 3 * FORCE_AND_MOMENT * len(parts.loads) if parts.moving else 0,
        "components": COMPONENT.width * len(parts.components),
        "work": (n + 1) * aba.SLOTS.width * lanes,
        "law_work": (n + 1) * rnea.SLOTS.width * lanes,
        "base_work": (n + 1) * floating.SLOTS.width * lanes,
        **dict.fromkeys(ROWS, lanes * n),
        "wrench": lanes * 6 * n,
        "contact": lanes * CONTACT * len(parts.points),
        "sought": lanes * SOUGHT.width * len(parts.points) if parts.terrain is not None else 0,
        "flags": FLAGS * len(parts.points),
        "stops": 2 * n,
        "base": lanes * 6,
        "check": lanes * 3,
        "log": lanes * n * parts.n_log,
        "powers": 2 * lanes,
        "applied": 2 * lanes,
        "reduced": lanes * (parts.tree.n_dof * (parts.tree.n_dof + 1) + 2 * n) if parts.tree.n_dof < n else 0,
        **_slope_sections(parts),
    }


def _planes(parts: ContextParts) -> Array:
    """The plane of the ground, or one for each point on uneven ground."""
    return parts.plane if parts.terrain is None else np.repeat(parts.plane, max(1, len(parts.points)), axis=0)


def _slope_sections(parts: ContextParts) -> dict[str, int]:
    """Scratch of the Jacobian of one simulation, if wanted."""
    n, more = parts.tree.n if parts.stiff else 0, parts.at.n_more
    return {
        "slope_work": (n + 1) * rnea_gradient.SLOTS.width,
        "slope_pairs": rnea_gradient.ENTRIES.width * (n_pairs(parts.tree) if parts.stiff else 0),
        "slope_chain": n * CHAIN.width,
        "slope_law": 2 * n * n if parts.mode != NO_MODEL else 0,
        "slope_free": 2 * n * n if more else 0,
        "slope_rates": parts.size if parts.components else 0,
    }


def _without_passive(table: Array) -> Array:
    """The model without joint springs and friction, which are added with the torque law."""
    copy = np.array(table)
    copy.view(np.int64)[:, TREE.places["passive"][0]] = 0
    return copy


def _spread(table: Array, lanes: int) -> Array:
    """The table with each number once for every lane."""
    return np.repeat(table[..., None], lanes, axis=-1)


def _polynomials(table: tuple[Array, Array] | None) -> Array:
    return np.zeros(1) if table is None else np.concatenate([table[0].ravel(), table[1].ravel()])
