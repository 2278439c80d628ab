"""Dynamics and kinematics as functions of JAX arrays, with exact first and second derivatives.

They compute on the processor, in double precision, through callbacks: they work within `jax.jit`, `jax.vmap`,
`jax.grad`, `jax.jvp` and `jax.hessian`; a third derivative does not exist. Without
``jax.config.update("jax_enable_x64", True)`` JAX itself keeps answers in single precision.

>>> import jax
>>> import jax.numpy as jnp
>>> import kinetree as kt
>>> import kinetree.jax
>>> arm = kt.zoo.kuka_kr5()
>>> def effort(q):
...     return (kinetree.jax.inverse_dynamics(arm, q, jnp.zeros(6), jnp.zeros(6)) ** 2).sum()
>>> jax.jit(jax.grad(effort))(jnp.full(6, 0.1)).shape
(6,)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.errors import InputError, MissingExtraError
from kinetree.gradients.questions import (
    ForwardDynamics,
    InverseDynamics,
    MassMatrix,
    SmoothQuestion,
    all_bends,
    pose_of,
)
from kinetree.gradients.steps import StepFunction
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism, check_open
from kinetree.simulation.stepper import Stepper

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise MissingExtraError("jax", "jax", "kinetree.jax") from error

__all__ = ["forward_dynamics", "forward_kinematics", "inverse_dynamics", "mass_matrix", "step"]

KEPT = 64  # functions of mechanisms, so that JAX compiles what calls them once


def inverse_dynamics(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> jax.Array:
    """Joint torques (..., n_dof) of a motion; see :func:`kinetree.inverse_dynamics`."""
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.jax.inverse_dynamics")
    return _answer(InverseDynamics(mechanism), q, qd, qdd)


def forward_dynamics(mechanism: Mechanism, q: ArrayLike, qd: ArrayLike, tau: ArrayLike) -> jax.Array:
    """Accelerations (..., n_dof) under torques; see :func:`kinetree.forward_dynamics`."""
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.jax.forward_dynamics")
    return _answer(ForwardDynamics(mechanism), q, qd, tau)


def mass_matrix(mechanism: Mechanism, q: ArrayLike) -> jax.Array:
    """M (..., n_dof, n_dof); see :func:`kinetree.mass_matrix`."""
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.jax.mass_matrix")
    return _answer(MassMatrix(mechanism), q)


def forward_kinematics(mechanism: Mechanism, q: ArrayLike, of: str) -> tuple[jax.Array, jax.Array]:
    """Rotation (..., 3, 3) and position (..., 3) of a body or frame; see :func:`kinetree.forward_kinematics`.

    >>> import jax.numpy as jnp
    >>> import kinetree as kt
    >>> rotation, position = forward_kinematics(kt.zoo.gripper(), jnp.zeros(4), "link3")
    >>> [round(float(x), 6) for x in position]
    [0.15, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.jax.forward_kinematics")
    pose = _answer(pose_of(mechanism, of), q)
    return pose[..., 3:].reshape((*pose.shape[:-1], 3, 3)), pose[..., :3]


def step(
    stepper: Stepper,
    q: ArrayLike,
    qd: ArrayLike,
    torque: ArrayLike | None = None,
    target: ArrayLike | None = None,
    times: int = 1,
) -> tuple[jax.Array, jax.Array]:
    """Positions and rates after ``times`` steps of a :class:`kinetree.Stepper` that start at q and qd.

    Torques and targets of servos are zero unless given. All rows have the batch of the stepper, so that
    `jax.vmap` is not needed and not supported. Through contact, with first derivatives in reverse mode
    (`jax.grad`, `jax.vjp`). Mechanisms with free or ball joints need ``coordinates="quaternion"``.

    >>> import jax
    >>> import jax.numpy as jnp
    >>> import kinetree as kt
    >>> arms = kt.Stepper(kt.zoo.two_link(), 0.001, batch=3)
    >>> def place(torque):
    ...     return step(arms, jnp.zeros((3, 2)), jnp.ones((3, 2)), torque, times=10)[0].sum()
    >>> jax.grad(place)(jnp.zeros((3, 2))).shape
    (3, 2)
    """
    function = StepFunction(stepper, times)
    none = jnp.zeros(function.shapes[2])
    given = (q, qd, none if torque is None else torque, none if target is None else target)
    rows = []
    for x, name, shape in zip(given, function.inputs, function.shapes, strict=True):
        row = jnp.asarray(x)
        if row.shape not in (shape, shape[-1:]):
            raise InputError(f"{name} must have shape {shape}, that of the Stepper, got {row.shape}")
        rows.append(jnp.broadcast_to(row, shape))
    kind = jnp.promote_types(jnp.result_type(*rows), jnp.float32)
    if not jnp.issubdtype(kind, jnp.floating):
        raise InputError(f"arguments must be real, got arrays of {kind}")
    new_q, new_qd = _stepping(function)(*(row.astype(kind) for row in rows))
    return new_q, new_qd


def _stepping(function: StepFunction) -> Callable[..., tuple[jax.Array, jax.Array]]:
    """The steps as a function of rows with slopes in reverse mode."""

    def called(of: Callable[..., Any], shapes: Any, *given: jax.Array) -> Any:
        kind = given[0].dtype

        def call(*rows: Any) -> tuple[np.ndarray, ...]:
            found = of(*(np.asarray(row, np.float64) for row in rows))
            return tuple(np.asarray(part, kind) for part in found)

        return jax.pure_callback(call, tuple(jax.ShapeDtypeStruct(shape, kind) for shape in shapes), *given)

    @jax.custom_vjp
    def value(*rows: jax.Array) -> tuple[jax.Array, jax.Array]:
        answer: tuple[jax.Array, jax.Array] = called(function.value, function.shapes[:2], *rows)
        return answer

    def ahead(*rows: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        return value(*rows), rows

    def back(rows: tuple[jax.Array, ...], slopes: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, ...]:
        answer: tuple[jax.Array, ...] = called(function.slopes, function.shapes, *slopes, *rows)
        return answer

    value.defvjp(ahead, back)
    stepped: Callable[..., tuple[jax.Array, jax.Array]] = value
    return stepped


def _answer(question: SmoothQuestion, *given: ArrayLike) -> jax.Array:
    """The answer with its shape."""
    try:
        rows = [jnp.asarray(x) for x in given]
    except (TypeError, ValueError) as error:
        raise InputError(f"arguments must be arrays of numbers: {error}") from None
    n = question.mechanism.n_dof
    for row, name in zip(rows, question.inputs, strict=True):
        if row.shape[-1:] != (n,):
            raise InputError(f"{name} must have shape (..., {n}), got {row.shape}")
    kind = jnp.promote_types(jnp.result_type(*rows), jnp.float32)
    if not jnp.issubdtype(kind, jnp.floating):
        raise InputError(f"arguments must be real, got arrays of {kind}")
    try:
        rows = jnp.broadcast_arrays(*(row.astype(kind) for row in rows))
    except ValueError:
        shapes = ", ".join(f"{name} {x.shape}" for name, x in zip(question.inputs, rows, strict=True))
        raise InputError(f"the shapes of the arguments do not fit together: {shapes}") from None
    found = _function(question)(*rows)
    return found.reshape((*found.shape[:-1], *question.shape))


@lru_cache(maxsize=KEPT)
def _function(question: SmoothQuestion) -> Callable[..., jax.Array]:
    """The question as a function of rows, with its slopes, which have second derivatives in turn."""
    m, wide = math.prod(question.shape), len(question.inputs) * question.mechanism.n_dof

    @jax.custom_jvp
    def value(*rows: jax.Array) -> jax.Array:
        return _called(question.value, (m,), rows)

    @jax.custom_jvp
    def slopes(*rows: jax.Array) -> jax.Array:
        return _called(question.slopes, (m, wide), rows)

    @value.defjvp
    def _(rows: tuple[jax.Array, ...], changes: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        along = jnp.concatenate(changes, axis=-1)
        return value(*rows), jnp.einsum("...mk,...k->...m", slopes(*rows), along)

    @slopes.defjvp
    def _(rows: tuple[jax.Array, ...], changes: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        along = jnp.concatenate(changes, axis=-1)
        bends = _called(partial(all_bends, question), (m, wide, wide), rows)
        return slopes(*rows), jnp.einsum("...mjk,...k->...mj", bends, along)

    return value


def _called(function: Callable[..., Any], shape: tuple[int, ...], rows: tuple[jax.Array, ...]) -> jax.Array:
    """A function of NumPy rows within a computation of JAX."""
    kind = rows[0].dtype

    def call(*given: Any) -> np.ndarray:
        return np.asarray(function(*(np.asarray(row, np.float64) for row in given)), kind)

    result = jax.ShapeDtypeStruct((*rows[0].shape[:-1], *shape), kind)
    return jax.pure_callback(call, result, *rows, vmap_method="broadcast_all")
