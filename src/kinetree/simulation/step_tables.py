"""A mechanism over ground as the tables that steps at the level of velocities read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kinetree.algebra.arrays import Array
from kinetree.algebra.memory import aligned
from kinetree.algebra.rotation import rotation_to_axis
from kinetree.kernels.ground import PLANE, POINT, SOUGHT
from kinetree.kernels.layout import Layout, layout_rows
from kinetree.kernels.model_table import n_pairs, tree_table
from kinetree.kernels.number import LANES
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree
from kinetree.simulation.compiled.step_gradient import SLOPES
from kinetree.simulation.compiled.step_memory import (
    AUDIT,
    BOUND_ROW,
    CANDIDATE,
    CONTACT_ROW,
    FILL,
    JOINT_ROW,
    KEPT,
    LINK,
    OF_SLOPES,
    REACH,
    RUB,
    SETTINGS,
    STEP,
    STOP,
    TIE,
    TRIPLE,
)
from kinetree.simulation.compiled.stepping import ALONE, BALL, CARRIER, INNER, JOINT, MOVING
from kinetree.simulation.compiled.terrain import terrain_numbers
from kinetree.simulation.ground import Ground
from kinetree.simulation.masses import MOMENTS
from kinetree.simulation.setup import point_rows
from kinetree.simulation.step_pairs import BodyPair, PairTable, read_pairs

LINE = 8  # numbers of a cache line, on which every part begins


@dataclass(frozen=True)
class BallJoint:
    """Three axes that turn about one point, whose coordinates are a quaternion inside."""

    axis: int  # the first of them
    at: int  # where the quaternion (w, x, y, z) begins in the coordinates
    axes: Array  # (3, 3), one unit vector in a row, in the joint's frame
    name: str


@dataclass(frozen=True)
class JointRow:
    """A row of joints: its kind, its chain of axes with shares, its bounds."""

    kind: int
    axis: int
    shares: dict[int, float]
    low: float
    high: float
    offset: float = 0.0


@dataclass(eq=False)
class StepTables:
    """Everything about the steps of a mechanism but its states: what `STEP` has."""

    mechanism: Mechanism
    ground: Ground | None
    settings: dict[str, float]
    counts: dict[str, int]
    stops: bool = True
    pairs: tuple[BodyPair | tuple[str, str], ...] = ()
    varied: bool = False  # whether masses differ from state to state
    tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        self.tree = self.mechanism.tree

    # ---- coordinates --------------------------------------------------------------------------------------
    @cached_property
    def balls(self) -> tuple[BallJoint, ...]:
        """Free and ball joints whose single angles have no limits, springs, friction or followers."""
        tree, found, axis, shift = self.tree, [], 0, 0
        for link in self.mechanism.links:
            joint, n = link.joint, link.joint.n_dof
            if joint.has_three_turns and joint.turns[-3:] == (True,) * 3 and self._is_plain(axis + n - 3):
                found.append(
                    BallJoint(axis + n - 3, axis + n - 3 + shift, np.array(joint.axes[-3:]), joint.name)
                )
                shift += 1
            axis += n
        assert axis == tree.n
        return tuple(found)

    def _is_plain(self, first: int) -> bool:
        tree, part = self.tree, slice(first, first + 3)
        passive = (tree.stiffness[part] != 0) | (tree.viscous[part] != 0) | (tree.coulomb[part] != 0)
        limited = np.isfinite(tree.lower[part]) | np.isfinite(tree.upper[part])
        tied = tree.coupling is not None and self._tied[part].any()
        return not (passive.any() or limited.any() or (tree.armature[part] != 0).any() or tied)

    @cached_property
    def _tied(self) -> Array:
        """Which axes follow others, or are followed."""
        linear = self.tree.coupling.linear  # type: ignore[union-attr]
        shared = (linear != 0.0).sum(axis=0) > 1
        tied: Array = ((linear != 0.0) & shared).any(axis=1) | ((linear != 0.0).sum(axis=1) != 1)
        return tied

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where the coordinate of each axis is; of the second and third of a ball that of its quaternion."""
        at = np.arange(self.tree.n, dtype=np.int64)
        for ball in self.balls:
            at[ball.axis : ball.axis + 3] = ball.at
            at[ball.axis + 3 :] += 1
        return at

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.tree.n + len(self.balls)

    # ---- chains -------------------------------------------------------------------------------------------
    def chain(self, *axes: int) -> list[int]:
        """The axes between some axes and the world, tips first."""
        found: set[int] = set()
        for axis in axes:
            i = axis
            while i != WORLD_AXIS:
                found.add(i)
                i = int(self.tree.parent[i])
        return sorted(found, reverse=True)

    @cached_property
    def point_table(self) -> Array:
        """The contact points over the ground."""
        return np.zeros((0, 1)) if self.ground is None else point_rows(self.mechanism, self.ground)

    @cached_property
    def contact_names(self) -> tuple[str, ...]:
        """Names of all contacts: points over the ground, then pairs of bodies."""
        points = () if self.ground is None else self.ground.contact_names(self.mechanism)
        return (*points, *self.pair_table.names)

    @cached_property
    def pair_table(self) -> PairTable:
        """Contacts between bodies."""
        return read_pairs(self.mechanism, self.pairs, len(self.point_table))

    @cached_property
    def rows(self) -> tuple[JointRow, ...]:
        """Limits, dry friction and mimic equations of the joints."""
        tree, found = self.tree, []
        for i in range(tree.n):
            if tree.coulomb[i] != 0.0:
                ahead, back = tree.coulomb[i] + tree.coulomb_bias[i], tree.coulomb[i] - tree.coulomb_bias[i]
                found.append(JointRow(RUB, i, {i: 1.0}, ahead, back))
        for i in range(tree.n) if self.stops else ():
            if np.isfinite(tree.lower[i]) or np.isfinite(tree.upper[i]):
                low, high = np.clip([tree.lower[i], tree.upper[i]], -1e9, 1e9).tolist()
                found.append(JointRow(STOP, i, {i: 1.0}, low, high))
        if tree.coupling is not None:
            own = tree.coupling.own_axes
            for i, line in enumerate(tree.coupling.matrix):
                if i not in own:
                    shares = {i: 1.0} | {int(own[k]): -float(line[k]) for k in np.flatnonzero(line)}
                    found.append(JointRow(TIE, i, shares, 0.0, 0.0, float(tree.coupling.offset[i])))
        return tuple(found)

    # ---- the state ----------------------------------------------------------------------------------------
    @property
    def n_contacts(self) -> int:
        """Number of contacts."""
        return len(self.contact_names)

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where everything is in the numbers of a state."""
        sizes = {
            "state_q": self.nq,
            "state_v": self.tree.n,
            "state_l": 3 * self.n_contacts,
            "state_row": len(self.rows),
            "state_audit": len(AUDIT),
            "state_force": 3 * self.n_contacts,
            "state_gap": self.n_contacts,
        }
        ends = np.cumsum([0, *sizes.values()]).tolist()
        return {name: slice(*ends[k : k + 2]) for k, name in enumerate(sizes)}

    @property
    def width(self) -> int:
        """Numbers of a state."""
        return int(self.parts["state_gap"].stop)

    # ---- memory -------------------------------------------------------------------------------------------
    def memory(self, slopes: bool = False) -> Array:
        """The memory of one thread, with room for derivatives or without."""
        sections = self._sections() | self._slope_sections(slopes)
        start, place = {}, _rounded(STEP.width)
        for name, content in sections.items():
            start[name] = place
            place += _rounded(content if isinstance(content, int) else content.size)
        memory = aligned(1, place).ravel()
        memory[:] = 0.0
        for name, content in sections.items():
            if not isinstance(content, int):
                memory[start[name] : start[name] + content.size] = content.ravel()
        self._write_header(memory, start)
        return memory

    def _write_header(self, memory: Array, start: dict[str, int]) -> None:
        integers = memory.view(np.int64)
        whole = {
            "n": self.tree.n,
            "nq": self.nq,
            "n_points": len(self.point_table),
            "n_pairs": len(self.pair_table.capsules),
            "n_boxes": len(self.pair_table.boxes),
            "n_contacts": self.n_contacts,
            "n_rows": len(self.rows),
            "n_triples": self._n_triples,
            "n_regions": 1 if self.ground is None else 1 + len(self.ground.regions),
            "varied": int(self.varied),
            "uneven": int(self.ground is not None and self.ground.terrain is not None),
            **self.counts,
            **start,
            **{name: part.start for name, part in self.parts.items()},
        }
        for name, value in whole.items():
            integers[STEP.places[name][0]] = value
        for name in SETTINGS:
            memory[STEP.places[name][0]] = self.settings[name]

    def _sections(self) -> dict[str, Array | int]:
        """Contents of the tables, sizes of scratch."""
        n, lanes, links, rows = self.tree.n, LANES, self._links(), len(self.rows)
        fill, reach = self._fill()
        per_axis = ("v", "v_old", "bias", "bias_mid", "mid", "x", "tau", "aim", "kp", "kd", "root",
                    "inverse_root", "z", "z_free", "z_old", "b")  # fmt: skip
        contacts = max(self.n_contacts, 1)
        return {
            "tree": tree_table(self.tree),
            "joints": self._joint_table(),
            **self._ground_sections(),
            "bodies": self.pair_table.capsules if len(self.pair_table.capsules) else 1,
            "boxes": self.pair_table.boxes if len(self.pair_table.boxes) else 1,
            **links,
            "fill": fill,
            "reach": reach,
            "work": (n + 1) * MOVING.width * lanes,
            "own": np.repeat(self.inertia[..., None], lanes, axis=-1),
            "q": self.nq * lanes,
            "q_old": self.nq * lanes,
            **dict.fromkeys(per_axis, n * lanes),
            "pairs": n_pairs(self.tree) * lanes,
            "y": max(self._n_triples, 1) * TRIPLE.width * lanes,
            "column": n * TRIPLE.width * lanes,
            "row_y": max(self._n_singles, 1) * lanes,
            "contacts": contacts * CONTACT_ROW.width * lanes,
            "rows": max(rows, 1) * BOUND_ROW.width * lanes,
            "H": n * n * lanes,
            "active": contacts,
            "pushed": contacts,
            "near": max(rows, 1),
            "touched": n,
            "marks": n,
        }

    @cached_property
    def inertia(self) -> Array:
        """Masses and moments of the bodies on all axes (n, 10)."""
        tree = self.tree
        moments = tree.second_moment.reshape(tree.n, 9)[:, MOMENTS]
        return np.concatenate([tree.mass[:, None], tree.first_moment, moments], axis=1)

    def _slope_sections(self, slopes: bool) -> dict[str, Array | int]:
        """Scratch of derivatives; without them next to nothing."""
        if not slopes:
            return dict.fromkeys((*OF_SLOPES, "kin", "near_kin"), 1)
        n, lanes = self.tree.n, LANES
        rows = 3 * self.n_contacts + len(self.rows) + 3
        squares = ("first_q", "first_v", "second_q", "second_v", "middle")
        kin, near = self._kin()
        return {
            "kin": kin,
            "near_kin": near,
            "slopes": (n + 1) * SLOPES.width * lanes,
            **dict.fromkeys(squares, n * n * lanes),
            "answer": 3 * n * n * lanes,
            "kept": rows * KEPT.width,
            "test": (3 * self._n_triples + self._n_singles + 1) * lanes,
            **dict.fromkeys(("force", "goal_q", "goal_v"), rows * n * lanes),
            **dict.fromkeys(("inverse", "firm"), rows * lanes),
            "counts": 1,
        }

    def _kin(self) -> tuple[Array, Array]:
        """The axes that carry each axis or are carried by it, itself included."""
        n = self.tree.n
        chains = [set(self.chain(i)) for i in range(n)]
        lists = [[a for a in range(n) if a in chains[i] or i in chains[a]] for i in range(n)]
        ends = np.cumsum([0, *map(len, lists)])
        kin = layout_rows(FILL, int(ends[-1]), axis=[a for x in lists for a in x])
        return kin, layout_rows(REACH, n, start=ends[:-1], length=np.diff(ends))

    def _ground_sections(self) -> dict[str, Array | int]:
        if self.ground is None:
            return dict.fromkeys(("points", "regions", "plane", "terrain", "sought"), 1)
        plane, regions = self.ground.rows(self.mechanism)
        terrain: Array | int = 1
        if self.ground.terrain is not None:
            frame = self.ground.frame(self.mechanism)
            terrain = terrain_numbers(self.ground.terrain, self.ground.origin, frame)
            plane = np.repeat(plane, max(1, len(self.point_table)), axis=0)
        return {
            "points": self.point_table,
            "regions": regions,
            "plane": np.repeat(plane.reshape(-1, PLANE.width)[..., None], LANES, axis=-1),
            "terrain": terrain,
            "sought": LANES * SOUGHT.width * max(1, len(self.point_table)),
        }

    def _joint_table(self) -> Array:
        n = self.tree.n
        role, at = np.full(n, ALONE), self.places
        B, C = np.tile(np.eye(3), (n, 1, 1)), np.tile(np.eye(3), (n, 1, 1))
        for ball in self.balls:
            i = ball.axis
            role[i : i + 3] = BALL, INNER, CARRIER
            B[i] = self.tree.rotation[i] @ rotation_to_axis(ball.axes[0]).T
            C[i] = rotation_to_axis(ball.axes[2])
        return layout_rows(JOINT, n, role=role, at=at, B=B.reshape(n, 9), C=C.reshape(n, 9))

    def _chains(self) -> list[tuple[list[int], dict[int, float]]]:
        """Axes and shares of all contacts; what two bodies have in common moves both alike."""
        found = []
        for axis in _integers(self.point_table, POINT, "axis"):
            chain = self.chain(axis)
            found.append((chain, dict.fromkeys(chain, 1.0)))
        for a, b in self.pair_table.axes:
            first, second = set(self.chain(a)), set(self.chain(b))
            share = dict.fromkeys(first - second, 1.0) | dict.fromkeys(second - first, -1.0)
            found.append((self.chain(a, b), share))
        return found

    def _links(self) -> dict[str, Array]:
        """Chains of contacts and rows, one after the other, and the tables that point to them."""
        axes: list[int] = []
        shares: list[float] = []
        starts, counts, firsts = [], [], []
        self._n_triples = self._n_singles = 0
        for chain, share in self._chains():
            starts.append(len(axes))
            counts.append(len(chain))
            firsts.append(self._n_triples)
            axes += chain
            shares += [share.get(i, 0.0) for i in chain]
            self._n_triples += len(chain)
        candidates = layout_rows(CANDIDATE, len(starts), start=starts, length=counts, first=firsts)
        table = []
        for row in self.rows:
            chain = self.chain(*row.shares)
            table.append(
                layout_rows(
                    JOINT_ROW, 1, kind=row.kind, axis=row.axis, start=len(axes), length=len(chain),
                    first=self._n_singles, low=row.low, high=row.high, offset=row.offset,
                )
            )  # fmt: skip
            axes += chain
            shares += [row.shares.get(i, 0.0) for i in chain]
            self._n_singles += len(chain)
        links = layout_rows(LINK, len(axes), axis=axes, share=shares)
        return {
            "links": links if len(links) else np.zeros(1),
            "candidates": candidates if len(candidates) else np.zeros(1),
            "joint_rows": np.concatenate(table) if table else np.zeros(1),
        }

    def _fill(self) -> tuple[Array, Array]:
        """Which axes the elimination of each axis changes: its ancestors, and what rows across trees add."""
        above = [set(self.chain(i)) - {i} for i in range(self.tree.n)]
        for chain in self._couplings():
            for k, i in enumerate(chain):
                above[i] |= set(chain[k + 1 :])
        for i in range(self.tree.n - 1, -1, -1):
            for a in above[i]:
                above[a] |= {b for b in above[i] if b < a}
        lists = [sorted(x, reverse=True) for x in above]
        flat = [a for x in lists for a in x]
        ends = np.cumsum([0, *map(len, lists)])
        fill = layout_rows(FILL, len(flat), axis=flat) if flat else np.zeros((1, 1))
        return fill, layout_rows(REACH, self.tree.n, start=ends[:-1], length=np.diff(ends))

    def _couplings(self) -> Sequence[list[int]]:
        """Chains that join axes of which none carries the other."""
        rows = [self.chain(*row.shares) for row in self.rows if len(row.shares) > 1]
        return rows + [chain for chain, _ in self._chains()[len(self.point_table) :]]


def _integers(table: Array, layout: Layout, name: str) -> list[int]:
    """A column of integers of a table."""
    found: list[int] = table.view(np.int64)[:, layout.places[name][0]].tolist() if len(table) else []
    return found


def _rounded(size: int) -> int:
    return (size + LINE - 1) // LINE * LINE
