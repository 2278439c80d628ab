"""Reading URDF files, the robot descriptions of ROS.

A URDF file is a tree of <link> elements joined by <joint> elements; what simulators and drivers add to it
(<gazebo>, <transmission>, <material>, ...) is ignored, but for rotors of Drake; what of it would change the
dynamics, and whatever else is not URDF, is noted and said in one warning, as everybody extends the format;
``strict`` refuses it. URDF holds no loops but those of :mod:`kinetree.formats.urdf_loops`, and no gravity:
it is 9.81 m/s^2 downwards, along -z.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kinetree.errors import FileError, InputError, ModelError, listed, must_be, unknown_name
from kinetree.formats.contact_choice import ContactChoice, Contacts
from kinetree.formats.drake_parts import rotors, take_joints
from kinetree.formats.mesh_path import MeshFolder, Packages
from kinetree.formats.mimics import resolved_mimics
from kinetree.formats.passed_over import PassedOver, warn_of_unphysical
from kinetree.formats.regular_file import file_content
from kinetree.formats.urdf_contact import contact_points
from kinetree.formats.urdf_elements import (
    ONE_AXIS_TYPES,
    check_grammar,
    joint_of,
    joint_type,
    link_body,
    material_colors,
    mimic_of,
    placement,
)
from kinetree.formats.urdf_extensions import mention_extensions
from kinetree.formats.urdf_loops import companion_of, with_companion, with_loop_elements
from kinetree.formats.xacro_file import Arguments, checked_arguments, expanded, has_macros
from kinetree.formats.xml_file import Element, parse_xml
from kinetree.model.body import WORLD, checked_name
from kinetree.model.joint import Joint, Mimic
from kinetree.model.mechanism import Link, Mechanism

PathLike = str | os.PathLike[str]
Named = dict[str, Element]
TREES_ONLY = (
    "URDF describes trees; a loop is described by a cut joint (loop) in a TOML file, or by a <loop> of URDF+"
)


@dataclass(frozen=True)
class UrdfOptions:
    """How a URDF file is read; see :func:`load_urdf`."""

    allow_unphysical: bool = False
    floating_base: bool = False
    root: str | None = None
    strict: bool = False
    contacts: ContactChoice = field(default_factory=ContactChoice)
    arguments: Mapping[str, str] = field(default_factory=dict)


def load_urdf(
    path: PathLike,
    allow_unphysical: bool = False,
    floating_base: bool = False,
    folder: PathLike | None = None,
    packages: Packages | None = None,
    root: str | None = None,
    strict: bool = False,
    contacts: Contacts = None,
    arguments: Arguments | None = None,
) -> Mechanism:
    """The mechanism a URDF file describes.

    The root link becomes a body fixed to the world, or carried by a free joint if ``floating_base``; only a
    root called 'world' is the world itself. ``q`` follows the order of the <joint> elements,
    parents first. ``root`` names the link to start from where several have no parent. On a floating base,
    collisions become contact points; ``contacts`` chooses other bodies (:func:`kinetree.load`). Mesh files
    are opened only for these; shapes keep their paths relative to the file's folder, or to ``folder``, a
    folder around it such as the package's. ``packages`` are folders by the name behind package://.

    What a file has beyond the format, and unphysical inertias (see :class:`kinetree.Inertia`), are
    accepted with one warning each; ``allow_unphysical`` says that the inertias are meant, ``strict`` refuses
    both. xacro macros are expanded; ``arguments`` are the values of their ``$(arg name)``.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(must_be("the path of a URDF file", "a text or a path", path))
    file = Path(path)
    texts = checked_arguments(arguments or {})
    options = UrdfOptions(allow_unphysical, floating_base, root, strict, ContactChoice.of(contacts), texts)
    passed = PassedOver(str(path), strict)
    mechanism = read_urdf(file, MeshFolder.around(file, folder, packages), options, passed)
    _warn(mechanism, options, passed)
    return mechanism


def mechanism_from_urdf(
    text: str,
    source: str = "text",
    folder: PathLike | None = None,
    allow_unphysical: bool = False,
    floating_base: bool = False,
    strict: bool = False,
) -> Mechanism:
    """The mechanism a URDF text describes; ``source`` names it in messages. See :func:`load_urdf`."""
    if not isinstance(text, str):
        raise InputError(f"a URDF text must be a text, got {type(text).__name__}; use load_urdf for files")
    options = UrdfOptions(allow_unphysical, floating_base, None, strict)
    passed = PassedOver(source, strict)
    mechanism = _mechanism(parse_xml(text, source, passed), MeshFolder.only(folder), options, passed)
    _warn(mechanism, options, passed)
    return mechanism


