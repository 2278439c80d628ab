"""What a page shows: a mechanism, maybe with a result, and the folder its mesh files are in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.errors import shown as short
from kinetree.model.mechanism import Mechanism
from kinetree.report.frames import Frames, frames, motion_names, positions
from kinetree.report.scene import Scene
from kinetree.result.netcdf import load_result
from kinetree.result.result import Result
from kinetree.simulation.ground import Ground
from kinetree.study.models import mechanism_of
from kinetree.viewer.standing import rest

RESULT_SUFFIX = ".nc"
FAR = 0.75  # of its size: what travels farther than this is followed


@dataclass(frozen=True, eq=False)
class Subject:
    """A mechanism, the result it moves by if there is one, and where mesh files may be read from.

    Simulations from the page use ``controller`` and ``ground`` if they are given.
    """

    mechanism: Mechanism
    result: Result | None = None
    meshes: Path | None = None
    controller: Any = None
    ground: Ground | None = None


def subject_of(shown: Any, **options: Any) -> Subject:
    """What is meant by a mechanism, a result, a prediction, the path of a file or a name of the zoo.

    ``options`` are those of :func:`kinetree.load`.

    >>> subject_of("gripper").mechanism.name
    'gripper'
    """
    if isinstance(shown, Subject):
        return shown
    if isinstance(shown, Mechanism):
        return Subject(shown)
    if isinstance(shown, Result):
        return Subject(shown.mechanism, shown)
    if isinstance(shown, str | Path):
        return _named(str(shown).strip(), options)
    result = getattr(shown, "result", None)
    if isinstance(result, Result):
        return Subject(result.mechanism, result)
    raise InputError(f"a mechanism, a result, a file or a name in the zoo can be shown, got {short(shown)}")


def _named(text: str, options: dict[str, Any]) -> Subject:
    if not text:
        raise InputError(
            "give the path of a model (.toml, .urdf, .sdf, .xml) or result (.nc), or a name in the zoo"
        )
    if Path(text).suffix.lower() == RESULT_SUFFIX:
        result = load_result(text)
        return Subject(result.mechanism, result)
    return Subject(mechanism_of(text, **options))


def first_pose(subject: Subject) -> Array:
    """The first pose of the result's motion, or the pose that the mechanism rests in."""
    result = subject.result
    if result is not None and motion_names(result):
        first: Array = positions(result)[frames(result, most=1).rows[0]]
        return first
    return rest(subject.mechanism)


def places(subject: Subject, scene: Scene) -> Array:
    """Where the bodies are during the motion of the result (k, 3); at its start alone if they travel far."""
    if subject.result is None or not motion_names(subject.result):
        return np.zeros((0, 3))
    motion = frames(subject.result, most=50)
    if not scene.grounded and travel(motion, scene) > FAR * scene.size:
        start: Array = motion.position[0]
        return start
    return motion.position.reshape(-1, 3)


def level_places(motion: Frames, scene: Scene) -> Array:
    """The places (T, 3) of the center of mass without their heights: walking must not rock the eye."""
    center = motion.center_of_mass
    level: Array = center - (center @ scene.up)[:, None] * scene.up
    return level


def travel(motion: Frames, scene: Scene) -> float:
    """How far a motion leads from where it starts, heights apart (m)."""
    level = level_places(motion, scene)
    return float(np.linalg.norm(level - level[0], axis=1).max())
