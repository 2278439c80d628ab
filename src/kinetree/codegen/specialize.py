"""Mechanisms whose questions are answered by machine code that was made for them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from kinetree.dynamics.specialized import KERNELS, LONGEST, PARAMETERS, made_code
from kinetree.engine.specialized import MadeCode
from kinetree.engine.specialized import specialize as let_run
from kinetree.engine.tape.made_code import machine_code
from kinetree.errors import InputError, KinetreeWarning, SingularityError, unknown_name
from kinetree.kernels.number import LANES
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism


def specialize(
    mechanism: Mechanism,
    questions: Sequence[str] | str | None = None,
    *,
    parameters: Sequence[str] | str = (),
) -> Mechanism:
    """The same mechanism with machine code made for it: batches and simulations take half the time or less.

    Everything that its geometry and inertia make constant, 0 or 1 is known in this code. It is compiled
    here, in a second or two, and kept in the cache; later processes load it. Answers agree with those of the
    mechanism itself to rounding.

    ``questions``: names of functions, "inverse_dynamics", "forward_dynamics", "mass_matrix",
    "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "torque_hessian" or "simulate"; default
    all. "simulate" is for every way to integrate motions in time, with ground, loads and controllers but
    without mimic joints and prescribed motions; predictions use the code, too. Where the code would be so
    long that it is slower (derivatives of more than 8 to 20 joints), the general one stays, with a warning if
    the question was named. ``parameters`` stay numbers in memory, so that mechanisms that differ only in
    these share their code: "inertia", "gravity", "armature", "friction", "springs", "geometry".
    Derived mechanisms, as by ``with_gravity``, are ordinary ones again. For mechanisms without closed loops.

    >>> import kinetree as kt, numpy as np
    >>> arm = kt.zoo.kuka_kr5()
    >>> fast = kt.specialize(arm, "inverse_dynamics")
    >>> s = kt.random_state(arm, np.random.default_rng(0), batch=1000)
    >>> tau = kt.inverse_dynamics(fast, s.q, s.qd, s.qdd)
    >>> bool(np.allclose(tau, kt.inverse_dynamics(arm, s.q, s.qd, s.qdd), rtol=0, atol=1e-10))
    True
    """
    expect_mechanism(mechanism)
    named = [questions] if isinstance(questions, str) else list(questions or KERNELS)
    kept = [parameters] if isinstance(parameters, str) else list(parameters)
    for name, known, what in [(x, KERNELS, "question") for x in named] + [
        (x, PARAMETERS, "parameter") for x in kept
    ]:
        if name not in known:
            raise InputError(unknown_name(what, name, known))
    if mechanism.loops:
        raise InputError(
            f"mechanism '{mechanism.name}' has closed loops, for which no code is made; "
            "mechanism.opened() is its tree"
        )
    if not mechanism.n_dof:
        raise InputError(f"mechanism '{mechanism.name}' has no degrees of freedom")
    fast, long = with_code(mechanism, list(dict.fromkeys(named)), kept)
    for name, operations in long.items() if questions is not None else ():
        _say_that_general_code_stays(mechanism, name, operations)
    return fast


def with_code(
    mechanism: Mechanism, questions: Sequence[str], parameters: Sequence[str] = ()
) -> tuple[Mechanism, dict[str, int]]:
    """The mechanism with code for questions; operations of those whose code is too long to be made."""
    tree, made, long = replace(mechanism.tree), list[MadeCode](), dict[str, int]()
    for name in questions:
        try:
            code = made_code(name, tree, parameters)
        except SingularityError:  # in every state: the general code says where
            continue
        if code.operations > LONGEST[name] or not code.can_be_written:
            long[name] = code.operations
            continue
        for lanes in (LANES, 1):
            machine_code(code, lanes)
        made.append(code)
    let_run(tree, made)
    fast = replace(mechanism)
    vars(fast)["tree"] = tree  # a cached property: compiled already
    return fast, long


def _say_that_general_code_stays(mechanism: Mechanism, name: str, operations: int) -> None:
    warnings.warn(
        f"{name} of '{mechanism.name}' takes {operations} operations, more than the {LONGEST[name]} up to "
        "which code for one mechanism is faster; the general code stays",
        KinetreeWarning,
        stacklevel=3,
    )
