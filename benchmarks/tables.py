"""The figures of a run as tables of text, for the terminal and for the documentation alike."""

from __future__ import annotations

from typing import Any

from benchmarks.hybrid import WAYS
from benchmarks.loop_tables import loop_tables
from benchmarks.prediction_tables import prediction_tables
from benchmarks.simulation_tables import rollout_table, simulation_tables
from benchmarks.table import NOTHING as NOTHING
from benchmarks.table import Table as Table
from benchmarks.targets import Results, verdicts

OURS = ("kinetree", "kinetree packed", "kinetree kernel")
PEERS = (
    "pinocchio",
    "pinocchio 1-DOF",
    "pinocchio parallel",
    "mujoco",
    "mujoco mj_rne",
    "mujoco rollout",
    "drake",
    "opensim",
    "robotics-toolbox",
)


def all_tables(results: dict[str, Any]) -> list[Table]:
    """Every table that has rows."""
    tables = [
        target_table(results),
        *timing_tables(results),
        kernel_table(results),
        growth_table(results),
        exponent_table(results),
        thread_table(results),
        startup_table(results),
        first_minute_table(results),
        extreme_table(results),
        hybrid_table(results),
        *code_tables(results),
        memory_table(results),
        *simulation_tables(results),
        rollout_table(results),
        *loop_tables(results),
        *prediction_tables(results),
        agreement_table(results),
    ]
    return [table for table in tables if table.rows]


def target_table(results: dict[str, Any]) -> Table:
    """Targets, figures, verdicts."""
    words = {True: "reached", False: "not reached", None: "not measured"}
    rows = [
        (
            verdict.what,
            verdict.goal,
            NOTHING if verdict.value is None else f"{verdict.value:.3g} {verdict.unit}".strip(),
            words[verdict.reached],
        )
        for verdict in verdicts(results)
    ]
    count = {word: sum(row[3] == word for row in rows) for word in words.values()}
    note = ", ".join(f"{number} {word}" for word, number in count.items())
    return Table("Targets", f"{note}.", ("figure", "target", "measured", "verdict"), rows)


def timing_tables(results: dict[str, Any]) -> list[Table]:
    """One table for each model: nanoseconds per state, and in brackets how many times Kinetree is faster."""
    found = []
    models = dict.fromkeys(row["model"] for row in results["timings"])
    for model in models:
        here = [row for row in results["timings"] if row["model"] == model]
        present = {row["contestant"] for row in here}
        columns = [name for name in (*OURS, *PEERS) if name in present]
        keys = dict.fromkeys((row["quantity"], row["batch"]) for row in here)
        rows = [_timing_row(results, model, quantity, batch, columns) for quantity, batch in keys]
        note = (
            "Nanoseconds per state, best window; in brackets: times the public call of Kinetree. "
            "One call has no batch axis."
        )
        title = f"{model}, {here[0]['n_dof']} degrees of freedom"
        found.append(Table(title, note, ("quantity", "batch", *columns), rows))
    return found


def _timing_row(
    results: dict[str, Any], model: str, quantity: str, batch: int | None, columns: list[str]
) -> tuple[str, ...]:
    figures = Results(results)
    ours = figures.time(model, quantity, batch, OURS[0])
    cells = []
    for name in columns:
        time = figures.time(model, quantity, batch, name)
        ratio = f" ({time / ours:.3g})" if time and ours and name in PEERS else ""
        cells.append(NOTHING if time is None else f"{time:,.0f}{ratio}")
    return quantity, "one call" if batch is None else f"{batch:,}", *cells


def kernel_table(results: dict[str, Any]) -> Table:
    """Operations, share of the peak, workspace."""
    peak = results["peak_gflops"]
    rows = [
        (
            row["model"],
            row["quantity"],
            f"{row['multiplications']:,}",
            f"{row['additions']:,}",
            f"{row['divisions']:,}",
            f"{row['sincos']:,}",
            NOTHING if row["share_of_peak"] is None else f"{100 * row['share_of_peak']:.0f} %",
            f"{row['workspace'] / 1024:.1f}",
        )
        for row in results["kernels"]
    ]
    head = ("model", "quantity", "mul", "add", "div", "sincos", "share of peak", "workspace KiB per thread")
    note = (
        f"Operations per state, counted; share of the measured peak of one core, {peak:.1f} operations per "
        "nanosecond in fused multiply-adds. A sine and cosine counts as 36 operations."
    )
    return Table("Kernels alone", note, head, rows)