def read_urdf(file: Path, folder: MeshFolder, options: UrdfOptions, passed: PassedOver) -> Mechanism:
    """The mechanism of a file, macros expanded; ignored items are collected, not yet reported."""
    robot, folder = read_robot(file, folder, options, passed)
    mechanism = _mechanism(robot, folder, options, passed)
    companion = companion_of(file)
    return mechanism if companion is None else with_companion(mechanism, companion, passed)


def read_robot(
    file: Path, folder: MeshFolder, options: UrdfOptions, passed: PassedOver
) -> tuple[Element, MeshFolder]:
    """The root element of a file, macros expanded, and the folders with the packages that macros name."""
    heard = PassedOver(passed.source, passed.strict)
    robot = parse_xml(file_content(file), passed.source, heard)
    if has_macros(robot, file):
        return expanded(file, folder, options.arguments, passed)
    passed.remarks += heard.remarks
    if options.arguments:
        raise InputError(
            f"{file}: has no xacro macros and takes no arguments, got {listed(options.arguments)}"
        )
    return robot, folder


def _warn(mechanism: Mechanism, options: UrdfOptions, passed: PassedOver) -> None:
    """One warning for ignored items, one for unphysical inertias."""
    passed.warn(stacklevel=3)
    if not options.allow_unphysical:
        warn_of_unphysical(mechanism, passed.source, stacklevel=3)


def _mechanism(robot: Element, folder: MeshFolder, options: UrdfOptions, passed: PassedOver) -> Mechanism:
    check_robot(robot, passed)
    mention_extensions(robot, passed)
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    if not links:
        raise ModelError(f"{robot.place}: there is no <link>; a robot needs at least one")
    for element in (*links.values(), *joints.values()):
        check_grammar(element, passed)
    carriers = carriers_of(links, joints, passed=passed)
    root = _root(robot, links, carriers, options.root)
    kept = _reached(root, carriers) if options.root is not None else set(links)
    carriers = {child: joint for child, joint in carriers.items() if child in kept and child != root}
    colors = material_colors(robot)
    bodies = {
        name: link_body(x, folder, options.allow_unphysical, passed, colors)
        for name, x in links.items()
        if name in kept and not is_world(x, root, passed)
    }
    made = [] if root not in bodies else [Link(bodies[root], _base_joint(joints, options.floating_base))]
    if options.floating_base and not made:
        place = links[root].place if root in links else robot.place
        raise ModelError(f"{place}: the root link is the world itself, so it cannot be a floating base")
    mimics = _mimics({x.text("name"): x for x in carriers.values()}, passed)
    armatures = rotors(robot)
    for child, joint in carriers.items():
        parent = joint.needed("parent").text("link")
        parent = parent if parent in bodies else WORLD
        mimic = mimics.get(joint.text("name"))
        rotor = armatures.get(joint.text("name"), 0.0)
        made.append(Link(bodies[child], joint_of(joint, mimic, passed, rotor), parent, placement(joint)))
    try:
        points = contact_points(robot, made, folder, options.contacts, passed)
        name = robot.attributes.get("name") or Path(robot.source).stem
        mechanism = Mechanism(name, tuple(made), contact_points=points)
    except ModelError as reason:
        raise ModelError(f"{robot.place}: {reason}") from None
    return with_loop_elements(mechanism, robot, passed)


def check_robot(robot: Element, passed: PassedOver) -> None:
    """The root element is <robot>, without macros and without misspelt links and joints."""
    if robot.tag != "robot":
        raise FileError(f"{robot.place}: the root element of a URDF file is <robot>, got <{robot.tag}>")
    take_joints(robot)
    if not robot.attributes.get("name"):
        passed.note("missing-element", "<robot> without a name", robot.without("name"))
    for child in robot.children:
        if child.tag in ("link", "joint") or child.tag.startswith("{"):
            continue
        near = difflib.get_close_matches(child.tag.lower(), ("link", "joint"), n=1, cutoff=0.75)
        if near:
            raise FileError(f"{child.place}: unknown element <{child.tag}>. Did you mean <{near[0]}>?")


