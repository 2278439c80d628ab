"""Counts of the documents beside ours, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from benchmarks.operation_counts.documents import (
    DOCUMENT,
    FIXED,
    FLOATING,
    SLENDER,
    SLENDER_TOTAL,
    SLOW,
    TABLE_1,
    TABLE_6_8,
    TABLE_6_9,
    TABLE_7_3,
    break_even,
)
from benchmarks.operation_counts.measured import line, per_joint, slender_line, steps, total
from benchmarks.operation_counts.mechanisms import KINDS, chain, general
from benchmarks.operation_counts.operations import NONE, Ops
from benchmarks.operation_counts.reasons import WHY, WHY_BASE, WHY_SLENDER, WHY_STEPS, WHY_TOTAL
from kinetree.analysis import operation_counts
from kinetree.dynamics.tapes import taped

RECORDED = {"inverse": "inverse_dynamics", "forward": "forward_dynamics"}  # of the documents' algorithms


@cache
def markdown() -> str:
    """All tables as text."""
    parts = [
        _section("Operations per joint ([Shah2013], Tables 6.10 and 7.5)", _per_joint_table()),
        _section(
            "Inverse dynamics on a fixed base, by step ([Shah2013], Table 6.8)",
            _step_table("inverse", TABLE_6_8),
        ),
        _section(
            "Forward dynamics on a fixed base, phi = tau - h given, by step ([Shah2013], Table 6.9)",
            _step_table("forward, phi given", TABLE_6_9),
        ),
        _section(
            "Inverse dynamics on a floating base, by step ([Shah2013], Table 7.3)",
            _step_table("floating inverse", TABLE_7_3, floating=True),
        ),
        _section("Chains on a fixed base ([Shah2013], section 6.3)", _formula_table()),
        _section(
            "Mechanisms on a fixed base ([Shah2013], Tables 6.11 and 6.12)",
            _total_table(FIXED, ("inverse", "forward, phi given")),
        ),
        _section(
            "Mechanisms on a floating base ([Shah2013], Tables 7.6 and 7.7)",
            _total_table(FLOATING, ("floating inverse", "forward"), floating=True),
        ),
        _section("Our recursions with all known zeros", _known_zeros_table()),
        _section("The floating base itself ([Shah2013], Tables 7.3 and 7.4)", _base_table()),
        _section(
            "Forward dynamics of serial robots: when O(n) pays ([Mohan2007], Table 1)", _break_even_table()
        ),
        _section("Slender links, per link of a long chain ([Mohan2007], section 4.1)", _slender_table()),
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


def _break_even_table() -> list[list[object]]:
    """All rows of the table with break-even points as printed and as its formulas give them, and ours."""
    head = ["algorithm", "M", "A", "n*, printed", "n*", "n+, printed", "n+, both fewer", "n+, fewer in all"]
    rows: list[list[object]] = [list(head)]
    for name, row in TABLE_1.items():
        found: tuple[object, ...] = ("", "", "") if name == SLOW else break_even(row.M, row.A)
        printed = ("", "") if name == SLOW else (row.fewer_multiplications, row.fewer_operations)
        rows.append([name, *row.formula, printed[0], found[0], printed[1], *found[1:]])
    slope, rest = slender_line()
    each = sum(slope.values(), NONE)
    ours = _linear_cost(each.M, rest.M), _linear_cost(each.A, rest.A)
    formulas = f"{each.M}n {rest.M:+d}", f"{each.A}n {rest.A:+d}"
    found = break_even(*ours)
    return [*rows, ["ours, slender links", *formulas, "", found[0], "", *found[1:]]]


def _linear_cost(slope: int, rest: int) -> Callable[[int], float]:
    return lambda n: slope * n + rest


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


def _known_zeros_table() -> list[list[object]]:
    """Documents beside the library's recursions, as they are for any mechanism and recorded for this one."""
    head = [
        "algorithm",
        "mechanism",
        "document",
        "ours, the mechanism",
        "spatial, any mechanism",
        "shortest, known zeros",
    ]
    rows: list[list[object]] = [[*head, "sines and cosines"]]
    for algorithm, question in RECORDED.items():
        cases: dict[str, Any] = FLOATING if algorithm == "forward" else FIXED
        for name, (make, n, _) in cases.items():
            mechanism = make()
            found = [operation_counts(mechanism, question, known_zeros=known) for known in (False, True)]
            turns = taped(mechanism, question).recording.counts().get("sine", 0)
            both = [Ops(x.multiplications + x.divisions, x.additions) for x in found]
            rows.append(
                [algorithm, name, DOCUMENT[algorithm].total(*n), total(algorithm, mechanism), *both, turns]
            )
    return rows


def _base_table() -> list[list[object]]:
    rows: list[list[object]] = [["algorithm", "document", "ours", "why"]]
    for algorithm, reason in WHY_BASE.items():
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