def growth_table(results: dict[str, Any]) -> Table:
    """Time per state over length."""
    rows_here = results["growth"]
    columns = [name for name in (*OURS, *PEERS) if name in {row["contestant"] for row in rows_here}]
    keys = dict.fromkeys((row["shape"], row["quantity"], row["n"]) for row in rows_here)
    figures = Results(results)
    rows = []
    for shape, quantity, n in keys:
        key = {"shape": shape, "quantity": quantity, "n": n}
        times = [figures.find("growth", "best", **key, contestant=name) for name in columns]
        cells = [NOTHING if time is None else f"{time:,.0f}" for time in times]
        rows.append((shape, quantity, f"{n:,}", *cells))
    note = "Nanoseconds per state of chains and of trees of depth log2 n."
    return Table("Growth", note, ("shape", "quantity", "n", *columns), sorted(rows, key=lambda row: row[:2]))


def exponent_table(results: dict[str, Any]) -> Table:
    """Slopes of log time over log length."""
    rows = [
        (
            row["shape"],
            row["quantity"],
            row["contestant"],
            f"{row['exponent']:.3f}",
            f"{row['lengths'][0]} to {row['lengths'][1]}",
        )
        for row in results["exponents"]
    ]
    note = "Slope of log time over log n."
    return Table("Growth exponents", note, ("shape", "quantity", "contestant", "exponent", "n"), rows)


def thread_table(results: dict[str, Any]) -> Table:
    """One thread and two."""
    rows = [
        (
            row["model"],
            row["quantity"],
            f"{row['batch']:,}",
            f"{row['one']:,.0f}",
            f"{row['two']:,.0f}",
            f"{row['speed_up']:.2f}",
        )
        for row in results["threads"]
    ]
    head = ("model", "quantity", "batch", "one thread", "two threads", "speed-up")
    return Table("Two threads", "Nanoseconds per state.", head, rows)


def startup_table(results: dict[str, Any]) -> Table:
    """A new process, with the cache and without."""
    warm, cold = results["startup"]["warm"], results["startup"]["cold"]
    steps = dict.fromkeys((*warm, *cold))
    rows = [
        (step, *(f"{seconds[step]:.2f}" if step in seconds else NOTHING for seconds in (warm, cold)))
        for step in steps
    ]
    note = (
        "Seconds in a new process, step after step; the first call also imports the compiler. "
        "Cold: the kernel cache is empty."
    )
    return Table("Start", note, ("step", "from the cache", "cold"), rows)


def first_minute_table(results: dict[str, Any]) -> Table:
    """What newcomers do first, with an empty cache."""
    found = results["startup"].get("minute") or {"compiled": {}, "wheel": {}}
    rows = [
        (name, f"{seconds:.1f}", f"{found['wheel'][name]:.1f}") for name, seconds in found["compiled"].items()
    ]
    note = "Seconds of a process from start to end, with an empty cache; two cores compile."
    return Table("First minute", note, ("what", "compiled", "with the code of a wheel"), rows)


def hybrid_table(results: dict[str, Any]) -> Table:
    """Hybrid dynamics beside its neighbors."""
    note = (
        "Microseconds of processor time per state, in batches, one thread; some joints move as prescribed. "
        "By hand: put together from mass matrix and torques with NumPy."
    )
    rows = [(row["case"], *(f"{row[way]:.2f}" for way in WAYS)) for row in results.get("hybrid", [])]
    return Table("Hybrid dynamics", note, ("case", *WAYS), rows)


