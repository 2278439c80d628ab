"""A result in sentences that a newcomer understands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from kinetree.dynamics.loops.structure import freedom_in_words
from kinetree.errors import listed
from kinetree.model.mechanism import Mechanism
from kinetree.report.frames import leading_dimension, motion_names
from kinetree.result.result import Result

SENTENCE = re.compile(r"(?<!Fig)(?<!Figs)(?<!Table)\.(?= [A-Z])")  # where one ends
SHORT = 180  # letters of a description that are seen at once
LOST = 0.2  # rad or m: a joint so far off does not follow its motion
UNIT = re.compile(r"(?<=\d) (?=(?:s|kg|rad|N|m)\b)")  # the space between a number and its unit
TITLES = {
    "simulate": "simulated motion",
    "simulate_batch": "many simulated motions",
    "inverse": "torques of a motion",
    "hybrid": "prescribed and driven joints",
    "control": "controlled motion",
    "predict": "predicted motion",
    "fastest_timing": "fastest timing along a path",
    "stability": "stability of an open-loop simulation",
    "compare": "comparison",
}


def title(result: Result) -> str:
    """The title of the study, or what was done with which mechanism."""
    stated = result.settings.get("study", {}).get("title")
    return str(stated) if stated else f"{result.mechanism.name}: {TITLES.get(result.task, result.task)}"


def description(result: Result) -> tuple[str, str]:
    """What the study file says about itself: its beginning, and the rest if it is long."""
    stated = result.settings.get("study", {}).get("file", {}).get("study", {}).get("description", "")
    text = " ".join(str(stated).split())
    ends = [found.end() for found in SENTENCE.finditer(text) if found.end() > SHORT]
    if len(text) < 2 * SHORT or not ends:
        return text, ""
    return text[: ends[0]], text[ends[0] :].strip()


def sentences(result: Result) -> list[str]:
    """What was done and what came out."""
    stated = [_opening(result), *_found(result)]
    if not result.complete:
        stated.append(f"It stopped at {result.stopped_at:g} s: {result.stop_reason}.")
    return [UNIT.sub("\u00a0", text) for text in stated]


def facts(result: Result) -> dict[str, str]:
    """A few figures with their names."""
    time = result.time.values
    found = {"mechanism": result.mechanism.name, "task": result.task}
    found["degrees of freedom"] = re.sub(" degrees? of freedom", "", freedom_in_words(result.mechanism))
    found["mass"] = f"{result.mechanism.mass:.4g} kg"
    found["time"] = f"{time[-1] - time[0]:.4g} s"
    found["samples"] = str(len(time))
    for key in ("steps", "iterations", "objective"):
        if isinstance(result.statistics.get(key), int | float):
            found[key] = f"{result.statistics[key]:.6g}"
    if "seconds" in result.provenance:
        seconds = float(result.provenance["seconds"])
        found["computed in"] = f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"
    return found


def verdict(result: Result) -> tuple[str, str]:
    """A word for the page's style ("good", "bad", "part", "none") and what the badge says."""
    failed = [name for name, check in result.audit.items() if not check.passed]
    count = len(result.audit)
    if failed:
        return "bad", f"{len(failed)} of {count} checks failed"
    if not result.complete:
        return "part", f"stopped at {result.stopped_at:g} s"
    if not count:
        return "none", "no checks"
    if not result.passed:
        return "none", "not judged"
    return "good", "check passed" if count == 1 else f"{count} checks passed"


def _opening(result: Result) -> str:
    stated = _what(result)
    return stated[0].upper() + stated[1:]


def _law_in_words(law: str) -> str:
    """The name of a law's class as words.

    >>> _law_in_words("ComputedTorque"), _law_in_words("PD"), _law_in_words("PDControl")
    ('computed torque', 'PD', 'PD control')
    """
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", law).split(" ")
    return " ".join(word if word.isupper() else word.lower() for word in words)


def _what(result: Result) -> str:
    """What was done."""
    mechanism, time = result.mechanism, result.time.values
    span = f"{time[-1] - time[0]:.4g} s"
    size = f"{freedom_in_words(mechanism)}, {mechanism.mass:.4g} kg"
    who = f"the mechanism {mechanism.name} ({size})"
    settings = result.settings
    law = _law_in_words(settings.get("law", "none"))
    if result.task == "simulate":
        driven = "without torques" if law == "none" else f"driven by {law}"
        return f"{who} was simulated for {span} {driven}{_on_ground(settings)}."
    if result.task == "control":
        return f"{who} was simulated for {span} under the controller {law}{_on_ground(settings)}."
    if settings.get("prescribed"):
        joints = listed(settings["prescribed"], 4)
        return (
            f"{who} was simulated for {span} while {joints} moved as prescribed{_on_ground(settings)}; the "
            f"result has the torques for that motion."
        )
    if result.task == "inverse":
        return f"Inverse dynamics: the torques that move {who} along {_path(settings)} in {span}."
    if result.task == "predict":
        least = _objective(settings)
        if least == "time":
            return f"The fastest motion of {who} takes {span}."
        return f"The motion of {who} that minimizes {least} takes {span}."
    if result.task == "fastest_timing":
        return f"The fastest timing of {who} along its path takes {span}."
    if result.task == "stability":
        return f"How long does a simulation of {who} follow a motion under its torques without feedback?"
    if result.task == "compare":
        names = motion_names(result)
        task = settings.get("task", "")
        return f"The task '{task}' for {who}, compared in {len(names)} cases: {listed(names)}."
    if leading_dimension(result) is not None:
        return f"{_counted(len(motion_names(result)), 'motion')} of {who}, each of {span}."
    return f"{result.task} of {who}, {span}."


