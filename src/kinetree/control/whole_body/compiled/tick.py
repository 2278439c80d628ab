"""What stepping at a speed asks for at a tick, as machine code: look, plan, rows of tasks and forces."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from kinetree.control.whole_body.compiled.footholds import follow, plan
from kinetree.control.whole_body.compiled.look import look
from kinetree.control.whole_body.compiled.memory import BODY, WALK
from kinetree.control.whole_body.compiled.tasks import fill_forces, fill_rows
from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function, helper, record_array


def step_plan(
    walks, bodies, t, speed, heading, q, qd, M, h, kin, forces, places, E, moves, weightless, turns, moving,
    axes, path, others, posture, J, rows, G, usual, room,
):  # fmt: skip
    """Rows of the tasks of walking at a tick, and those of the forces of the ground; their numbers in walks.

    ``forces`` (p, 3) of the ground at contact points, ``places`` (p,) the feet they belong to, ``posture``
    (2, others) where joints of no leg were at first and the weights of keeping them there; all else is as in
    the functions that are called here. Returns 0.
    """
    walk = walks[0]
    look(walk, bodies, E, moves, weightless, kin, axes, path, M, h, qd, moving, J)
    feel(walk, bodies, E, forces, places)
    if not walk.begun:
        remember(walk, bodies, others, posture, q)
    follow(walk, t, speed, heading)
    plan(walk, bodies, t)
    watch(walk, bodies, E)
    spare, rotation = room[:6], room[6:9, :3]
    walk.rows = fill_rows(walk, bodies, E, moves, turns, others, posture, q, qd, rotation, rows)
    walk.forces = fill_forces(walk, bodies, E, kin, axes, path, J, spare, G, usual)
    return 0


def note(walks, bodies, slips, places, wanted, limit, legs):
    """What a diary needs: the joint of a leg nearest to its torque limit, and the foot that slips; returns 0.

    ``slips`` (p, 3): velocities of contact points out of and along the ground.
    """
    walk = walks[0]
    walk.asked, walk.joint = 0.0, 0
    for i in range(wanted.shape[0]):
        if legs[i] > 0 and abs(wanted[i]) > walk.asked * limit[i]:
            walk.asked, walk.joint = abs(wanted[i]) / limit[i], i
    walk.slip, walk.slipping = 0.0, -1
    for k in range(walk.feet):
        foot = bodies[k]
        if (
            foot.group == walk.group
            and walk.phase > 0.2 * walk.period
            and foot.force > 0.1 * walk.mass * walk.gravity
        ):
            least = math.inf
            for i in range(slips.shape[0]):
                if places[i] == k:
                    least = min(least, math.sqrt(slips[i, 1] ** 2 + slips[i, 2] ** 2))
            if least < math.inf and least > walk.slip:
                walk.slip, walk.slipping = least, k
    return 0


@helper
def feel(walk, bodies, E, forces, places):
    """Normal forces on the feet (N)."""
    walk.load = 0.0
    for k in range(walk.feet):
        bodies[k].force = 0.0
    for i in range(forces.shape[0]):
        if places[i] >= 0:
            up = E[2, 0] * forces[i, 0] + E[2, 1] * forces[i, 1] + E[2, 2] * forces[i, 2]
            bodies[places[i]].force += up
            walk.load += up


@helper
def remember(walk, bodies, others, posture, q):
    """The first posture: rotations of trunk and feet, coordinates that belong to no leg."""
    for b in range(bodies.shape[0]):
        for i in range(3):
            for j in range(3):
                bodies[b].first[i, j] = bodies[b].R[i, j]
    for i in range(walk.others):
        posture[0, i] = q[others[i]]


@helper
def watch(walk, bodies, E):
    """How far the trunk leans from upright, and how high the center of mass is above the lowest foot."""
    trunk, cosine = bodies[walk.feet], 0.0
    for i in range(3):
        was = 0.0
        for j in range(3):
            was += trunk.R[i, j] * (
                trunk.first[0, j] * E[2, 0] + trunk.first[1, j] * E[2, 1] + trunk.first[2, j] * E[2, 2]
            )
        cosine += was * E[2, i]
    walk.tilt = math.acos(min(max(cosine, -1.0), 1.0))
    lowest = bodies[0].x[2]
    for k in range(walk.feet):
        lowest = min(lowest, bodies[k].x[2])
    walk.lowest = walk.center[2] - lowest


@functools.cache
def compiled_plan() -> Callable[..., Any]:
    """Machine code of `step_plan`."""
    v, m, a, j = array_type(FLOAT, 1), array_type(FLOAT, 2), array_type(FLOAT, 3), array_type(INTEGER, 1)
    signature = [
        record_array(WALK), record_array(BODY), FLOAT, FLOAT, FLOAT, v, v, m, v, v, m, j, m, m, v, m, j, m, m,
        j, m, a, m, m, v, m,
    ]  # fmt: skip
    return compiled_function(step_plan, signature, "walking-plan")


@functools.cache
def compiled_note() -> Callable[..., Any]:
    """Machine code of `note`."""
    v, m, j = array_type(FLOAT, 1), array_type(FLOAT, 2), array_type(INTEGER, 1)
    signature = [record_array(WALK), record_array(BODY), m, j, v, v, j]
    return compiled_function(note, signature, "walking-note")
