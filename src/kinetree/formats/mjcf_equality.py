"""Equality constraints of a compiled MuJoCo model: loops and joints that follow others."""

from __future__ import annotations

from typing import NamedTuple

from numpy.polynomial import Polynomial

from kinetree.algebra.arrays import Array
from kinetree.algebra.placement import Placement
from kinetree.errors import listed
from kinetree.formats.mjcf_actuators import tendon_arms
from kinetree.formats.mjcf_compiled import CompiledModel, is_soft, newer_value, placement_from
from kinetree.model.joint import HIGHER, Joint, Mimic
from kinetree.model.loop import Loop

CUT_JOINTS = {"connect": "spherical", "weld": "fixed"}


class Tie(NamedTuple):
    """A joint follows another, by number: q is a polynomial of q_leader, the constant first.

    One that is held in place follows any other joint with the constant alone. One that follows several adds
    the others, each times its ratio.
    """

    leader: int
    polynomial: Polynomial
    others: tuple[tuple[int, float], ...] = ()


def equalities(compiled: CompiledModel) -> tuple[list[Loop], dict[int, Mimic]]:
    """Loops from connect and weld constraints, and mimics by joint number from joint constraints."""
    loops: list[Loop] = []
    follows: dict[int, Tie] = {}
    soft: list[str] = []
    for e in range(compiled.m.neq if compiled.works("EQUALITY", "CONSTRAINT") else 0):
        kind = compiled.label("mjtEq", compiled.m.eq_type[e])
        reason = ""
        if not compiled.m.eq_active0[e]:
            reason = "not active"
        elif kind in CUT_JOINTS:
            loops.append(_loop(compiled, e, kind))
        elif kind == "joint":
            reason = _tie(compiled, e, follows)
        elif kind == "tendon":
            reason = _tied_tendons(compiled, e, follows)
        else:
            reason = "neither a loop nor a mimic"
        name = compiled.name("EQUALITY", e) or str(e)
        if reason:
            compiled.left_out.append(f"{kind} equality '{name}' ({reason})")
        elif is_soft(compiled.m.eq_solref[e]):
            soft.append(f"{kind} '{name}'")
    if soft:
        compiled.left_out.append(f"softness of equalities by solref ({listed(soft, 4)})")
    return loops, {j: _mimic(compiled, follows, j) for j in follows}


def _loop(compiled: CompiledModel, e: int, kind: str) -> Loop:
    """The cut joint of a connect (three constraints) or weld (six)."""
    m = compiled.m
    ends = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    name = compiled.new_joint(compiled.name("EQUALITY", e) or f"{kind}{e}")
    cut = Joint.of_kind(name, CUT_JOINTS[kind], driven=False, cut=True)
    if compiled.label("mjtObj", newer_value(m, "eq_objtype", e)) == "site":
        places = [placement_from(m.site_pos[s], m.site_quat[s], f"loop '{name}'") for s in ends]
        ends = int(m.site_bodyid[ends[0]]), int(m.site_bodyid[ends[1]])
    else:
        places = _ends(m.eq_data[e], kind, f"loop '{name}'")
    return Loop(cut, compiled.bodies[ends[0]], compiled.bodies[ends[1]], places[0], places[1])


def _ends(numbers: Array, kind: str, what: str) -> list[Placement]:
    """The frames to be held together, in body a and in body b.

    A connect stores the point in a, then in b; a weld the point in b, then in a, then the rotation of b in a.
    """
    no_turn = (1.0, 0.0, 0.0, 0.0)
    if kind == "connect":
        return [placement_from(numbers[k : k + 3], no_turn, what) for k in (0, 3)]
    return [placement_from(numbers[3:6], numbers[6:10], what), placement_from(numbers[0:3], no_turn, what)]


def _tie(compiled: CompiledModel, e: int, follows: dict[int, Tie]) -> str:
    """Note that a joint follows another, q - q0 = c0 + c1 (p - p0) + ... + c4 (p - p0)^4; or say why not."""
    m = compiled.m
    follower, leader = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    coefficients = m.eq_data[e][:5]
    q0 = _reference(compiled, follower)
    if leader < 0:
        return _follow(compiled, follower, None, Polynomial([q0 + float(coefficients[0])]), follows)
    tie = Polynomial(coefficients)
    if coefficients[2:].any() and _has_loops(compiled):
        return "not linear, in a file with loops"
    p0 = _reference(compiled, leader)
    tie = (tie(Polynomial([-p0, 1.0])) if p0 else tie) + q0
    return _follow(compiled, follower, leader, tie, follows)


def _tied_tendons(compiled: CompiledModel, e: int, follows: dict[int, Tie]) -> str:
    """Note that fixed tendons hold each other, l - l0 = c0 + c1 (p - p0), where that ties two joints."""
    m = compiled.m
    first, second = int(m.eq_obj1id[e]), int(m.eq_obj2id[e])
    coefficients = m.eq_data[e][:5]
    if second >= 0 and coefficients[2:].any():
        return "not linear"
    slope = float(coefficients[1]) if second >= 0 else 0.0
    arms = tendon_arms(compiled, first)
    others = tendon_arms(compiled, second) if second >= 0 else {}
    if arms is None or others is None:
        return "of spatial tendons"
    total = dict(arms)
    for j, arm in others.items():
        total[j] = total.get(j, 0.0) - slope * arm
    joints = [j for j, arm in total.items() if arm != 0.0]
    constant = float(coefficients[0]) + sum(total[j] * _reference(compiled, j) for j in joints)
    if len(joints) > 2:
        return _follow_several(compiled, {j: total[j] for j in joints}, constant, follows)
    if not joints:
        return "it couples no joints"
    joints.sort(key=lambda j: j in follows)
    follower, leader = joints[0], joints[1] if len(joints) == 2 else None
    arm = total[follower]
    ratio = 0.0 if leader is None else -total[leader] / arm
    return _follow(compiled, follower, leader, Polynomial([constant / arm, ratio]), follows)