def _path(settings: dict[str, Any]) -> str:
    """The trajectory by the kind that the study gives it; names of classes are none that users know."""
    kind: Any = settings
    for key in ("study", "file", "trajectory", "kind"):
        kind = kind.get(key) if isinstance(kind, dict) else None
    return f"a trajectory of the kind '{kind}'" if isinstance(kind, str) else "its trajectory"


def _objective(settings: dict[str, Any]) -> str:
    """What a predicted motion minimizes, in words: "effort, time and posture"."""
    phases = settings.get("phases") or [settings]
    terms = phases[0].get("objective", []) if isinstance(phases[0], dict) else []
    names = [x.get("term", "") for x in terms if isinstance(x, dict)] if isinstance(terms, list) else []
    known = (re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name)).lower() for name in names if name)
    words = list(dict.fromkeys(known))
    if not words:
        return "its objective"
    return words[0] if len(words) == 1 else f"{listed(words[:-1])} and {words[-1]}"


def _on_ground(settings: dict[str, Any]) -> str:
    return ", on the ground" if settings.get("ground") else ""


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _found(result: Result) -> Iterator[str]:
    """What came out, in a sentence each."""
    if result.task == "predict":
        yield from (str(message) for message in result.messages[:1] if "olved" in message)
    reached = result.statistics.get("reached")
    if isinstance(reached, list) and reached and not result.messages:
        yield f"{_counted(len(reached), 'active limit')}: {listed(_limit(x) for x in reached[:4])}."
    if result.task == "stability" and "horizon" in result:
        horizon = result["horizon"]
        for name, times in zip(horizon["algorithm"].values.tolist(), horizon.values, strict=True):
            yield f"With '{name}', the first joint departs from the motion after {times.min():.3g} s."
    yield from _peak(result, "tau", "largest joint torque or force")
    if result.task in ("simulate", "control", "hybrid"):
        yield from _peak(result, "qd", "largest joint speed")
    error = result.statistics.get("largest_error")
    if isinstance(error, float):
        yield f"The joints stay within {error:.2g} (rad or m) of the reference motion."
    if result.task == "compare":
        yield from _case_errors(result)
    kinds = Counter(event.kind.replace("_", " ") for event in result.events)
    if kinds:
        yield f"Events: {listed(f'{count} {kind}' for kind, count in kinds.items())}."


def _case_errors(result: Result) -> Iterator[str]:
    """How far each case of a control task is from the reference motion."""
    for name in motion_names(result):
        stated = result.statistics.get(name)
        error = stated.get("largest_error") if isinstance(stated, dict) else None
        if isinstance(error, float):
            lost = f"deviate from the reference motion by up to {error:.2g} (rad or m)"
            near = f"stay within {error:.2g} (rad or m) of the reference motion"
            yield f"With '{name}', the joints {near if error < LOST else lost}."


def _limit(entry: Any) -> str:
    return f"{entry.get('family', '')} of {entry.get('label', '')} ({entry.get('side', '')})"


def _of_free_joints(mechanism: Mechanism) -> list[bool]:
    """Which coordinates are those of free joints, whose forces are loads or those of the ground."""
    free = tuple(f"{link.joint.name}." for link in mechanism.links if link.joint.is_free)
    return [name.startswith(free) for name in mechanism.joint_names]


def _peak(result: Result, name: str, words: str) -> Iterator[str]:
    """The largest value of a variable over joints and time, where and when; none if it is always zero."""
    if name not in result or result[name].dims != ("time", "joint"):
        return
    size = np.nan_to_num(np.abs(result[name].values))
    if name == "tau":
        size = np.where(_of_free_joints(result.mechanism), 0.0, size)
    row, column = np.unravel_index(int(np.argmax(size)), size.shape)
    if size[row, column] == 0.0:
        return
    units = result.units(name)
    unit = units if isinstance(units, str) else units[column]
    where, when = result.mechanism.joint_names[column], result.time.values[row]
    yield f"The {words} is {size[row, column]:.3g} {unit}, in '{where}' at {when:.3g} s."
