"""The ground's push on each foot along a predicted step: that on the root, and unknown forces behind."""

from __future__ import annotations

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.state import Wrench
from kinetree.tasks.ground import GroundReactions, center_of_pressure
from kinetree.tasks.person import ROOT
from kinetree.tasks.sampled import SampledMotion
from kinetree.tasks.walking.problem import SUPPORTING, TRAILING, Walker

LIGHT = 1e-3  # of the weight: smaller pushes have no center, such as that of touch-down


def trailing_forces(step: SampledMotion) -> dict[str, Array]:
    """Forces at the points of the left foot by name, (m, 3) each (N)."""
    found = {}
    for name in ("ball_medial", "ball_lateral"):
        force = np.zeros((len(step.s), 3))
        force[:, 2] = step.curve(f"force:{name}")[:, 0]
        found[f"left_{name}"] = force
    return found | {"left_toe_tip": step.curve("force:toe_tip")}


def trailing_moment(step: SampledMotion) -> Array:
    """Free moment on the left toes, (m, 3), about z (N m)."""
    found = np.zeros((len(step.s), 3))
    found[:, 2] = step.curve("moment:toes")[:, 0]
    return found


def root_wrench(step: SampledMotion) -> tuple[Array, Array, Array]:
    """Force, moment about the root's origin, and that origin, in the world, (m, 3) each."""
    x, y, z, yaw, roll, pitch = (step.torque(name) for name in ROOT)
    angle = step.q[:, step.column(ROOT[3])]
    c, s = np.cos(angle), np.sin(angle)
    moment = np.stack([c * roll - s * pitch, s * roll + c * pitch, yaw], axis=1)
    origin = step.q[:, [step.column(name) for name in ROOT[:3]]]
    return np.stack([x, y, z], axis=1), moment, origin


def step_ground(who: Walker, step: SampledMotion) -> GroundReactions:
    """Pushes of the ground on both feet."""
    light = LIGHT * who.weight
    lead, moment, origin = root_wrench(step)
    trail, free = trailing_forces(step), trailing_moment(step)
    push = np.sum(list(trail.values()), axis=0)
    about = free + sum(np.cross(step.place(*who.points[name]), force) for name, force in trail.items())
    right = center_of_pressure(lead, moment + np.cross(origin, lead), origin[:, 2], light)
    left = center_of_pressure(push, about, 0 * step.s, light)
    spin = step.twist(SUPPORTING)
    velocities = {name: step.velocity(*who.points[name]) for name in trail}
    power = {
        "right heel": np.einsum("mi,mi->m", lead, spin[:, :3]),
        "right rocker": np.einsum("mi,mi->m", moment, spin[:, 3:]),
        "left toes": free[:, 2] * step.twist(TRAILING)[:, 5]
        + np.sum([np.einsum("mi,mi->m", f, velocities[name]) for name, f in trail.items()], axis=0),
    }
    force = np.stack([lead, push], axis=1)
    point, rest = (np.stack([right[k], left[k]], axis=1) for k in range(2))
    return GroundReactions(force, point, rest, power)


def step_wrenches(who: Walker, step: SampledMotion) -> list[Wrench]:
    """The ground reactions as loads on bodies of the person that is rooted at the pelvis."""
    lead, moment, _ = root_wrench(step)
    found = [Wrench(SUPPORTING, lead, moment, point=who.heel)]
    for name, force in trailing_forces(step).items():
        found.append(Wrench(TRAILING, force, point=who.points[name][1]))
    return [*found, Wrench(TRAILING, np.zeros((len(step.s), 3)), trailing_moment(step))]
