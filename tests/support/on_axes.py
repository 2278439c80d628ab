"""States and loads of a mechanism as formulations want them: per axis of the tree, one state at a time."""

from dataclasses import dataclass, field

import numpy as np

import kinetree as kt
from kinetree.analysis.evaluate import all_axes, all_rates, coupled, independent
from kinetree.formulations.contract import Load
from kinetree.model.tree import WORLD_AXIS
from support import trees

STEP = 1e-30  # nothing cancels in a complex step


@dataclass
class Question:
    """A random state and loads in world axes on every other body, and the kernels' answers."""

    mechanism: kt.Mechanism
    rng: np.random.Generator
    state: tuple = field(init=False)
    wrenches: list = field(init=False)

    def __post_init__(self):
        self.state = trees.state(self.mechanism, self.rng)
        self.wrenches = [
            kt.Wrench(
                name, self.rng.uniform(-5, 5, 3), self.rng.uniform(-2, 2, 3), self.rng.uniform(-0.5, 0.5, 3)
            )
            for name in (*self.mechanism.body_names[::2], self.mechanism.body_names[-1])
        ]

    @property
    def tree(self):
        return self.mechanism.tree

    @property
    def axes(self):
        """q, qd, qdd of all axes."""
        q, qd, qdd = self.state
        return all_axes(self.tree, q), all_rates(self.tree, qd), all_rates(self.tree, qdd)

    @property
    def loads(self):
        return axis_loads(self.mechanism, self.wrenches)

    def at_joints(self, answer):
        """Torques (n,) or a matrix (n, n) over axes, felt at the independent joints."""
        answer = np.asarray(answer)
        return coupled(self.tree, answer) if answer.ndim == 2 else independent(self.tree, answer)


def axis_loads(mechanism, wrenches):
    """Wrenches in world axes as loads on the axes that carry the bodies."""
    tree, loads = mechanism.tree, []
    for w in wrenches:
        k = mechanism.body_index(w.body)
        if tree.body_axis[k] != WORLD_AXIS:
            point = tree.body_rotation[k] @ w.point + tree.body_position[k]
            loads.append(Load(int(tree.body_axis[k]), w.force, w.moment, point))
    return loads


def complex_step_slopes(function, state):
    """d function / d state[k] for each of its arrays (n,), the coordinate last."""
    slopes = []
    for which in range(len(state)):
        columns = []
        for k in range(len(state[which])):
            moved = [np.array(x, complex) for x in state]
            moved[which][k] += 1j * STEP
            columns.append(np.imag(function(*moved)) / STEP)
        slopes.append(np.stack(columns, axis=-1))
    return slopes
