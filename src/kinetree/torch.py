"""Dynamics and kinematics as functions of PyTorch tensors, with exact gradients and second derivatives.

On the processor only, in double precision; tensors of single precision are converted and answered in kind.
`torch.func` and a second backward pass work, a third derivative does not exist.

>>> import torch
>>> import kinetree as kt
>>> import kinetree.torch
>>> arm = kt.zoo.kuka_kr5()
>>> q = torch.full((8, 6), 0.1, dtype=torch.float64, requires_grad=True)
>>> still = torch.zeros(8, 6, dtype=torch.float64)
>>> effort = kinetree.torch.inverse_dynamics(arm, q, still, still).square().sum()
>>> effort.backward()
>>> q.grad.shape
torch.Size([8, 6])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

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
    import torch
except ImportError as error:
    raise MissingExtraError("torch", "torch", "kinetree.torch") from error

__all__ = ["forward_dynamics", "forward_kinematics", "inverse_dynamics", "mass_matrix", "step"]

NO_THIRD = "kinetree.torch has exact first and second derivatives; a third one was asked for"
Rows: TypeAlias = torch.Tensor | ArrayLike


def inverse_dynamics(mechanism: Mechanism, q: Rows, qd: Rows, qdd: Rows) -> torch.Tensor:
    """Joint torques (..., n_dof) of a motion; see :func:`kinetree.inverse_dynamics`."""
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.torch.inverse_dynamics")
    return _answer(InverseDynamics(mechanism), q, qd, qdd)


def forward_dynamics(mechanism: Mechanism, q: Rows, qd: Rows, tau: Rows) -> torch.Tensor:
    """Accelerations (..., n_dof) under torques; see :func:`kinetree.forward_dynamics`."""
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.torch.forward_dynamics")
    return _answer(ForwardDynamics(mechanism), q, qd, tau)


def mass_matrix(mechanism: Mechanism, q: Rows) -> torch.Tensor:
    """M (..., n_dof, n_dof); see :func:`kinetree.mass_matrix`."""
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.torch.mass_matrix")
    return _answer(MassMatrix(mechanism), q)


def forward_kinematics(mechanism: Mechanism, q: Rows, of: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Rotation (..., 3, 3) and position (..., 3) of a body or frame; see :func:`kinetree.forward_kinematics`.

    >>> import torch
    >>> import kinetree as kt
    >>> rotation, position = forward_kinematics(kt.zoo.gripper(), torch.zeros(4), "link3")
    >>> [round(x, 6) for x in position.tolist()]
    [0.15, 0.0, 0.0]
    """
    expect_mechanism(mechanism)
    check_open(mechanism, "kinetree.torch.forward_kinematics")
    pose = _answer(pose_of(mechanism, of), q)
    return pose[..., 3:].unflatten(-1, (3, 3)), pose[..., :3]


def step(
    stepper: Stepper,
    q: Rows,
    qd: Rows,
    torque: Rows | None = None,
    target: Rows | None = None,
    times: int = 1,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions and rates after ``times`` steps of a :class:`kinetree.Stepper` that start at q and qd.

    Torques and targets of servos are zero unless given. All rows have the batch of the stepper, whose
    states are those after the call. Through contact, with first derivatives; see
    :meth:`kinetree.Stepper.step_derivatives` for where there are none. Mechanisms with free or ball
    joints need ``coordinates="quaternion"``.

    >>> import torch
    >>> import kinetree as kt
    >>> arms = kt.Stepper(kt.zoo.two_link(), 0.001, batch=3)
    >>> torque = torch.zeros(3, 2, dtype=torch.float64, requires_grad=True)
    >>> q, qd = step(arms, torch.zeros(3, 2), torch.ones(3, 2), torque, times=10)
    >>> q.sum().backward()
    >>> torque.grad.shape
    torch.Size([3, 2])
    """
    function = StepFunction(stepper, times)
    none = torch.zeros(function.shapes[2], dtype=torch.float64)
    given = (q, qd, none if torque is None else torque, none if target is None else target)
    tensors = [_tensor(x, name) for x, name in zip(given, function.inputs, strict=True)]
    kind = torch.promote_types(tensors[0].dtype, tensors[1].dtype)
    kind = kind if kind.is_floating_point else torch.get_default_dtype()
    rows = []
    for x, name, shape in zip(tensors, function.inputs, function.shapes, strict=True):
        if x.shape not in (shape, shape[-1:]):
            raise InputError(f"{name} must have shape {shape}, that of the Stepper, got {tuple(x.shape)}")
        rows.append(x.to(torch.float64).expand(shape))
    new_q, new_qd = _Step.apply(function, *rows)
    return new_q.to(kind), new_qd.to(kind)


class _Step(torch.autograd.Function):
    """(q, qd) after steps."""

    @staticmethod
    def forward(ctx: Any, function: StepFunction, *rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Positions and rates."""
        ctx.function = function
        ctx.save_for_backward(*rows)
        q, qd = function.value(*map(_array, rows))
        return torch.from_numpy(q), torch.from_numpy(qd)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, by_q: torch.Tensor, by_qd: torch.Tensor) -> tuple[Any, ...]:
        """Slopes by all rows."""
        rows = [_array(row) for row in ctx.saved_tensors]
        found = ctx.function.slopes(_array(by_q), _array(by_qd), *rows)
        return None, *(torch.from_numpy(np.ascontiguousarray(part)) for part in found)


