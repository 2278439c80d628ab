"""Calls of the public functions with arguments that are nearly right, answers against other formulations."""

from __future__ import annotations

import contextlib
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

import kinetree as kt
from fuzz.answers import compare
from fuzz.change import anything, changed_table
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError

ROBOTS = ("gripper", "two_link", "kuka_kr5", "quadruped", "biped_fixed", "chain")
QUESTIONS = {
    "inverse_dynamics": 3, "forward_dynamics": 3, "mass_matrix": 1, "bias_torque": 2, "gravity_torque": 1,
    "kinetic_energy": 2, "potential_energy": 1, "momentum": 2, "center_of_mass": 1, "forward_kinematics": 1,
    "body_velocities": 2, "analysis.body_accelerations": 3, "joint_reactions": 3,
    "inverse_dynamics_derivatives": 3, "forward_dynamics_derivatives": 3, "analysis.inertia_regressor": 3,
    "analysis.zero_moment_point": 3,
}  # fmt: skip


@cache
def robots() -> dict[str, kt.Mechanism]:
    """Mechanisms that are asked about."""
    return {name: getattr(kt.zoo, name)() for name in ROBOTS}


def prepare() -> None:
    """Compile what answers need."""
    rng = np.random.default_rng(0)
    for robot in robots().values():
        for name, count in QUESTIONS.items():
            for batch in ((), (5,)):
                state = kt.random_state(robot, rng, batch)
                with contextlib.suppress(kt.KinetreeError):  # no zero-moment point without gravity
                    attrgetter(name)(kt)(robot, *(state.q, state.qd, state.qdd)[:count])
        compare(robot, rng)


def calls(rng: np.random.Generator, folder: Path) -> str:
    """One question: the answer is finite and that of single states, or a reason is given."""
    robot = robots()[ROBOTS[int(rng.integers(len(ROBOTS)))]]
    name = list(QUESTIONS)[int(rng.integers(len(QUESTIONS)))]
    batch: tuple[int, ...] = ((), (1,), (5,), (2, 3), (0,))[int(rng.integers(5))]
    state = kt.random_state(robot, rng, batch)
    arguments: list[Any] = [state.q, state.qd, state.qdd][: QUESTIONS[name]]
    kind, k = rng.integers(8), int(rng.integers(len(arguments)))
    good = False
    if kind == 0:
        arguments[k] = anything(rng)
    elif kind == 1:
        arguments[k] = changed_table(rng, np.asarray(arguments[k]).tolist())
    elif kind == 2:
        arguments[k] = arguments[k] * 10.0 ** float(rng.integers(-200, 200))
    elif kind == 3 and arguments[k].size:
        arguments[k] = arguments[k].copy()
        arguments[k].flat[int(rng.integers(arguments[k].size))] = (np.nan, np.inf, -np.inf, 1e300)[
            rng.integers(4)
        ]
    elif kind == 4:
        arguments[k] = arguments[k].astype([np.float32, np.int64, object, complex][int(rng.integers(4))])
    elif kind == 5:
        arguments[k] = np.asfortranarray(arguments[k])[..., ::-1][..., ::-1]
    else:
        good = True
    try:
        with np.errstate(all="ignore"):
            answer = attrgetter(name)(kt)(robot, *arguments)
    except kt.KinetreeError:
        if good and name != "analysis.zero_moment_point":
            raise WrongAnswerError(f"{name} refuses a good state") from None
        return REFUSED
    _check_finite(name, answer)
    if good and len(batch) == 1 and batch[0]:
        _check_rows(robot, name, arguments, answer)
    return ACCEPTED


def _arrays(answer: Any) -> list[np.ndarray]:
    if isinstance(answer, np.ndarray | float):
        return [np.asarray(answer)]
    if isinstance(answer, tuple):
        return [np.asarray(x) for x in answer]
    found = {key: getattr(answer, key) for key in getattr(answer, "__dataclass_fields__", ())}
    return [x for x in found.values() if isinstance(x, np.ndarray)]


def _check_finite(name: str, answer: Any) -> None:
    for array in _arrays(answer):
        if not np.isfinite(array).all():
            raise WrongAnswerError(f"{name} returns numbers that are not finite")


def _check_rows(robot: kt.Mechanism, name: str, arguments: list[Any], answer: Any) -> None:
    """A batch gives what its states give one by one."""
    try:
        alone = attrgetter(name)(kt)(robot, *(x[0] for x in arguments))
    except kt.KinetreeError:
        return
    for many, one in zip(_arrays(answer), _arrays(alone), strict=True):
        scale = max(float(np.abs(one).max(initial=0.0)), 1e-6)
        if not np.abs(many[0] - one).max(initial=0.0) <= 1e-9 * scale:
            raise WrongAnswerError(f"{name}: a batch differs from its first state")


API = (Fuzzer("api", "calls of public functions", calls, prepare),)
