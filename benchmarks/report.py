"""The run in the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from benchmarks.tables import all_tables
from benchmarks.terminal import rich_table


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