def _answer(question: SmoothQuestion, *given: Rows) -> torch.Tensor:
    """The answer in the precision of the arguments, with its shape."""
    tensors = [_tensor(x, name) for x, name in zip(given, question.inputs, strict=True)]
    kind = tensors[0].dtype
    for x in tensors[1:]:
        kind = torch.promote_types(kind, x.dtype)
    kind = kind if kind.is_floating_point else torch.get_default_dtype()
    n = question.mechanism.n_dof
    for x, name in zip(tensors, question.inputs, strict=True):
        if x.shape[-1:] != (n,):
            raise InputError(f"{name} must have shape (..., {n}), got {tuple(x.shape)}")
    try:
        rows = torch.broadcast_tensors(*(x.to(torch.float64) for x in tensors))
    except RuntimeError:
        shapes = ", ".join(f"{n} {tuple(x.shape)}" for n, x in zip(question.inputs, tensors, strict=True))
        raise InputError(f"the shapes of the arguments do not fit together: {shapes}") from None
    found = _Value.apply(question, *rows)
    return found.unflatten(-1, question.shape).to(kind)


def _tensor(given: Any, name: str) -> torch.Tensor:
    try:
        tensor = torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"{name} must be a tensor of numbers: {error}") from None
    if tensor.device.type != "cpu":
        raise InputError(
            f"{name} is on the device '{tensor.device}'; Kinetree computes on the processor: .cpu()"
        )
    if tensor.is_complex():
        raise InputError(f"{name} must be real, got a tensor of {tensor.dtype}")
    return tensor


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy()


