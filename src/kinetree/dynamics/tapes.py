"""Questions about a mechanism as tapes: every operation that the answer takes, for this mechanism alone.

Each question is answered once on recording numbers by the kernel that answers it elsewhere. What the
mechanism makes constant, 0 or 1 is not computed (`engine.tape`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kinetree.derivations import denoc
from kinetree.dynamics.axis_motion import AxisMotion
from kinetree.dynamics.coupling import axis_slopes, coupled, independent, on_axes
from kinetree.dynamics.loop_tapes import closed_forward, closed_inverse, closing_step, solved
from kinetree.dynamics.specialized import acceleration_slopes
from kinetree.dynamics.springs import stretch
from kinetree.engine.interpret import interpreted, interpreted_full
from kinetree.engine.tape.recording import Recording, shortest
from kinetree.errors import InputError, SingularityError, unknown_name
from kinetree.kernels.energy import ENERGY, KINETIC, POTENTIAL
from kinetree.kernels.jacobian import JACOBIAN
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.model_table import aimed_tree
from kinetree.kernels.number import where_less
from kinetree.kernels.regressor import REGRESSOR
from kinetree.kernels.rnea import RNEA, RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.model.body import WORLD
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import WORLD_AXIS, Tree

PARAMETERS = 10  # inertial parameters of a body
OF_POINT = "jacobian"  # the question that names a body: "jacobian:hand"
SHORT = 1e-150  # m: shorter springs have no direction


@dataclass(frozen=True)
class TapedQuantity:
    """An argument or a result: its name, the shape of one state, unit, and what it is."""

    name: str
    shape: tuple[int, ...]
    unit: str
    text: str

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)


@dataclass(frozen=True, eq=False)
class TapedQuestion:
    """A question that can be recorded: its arguments and results, and how numbers answer it.

    Each of ``answers`` takes (mechanism, *rows), rows of n_dof numbers, and returns an array for each result;
    the shortest is recorded. DeNOC works in the frames of the joints, where most is 0, 1 or constant.
    """

    name: str
    text: str
    inputs: tuple[str, ...]
    results: Callable[[Mechanism], tuple[TapedQuantity, ...]]
    answers: tuple[Callable[..., list[Any]], ...]


@dataclass(frozen=True, eq=False)
class TapedAnswer:
    """A recorded question: the tape, with arguments and results in order."""

    question: TapedQuestion
    inputs: tuple[TapedQuantity, ...]
    results: tuple[TapedQuantity, ...]
    recording: Recording

    def evaluate(self, *state: Any) -> list[Any]:
        """The results (..., *shape) by the tape for arguments (..., n_dof)."""
        found = self.recording.evaluate(*state)
        return [x.reshape((*x.shape[:-1], *y.shape)) for x, y in zip(found, self.results, strict=True)]


def taped(mechanism: Mechanism, name: str) -> TapedAnswer:
    """The tape of a question about a mechanism, by its name.

    With closed loops "inverse_dynamics" and "forward_dynamics", of states that close them.

    >>> import kinetree as kt
    >>> taped(kt.zoo.two_link(), "inverse_dynamics").recording.counts()["sine"] <= 2
    True
    """
    question = question_of(mechanism, name)
    if mechanism.loops and name not in CLOSED:
        raise InputError(
            f"mechanism '{mechanism.name}' has closed loops; with these only {' and '.join(CLOSED)} are "
            "recorded; mechanism.opened() is its tree"
        )
    if not mechanism.loops and not question.answers:
        raise InputError(f"mechanism '{mechanism.name}' has no closed loops, so there is no {name}")
    if not mechanism.n_dof:
        raise InputError(f"mechanism '{mechanism.name}' has no degrees of freedom")
    inputs = tuple(TapedQuantity(x, (mechanism.n_dof,), *ARGUMENTS[x]) for x in question.inputs)

    functions = (CLOSED[name],) if mechanism.loops else question.answers
    coupling = mechanism.tree.coupling
    if coupling is not None and coupling.laws is not None and coupling.laws.table.breaks.size:
        raise InputError(
            f"joint '{coupling.laws.names[0]}' follows another by a function of several pieces, which "
            "cannot be recorded; polynomials can"
        )
    answers = [partial(answer, mechanism) for answer in functions]
    try:
        recording = shortest(answers, [x.size for x in inputs])
    except ZeroDivisionError:
        raise SingularityError(
            f"{name} of '{mechanism.name}': a joint, with those that follow it, moves no inertia in any "
            "state; give the bodies beyond it mass and extent, or the joint an armature"
        ) from None
    return TapedAnswer(question, inputs, question.results(mechanism), recording)


def question_of(mechanism: Mechanism, name: str) -> TapedQuestion:
    """The question of a name; ``jacobian:BODY`` names a body or a frame."""
    kind, colon, body = name.partition(":")
    if kind == OF_POINT and (colon or mechanism.n_bodies):
        return _jacobian(mechanism, body if colon else mechanism.body_names[-1])
    if name not in QUESTIONS:
        raise InputError(unknown_name("question", name, [*QUESTIONS, OF_POINT]))
    return QUESTIONS[name]


# ---- answers ----------------------------------------------------------------------------------------------
def _inverse(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Any]:
    axes = on_axes(mechanism.tree, q, qd, qdd)
    (tau,), _ = interpreted(RNEA_UNLOADED, mechanism.tree, axes, [mechanism.tree.n])
    return _felt(mechanism, tau, axes)


def _denoc_inverse(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Any]:
    axes = at, rates, second = on_axes(mechanism.tree, q, qd, qdd)
    return _felt(mechanism, denoc.inverse_dynamics(mechanism.tree, at, rates, second), axes)


def _felt(mechanism: Mechanism, tau: Any, axes: Any) -> list[Any]:
    """Torques of the axes, less those of springs, at the independent joints."""
    tree = mechanism.tree
    return [independent(tree, _without_springs(tree, tau, axes[0], axes[1]), axes[0])]


def _bias(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    return _inverse(mechanism, q, qd, _still(mechanism))


def _denoc_bias(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    return _denoc_inverse(mechanism, q, qd, _still(mechanism))


def _gravity(mechanism: Mechanism, q: Any) -> list[Any]:
    tree, still = mechanism.tree, _still(mechanism)
    (axes,) = on_axes(tree, q)
    rest = np.zeros(tree.n, object)
    (tau,), _ = interpreted(RNEA_UNLOADED, tree, [axes, rest, rest], [tree.n])
    if tree.springs is not None:
        _refuse_springs(mechanism, "gravity_torque")
    tau = tau - np.where(tree.stiffness != 0.0, tree.stiffness * (axes - tree.rest), still[0])
    return [independent(tree, tau, axes)]


def _forward(mechanism: Mechanism, q: Any, qd: Any, tau: Any) -> list[Any]:
    tree = mechanism.tree
    if tree.coupling is None:
        tau = -_without_springs(tree, -tau, q, qd)
        return [denoc.forward_dynamics(tree, q, qd, tau)]
    (M,), (h,) = _mass(mechanism, q), _bias(mechanism, q, qd)
    return [solved(M, tau - h)]


def _mass(mechanism: Mechanism, q: Any) -> list[Any]:
    tree = mechanism.tree
    (axes,) = on_axes(tree, q)
    return [coupled(tree, denoc.mass_matrix(tree, axes), axes)]


def _inverse_slopes(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Any]:
    tree = _simple(mechanism, "inverse_dynamics_derivatives")
    axes = on_axes(tree, q, qd, qdd)
    (tau,), full = interpreted_full(RNEA_GRADIENT, tree, axes, [tree.n])
    if tree.coupling is not None:
        tree.coupling.check_linear("recorded derivatives")
    return [independent(tree, tau), *(coupled(tree, x.reshape(tree.n, tree.n)) for x in full)]


def _forward_slopes(mechanism: Mechanism, q: Any, qd: Any, tau: Any) -> list[Any]:
    tree = _simple(mechanism, "forward_dynamics_derivatives")
    if tree.coupling is not None:
        raise InputError(
            f"mechanism '{mechanism.name}' has mimic joints: forward_dynamics_derivatives cannot"
        )
    return acceleration_slopes(tree, q, qd, tau)


def _reactions(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Any]:
    if mechanism.tree.springs is not None:
        _refuse_springs(mechanism, "joint_reactions")
    tree = mechanism.jointed_tree
    axes = on_axes(tree, q, qd, qdd)
    (_, found), _ = interpreted(RNEA, tree, [*axes, axes[0][:0]], [tree.n, 6 * tree.n])
    on_bodies = found.reshape(tree.n, 2, 3)[tree.body_axis]
    turned = (tree.body_rotation.transpose(0, 2, 1)[:, None] @ on_bodies[..., None])[..., 0]
    return [turned.reshape(tree.n_bodies, 6)]


def _poses(mechanism: Mechanism, q: Any) -> list[Any]:
    tree = mechanism.tree
    motion = _motion(tree, *on_axes(tree, q, _still(mechanism)))
    R, p = motion.rotation[tree.body_axis], motion.position[tree.body_axis]
    return [R @ tree.body_rotation, p + (R @ tree.body_position[:, :, None])[..., 0]]


def _velocities(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    tree = mechanism.tree
    motion = _motion(tree, *on_axes(tree, q, qd))
    r = (motion.rotation[tree.body_axis] @ tree.body_position[:, :, None])[..., 0]
    v, w = motion.velocity[tree.body_axis, :3], motion.velocity[tree.body_axis, 3:]
    return [np.concatenate([v + np.cross(w, r), w], axis=-1)]


def _energies(mechanism: Mechanism, q: Any, qd: Any) -> list[Any]:
    tree = mechanism.tree
    if tree.springs is not None:
        _refuse_springs(mechanism, "energies")
    (found,), _ = interpreted(ENERGY, tree, on_axes(tree, q, qd), [11])
    fixed = tree.body_axis == WORLD_AXIS
    moment = tree.body_mass[fixed, None] * tree.body_position[fixed]
    moment = moment + (tree.body_rotation[fixed] @ tree.body_first_moment[fixed][:, :, None])[..., 0]
    return [found[[KINETIC]], found[[POTENTIAL]] - float(moment.sum(axis=0) @ tree.gravity)]


def _regressor(mechanism: Mechanism, q: Any, qd: Any, qdd: Any) -> list[Any]:
    tree = mechanism.jointed_tree
    _, (found,) = interpreted_full(REGRESSOR, tree, on_axes(tree, q, qd, qdd), [])
    Y = found.reshape(tree.n, tree.n_bodies * PARAMETERS)
    if tree.coupling is not None:
        Y = axis_slopes(tree, on_axes(tree, q)[0]).T @ Y
    return [Y.reshape(-1, tree.n_bodies, PARAMETERS)]


def _jacobian(mechanism: Mechanism, name: str) -> TapedQuestion:
    """The question about the origin of one body or frame."""
    body, place = mechanism.place_of(name)

    def answer(mechanism: Mechanism, q: Any) -> list[Any]:
        if body == WORLD:
            return [np.zeros((6, mechanism.n_dof))]
        tree = aimed_tree(mechanism.tree, mechanism.body_index(body))
        (axes,) = on_axes(tree, q)
        (J,), _ = interpreted(JACOBIAN, tree, [axes, place.position.astype(object)], [6 * tree.n])
        J = J.reshape(6, tree.n)
        return [J if tree.coupling is None else J @ axis_slopes(tree, axes)]

    text = (
        f"Jacobian of the origin of '{name}': J qd is its velocity, then its angular velocity, in world axes"
    )
    return TapedQuestion(
        f"{OF_POINT}:{name}",
        text,
        ("q",),
        lambda m: (
            TapedQuantity("J", (6, m.n_dof), "m, 1 per rad, m", "velocity, angular velocity per rate"),
        ),
        (answer,),
    )


# ---- what they share --------------------------------------------------------------------------------------
def _still(mechanism: Mechanism) -> Any:
    return np.zeros(mechanism.n_dof, object)


def _motion(tree: Tree, q: Any, qd: Any) -> AxisMotion:
    """Where axes are and how fast they move, with the world as the last entry."""
    n = tree.n
    inputs = [q, qd, np.zeros(n, object)]
    (pose, velocity, _), _ = interpreted(KINEMATICS, tree, inputs, [12 * n, 6 * n, 6 * n])
    pose, rest = pose.reshape(n, 12), np.zeros((1, 6))
    return AxisMotion(
        np.concatenate([pose[:, :9].reshape(n, 3, 3), np.eye(3)[None]]),
        np.concatenate([pose[:, 9:], np.zeros((1, 3))]),
        np.concatenate([velocity.reshape(n, 6), rest]),
        np.zeros((n + 1, 6)),
    )


def _without_springs(tree: Tree, tau: Any, q: Any, qd: Any) -> Any:
    """tau - Q, with Q what springs between bodies do: -rho g (`dynamics.springs`)."""
    springs = tree.springs
    if springs is None:
        return tau
    if springs.turning.any():
        raise InputError("springs with turning damping cannot be recorded")
    found = stretch(tree, _motion(tree, q, qd), bends=False)
    square = (found.D**2).sum(axis=-1)
    for k, g in enumerate(found.g):
        is_long = where_less(SHORT**2, square[k], 1.0, 0.0)
        inverse = is_long / np.sqrt(square[k] + (1.0 - is_long))
        rate = (g * qd).sum() * (inverse * inverse)
        rho = springs.stiffness[k] - springs.stiffness[k] * springs.rest_length[k] * inverse
        tau = tau + g * (rho + springs.damping[k] * rate)
    return tau


def _simple(mechanism: Mechanism, name: str) -> Tree:
    """The tree, if it has neither springs between bodies nor mimic joints that follow by polynomials."""
    tree = mechanism.tree
    if tree.springs is not None:
        _refuse_springs(mechanism, name)
    return tree


def _refuse_springs(mechanism: Mechanism, name: str) -> None:
    raise InputError(
        f"mechanism '{mechanism.name}' has springs between bodies: {name} with these cannot be recorded"
    )


CLOSING = "close_loops_step"
CLOSED: dict[str, Callable[..., list[Any]]] = {
    "inverse_dynamics": closed_inverse,
    "forward_dynamics": closed_forward,
    CLOSING: closing_step,
}


# ---- the list ---------------------------------------------------------------------------------------------
ARGUMENTS = {
    "q": ("rad, m", "joint positions"),
    "qd": ("rad/s, m/s", "joint velocities"),
    "qdd": ("rad/s^2, m/s^2", "joint accelerations"),
    "tau": ("N m, N", "joint torques and forces"),
}


def _row(name: str) -> Callable[[Mechanism], tuple[TapedQuantity, ...]]:
    unit, text = ARGUMENTS[name]
    return lambda m: (TapedQuantity(name, (m.n_dof,), unit, text),)


def _slopes(first: str, *names: str) -> Callable[[Mechanism], tuple[TapedQuantity, ...]]:
    """The first row and square matrices of its derivatives."""

    def results(m: Mechanism) -> tuple[TapedQuantity, ...]:
        square = (m.n_dof, m.n_dof)
        text = f"derivatives of {first}, row by row"
        return (*_row(first)(m), *(TapedQuantity(name, square, "SI", text) for name in names))

    return results


QUESTIONS = {
    question.name: question
    for question in (
        TapedQuestion(
            "inverse_dynamics",
            "inverse dynamics: torques that a motion needs, tau = M qdd + c + g + friction and springs",
            ("q", "qd", "qdd"),
            _row("tau"),
            (_inverse, _denoc_inverse),
        ),
        TapedQuestion(
            "forward_dynamics",
            "forward dynamics: the accelerations that torques cause",
            ("q", "qd", "tau"),
            _row("qdd"),
            (_forward,),
        ),
        TapedQuestion(
            CLOSING,
            "a step of Newton's iteration that closes the loops while the drives keep their positions",
            ("q",),
            lambda m: (
                TapedQuantity("step", (m.n_dof,), "rad, m", "to be added to q"),
                TapedQuantity("gap", (1,), "m, 1", "how far the loops are open at q"),
            ),
            (),
        ),
        TapedQuestion(
            "mass_matrix",
            "mass matrix, symmetric, row by row",
            ("q",),
            lambda m: (TapedQuantity("M", (m.n_dof, m.n_dof), "kg m^2, kg m, kg", "mass matrix"),),
            (_mass,),
        ),
        TapedQuestion(
            "bias_torque",
            "torques at qdd = 0: velocity effects, gravity, friction and springs",
            ("q", "qd"),
            _row("tau"),
            (_bias, _denoc_bias),
        ),
        TapedQuestion(
            "gravity_torque",
            "torques that hold the mechanism against gravity",
            ("q",),
            _row("tau"),
            (_gravity,),
        ),
        TapedQuestion(
            "joint_reactions",
            "force, then moment, that each body's parent exerts on it, in body axes at the body's origin",
            ("q", "qd", "qdd"),
            lambda m: (TapedQuantity("reaction", (m.n_bodies, 6), "N, N m", "force, moment of each body"),),
            (_reactions,),
        ),
        TapedQuestion(
            "forward_kinematics",
            "pose of every body in the world: x_world = rotation x_body + position",
            ("q",),
            lambda m: (
                TapedQuantity("rotation", (m.n_bodies, 3, 3), "1", "orientation of each body, row by row"),
                TapedQuantity("position", (m.n_bodies, 3), "m", "origin of each body"),
            ),
            (_poses,),
        ),
        TapedQuestion(
            "body_velocities",
            "velocity of each body's origin, then its angular velocity, in world axes",
            ("q", "qd"),
            lambda m: (TapedQuantity("twist", (m.n_bodies, 6), "m/s, rad/s", "velocity, angular velocity"),),
            (_velocities,),
        ),
        TapedQuestion(
            "energies",
            "kinetic and potential energy",
            ("q", "qd"),
            lambda m: (
                TapedQuantity("kinetic", (1,), "J", "energy"),
                TapedQuantity("potential", (1,), "J", "energy"),
            ),
            (_energies,),
        ),
        TapedQuestion(
            "inertia_regressor",
            "tau without armature, friction and springs per inertial parameter of each body",
            ("q", "qd", "qdd"),
            lambda m: (
                TapedQuantity("Y", (m.n_dof, m.n_bodies, PARAMETERS), "SI", "dtau_i/dparameter of each body"),
            ),
            (_regressor,),
        ),
        TapedQuestion(
            "inverse_dynamics_derivatives",
            "inverse dynamics and the derivatives of the torques; dtau_dqdd is the mass matrix",
            ("q", "qd", "qdd"),
            _slopes("tau", "dtau_dq", "dtau_dqd", "dtau_dqdd"),
            (_inverse_slopes,),
        ),
        TapedQuestion(
            "forward_dynamics_derivatives",
            "forward dynamics and the derivatives of the accelerations; dqdd_dtau is the inverse mass matrix",
            ("q", "qd", "tau"),
            _slopes("qdd", "dqdd_dq", "dqdd_dqd", "dqdd_dtau"),
            (_forward_slopes,),
        ),
    )
}
