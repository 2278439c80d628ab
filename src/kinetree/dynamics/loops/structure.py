"""What the loops leave of a mechanism's freedom: mobility, independent joints, subsystems.

Ranks are counted at assembled poses: at poses with open loops the constraints say more, or less, than they
do.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.sparse import csgraph

from kinetree.algebra.arrays import Array
from kinetree.dynamics.loops.assembly import closest, is_closed, nearer
from kinetree.dynamics.loops.system import RANK, constraints, loop_rows, rank_of, spaces
from kinetree.errors import AssemblyError, InputError, counted, listed
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Flags, Integers, Tree
from kinetree.state import random_state

POSES, TRIES = 3, 200  # assembled poses at which ranks are counted, and starts to find them from
ALONE = 8  # of the starts, that are followed to their ends one by one
NEARLY = 1e-3  # gap (m, sine) of those that are followed on
PATTERN_POSES = 4
ROUNDING, CLEAR = 1e-11, 1e-5  # singular values relative to the largest: zero below, certainly not zero above
WALK, WALK_STEP = 24, 0.5  # poses of a walk, and the distance between them
SMALLEST = 1e-6  # size of a constraint's slope (m or 1) below which slopes are rounding
AWAY, AWAY_STEP = 8, 0.4  # attempts to leave a singular pose, and how far a joint is moved (rad, m)
WIDE, INSIDE = 1.0, 0.1  # rad, m: range of joints without limits, and the way from a limit to a pose inside
PRESENT = 1e-9  # entries of a pattern below this are zero by structure


@dataclass(frozen=True)
class LoopStructure:
    """How the loops of a mechanism constrain it, counted at assembled poses.

    ``rows`` scalar constraints, of which ``rank`` are independent; ``mobility`` = degrees of freedom of the
    tree less the rank; ``redundant`` = rows - rank. ``independent`` names joints that determine all others.
    """

    rows: int
    rank: int
    mobility: int
    independent: tuple[str, ...]

    @property
    def redundant(self) -> int:
        """Constraints that others imply."""
        return self.rows - self.rank


_known: WeakKeyDictionary[Tree, LoopStructure] = WeakKeyDictionary()


def structure(mechanism: Mechanism) -> LoopStructure:
    """Rank, mobility and a choice of independent joints, driven ones first.

    >>> import kinetree as kt
    >>> found = structure(kt.zoo.four_bar())
    >>> found.rows, found.rank, found.mobility
    (5, 2, 1)
    """
    expect_mechanism(mechanism)
    found = _known.get(mechanism.tree)
    if found is None:
        found = _known[mechanism.tree] = _counted(mechanism)
    return found


def mobility(mechanism: Mechanism) -> int:
    """In how many independent ways a mechanism can move, its loops closed.

    The degrees of freedom of the tree less the rank of the loops' constraints at assembled poses, so that
    loops which move thanks to special lengths count as they move (Bricard's).

    >>> import kinetree as kt
    >>> mobility(kt.zoo.four_bar()), mobility(kt.zoo.gripper())
    (1, 4)
    """
    expect_mechanism(mechanism)
    return structure(mechanism).mobility


_unclosed: WeakKeyDictionary[Tree, str] = WeakKeyDictionary()  # why no pose was found


def assembled_poses(mechanism: Mechanism, count: int = POSES, seed: int = 0) -> Array:
    """Some poses with closed loops, found from random starts, (count, n_dof).

    The first starts go one by one, the others together as far as they come.
    """
    if mechanism.tree in _unclosed:
        raise AssemblyError(_unclosed[mechanism.tree])
    rng, free = np.random.default_rng(seed), np.ones(mechanism.n_dof, dtype=bool)
    # nearer to zero first: large mechanisms close from there
    starts = [min(1.0, 0.1 * (k + 1)) * random_state(mechanism, rng).q for k in range(TRIES)]
    poses, nearest, gaps = [], np.inf, np.zeros(TRIES)
    for k in range(TRIES):
        if k == ALONE:
            starts[k:], gaps[k:] = nearer(mechanism, np.array(starts[k:]))
        q, gap = starts[k], float(gaps[k])
        if gap < NEARLY:
            q, gap = closest(mechanism, q, free)
        nearest = min(nearest, gap)
        if is_closed(mechanism, gap):
            poses.append(q)
        if len(poses) == count:
            break
    if not poses:
        names = ", ".join(f"'{loop.name}'" for loop in mechanism.loops[:6])
        _unclosed[mechanism.tree] = message = (
            f"mechanism '{mechanism.name}': its loops ({names}) could not be closed from {TRIES} random "
            f"starts; the smallest gap was {nearest:.3g} m or rad. Check lengths and frames of the cut joints"
        )
        raise AssemblyError(message)
    return np.array(poses)


def allowed_pose(mechanism: Mechanism, tries: int = 20, seed: int = 0) -> Array | None:
    """A pose (n_dof,) with closed loops in which no joint is beyond its limits; None if none is found.

    Joints that end beyond their limits are put inside them, the worst of them is held there, and the others
    close the loops again. Starts: zero, the middle of the limits, then random poses between them.
    """
    n, rng = mechanism.n_dof, np.random.default_rng(seed)
    lower, upper = np.maximum(mechanism.lower, -WIDE), np.minimum(mechanism.upper, WIDE)
    room = np.minimum(INSIDE * (upper - lower), INSIDE)
    for k in range(tries):
        start = np.zeros(n) if k == 0 else 0.5 * (lower + upper) if k == 1 else rng.uniform(lower, upper)
        q, free = np.clip(start, lower + room, upper - room), np.ones(n, dtype=bool)
        while free.any():
            q, gap = closest(mechanism, q, free)
            if not is_closed(mechanism, gap):
                break
            beyond = np.maximum(mechanism.lower - q, q - mechanism.upper)
            if beyond.max() <= 0.0:
                return q
            free[int(np.argmax(np.where(free, beyond, -np.inf)))] = False
            q = np.where(beyond > 0.0, np.clip(q, lower + room, upper - room), q)
    return None


@dataclass(frozen=True, eq=False)
class RegularPose:
    """A pose with closed loops at which they have their usual rank, and their Jacobian there."""

    q: Array
    J: Array
    rank: int


_regular: WeakKeyDictionary[Tree, RegularPose] = WeakKeyDictionary()


def regular_pose(mechanism: Mechanism) -> RegularPose:
    """A pose with closed loops away from singular ones, found once.

    Newton's iteration reaches singular poses, too, but only nearly: singular values that vanish there are
    small, like those of redundant constraints. So ranks count only at poses with a gap between singular
    values that vanish and the others, if there are any, after singular ones are left. Where loops are closed
    at q = 0 and move from there, poses of that motion count, because others may be assembled in another way
    that does not move; else the rank that most poses have is the usual one.
    """
    found = _regular.get(mechanism.tree)
    if found is None:
        found = _regular[mechanism.tree] = _regular_pose(mechanism)
    return found


def _regular_pose(mechanism: Mechanism) -> RegularPose:
    near = _away(mechanism, np.zeros(mechanism.n_dof))
    if near:
        J = constraints(mechanism, np.array(near)).J
        shares = np.array([_clarity(x) for x in J])
        ranks = np.where(shares > 0.0, [_rank(x) for x in J], -1)
        if ranks.max() >= 0:
            best = int(np.argmax(np.where(ranks == ranks.max(), shares, -1.0)))
            return RegularPose(near[best], J[best], int(ranks[best]))
    poses, clear = [], []
    for q in assembled_poses(mechanism):
        tried = [q] if _clarity(constraints(mechanism, q).J) else [q, *_away(mechanism, q)]
        found = [_clarity(constraints(mechanism, pose).J) for pose in tried]
        best = int(np.argmax(found))
        poses.append(tried[best])
        clear.append(found[best] > 0.0)
    J = constraints(mechanism, np.array(poses)).J
    ranks = np.array([_rank(x) for x in J])
    if any(clear):
        counts = np.bincount(ranks[clear])
        rank = int(len(counts) - 1 - np.argmax(counts[::-1]))
        best = next(k for k in range(len(poses)) if clear[k] and ranks[k] == rank)
    else:
        best = int(np.argmax(ranks))
        rank = int(ranks[best])
    return RegularPose(poses[best], J[best], rank)


def _rank(J: Array) -> int:
    size = np.linalg.svd(J, compute_uv=False)
    return int((size > RANK * max(float(size[0]), SMALLEST)).sum())


def _clarity(J: Array) -> float:
    """The smallest singular value that is not zero, relative to the largest; 0 if that is not clear."""
    size = np.linalg.svd(J, compute_uv=False)
    share = size / max(float(size[0]), np.finfo(float).tiny)
    if ((share > ROUNDING) & (share < CLEAR)).any():
        return 0.0
    return float(share[share >= CLEAR].min(initial=1.0))


def _away(mechanism: Mechanism, q: Array) -> list[Array]:
    """Closed poses some way from a closed one: a joint is moved and held there, the others follow.

    At a singular pose more directions are free at first than there are motions, so without a joint that is
    held the way back would be the shortest one.
    """
    found = constraints(mechanism, q)
    if not is_closed(mechanism, float(np.abs(found.gap).max())) or (found.rows.facing(found.cut) < 0.0).any():
        return []
    _, size, Vt = np.linalg.svd(found.J)
    free, rng, poses = Vt[int((size > CLEAR * size[0]).sum()) :], np.random.default_rng(0), list[Array]()
    for _ in range(AWAY if len(free) else 0):
        ahead = rng.normal(size=len(free)) @ free
        most = int(np.abs(ahead).argmax())
        others = np.arange(mechanism.n_dof) != most
        pose, gap = closest(mechanism, q + AWAY_STEP * ahead / abs(ahead[most]), others)
        if is_closed(mechanism, gap):
            poses.append(pose)
    return poses


def walk(mechanism: Mechanism, q: Array, steps: int = WALK) -> list[Array]:
    """Closed poses on a random walk."""
    rng, poses, every = np.random.default_rng(0), list[Array](), np.ones(mechanism.n_dof, dtype=bool)
    before = rng.normal(size=mechanism.n_dof)
    for _ in range(steps):
        free = spaces(constraints(mechanism, q).J).free
        ahead = free @ (free.T @ (before + 0.5 * rng.normal(size=mechanism.n_dof)))
        if not ahead.any():
            break
        ahead = WALK_STEP * ahead / np.linalg.norm(ahead)
        pose, gap = closest(mechanism, q + ahead, every)
        if not is_closed(mechanism, gap):
            before = -before
            continue
        q, before = pose, ahead / WALK_STEP
        poses.append(pose)
    return poses


def freedom_in_words(mechanism: Mechanism) -> str:
    """The degrees of freedom, with closed loops as many as the mobility.

    >>> import kinetree as kt
    >>> freedom_in_words(kt.zoo.four_bar()), freedom_in_words(kt.zoo.two_link())
    ('1 degree of freedom (3 coordinates)', '2 degrees of freedom')
    """
    n = mechanism.n_dof
    if not mechanism.loops:
        return counted(n, "degree of freedom", "degrees of freedom")
    try:
        free = structure(mechanism).mobility
    except AssemblyError:
        return f"{n} coordinates in loops that cannot be closed"
    return f"{counted(free, 'degree of freedom', 'degrees of freedom')} ({n} coordinates)"


def _counted(mechanism: Mechanism) -> LoopStructure:
    n = mechanism.n_dof
    if not mechanism.loops:
        return LoopStructure(0, 0, n, mechanism.joint_names)
    at = regular_pose(mechanism)
    chosen = independent_coordinates(at.J, n - at.rank, mechanism.driven)
    return LoopStructure(len(at.J), at.rank, n - at.rank, tuple(mechanism.joint_names[k] for k in chosen))


def independent_coordinates(J: Array, count: int, preferred: Flags) -> list[int]:
    """Coordinates whose values determine all others near a pose, preferred ones as far as they can.

    The dependent ones are the pivots of a QR factorization of J; preferred columns are made small first, so
    that they become pivots last.
    """
    scale = np.where(preferred, 1e-3, 1.0)
    _, _, order = scipy.linalg.qr(J * scale, mode="economic", pivoting=True)
    dependent = order[: J.shape[1] - count]
    return [k for k in range(J.shape[1]) if k not in set(dependent.tolist())]


def independent_rows(J: Array, rank: int) -> list[int]:
    """Rows that imply all others at a pose, by QR with pivoting."""
    _, _, order = scipy.linalg.qr(J.T, mode="economic", pivoting=True)
    return sorted(int(k) for k in order[:rank])


@dataclass(frozen=True)
class Subsystem:
    """Equations of motion that are solved together for drive torques and forces of cut joints.

    [Shah2013], 8.1. ``joints`` whose equations they are; ``drives`` and ``loops`` whose torques and forces
    they give; ``unknowns`` how many; ``after`` the numbers of the subsystems that must be solved before. It
    is determinate if nothing comes before it, in the book's words, else it becomes determinate when they are
    solved.
    """

    joints: tuple[str, ...]
    drives: tuple[str, ...]
    loops: tuple[str, ...]
    unknowns: int
    after: tuple[int, ...]

    @property
    def is_determinate(self) -> bool:
        """Whether it can be solved by itself."""
        return not self.after


@dataclass(frozen=True, eq=False)
class EquationBlock:
    """Equations of motion, by coordinate, and the unknowns that they give; ``after`` are earlier blocks.

    Unknowns are numbered: torques of the drives first, then multipliers of the kept rows.
    """

    equations: Integers
    unknowns: Integers
    after: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Blocks:
    """E x + J^T lambda = tau_tree in block triangular form; ``kept`` rows of J imply all others."""

    drives: Integers
    kept: Integers
    blocks: tuple[EquationBlock, ...]


_block_forms: WeakKeyDictionary[Tree, Blocks] = WeakKeyDictionary()


def block_form(mechanism: Mechanism, J: Array | None = None) -> Blocks:
    """Drives, rows and blocks of a mechanism with as many drives as freedoms; found once.

    ``J`` (rows, n_dof) at a closed pose shows which rows imply all others; without it a pose is looked for.
    The pattern is the union over random poses with open loops, where no entry is zero by accident; blocks
    are the strong components of what a maximum matching of equations and unknowns leaves (Dulmage and
    Mendelsohn 1958).
    """
    found = _block_forms.get(mechanism.tree)
    if found is None:
        if J is None:
            J = regular_pose(mechanism).J
        found = _block_forms[mechanism.tree] = _block_form(mechanism, J)
    return found


def subsystems(mechanism: Mechanism) -> tuple[Subsystem, ...]:
    """The blocks in which inverse dynamics can be solved one after the other, in that order.

    E x + J^T lambda = tau_tree is brought to block triangular form by a maximum matching of equations and
    unknowns and the strong components of what is left (Dulmage and Mendelsohn 1958); its pattern is the
    union over random poses with open loops, where no entry is zero by accident.

    >>> import kinetree as kt
    >>> [part.unknowns for part in kt.loops.subsystems(kt.zoo.robotic_leg())]
    [2, 2, 2, 1]
    """
    expect_mechanism(mechanism)
    form, row_names = block_form(mechanism), loop_rows(mechanism).row_names()
    names, count = mechanism.joint_names, len(form.drives)
    found = []
    for block in form.blocks:
        joints = tuple(names[i] for i in block.equations)
        drives = tuple(names[form.drives[c]] for c in block.unknowns if c < count)
        loops = dict.fromkeys(row_names[form.kept[c - count]] for c in block.unknowns if c >= count)
        found.append(Subsystem(joints, drives, tuple(loops), len(block.unknowns), block.after))
    return tuple(found)


def _block_form(mechanism: Mechanism, J: Array) -> Blocks:
    rank, driven = rank_of(J), np.flatnonzero(mechanism.driven)
    if len(driven) != mechanism.n_dof - rank:
        raise InputError(
            f"mechanism '{mechanism.name}' has {len(driven)} driven joints and mobility "
            f"{mechanism.n_dof - rank}; subsystems need as many drives as degrees of freedom"
        )
    kept = np.array(independent_rows(J, rank), dtype=np.int64)
    rng = np.random.default_rng(1)
    states = np.array([random_state(mechanism, rng).q for _ in range(PATTERN_POSES)])
    pattern = (np.abs(constraints(mechanism, states).J[:, kept]) > PRESENT).any(axis=0)
    n = mechanism.n_dof
    whole = np.zeros((n, n), dtype=bool)
    whole[driven, np.arange(len(driven))] = True
    whole[:, len(driven) :] = pattern.T
    return Blocks(driven, kept, _blocks(mechanism, whole))


def _blocks(mechanism: Mechanism, pattern: Flags) -> tuple[EquationBlock, ...]:
    match = csgraph.maximum_bipartite_matching(scipy.sparse.csr_matrix(pattern), perm_type="row")
    if (match < 0).any():
        names = np.array(mechanism.joint_names)[mechanism.driven]
        raise InputError(
            f"mechanism '{mechanism.name}': its driven joints ({listed(names)}) cannot move it; "
            "declare others as driven"
        )
    # column c is matched with equation match[c]; equation r needs the unknown c if pattern[r, c]
    graph = np.zeros_like(pattern)
    for c, r in enumerate(match):
        graph[:, r] |= pattern[:, c]  # equations that contain unknown c depend on the one that gives it
    count, label = csgraph.connected_components(
        scipy.sparse.csr_matrix(graph), directed=True, connection="strong"
    )
    needs = {
        k: {int(label[j]) for i in np.flatnonzero(label == k) for j in np.flatnonzero(graph[i])} - {k}
        for k in range(count)
    }
    order: list[int] = []
    while len(order) < count:
        order += [k for k in range(count) if k not in order and needs[k] <= set(order)]
    place = {k: i for i, k in enumerate(order)}
    unknown_of = {int(r): c for c, r in enumerate(match)}
    found = []
    for k in order:
        equations = np.flatnonzero(label == k)
        unknowns = np.array(sorted(unknown_of[int(i)] for i in equations), dtype=np.int64)
        after = tuple(sorted(place[x] for x in needs[k]))
        found.append(EquationBlock(equations, unknowns, after))
    return tuple(found)
