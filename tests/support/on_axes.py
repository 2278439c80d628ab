"""States and loads of a mechanism as formulations want them: per axis of the tree, one state at a time."""

from dataclasses import dataclass, field

import numpy as np

import kinetree as kt
from kinetree.derivations.contract import Load
from kinetree.dynamics.coupling import all_axes, all_rates, coupled, independent
from kinetree.model.tree import WORLD_AXIS
from support import trees
from support.cases import assert_close
from support.distal_dh import chain
from support.reference import relative_error

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
        self.wrenches = random_wrenches(self.mechanism, self.rng)

    @property
    def tree(self):
        return self.mechanism.tree

    @property
    def axes(self):
        """q, qd, qdd of all axes."""
        return state_on_axes(self.tree, *self.state)

    @property
    def loads(self):
        return axis_loads(self.mechanism, self.wrenches)

    def at_joints(self, answer):
        """Torques (n,) or a matrix (n, n) over axes, felt at the independent joints."""
        answer = np.asarray(answer)
        return coupled(self.tree, answer) if answer.ndim == 2 else independent(self.tree, answer)


def random_wrenches(mechanism, rng):
    """Loads in world axes on every other body and once more on the last one, at random points."""
    bodies = [*mechanism.body_names[::2], mechanism.body_names[-1]]
    return [kt.Wrench(b, rng.uniform(-5, 5, 3), rng.uniform(-2, 2, 3), rng.uniform(-1, 1, 3)) for b in bodies]


def state_on_axes(tree, q, qd, qdd):
    """q, qd, qdd of the independent joints as those of all axes."""
    return all_axes(tree, q), all_rates(tree, qd), all_rates(tree, qdd)


def axis_loads(mechanism, wrenches, tree=None, on_world=False):
    """Wrenches in world axes as loads on the axes that carry the bodies; those on the world only if asked."""
    tree, loads = mechanism.tree if tree is None else tree, []
    for w in wrenches:
        k = mechanism.body_index(w.body)
        if on_world or tree.body_axis[k] != WORLD_AXIS:
            point = tree.body_rotation[k] @ w.point + tree.body_position[k]
            loads.append(Load(int(tree.body_axis[k]), w.force, w.moment, point))
    return loads


def in_bodies(tree, reactions):
    """Rows of axes (n, 6, ...) as rows of bodies, in body axes."""
    halves = reactions.reshape((len(reactions), 2, 3, *reactions.shape[2:]))[tree.body_axis]
    turned = np.einsum("bji,bkj...->bki...", tree.body_rotation, halves)
    return turned.reshape((tree.n_bodies, *reactions.shape[1:]))


def assert_agreement(formulation, asked):
    """Torques with loads, mass matrix, bias and all derivatives are those of the kernels."""
    mechanism, tree, x, loads = asked.mechanism, asked.tree, asked.axes, asked.loads
    d = kt.inverse_dynamics_derivatives(mechanism, *asked.state, asked.wrenches)
    tau, *slopes = formulation.inverse_dynamics_derivatives(tree, *x, loads)
    bias = kt.bias_torque(mechanism, *asked.state[:2], asked.wrenches)
    found = [
        (formulation.inverse_dynamics(tree, *x, loads), d.tau),
        (tau, d.tau),
        (formulation.bias_torque(tree, *x[:2], loads), bias),
        (formulation.mass_matrix(tree, x[0]), kt.mass_matrix(mechanism, asked.state[0])),
        *zip(slopes, (d.dtau_dq, d.dtau_dqd, d.dtau_dqdd), strict=True),
    ]
    for answer, expected in found:
        assert_close(asked.at_joints(answer), expected, 1e-12)


def reference_errors(formulation, links, gravity, case, wrench=None):
    """Errors of torques and their derivatives in a reference state of a chain of distal DH links."""
    mechanism = chain(links, gravity)
    loads = axis_loads(mechanism, [] if wrench is None else [wrench])
    state = (np.array(case[key]) for key in ("q", "qd", "qdd"))
    found = formulation.inverse_dynamics_derivatives(mechanism.tree, *state, loads)
    names = ("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd")
    return [relative_error(x, case[name]) for name, x in zip(names, found, strict=True)]


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
