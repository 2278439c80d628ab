"""Code made for one mechanism beside general code and peers: `python -m benchmarks.code`.

In batches, one thread: `kt.specialize` beside the mechanism itself and Pinocchio called from Python, by its
fastest way. As C, one state per call in a loop in C: `kt.export_code` beside code that CasADi generates of
the same equations, both by `cc -O2`; Pinocchio's call from Python stands beside them.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.peers import casadi_tree
from benchmarks.states import States, random_states, repeated
from benchmarks.timing import Contestant, race
from kinetree.dynamics.specialized import LONGEST, made_code

MODELS: dict[str, Callable[[], kt.Mechanism]] = {"arm": kt.zoo.kuka_kr5, "humanoid": kt.zoo.humanoid}
ARGUMENTS = {
    "inverse_dynamics": ("q", "qd", "qdd"),
    "forward_dynamics": ("q", "qd", "tau"),
    "mass_matrix": ("q",),
    "inverse_dynamics_derivatives": ("q", "qd", "qdd"),
    "forward_dynamics_derivatives": ("q", "qd", "tau"),
}
IN_C = ("inverse_dynamics", "forward_dynamics")
WAYS = ("general", "made", "pinocchio")
CALLS_IN_C = 2000
DRIVER = """
#include <time.h>
{prototype}
double run(const double *q, const double *qd, const double *x, double *out, int count)
{{
    struct timespec a, b;
    int k;
    {setup}
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (k = 0; k < count; ++k) {call};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    return ((double)(b.tv_sec - a.tv_sec) * 1e9 + (double)(b.tv_nsec - a.tv_nsec)) / count;
}}
"""
Say = Callable[[str], None]


def batches(models: Sequence[str], count: int, seconds: float, say: Say) -> list[dict[str, Any]]:
    """A row for each model and question: nanoseconds per state, seconds of making the code."""
    return [
        {
            "model": model,
            "question": question,
            "states": count,
            **_batch(model, question, count, seconds, say),
        }
        for model in models
        for question in ARGUMENTS
        if made_code(question, MODELS[model]().tree).operations <= LONGEST[question]
    ]


def _batch(model: str, question: str, count: int, seconds: float, say: Say) -> dict[str, float]:
    say(f"code for one mechanism: {question} of {model}")
    mechanism = MODELS[model]()
    began = time.process_time()
    fast = kt.specialize(mechanism, question)
    made = time.process_time() - began
    states = random_states(mechanism)
    inputs = [repeated(getattr(states, name), count) for name in ARGUMENTS[question]]
    ask = getattr(kt, question)

    def call(robot: kt.Mechanism) -> Callable[[], object]:
        return lambda: ask(robot, *inputs, threads=1) if question != "mass_matrix" else ask(robot, *inputs)

    rivals = [Contestant("general", call(mechanism), count), Contestant("made", call(fast), count)]
    rivals += _pinocchio(mechanism, states, question, count)
    found: dict[str, float] = {"seconds to make": made}
    for timing in race(rivals, seconds, clock=time.thread_time_ns):
        name = timing.contestant if timing.contestant in WAYS else "pinocchio"
        found[name] = min(timing.best, found.get(name, np.inf))
    return found


def _pinocchio(mechanism: kt.Mechanism, states: States, question: str, batch: int | None) -> list[Contestant]:
    """Its ways to answer; none if it is not installed."""
    try:
        peer = import_module("benchmarks.peers.pinocchio")
    except ImportError:
        return []
    quantity = question.replace("_", " ").replace("derivatives", "gradients")
    rivals = [peer.Pinocchio(mechanism, states, one_axis=one) for one in (False, True)]
    return [x for rival in rivals for x in rival.contestants(quantity, batch)]


def calls_in_c(models: Sequence[str], seconds: float, say: Say) -> list[dict[str, Any]]:
    """A row for each model and question: nanoseconds of a call in C; none without a compiler."""
    compiler, rows = shutil.which("cc") or shutil.which("gcc"), list[dict[str, Any]]()
    for model in models if compiler else ():
        mechanism = MODELS[model]()
        states = random_states(mechanism)
        for question in IN_C:
            say(f"C code: {question} of {model}")
            rows.append({"model": model, "question": question})
            with tempfile.TemporaryDirectory() as folder:
                rows[-1]["kinetree C"] = _ours(mechanism, states, question, Path(folder), seconds)
            with tempfile.TemporaryDirectory() as folder:
                rows[-1]["casadi C"] = _casadi(mechanism, states, question, Path(folder), seconds)
            timings = race(_pinocchio(mechanism, states, question, None), seconds)
            rows[-1]["pinocchio"] = min((x.best for x in timings), default=None)
    return rows


def _ours(mechanism: kt.Mechanism, states: States, question: str, folder: Path, seconds: float) -> float:
    done = kt.export_code(mechanism, question, folder / "ours")
    (name,) = done.operations
    third = ARGUMENTS[question][2]
    prototype = f"void {name}(const double *, const double *, const double *, double *);"
    driver = DRIVER.format(prototype=prototype, setup="", call=f"{name}(q, qd, x, out)")
    return _timed(driver, done.folder / done.files[1], states, third, question, mechanism, seconds)


def _casadi(
    mechanism: kt.Mechanism, states: States, question: str, folder: Path, seconds: float
) -> float | None:
    """CasADi's code of its own recursion; accelerations by solving with the mass matrix, its Jacobian."""
    try:
        ca: Any = import_module("casadi")
    except ImportError:
        return None
    if question == "forward_dynamics" and mechanism.n_dof > 12:
        return None  # its symbolic factorization of a large matrix does not come to an end
    torques = casadi_tree.mechanics(ca, mechanism.tree)
    q, v, x = (ca.SX.sym(name, mechanism.n_dof) for name in ("q", "v", "x"))
    tau = torques(q, v, x, ca.SX.zeros(3, 0))[0]
    answer = tau
    if question == "forward_dynamics":
        M = ca.jacobian(tau, x)
        bias = ca.substitute(tau, x, ca.SX.zeros(mechanism.n_dof))
        answer = ca.ldl_solve(x - bias, *ca.ldl(M))
    function = ca.Function("f", [q, v, x], [answer])
    generated = folder / "f.c"
    generator = ca.CodeGenerator("f.c")
    generator.add(function)
    generator.generate(f"{folder}/")
    prototype = "int f(const double **, double **, long long *, double *, int);"
    work = function.sz_w(), function.sz_iw(), function.sz_arg(), function.sz_res()
    setup = (
        f"static double w[{work[0] + 1}]; static long long iw[{work[1] + 1}];"
        f"const double *arg[{work[2] + 3}] = {{q, qd, x}}; double *res[{work[3] + 1}] = {{out}};"
    )
    driver = DRIVER.format(prototype=prototype, setup=setup, call="f(arg, res, iw, w, 0)")
    third = ARGUMENTS[question][2]
    return _timed(driver, generated, states, third, question, mechanism, seconds)


