"""A study file of someone who lifts a box, with comments that say what may be changed."""

from __future__ import annotations

import json

from kinetree.errors import InputError

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
    return [
        f"# {name}: how someone best lifts a box from the floor to a shelf.",
        "# SI units; angles in degrees. Every key: kinetree schema --study",
        "# Run it:  kinetree run FILE --report lift.html      look at it:  kinetree show RESULT",
        "[study]",
        'task = "lift"',
        f"title = {json.dumps(name)}",
        "",
        "[mechanism]",
        f'zoo = "{PERSON}"',
        'parameters = { sex = "male", height = 1.75, mass = 75.0 }  # who lifts: m, kg',
        "",
        "[lift]",
        "box = 10.0  # kg",
        "shelf = 0.9  # m, its height",
        "# depth = 0.30  # m, of the box forward; wide = 0.36, tall = 0.30",
        '# hand = "right"  # or "left"; default both hands',
        "effort = 1.0  # weight of squared torques beside strength",
        "time = 0.3  # weight of the duration: more is faster",
        timed,
        "# lean = 60  # degrees, largest forward lean of the chest: who may not stoop, squats",
        "# back_force = 650  # N, largest net force in the lumbar joint",
        "# knee_force = 500  # N, in each knee",
        "# strength = { back = 0.7 }  # factors on what joints can exert",
        "# simulated = true  # adds a forward simulation of the free human to the checks",
        "",
        "[plot]",
        'variables = ["q", "tau", "lifting_force"]',
        'joints = ["right_hip.flexion", "right_knee", "right_ankle.flexion", "lumbar.flexion"]',
    ]  # fmt: skip
