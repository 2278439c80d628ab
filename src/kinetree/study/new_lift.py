"""A study file of someone who lifts a box, with comments that say what may be changed."""

from __future__ import annotations

import json

from kinetree.errors import InputError
from kinetree.study.new_lines import FileTemplate

PERSON = "human"  # of the zoo: who lifts


def lifting_lines(name: str, model: str, duration: float | None = None) -> list[str]:
    """The study; the lift takes as long as is best unless a ``duration`` (s) is given.

    >>> lifting_lines("shift", "human")[4]
    'task = "lift"'
    """
    if model != PERSON:
        raise InputError(
            f"a lift is by the zoo's '{PERSON}', of any sex, height and mass, got the model '{model}'"
        )
    timed = (
        "# duration = 1.5  # s; default what is best" if duration is None else f"duration = {duration:g}  # s"
    )
    return FileTemplate("lift").filled("all", name=name, title=json.dumps(name), timed=timed).splitlines()
