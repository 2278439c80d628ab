"""Figures of predictions as tables of text."""

from __future__ import annotations

from typing import Any

from benchmarks.table import NOTHING, Table


def prediction_tables(results: dict[str, Any]) -> list[Table]:
    """Cases beside IPOPT and CasADi, refined meshes, random starts."""
    return [_cases(results), _refined(results), _starts(results)]


def _cases(results: dict[str, Any]) -> Table:
    head = ("case", "unknowns", "rows", "objective", "total ms", "solve ms", "iterations")
    peers = ("total ms", "solve ms", "objective")
    head = (*head, *(f"{name} {what}" for name in ("IPOPT", "CasADi") for what in peers))
    rows = [
        (
            row["case"],
            str(row["variables"]),
            str(row["constraints"]),
            f"{row['objective']:.6f}",
            f"{1e3 * row['total']:.1f}",
            f"{1e3 * row['solve']:.1f}",
            str(row["iterations"]),
            *_peer(row.get("ipopt")),
            *_peer(row.get("casadi")),
        )
        for row in results.get("predictions", ())
    ]
    note = (
        "Wall time from the problem's statement to the verified result, best of some rounds, by our "
        "interior-point solver. IPOPT solves the same program; CasADi states the problem itself, for IPOPT."
    )
    return Table("Prediction", note, head, rows)


def _peer(found: dict[str, float] | None) -> tuple[str, ...]:
    if found is None:
        return (NOTHING,) * 3
    return f"{1e3 * found['total']:.1f}", f"{1e3 * found['solve']:.1f}", f"{found['objective']:.6f}"


def _refined(results: dict[str, Any]) -> Table:
    rows = [
        (
            row["case"],
            f"{row['objective']:.7f}",
            f"{row['error']:.1e}",
            f"{1e3 * row['seconds']:.0f}",
            ", ".join(f"{t:.5f}" for t in row["switches"]) or NOTHING,
        )
        for row in results.get("refined", ())
    ]
    head = ("case", "objective", "error", "ms", "switching times (s)")
    return Table("Refined meshes", "Difference from the optimum known by shooting.", head, rows)


def _starts(results: dict[str, Any]) -> Table:
    rows = [(row["case"], f"{row['same']} of {row['starts']}") for row in results.get("starts", ())]
    return Table("Random starts", "How many find the same motion.", ("case", "same"), rows)
