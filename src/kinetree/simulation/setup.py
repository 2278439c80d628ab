"""From checked arguments to the right-hand side of a simulation: what acts, as rows for compiled code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.engine.specialized import MOTION, made_for
from kinetree.errors import InputError, shown
from kinetree.kernels.ground import POINT
from kinetree.kernels.layout import layout_rows
from kinetree.kernels.rates import LOCK
from kinetree.kernels.torque_law import AXIS, END, POWERS, LawParts
from kinetree.model.mechanism import Mechanism
from kinetree.model.tree import Integers, Tree
from kinetree.simulation.compiled.component import Component
from kinetree.simulation.compiled.context import ContextParts
from kinetree.simulation.cut_law import JointDrive
from kinetree.simulation.ground import Ground
from kinetree.simulation.loads import Loads, LoadsGiven, place_on_axis, read_loads
from kinetree.simulation.python_law import PythonCutLaw, PythonLaw
from kinetree.simulation.settings import Options, Stops, Trigger
from kinetree.simulation.system import System
from kinetree.simulation.torque import Law
from kinetree.state import independent_axes

ENDLESS = 1e150  # rad or m: a limit that a joint does not have; infinity times zero would be no number
MOST_INSTANTS = 1e8  # of a law that is sampled
CALM = 1e-2  # share of atol: m/s to be seen rising or sinking, m above the ground to be seen leaving it


class Surroundings(NamedTuple):
    """What a mechanism meets: ground under contact points, wrenches, stops at limits of joints."""

    ground: Ground | None = None
    loads: Loads = Loads()
    stops: Stops | None = None

    def breaks(self, law: Law) -> tuple[float, ...]:
        """Times (s) at which steps have to end: those of a law and of loads."""
        return tuple(sorted({*law.parts.breaks, *self.loads.breaks}))


def surroundings(
    ground: Ground | None = None, loads: LoadsGiven = (), stops: Stops | None = None, duration: float = 1.0
) -> Surroundings:
    """Surroundings from the arguments of a simulation that lasts so long (s)."""
    return Surroundings(ground, read_loads(loads, duration), stops)


def new_system(
    mechanism: Mechanism,
    law: Law,
    around: Surroundings,
    options: Options,
    events: Sequence[Trigger] = (),
    lanes: int = 1,
    varied: bool = False,
) -> System:
    """A mechanism with everything that acts on it; ``varied`` if its numbers differ from lane to lane."""
    _check_kinds(around, events)
    if around.ground is not None and around.ground.contact != "soil":
        raise InputError(
            "rigid contact of the ground is for kt.simulate, Simulator, LiveSimulation and kt.Stepper; "
            "use contact='soil'"
        )
    if mechanism.n_dof == 0:
        raise InputError(f"mechanism '{mechanism.name}' has no degrees of freedom, so nothing can move")
    if options.baumgarte is not None and not mechanism.loops:
        raise InputError(
            f"baumgarte = {options.baumgarte:g} 1/s closes loops, and mechanism '{mechanism.name}' has none"
        )
    names = around.ground.contact_names(mechanism) if around.ground is not None else ()
    parts = context_parts(mechanism, law, around, options, varied)
    parts.lanes = lanes
    system = System(mechanism, parts, law.constant, law, events, names)
    system.loads = around.loads
    return system


def _check_kinds(around: Surroundings, events: Sequence[Trigger]) -> None:
    """Every argument is what it should be."""
    for name, value, kind in (("ground", around.ground, Ground), ("stops", around.stops, Stops)):
        if value is not None and not isinstance(value, kind):
            raise InputError(f"{name} must be a {kind.__name__}, got {shown(value)}")
    for event in events:
        if not isinstance(event, Trigger):
            raise InputError(f"events must be a list of Trigger, got {shown(event)} in it")


def _made_motion(mechanism: Mechanism, law: Law, varied: bool) -> list[Component]:
    """What finds accelerations by code that was made for the mechanism, if there is any that serves."""
    tree = mechanism.tree
    made = made_for(MOTION, tree)
    if made is None or mechanism.loops or tree.coupling is not None or law.prescribed is not None:
        return []
    from kinetree.simulation.compiled.made_motion import VARIED, MadeMotion

    return [MadeMotion(made)] if not varied or set(made.columns) >= VARIED else []


def components(
    mechanism: Mechanism, law: Law, around: Surroundings, options: Options
) -> tuple[Component, ...]:
    """What acts beside mechanism, built-in law, ground and stops."""
    found: list[Component] = []
    if mechanism.loops:
        from kinetree.simulation.loops import closed_loops

        found.append(closed_loops(mechanism, options.baumgarte, is_led=law.prescribed is not None))
        forces = _cut_joint_forces(mechanism, law, around.stops, options.friction_speed)
        found += forces
        if law.cut is not None and law.cut.is_python:
            found.append(PythonCutLaw(law.cut, forces[0], len(found) - 1))
    if mechanism.tree.springs is not None:
        from kinetree.simulation.compiled.springs import SpringForces

        found.append(SpringForces(mechanism.tree.springs))
    if mechanism.tree.coupling is not None and not mechanism.loops and law.prescribed is None:
        from kinetree.simulation.compiled.coupled import MimicJoints

        found.append(MimicJoints())
    if law.is_called:
        found.append(PythonLaw(mechanism, law))
    if law.servos is not None:
        from kinetree.simulation.compiled.servos import Servos

        found.append(Servos(**law.servos, axes=independent_axes(mechanism)))
    if law.parts.drive is not None:
        from kinetree.simulation.compiled.actuator import Actuators

        found.append(Actuators(law.parts.drive, independent_axes(mechanism), mechanism.n_dof))
    if law.prescribed is not None:  # last: it solves with all forces that the others have brought
        from kinetree.simulation.compiled.prescribed import PrescribedJoints

        found.append(
            PrescribedJoints(
                law.prescribed.places,
                independent_axes(mechanism),
                law.prescribed.motion,
                in_loops=bool(mechanism.loops),
            )
        )
    return tuple(found)


def _cut_joint_forces(mechanism: Mechanism, law: Law, stops: Stops | None, slow: float) -> list[Component]:
    """What acts on coordinates of cut joints, if anything does."""
    if law.cut is None and stops is None and not any(loop.joint.parameters() for loop in mechanism.loops):
        return []
    from kinetree.dynamics.loops.coordinates import cut_table

    table = cut_table(mechanism)
    if not (table.passive.any() or law.cut is not None or table.limited.any()):
        return []
    from kinetree.simulation.compiled.cut_joints import CutJointForces

    strength = None if stops is None else (stops.stiffness, stops.damping)
    ends = {key: np.clip(table.columns[key], -ENDLESS, ENDLESS) for key in ("lower", "upper")}
    drives = (JointDrive(),) * len(table.names) if law.cut is None else law.cut.drives
    return [CutJointForces(table.names, table.columns | ends, table.limited, strength, slow, drives)]


def context_parts(
    mechanism: Mechanism,
    law: Law,
    around: Surroundings,
    options: Options,
    varied: bool = False,
) -> ContextParts:
    """All that a simulation reads, as rows for compiled code."""
    tree, parts = mechanism.tree, _of_axes(mechanism, law.parts)
    if parts.model is not None and parts.model.n != tree.n:
        raise InputError(f"the controller's model has {parts.model.n} axes, the mechanism {tree.n}")
    more: dict[str, Any] = {}
    if around.ground is not None:
        plane, regions = around.ground.rows(mechanism)
        more = {"plane": plane, "regions": regions, "points": point_rows(mechanism, around.ground)}
        if around.ground.terrain is not None:
            from kinetree.simulation.compiled.terrain import terrain_numbers

            frame = around.ground.frame(mechanism)
            more["terrain"] = terrain_numbers(around.ground.terrain, around.ground.origin, frame)
    return ContextParts(
        tree,
        axis_rows(mechanism, parts, around.stops),
        parts.model,
        loads=around.loads.rows(mechanism),
        moving=around.loads.polynomials(mechanism),
        locks=lock_rows(mechanism),
        desired=_arrays(parts.desired),
        table=_arrays(parts.table),
        mode=parts.mode,
        floating=parts.floating,
        aware=parts.aware,
        integrating=bool(np.any(parts.ki != 0.0)),
        period=parts.period,
        n_log=_instants(options.duration, parts.period),
        slow=options.friction_speed,
        skin=CALM * options.atol,
        calm=CALM * options.atol,
        rtol=options.rtol,
        stiff=options.method not in ("dop853", "dopri5"),
        components=(*_made_motion(mechanism, law, varied), *components(mechanism, law, around, options)),
        varied=varied,
        **more,
    )


def _instants(duration: float, period: float) -> int:
    """How many sampling instants there are before the end."""
    if period <= 0.0:
        return 0
    if duration / period > MOST_INSTANTS:
        raise InputError(
            f"a law with a period of {period:g} s acts {duration / period:.2g} times in {duration:g} s; "
            f"allowed are {MOST_INSTANTS:g}"
        )
    return max(1, math.ceil(duration / period - 1e-9))


def _arrays(table: Any) -> tuple[Array, Array] | None:
    return None if table is None else (table.breaks, table.coefficients)


def _of_axes(mechanism: Mechanism, parts: LawParts) -> LawParts:
    """The law for all axes: it does nothing to mimic joints, whose leaders it drives."""
    if mechanism.tree.coupling is None:
        return parts
    free, n = independent_axes(mechanism), mechanism.tree.n

    def spread(values: Any, rest: float) -> Array:
        full = np.full((*np.shape(values)[:-1], n), rest)
        full[..., free] = values
        return full

    table = parts.table
    if table is not None:
        table = type(table)(table.breaks, spread(table.coefficients, 0.0))
    return replace(
        parts,
        actuated=spread(parts.actuated, 0.0),
        kp=spread(parts.kp, 0.0),
        kd=spread(parts.kd, 0.0),
        ki=spread(parts.ki, 0.0),
        limit=spread(parts.limit, np.inf),
        table=table,
    )


def axis_rows(mechanism: Mechanism, parts: LawParts, stops: Stops | None) -> Array:
    """Gains, limits and stops of every axis, and the coordinate that it is or follows."""
    tree = mechanism.tree
    bounded = np.isfinite(tree.lower) | np.isfinite(tree.upper)
    lower, upper = np.clip(tree.lower, -ENDLESS, None), np.clip(tree.upper, None, ENDLESS)
    stopped = bounded & (stops is not None)
    following: dict[str, Any] = {"leads": 1, "dof": np.arange(tree.n), "ratio": 1.0, "more": END}
    if tree.coupling is not None:
        leads, dof = np.zeros(tree.n, dtype=np.int64), tree.coupling.leader
        leads[independent_axes(mechanism)] = 1
        ratio = tree.coupling.linear[np.arange(tree.n), dof]
        following |= {"leads": leads, "dof": dof, "ratio": ratio, "shift": tree.coupling.offset}
    more, further = _further_leaders(tree)
    piece, pieces = _pieces(tree, len(further))
    own = layout_rows(
        AXIS,
        tree.n,
        passive=(tree.passive | stopped).astype(np.int64),
        actuated=np.asarray(parts.actuated, dtype=np.int64),
        bounded=bounded.astype(np.int64),
        stopped=stopped.astype(np.int64),
        **following | {"more": more, "piece": piece},
        kp=parts.kp,
        kd=parts.kd,
        ki=parts.ki,
        limit=parts.limit,
        lower=lower,
        upper=upper,
        stop_k=stops.stiffness if stops is not None else 0.0,
        stop_c=stops.damping if stops is not None else 0.0,
    )
    return np.concatenate([own, further, pieces])


def _further_leaders(tree: Tree) -> tuple[Integers, Array]:
    """For axes that follow several coordinates: the row of the next one, and these rows, after the axes'."""
    more, chain = np.full(tree.n, END), list[tuple[int, float, int]]()
    if tree.coupling is not None:
        for i in np.flatnonzero(tree.coupling.has_several):
            line = tree.coupling.linear[i]
            for k in np.flatnonzero(line):
                if k != tree.coupling.leader[i]:
                    chain.append((int(k), float(line[k]), int(more[i])))
                    more[i] = tree.n + len(chain) - 1
    dof, ratio, next_row = zip(*chain, strict=True) if chain else ((), (), ())
    columns = {"dof": list(dof), "ratio": list(ratio), "more": list(next_row), "piece": END}
    return more, layout_rows(AXIS, len(chain), **columns)


