"""The page of the documentation: what the figures of a run say, with pictures; raw tables as files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.plot import save_growth_plot, save_ratio_plot
from benchmarks.simulation_plot import save_simulation_plot
from benchmarks.table import NOTHING, Table
from benchmarks.tables import all_tables
from benchmarks.targets import Results, verdicts

BATCH = 1024
QUANTITIES = (
    "inverse dynamics",
    "forward dynamics",
    "mass matrix",
    "inverse dynamics gradients",
    "forward dynamics gradients",
)
BESIDE = ("pinocchio", "pinocchio parallel", "mujoco", "drake", "opensim", "robotics-toolbox")
PEER_NAMES = {"pinocchio": "Pinocchio", "mujoco": "MuJoCo", "drake": "Drake", "opensim": "OpenSim"}
TABLES, PICTURES = "assets/benchmarks", "images/benchmarks"
BEGIN, END = "<!-- measured -->", "<!-- end of measured -->"

HOW = """\
## How it is measured

- All libraries get the same mechanism and the same states. Answers are compared first (1e-9 relative to
  the largest entry); a library that disagrees takes no part.
- Libraries take turns in windows of 4 ms, and the best window counts. One thread unless stated otherwise.
- **kinetree** is the public call with checks and new arrays. 256 MB of memory of earlier answers serve
  again (`KINETREE_KEEP_MB`), because the peers write into memory of their own. **kinetree packed** leaves
  matrices tree-sparse; **kinetree kernel** is the compiled kernel alone.
- **pinocchio** is called from Python, in a loop for batches; **pinocchio parallel** is its own loop in
  C++, on one thread. **mujoco** is `mj_inverse` or `mj_forward` without contacts and constraints; its
  gradients are finite differences. **drake** and **opensim** are called from Python, in a loop for batches;
  gradients are by automatic differentiation and by central differences, for up to 16 states.
- MuJoCo refuses bodies without extent. These get 1e-6 of their largest second moment, and Kinetree is
  compared on the padded mechanism.
- Simulations are compared at equal error of the final positions, from a reference at tolerance 1e-12 or
  tighter. Time is CPU time of the thread. **kinetree** is `Simulator.run`; **kinetree simulate** also
  audits the energy and labels 201 samples; **kinetree specialized** runs code that `kt.specialize` made.
  Pinocchio runs in SciPy's `solve_ivp`, the others by their own
  integrators. On the ground, all that take part use the same contact law.
- Predictions are timed from the statement of the problem to the verified motion.

[The program](../benchmarks/README.md) has the details. This page, its pictures and its tables are written by

```sh
python -m benchmarks --json benchmarks/results.json --site docs   # measure, about a quarter of an hour
python -m benchmarks --from benchmarks/results.json --site docs   # write them again from saved figures
```
"""


def write_site(results: dict[str, Any], docs: Path) -> None:
    """The page, its pictures, raw tables as CSV, and the figures in the tables beside other libraries."""
    for folder in (docs / TABLES, docs / PICTURES):
        folder.mkdir(parents=True, exist_ok=True)
    tables = all_tables(results)
    for old in (docs / TABLES).glob("*.csv"):
        old.unlink()
    for table in tables:
        (docs / TABLES / f"{file_name(table)}.csv").write_text(as_csv(table), encoding="utf-8")
    save_ratio_plot(results, docs / PICTURES / "dynamics.png")
    save_growth_plot(results, docs / PICTURES / "growth.png")
    save_simulation_plot(results, docs / PICTURES / "simulation.png")
    (docs / "benchmarks.md").write_text(page(results), encoding="utf-8")
    for other in (docs / "index.md", docs.parent / "README.md"):
        if other.exists():
            text = other.read_text(encoding="utf-8")
            other.write_text(with_measured(text, results), encoding="utf-8")


def file_name(table: Table) -> str:
    """A name of lower-case words.

    >>> file_name(Table("Closed loops: growth", "", (), []))
    'closed_loops_growth'
    """
    return re.sub(r"\W+", "_", table.title.lower()).strip("_")


def as_csv(table: Table) -> str:
    """A table as comma-separated values, its note first."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerows([[f"# {table.note}"], table.head, *table.rows])
    return text.getvalue()


