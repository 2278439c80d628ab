"""Torques and reactions of a measured motion under measured forces of the ground, and what remains at the
base.

What the motion needs and the plates do not give acts between the world and the first body that has a
mass: the residual. Criteria are those of Hicks et al. (2015), "Is my model good enough?", J. Biomech.
Eng. 137: a residual force below 5 % of the greatest external force, a residual moment below 1 % of that
force times the height of the center of mass.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.algebra.arrays import Array, finite, numbers
from kinetree.analysis.energy import center_of_mass
from kinetree.analysis.inverse import inverse_dynamics, joint_reactions
from kinetree.analysis.kinematics import forward_kinematics
from kinetree.capture.motion import low_passed, spline_motion
from kinetree.capture.trial import GroundForce
from kinetree.errors import FileError, InputError, listed, unknown_name
from kinetree.formats.regular_file import PathLike, checked_path
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.result.build import build_result
from kinetree.result.opensim import read_opensim
from kinetree.result.records import Check
from kinetree.result.result import Result
from kinetree.state import State, Wrench, independent_axes

TASK = "laboratory"
FEET = ("calcn", "foot", "heel")  # what names of feet begin with, but for right_ and left_
LOADED = 20.0  # N on a plate
FARTHEST = 0.5  # m from a foot to the force on it
FORCE_SHARE, MOMENT_SHARE = 0.05, 0.01
WEIGHT = 0.3  # of the body's weight, that all plates together carry on average at least
Forces = Sequence[GroundForce]


def read_motion(path: PathLike, mechanism: Mechanism) -> tuple[Array, Array]:
    r"""Times (m,) and coordinates q (m, n_dof) of a motion file of OpenSim (.mot, .sto), in rad and m.

    Angles are in degrees where the header says so. Columns that are no joints are left out; joints without a
    column are an error.

    >>> import kinetree as kt, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "bend.mot")
    >>> count = file.write_text("x\ninDegrees=yes\nendheader\ntime joint1 joint2\n0 90 0\n0.1 45 0\n")
    >>> read_motion(file, kt.zoo.two_link())[1].round(3).tolist()
    [[1.571, 0.0], [0.785, 0.0]]
    """
    expect_mechanism(mechanism)
    place = checked_path(path)
    table = read_opensim(place)
    columns = {name.rsplit("/value", 1)[0].rsplit("/", 1)[-1]: x for name, x in table.columns.items()}
    missing = [name for name in mechanism.joint_names if "_".join(name.split()) not in columns]
    if missing:
        raise FileError(
            f"{place}: has no column for {listed(missing)} of mechanism '{mechanism.name}'; it has "
            f"{listed(columns)}"
        )
    turns = mechanism.tree.turns[independent_axes(mechanism)]
    q = np.stack([columns["_".join(name.split())] for name in mechanism.joint_names], axis=1)
    return table.time, np.where(turns & table.degrees, np.radians(q), q)


def dynamics(
    mechanism: Mechanism,
    time: ArrayLike,
    q: ArrayLike,
    forces: Forces = (),
    *,
    cutoff: float | None = None,
    feet: Sequence[str] | None = None,
    reactions: bool = True,
    rates: tuple[ArrayLike, ArrayLike] | None = None,
) -> Result:
    """Torques, joint reactions and residuals of a measured motion under forces of the ground.

    ``q`` (m, n_dof) at times (m,) is low-passed at ``cutoff`` (Hz) if given, and differentiated by a
    spline of degree 5, unless ``rates`` has qd and qdd. Forces that name no body act on the nearest of
    the ``feet``, by default all bodies that are called so. Verdicts compare what remains at the base with
    the criteria of Hicks et al. (2015).

    >>> import kinetree as kt
    >>> t = np.linspace(0.0, 0.5, 51)
    >>> still = kt.markers.dynamics(kt.zoo.two_link(), t, np.zeros((51, 2)))
    >>> bool(np.allclose(still["tau"].values, kt.gravity_torque(kt.zoo.two_link(), [0, 0]), atol=1e-9))
    True
    """
    expect_mechanism(mechanism)
    t, given = finite(numbers(time, "time"), "time"), finite(numbers(q, "q"), "q")
    if given.shape != (len(t), mechanism.n_dof):
        raise InputError(f"q must have shape ({len(t)}, {mechanism.n_dof}), got shape {given.shape}")
    state = _state(t, given, cutoff, rates)
    acting = assigned(mechanism, t, state.q, [force.at(t) for force in forces], feet)
    _check_up(mechanism, acting)
    loads = _wrenches(mechanism, state.q, acting)
    tau = inverse_dynamics(mechanism, state.q, state.qd, state.qdd, loads or None)
    wrench = joint_reactions(mechanism, state.q, state.qd, state.qdd, loads or None, frame="world")
    variables: dict[str, Any] = {"time": t, "q": state.q, "qd": state.qd, "qdd": state.qdd, "tau": tau}
    if reactions:
        variables["reaction"] = wrench
    coordinates: dict[str, Any] = {}
    audit: dict[str, Check] = {}
    if acting:
        variables |= _ground_variables(acting)
        names = [x.body or x.name for x in acting]
        coordinates["foot"] = (("foot",), names, "", "body that the ground acts on")
    base = base_body(mechanism)
    if base is not None:
        rest = wrench[:, mechanism.body_index(base)]
        variables |= {
            "residual_force": (("time", "axis"), rest[:, :3], "N", f"force of the world on {base}"),
            "residual_moment": (("time", "axis"), rest[:, 3:], "N m", f"moment of the world on {base}"),
        }
        audit = residual_checks(mechanism, state.q, rest, acting)
    return build_result(TASK, mechanism, variables, coordinates=coordinates, audit=audit)


def _state(t: Array, q: Array, cutoff: float | None, rates: tuple[ArrayLike, ArrayLike] | None) -> State:
    if rates is not None:
        qd, qdd = (finite(numbers(x, name), name) for x, name in zip(rates, ("qd", "qdd"), strict=True))
        return State(q, qd, qdd)
    return spline_motion(t, q if cutoff is None else low_passed(t, q, cutoff))


def base_body(mechanism: Mechanism) -> str | None:
    """The first body that has a mass, if six coordinates or fewer, and no drives' joints, carry it from
    the world.
    """
    heavy = [x.body.name for x in mechanism.links if not x.body.inertia.is_zero]
    if not heavy:
        return None
    links = {x.body.name: x for x in mechanism.links}
    name, dofs = heavy[0], 0
    while name in links:
        dofs += links[name].joint.n_dof
        name = links[name].parent
    return heavy[0] if dofs >= 3 else None


def residual_checks(mechanism: Mechanism, q: Array, rest: Array, acting: Forces) -> dict[str, Check]:
    """Verdicts on the residual, relative to the greatest external force; none without forces."""
    if not acting:
        return {}
    total = np.sum([x.force for x in acting], axis=0)
    greatest = float(np.linalg.norm(total, axis=1).max())
    if greatest <= 0.0:
        raise InputError("the forces of the ground are zero at all frames of the trial; look at their times")
    up = -mechanism.gravity / max(float(np.linalg.norm(mechanism.gravity)), 1e-9)
    low = [(x.point @ up)[np.linalg.norm(x.force, axis=1) > LOADED] for x in acting]
    height = float((center_of_mass(mechanism, q) @ up).mean()) - float(np.concatenate(low).min())
    force, moment = (np.linalg.norm(rest[:, part], axis=1) for part in (slice(0, 3), slice(3, 6)))
    rms = float(np.sqrt((force**2).mean())), float(np.sqrt((moment**2).mean()))
    said = (
        f"the residual force is up to {force.max():.0f} N ({100 * force.max() / greatest:.1f} % of the "
        f"greatest external force), {rms[0]:.0f} N rms",
        f"the residual moment is up to {moment.max():.0f} N m, "
        f"{100 * moment.max() / greatest / height:.1f} % of that force times the height of the mass center, "
        f"{rms[1]:.0f} N m rms",
    )
    return {
        "residual_force": Check.within(force.max() / greatest, FORCE_SHARE, "1", said[0]),
        "residual_moment": Check.within(moment.max() / (greatest * height), MOMENT_SHARE, "1", said[1]),
    }


def assigned(
    mechanism: Mechanism, time: Array, q: Array, forces: Sequence[GroundForce], feet: Sequence[str] | None
) -> list[GroundForce]:
    """Forces on bodies: those that name one as they are, the others on the nearest foot while they last."""
    for force in forces:
        if force.body is not None:
            mechanism.body_index(force.body)
    open_ones = [x for x in forces if x.body is None]
    found = [x for x in forces if x.body is not None]
    if not open_ones:
        return found
    names = foot_bodies(mechanism, feet)
    poses = forward_kinematics(mechanism, q)
    sums = {name: [np.zeros((len(time), 3)) for _ in range(3)] for name in names}
    for force in open_ones:
        loaded = np.linalg.norm(force.force, axis=1) > LOADED
        for a, b in _runs(loaded):
            away = {x: np.linalg.norm(poses[x][1][a:b] - force.point[a:b], axis=1) for x in names}
            apart = {x: float(distance.mean()) for x, distance in away.items()}
            name = min(apart, key=lambda x: apart[x])
            if apart[name] > FARTHEST:
                raise InputError(
                    f"force '{force.name}' acts from {time[a]:g} to {time[b - 1]:g} s, but the nearest foot, "
                    f"'{name}', is {apart[name]:.2f} m away: look at axes and units of plates and markers"
                )
            _add(sums[name], force, slice(a, b))
    return found + [
        GroundForce(name, time, *_at_point(*sums[name]), name) for name in names if sums[name][0].any()
    ]


def _add(total: list[Array], force: GroundForce, part: slice) -> None:
    """Add a force over some frames: force, point weighed by its size, moment about the origin."""
    size = np.linalg.norm(force.force[part], axis=1)[:, None]
    total[0][part] += force.force[part]
    total[1][part] += size * force.point[part]
    total[2][part] += np.cross(force.point[part], force.force[part]) + force.moment[part]


def _at_point(force: Array, weighed: Array, about_origin: Array) -> tuple[Array, Array, Array]:
    """Force, mean point and the moment there."""
    size = np.linalg.norm(force, axis=1)[:, None]
    point = np.divide(weighed, size, out=np.zeros_like(weighed), where=size > 0.0)
    return force, point, about_origin - np.cross(point, force)


def _runs(flags: Array) -> list[tuple[int, int]]:
    """Begins and ends of runs of true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def foot_bodies(mechanism: Mechanism, given: Sequence[str] | None) -> list[str]:
    """The bodies that the ground pushes on: those given, or those that are called so."""
    if given is not None:
        for name in given:
            if name not in mechanism.body_names:
                raise InputError(f"feet: {unknown_name('body', name, mechanism.body_names)}")
        return list(given)
    bodies = [x.body.name for x in mechanism.links if not x.body.inertia.is_zero]
    bare = {name: name.lower().removeprefix("right_").removeprefix("left_") for name in bodies}
    for word in FEET:
        found = [name for name in bodies if bare[name].startswith(word)]
        if found:
            return found
    raise InputError(
        f"no body of mechanism '{mechanism.name}' is called a foot; feet= names those that the plates push "
        f"on, of {listed(bodies)}"
    )


