"""``python -m benchmarks.own MODEL``: one's own mechanism beside the peers that are installed."""

from __future__ import annotations

import argparse

from rich.console import Console

from benchmarks.kinetree_calls import QUANTITIES
from benchmarks.measure import Row, timings_of
from benchmarks.plan import ONE_CALL, PLANS, Plan
from benchmarks.table import NOTHING, Table
from benchmarks.terminal import WIDEST, rich_table
from kinetree.study.models import mechanism_of


def main(arguments: list[str] | None = None) -> int:
    """Race all contestants on a mechanism and print the times per state."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.own", description=__doc__)
    parser.add_argument("model", help="a mechanism file, a study, or a name of the zoo")
    parser.add_argument("--batch", type=int, default=1024, help="states in a batch")
    parser.add_argument("--seconds", type=float, default=PLANS["quick"].seconds, help="for each race")
    parser.add_argument(
        "--quantity", action="append", choices=list(QUANTITIES), help="what is timed; all unless given"
    )
    options = parser.parse_args(arguments)
    mechanism = mechanism_of(options.model)
    plan = Plan(
        "own",
        quantities=tuple(options.quantity or QUANTITIES),
        batches=(ONE_CALL, options.batch),
        seconds=options.seconds,
    )
    console, rows = Console(), list[Row]()
    if not console.is_terminal:
        console = Console(width=WIDEST)
    field = timings_of(mechanism.name, mechanism, plan, lambda text: None, rows)
    for batch, title in ((ONE_CALL, "one call"), (options.batch, f"batch of {options.batch}")):
        console.print(rich_table(table([row for row in rows if row["batch"] == batch], title)))
    for name, reason in field.left_out.items():
        console.print(f"{name}: {reason}", highlight=False)
    return 0


def table(rows: list[Row], title: str) -> Table:
    """Nanoseconds per state: a row for each quantity, a column for each contestant."""
    contestants = list(dict.fromkeys(row["contestant"] for row in rows))
    best = {(row["quantity"], row["contestant"]): f"{row['best']:.0f}" for row in rows}
    body = [
        (quantity, *(best.get((quantity, name), NOTHING) for name in contestants))
        for quantity in dict.fromkeys(row["quantity"] for row in rows)
    ]
    return Table(title, "Nanoseconds per state, the best of many windows.", ("quantity", *contestants), body)


if __name__ == "__main__":
    raise SystemExit(main())