def _pieces(tree: Tree, before: int) -> tuple[Integers, Array]:
    """Of axes that follow by functions the row of their first piece; these rows, after ``before`` others."""
    first, laws = np.full(tree.n, END), None if tree.coupling is None else tree.coupling.laws
    if laws is None:
        return first, layout_rows(AXIS, 0)
    begin, center, powers, following = list[float](), list[float](), list[Array](), list[int]()
    most = laws.table.coefficients.shape[2]
    if most > POWERS:
        raise InputError(
            f"joint '{laws.names[0]}' follows another by a polynomial of degree {most - 1}; simulations "
            f"support degrees up to {POWERS - 1}"
        )
    for k, axis in enumerate(laws.axes):
        ends = [-ENDLESS, *(float(x) for x in laws.table.breaks[k] if np.isfinite(x))]
        first[axis] = tree.n + before + len(begin)
        for j, end in enumerate(ends):
            following.append(tree.n + before + len(begin) + 1 if j < len(ends) - 1 else END)
            begin.append(end)
            center.append(float(laws.table.centers[k, j]))
            powers.append(np.pad(laws.table.coefficients[k, j], (0, POWERS - most)))
    columns = {"begin": begin, "center": center, "powers": np.array(powers), "piece": following}
    return first, layout_rows(AXIS, len(begin), more=END, **columns)


