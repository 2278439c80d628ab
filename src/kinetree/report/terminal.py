"""Mechanisms and results for the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from kinetree.algebra.arrays import Array
from kinetree.algebra.rotation import AXES
from kinetree.derivations.contract import ABILITIES, Formulation
from kinetree.dynamics.loops.structure import structure, subsystems
from kinetree.errors import AssemblyError, InputError, listed
from kinetree.formats.kinds import kind_of
from kinetree.model.body import WORLD
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Link, Mechanism, size_in_words
from kinetree.model.spring import Spring
from kinetree.study.demo import Demo

NAME, QUIET = "bold", "dim"
FEW = 4  # contact points of a body that are named
MOST, DEEPEST = 100, 12  # bodies that are drawn, one below the other and one on the other


def mechanism_report(mechanism: Mechanism) -> Group:
    """All that ``kinetree info`` prints: summary, tree, joints, modules, loops and contact points.

    Of a huge mechanism it is the beginning of each, and how much more there is.
    """
    parts: list[RenderableType] = [_summary(mechanism), "", body_tree(mechanism), ""]
    parts.append(joint_table(mechanism))
    rows = sum(max(link.joint.n_dof, 1) for link in mechanism.links)
    if rows > MOST:
        parts.append(_more(rows - MOST, "row", "rows"))
    parts += ["", _modules(mechanism)]
    if mechanism.loops:
        ends = [f"{loop.name} ({loop.joint.kind}: {loop.body_a} - {loop.body_b})" for loop in mechanism.loops]
        parts += [_listed("Loops", ends), *_loop_lines(mechanism)]
    if mechanism.springs:
        springs = [f"{x.name} ({x.body_a} - {x.body_b}: {_strength(x)})" for x in mechanism.springs]
        parts.append(_listed("Springs", springs))
    if mechanism.muscles:
        muscles = [
            f"{x.name} ({' - '.join(x.bodies)}: {x.max_isometric_force:.0f} N)" for x in mechanism.muscles
        ]
        parts.append(_listed("Muscles", muscles))
    if mechanism.contact_points:
        parts.append(_listed("Contact points", _points_of_bodies(mechanism)))
    return Group(*parts)


def _points_of_bodies(mechanism: Mechanism) -> list[str]:
    """Names of contact points with their bodies; of bodies with many, their number."""
    names: dict[str, list[str]] = {}
    for point in mechanism.contact_points:
        names.setdefault(point.body, []).append(point.name)
    return [
        f"{', '.join(own)} ({body})" if len(own) <= FEW else f"{len(own)} points ({body})"
        for body, own in names.items()
    ]


def _strength(spring: Spring) -> str:
    numbers = ((spring.stiffness, "N/m"), (spring.damping, "N s/m"), (spring.turn_damping, "N m s/rad"))
    return ", ".join(f"{value:g} {unit}" for value, unit in numbers if value)


def body_tree(mechanism: Mechanism) -> Tree:
    """The bodies as a tree that stands on the world, each with the joint that carries it.

    Those too many or too deep are counted where they would be.
    """
    drawn = {WORLD: (Tree(Text(WORLD, style=QUIET), guide_style=QUIET), 0)}
    seen_at, left_out = {WORLD: WORLD}, Counter[str]()
    for link in mechanism.links:
        name, place = link.body.name, seen_at[link.parent]
        branch, depth = drawn[place]
        if place == link.parent and depth < DEEPEST and len(drawn) <= MOST:
            drawn[name], place = (branch.add(_body_label(link)), depth + 1), name
        else:
            left_out[place] += 1
        seen_at[name] = place
    for place, count in left_out.items():
        drawn[place][0].add(_more(count, "body", "bodies"))
    return drawn[WORLD][0]


def joint_table(mechanism: Mechanism) -> Table:
    """One row per degree of freedom, of the first ones: joint, kind, motion, limits."""
    table = plain_table("joint", "kind", "motion", "lower", "upper", "velocity limit", "effort limit")
    for row in islice((row for link in mechanism.links for row in _joint_rows(link.joint)), MOST):
        table.add_row(*row)
    return table


def zoo_table(models: Iterable[tuple[str, str, Mechanism]]) -> Table:
    """Mechanisms by name, with one line about each."""
    table = plain_table("name", "bodies", "dof", "coordinates", "description")
    for name, description, mechanism in models:
        table.add_row(
            Text(name, style=NAME),
            str(mechanism.n_bodies),
            str(structure(mechanism).mobility),
            str(mechanism.n_dof),
            Text(description),
        )
    return table


def file_table(files: Iterable[tuple[str, Path]]) -> Table:
    """Models of files by the names that commands take."""
    table = plain_table("name", "format", "size")
    for name, file in files:
        size = f"{file.stat().st_size / 1000:.0f} kB"
        kind = kind_of(file)
        table.add_row(Text(name, style=NAME), kind.name if kind else file.suffix, size)
    return table


def demo_report(demo: Demo) -> Group:
    """What the demo found, in a few lines."""
    table = plain_table("joint", "from", "to", "largest torque", "at")
    start, end = np.degrees(demo.driven.q[0]), np.degrees(demo.driven.q[-1])
    for k, joint in enumerate(demo.mechanism.joint_names):
        torque, time = f"{demo.peak_torque[k]:.4f} N m", f"{demo.peak_time[k]:.3f} s"
        table.add_row(Text(joint, style=NAME), f"{start[k]:.0f} deg", f"{end[k]:.0f} deg", torque, time)
    name, duration = demo.mechanism.name, f"{demo.time[-1]:g} s"
    energy = f"{demo.energy_exchanged:.4f} J exchanged, energy drift {demo.energy_drift:.1e} J"
    return Group(
        Text(f"Inverse dynamics: {name}, cycloidal motion in {duration} ([Shah2013], section 6.2.1)"),
        table,
        Text(f"Free fall from rest for {duration}: {energy}"),
    )


def plain_table(*columns: str) -> Table:
    """A table without lines, whose long cells are folded."""
    table = Table(box=None, header_style=QUIET, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _summary(mechanism: Mechanism) -> Text:
    gravity = ", ".join(f"{x:g}" for x in mechanism.gravity)
    counts = f"{size_in_words(mechanism)}, {mechanism.mass:.6g} kg"
    closed = f", {_loops(mechanism)}" if mechanism.loops else ""
    return Text.assemble((mechanism.name, NAME), f": {counts}, gravity ({gravity}) m/s^2{closed}")


def _loops(mechanism: Mechanism) -> str:
    """What the loops leave of the freedom, or that they cannot be closed."""
    try:
        found = structure(mechanism)
    except AssemblyError as error:
        return str(error).partition(": ")[2]
    redundant = f" ({found.redundant} of {found.rows} constraints redundant)" if found.redundant else ""
    return f"mobility {found.mobility} with closed loops{redundant}"


def _loop_lines(mechanism: Mechanism) -> list[RenderableType]:
    """Independent and driven joints, and the subsystems of inverse dynamics in their order."""
    try:
        found = structure(mechanism)
    except AssemblyError:
        return []
    drives = [name for name, driven in zip(mechanism.joint_names, mechanism.driven, strict=True) if driven]
    lines: list[RenderableType] = [
        _listed("Independent joints", list(found.independent)),
        _listed("Driven joints", drives or ["none"]),
    ]
    try:
        parts = subsystems(mechanism)
    except InputError:
        return lines  # more or fewer drives than freedoms
    lines.append(Text("Subsystems of inverse dynamics, in order:"))
    for number, part in enumerate(parts[:MOST], start=1):
        gives = [*(f"force of {x}" for x in part.loops), *(f"torque of {x}" for x in part.drives)]
        after = ", ".join(str(k + 1) for k in part.after)
        state = f"after {after}" if after else "determinate"
        lines.append(Text(f"  {number}. {', '.join(gives)} from {', '.join(part.joints)} ({state})"))
    if len(parts) > MOST:
        lines.append(_more(len(parts) - MOST, "subsystem", "subsystems"))
    return lines


def _body_label(link: Link) -> Text:
    inertia = link.body.inertia
    mass = f", {inertia.mass:.6g} kg" if inertia.mass else ", no mass"
    return Text.assemble((link.body.name, NAME), (f"  {link.joint.name}: {link.joint.kind}{mass}", QUIET))


def _joint_rows(joint: Joint) -> Iterator[list[str | Text]]:
    """The table rows of a joint; the first names its kind and the joint that it follows, if any."""
    note = "" if joint.mimic is None else f", follows {listed(x for x, _ in joint.mimic.leaders)}"
    if not joint.n_dof:
        yield [Text(joint.name, style=NAME), joint.kind, "none", "", "", "", ""]
    for k, name in enumerate(joint.dof_names):
        turn = joint.turns[k]
        motion = f"{'about' if turn else 'along'} {_direction(joint.axes[k])}"
        unit, effort = ("rad", "N m") if turn else ("m", "N")
        yield [
            Text(name, style=NAME),
            Text(joint.kind + note if k == 0 else ""),
            motion,
            _bounded(joint.lower[k], unit),
            _bounded(joint.upper[k], unit),
            _bounded(joint.velocity_limit[k], f"{unit}/s"),
            _bounded(joint.effort_limit[k], effort),
        ]


def _direction(axis: Array) -> str:
    for letter, direction in AXES.items():
        for sign in (1.0, -1.0):
            if np.array_equal(axis, sign * direction):
                return letter.lower() if sign > 0 else f"-{letter.lower()}"
    return "(" + ", ".join(f"{x:.4g}" for x in axis) + ")"


def _bounded(value: float, unit: str) -> str:
    return f"{value:.4g} {unit}" if np.isfinite(value) else "none"


def _modules(mechanism: Mechanism) -> Text:
    """The modules in which the bodies are drawn and the recursions run ([Shah2013], section 4.1)."""
    lines = Text("Modules", style=NAME)
    for module in mechanism.modules[:MOST]:
        chain = _joined(" - ", module.bodies) or WORLD
        origin = "" if module.parent is None else f"  (on M{module.parent})"
        lines.append(f"\n  M{module.number}: {chain}{origin}", style="not bold")
    if len(mechanism.modules) > MOST:
        lines.append(f"\n  ... {len(mechanism.modules) - MOST} more", style="not bold")
    return lines


def _listed(title: str, entries: list[str]) -> Text:
    return Text.assemble((title, NAME), "\n  ", _joined(", ", entries))


def _joined(between: str, entries: Sequence[str]) -> str:
    """The entries, of many the first ones and how many more there are."""
    more = [] if len(entries) <= MOST else [f"... {len(entries) - MOST} more"]
    return between.join([*entries[:MOST], *more])


def _more(count: int, one: str, many: str) -> Text:
    return Text(f"... {count} more {one if count == 1 else many} (--json shows all)", style=QUIET)


def formulation_table(formulations: Iterable[Formulation]) -> Table:
    """Formulations with what they can do, their cost and their source."""
    table = Table(box=None, pad_edge=False)
    for title in ("name", "what", "can", "cost", "source"):
        table.add_column(title, overflow="fold")
    for f in formulations:
        can = ", ".join(name.replace("_", " ") for name in ABILITIES if name in f.can)
        table.add_row(f.name, f.title, can, f.cost, f.source)
    return table