def code_tables(results: dict[str, Any]) -> list[Table]:
    """Code made for one mechanism, in batches and as C."""
    made = [
        (
            row["model"],
            row["question"],
            f"{row['states']:,}",
            f"{row['general']:.1f}",
            f"{row['made']:.1f}",
            f"{row['general'] / row['made']:.2f}",
            f"{row['pinocchio'] / row['made']:.1f}" if row.get("pinocchio") else NOTHING,
            f"{row['seconds to make']:.2f}",
        )
        for row in results.get("code", [])
    ]
    head = ("model", "question", "states", "general", "made", "times faster", "Pinocchio / made", "made in s")
    note = (
        "Nanoseconds of processor time per state, one thread: the mechanism, and kt.specialize of it. "
        "Pinocchio from Python, by its fastest way. Seconds to make are small where the cache has the code."
    )
    ways = ("kinetree C", "casadi C", "pinocchio")
    in_c = [
        (row["model"], row["question"], *(f"{row[way]:.0f}" if row.get(way) else NOTHING for way in ways))
        for row in results.get("code_in_c", [])
    ]
    about = (
        "Nanoseconds of a call for one state: kt.export_code and CasADi's generated C, both in a loop in C, "
        "compiled by cc -O2; Pinocchio from Python."
    )
    return [
        Table("Code made for one mechanism", note, head, made),
        Table("C code", about, ("model", "question", *ways), in_c),
    ]


MATRICES = {"mass matrix": 1, "inverse dynamics gradients": 3, "forward dynamics gradients": 3}  # of n x n


def memory_table(results: dict[str, Any]) -> Table:
    """Full matrices beside the time that writing them takes, and that of the kernel alone."""
    figures, rows = Results(results), list[tuple[str, ...]]()
    sizes = {row["model"]: row["n_dof"] for row in results["timings"]}
    for model, n in sizes.items():
        for quantity, count in MATRICES.items():
            measured = figures.time(model, quantity, 1024, OURS[0])
            kernel = figures.time(model, quantity, 1024, OURS[2])
            if n * n * count < 1000 or measured is None or kernel is None:
                continue
            written = 8.0 * n * n * count
            limit = written / results["write_gb_per_s"]
            share = 100 * max(limit, kernel) / measured
            numbers = f"{limit:.0f}", f"{kernel:.0f}", f"{measured:.0f}", f"{share:.0f}"
            rows.append((model, quantity, f"{written / 1e3:.1f}", *numbers))
    note = (
        "One thread, 1024 states, nanoseconds per state: to write so many bytes past the caches at the "
        "measured bandwidth; of the kernel alone, which packs and writes no full matrices; of the call. "
        "The share is that of the longer of the first two. One core does both, so the call takes up to "
        "their sum: where the kernel is longer, arithmetic bounds the call, not memory."
    )
    head = ("model", "quantity", "kB written", "writing alone", "kernel alone", "whole", "share in %")
    return Table("Matrices and memory", note, head, rows)


def extreme_table(results: dict[str, Any]) -> Table:
    """Very long, very wide."""
    rows = [
        (
            f"{row['n']:,} {row['shape']}",
            f"{row['n_dof']:,}",
            f"{row['build_seconds']:.2f}",
            f"{1e3 * row['inverse dynamics']:.2f}",
            f"{1e3 * row['forward dynamics']:.2f}",
            f"{row['error']:.0e}",
        )
        for row in results["extremes"]
    ]
    head = ("mechanism", "n_dof", "built in s", "inverse in ms", "forward in ms", "inverse(forward) error")
    return Table("Extremes", "One state per call; the error is relative to the largest torque.", head, rows)


def agreement_table(results: dict[str, Any]) -> Table:
    """How far the peers' answers are from Kinetree's."""
    rows = [
        (row["model"], row["peer"], row["quantity"], f"{row['error']:.0e}") for row in results["agreement"]
    ]
    note = (
        "Largest difference beside the largest entry, in Kinetree's coordinates, over 64 states, before "
        "anything is timed. Accelerations are judged by the torques they need."
    )
    return Table("Agreement", note, ("model", "peer", "quantity", "error"), rows)
