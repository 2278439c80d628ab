"""Operation counts of the DeNOC algorithms beside those that [Mohan2007] and [Shah2013] print."""

from pathlib import Path

import pytest
from benchmarks.operation_counts import curves, documents, measured, mechanisms, tables, timed
from benchmarks.operation_counts.__main__ import main
from benchmarks.operation_counts.documents import SLOW, TABLE_1, break_even
from benchmarks.operation_counts.operations import NONE, Ops

import kinetree as kt
from kinetree.derivations import denoc
from kinetree.derivations.contract import counted_steps
from kinetree.kernels.number import counting
from support.each import each

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "formulations" / "operation_counts.md"


FLOATING = ("floating inverse", "forward")


def cost(algorithm, kind):
    return sum(measured.per_joint(algorithm, kind, algorithm in FLOATING).values(), NONE)


@pytest.mark.parametrize("eps", [1, 2, 3])
def test_inverse_dynamics_costs_what_the_book_says(eps):
    """94M 82A + 22M 14A (eps - 1) per joint: 94/58/46 M and 82/48/36 2/3 A per degree of freedom."""
    assert cost("inverse", mechanisms.KINDS[eps - 1]) == Ops(94 + 22 * (eps - 1), 82 + 14 * (eps - 1))


@pytest.mark.parametrize("step", documents.TABLE_6_8)
def test_every_step_of_table_6_8(step):
    first, further = documents.TABLE_6_8[step]
    for eps, kind in enumerate(mechanisms.KINDS, start=1):
        assert measured.per_joint("inverse", kind)[step] == first + further.times(eps - 1)


@each("algorithm", documents.DOCUMENT)
@each("eps", [1, 2, 3])
def test_no_joint_costs_more_than_in_the_book(algorithm, eps):
    ours, said = cost(algorithm, mechanisms.KINDS[eps - 1]), documents.DOCUMENT[algorithm].joint(eps)
    assert ours.M <= said.M and ours.A <= said.A


@each(
    ("algorithm", "eps", "operations"),
    [
        ("forward, phi given", 1, (131, 129)),
        ("forward, phi given", 2, (187, 171)),
        ("forward, phi given", 3, (243, 213)),
        ("floating inverse", 1, (157, 145)),
        ("floating inverse", 2, (212, 184)),
        ("floating inverse", 3, (267, 223)),
        ("forward", 1, (205, 198)),
        ("forward", 2, (275, 249)),
        ("forward", 3, (345, 300)),
    ],
)
def test_what_a_joint_costs(algorithm, eps, operations):
    assert cost(algorithm, mechanisms.KINDS[eps - 1]) == Ops(*operations)


@pytest.mark.parametrize(
    ("table", "algorithm"), [("TABLE_6_9", "forward, phi given"), ("TABLE_7_3", "floating inverse")]
)
def test_no_step_costs_more_than_in_the_book(table, algorithm):
    """Of the axes of a joint together: the book credits a zero component of Psi to the wrong axis."""
    for eps, kind in enumerate(mechanisms.KINDS, start=1):
        found = measured.per_joint(algorithm, kind, algorithm in FLOATING)
        for step, (first, further) in getattr(documents, table).items():
            said, ours = first + further.times(eps - 1), found.get(step, NONE)
            assert ours.M <= said.M and ours.A <= said.A, step


def test_the_tables_add_up_to_the_printed_totals():
    for table, algorithm in ((documents.TABLE_6_8, "inverse"), (documents.TABLE_6_9, "forward, phi given")):
        rule = documents.DOCUMENT[algorithm]
        assert sum((first for first, _ in table.values()), NONE) == rule.first
        assert sum((further for _, further in table.values()), NONE) == rule.further
    rule = documents.DOCUMENT["floating inverse"]
    assert sum((first for first, _ in documents.TABLE_7_3.values()), NONE) == rule.first
    assert sum((further for _, further in documents.TABLE_7_3.values()), NONE) == rule.further - Ops(0, 3)


@each(
    ("algorithm", "name", "operations"),
    [
        ("inverse", "gripper", (295, 253)),
        ("inverse", "industrial robot", (483, 417)),
        ("inverse", "biped", (615, 501)),
        ("forward, phi given", "gripper", (424, 401)),
        ("forward, phi given", "industrial robot", (694, 663)),
        ("forward, phi given", "biped", (1072, 981)),
        ("floating inverse", "biped", (1416, 1278)),
        ("floating inverse", "quadruped", (1620, 1498)),
        ("floating inverse", "hexapod", (2028, 1938)),
        ("forward", "biped", (1734, 1632)),
        ("forward", "quadruped", (2012, 1916)),
        ("forward", "hexapod", (2568, 2484)),
    ],
)
def test_mechanisms_of_the_book(algorithm, name, operations):
    """Totals of [Shah2013], Tables 6.11, 6.12, 7.6 and 7.7 (corrected); the mechanisms themselves cost
    less."""
    make, n, _ = (documents.FLOATING if algorithm in FLOATING else documents.FIXED)[name]
    assert documents.DOCUMENT[algorithm].total(*n) == Ops(*operations)
    ours = measured.total(algorithm, make())
    assert ours.M < 0.75 * operations[0] and ours.A < 0.75 * operations[1]


