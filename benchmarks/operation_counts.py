"""Operations of the DeNOC algorithms beside those that 002 and 004 count: tables and curves.

    python benchmarks/operation_counts.py [folder]

writes operation_counts.md and operation_counts.png (the curves of 004, Figs. 6.15, 6.16, 7.30 and 7.31) into
the folder, by default the current one. Nothing is estimated: the algorithms run on numbers that count what is
done with them. M are multiplications and divisions, A additions and subtractions. As in the documents the
angle theta of a joint is given: adding its constant part to q is not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import kinetree as kt
from kinetree.algebra.rotation import rotation_about, rotation_to_axis
from kinetree.formulations import denoc, denoc_slender
from kinetree.formulations.contract import counted_steps
from kinetree.kernels.number import counting

KINDS = ("revolute", "universal", "spherical")  # joints with 1, 2 and 3 degrees of freedom
UNCOUNTED = ("joint angles", "tau-bar")


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


# ---- what is measured ---------------------------------------------------------------------------------
def general(joints: Sequence[tuple[str, int]], floating: bool = False) -> kt.Mechanism:
    """A tree of joints, each a kind and the place of its parent in the list (-1: the base).

    Every DH parameter, length and inertia is a general number. As 004 assumes, the common normal to the next
    axis passes through the centre of a joint that has several axes. Where the tree branches the other
    branches stand anywhere.
    """
    rng = np.random.default_rng(7)
    links, ends, grown = [], {-1: ("world", kt.Placement())}, set()
    if floating:
        base = kt.Joint.of_kind("base", "free")
        links.append(kt.Link(kt.Body("base", _inertia(rng)), base))
        ends[-1] = ("base", _turn(rotation_to_axis(base.axes[-1])))
    for k, (kind, place) in enumerate(joints):
        parent, near = ends[place]
        joint, body = kt.Joint.of_kind(f"joint{k}", kind), kt.Body(f"link{k}", _inertia(rng))
        if place in grown:
            near = near @ _dh(rng)
        grown.add(place)
        first = _turn(rotation_to_axis(joint.axes[0]))
        links.append(kt.Link(body, joint, parent, near @ _dh(rng) @ first.inverse))
        ends[k] = (body.name, _turn(rotation_to_axis(joint.axes[-1])))
    return kt.Mechanism("general", tuple(links), np.array([1.0, 2.0, -9.0]))


def chain(kinds: Sequence[str]) -> list[tuple[str, int]]:
    """Joints one after the other."""
    return [(kind, k - 1) for k, kind in enumerate(kinds)]


def legs(count: int, kinds: Sequence[str]) -> list[tuple[str, int]]:
    """Equal legs on the base."""
    n = len(kinds)
    return [(kind, leg * n + k - 1 if k else -1) for leg in range(count) for k, kind in enumerate(kinds)]


def _turn(rotation: Any) -> kt.Placement:
    return kt.Placement.at((0.0, 0.0, 0.0), rotation)


def _dh(rng: np.random.Generator) -> kt.Placement:
    """Rx(alpha) Tx(a) Rz(theta) Tz(b) with general numbers."""
    alpha, theta = rng.uniform(0.4, 1.2, 2)
    a, b = rng.uniform(0.1, 0.5, 2)
    across = kt.Placement.at((a, 0.0, 0.0), rotation_about("x", alpha))
    return across @ kt.Placement.at((0.0, 0.0, b), rotation_about("z", theta))


def _inertia(rng: np.random.Generator) -> kt.Inertia:
    points = rng.uniform(-0.4, 0.4, (6, 3))
    parts = [kt.Inertia.point(0.2, point) for point in points]
    return sum(parts[1:], parts[0])


def slender_arm(n: int) -> denoc_slender.SlenderArm:
    """A chain of bent slender links with general parameters."""
    rng = np.random.default_rng(7)
    lengths = {"a": rng.uniform(0.1, 0.5, n), "b": rng.uniform(0.1, 0.5, n)}
    return denoc_slender.SlenderArm(rng.uniform(1, 2, n), alpha=rng.uniform(0.3, 1, n), **lengths)


ALGORITHMS: dict[str, Callable[..., Any]] = {
    "inverse": lambda tree, q, qd, qdd: denoc.inverse_dynamics(tree, q, qd, qdd),
    "forward, phi given": lambda tree, q, qd, qdd: denoc.accelerations(tree, q, qdd),
    "forward": lambda tree, q, qd, tau: denoc.forward_dynamics(tree, q, qd, tau),
    "floating inverse": lambda tree, q, qd, qdd: denoc.floating_base_inverse_dynamics(tree, q, qd, qdd[6:]),
    "slender": lambda arm, q, qd, tau: denoc_slender.forward_dynamics(arm, q, qd, tau),
}


def steps(algorithm: str, model: Any) -> dict[str, Ops]:
    """Operations by step on a mechanism, or on the table of a slender arm."""
    subject = model.tree if isinstance(model, kt.Mechanism) else model
    state = [counting(np.linspace(0.3, 1.1, subject.n) + 0.1 * k) for k in range(3)]
    with counted_steps() as counts:
        ALGORITHMS[algorithm](subject, *state)
    return {
        name: Ops(done["multiplications"] + done["divisions"], done["additions"])
        for name, done in counts.steps.items()
        if name not in UNCOUNTED
    }


def total(algorithm: str, model: Any) -> Ops:
    """Operations of all steps together."""
    return sum(steps(algorithm, model).values(), NONE)


@cache
def per_joint(algorithm: str, kind: str, floating: bool = False) -> dict[str, Ops]:
    """What one more joint in the middle of a chain costs, by step; the axes of a joint taken together."""
    long, short = (steps(algorithm, general(chain([kind] * n), floating)) for n in (5, 4))
    found: dict[str, Ops] = {}
    for name, done in long.items():
        what = name.rsplit(", ", 1)[0]
        found[what] = found.get(what, NONE) + (done - short.get(name, NONE))
    return found


# ---- what the documents say ---------------------------------------------------------------------------
class Rule(NamedTuple):
    """Operations of a joint with eps axes: first + (eps - 1) further; and of the rest."""

    first: Ops
    further: Ops
    rest: Ops

    def joint(self, eps: int) -> Ops:
        """One joint."""
        return self.first + self.further.times(eps - 1)

    def total(self, n1: int, n2: int, n3: int) -> Ops:
        """n1, n2, n3 joint variables in joints with 1, 2 and 3 degrees of freedom."""
        joints = ((n1, 1), (n2 // 2, 2), (n3 // 3, 3))
        return sum((self.joint(eps).times(count) for count, eps in joints), self.rest)


DOCUMENT = {  # 004, Tables 6.10 and 7.5
    "inverse": Rule(Ops(94, 82), Ops(22, 14), Ops(-81, -75)),
    "forward, phi given": Rule(Ops(135, 131), Ops(63, 53), Ops(-116, -123)),
    "floating inverse": Rule(Ops(164, 156), Ops(62, 46), Ops(60, 66)),
    "forward": Rule(Ops(209, 201), Ops(70, 59), Ops(60, 72)),
}
TABLE_6_8 = {
    "t": (Ops(8, 5), Ops(4, 3)),
    "t-dot": (Ops(27, 20), Ops(10, 7)),
    "varpi": (Ops(6, 9), NONE),
    "w*": (Ops(33, 30), NONE),
    "w to parent": (Ops(20, 18), Ops(8, 4)),
}
TABLE_6_9 = {
    "Psi": (Ops(5, 0), Ops(4, 0)),
    "phi^": (Ops(0, 1), Ops(0, 1)),
    "phi~": (Ops(1, 0), Ops(1, 0)),
    "M^ - Psi^ Psi^T": (Ops(15, 15), Ops(10, 10)),
    "eta": (Ops(5, 6), Ops(4, 5)),
    "M^ to parent": (Ops(64, 78), Ops(24, 23)),
    "eta to parent": (Ops(20, 12), Ops(8, 4)),
    "mu to child": (Ops(20, 12), Ops(8, 4)),
    "qdd": (Ops(5, 6), Ops(4, 5)),
    "mu": (Ops(0, 1), Ops(0, 1)),
}
TABLE_7_3 = {
    "t": (Ops(8, 5), Ops(4, 3)),
    "t-dot": (Ops(27, 20), Ops(10, 7)),
    "A_k0": (Ops(8, 7), Ops(4, 2)),
    "varpi": (Ops(6, 9), NONE),
    "w*": (Ops(33, 36), NONE),
    "kappa~": (Ops(6, 6), Ops(6, 6)),
    "w to parent": (Ops(20, 18), Ops(8, 4)),
    "M~ to parent": (Ops(34, 40), Ops(16, 10)),
    "q~_0": (Ops(16, 8), Ops(8, 4)),
    "tau": (Ops(6, 7), Ops(6, 7)),
}
SLENDER = {  # 002, section 4.1: per link of a long chain
    "1": Ops(4, 0),
    "2": Ops(4, 0),
    "3": Ops(9, 2),
    "4": Ops(0, 1),
    "5": Ops(80, 91),
    "6, 7": NONE,
    "8": Ops(5, 0),
    "9": Ops(16, 18),
    "10": Ops(14, 8),
    "11": Ops(14, 10),
    "12": Ops(1, 0),
    "13": Ops(4, 6),
    "14": Ops(22, 14),
    "15": NONE,
}
SLENDER_TOTAL = (Ops(173, 150), Ops(-128, -133))
BIPED_LEG, QUADRUPED_LEG, HEXAPOD_LEG = (
    ("spherical", "revolute", "universal"),
    ("universal", "revolute"),
    ("revolute", "revolute"),
)
FIXED = {  # name: mechanism of the document, n1, n2, n3, the same tree with general numbers
    "gripper": (kt.zoo.gripper, (4, 0, 0), [*chain(["revolute"] * 3), ("revolute", 0)]),
    "industrial robot": (kt.zoo.kuka_kr5, (6, 0, 0), chain(["revolute"] * 6)),
    "biped": (
        kt.zoo.biped_fixed,
        (2, 4, 6),
        chain(["universal", "revolute", "spherical", "spherical", "revolute", "universal"]),
    ),
}
FLOATING = {
    "biped": (kt.zoo.spatial_biped, (2, 4, 6), legs(2, BIPED_LEG)),
    "quadruped": (kt.zoo.quadruped, (4, 8, 0), legs(4, QUADRUPED_LEG)),
    "hexapod": (kt.zoo.hexapod, (12, 0, 0), legs(6, HEXAPOD_LEG)),
}
LITERATURE: dict[str, dict[str, Callable[[int], float]]] = {  # M + A, as 002 and 004 list them
    "inverse": {
        "Balafoutis and Patel 1991": lambda n: 93 * n - 69 + 81 * n - 65,
        "Angeles et al. 1989": lambda n: 105 * n - 109 + 90 * n - 105,
        "Saha 1999": lambda n: 120 * n - 44 + 97 * n - 55,
        "Featherstone 1987": lambda n: 130 * n - 68 + 101 * n - 56,
    },
    "forward, phi given": {
        "Mohan and Saha 2007 (002)": lambda n: 173 * n - 128 + 150 * n - 133,
        "Saha 2003": lambda n: 191 * n - 284 + 187 * n - 325,
        "Featherstone 1983": lambda n: 199 * n - 198 + 174 * n - 173,
        "Lilly and Orin 1991": lambda n: n**3 / 3 + 18.5 * n**2 + 547 / 6 * n - 102,
    },
    "floating inverse": {
        "Balafoutis and Patel 1991": lambda n: (
            104 * n + 11.5 * n**2 - 111 + 113.5 * n + 5.5 * n**2 - 119 + 126
        ),
        "Featherstone 1987": lambda n: 161 * n + 10 * n**2 - 109 + 141 * n + 6 * n**2 - 102 + 126,
    },
    "forward": {
        "McMillan and Orin 1998": lambda n: 224 * n + 158 + 205 * n + 131,
        "Stejskal and Valasek 1996": lambda n: 226 * n + 158 + 206 * n + 131,
    },
}


# ---- tables -------------------------------------------------------------------------------------------
WHY = {
    "inverse": "the same",
    "forward, phi given": "M^ is turned without the products of sine and cosine; the zero rows that "
    "elimination leaves inside a joint are used",
    "floating inverse": "the same for M~; kappa has a zero component; no external loads are subtracted; the "
    "arm to the base is shifted along two axes only",
    "forward": "as with phi given; w* joins eta once. The book's own rows for further axes are 63M 53A "
    "(Table 6.9) and 14M 9A for t and t', 77M 62A and not 70M 59A",
}
WHY_STEPS = {
    "inverse": {},
    "forward, phi given": {
        "Psi": "the book gives the zero component to the wrong axes of a joint; the sum is the same",
        "M^ - Psi^ Psi^T": "likewise",
        "eta": "likewise",
        "qdd": "likewise",
        "M^ to parent": "u = b_1 s + 2 f_12 c instead of the four products of A.11; c u - f_21 instead of "
        "f_12 + d_2; zero rows inside a joint",
    },
    "floating inverse": {
        "A_k0": "shifts along x and z instead of a general vector",
        "w*": "the 6A of external loads are only done when there are any",
        "kappa~": "the force of kappa = M~ p has no component along a revolute axis",
        "M~ to parent": "u instead of the four products of A.11",
        "tau": "likewise, kappa has five components",
    },
}
WHY_TOTAL = {
    "inverse biped": "the first joint is universal; the book's 13M 7A for a link at the world hold for one "
    "axis",
    "floating inverse biped": "the second leg needs one more constant screw to the base; base: see below",
    "floating inverse quadruped": "likewise three legs",
    "floating inverse hexapod": "likewise five legs",
    "forward biped": "likewise",
    "forward quadruped": "likewise",
    "forward hexapod": "likewise",
}
WHY_SLENDER = {
    "1": "neither a_i nor Q_i is formed: a vector or matrix is turned and shifted about z, then about x",
    "2": "likewise",
    "3": "C_4 c^2 = C_4 - C_4 s^2",
    "5": "two planar screws (004, A.7), zero row and column of M-bar; 9A for the rod's own matrix of 15A",
    "9": "the row and column of the axis vanish",
    "10": "A^T eta whole (20M 12A) and one difference; the document splits it over steps 10 and 11 and "
    "leaves out the 3A of a x eta",
    "11": "see step 10",
    "13": "psi has five components besides the one: along z the force does not vanish",
    "14": "two planar screws",
    "15": "the sum with theta-ddot, which the document does not count",
}


@cache
def markdown() -> str:
    """All tables as text."""
    parts = [
        _section("Operations per joint (004, Tables 6.10 and 7.5)", _per_joint_table()),
        _section(
            "Inverse dynamics on a fixed base, by step (004, Table 6.8)", _step_table("inverse", TABLE_6_8)
        ),
        _section(
            "Forward dynamics on a fixed base, phi = tau - h given, by step (004, Table 6.9)",
            _step_table("forward, phi given", TABLE_6_9),
        ),
        _section(
            "Inverse dynamics on a floating base, by step (004, Table 7.3)",
            _step_table("floating inverse", TABLE_7_3, floating=True),
        ),
        _section("Chains on a fixed base (004, section 6.3)", _formula_table()),
        _section(
            "Mechanisms on a fixed base (004, Tables 6.11 and 6.12)",
            _total_table(FIXED, ("inverse", "forward, phi given")),
        ),
        _section(
            "Mechanisms on a floating base (004, Tables 7.6 and 7.7)",
            _total_table(FLOATING, ("floating inverse", "forward"), floating=True),
        ),
        _section("The floating base itself (004, Tables 7.3 and 7.4)", _base_table()),
        _section("Slender links, per link of a long chain (002, section 4.1)", _slender_table()),
    ]
    return "\n".join(parts)


def _section(title: str, rows: list[list[object]]) -> str:
    lines = [f"### {title}", ""]
    for k, row in enumerate(rows):
        lines.append("| " + " | ".join(str(cell) for cell in row) + " |")
        if k == 0:
            lines.append("|" + "---|" * len(row))
    return "\n".join([*lines, ""])


def _per_joint_table() -> list[list[object]]:
    rows: list[list[object]] = [["algorithm", "DOF of the joint", "document", "ours", "why"]]
    for algorithm, rule in DOCUMENT.items():
        floating = algorithm in ("floating inverse", "forward")
        for eps, kind in enumerate(KINDS, start=1):
            ours = sum(per_joint(algorithm, kind, floating).values(), NONE)
            rows.append([algorithm, eps, rule.joint(eps), ours, WHY[algorithm] if eps == 1 else ""])
    return rows


def _step_table(
    algorithm: str, table: dict[str, tuple[Ops, Ops]], floating: bool = False
) -> list[list[object]]:
    """Steps of a joint with one axis and of one with three."""
    head = ["step", "document, 1 DOF", "ours", "document, 3 DOF", "ours", "why"]
    one, three = (per_joint(algorithm, kind, floating) for kind in ("revolute", "spherical"))
    rows: list[list[object]] = [list(head)]
    for name, (first, further) in table.items():
        why = WHY_STEPS[algorithm].get(name, "")
        rows.append([name, first, one.get(name, NONE), first + further.times(2), three.get(name, NONE), why])
    sums = [sum((x for x, _ in table.values()), NONE), sum((y for _, y in table.values()), NONE)]
    ours = [sum(found.values(), NONE) for found in (one, three)]
    rows.append(["sum", sums[0], ours[0], sums[0] + sums[1].times(2), ours[1], ""])
    return rows


def _formula_table() -> list[list[object]]:
    """Ours as a formula in n, for chains of joints of one kind."""
    rows: list[list[object]] = [["algorithm", "DOF of the joints", "document, n joints", "ours, n joints"]]
    for algorithm in ("inverse", "forward, phi given"):
        rule = DOCUMENT[algorithm]
        for eps, kind in enumerate(KINDS, start=1):
            slope, rest = line(algorithm, kind)
            rows.append([algorithm, eps, _formula(rule.joint(eps), rule.rest), _formula(slope, rest)])
    return rows


def line(algorithm: str, kind: str) -> tuple[Ops, Ops]:
    """Slope and constant of the operations of chains with n joints, n >= 3."""
    long, short = (total(algorithm, general(chain([kind] * n))) for n in (5, 4))
    slope = long - short
    return slope, long - slope.times(5)


def _formula(slope: Ops, rest: Ops) -> str:
    return f"({slope.M}n {rest.M:+d})M ({slope.A}n {rest.A:+d})A"


def _total_table(
    cases: dict[str, Any], algorithms: Sequence[str], floating: bool = False
) -> list[list[object]]:
    head = ["algorithm", "mechanism", "n1, n2, n3", "document", "ours, general", "ours, the mechanism", "why"]
    rows: list[list[object]] = [list(head)]
    for algorithm in algorithms:
        for name, (make, n, joints) in cases.items():
            same_tree = total(algorithm, general(joints, floating))
            numbers = ", ".join(map(str, n))
            said, why = DOCUMENT[algorithm].total(*n), WHY_TOTAL.get(f"{algorithm} {name}", "")
            rows.append([algorithm, name, numbers, said, same_tree, total(algorithm, make()), why])
    return rows


def _base_table() -> list[list[object]]:
    rows: list[list[object]] = [["algorithm", "document", "ours", "why"]]
    why = {
        "floating inverse": "the book's base has t_0 = qd_0 and t'_0 = [0; -g]; with Euler angles both and "
        "varpi are computed, w* is that of any link, and qdd_0 follows by P_0^-1. Its 36M 36A multiply with "
        "an inverse that is not counted; here the equations are solved",
        "forward": "likewise; the base is a joint of six axes, which are eliminated one by one",
    }
    for algorithm, reason in why.items():
        found = steps(algorithm, general(chain(["revolute"] * 3), True))
        own = [
            x for name, x in found.items() if name.endswith("base") or name in ("base acceleration", "P_0")
        ]
        rows.append([algorithm, DOCUMENT[algorithm].rest, sum(own, NONE), reason])
    return rows


def _slender_table() -> list[list[object]]:
    rows: list[list[object]] = [["step", "document", "ours", "why"]]
    slope, rest = slender_line()
    for name, document in SLENDER.items():
        rows.append([name, document, slope.get(name, NONE), WHY_SLENDER.get(name, "")])
    ours = sum(slope.values(), NONE)
    rows.append(["n links", _formula(*SLENDER_TOTAL), _formula(ours, rest), "1 sine and 1 cosine per link"])
    return rows


def slender_line() -> tuple[dict[str, Ops], Ops]:
    """Operations per link by step, and the constant rest, of long chains of slender links."""
    long, short = (steps("slender", slender_arm(n)) for n in (7, 6))
    slope = {name: done - short[name] for name, done in long.items()}
    return slope, sum(long.values(), NONE) - sum(slope.values(), NONE).times(7)


# ---- curves ---------------------------------------------------------------------------------------------
FIGURES = {  # as 004 numbers them
    "inverse": ("Fig. 6.15: inverse, fixed base", False),
    "forward, phi given": ("Fig. 6.16: forward, fixed base", False),
    "floating inverse": ("Fig. 7.30: inverse, floating base", True),
    "forward": ("Fig. 7.31: forward, floating base", True),
}
PANELS = {
    "1-DOF joints": (1,),
    "2-DOF joints": (2,),
    "3-DOF joints": (3,),
    "1-, 2-, 3-DOF in turn": (1, 2, 3),
}
MOST = 30  # degrees of freedom


def figure() -> Any:
    """Operations (M + A) against the number of degrees of freedom: a row of panels per figure of the book."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(14.0, 13.0), layout="constrained")
    axes = drawing.subplots(len(FIGURES), len(PANELS), sharex=True, sharey="row", squeeze=False)
    for row, (algorithm, (title, floating)) in zip(axes, FIGURES.items(), strict=True):
        for ax, (label, pattern) in zip(row, PANELS.items(), strict=True):
            _panel(ax, algorithm, pattern, floating)
            ax.set_title(f"{title}, {label}", fontsize=8, loc="left")
        row[0].set_ylabel("operations, M + A")
        row[-1].legend(fontsize=7)
    for ax in axes[-1]:
        ax.set_xlabel("degrees of freedom of the joints")
    return drawing


