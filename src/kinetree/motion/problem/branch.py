"""Where a motion in closed loops begins: which joints are independent, and on which branch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array
from kinetree.algebra.bspline import BSplineBasis, Integers
from kinetree.errors import AssemblyError, InputError, listed
from kinetree.model.mechanism import Mechanism
from kinetree.motion.problem.profile import Profiles
from kinetree.motion.problem.unknowns import Curve
from kinetree.motion.terms.boundary import CLOSED, Boundary
from kinetree.motion.terms.contract import Constraint
from kinetree.state import coordinates


class Branch(NamedTuple):
    """The joints to choose, None for a choice of ours, and a pose with closed loops; None without loops."""

    independent: Sequence[str] | None
    pose: Array | None


def first_pose(
    mechanism: Mechanism, guess: ArrayLike | None, constraints: Sequence[Constraint]
) -> Array | None:
    """A pose (n_dof,) with closed loops: near the guess, with joints where the motion starts; or None."""
    if not mechanism.loops:
        if guess is not None:
            raise InputError(f"guess selects the branch of closed loops; '{mechanism.name}' has none")
        return None
    from kinetree.dynamics.loops.assembly import assemble  # not needed for trees

    names = mechanism.joint_names
    near = np.zeros(len(names)) if guess is None else np.array(coordinates(mechanism, guess, "guess"))
    if near.ndim != 1:
        raise InputError(f"guess must be one pose of {len(names)} coordinates, got shape {near.shape}")
    start: dict[str, float] = {}
    for term in constraints:
        if isinstance(term, Boundary) and (term.at == "start" or np.array_equal(np.ravel(term.at), [0.0])):
            position = term.given[0]
            if isinstance(position, Mapping):
                start |= {name: float(x) for name, x in position.items() if name in names}
            elif position is not None and np.shape(position) in ((), (len(names),)):
                values = np.broadcast_to(np.asarray(position, dtype=np.float64), (len(names),))
                start |= dict(zip(names, values.tolist(), strict=True))
    if len(start) == len(names):
        return _assembled(mechanism, np.array([start[name] for name in names]))
    try:
        return assemble(mechanism, near, hold=start)
    except AssemblyError as error:
        raise AssemblyError(f"{error}. The first pose selects the branch: give guess=") from None


def _assembled(mechanism: Mechanism, pose: Array) -> Array:
    """The pose with rounding taken away; an error if its loops are open."""
    from kinetree.dynamics.loops.assembly import assemble

    found = assemble(mechanism, pose)
    apart = np.abs(found - pose)
    if apart.max() > CLOSED:
        j = int(apart.argmax())
        raise InputError(
            f"the position at the start does not close the loops of mechanism '{mechanism.name}': the "
            f"nearest pose that does has joint '{mechanism.joint_names[j]}' at {found[j]:.9g} instead of "
            f"{pose[j]:g}; give the position of the independent joints alone"
        )
    return found


def closed_profiles(
    mechanism: Mechanism,
    closed: Mechanism,
    basis: BSplineBasis,
    own: Integers,
    branch: Branch,
    frozen: Mapping[str, float],
    curves: Sequence[Curve],
) -> Profiles:
    """Splines of the independent joints, with the others following.

    ``closed`` is the mechanism with locked axes, in which its coordinates stand at ``own``.
    """
    if frozen:
        raise InputError(
            f"frozen joints ({listed(frozen)}) are not supported with closed loops; give them equal lower "
            f"and upper limits, or make them fixed joints of the mechanism"
        )
    if curves:
        raise InputError(
            f"unknown forces ({listed(x.name for x in curves)}) are not supported with closed loops yet; "
            f"open them with mechanism.opened(), and make the forces of the cut joints unknowns"
        )
    from kinetree.dynamics.loops.closure import Closure

    assert branch.pose is not None
    guess = np.zeros(closed.n_dof)
    guess[own] = branch.pose
    driven = np.array(mechanism.driven)
    closure = Closure(closed, own, driven, guess, branch.independent, hasty=True)
    return Profiles(basis, closure.independent, np.zeros(closed.n_dof), closure)