def test_chains_cost_less_than_in_the_book():
    """The root and, in forward dynamics, the tips need less than an inner link."""
    for algorithm in ("inverse", "forward, phi given"):
        slope, rest = measured.line(algorithm, "revolute")
        said = documents.DOCUMENT[algorithm]
        assert slope.M <= said.first.M and rest.M < said.rest.M and rest.A < said.rest.A


def test_slender_links_cost_less_than_in_002():
    """173n - 128 and 150n - 133 recompute from the document's steps; ours is below at every n."""
    said = sum(documents.SLENDER.values(), NONE)
    assert said == Ops(173, 150) == documents.SLENDER_TOTAL[0]
    slope, rest = measured.slender_line()
    assert sum(slope.values(), NONE) == Ops(148, 138) and rest == Ops(-174, -174)
    for n in range(1, 13):
        ours = measured.total("slender", mechanisms.slender_arm(n))
        assert ours.M < 173 * n - 128 and ours.A < 150 * n - 133
        if n > 2:
            assert ours == Ops(148 * n - 174, 138 * n - 174)


def test_counts_grow_linearly():
    for algorithm in measured.ALGORITHMS.keys() - {"slender"}:
        floating = algorithm in FLOATING
        counts = [
            measured.total(algorithm, mechanisms.general(mechanisms.chain(["universal"] * n), floating))
            for n in (3, 4, 6)
        ]
        assert counts[2] - counts[1] == (counts[1] - counts[0]).times(2)


def test_sines_are_computed_once_per_angle():
    robot = kt.zoo.biped_fixed()
    with counted_steps() as steps:
        denoc.forward_dynamics(robot.tree, *(counting([0.1] * 12) for _ in range(3)))
    assert steps.total["sincos"] == 12


def test_empty_links_inside_joints_are_skipped():
    """Three hinges with bodies between them cost far more than a ball joint."""
    ball = measured.total("inverse", mechanisms.general(mechanisms.chain(["spherical"] * 4)))
    hinges = measured.total("inverse", mechanisms.general(mechanisms.chain(["revolute"] * 12)))
    assert ball.M < 0.5 * hinges.M


def test_operations_print_and_add():
    assert str(Ops(3, 4) + Ops(1, 1) - Ops(2, 0)) == "2M 5A" and str(NONE) == "-"


def test_break_even_points_of_table_1():
    """[Mohan2007], Table 1: printed n* and n+ by its own formulas, and where they differ."""
    found = {name: break_even(row.M, row.A) for name, row in TABLE_1.items() if name != SLOW}
    printed = {
        name: (row.fewer_multiplications, row.fewer_operations)
        for name, row in TABLE_1.items()
        if name in found
    }
    same = {name for name, (n, both, _) in found.items() if (n, both) == printed[name]}
    assert same == {"Mohan and Saha 2007", "Saha 2003", "Featherstone 1983"}
    assert found["Valasek"] == (13, 16, 14) and found["Brandl et al."] == (15, 18, 16)
    assert (round(TABLE_1[SLOW].M(12)), round(TABLE_1[SLOW].A(12))) == (2357, 1716)  # as printed


def test_times_are_measured_over_degrees_of_freedom():
    found = timed.timed(True, sizes=(2, 3))
    assert found.sizes == (2, 3) and len(found.microseconds) == 3
    assert all(0.0 < x < 1e4 for values in found.microseconds.values() for x in values)
    assert (
        timed.break_even(timed.Timed((2, 4, 8), {"forward, O(n)": [3, 4, 5], "forward, O(n³)": [2, 6, 9]}))
        == 4
    )


# ---- what is written down ------------------------------------------------------------------------------
def test_the_page_shows_what_is_measured():
    text = PAGE.read_text(encoding="utf-8")
    assert tables.markdown().strip() in text, (
        "run python -m benchmarks.operation_counts and put its tables into the page"
    )


def test_curves_fall_with_joints_of_several_axes():
    """Figs. 6.15 and 6.16: measured beside the book's formula."""
    document, ours = curves.curve("inverse", (3,), floating=False, most=18)
    assert document[-1] == (18, 138 * 6 - 81 + 110 * 6 - 75)
    assert ours[-1][0] == 18 and ours[-1][1] < document[-1][1] + 20
    single, _ = curves.curve("inverse", (1,), floating=False, most=18)
    assert ours[-1][1] < 0.55 * single[-1][1]
    assert len(curves.FIGURES) == 4 and len(curves.PANELS) == 4


def test_the_script_draws_the_figures_and_writes_both_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(curves, "MOST", 6)
    monkeypatch.setattr(curves, "FIGURES", {"forward": curves.FIGURES["forward"]})
    monkeypatch.setattr(curves, "PANELS", {"1-DOF joints": (1,)})
    monkeypatch.setattr(curves.curve, "__defaults__", (6,))
    monkeypatch.setattr(timed.figure, "__defaults__", ((2, 3),))
    main(str(tmp_path / "out"))
    (ax,) = curves.figure().axes
    assert [line.get_label() for line in ax.lines][-2:] == ["Shah et al. 2013", "measured"]
    assert (tmp_path / "out" / "operation_counts.png").stat().st_size > 10_000
    assert (tmp_path / "out" / "operation_counts.md").read_text(encoding="utf-8") in capsys.readouterr().out
