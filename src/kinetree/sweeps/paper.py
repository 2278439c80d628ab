"""A sweep on paper: how large it is, before anything runs."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.result.zarr_store import CHUNK_CASES, STATUS_CHUNK
from kinetree.sweeps.case import job_text
from kinetree.sweeps.plan import Plan


def on_paper(plan: Plan) -> dict[str, Any]:
    """Cases, axes, how they run, memory of the planner, and about how many files there will be."""
    began = perf_counter()
    count, measures = plan.count, max(1, len(plan.sweep.measures) or 3)
    tables = sum(
        column.values.nbytes if isinstance(column.values, np.ndarray) else sys.getsizeof(column.values)
        for column in plan.columns
    )
    chunks = -(-count // CHUNK_CASES)
    kept = len(plan.sweep.keep)
    last = plan.words(count - 1)
    return {
        "cases": count,
        "axes": " x ".join(f"{dim.name} {dim.size}" for dim in plan.dims),
        "first case": plan.words(0),
        "last case": last,
        "runs": "in SIMD lanes of this process" if plan.lanes else "one case at a time",
        "size of a case": f"{len(job_text(plan)):,} bytes",
        "memory of the planner": f"{(tables + 2 * count) / 1e6:.3g} MB",
        "files": f"about {chunks * measures + -(-count // STATUS_CHUNK):,}"
        + (f", and more for {kept} variables that are stored in full" if kept else ""),
        "planned in": f"{perf_counter() - began:.3g} s",
    }
