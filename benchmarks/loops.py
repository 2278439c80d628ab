"""Mechanisms with closed loops: accelerations and torques, growth with the number of loops, simulations.

Every contestant is checked against singular values before anything is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from itertools import cycle
from time import perf_counter, thread_time_ns
from typing import Any

import numpy as np

import kinetree as kt
from benchmarks.loop_cases import CASES, LoopCase, closed_chain, ladder_states, series
from benchmarks.mechanisms import padded
from benchmarks.plan import Plan
from benchmarks.reach import times_to_reach
from benchmarks.simulation import Point, curve, timed
from benchmarks.simulation_cases import Runner, final_positions
from benchmarks.timing import Contestant, race
from kinetree.algebra.arrays import Array
from kinetree.analysis.inverse import bias_torque, mass_matrix
from kinetree.dynamics.loops.linear import constrained
from kinetree.dynamics.loops.program import loop_program
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.system import constraints

Row = dict[str, Any]
Say = Callable[[str], None]
States = tuple[Array, Array, Array]
BATCH = 1024
CHECKED = 8  # states that are compared with singular values
WANTED = (1e-6, 1e-9)  # errors at which simulations are compared
METHODS = ("dop853", "dopri5")
SHAPES: dict[str, Callable[[int], kt.Mechanism]] = {
    "ladder": kt.zoo.n_four_bar,
    "series": series,
    "closed chain": closed_chain,
}


def loops(plan: Plan, say: Say) -> dict[str, list[Row]]:
    """All figures of mechanisms with closed loops."""
    curves: list[Row] = []
    for name in plan.loop_motions:
        case = CASES[name]()
        say(f"loops: {case.name}")
        curves += timed(_points(case, plan), plan.seconds)
    return {
        "loop_timings": [row for name in plan.loops for row in _timings(name, plan, say)],
        "loop_growth": [row for shape, n in plan.loop_growth for row in _growth(shape, n, plan, say)],
        "loop_curves": curves,
        "loop_times": [row for wanted in WANTED for row in times_to_reach(curves, wanted)],
    }


# ---- accelerations and torques -------------------------------------------------------------------------
def _states(mechanism: kt.Mechanism, count: int) -> States:
    if mechanism.name == "n_four_bar":
        return ladder_states(mechanism, count)
    at = fitting_state(mechanism, count)
    return at.q, at.qd, np.random.default_rng(0).standard_normal(at.q.shape)


def _exact(mechanism: kt.Mechanism, states: States) -> Array:
    """Accelerations by singular values."""
    q, qd, tau = (x[:CHECKED] for x in states)
    found, tree = constraints(mechanism, q, qd), mechanism.opened()
    right = tau - bias_torque(tree, q, qd)
    return constrained(mass_matrix(tree, q), found.J, right[..., None], found.rate[..., None])[0][..., 0]


def _timings(name: str, plan: Plan, say: Say) -> list[Row]:
    """One mechanism: accelerations one by one and in batches, beside Pinocchio; torques in batches."""
    mechanism = kt.zoo.n_four_bar(40) if name == "ladder of 40" else kt.zoo.by_name(name)
    say(f"loops: {name}")
    states = _states(mechanism, BATCH)
    exact = _exact(mechanism, states)
    size = np.abs(exact).max()
    errors = {"kinetree": np.abs(kt.forward_dynamics(mechanism, *states)[:CHECKED] - exact).max() / size}
    one = cycle(zip(*states, strict=True))
    contestants = {
        ("forward dynamics", None): [
            Contestant("kinetree", lambda: kt.forward_dynamics(mechanism, *next(one)))
        ],
        ("forward dynamics", BATCH): [
            Contestant("kinetree", partial(kt.forward_dynamics, mechanism, *states, threads=1), BATCH)
        ],
    }
    if (peer := _peer("pinocchio_loops")) is not None:
        model = peer.PinocchioLoops(mechanism)
        inputs = [np.ascontiguousarray(x[:, model.order]) for x in states]
        for way in peer.WAYS:
            answer = model.accelerations(way)
            found = np.array([answer(*one) for one in zip(*(x[:CHECKED] for x in inputs), strict=True)])
            who = f"pinocchio {way}"
            errors[who] = np.abs(found - exact[:, model.order]).max() / size
            call = partial(_next_of, cycle(zip(*inputs, strict=True)), answer)
            contestants["forward dynamics", None].append(Contestant(who, call))
    rows = _raced(mechanism, name, contestants, errors, plan.seconds)
    return rows + _torques(mechanism, name, plan)


def _next_of(states: Any, answer: Callable[..., Array]) -> Array:
    return answer(*next(states))


def _torques(mechanism: kt.Mechanism, name: str, plan: Plan) -> list[Row]:
    """Inverse dynamics in batches; the error is what the motion needs beyond what the drives give."""
    if name == "ladder of 40":
        return []
    at = fitting_state(mechanism, BATCH)
    tau = kt.inverse_dynamics(mechanism, at.q, at.qd, at.qdd)
    back = kt.forward_dynamics(mechanism, at.q, at.qd, tau)
    error = {"kinetree": np.abs(back - at.qdd).max() / np.abs(at.qdd).max()}
    call = partial(kt.inverse_dynamics, mechanism, at.q, at.qd, at.qdd, threads=1)
    one = cycle(zip(at.q, at.qd, at.qdd, strict=True))
    alone = [Contestant("kinetree", lambda: kt.inverse_dynamics(mechanism, *next(one)))]
    if (peer := _peer("pinocchio_loops")) is not None and not _is_redundant(mechanism):
        model, inputs = peer.PinocchioLoops(mechanism), (at.q, at.qd, at.qdd)
        answer = model.torques(mechanism.driven)
        ordered = [np.ascontiguousarray(x[:, model.order]) for x in inputs]
        found = np.array([answer(*one) for one in zip(*(x[:CHECKED] for x in ordered), strict=True)])
        size = np.abs(tau).max()
        error["pinocchio rnea + NumPy"] = np.abs(found - tau[:CHECKED, model.order]).max() / size
        alone.append(
            Contestant("pinocchio rnea + NumPy", partial(_next_of, cycle(zip(*ordered, strict=True)), answer))
        )
    who = {
        ("inverse dynamics", None): alone,
        ("inverse dynamics", BATCH): [Contestant("kinetree", call, BATCH)],
    }
    return _raced(mechanism, name, who, error, plan.seconds)


def _is_redundant(mechanism: kt.Mechanism) -> bool:
    """Whether points of cut joints say the same more than once, so that there is no square system."""
    return any(loop.joint.kind != "spherical" for loop in mechanism.loops)


def _raced(
    mechanism: kt.Mechanism, name: str, contestants: dict[Any, list[Contestant]], errors: Any, seconds: float
) -> list[Row]:
    return [
        {
            "mechanism": name,
            "n_dof": mechanism.n_dof,
            "loops": len(mechanism.loops),
            "quantity": quantity,
            "batch": batch,
            "contestant": timing.contestant,
            "best": timing.best,
            "median": timing.median,
            "windows": timing.windows,
            "error": float(errors[timing.contestant]),
        }
        for (quantity, batch), some in contestants.items()
        for timing in race(some, seconds, clock=thread_time_ns)
    ]


def _peer(name: str) -> Any:
    """A peer's module, or nothing if it is not installed."""
    try:
        return import_module(f"benchmarks.peers.{name}")
    except ModuleNotFoundError:
        return None