def _timed(
    driver: str,
    source: Path,
    states: States,
    third: str,
    question: str,
    mechanism: kt.Mechanism,
    seconds: float,
) -> float:
    """Nanoseconds of a call, the best of many loops; its answer is compared first."""
    folder = source.parent
    (folder / "driver.c").write_text(driver)
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", "run.so", "driver.c", source.name, "-lm"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    library = ctypes.CDLL(str(folder / "run.so"))
    library.run.restype = ctypes.c_double
    rows = [np.ascontiguousarray(getattr(states, name)[0]) for name in ("q", "qd", third)]
    out = np.zeros(mechanism.n_dof)
    pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*rows, out)]
    library.run(*pointers, 1)
    expected = getattr(kt, question)(mechanism, *rows)
    if not np.abs(out - expected).max() < 1e-8 * np.abs(expected).max():
        raise SystemExit(f"{source}: the answer is wrong")
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end or best == np.inf:
        best = min(best, library.run(*pointers, CALLS_IN_C))
    return float(best)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=1024, help="states per call")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    options = parser.parse_args()
    for row in batches(tuple(MODELS), options.states, options.seconds, lambda text: None):
        gain, peer = row["general"] / row["made"], row.get("pinocchio", np.nan) / row["made"]
        print(
            f"{row['model']}, {row['question']}: general {row['general']:.1f} ns, made {row['made']:.1f} ns, "
            f"{gain:.2f}x, Pinocchio {peer:.1f}x, made in {row['seconds to make']:.2f} s"
        )
    for row in calls_in_c(tuple(MODELS), options.seconds, lambda text: None):
        print(row)


if __name__ == "__main__":
    main()