def _panel(ax: Any, algorithm: str, pattern: Sequence[int], floating: bool) -> None:
    document, ours = curve(algorithm, pattern, floating)
    n = np.arange(sum(pattern), MOST + 1)
    for name, formula in LITERATURE[algorithm].items():
        ax.plot(n, [formula(int(x)) for x in n], linewidth=1.0, alpha=0.7, label=name)
    ax.plot(*zip(*document, strict=True), "k--", linewidth=1.2, label="004")
    ax.plot(*zip(*ours, strict=True), "ko", markersize=4, label="measured")
    ax.set_xlim(0, MOST)
    ax.set_ylim(0, 1.15 * max(formula(MOST) for formula in list(LITERATURE[algorithm].values())[:2]))
    ax.grid(alpha=0.25)


def curve(
    algorithm: str, pattern: Sequence[int], floating: bool, most: int = MOST
) -> tuple[list[tuple[int, float]], list[tuple[int, float]]]:
    """(degrees of freedom, M + A) of the document's formula and as measured, for chains of joints."""
    document, ours = [], []
    for rounds in range(1, most // sum(pattern) + 1):
        n = {eps: rounds * pattern.count(eps) * eps for eps in (1, 2, 3)}
        said = DOCUMENT[algorithm].total(n[1], n[2], n[3])
        document.append((sum(n.values()), float(said.M + said.A)))
        if rounds * sum(pattern) in (sum(pattern), 12, 18, 24, 30):
            kinds = [KINDS[eps - 1] for _ in range(rounds) for eps in pattern]
            done = total(algorithm, general(chain(kinds), floating))
            ours.append((sum(n.values()), float(done.M + done.A)))
    return document, ours


def main(folder: str = ".") -> None:
    """Write the tables and the curves."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    tables = markdown()
    (place / "operation_counts.md").write_text(tables, encoding="utf-8")
    figure().savefig(place / "operation_counts.png", dpi=90)
    print(tables)


if __name__ == "__main__":
    main(*sys.argv[1:2])