# ---- growth --------------------------------------------------------------------------------------------
def _growth(shape: str, size: int, plan: Plan, say: Say) -> list[Row]:
    """Accelerations in batches and the preparation, for one size of a shape."""
    say(f"loops: {shape} of {size}")
    mechanism, count = SHAPES[shape](size), plan.loop_batch
    begin = perf_counter()
    program = loop_program(mechanism)
    prepared = perf_counter() - begin
    sign = ladder_states(mechanism, count) if shape == "ladder" else None
    states = sign if sign is not None else _near_the_start(mechanism, count)
    call = partial(kt.forward_dynamics, mechanism, *states, threads=1)
    (timing,) = race([Contestant("kinetree", call, count)], plan.seconds, clock=thread_time_ns)
    return [
        {
            "shape": shape,
            "size": size,
            "n_dof": mechanism.n_dof,
            "loops": len(mechanism.loops),
            "operations": program.tables.operations,
            "segments": len(program.tables.tables["segments"]),
            "prepared": prepared,
            "contestant": "kinetree",
            "best": timing.best,
            "median": timing.median,
            "windows": timing.windows,
        }
    ]


def _near_the_start(mechanism: kt.Mechanism, count: int) -> States:
    at = fitting_state(mechanism, count)
    return at.q, at.qd, np.random.default_rng(0).standard_normal(at.q.shape)


# ---- simulations ---------------------------------------------------------------------------------------
def _points(case: LoopCase, plan: Plan) -> list[Point]:
    """Errors of all contestants, methods and settings that are worth their time."""
    found, sharp = list[Point](), case.reference()
    for method in METHODS:
        for contestant, calls in (
            ("kinetree", partial(_prepared, case)),
            ("kinetree simulate", lambda method, x: partial(case.public, method, x)),
        ):
            line = [Runner(contestant, method, x, calls(method, x), final_positions) for x in plan.tolerances]
            found += curve(case, line, sharp)
    if case.mechanism.springs:  # peers have no springs between points of bodies, short of callbacks
        return found
    if (pinocchio := _peer("pinocchio_loops")) is not None:
        for line in pinocchio.runners(case, plan.tolerances).values():
            found += curve(case, line, sharp)
    if (mujoco := _peer("mujoco_loops")) is not None:
        filled = padded(case.mechanism)
        sharp = case.reference(filled)
        for line in mujoco.runners(case, filled, plan.step_counts).values():
            found += curve(case, line, sharp)
    return found


def _prepared(case: LoopCase, method: str, tolerance: float) -> Callable[[], Any]:
    simulator = case.simulator(method=method, rtol=tolerance, atol=tolerance)
    return partial(simulator.run, case.q0, case.rates)
