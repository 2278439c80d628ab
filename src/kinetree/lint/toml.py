"""All that is wrong with a mechanism file in TOML, not only the first fault, and what looks wrong in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from pydantic import BaseModel, ValidationError

from kinetree.errors import FileError, KinetreeError, ModelError, unknown_name
from kinetree.formats.file_origin import ARRAYS, Origin, Place, complaint
from kinetree.formats.files import included_by
from kinetree.formats.schema import (
    ActuatorTable,
    BodyTable,
    ContactTable,
    DhRowTable,
    FrameTable,
    GraphBodyTable,
    GraphJointTable,
    GraphTable,
    LoopTable,
    MechanismTable,
    SpringTable,
    StateTable,
    is_graph,
)
from kinetree.formats.toml_file import mechanism_of
from kinetree.formats.toml_lines import key_lines
from kinetree.formats.toml_parts import (
    SOLIDS,
    actuator_of,
    body_of,
    contact_point_of,
    dh_row_of,
    frame_of,
    inertia_of,
    joint_of,
    link_of,
    loop_of,
    placement_of,
    shape_of,
    spring_of,
    state_of,
)
from kinetree.lint.finding import ERROR, WARNING, LintFinding, of_error
from kinetree.model.body import WORLD, Body
from kinetree.model.dh import from_dh
from kinetree.model.faults import faults
from kinetree.model.joint import Joint
from kinetree.model.mechanism import Link, Mechanism, on_bodies
from kinetree.model.suspicions import Suspicion, looks_like_degrees, suspicions

RULE_OF = {"extra_forbidden": "unknown-key", "missing": "missing-key"}
BY_THEMSELVES = ("degrees-as-radians", "millimeters-as-meters", "inertia-does-not-fit", "no-room-to-move")
REPEATED = re.compile(r"more than one (?P<kind>[a-z ]+) is called ")
Problem = tuple[Place, Mapping[str, Any]]  # where, and what pydantic says


class Part(NamedTuple):
    """A list of tables of the file: its key, its schema, what makes a part of it.

    Where no part can be made, the pieces tell all that is wrong with it.
    """

    key: str
    schema: type[BaseModel]
    make: Callable[[Any], Any]
    pieces: tuple[Callable[[Any], object], ...]


def _joint_alone(table: BodyTable) -> Joint:
    return joint_of(table.joint.name or f"{table.name}_joint", table.joint)


def _row_alone(table: DhRowTable) -> Mechanism:
    row = {key: x for key, x in dh_row_of(table).items() if key not in ("name", "parent", "mimic")}
    return from_dh([row], name="row")


def _checked_row(table: DhRowTable) -> dict[str, Any]:
    _row_alone(table)
    return dh_row_of(table)


PARTS = (
    Part(
        "body",
        BodyTable,
        link_of,
        (
            inertia_of,
            _joint_alone,
            lambda table: placement_of(table.joint, "joint"),
            lambda table: [shape_of(x) for x in table.shapes],
            lambda table: Body(table.name),
        ),
    ),
    Part("loop", LoopTable, loop_of, (loop_of,)),
    Part("spring", SpringTable, spring_of, (spring_of,)),
    Part("contact", ContactTable, contact_point_of, (contact_point_of,)),
    Part("frame", FrameTable, frame_of, (frame_of,)),
    Part("actuator", ActuatorTable, actuator_of, (actuator_of,)),
    Part("state", StateTable, state_of, (state_of,)),
    Part("dh.row", DhRowTable, _checked_row, (_row_alone,)),
)
GRAPH_PARTS = (
    Part(
        "body",
        GraphBodyTable,
        body_of,
        (inertia_of, lambda table: [shape_of(x) for x in table.shapes], lambda table: Body(table.name)),
    ),
    Part("joint", GraphJointTable, loop_of, (loop_of,)),
    *(part for part in PARTS if part.key in ("spring", "contact")),
)


def check_mechanism_toml(text: str, file: str) -> list[LintFinding]:
    """The findings in a mechanism file; ``file`` is its path, which is what they call it."""
    try:
        origin = Origin.of_text(text.removeprefix("\ufeff"), file, included_by(Path(file)))
    except FileError as error:
        return of_error(error, file, "syntax")
    return check_mechanism_table(origin, key_lines(text))


def check_mechanism_table(origin: Origin, lines: Mapping[Place, int], above: Place = ()) -> list[LintFinding]:
    """The findings in a mechanism that was parsed; ``above`` is its place in a larger file."""
    graph = is_graph(origin.table)
    model: type[BaseModel] = GraphTable if graph else MechanismTable
    problems = _schema_errors(origin, model)
    found = _schema_findings(origin, model, problems, lines, above)
    parts, wrong = _parts(origin, [place for place, _ in problems], GRAPH_PARTS if graph else PARTS)
    found += wrong
    whole = not found and bool(origin.table)
    if not graph:
        found += _tree_findings(origin, parts) if whole else _orphans(origin, lines, above)
    found += _raw_angles(origin, lines, above)
    mechanism: Mechanism | None
    try:
        mechanism = mechanism_of(origin)
    except KinetreeError as error:
        if not any(x.severity == ERROR for x in found):
            found += of_error(error, origin.source, "impossible-mechanism")
        mechanism = None if graph else _remains(parts["body"])
    stated = [] if mechanism is None else suspicions(mechanism)
    healthy = not any(x.severity == ERROR for x in found)
    return found + [_placed(x, origin, lines, above) for x in stated if healthy or x.rule in BY_THEMSELVES]


def schema_findings(
    origin: Origin, model: type[BaseModel], lines: Mapping[Place, int], above: Place = ()
) -> list[LintFinding]:
    """What the schema of a file refuses: unknown and missing keys, wrong values."""
    return _schema_findings(origin, model, _schema_errors(origin, model), lines, above)


def _schema_findings(
    origin: Origin,
    model: type[BaseModel],
    problems: Sequence[Problem],
    lines: Mapping[Place, int],
    above: Place,
) -> list[LintFinding]:
    return [
        LintFinding(
            origin.source,
            nearest_line((*above, *place), lines),
            ERROR,
            RULE_OF.get(problem["type"], "wrong-value"),
            complaint(problem, model),
        )
        for place, problem in problems
    ]


def nearest_line(place: Place, lines: Mapping[Place, int]) -> int | None:
    """The line of a key, or of the table that it is or would be in."""
    return next((lines[place[:k]] for k in range(len(place), 0, -1) if place[:k] in lines), None)


def _schema_errors(origin: Origin, model: type[BaseModel]) -> list[Problem]:
    try:
        model.model_validate(dict(origin.table))
    except ValidationError as error:
        return [(problem["loc"], problem) for problem in error.errors(include_url=False)]
    return []


def _parts(
    origin: Origin, bad: Sequence[Place], kinds: Sequence[Part]
) -> tuple[dict[str, list[Any]], list[LintFinding]]:
    """The parts of the mechanism that can exist, and findings about those that cannot."""
    made: dict[str, list[Any]] = {part.key: [] for part in kinds}
    found: list[LintFinding] = []
    for part in kinds:
        path = ARRAYS[part.key]
        broken = {place[: len(path) + 1] for place in bad}
        for k, entry in enumerate(origin.entries(part.key)):
            if (*path, k) in broken:
                continue
            table = part.schema.model_validate(entry)
            try:
                with np.errstate(over="ignore", invalid="ignore"):
                    made[part.key].append(part.make(table))
            except ModelError:
                for text in _complaints(origin, (*path, k), part.pieces, table):
                    found += of_error(text, origin.source, f"impossible-{path[-1]}")
    return made, found


def _complaints(
    origin: Origin, place: Place, pieces: Sequence[Callable[[Any], object]], table: BaseModel
) -> Iterator[str]:
    for piece in pieces:
        try:
            with origin.blamed(*place), np.errstate(over="ignore", invalid="ignore"):
                piece(table)
        except ModelError as error:
            yield str(error).replace("DH row 0 ('link1'): ", "")  # a row by itself is the first


def _tree_findings(origin: Origin, parts: Mapping[str, list[Any]]) -> Iterator[LintFinding]:
    """What is wrong with bodies that are in order by themselves: names, parents, cycles."""
    if origin.table.get("dh") is not None or origin.entries("include"):
        return  # what is included belongs to the tree: judged as a whole
    points = on_bodies(parts["contact"], parts["frame"])
    name, further = str(origin.table.get("name")), (parts["loop"], points, parts["spring"])
    for fault in faults(name, parts["body"], *further):
        repeated = REPEATED.match(fault)
        if repeated is not None and repeated["kind"] == "degree of freedom":
            continue
        try:
            with origin.blamed():
                raise ModelError(fault)
        except ModelError as error:
            yield from of_error(error, origin.source, "repeated-name" if repeated else "impossible-tree")


def _orphans(origin: Origin, lines: Mapping[Place, int], above: Place) -> Iterator[LintFinding]:
    """Bodies on unknown parents, in a file that is broken elsewhere."""
    if origin.entries("include"):
        return
    entries = [entry for entry in origin.entries("body") if isinstance(entry, Mapping)]
    names = dict.fromkeys([WORLD, *(str(entry.get("name")) for entry in entries)])
    lost = 0
    for k, entry in enumerate(origin.entries("body")):
        parent = entry.get("parent", WORLD) if isinstance(entry, Mapping) else WORLD
        if isinstance(parent, str) and parent not in names:
            line = nearest_line((*above, "body", k, "parent"), lines)
            message = f"parent of {origin.label('body', k)}: {unknown_name('body', parent, names, lost)}"
            yield LintFinding(origin.source, line, ERROR, "impossible-tree", message)
            lost += 1


def _remains(links: Sequence[Link]) -> Mechanism | None:
    """The bodies that can exist, on the world where their parents cannot."""
    known = {link.body.name: link for link in links}
    try:
        return Mechanism(
            "remains",
            tuple(x if x.parent in known else replace(x, parent=WORLD) for x in known.values()),
        )
    except ModelError:
        return None


# ---- suspicions -----------------------------------------------------------------------------------------


def _placed(x: Suspicion, origin: Origin, lines: Mapping[Place, int], above: Place) -> LintFinding:
    line = nearest_line((*above, *_place(x, origin)), lines)
    return LintFinding(origin.source, line, WARNING, x.rule, x.message)


def _place(x: Suspicion, origin: Origin) -> Place:
    """Where in the file that is which a suspicion is about."""
    if x.kind == "mechanism":
        return (x.key,)
    for key, k in origin.places(x.kind, x.name):
        solid = [part for part in SOLIDS if x.kind == "body" and part in origin.entries(key)[k]]
        inside = ["joint"] if x.kind == "joint" and key == "body" else solid[:1]
        return (*ARRAYS[key], k, *inside, x.key)
    return ()


def _raw_angles(origin: Origin, lines: Mapping[Place, int], above: Place) -> Iterator[LintFinding]:
    """Angles of frames that look like degrees; a mechanism no longer knows them."""
    for key, path in ARRAYS.items():
        for k, entry in enumerate(origin.entries(key)):
            for place, value in _angles(entry):
                if isinstance(value, int | float) and looks_like_degrees(value):
                    whole = (*path, k, *place)
                    yield LintFinding(
                        origin.source,
                        nearest_line((*above, *whole), lines),
                        WARNING,
                        "degrees-as-radians",
                        f"{origin.label(key, k)}: {place[-1]} = {value:g} rad is more than one revolution"
                        f'; if degrees are meant, write "{value:g} deg"',
                    )


def _angles(entry: object) -> Iterator[tuple[Place, Any]]:
    if not isinstance(entry, Mapping):
        return
    for key in ("alpha", "theta"):
        yield (key,), entry.get(key)
    for key in ("joint", "a", "b"):
        inner = entry.get(key)
        rpy = inner.get("rpy") if isinstance(inner, Mapping) else None
        for value in rpy if isinstance(rpy, list) else ():
            yield (key, "rpy"), value
