"""How much is measured: everything, the essential in seconds, or just enough to see that it runs."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.code import MODELS
from benchmarks.hybrid import CASES
from benchmarks.kinetree_calls import QUANTITIES

ONE_CALL: int | None = None  # one state per call, without a batch axis
LARGE = 65536


@dataclass(frozen=True)
class Plan:
    """Sizes and durations of a run; ``seconds`` for each race."""

    name: str
    models: tuple[str, ...] = ("arm", "quadruped", "humanoid")
    quantities: tuple[str, ...] = tuple(QUANTITIES)
    batches: tuple[int | None, ...] = (ONE_CALL, 1, 16, 1024, LARGE)
    seconds: float = 1.0
    chains: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000)
    trees: tuple[int, ...] = (15, 31, 63, 127, 255, 511, 1023)
    growth_batch: int = 1024
    growth_peers: tuple[str, ...] = ("pinocchio", "mujoco")
    threaded: tuple[str, ...] = ("arm", "humanoid")
    starts: int = 5
    cold: str = "all"  # which kernels are compiled from nothing: all, first or none
    extremes: tuple[int, int] = (5000, 1000)  # links of a chain, branches of a star
    hybrid: tuple[str, ...] = tuple(CASES)
    hybrid_states: int = 1024
    code: tuple[str, ...] = tuple(MODELS)
    code_in_c: tuple[str, ...] = ("arm", "humanoid")
    code_states: int = 1024
    simulations: tuple[str, ...] = ("gripper", "kuka", "chain", "quadruped")
    tolerances: tuple[float, ...] = tuple(10.0**-k for k in range(3, 13))
    step_counts: tuple[int, ...] = tuple(25 * 2**k for k in range(13))  # per simulated second
    rollouts: int = 1000
    predictions: tuple[str, ...] = (
        *("two-link minimum time", "two-link lifting", "sliding arm", "six axes, minimum time"),
        *("six axes, reaction limits", "seven axes around a sphere"),
    )
    loops: tuple[str, ...] = ("four_bar", "bricard", "stewart", "ladder of 40")
    loop_motions: tuple[str, ...] = ("four_bar", "three_rrr", "two_four_bars", "bricard", "andrews")
    loop_growth: tuple[tuple[str, int], ...] = (
        *(("ladder", n) for n in (10, 40, 160, 1000)),
        *(("series", n) for n in (10, 20, 40)),
        *(("closed chain", n) for n in (20, 40, 80)),
    )
    loop_batch: int = 64
    prediction_rounds: int = 15
    prediction_starts: int = 21


PLANS = {
    plan.name: plan
    for plan in (
        Plan("full"),
        Plan(
            "quick",
            models=("arm", "humanoid"),
            batches=(ONE_CALL, 1024),
            seconds=0.12,
            chains=(10, 100, 1000),
            trees=(),
            growth_peers=("pinocchio",),
            threaded=("humanoid",),
            starts=2,
            cold="none",
            simulations=("kuka", "chain"),
            predictions=("two-link minimum time", "six axes, minimum time"),
            prediction_rounds=5,
            prediction_starts=1,
            loops=("stewart", "ladder of 40"),
            loop_motions=("four_bar",),
            loop_growth=(("ladder", 10), ("series", 20)),
        ),
        Plan(
            "loops",
            models=(),
            hybrid=(),
            code=(),
            code_in_c=(),
            seconds=0.25,
            step_counts=(400, 1600, 6400),
            chains=(),
            trees=(),
            threaded=(),
            starts=0,
            cold="none",
            simulations=(),
            rollouts=0,
            predictions=(),
        ),
        Plan(
            "smoke",
            models=("arm",),
            quantities=("inverse dynamics",),
            batches=(ONE_CALL, 16),
            seconds=0.01,
            chains=(10, 20),
            trees=(7,),
            growth_batch=16,
            threaded=(),
            starts=0,
            cold="none",
            extremes=(20, 10),
            hybrid=tuple(CASES)[:1],
            hybrid_states=8,
            code=("arm",),
            code_in_c=("arm",),
            code_states=8,
            simulations=("gripper",),
            tolerances=(1e-4, 1e-7),
            step_counts=(100, 400),
            rollouts=8,
            predictions=("two-link minimum time",),
            prediction_rounds=1,
            prediction_starts=2,
            loops=("four_bar",),
            loop_motions=("two_four_bars",),
            loop_growth=(("ladder", 2),),
            loop_batch=8,
        ),
    )
}