def _wrenches(mechanism: Mechanism, q: Array, acting: Sequence[GroundForce]) -> list[Wrench]:
    """Forces at the origins of their bodies."""
    if not acting:
        return []
    poses = forward_kinematics(mechanism, q)
    found = []
    for force in acting:
        assert force.body is not None
        arm = force.point - poses[force.body][1]
        found.append(Wrench(force.body, force.force, force.moment + np.cross(arm, force.force)))
    return found


def _check_up(mechanism: Mechanism, acting: Sequence[GroundForce]) -> None:
    """The ground pushes bodies up: refuse plates that are upside down, and axes that are not the model's."""
    g = float(np.linalg.norm(mechanism.gravity))
    if not acting or g == 0.0:
        return
    up, weight = -mechanism.gravity / g, float(mechanism.mass) * g
    mean = np.sum([x.force for x in acting], axis=0).mean(axis=0)
    largest = int(np.abs(mean).argmax())
    if np.abs(mean).max() < WEIGHT * weight * 0.1:
        return
    if abs(float(mean @ up)) < 0.7 * float(np.linalg.norm(mean)):
        raise InputError(
            f"the plates push along {_axis_name(mean)} on average, but up is {_axis_name(up)} in mechanism "
            f"'{mechanism.name}': turn the trial, as by up=\"{'xyz'[largest]}\""
        )
    for force in acting:
        pushed = float((force.force @ up).mean())
        if pushed < 0.0 and -pushed > 0.05 * weight:
            raise InputError(
                f"force '{force.name}' pulls down, with {-pushed:.0f} N on average (a negative weight): the "
                "plate is upside down, or its file has the force on the plate instead of that on the foot"
            )


def _axis_name(up: Array) -> str:
    k = int(np.abs(up).argmax())
    return f"{'-' if up[k] < 0 else '+'}{'xyz'[k]}"


def _ground_variables(acting: Sequence[GroundForce]) -> dict[str, Any]:
    """Forces of the ground as variables of a result, a foot each."""
    dims = ("time", "foot", "axis")
    keys = ("force", "point", "moment")
    force, point, moment = (np.stack([getattr(x, key) for x in acting], axis=1) for key in keys)
    touching = np.linalg.norm(force, axis=-1, keepdims=True) > LOADED
    return {
        "ground_reaction": (dims, force, "N", "force of the ground on the foot"),
        "ground_reaction_point": (dims, np.where(touching, point, np.nan), "m", "where it acts", True),
        "ground_reaction_moment": (dims, moment, "N m", "moment of the ground there"),
    }