class Names:
    """The elements of a tag by name; a name that comes again is refused."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.known: Named = {}

    def add(self, element: Element) -> None:
        """Keep an element under its name."""
        name = checked_name(element.text("name"), f"{element.source}, line {element.line}, a {self.tag}")
        if name in self.known:
            raise ModelError(
                f"{element.place}: two {self.tag}s are called '{name}', the first on line "
                f"{self.known[name].line}; {self.tag} names must differ"
            )
        self.known[name] = element


def _by_name(robot: Element, tag: str) -> Named:
    """The links or joints by name."""
    names = Names(tag)
    for element in robot.all(tag):
        names.add(element)
    return names.known


def carriers_of(links: Named, joints: Named, named: int = 0, passed: PassedOver | None = None) -> Named:
    """For each link that is a child, the joint that carries it; in the order of the joints.

    ``named``: how many unknown links were named before. A parent called 'world' need not be declared.
    """
    carriers: Named = {}
    for joint in joints.values():
        parent, child = (joint.needed(role).text("link") for role in ("parent", "child"))
        for role, link in (("parent", parent), ("child", child)):
            if link in links:
                continue
            message = unknown_name("link", link, links, named).after(f"{joint.needed(role).place}: ")
            if link != WORLD or role != "parent":
                raise ModelError(message)
            if passed is not None:
                passed.note("missing-element", f"link '{WORLD}' used and not declared", message, ModelError)
        if parent == child:
            raise ModelError(f"{joint.place}: link '{child}' is its own parent")
        if child in carriers:
            first = carriers[child]
            raise ModelError(
                f"{joint.place}: link '{child}' has two parents, by this joint and by joint "
                f"'{first.text('name')}' on line {first.line}; {TREES_ONLY}"
            )
        carriers[child] = joint
    return carriers


def _root(robot: Element, links: Named, carriers: Named, wanted: str | None) -> str:
    """The only link without a parent, from which all others can be reached, or the wanted one of several."""
    _check_no_cycle(links, carriers)
    on_world = any(joint.needed("parent").text("link") == WORLD for joint in carriers.values())
    roots = [name for name in links if name not in carriers]
    roots += [WORLD] if on_world and WORLD not in links else []
    if wanted is not None:
        if wanted not in links:
            raise InputError(unknown_name("link", wanted, links).after(f"{robot.place}: root: "))
        return wanted
    if len(roots) > 1:
        raise ModelError(
            f"{robot.place}: {len(roots)} links have no parent: {listed(roots)}; each link but one must be "
            f"the child of a joint. To read the tree of one of them, use root='{roots[0]}'"
        )
    return roots[0]


def _reached(root: str, carriers: Named) -> set[str]:
    """A link and all that hang on it."""
    found = {root}
    waiting = dict(carriers)
    while waiting:
        more = [x for x, joint in waiting.items() if joint.needed("parent").text("link") in found]
        if not more:
            break
        found.update(more)
        for name in more:
            del waiting[name]
    return found - {WORLD}


def _check_no_cycle(links: Named, carriers: Named) -> None:
    reached: set[str] = set()
    for start in links:
        path: dict[str, None] = {}
        name = start
        while name in carriers and name not in reached and name not in path:
            path[name] = None
            name = carriers[name].needed("parent").text("link")
        if name in path:
            names = list(path)
            cycle = [*names[names.index(name) :], name]
            raise ModelError(
                f"{carriers[name].place}: the links form a cycle: {listed(reversed(cycle))}; {TREES_ONLY}"
            )
        reached.update(path)


def is_world(link: Element, root: str, passed: PassedOver | None = None) -> bool:
    """Whether a link is the world frame itself: the root, called 'world'; an inertia there moves nothing."""
    if link.text("name") != root or root != WORLD:
        return False
    if passed is not None and link.one("inertial") is not None:
        message = f"{link.place}: the inertia of the world is not used, as it does not move"
        passed.note("not-used", "inertia of the world", message, ModelError)
    if passed is not None and (link.all("visual") or link.all("collision")):
        passed.mention(
            "not-used", "shapes of the world", f"{link.place}: the shapes of the world are not kept"
        )
    return True


def _base_joint(joints: Mapping[str, Element], floating_base: bool) -> Joint:
    """The joint between the world and the root link, with a name no other joint has."""
    name = "floating_base" if floating_base else "fixed_base"
    while name in joints:
        name += "_"
    return Joint.of_kind(name, "free" if floating_base else "fixed")


def _mimics(joints: Named, passed: PassedOver) -> dict[str, Mimic]:
    """The mimics by joint, with a joint that mimics a mimic tied to the one that moves by itself.

    A mimic that cannot be one, of or by a joint without one axis, is dropped: its joint moves by itself.
    """
    written = {name: mimic for name, x in joints.items() if (mimic := mimic_of(x)) is not None}
    for name, mimic in list(written.items()):
        fault = _mimic_fault(name, mimic, joints)
        if fault:
            passed.note(
                "mimic-dropped", "<mimic> that cannot be one", f"{joints[name].place}: {fault}", ModelError
            )
            del written[name]
    return resolved_mimics(written, lambda name: joints[name].place)


def _mimic_fault(name: str, mimic: Mimic, joints: Named) -> str:
    """Why a joint cannot mimic another, or nothing."""
    if mimic.joint not in joints:
        return unknown_name("joint", mimic.joint, joints).after("mimic: ")
    if joint_type(joints[name]) not in ONE_AXIS_TYPES:
        return f"only one-DOF joints can mimic; it is {joint_type(joints[name])}"
    if joint_type(joints[mimic.joint]) not in ONE_AXIS_TYPES:
        return f"'{name}' mimics '{mimic.joint}', which is not a one-DOF joint"
    return ""
