"""Verdicts: random motions whose outcome is known in closed form must pass or fail as they should."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError
from kinetree.verdicts.limits import LimitWatch
from kinetree.verdicts.prescribed import watch_motion

Rng = np.random.Generator
G = 9.81
APART = 0.02  # relative: motions nearer to the border than this are not tried
MARGINS = kt.simulation.Verdicts()
METHODS = ("auto", "dopri5", "dop853", "radau", "rk4")


def verdicts(rng: Rng, folder: Path) -> str:
    """A motion that exceeds a limit by a known amount, or stays below it by one; accepted: it passes."""
    kind = KINDS[int(rng.integers(len(KINDS)))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, found, words = kind(rng)
    wanted, found = np.atleast_1d(wanted).astype(bool), np.atleast_1d(found).astype(bool)
    if not np.array_equal(wanted, found):
        raise WrongAnswerError(
            f"{kind.__name__}: {words}: passed {found.tolist()}, must be {wanted.tolist()}"
        )
    return ACCEPTED if wanted.all() else REFUSED


def _beyond(rng: Rng, margin: float, at: float) -> tuple[bool, float]:
    """Whether a motion that reaches ``at`` is to pass, and a limit with an absolute margin for that."""
    passes = bool(rng.integers(2))
    far = margin + max(APART * at, 0.05 * margin) * rng.uniform(1.0, 20.0)
    near = margin - max(APART * at, 0.05 * margin) * rng.uniform(1.0, 20.0)
    return passes, at - (near if passes else far)


def _fraction(rng: Rng, margin: float, at: float) -> tuple[bool, float]:
    """The same with a margin that is a fraction of the limit."""
    passes = bool(rng.integers(2))
    share = rng.uniform(1.0, 20.0) * APART
    return passes, at / ((1.0 + margin) * (1.0 - share if passes else 1.0 + share))


def _options(rng: Rng, T: float) -> dict[str, Any]:
    """How it is simulated: few or many outputs, any method."""
    method = METHODS[int(rng.integers(len(METHODS)))]
    step = {"step": 1e-3 * T} if method == "rk4" else {}
    return {"times": int(rng.choice([2, 3, 5, 20, 201])), "method": method, "progress": False, **step}


def _pendulum(rng: Rng, **limits: float) -> tuple[kt.Mechanism, float, float]:
    """A point mass on a massless rod; its mass and length."""
    mass, length = rng.uniform(0.2, 5.0), rng.uniform(0.3, 2.0)
    made = kt.Builder("pendulum", gravity=(0, 0, -G))
    bob = kt.Inertia(mass, center=(0, 0, -length), moment=(1e-6, 1e-6, 1e-6))
    made.world.revolute("hinge", axis="y", **limits).body("bob", bob)
    return made.build(), mass, length


def _slider(rng: Rng, **limits: float) -> tuple[kt.Mechanism, float]:
    mass = rng.uniform(0.2, 5.0)
    made = kt.Builder("slider", gravity=(0, 0, 0))
    made.world.prismatic("rail", axis="x", **limits).body("load", kt.Inertia(mass, moment=(1, 1, 1)))
    return made.build(), mass


def swing(rng: Rng) -> tuple[Any, Any, str]:
    """The amplitude of a pendulum by its energy: 1 - cos a = 1 - cos q0 + l qd0^2 / (2 g)."""
    state = rng.bit_generator.state
    _, _, length = _pendulum(rng)
    start = rng.uniform(-0.5, 0.5)
    rate = rng.uniform(0.5, 1.5) * np.sqrt(G / length)
    amplitude = float(np.arccos(np.cos(start) - length * rate**2 / (2.0 * G)))
    T = rng.uniform(3.0, 10.0) * 2.0 * np.pi * np.sqrt(length / G)
    passes, limit = _beyond(rng, float(MARGINS.position or 0.0), amplitude)
    options = _options(rng, T)
    again = np.random.default_rng()
    again.bit_generator.state = state
    robot, _, _ = _pendulum(again, lower=-limit, upper=limit)
    run = kt.simulate(robot, [start], [rate], T, **options)
    return passes, run.passed, f"amplitude {amplitude}, limit {limit}, {options}"


def speed(rng: Rng) -> tuple[Any, Any, str]:
    """The speed of a pendulum at the bottom: qd^2 = 2 g (1 - cos a) / l, from rest."""
    state = rng.bit_generator.state
    _, _, length = _pendulum(rng)
    start = rng.uniform(0.3, 2.5)
    fastest = float(np.sqrt(2.0 * G * (1.0 - np.cos(start)) / length))
    T = rng.uniform(3.0, 8.0) * 2.0 * np.pi * np.sqrt(length / G)
    passes, limit = _fraction(rng, float(MARGINS.velocity or 0.0), fastest)
    options = _options(rng, T)
    again = np.random.default_rng()
    again.bit_generator.state = state
    robot, _, _ = _pendulum(again, velocity_limit=limit)
    return passes, kt.simulate(robot, [start], None, T, **options).passed, f"{fastest} of {limit}, {options}"


def oscillator(rng: Rng) -> tuple[Any, Any, str]:
    """Many motions of a mass on a spring: x^2 = x0^2 + (v0 / w)^2, each with a verdict of its own."""
    mass, k, count = rng.uniform(0.2, 5.0), rng.uniform(1.0, 500.0), int(rng.integers(1, 11))
    w, limit = np.sqrt(k / mass), rng.uniform(0.2, 3.0)
    passes = rng.integers(2, size=count).astype(bool)
    margin = float(MARGINS.position or 0.0)
    far = np.maximum(APART * limit, 0.05 * margin) * rng.uniform(1.0, 20.0, count)
    amplitude = np.maximum(limit + margin + np.where(passes, -far, far), 0.01)
    angle = rng.uniform(0.0, 2.0 * np.pi, count)
    start, rate = amplitude * np.cos(angle), -amplitude * w * np.sin(angle)
    made = kt.Builder("oscillator", gravity=(0, 0, 0))
    rail = made.world.prismatic("rail", axis="x", lower=-limit, upper=limit, stiffness=k)
    rail.body("load", kt.Inertia(mass, moment=(1, 1, 1)))
    T = rng.uniform(1.5, 5.0) * 2.0 * np.pi / w
    run = kt.simulation.simulate_batch(
        made.build(), start[:, None], rate[:, None], T, times=int(rng.choice([2, 3, 20])), threads=1
    )
    return passes, run.motion_passed.values, f"amplitudes {amplitude}, limit {limit}"


def pulse(rng: Rng) -> tuple[Any, Any, str]:
    """A force for a short while, its breaks known: the largest effort, in one motion or in many."""
    force, begin, T = rng.uniform(1.0, 100.0), rng.uniform(0.05, 0.8), 1.0
    end = begin + 10.0 ** rng.uniform(-5.0, -1.0)
    passes, limit = _fraction(rng, float(MARGINS.effort or 0.0), force)
    robot, _ = _slider(rng, effort_limit=limit)
    level = np.array([0.0, 0.0, force, force, 0.0, 0.0])[:, None] * rng.choice([-1.0, 1.0])
    table = (np.array([0.0, begin, begin, end, end, T]), level)
    if rng.integers(2):
        run = kt.simulation.simulate_batch(
            robot, np.zeros((3, 1)), duration=T, torque=table, times=2, threads=1
        )
        return [passes] * 3, run.motion_passed.values, f"{force} of {limit} for {end - begin} s"
    options = _options(rng, T)
    run = kt.simulate(robot, [0.0], None, T, torque=table, **options)
    return passes, run.passed, f"{force} of {limit} for {end - begin} s, {options}"


def push(rng: Rng) -> tuple[Any, Any, str]:
    """A mass under a constant force that turns round: x = v0^2 / (2 a) at most, never seen by two outputs."""
    state = rng.bit_generator.state
    _, mass = _slider(rng)
    rate, force = rng.uniform(0.5, 5.0), rng.uniform(1.0, 20.0)
    top = rate**2 * mass / (2.0 * force)
    T = 2.0 * rate * mass / force
    passes, limit = _beyond(rng, float(MARGINS.position or 0.0), top)
    options = _options(rng, T)
    again = np.random.default_rng()
    again.bit_generator.state = state
    robot, _ = _slider(again, upper=limit)
    by_function = bool(rng.integers(2))
    torque = (lambda t, q, qd: np.array([-force])) if by_function else [-force]
    if options["method"] == "auto" and rng.integers(2):
        prepared = kt.simulation.Simulator(robot, T, torque=torque, times=2)
        prepared.run([0.0], [rate])
        return passes, prepared.audit()["position_limits"].passed, f"prepared: {top}, limit {limit}"
    run = kt.simulate(robot, [0.0], [rate], T, torque=torque, **options)
    return passes, run.passed, f"{top}, limit {limit}, {options}"


def hold(rng: Rng) -> tuple[Any, Any, str]:
    """A law that holds an arm level: it can if its torque limit exceeds the moment of the weight."""
    robot, mass, length = _pendulum(rng)
    moment = mass * G * length
    passes = bool(rng.integers(2))
    share = rng.uniform(1.1, 3.0) if passes else rng.uniform(0.05, 0.7)
    kp = 30.0 * moment
    kd = 2.0 * np.sqrt(kp * mass * length**2)
    law = kt.control.PD([np.pi / 2.0], kp=kp, kd=kd, limits=share * moment)
    T = rng.uniform(4.0, 8.0) * np.sqrt(length / G) * 2.0
    options = _options(rng, T) | {"method": "auto"}
    options.pop("step", None)
    run = kt.simulate(robot, [np.pi / 2.0], None, T, controller=law, **options)
    return passes, run.passed, f"{share} of the moment, {options}"


def follow(rng: Rng) -> tuple[Any, Any, str]:
    """A mass behind a reference: with ample gains it follows, with next to none it stays where it is."""
    robot, mass = _slider(rng)
    way, T = rng.uniform(0.5, 3.0) * rng.choice([-1.0, 1.0]), rng.uniform(0.5, 3.0)
    motion = kt.trajectories.quintic([0.0], [way], T)
    passes = bool(rng.integers(2))
    w = rng.uniform(20.0, 60.0) / T if passes else rng.uniform(0.01, 0.2) / T
    law = kt.control.PD(motion, kp=mass * w**2, kd=2.0 * mass * w)
    run = kt.simulate(robot, [0.0], None, T, controller=law, times=int(rng.choice([2, 5, 201])))
    return passes, run.passed, f"way {way} m in {T} s, {w} rad/s"


def regulate(rng: Rng) -> tuple[Any, Any, str]:
    """A mass that starts off its goal: stable laws pass, however slow; with a negative damping it leaves."""
    robot, mass = _slider(rng)
    start, T = rng.uniform(0.5, 3.0) * rng.choice([-1.0, 1.0]), rng.uniform(0.5, 3.0)
    w, damping = 10.0 ** rng.uniform(-0.5, 1.5) / T, rng.uniform(0.7, 3.0)
    law = kt.control.PD([0.0], kp=mass * w**2, kd=2.0 * damping * mass * w)
    run = kt.simulate(robot, [start], None, T, controller=law, times=int(rng.choice([2, 5, 201])))
    return True, run.passed, f"from {start} m, {w} rad/s, damping {damping}, {T} s"


def prescribed(rng: Rng) -> tuple[Any, Any, str]:
    """A quintic: its largest speed is 15/8 of the mean, its largest acceleration 10 / sqrt(3) d / T^2."""
    state = rng.bit_generator.state
    _, mass = _slider(rng)
    way, T = rng.uniform(0.1, 3.0), rng.uniform(0.2, 3.0)
    fastest, strongest = 15.0 / 8.0 * way / T, mass * 10.0 / np.sqrt(3.0) * way / T**2
    slow, velocity = _fraction(rng, float(MARGINS.velocity or 0.0), fastest)
    weak, effort = _fraction(rng, float(MARGINS.effort or 0.0), strongest)
    again = np.random.default_rng()
    again.bit_generator.state = state
    robot, _ = _slider(again, velocity_limit=velocity, effort_limit=effort)
    watch = LimitWatch(robot, MARGINS)
    motion = kt.trajectories.quintic([0.0], [way], T)
    times = np.linspace(0.0, T, int(rng.choice([2, 3, 20])))
    watch_motion(watch, motion.at, times, lambda t, x: kt.inverse_dynamics(robot, x.q, x.qd, x.qdd))
    found = watch.findings()
    passed = [bool(found[x].passed[0]) for x in ("velocity_limits", "effort_limits")]
    return [slow, weak], passed, f"{fastest} of {velocity}, {strongest} of {effort}"


def sink(rng: Rng) -> tuple[Any, Any, str]:
    """A box at rest on four points: it is m g / (4 k) deep, beside the height of its center."""
    half, mass = rng.uniform(0.05, 0.5), rng.uniform(1.0, 50.0)
    passes, depth = _beyond(rng, 0.0, float(MARGINS.sinking or 0.0) * half)
    depth = 2.0 * float(MARGINS.sinking or 0.0) * half - depth  # mirrored: below the border passes
    depth *= half / (half + depth)  # the height counts from the points at the start
    depth = max(depth, 1e-4)
    made = kt.Builder("box", gravity=(0, 0, -G))
    cube = made.world.free("base").body("cube", kt.Inertia(mass, moment=3 * (mass * half**2,)))
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        cube.contact(f"corner{k}", at=(half * x, half * y, -half))
    passes = depth < float(MARGINS.sinking or 0.0) * half
    soil = kt.simulation.Soil(stiffness=mass * G / (4.0 * depth))
    start = np.zeros(6)
    start[2] = half - depth
    run = kt.simulate(made.build(), start, duration=0.2, ground=kt.Ground(soil), times=2, rtol=1e-6)
    return passes, run.passed, f"{depth} m deep, half {half} m"


KINDS: tuple[Callable[[Rng], tuple[Any, Any, str]], ...] = (
    swing, speed, oscillator, pulse, push, hold, follow, regulate, prescribed, sink,
)  # fmt: skip


def _prepare() -> None:
    for k in range(60):
        verdicts(np.random.default_rng(k), Path())


VERDICTS = (Fuzzer("verdicts", "motions with known outcome pass or fail as they should", verdicts, _prepare),)
