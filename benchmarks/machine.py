"""What the figures were measured on, and how much one core can do: arithmetic, and writing to memory."""

from __future__ import annotations

import os
import platform
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numba
import numpy as np

from kinetree.algebra.memory import aligned
from kinetree.engine.lanes import FLAGS, fields, register_all
from kinetree.engine.lanes.blocks import lanes_at, stream
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import LANES

PACKAGES = (
    *("kinetree", "numpy", "numba", "llvmlite", "pin", "mujoco", "drake", "opensim"),
    "roboticstoolbox-python",
)
CHAINS = 12  # independent sums: enough to keep two units with a latency of four or five cycles busy
layout: Any = Layout
FACTORS = layout(world=False, x=CHAINS, a=1, b=1)


def description() -> dict[str, Any]:
    """Processor, cores, system, versions and date."""
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_gb": _memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := _version(name)) is not None},
        "lanes": LANES,
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """The processor's model as the system names it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        values = dict(_pairs(info.read_text(encoding="utf-8")))
        if "model name" in values:
            where = ", ".join(f"{key} {values[key]}" for key in ("cpu family", "model") if key in values)
            return f"{values['model name']} ({where})" if where else values["model name"]
    return platform.processor() or platform.machine()


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.split(":", 1) for line in text.splitlines() if ":" in line]
    return [(key.strip(), value.strip()) for key, value in reversed(lines)]  # the first processor wins


def _memory() -> float | None:
    if not hasattr(os, "sysconf") or "SC_PHYS_PAGES" not in os.sysconf_names:
        return None
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def fused_peak(windows: int = 30) -> float:
    """Floating-point operations per nanosecond of one core: lanes of fused multiply-adds in registers."""
    run = _compiled()
    memory = aligned(FACTORS.width * LANES)
    repeats, best = 100_000, 0.0
    for _ in range(windows + 1):
        memory[:] = 0.5
        start = perf_counter_ns()
        run(memory, repeats)
        best = max(best, 2 * CHAINS * LANES * repeats / (perf_counter_ns() - start))
    assert np.isfinite(memory).all()
    return best


def thread_gain(windows: int = 20) -> float:
    """How many times as much arithmetic as one thread two threads do at once: 2 on two idle cores."""
    run, memories = _compiled(), [aligned(FACTORS.width * LANES) for _ in range(2)]
    repeats = 400_000

    def seconds(count: int) -> float:
        for memory in memories:
            memory[:] = 0.5
        start = perf_counter_ns()
        list(pool.map(run, memories[:count], [repeats] * count))
        return perf_counter_ns() - start

    with ThreadPoolExecutor(2) as pool:
        pairs = [(seconds(1), seconds(2)) for _ in range(windows)]
    return 2.0 * min(one for one, _ in pairs) / min(two for _, two in pairs)


def write_peak(megabytes: int = 128, windows: int = 10) -> float:
    """Gigabytes per second that one core writes past the caches."""
    run = _compiled_writing()
    memory = aligned(megabytes * 2**20 // 8)
    best = 0.0
    for _ in range(windows + 1):  # the first touches the pages
        start = perf_counter_ns()
        run(memory)
        best = max(best, 8 * memory.size / (perf_counter_ns() - start))
    return best


@cache
def _compiled() -> Any:
    register_all()
    return numba.njit(fastmath=set(FLAGS), error_model="numpy", nogil=True)(_multiply_add)


@cache
def _compiled_writing() -> Any:
    register_all()
    return numba.njit(_write_past_caches)


def _write_past_caches(memory):  # type: ignore[no-untyped-def]
    x = lanes_at(memory, 0, 4)
    for k in range(0, memory.size, 4):
        stream(memory, k, x)


def _multiply_add(memory, repeats):  # type: ignore[no-untyped-def]
    work = fields(memory, FACTORS, LANES, 0)
    a, b = work.a[0], work.b[0]
    x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11 = work.x[0]
    for _ in range(repeats):
        x0, x1, x2, x3 = x0 * a + b, x1 * a + b, x2 * a + b, x3 * a + b
        x4, x5, x6, x7 = x4 * a + b, x5 * a + b, x6 * a + b, x7 * a + b
        x8, x9, x10, x11 = x8 * a + b, x9 * a + b, x10 * a + b, x11 * a + b
    work.x[0] = (x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11)
