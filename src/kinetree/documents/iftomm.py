"""The five basic problems of the IFToMM multibody benchmark library, with errors and computing times.

M. Gonzalez, D. Dopico, U. Lugris, J. Cuadrado: A benchmarking system for MBS simulation software, Multibody
System Dynamics 16 (2006) 179-190.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import pi
from time import perf_counter
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.errors import InputError, unknown_name
from kinetree.model.builder import Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from kinetree.model.zoo import andrews_squeezer, bricard, flyball_governor, n_four_bar
from kinetree.simulation.simulate import simulate

BRIEF = 1e-4  # part of the duration that is simulated before, so that nothing is compiled while time is taken


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A start, a duration (s), and what is known of the end: values and how far off they may be.

    ``seen`` takes the mechanism and its last pose to what the reference gives; ``measured`` names it.
    """

    mechanism: Callable[[], Mechanism]
    q0: Sequence[float]
    qd0: Sequence[float]
    duration: float
    seen: Callable[[Mechanism, Array], Any]
    reference: Sequence[float]
    allowed: float
    unit: str
    measured: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Solved:
    """What came of a problem: the largest error of its values, computing time (s), steps, whether audited."""

    name: str
    error: float
    seconds: float
    steps: int
    passed: bool


def pendulum() -> Mechanism:
    """Problem A01: a point of 1 kg on a massless rod of 1 m, hanging down along -y at q = 0."""
    build = Builder("pendulum", gravity=(0, -9.81, 0))
    build.world.revolute("pivot").body("bob", Inertia.point(1.0, (0, -1, 0)))
    return build.build()


def _angle(mechanism: Mechanism, q: Array) -> Array:
    return q[:1]


def _slider(mechanism: Mechanism, q: Array) -> Array:
    return q[1:2]


def _third_corner(mechanism: Mechanism, q: Array) -> Array:
    return np.asarray(forward_kinematics(mechanism, q)["rod4"][1])


EXACT = {"rtol": 1e-10, "atol": 1e-11}
CLOSED = (-0.0617138900142764, 0, 0.45527981916307, 0.487364979543843, 0.222668390165886)
PROBLEMS: dict[str, Benchmark] = {
    "A01": Benchmark(
        pendulum, (-pi / 2,), (0.0,), 10.0, _angle, (-0.278680673570575,), 1e-8, "rad",
        "pendulum, angle after 10 s", {"rtol": 1e-12, "atol": 1e-13},
    ),
    "A02": Benchmark(
        n_four_bar, (0.0,) * 5, (-1.0, -1.0, -1.0, 1.0, 1.0), 10.0, _angle, (-31.7505971869861,), 1e-6, "rad",
        "two four-bars through singular positions, angle after 10 s", EXACT,
    ),
    "A03": Benchmark(
        andrews_squeezer, (*CLOSED, 1.23054744454982, -0.222668390165886), (0.0,) * 7, 0.03, _angle,
        (15.810771195154,), 1e-9, "rad", "Andrews' squeezing mechanism, beta after 0.03 s",
        EXACT | {"torque": {"beta": 0.033}},
    ),
    "A04": Benchmark(
        bricard, (0.0,) * 5, (0.0,) * 5, 10.0, _third_corner,
        (0.9999999638063, -1.000269012696, 0.9997309511199), 1e-9, "m",
        "Bricard's mechanism, point P3 after 10 s", EXACT,
    ),
    "A05": Benchmark(
        flyball_governor, (0.0, 0.5, 0.0, 0.0), (2 * pi, 0.0, 0.0, 0.0), 10.0, _slider, (0.6196229170614,),
        1e-8, "m", "flyball governor, slider after 10 s", {"method": "radau", "rtol": 1e-9},
    ),
}  # fmt: skip


def solve(name: str) -> Solved:
    """One problem from its start to its end, compared with the reference.

    >>> solve("A01").error < 1e-9
    True
    """
    if name not in PROBLEMS:
        raise InputError(unknown_name("problem", name, PROBLEMS))
    problem = PROBLEMS[name]
    mechanism = problem.mechanism()
    q0, qd0 = np.array(problem.q0, dtype=float), np.array(problem.qd0, dtype=float)
    simulate(mechanism, q0, qd0, BRIEF * problem.duration, times=2, **problem.options)
    began = perf_counter()
    found = simulate(mechanism, q0, qd0, problem.duration, times=2, **problem.options)
    seconds = perf_counter() - began
    end = problem.seen(mechanism, found.q.values[-1])
    error = float(np.abs(end - np.array(problem.reference)).max())
    return Solved(name, error, seconds, int(found.statistics["steps"]), found.passed)
