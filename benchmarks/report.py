"""The run in the terminal, and as a page of the documentation."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from benchmarks.tables import all_tables
from benchmarks.terminal import is_number, rich_table

HOW = """\
This page is written by the program from the figures of one run; see
[the program's own page](../benchmarks/README.md).

How it is measured: every contestant has the same mechanism and the same states, and is checked against
Kinetree before anything is timed. Contestants take turns in windows of a few milliseconds, and the best
window counts, so that what else the machine does favors no side. One thread unless said otherwise.

The columns: **kinetree** is the public call with its full answer, checks and new arrays; **kinetree packed**
leaves matrices tree-sparse, as the kernel writes them, which only the library itself can ask for; 256 MB
of memory of earlier answers serve again (`KINETREE_KEEP_MB`), as peers write into memory of their own.
**kinetree kernel** is the compiled kernel alone, into
arrays made beforehand. **pinocchio** is called from Python, in a loop for batches, with its free, spherical
and universal joints; **pinocchio 1-DOF** has one joint per degree of freedom; **pinocchio parallel** is its
own loop over a batch in C++ on one thread. **mujoco** is mj_inverse or mj_forward without contacts and
constraints, with its free and ball joints, and finite differences for gradients; **mujoco mj_rne** leaves the
mass matrix out; **mujoco rollout** is one step per state, looped over in C. MuJoCo refuses bodies without
extent; those get 1e-6 of their largest second moment, at least 1e-9 kg m² and 1e-9 kg. Batches whose answers
take more than half a gigabyte are left out.

Simulations: every contestant runs through its tolerances or step lengths. The error is the largest of the
final positions (rad, m) beside a reference of Kinetree's at the tightest tolerance that works, 1e-13 or
1e-12, and time is that of the processor on this thread, so that what else the machine does counts little;
runs of more than 0.2 s are the better of two. Times to reach an error are read off the curve, from where on
its errors stay below, by straight lines in logarithms. **kinetree** is `Simulator.run`, prepared before, for
the final state; **kinetree simulate** prepares, integrates, audits the energy and labels 201 samples.
**pinocchio** is its articulated-body algorithm in scipy's `solve_ivp`, called from Python, with equal rtol
and atol; **mujoco** is its own stepping, all steps in one call, on bodies padded as above and compared with a
reference of the padded mechanism. On the ground all have the same contact law: Pinocchio, with one joint
per degree of freedom, as external forces, and MuJoCo as passive forces in every stage of a step, both from
plain Python.
"""


def print_report(results: dict[str, Any], console: Console) -> None:
    """Machine, tables, and who was left out."""
    for line in machine_lines(results):
        console.print(line, highlight=False)
    for table in all_tables(results):
        console.print()
        console.print(rich_table(table), highlight=False)
    for name, reason in results["left_out"].items():
        console.print(f"left out: {name}, {reason}", highlight=False, markup=False)


def machine_lines(results: dict[str, Any]) -> list[str]:
    """What the figures were measured on."""
    machine = results["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    memory = "" if machine["memory_gb"] is None else f", {machine['memory_gb']} GB"
    return [
        f"Processor: {machine['processor']}, {machine['cores']} cores{memory}, {machine['system']}",
        f"Python {machine['python']}, {versions}",
        f"Peak of one core: {results['peak_gflops']:.1f} GFLOP/s in fused multiply-adds, "
        f"{machine['lanes']} lanes; two threads do {results['thread_gain']:.2f} times as much",
        f"Memory takes {results['write_gb_per_s']:.1f} GB/s from one core in stores past the caches; full "
        "matrices of 55 degrees of freedom have 24 kB a state, gradients 73 kB",
        f"Run: {results['plan']}, {results['seconds']:.0f} s, {machine['date']}",
    ]


def page(results: dict[str, Any]) -> str:
    """The run as Markdown."""
    lines = ["# Benchmarks", "", HOW]
    lines += [f"- {line}" for line in machine_lines(results)]
    for name, reason in results["left_out"].items():
        lines.append(f"- Left out: {name}, {reason}")
    for table in all_tables(results):
        lines += ["", f"## {table.title}", "", table.note, ""]
        lines.append("| " + " | ".join(table.head) + " |")
        rules = ("---:" if is_number(table, k) else "---" for k in range(len(table.head)))
        lines.append("|" + "|".join(rules) + "|")
        lines += ["| " + " | ".join(row) + " |" for row in table.rows]
    return "\n".join(lines) + "\n"
