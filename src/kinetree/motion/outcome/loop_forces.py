"""Forces in all joints along a predicted motion of a mechanism with closed loops, its cut joints included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.errors import InputError
from kinetree.motion.problem.problem import Problem
from kinetree.motion.problem.profile import RATES, ProfileMotion
from kinetree.motion.problem.reaction_axes import own_rows, reaction_rows, with_reaction_axes
from kinetree.motion.program.loop_mechanics import LoopMechanics


class LoopForcesFound(NamedTuple):
    """Force (N) and moment (N m) in the joint of every body, in body axes, and in every cut joint.

    (m, bodies, 6) and (m, loops, 6); not a number where redundant constraints leave them undetermined. What
    a cut joint transmits is what body a of the loop exerts on body b, in a's frame of the joint.
    """

    bodies: Array
    loops: Array


def loop_forces(problem: Problem, s: Array, motion: tuple[Array, Array, Array]) -> LoopForcesFound:
    """The forces at instants s (m,) of a motion q, qd, qdd, (m, n_dof) each."""
    mechanism, setting = problem.mechanism, problem.setting
    if setting.closure is None:
        raise InputError(
            f"mechanism '{mechanism.name}' has no closed loops, so there are no forces of loops; "
            "kinetree.joint_reactions gives those of its joints"
        )
    from kinetree.dynamics.loops.closure import Closure  # not needed for trees

    loops = [loop.name for loop in mechanism.loops if loop.name not in mechanism.body_names]
    names = [*mechanism.body_names, *loops]
    closed = with_reaction_axes(mechanism, names)
    own = own_rows(closed, mechanism.joint_names)
    guess, state = np.zeros(closed.n_dof), np.zeros((RATES, len(s), closed.n_dof))
    guess[own] = setting.closure.guess[setting.own]
    state[:, :, own] = motion
    closure = Closure(closed, own, np.array(mechanism.driven), guess, setting.closure.independent_names)
    mechanics = LoopMechanics(closure, setting.efforts, problem.loads(s))
    tau = mechanics.torques(
        ProfileMotion(state[0], state[1], state[2], state[:, :, closure.independent], 1.0)
    )
    rows = np.array([reaction_rows(closed, name) for name in names])
    found = tau[:, rows]
    found[:, closure.undetermined(rows.ravel()).reshape(rows.shape)] = np.nan
    k = mechanism.n_bodies
    cut = np.full((len(s), len(mechanism.loops), 6), np.nan)
    places = [loop.name for loop in mechanism.loops]
    cut[:, [places.index(name) for name in loops]] = found[:, k:]
    return LoopForcesFound(found[:, :k], cut)
