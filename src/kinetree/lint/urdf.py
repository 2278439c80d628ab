"""All that is wrong with a URDF file, not only the first fault."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from kinetree.errors import FileError, KinetreeError
from kinetree.formats.mesh_path import MeshFolder, Packages
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import PathLike
from kinetree.formats.urdf import (
    Names,
    UrdfOptions,
    carriers_of,
    check_robot,
    is_world,
    read_robot,
    read_urdf,
)
from kinetree.formats.urdf_elements import check_grammar, joint_of, link_body, mimic_of, placement
from kinetree.formats.xacro_file import Arguments, checked_arguments
from kinetree.formats.xml_file import Element
from kinetree.lint.finding import WARNING, LintFinding, of_error
from kinetree.model.body import WORLD
from kinetree.model.suspicions import Suspicion, suspicions

CHILD_OF_KEY = {
    "lower": "limit", "upper": "limit", "velocity_limit": "limit", "at": "origin", "mass": "inertial",
    "center": "inertial", "inertia": "inertial",
}  # fmt: skip
KINDS_OF_TAGS = {"link": "body", "body": "body", "joint": "joint"}


def check_urdf(
    path: Path,
    folder: PathLike | None = None,
    packages: Packages | None = None,
    floating_base: bool = False,
    root: str | None = None,
    arguments: Arguments | None = None,
) -> list[LintFinding]:
    """The findings in a URDF file: what makes it unreadable, or what a tolerant reader passes over."""
    file = str(path)
    home, passed = MeshFolder.around(path, folder, packages), PassedOver(file)
    options = UrdfOptions(
        floating_base=floating_base, root=root, arguments=checked_arguments(arguments or {})
    )
    try:
        robot, home = read_robot(path, home, options, PassedOver(file))
    except FileError as error:
        return of_error(error, file, "syntax")
    try:
        mechanism = read_urdf(path, home, options, passed)
    except KinetreeError as error:
        passed = PassedOver(file)
        complaints = list(_complaints(robot, home, passed))
        found = [x for rule, text in complaints for x in of_error(text, file, rule)]
        return (found or of_error(error, file, "impossible-tree")) + passed_over(passed, file)
    return passed_over(passed, file) + placed(suspicions(mechanism), robot, file)


def passed_over(passed: PassedOver, file: str) -> list[LintFinding]:
    """What a tolerant reader passes over, as warnings."""
    found = []
    for remark in passed.remarks:
        (said,) = of_error(remark.message, file, remark.rule)
        found.append(LintFinding(file, said.line, WARNING, said.rule, said.message))
    return found


def placed(stated: Iterable[Suspicion], root: Element, file: str) -> list[LintFinding]:
    """Suspicions with the lines of the elements that they are about, or of the children with the keys."""
    named: dict[tuple[str, str], Element] = {}
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag in KINDS_OF_TAGS and "name" in element.attributes:
            named[KINDS_OF_TAGS[element.tag], element.attributes["name"]] = element
        waiting.extend(element.children)
    found = []
    for x in stated:
        owner = named.get((x.kind, x.name))
        inner = [] if owner is None else [*owner.all(CHILD_OF_KEY.get(x.key, x.key)), owner]
        found.append(LintFinding(file, inner[0].line if inner else None, WARNING, x.rule, x.message))
    return found


def _complaints(robot: Element, folder: MeshFolder, passed: PassedOver) -> Iterable[tuple[str, str]]:
    """Rule and text of every complaint, element by element."""
    yield from _tried("syntax", lambda: check_robot(robot, passed))
    links, joints, lost = Names("link"), Names("joint"), 0
    for named in (links, joints):
        for element in robot.all(named.tag):
            yield from _tried("repeated-name", named.add, element)
    for element in (*robot.all("link"), *robot.all("joint")):
        check_grammar(element, passed)
        if element.tag == "link" and is_world(element, WORLD):
            continue
        if element.tag == "link":
            yield from _tried("impossible-body", lambda link: link_body(link, folder, False, passed), element)
        else:
            for part in (placement, lambda joint: joint_of(joint, mimic_of(joint), passed)):
                yield from _tried("impossible-joint", part, element)
            astray = list(_tried("impossible-tree", carriers_of, links.known, {"": element}, lost))
            yield from astray
            lost += len(astray)


def _tried(rule: str, check: Callable[..., object], *arguments: object) -> Iterable[tuple[str, str]]:
    try:
        check(*arguments)
    except KinetreeError as error:
        yield rule, str(error)
