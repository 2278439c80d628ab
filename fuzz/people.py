"""People and robots that walk, lift and trot, with settings that are nearly right: bodies and problems."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.change import anything
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError
from kinetree.analysis.legged_stance import legged_stance
from kinetree.model.human.joints import mirror_image
from kinetree.tasks.gaits.problem import gait_problem, planned

Rng = np.random.Generator
ROBOTS = ("planar_biped", "spatial_biped", "quadruped", "hexapod")
BUILT = 0.1  # of the tasks that are accepted: their problems are built and evaluated, which takes longer
CHANGED = 3  # settings at most that differ from their defaults


def people(rng: Rng, folder: Path) -> str:
    """A person, or a task of a person or robot; accepted: what it must fulfill is checked."""
    kind = (person, walking, lifting, gait)[int(rng.integers(4))]
    try:
        kind(rng)
    except kt.KinetreeError:
        return REFUSED
    return ACCEPTED


def person(rng: Rng) -> None:
    """Mass and stature are those asked for, both sides are alike, soles are on the ground."""
    given = {"sex": str(rng.choice(["male", "female"])), **_size(rng)}
    if rng.random() < 0.5:
        given[str(rng.choice(list(given)))] = anything(rng)
    body = kt.zoo.human(**given)
    _expect(abs(body.mass / given["mass"] - 1.0) < 1e-9, f"mass {body.mass} of {given}")
    still = np.zeros(body.n_dof)
    poses = kt.forward_kinematics(body, still)
    soles = [(poses[x.body][1] + poses[x.body][0] @ x.position)[2] for x in body.contact_points]
    _expect(abs(min(soles)) < 1e-9, f"soles at {min(soles)} m of {given}")
    com = kt.center_of_mass(body, still)
    _expect(0.5 < com[2] / given["height"] < 0.62, f"center of mass at {com[2]} m of {given}")
    q = 0.3 * rng.standard_normal(body.n_dof)
    names = [mirror_image(name) for name in body.joint_names]
    order = [body.joint_index(name) for name, _ in names]
    sign = np.array([x for _, x in names])
    tau, other = kt.gravity_torque(body, q), kt.gravity_torque(body, sign * q[order])
    _expect(np.allclose(other, sign * tau[order], atol=1e-9 * np.abs(tau).max()), f"mirror image of {given}")


def walking(rng: Rng) -> None:
    """A step takes its length over its speed, and its problem has finite numbers at q = 0."""
    task = kt.walking.Walking(**_settings(rng, kt.walking.Walking))
    _expect(abs(task.duration * task.speed / task.step - 1.0) < 1e-12, f"duration of {task}")
    if rng.random() < BUILT and not task.sought and not task.asymmetric:
        _evaluate(kt.walking.walking_problem(task), str(task))


def lifting(rng: Rng) -> None:
    """The problem of a lift has finite numbers at its start."""
    task = kt.lifting.Lifting(**_settings(rng, kt.lifting.Lifting))
    if rng.random() < BUILT:
        _evaluate(kt.lifting.lifting_problem(task), str(task))


def gait(rng: Rng) -> None:
    """A stride is speed times period, and every foot rests for its share of the cycle."""
    task = kt.gaits.Gait(**_settings(rng, kt.gaits.Gait))
    plan = planned(legged_stance(_robots()[str(rng.choice(ROBOTS))], task.forward), task)
    _expect(abs(plan.stride - task.speed * plan.period) <= 1e-12 * abs(plan.stride), f"stride of {task}")
    share = plan.schedule.on_ground(np.linspace(0.0, 1.0, 2000, endpoint=False)).mean(axis=0)
    _expect(bool(np.abs(share - plan.schedule.duty).max() < 2e-3), f"duty {share} of {task}")
    if rng.random() < BUILT:
        _evaluate(gait_problem(plan), str(task))


@cache
def _robots() -> dict[str, kt.Mechanism]:
    return {name: getattr(kt.zoo, name)() for name in ROBOTS}


def _prepare() -> None:
    rng = np.random.default_rng(0)
    for kind in (person, walking, lifting, gait):
        try:
            kind(rng)
        except kt.KinetreeError:
            continue


def _size(rng: Rng) -> dict[str, Any]:
    height = float(rng.uniform(1.4, 2.05))
    return {"height": height, "mass": float(rng.uniform(16.0, 40.0)) * height**2}


def _settings(rng: Rng, task: Any) -> dict[str, Any]:
    """Some fields of a task: near their defaults, or anything."""
    known = {x.name: x.default for x in fields(task)}
    given: dict[str, Any] = _size(rng) if "height" in known and rng.random() < 0.5 else {}
    for name in rng.choice(list(known), int(rng.integers(1, CHANGED + 1)), replace=False):
        usual = known[name]
        if rng.random() < 0.3 or usual is MISSING or isinstance(usual, str | bool) or usual is None:
            given[str(name)] = anything(rng)
        elif isinstance(usual, tuple):
            given[str(name)] = tuple(type(x)(x * rng.uniform(0.7, 1.4)) for x in usual)
        else:
            given[str(name)] = type(usual)(usual * rng.uniform(0.5, 2.0) + rng.choice([0.0, 0.05]))
    return given


def _evaluate(problem: Any, what: str) -> None:
    program = problem.program
    z = np.clip(np.zeros(program.n), program.x_lower, program.x_upper)
    numbers = np.append(program.constraints(z), program.cost(z))
    _expect(bool(np.isfinite(numbers).all()), f"numbers at the beginning of {what}")


def _expect(good: bool, words: str) -> None:
    if not good:
        raise WrongAnswerError(words)


PEOPLE = (
    Fuzzer("people", "people, and tasks of walking, lifting and gaits with other settings", people, _prepare),
)
