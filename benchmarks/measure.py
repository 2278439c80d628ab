"""The measurements, each a function of a plan that returns plain data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict
from time import perf_counter
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.counts import operations, workspace_bytes
from benchmarks.kinetree_calls import FULL, KERNEL, QUANTITIES, Quantity, contestants, threaded_call
from benchmarks.mechanisms import MODELS, balanced_tree, star
from benchmarks.peers import Field, field_of, relative_error
from benchmarks.plan import LARGE, Plan
from benchmarks.states import States, random_states
from benchmarks.timing import race

LARGEST_ANSWER = 5e8  # bytes; batches with larger answers are left out
QUICKEST_PEERS = ("pinocchio", "pinocchio parallel", "mujoco rollout")  # who takes part in the largest batch
KERNEL_BATCH = 1024
PEER_BATCH = 32  # states that peers loop over where lengths, not batches, are compared; fewer if very long
Row = dict[str, Any]
Say = Callable[[str], None]


def timings(plan: Plan, say: Say) -> tuple[list[Row], list[Row], dict[str, str]]:
    """Every model, quantity and batch: times of all contestants, their agreement, and who is missing."""
    rows: list[Row] = []
    agreement: list[Row] = []
    left_out: dict[str, str] = {}
    for model in plan.models:
        field = timings_of(model, MODELS[model](), plan, say, rows)
        agreement += [{**row, "model": model} for row in field.agreement]
        left_out |= field.left_out
    return rows, agreement, left_out


def timings_of(model: str, mechanism: kt.Mechanism, plan: Plan, say: Say, rows: list[Row]) -> Field:
    """Every quantity and batch of one mechanism, appended to the rows; returns who took part."""
    states = random_states(mechanism)
    field = field_of(mechanism, states, plan.quantities)
    for name in plan.quantities:
        say(f"{model}: {name}")
        for batch in plan.batches:
            for row in _race(name, mechanism, states, field, batch, plan.seconds):
                rows.append({"model": model, "n_dof": mechanism.n_dof, **row})
    return field


def _race(
    name: str, mechanism: kt.Mechanism, states: States, field: Field, batch: int | None, seconds: float
) -> Iterator[Row]:
    """One quantity at one batch size; nothing if the answers would not fit into memory."""
    quantity = QUANTITIES[name]
    if quantity.bytes(mechanism) * (batch or 1) > LARGEST_ANSWER:
        return
    runners = contestants(quantity, mechanism, states, batch)
    for peer in field.peers:
        if batch != LARGE or peer.name in ("pinocchio", "mujoco"):
            runners += peer.contestants(name, batch)
    if batch == LARGE:
        runners = [x for x in runners if x.name.startswith(FULL) or x.name in QUICKEST_PEERS]
    for timing in race(runners, seconds):
        yield {"quantity": name, "batch": batch, **asdict(timing)}


def kernels(plan: Plan, rows: Collection[Row], peak: float) -> list[Row]:
    """Operations per state of every kernel, its share of the peak, and the workspace of a thread."""
    found = []
    for model in plan.models:
        mechanism = MODELS[model]()
        states = random_states(mechanism, 1)
        for name in plan.quantities:
            quantity = QUANTITIES[name]
            counted = operations(quantity, mechanism, states)
            times = [
                row["best"]
                for row in rows
                if (row["model"], row["quantity"], row["contestant"]) == (model, name, KERNEL)
                and row["batch"] == max(b for b in plan.batches if b and b <= KERNEL_BATCH)
            ]
            share = counted["total"] / times[0] / peak if times else None
            size = workspace_bytes(quantity, mechanism)
            found.append(
                {"model": model, "quantity": name, **counted, "share_of_peak": share, "workspace": size}
            )
    return found


def growth(plan: Plan, say: Say) -> list[Row]:
    """Chains and trees of growing length; peers loop over a few states, their time does not depend on it."""
    rows: list[Row] = []
    both = ("inverse dynamics", "forward dynamics")
    for shape, sizes, make, wanted in (
        ("chain", plan.chains, kt.zoo.chain, both),
        ("tree", plan.trees, balanced_tree, (*both, "mass matrix", "inverse dynamics gradients")),
    ):
        quantities = [name for name in wanted if name in plan.quantities]
        for n in sizes:
            say(f"{shape} of {n}")
            mechanism = make(n)
            states = random_states(mechanism, 4)
            field = field_of(mechanism, states, both, only=plan.growth_peers)
            for name in quantities:
                rows += _growth_race(plan, shape, n, name, mechanism, states, field)
    return rows


def _growth_race(
    plan: Plan, shape: str, n: int, name: str, mechanism: kt.Mechanism, states: States, field: Field
) -> Iterator[Row]:
    quantity = QUANTITIES[name]
    runners = contestants(quantity, mechanism, states, _fitting(quantity, mechanism, plan.growth_batch))
    if quantity.packed is not None:  # full matrices of the longest would fill the memory
        runners = [runner for runner in runners if runner.name != FULL]
    count = max(1, min(PEER_BATCH, plan.growth_batch, 3_000_000 // n**2))
    for peer in field.peers:
        if name != "inverse dynamics gradients" or peer.name != "mujoco":
            runners += peer.contestants(name, count)
    for timing in race(runners, plan.seconds):
        yield {"shape": shape, "n": n, "quantity": name, **asdict(timing)}


def exponents(rows: Collection[Row]) -> list[Row]:
    """Slope of log time over log length for every contestant and quantity of the chains."""
    found = []
    for shape in ("chain", "tree"):
        keys = {(row["quantity"], row["contestant"]) for row in rows if row["shape"] == shape}
        for quantity, contestant in sorted(keys):
            points = [
                (row["n"], row["best"])
                for row in rows
                if (row["shape"], row["quantity"], row["contestant"]) == (shape, quantity, contestant)
            ]
            if len(points) > 1:
                n, time = np.log(np.array(points)).T
                slope = float(np.polyfit(n, time, 1)[0])
                lengths = [points[0][0], points[-1][0]]
                found.append(
                    {
                        "shape": shape,
                        "quantity": quantity,
                        "contestant": contestant,
                        "exponent": slope,
                        "lengths": lengths,
                    }
                )
    return found


def threads(plan: Plan, say: Say) -> list[Row]:
    """Time on one thread over time on two, for batches of 65536 or as many states as fit into memory."""
    rows = []
    for model in plan.threaded:
        mechanism = MODELS[model]()
        states = random_states(mechanism)
        for name in ("inverse dynamics", "forward dynamics", "inverse dynamics gradients"):
            say(f"two threads, {model}: {name}")
            quantity = QUANTITIES[name]
            batch = _fitting(quantity, mechanism, LARGE)
            runners = [threaded_call(quantity, mechanism, states, batch, count) for count in (1, 2)]
            one, two = race(runners, plan.seconds)
            rows.append(
                {
                    "model": model,
                    "quantity": name,
                    "batch": batch,
                    "one": one.best,
                    "two": two.best,
                    "speed_up": one.best / two.best,
                }
            )
    return rows


def _fitting(quantity: Quantity, mechanism: kt.Mechanism, batch: int) -> int:
    """The batch, halved until its packed answer fits well into memory."""
    while quantity.packed_bytes(mechanism) * batch > LARGEST_ANSWER / 2:
        batch //= 2
    return batch


def extremes(plan: Plan, say: Say) -> list[Row]:
    """A very long chain and a body with very many branches: both dynamics, one call and a batch."""
    rows = []
    links, branches = plan.extremes
    for label, make, n in (("chain", kt.zoo.chain, links), ("branches on one body", star, branches)):
        say(f"{n} {label}")
        start = perf_counter()
        mechanism = make(n)
        built = perf_counter() - start
        states = random_states(mechanism, 4)
        q, qd, qdd, tau = states.q[0], states.qd[0], states.qdd[0], states.tau[0]
        found = kt.forward_dynamics(mechanism, q, qd, tau)
        error = relative_error(kt.inverse_dynamics(mechanism, q, qd, found), tau)
        row: Row = {"shape": label, "n": n, "n_dof": mechanism.n_dof, "build_seconds": built, "error": error}
        for name, inputs in (("inverse dynamics", (q, qd, qdd)), ("forward dynamics", (q, qd, tau))):
            call = QUANTITIES[name].full
            row[name] = min(_seconds(call, mechanism, inputs) for _ in range(5))
        rows.append(row)
    return rows


def _seconds(call: Callable[..., object], mechanism: kt.Mechanism, inputs: tuple[Any, ...]) -> float:
    start = perf_counter()
    call(mechanism, *inputs)
    return perf_counter() - start