class _OverRows(torch.autograd.Function):
    """A function of a question and rows of one batch, whose axes lead: `torch.vmap` adds one in front."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        """Keep what derivatives are asked at."""
        ctx.question = inputs[0]
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @classmethod
    def over_batch(
        cls, size: int, dims: Sequence[int | None], question: SmoothQuestion, *rows: torch.Tensor
    ) -> tuple[torch.Tensor, int]:
        """All members of a batch in one call."""
        moved = [
            row.expand(size, *row.shape) if dim is None else row.movedim(dim, 0)
            for row, dim in zip(rows, dims[1:], strict=True)
        ]
        return cls.apply(question, *moved), 0


class _Value(_OverRows):
    """y(x)."""

    @staticmethod
    def forward(question: SmoothQuestion, *rows: torch.Tensor) -> torch.Tensor:
        """The answer (..., m)."""
        return torch.from_numpy(np.ascontiguousarray(question.value(*map(_array, rows))))

    @staticmethod
    def backward(ctx: Any, weight: torch.Tensor) -> tuple[Any, ...]:
        """The gradient of weight . y, a part for each argument."""
        gradient = _Gradient.apply(ctx.question, weight, *ctx.saved_tensors)
        return None, *gradient.chunk(len(ctx.saved_tensors), dim=-1)

    @staticmethod
    def jvp(ctx: Any, _: None, *changes: torch.Tensor) -> torch.Tensor:
        """dy/dx c."""
        return _Along.apply(ctx.question, torch.cat(changes, -1), *ctx.saved_tensors)

    @staticmethod
    def vmap(info: Any, dims: Any, *given: Any) -> tuple[torch.Tensor, int]:
        """A batch of batches."""
        return _Value.over_batch(info.batch_size, dims, *given)


class _Along(_OverRows):
    """dy/dx c, the change of y along c."""

    @staticmethod
    def forward(question: SmoothQuestion, change: torch.Tensor, *rows: torch.Tensor) -> torch.Tensor:
        """The change (..., m) for changes (..., k n_dof)."""
        slopes = question.slopes(*map(_array, rows))
        return torch.from_numpy(np.einsum("...mk,...k->...m", slopes, _array(change)))

    @staticmethod
    def backward(ctx: Any, weight: torch.Tensor) -> tuple[Any, ...]:
        """By the change: dy/dx^T w. By x: the second derivatives of w . y, times c."""
        change, *rows = ctx.saved_tensors
        bent = _SecondGradient.apply(ctx.question, change, weight, *rows)[..., weight.shape[-1] :]
        gradient = _Gradient.apply(ctx.question, weight, *rows)
        return None, gradient, *bent.chunk(len(rows), dim=-1)

    @staticmethod
    def jvp(ctx: Any, _: None, by_change: torch.Tensor, *changes: torch.Tensor) -> torch.Tensor:
        """As c and x change: dy/dx dc, and the second derivatives of y along c and dx."""
        change, *rows = ctx.saved_tensors
        bent = _Bent.apply(ctx.question, change, torch.cat(changes, -1), *rows)
        return _Along.apply(ctx.question, by_change, *rows) + bent

    @staticmethod
    def vmap(info: Any, dims: Any, *given: Any) -> tuple[torch.Tensor, int]:
        """A batch of batches."""
        return _Along.over_batch(info.batch_size, dims, *given)


class _Bent(_OverRows):
    """d2y/dx dx of every number of y along two changes."""

    @staticmethod
    def forward(
        question: SmoothQuestion, first: torch.Tensor, second: torch.Tensor, *rows: torch.Tensor
    ) -> torch.Tensor:
        """(..., m) for changes (..., k n_dof)."""
        bends = all_bends(question, *map(_array, rows))
        return torch.from_numpy(np.einsum("...mjk,...j,...k->...m", bends, _array(first), _array(second)))

    @staticmethod
    def backward(ctx: Any, weight: torch.Tensor) -> tuple[Any, ...]:
        """There are no third derivatives."""
        raise InputError(NO_THIRD)

    @staticmethod
    def vmap(info: Any, dims: Any, *given: Any) -> tuple[torch.Tensor, int]:
        """A batch of batches."""
        return _Bent.over_batch(info.batch_size, dims, *given)


class _Gradient(_OverRows):
    """dy/dx^T w, the gradient of w . y."""

    @staticmethod
    def forward(question: SmoothQuestion, weight: torch.Tensor, *rows: torch.Tensor) -> torch.Tensor:
        """The gradient (..., k n_dof) for weights (..., m)."""
        slopes = question.slopes(*map(_array, rows))
        return torch.from_numpy(np.einsum("...m,...mk->...k", _array(weight), slopes))

    @staticmethod
    def backward(ctx: Any, change: torch.Tensor) -> tuple[Any, ...]:
        """By the weight and by each argument."""
        weight, *rows = ctx.saved_tensors
        found = _SecondGradient.apply(ctx.question, change, weight, *rows)
        m = weight.shape[-1]
        return None, found[..., :m], *found[..., m:].chunk(len(rows), dim=-1)

    @staticmethod
    def jvp(ctx: Any, _: None, by_weight: torch.Tensor, *changes: torch.Tensor) -> torch.Tensor:
        """As weight and arguments change: dy/dx^T dw, and the second derivatives of w . y times c."""
        weight, *rows = ctx.saved_tensors
        found = _SecondGradient.apply(ctx.question, torch.cat(changes, -1), weight, *rows)
        return found[..., weight.shape[-1] :] + _Gradient.apply(ctx.question, by_weight, *rows)

    @staticmethod
    def vmap(info: Any, dims: Any, *given: Any) -> tuple[torch.Tensor, int]:
        """A batch of batches."""
        return _Gradient.over_batch(info.batch_size, dims, *given)


class _SecondGradient(_OverRows):
    """The gradient of c . (dy/dx^T w) by w and x: dy/dx c, and the second derivatives of w . y times c."""

    @staticmethod
    def forward(
        question: SmoothQuestion, change: torch.Tensor, weight: torch.Tensor, *rows: torch.Tensor
    ) -> torch.Tensor:
        """Both side by side, (..., m + k n_dof)."""
        c, w, *states = (_array(x) for x in (change, weight, *rows))
        by_weight = np.einsum("...mk,...k->...m", question.slopes(*states), c)
        by_rows = np.einsum("...jk,...k->...j", question.bends(w, *states), c)
        return torch.from_numpy(np.concatenate([by_weight, by_rows], axis=-1))

    @staticmethod
    def backward(ctx: Any, change: torch.Tensor) -> tuple[Any, ...]:
        """There are no third derivatives."""
        raise InputError(NO_THIRD)

    @staticmethod
    def vmap(info: Any, dims: Any, *given: Any) -> tuple[torch.Tensor, int]:
        """A batch of batches."""
        return _SecondGradient.over_batch(info.batch_size, dims, *given)
