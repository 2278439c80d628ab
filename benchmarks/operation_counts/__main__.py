"""Write the tables and the curves: ``python -m benchmarks.operation_counts [folder]``."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.operation_counts import timed
from benchmarks.operation_counts.curves import figure
from benchmarks.operation_counts.tables import markdown


def main(folder: str = ".") -> None:
    """Write the tables and the curves."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    tables = markdown()
    (place / "operation_counts.md").write_text(tables, encoding="utf-8")
    figure().savefig(place / "operation_counts.png", dpi=90)
    drawing, times = timed.figure()
    drawing.savefig(place / "operation_times.png", dpi=90)
    print(tables)
    for floating, found in times.items():
        even = timed.break_even(found)
        print(f"{timed.LINES[floating]}: O(n) forward dynamics takes less time from n = {even} on")
        for name, values in found.microseconds.items():
            stated = (f"{n}: {x:.2f}" for n, x in zip(found.sizes, values, strict=True))
            print(f"  {name}, µs by degrees of freedom: {', '.join(stated)}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