def _has_loops(compiled: CompiledModel) -> bool:
    m = compiled.m
    active = [e for e in range(m.neq) if m.eq_active0[e]]
    return any(compiled.label("mjtEq", m.eq_type[e]) in CUT_JOINTS for e in active)


def _reference(compiled: CompiledModel, j: int) -> float:
    return float(compiled.m.qpos0[compiled.m.jnt_qposadr[j]])


def _follow(
    compiled: CompiledModel,
    follower: int,
    leader: int | None,
    polynomial: Polynomial,
    follows: dict[int, Tie],
) -> str:
    """Note the tie, or say why it cannot be one."""
    if leader is None:
        free = [j for j in range(compiled.m.njnt) if compiled.is_scalar(j) and j != follower]
        free = [j for j in free if j not in follows]
        if not free:
            return "it holds the only joint in place"
        leader = free[0]
    if follower in follows:
        return f"joint '{compiled.joints[follower]}' already follows another"
    if follower in _leaders(follows, leader):
        return "the joints follow each other in a circle"
    follows[follower] = Tie(leader, polynomial)
    if any(_mixes(follows, j) for j in follows):
        del follows[follower]
        return "a joint would follow several others, and one of them not linearly"
    if max(_degree(follows, j) for j in follows) > HIGHER + 1:
        del follows[follower]
        return f"joints would follow others by a polynomial of a degree above {HIGHER + 1}"
    return ""


def _follow_several(
    compiled: CompiledModel, arms: dict[int, float], constant: float, follows: dict[int, Tie]
) -> str:
    """Note that the last of several joints follows the others, sum of arm q = constant; or say why not."""
    if _has_loops(compiled):
        return f"it couples {len(arms)} joints, in a file with loops"
    total: dict[int, float] = {}
    for j, arm in arms.items():
        own = _resolved(follows, j)
        if own.polynomial.trim().degree() > 1:
            return f"joint '{compiled.joints[j]}' follows another by a polynomial"
        shift, ratio = (float(x) for x in [*own.polynomial.coef, 0.0][:2])
        constant -= arm * shift
        for k, x in ((own.leader, ratio), *own.others):
            total[k] = total.get(k, 0.0) + arm * x
    size = max(abs(x) for x in arms.values())
    joints = sorted(j for j, arm in total.items() if abs(arm) > 1e-12 * size)
    if not joints:
        return "the other equalities leave nothing to couple"
    *leaders, follower = joints
    if not leaders:
        return _follow(compiled, follower, None, Polynomial([constant / total[follower]]), follows)
    ratios = [-total[j] / total[follower] for j in leaders]
    tie = Polynomial([constant / total[follower], ratios[0]])
    follows[follower] = Tie(leaders[0], tie, tuple(zip(leaders[1:], ratios[1:], strict=True)))
    if any(_mixes(follows, j) for j in follows):
        del follows[follower]
        return f"joint '{compiled.joints[follower]}' leads another by a polynomial"
    return ""


def _mixes(follows: dict[int, Tie], j: int) -> bool:
    """Whether a joint is tied to several others and, directly or by others, not linearly."""
    ties = [follows[k] for k in _leaders(follows, j) if k in follows]
    return any(x.others for x in ties) and any(x.polynomial.trim().degree() > 1 for x in ties)


def _leaders(follows: dict[int, Tie], j: int) -> set[int]:
    """All joints that a joint is tied to, directly or by others, and itself."""
    found, waiting = set[int](), [j]
    while waiting:
        j = waiting.pop()
        found.add(j)
        if j in follows:
            waiting += [follows[j].leader, *(k for k, _ in follows[j].others)]
    return found


def _degree(follows: dict[int, Tie], j: int) -> int:
    """Of the polynomial by which a joint follows the one at the end of its chain."""
    degree = 1
    while j in follows:
        degree *= max(1, follows[j].polynomial.trim().degree())
        j = follows[j].leader
    return degree


def _resolved(follows: dict[int, Tie], j: int) -> Tie:
    """The tie of a joint to joints that move by themselves; its own number, if it does."""
    if j not in follows:
        return Tie(j, Polynomial([0.0, 1.0]))
    tie = follows[j]
    first = _resolved(follows, tie.leader)
    polynomial = tie.polynomial(first.polynomial)
    slope = float([*tie.polynomial.coef, 0.0, 0.0][1])
    arms = {k: slope * x for k, x in first.others}
    for other, ratio in tie.others:
        own = _resolved(follows, other)
        shift, speed = (float(x) for x in [*own.polynomial.coef, 0.0, 0.0][:2])
        polynomial = polynomial + ratio * shift
        for k, x in ((own.leader, speed), *own.others):
            arms[k] = arms.get(k, 0.0) + ratio * x
    if first.leader in arms:
        polynomial = polynomial + Polynomial([0.0, arms.pop(first.leader)])
    return Tie(first.leader, polynomial, tuple((k, x) for k, x in arms.items() if x != 0.0))


def _mimic(compiled: CompiledModel, follows: dict[int, Tie], follower: int) -> Mimic:
    """The tie to the joints at the end of the chain, which move by themselves."""
    tie = _resolved(follows, follower)
    c = [float(x) for x in tie.polynomial.trim().coef] + [0.0]
    others = tuple((compiled.joints[k], ratio) for k, ratio in tie.others)
    return Mimic(compiled.joints[tie.leader], c[1], c[0], tuple(c[2:]), others)
