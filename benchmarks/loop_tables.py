"""Figures of mechanisms with closed loops as tables of text."""

from __future__ import annotations

from math import log
from typing import Any

from benchmarks.table import NOTHING, Table


def loop_tables(results: dict[str, Any]) -> list[Table]:
    """Accelerations and torques, growth, simulations."""
    return [_timings(results), _growth(results), _times(results)]


def _timings(results: dict[str, Any]) -> Table:
    head = ("mechanism", "joints", "loops", "quantity", "batch", "contestant", "us per state", "error")
    rows = [
        (
            row["mechanism"],
            str(row["n_dof"]),
            str(row["loops"]),
            row["quantity"],
            "one call" if row["batch"] is None else str(row["batch"]),
            row["contestant"],
            f"{1e-3 * row['best']:.3g}",
            f"{row['error']:.0e}",
        )
        for row in results.get("loop_timings", ())
    ]
    note = (
        "Processor time per state on one thread, best window; the error is the largest beside accelerations "
        "by singular values, relative to the largest of them, and of inverse dynamics what forward dynamics "
        "makes of its torques. Pinocchio has its joints depth first, one point for each planar hinge, and "
        "the proximal terms 1e-8 (constraintDynamics) and 1e-6 (lcaba), with which it is most exact; it has "
        "no inverse dynamics with loops: its rnea and the Jacobian of its constraints, solved by NumPy, "
        "stand beside ours, and their error is the difference."
    )
    remark = results.get("loop_remark", "")
    return Table("Closed loops: one state, batches", f"{note} {remark}".strip(), head, rows)


def _growth(results: dict[str, Any]) -> Table:
    head = ("shape", "size", "joints", "segments", "operations", "us per state", "exponent", "preparation s")
    rows, before = [], dict[str, Any]()
    for row in results.get("loop_growth", ()):
        last, exponent = before.get(row["shape"]), NOTHING
        if last is not None:
            exponent = f"{log(row['best'] / last['best']) / log(row['size'] / last['size']):.2f}"
        before[row["shape"]] = row
        rows.append(
            (
                row["shape"],
                str(row["size"]),
                str(row["n_dof"]),
                str(row["segments"]),
                str(row["operations"]),
                f"{1e-3 * row['best']:.3g}",
                exponent,
                f"{row['prepared']:.2f}",
            )
        )
    note = (
        "Forward dynamics in batches: four-bars side by side (ladder), four-bars one on the coupler of the "
        "other (series), one chain of links in space. Operations are multiply-adds of factorization and "
        "solution; the exponent is from the size before. Long chains are divided into segments."
    )
    return Table("Closed loops: growth", note, head, rows)


def _times(results: dict[str, Any]) -> Table:
    found: dict[tuple[str, str, str], dict[float, Any]] = {}
    smallest: dict[tuple[str, str, str], float] = {}
    for row in results.get("loop_times", ()):
        key = row["case"], row["contestant"], row["method"]
        found.setdefault(key, {})[row["wanted"]] = row["milliseconds"]
        smallest[key] = row["smallest_error"]
    rows = [
        (
            *key,
            *(NOTHING if time.get(x) is None else f"{time[x]:.3g}" for x in (1e-6, 1e-9)),
            f"{smallest[key]:.0e}",
        )
        for key, time in found.items()
    ]
    words = {row["case"]: row["words"] for row in results.get("loop_curves", ())}
    cases = "; ".join(f"{case}: {text}" for case, text in words.items())
    note = (
        f"Milliseconds until the error of the final positions is 1e-6 and 1e-9. {cases}. Pinocchio is "
        "constraintDynamics in scipy's solve_ivp. MuJoCo's loops are soft, as stiff as its steps allow "
        "(solref of two steps, impedance 0.9999), in steps of 2.5 ms, 0.6 ms and 0.16 ms."
    )
    head = ("motion", "contestant", "method", "ms to 1e-6", "ms to 1e-9", "smallest error")
    return Table("Closed loops: simulations", note, head, rows)