def point_rows(mechanism: Mechanism, ground: Ground) -> Array:
    """Where the contact points are."""
    names = ground.contact_names(mechanism)
    known = {point.name: point for point in mechanism.contact_points}
    points = [known[name] for name in names]
    places = [place_on_axis(mechanism, x.body, x.position, f"contact point '{x.name}'") for x in points]
    R = mechanism.tree.body_rotation[[mechanism.body_index(x.body) for x in points]]
    S = R @ np.array([x.matrix for x in points]) @ np.swapaxes(R, -1, -2)
    return layout_rows(
        POINT,
        len(names),
        axis=[axis for axis, _ in places],
        round=np.array([x.is_round for x in points], dtype=np.int64),
        r=np.array([r for _, r in places]),
        S=S.reshape(-1, 9),
        rubs=np.array([x.friction is not None for x in points], dtype=np.int64),
        friction=np.array([x.friction or 0.0 for x in points]),
    )


def lock_rows(mechanism: Mechanism) -> Array:
    """The middle axes of joints that three Euler angles describe: where they can lock.

    Of those that mimic joints come before, a lock is not watched: their coordinates are not their axes.
    """
    rows, place = [], 0
    for link in mechanism.links:
        joint = link.joint
        if joint.mimic is not None:
            continue
        if joint.has_three_turns:
            a, b, c = joint.axes[-3:]
            if abs(a @ b) < 1e-9 and abs(b @ c) < 1e-9:  # axes of a proper Euler sequence
                symmetric = int(abs(a @ c) > 0.5)
                rows.append(layout_rows(LOCK, 1, axis=place + joint.n_dof - 2, symmetric=symmetric))
        place += joint.n_dof
    locks = np.concatenate(rows) if rows else np.zeros((0, LOCK.width))
    middles, free = locks.view(np.int64)[:, LOCK.places["axis"][0]], independent_axes(mechanism)
    kept: Array = locks[free[middles] == middles]
    return kept
