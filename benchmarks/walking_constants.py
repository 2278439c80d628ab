"""Tuning constants of walking: what each means, and what 20 % less and more of it change.

    python benchmarks/walking_constants.py > constants.md

Two people walk with each constant, all others unchanged: a man of 1.75 m at 1.2 m/s, and a woman of 1.65 m at
1.3 m/s. Their motions are compared with those of unchanged constants: the largest difference of any
coordinate of the joints, the correlation of the knee with a measured one, the knee in stance, and whether
all checks pass. Pairs of numbers, such as ranges, are changed together.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import kinetree.tasks.walking
from kinetree.gait_analysis import gait_cycle, gait_score
from kinetree.walking import Walk, Walking, walk

PEOPLE: tuple[dict[str, Any], ...] = (
    {},
    {"sex": "female", "height": 1.65, "mass": 60.0, "speed": 1.3, "step": 0.68},
)
STANCE = slice(8, 30)  # percent of the cycle in which the knee of the leading leg yields
LESS, MORE = 0.8, 1.2
CONSTANTS = {  # name: unit, meaning; capitals are constants of modules, the others settings of `Walking`
    "effort": ("1/s", "weight of effort: torques relative to strength, to the power `exponent`"),
    "exponent": ("", "exponent of effort"),
    "acceleration": ("s^3", "weight of squared accelerations"),
    "posture": ("1/s", "weight of posture: squared angles of ankles (sideways), spine, shoulders and elbows"),
    "PELVIS": ("", "of the weight of posture: rotation of the hips, by which the pelvis lengthens steps"),
    "upright": ("1/s", "weight of the lean of the trunk"),
    "rate": ("s", "weight of rates of torques, relative to strength"),
    "LOADING": ("", "of the weight of rates: rate of the ground's push, in body weights"),
    "EFFORT": ("", "strength that effort is measured by, relative to the limits: ankle, knee, hip"),
    "flat": ("", "share of the step after which the foot is flat"),
    "heel_off": ("", "share of the step after which the heel lifts"),
    "ball": ("", "share of double support in which the ball of the trailing foot carries"),
    "USUAL_DOUBLE": ("", "double support at the usual speed, share of the step"),
    "DOUBLE_FALLS": ("", "by how much double support falls with speed relative to sqrt(g leg)"),
    "band": ("m", "how far resting toes may give"),
    "clearance": ("m", "height of the swinging foot"),
    "pad": ("m", "how far the heel sinks after touch-down"),
    "slip": ("m", "how far it goes forward"),
    "landing": ("", "share of the step after which both are over"),
    "landing_speeds": ("m/s", "largest speeds of the heel at touch-down, downward and forward"),
    "knee_swing": ("rad", "range of the knee in mid-swing"),
    "knee_at": ("", "share of the step that is mid-swing"),
    "knee_strike": ("rad", "range of the knee at heel strike"),
    "knee_off": ("rad", "range of the knee at toe off"),
    "pitch_strike": ("rad", "range of the foot's pitch at heel strike"),
    "BEHIND_HEEL": ("of the sole", "center of pressure at heel strike, behind the heel"),
    "BEFORE_HEEL": ("of the sole", "the same where the roll begins, before the heel"),
    "ROLLS": ("of the sole", "center of pressure when the foot is flat"),
    "MIDDLE": ("of heel to ball", "rearmost center of pressure of a flat foot"),
    "HEEL_OFF": ("of heel to ball", "rearmost center of pressure after heel off"),
    "INSIDE": ("m", "distance kept from the rear edge of the support"),
    "LIFTED": ("m", "largest height of a ball that no longer carries"),
    "LEAVES": ("m/s", "upward speed of toes that lift off"),
    "EARLIER": ("", "share of the instants at which trailing toes are held while their ball carries"),
    "LARGEST_PUSH": ("weights", "bound of the ground's push as an unknown"),
    "LARGEST_PULL": ("weights", "bound of its horizontal parts"),
}  # fmt: skip


@dataclass(frozen=True)
class Motion:
    """What is compared of a step."""

    q: Any  # (m, n_dof) at 101 instants
    knee: float  # r of the knee with a measured one
    stance: float  # degrees, the knee's largest flexion in stance
    passed: bool


def modules() -> Iterator[Any]:
    """The modules of walking."""
    package = kinetree.tasks.walking
    for found in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        yield importlib.import_module(found.name)


def scaled(value: Any, factor: float) -> Any:
    """A number, or all numbers of a tuple or a dict, times a factor."""
    if isinstance(value, dict):
        return {key: scaled(x, factor) for key, x in value.items()}
    return tuple(scaled(x, factor) for x in value) if isinstance(value, tuple) else factor * value


@contextmanager
def changed(name: str, factor: float) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The value of a constant and settings with which a step is walked while it is changed."""
    if name.islower():
        value = getattr(Walking(), name)
        yield value, {name: scaled(value, factor)}
        return
    where = [module for module in modules() if hasattr(module, name)]
    value = getattr(where[0], name)
    for module in where:
        setattr(module, name, scaled(value, factor))
    try:
        yield value, {}
    finally:
        for module in where:
            setattr(module, name, value)


def motion(**settings: Any) -> Motion | None:
    """A step, None if none is found."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Walk = walk(progress=False, **settings)
    if not found.prediction.solved:
        return None
    result = found.to_result()
    cycle = gait_cycle(result)
    at = np.linspace(0.0, 1.0, 101) * float(result.time.values[-1])
    q = np.stack([np.interp(at, result.time.values, x) for x in result.q.values.T], axis=1)
    knee = cycle.curves["knee_flexion"]
    passed = all(check.passed for check in found.checks.values())
    return Motion(q, gait_score(cycle, "arnold5")["knee_flexion"].r, float(knee[STANCE].max()), passed)


def cell(before: Motion, after: Motion | None) -> str:
    """What is different."""
    if after is None:
        return "no step"
    away = np.rad2deg(np.abs(after.q - before.q)[:, 6:].max())
    words = f"{away:.1f}, {after.knee - before.knee:+.3f}, {after.stance - before.stance:+.1f}"
    return words if after.passed else words + ", **checks fail**"


def stated(value: Any) -> str:
    """A value as it is written in a table."""
    values = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else (value,)
    return ", ".join(f"{x:.3g}" for x in values)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="constants; all without any")
    names = parser.parse_args().names or list(CONSTANTS)
    usual = [motion(**person) for person in PEOPLE]
    assert all(x is not None for x in usual)
    print("| constant | value | unit | meaning | man, -20 % | man, +20 % | woman, -20 % | woman, +20 % |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        cells = []
        for person, before in zip(PEOPLE, usual, strict=True):
            for factor in (LESS, MORE):
                with changed(name, factor) as (value, settings):
                    try:
                        cells.append(cell(before, motion(**person, **settings)))
                    except kinetree.KinetreeError as error:
                        cells.append(f"refused: {str(error).removeprefix('walking: ')[:60]}")
        unit, meaning = CONSTANTS[name]
        print(f"| `{name}` | {stated(value)} | {unit} | {meaning} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
