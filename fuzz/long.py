"""Long runs: a pendulum for a day, random mechanisms and predictions, memory that stays."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ellipj, ellipk

import kinetree as kt
from fuzz.questions import asked_everything
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError

Rng = np.random.Generator
LONG = 1e5  # s that a pendulum swings
DRIFT = 1e-8  # of the energy in play that may be gained or lost on the way
CALLS = 10_000  # calls of one case of a soak
WARM = 3 * CALLS  # calls after which memory is measured first
GROWTH = 16 << 20  # bytes that it may grow from then on


# ---- a pendulum for a day --------------------------------------------------------------------------------


def pendulum(rng: Rng, folder: Path) -> str:
    """1e5 s from rest at a random angle, beside elliptic functions (amplitude and phase).

    theta(t) = 2 asin(k sn(K - w t)), k = sin(theta0 / 2), w^2 = m g l / I. The phase drifts with what is lost
    of the energy E: dT / T = dk K'(k) / K(k), so that both bounds say the same of the integrator.
    """
    length, mass, start = rng.uniform(0.3, 2.0), rng.uniform(0.2, 5.0), rng.uniform(0.2, 2.5)
    made = kt.Builder("pendulum")
    body = made.world.revolute("hinge", axis="y")
    body.body("bob", kt.Inertia(mass, center=(0, 0, -length), moment=(1e-9, 1e-9, 1e-9)))
    times = np.array([0.0, 1.0, 10.0, 1e3, 1e4, LONG])
    run = kt.simulate(made.build(), [start], duration=LONG, times=times, rtol=1e-13)
    rate = np.sqrt(9.81 * mass * length / (mass * length**2 + 1e-9))
    k2 = np.sin(start / 2.0) ** 2
    sn = ellipj(ellipk(k2) - rate * times, k2)[0]
    exact = 2.0 * np.arcsin(np.sqrt(k2) * sn)
    apart = np.abs(np.asarray(run.q.values)[:, 0] - exact)
    allowed = 1e-7 + 1e-8 * rate * times  # rad: an error of phase that grows with the way
    if (apart > allowed).any():
        raise WrongAnswerError(f"off by {apart} rad, allowed {allowed}")
    drifted = run.audit["energy_balance"].value > DRIFT
    return REFUSED if drifted else ACCEPTED


# ---- random mechanisms -----------------------------------------------------------------------------------


def mechanisms(rng: Rng, folder: Path) -> str:
    """A random tree of 1 to 12 bodies with joints of all kinds through every public question."""
    kinds = None if rng.integers(3) else [str(x) for x in rng.choice(["revolute", "prismatic"], 2)]
    gravity = (0.0, 0.0, -9.81) if rng.integers(4) else rng.normal(scale=5.0, size=3)
    seed, n = int(rng.integers(2**31)), int(rng.integers(1, 13))
    asked_everything(kt.zoo.random_tree(seed, n, kinds, gravity), rng)
    return ACCEPTED


def _prepare_mechanisms() -> None:
    for k in range(3):
        with contextlib.suppress(WrongAnswerError):
            mechanisms(np.random.default_rng(k), Path())


# ---- random predictions ----------------------------------------------------------------------------------


def predictions(rng: Rng, folder: Path) -> str:
    """A random arm moves as is best; what is called solved keeps its limits and comes about in simulation."""
    from kinetree.tasks.prediction_check import came_about

    n = int(rng.integers(1, 4))
    kinds = ["revolute"] if rng.integers(2) else ["revolute", "prismatic"]
    arm = kt.zoo.random_tree(int(rng.integers(2**31)), n, kinds)
    problem, limit = _random_problem(arm, rng)
    found = kt.predict(problem, max_iterations=400, time_limit=60.0)
    if not found.solved:
        return REFUSED
    said = found.status.startswith("Solved: ")
    q, qd, qdd = found.at(found.duration * np.sort(rng.uniform(size=300)))
    tau = kt.inverse_dynamics(arm, q, qd, qdd, formulation="newton_euler")
    beyond = float((np.abs(tau) / limit).max()) - 1.0 if limit is not None else 0.0
    if said and beyond > 0.015:
        raise WrongAnswerError(f"{found.status} but torques are {100 * beyond:.2g} % beyond their limit")
    check = came_about(found)
    if not check.passed:
        raise WrongAnswerError(f"it does not come about: {check}")
    return ACCEPTED if said else REFUSED


def _random_problem(arm: kt.Mechanism, rng: Rng) -> tuple[kt.Problem, float | None]:
    """From rest to rest: the fastest, the one with the least torques, or the smoothest."""
    terms = kt.terms
    a, b = rng.uniform(-1.0, 1.0, (2, arm.n_dof))
    ends = [terms.Boundary("start", a, 0.0), terms.Boundary("end", b, 0.0)]
    kind = int(rng.integers(3))
    if kind == 0:
        still = max(float(np.abs(kt.gravity_torque(arm, x)).max()) for x in (a, b, (a + b) / 2))
        limit = still * float(rng.uniform(1.5, 4.0)) + 1.0
        fast = [*ends, terms.TorqueLimits(limit)]
        return kt.Problem(arm, objective=terms.Time(), constraints=fast, duration=(0.05, 20.0)), limit
    objective: Any = terms.SquaredTorque() if kind == 1 else terms.Jerk()
    T = float(rng.uniform(0.3, 2.0))
    return kt.Problem(arm, objective=objective, constraints=ends, duration=T), None


def _prepare_predictions() -> None:
    for k in range(4):
        with contextlib.suppress(WrongAnswerError):
            predictions(np.random.default_rng(k), Path())


# ---- memory that stays -----------------------------------------------------------------------------------


class Soak:
    """Calls in one process, 10,000 in a case; memory may not grow after the first 30,000."""

    def __init__(self) -> None:
        self.calls, self.first = 0, 0

    def judge(self, calls: int) -> str:
        """Count and compare."""
        self.calls += calls
        now = _resident()
        if self.calls == WARM:
            self.first = now
        if self.calls > WARM and now - self.first > GROWTH:
            grown = (now - self.first) / 2**20
            raise WrongAnswerError(f"memory grew by {grown:.1f} MB in {self.calls - WARM} calls")
        return ACCEPTED


def _resident() -> int:
    """Bytes of memory in use by this process."""
    with contextlib.suppress(OSError), open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


@cache
def _soak(what: str) -> Soak:
    return Soak()


@cache
def _simulator() -> kt.simulation.Simulator:
    return kt.simulation.Simulator(kt.zoo.gripper(), duration=0.01, times=2, rtol=1e-6)


def simulator(rng: Rng, folder: Path) -> str:
    """10,000 runs of a prepared simulation, some of them judged; equal starts end equally."""
    runs, start = _simulator(), rng.uniform(-1.0, 1.0, 4)
    first = runs.run(start)
    for k in range(CALLS - 2):
        runs.run(rng.uniform(-1.0, 1.0, 4))
        if k % 100 == 0:
            runs.audit()
    again = runs.run(start)
    if not (np.array_equal(first.q, again.q) and np.array_equal(first.qd, again.qd)):
        raise WrongAnswerError("the same start ends elsewhere after many runs")
    return _soak("simulator").judge(CALLS)


@cache
def _page() -> Any:
    return kt.view("gripper", port=0, open_browser=False, wait=False)


def viewer(rng: Rng, folder: Path) -> str:
    """10,000 poses shown by the viewer, without a browser."""
    page = _page()
    arm, sliders = kt.zoo.gripper(), page.pose.sliders
    for k in range(CALLS):
        slider = sliders[k % len(sliders)]
        slider.value = float(rng.uniform(slider.min, slider.max))
    q = np.array([slider.value for slider in sliders])
    expected = kt.forward_kinematics(arm, q).position
    time.sleep(0.01)
    shown = np.array([frame.position for frame in page.stage._bodies])
    if not np.allclose(shown[-1], expected[-1], atol=1e-6):
        raise WrongAnswerError("the page shows another pose than the sliders say")
    return _soak("viewer").judge(CALLS)


LONG_RUNS = (
    Fuzzer("pendulum", "a pendulum over 1e5 s beside elliptic functions", pendulum, seconds=1200, batch=4),
    Fuzzer(
        "mechanisms", "random mechanisms through every question, each answered twice", mechanisms,
        _prepare_mechanisms,
    ),
    Fuzzer(
        "predictions", "random predictions, verified by simulation", predictions, _prepare_predictions,
        seconds=300,
    ),
    Fuzzer("simulator", "memory of Simulator: 10,000 runs a case", simulator, seconds=600, batch=10**9),
    Fuzzer("viewer", "memory of the viewer: 10,000 poses a case", viewer, seconds=1200, batch=10**9),
)  # fmt: skip
