"""The command: python -m fuzz NAME COUNT SEED."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from pathlib import Path

from fuzz.catalogue import FUZZERS
from fuzz.runner import attempt, elapsed, run


def main() -> int:
    """Run a fuzzer and print how many cases ended how; 1 if there are faults."""
    reader = argparse.ArgumentParser("fuzz", description=__doc__)
    reader.add_argument("name", nargs="?", choices=[*FUZZERS, "all"], help="which fuzzer")
    reader.add_argument("count", nargs="?", type=int, default=100, help="number of cases")
    reader.add_argument("seed", nargs="?", type=int, default=0, help="seed of the random numbers")
    reader.add_argument("--case", type=int, help="try this case alone, in this process")
    given = reader.parse_args()
    if given.name is None:
        for fuzzer in FUZZERS.values():
            print(f"{fuzzer.name:8} {fuzzer.about}")
        return 0
    chosen = FUZZERS.values() if given.name == "all" else [FUZZERS[given.name]]
    faults = 0
    for fuzzer in chosen:
        if given.case is not None:
            warnings.simplefilter("ignore")
            fuzzer.prepare()
            with tempfile.TemporaryDirectory() as folder:
                print(*attempt(fuzzer, given.seed, given.case, Path(folder)), sep="\n")
            continue
        began = time.perf_counter()
        report = run(fuzzer, given.count, given.seed)
        print(f"{report} ({elapsed(began)})")
        for case, outcome, detail in report.faults:
            print(f"  case {case}: {outcome}: {detail}")
        faults += len(report.faults)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