def rounded(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, and without an exponent where it is large.

    >>> rounded(0.0512), rounded(1441.8), rounded(9.96, 2)
    ('0.0512', '1,440', '10')
    """
    return f"{float(f'{value:.{digits}g}'):,g}"


def as_markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of a page; all but the first column are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(results: dict[str, Any]) -> str:
    """What was found, in one page."""
    from benchmarks.report import machine_lines

    tables = all_tables(results)
    parts = [
        "# Benchmarks",
        f"Times of Kinetree, {_all_peers(results)}, measured on one machine in one run. A ratio above 1 "
        "means that Kinetree is faster.",
        *_dynamics(results),
        *_simulations(results),
        *_loops(results),
        *_predictions(results),
        *_start(results),
        *_missed(results),
        HOW,
        "## The machine",
        "\n".join(f"- {line}" for line in [*machine_lines(results), *_left_out(results)]),
        "## Raw tables",
        "\n".join(f"- [{table.title}]({TABLES}/{file_name(table)}.csv)" for table in tables),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _all_peers(results: dict[str, Any]) -> str:
    """The other libraries that took part, in words."""
    present = {row["contestant"] for row in results["timings"]}
    *most, last = [name for key, name in PEER_NAMES.items() if key in present]
    return f"{', '.join(most)} and {last}" if most else last


def _left_out(results: dict[str, Any]) -> list[str]:
    return [f"Left out: {name}, {reason}" for name, reason in results["left_out"].items()]


def _dynamics(results: dict[str, Any]) -> list[str]:
    figures = Results(results)
    models = dict.fromkeys((row["model"], row["n_dof"]) for row in results["timings"])
    present = {row["contestant"] for row in results["timings"]}
    peers = [name for name in BESIDE if name in present]
    rows = []
    for (model, n_dof), batch in ((x, b) for x in models for b in (None, BATCH)):
        for quantity in QUANTITIES:
            ours = figures.time(model, quantity, batch, "kinetree")
            if ours is None:
                continue
            theirs = [figures.time(model, quantity, batch, name) for name in peers]
            cells = [NOTHING if time is None else rounded(time / ours) for time in theirs]
            size = "one call" if batch is None else f"{batch:,}"
            rows.append([f"{quantity}, {model} ({n_dof} DOF)", size, f"{ours:,.0f}", *cells])
    head = ["quantity", "states", "Kinetree, ns per state", *(f"{name} / Kinetree" for name in peers)]
    return [
        "## Dynamics and derivatives",
        "In batches, Kinetree computes four states at once, in the vector lanes of one core. Single calls "
        "gain by the short way from Python to machine code.",
        f"![Time of other libraries beside Kinetree's, by quantity and model]({PICTURES}/dynamics.png)",
        as_markdown(head, rows),
        f"Time over the length of a chain, with growth exponents of {_exponents(results)}:",
        f"![Nanoseconds per state over the links of a chain]({PICTURES}/growth.png)",
    ]


def _exponents(results: dict[str, Any]) -> str:
    rows = [x for x in results["exponents"] if (x["shape"], x["contestant"]) == ("chain", "kinetree")]
    return " and ".join(f"{row['exponent']:.2f} ({row['quantity']})" for row in rows)


def _simulations(results: dict[str, Any]) -> list[str]:
    figures = Results(results)
    cases = dict.fromkeys(row["case"] for row in results.get("simulation_times", ()))
    names = ["kinetree", "kinetree simulate", "pinocchio", "mujoco"]
    present = {row["contestant"] for row in results.get("simulation_times", ())}
    names += [name for name in ("kinetree specialized", "drake", "opensim") if name in present]
    rows = []
    for case in cases:
        times = [figures.simulation_time(case, name) for name in names]
        rows.append([case, *("not reached" if time is None else rounded(time) for time in times)])
    if not rows:
        return []
    return [
        "## Simulation",
        "Milliseconds of CPU time until the error of the final positions is 1e-6, each library with its best "
        "method:",
        as_markdown(["motion", *names], rows),
        f"![CPU time over error for all methods]({PICTURES}/simulation.png)",
    ]


def _loops(results: dict[str, Any]) -> list[str]:
    cases = dict.fromkeys(row["case"] for row in results.get("loop_times", ()))
    names = ("kinetree", "kinetree simulate", "pinocchio", "mujoco")
    rows = []
    for case in cases:
        cells = []
        for name in names:
            times = [
                row["milliseconds"]
                for row in results["loop_times"]
                if (row["case"], row["contestant"], row["wanted"]) == (case, name, 1e-6)
                and row["milliseconds"] is not None
            ]
            cells.append(rounded(min(times)) if times else NOTHING)
        rows.append([case, *cells])
    if not rows:
        return []
    return [
        "## Closed loops",
        "Milliseconds of CPU time until the error of the final positions is 1e-6:",
        as_markdown(["motion", *names], rows),
        f"{_loop_calls(results)} {results.get('loop_remark', '')}",
    ]


def _loop_calls(results: dict[str, Any]) -> str:
    """Forward dynamics in single calls beside the faster of Pinocchio's two ways, and in batches."""
    rows = [row for row in results["loop_timings"] if row["quantity"] == "forward dynamics"]
    parts = []
    for name in dict.fromkeys(row["mechanism"] for row in rows):
        here = [row for row in rows if row["mechanism"] == name]
        one = {row["contestant"]: row["best"] for row in here if row["batch"] is None}
        many = [row["best"] for row in here if row["contestant"] == "kinetree" and row["batch"]]
        theirs = [time for who, time in one.items() if who.startswith("pinocchio")]
        if theirs and "kinetree" in one and many:
            parts.append(
                f"{name} {one['kinetree'] / 1e3:.3g}, {min(theirs) / 1e3:.3g} and {min(many) / 1e3:.3g}"
            )
    link = f"[table]({TABLES}/closed_loops_one_state_batches.csv)"
    text = (
        "Microseconds per state of forward dynamics, Kinetree in one call, Pinocchio in one call (the faster "
        "of its two ways) and Kinetree in batches:"
    )
    return f"{text} {'; '.join(parts)} ({link})." if parts else f"Forward dynamics: {link}."


def _predictions(results: dict[str, Any]) -> list[str]:
    rows = []
    for row in results.get("predictions", ()):
        peers = [row.get(name) for name in ("ipopt", "casadi")]
        cells = [NOTHING if peer is None else rounded(1e3 * peer["total"]) for peer in peers]
        rows.append([row["case"], rounded(1e3 * row["total"]), *cells])
    if not rows:
        return []
    return [
        "## Prediction",
        "Milliseconds from the statement of the problem to the verified motion: Kinetree's own solver, IPOPT "
        "on the same program, and the problem stated in CasADi for IPOPT.",
        as_markdown(["problem", "Kinetree", "Kinetree with IPOPT", "CasADi with IPOPT"], rows),
    ]


def _start(results: dict[str, Any]) -> list[str]:
    warm, cold = (results["startup"].get(kind) or {} for kind in ("warm", "cold"))
    first = "inverse dynamics, one state"
    found = (
        (warm.get("import"), "Importing takes {:.3f} s."),
        (warm.get(first), "The first call in a new process takes {:.2f} s from the cache."),
        (cold.get(first), "Compiling it, once per machine, takes {:.1f} s."),
    )
    sentences = [text.format(value) for value, text in found if value is not None]
    return ["## Start", f"{' '.join(sentences)} ([table]({TABLES}/start.csv))"] if sentences else []


def _missed(results: dict[str, Any]) -> list[str]:
    found = verdicts(results)
    missed = [x for x in found if x.reached is False]
    rows = [[x.what, x.goal, f"{x.value:.3g} {x.unit}".strip()] for x in missed]
    reached = sum(x.reached is True for x in found)
    return [
        "## Targets",
        f"{reached} of {reached + len(missed)} targets that were measured are reached "
        f"([all of them]({TABLES}/targets.csv)). " + ("Not reached:" if missed else ""),
        as_markdown(["figure", "target", "measured"], rows) if rows else "",
    ]


# ---- figures beside other libraries -----------------------------------------------------------------------


def with_measured(text: str, results: dict[str, Any]) -> str:
    """A page with the figures of a run between the two marks; a page without marks stays as it is."""
    before, mark, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        return text
    return f"{before}{BEGIN}\n\n{measured_table(results)}\n\n{END}{after}"


def measured_table(results: dict[str, Any]) -> str:
    """A few figures beside Pinocchio, MuJoCo, Drake and OpenSim, the least in bold."""
    figures = Results(results)

    def row(what: str, values: dict[str, float | None], unit: str) -> list[str]:
        least = min((x for x in values.values() if x is not None), default=None)
        cells = ["not measured" if x is None else f"{rounded(x, 2)} {unit}" for x in values.values()]
        bold = [
            f"**{cell}**" if x is not None and x == least else cell
            for x, cell in zip(values.values(), cells, strict=True)
        ]
        return [what, *bold]

    names = ("kinetree", "pinocchio", "mujoco", "drake", "opensim")

    def timed(quantity: str, model: str, batch: int | None) -> dict[str, float | None]:
        found = {name: figures.time(model, quantity, batch, name) for name in names}
        return {name: None if time is None else time / 1e3 for name, time in found.items()}

    falls = {name: figures.simulation_time("KUKA KR5", name) for name in names}
    by_simulate = falls | {"kinetree": figures.simulation_time("KUKA KR5", "kinetree simulate")}
    rows = [
        row("inverse dynamics of a 6-axis arm, one call", timed("inverse dynamics", "arm", None), "µs"),
        row(f"the same, {BATCH} states", timed("inverse dynamics", "arm", BATCH), "µs per state"),
        row(
            f"forward dynamics of a 55-DOF humanoid, {BATCH} states",
            timed("forward dynamics", "humanoid", BATCH),
            "µs per state",
        ),
        row(
            "gradients of inverse dynamics, 6-axis arm, one call",
            timed("inverse dynamics gradients", "arm", None),
            "µs",
        ),
        row("arm falls for 1 s, error 1e-6, by a prepared `Simulator`", falls, "ms"),
        row("the same by `kt.simulate`, with energy audit and labels", by_simulate, "ms"),
    ]
    return as_markdown(["measured", "Kinetree", "Pinocchio", "MuJoCo", "Drake", "OpenSim"], rows)
