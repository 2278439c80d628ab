"""What the compiled walking law keeps from tick to tick: one record of the walk, one for each foot and trunk.

Vectors have the components ahead, left and up; those along the ground the first two. A planar robot has
nothing to the left.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_WALK_FLOATS = (
    "mass", "gravity", "leg",  # of the robot, SI
    "step_time", "clearance", "width",  # of the gait, SI but for the step time, in 1 / w
    "speed", "heading",  # commanded
    "command",  # speed that is aimed at to reach it
    "w", "period", "height",  # 1/s, s, m: found at the first tick
    "learned",  # step time, s
    "phase", "rate",  # s since touch-down; runs faster when in a hurry
    "since", "last",  # s: when the step began, when the law was called last
    "slope", "level", "level_before",  # of the ground; height of the ground below the center of mass, m
    "missing",  # m by which the next foothold is not where balance asks for it
    "tilt", "lowest",  # rad; m: how far the trunk leans, height of the center of mass over the lowest foot
    "asked", "slip", "load",  # largest share of a torque limit; m/s of a standing foot; N on all feet
)  # fmt: skip
_WALK_INTEGERS = (
    "in_plane", "biped", "soles", "sideways",  # of the robot
    "feet", "n", "n_base", "others",  # numbers of feet, moving coordinates, those of the base, of no leg
    "group", "steps", "begun", "passed_once", "settled_once",
    "joint", "slipping",  # nearest to its torque limit, which slips
    "rows", "forces",  # of this tick: rows of tasks, forces of the ground
)  # fmt: skip
_WALK_VECTORS = {
    "center": 3, "velocity": 3, "drift_center": 3,  # of the center of mass
    "support": 3,  # where the center of mass is wanted above the feet that stand, at their height
    "passed": 2, "settled": 3, "foothold": 2, "error": 2,
    "incline": 2,  # of the ground below many feet, along the axes
}  # fmt: skip
WALK = np.dtype(
    [(name, "f8") for name in _WALK_FLOATS]
    + [(name, "i8") for name in _WALK_INTEGERS]
    + [(name, "f8", (size,)) for name, size in _WALK_VECTORS.items()],
    align=True,
)

_BODY_INTEGERS = ("axis", "hip_axis", "group", "landed")
_BODY_VECTORS = {
    "point": 3, "hip_point": 3,  # in the frames of their axes
    "low": 3, "high": 3,  # how far the center of pressure may be from the point, in the frame of the body
    "place": 3,  # of the point in the world
    "x": 3, "v": 3, "spin": 3, "drift": 6, "hip": 3,  # as seen at this tick; spin and drift in the world
    "lifted": 3, "offset": 2, "goal": 2,  # of the plan
    "aim_x": 3, "aim_v": 3, "aim_a": 3,  # wanted of a swing foot
}  # fmt: skip
BODY = np.dtype(
    [("radius", "f8"), ("force", "f8")]
    + [(name, "i8") for name in _BODY_INTEGERS]
    + [(name, "f8", (size,)) for name, size in _BODY_VECTORS.items()]
    + [("turn", "f8", (3, 3)), ("R", "f8", (3, 3)), ("first", "f8", (3, 3))],  # in the axis, now, at first
    align=True,
)


def new_walk() -> Any:
    """A record of the walk, zero everywhere."""
    return np.zeros(1, WALK)


def new_bodies(count: int) -> Any:
    """Records of feet and trunk, zero everywhere."""
    return np.zeros(count, BODY)
