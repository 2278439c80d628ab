"""Reading URDF files, the robot descriptions of ROS.

A URDF file is a tree of <link> elements joined by <joint> elements; what simulators and drivers add to it
(<gazebo>, <transmission>, <material>, ...) is passed over. URDF holds neither loops nor gravity: gravity is
9.81 m/s^2 downwards, along -z.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from kinetree.errors import FileError, InputError, KinetreeWarning, ModelError, listed, unknown_name
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.urdf_elements import check_grammar, joint_of, link_body, mimic_of, placement
from kinetree.formats.xml_file import Element, file_bytes, parse_xml
from kinetree.model.body import WORLD, checked_name
from kinetree.model.joint import Joint, Mimic
from kinetree.model.mechanism import Link, Mechanism

PathLike = str | os.PathLike[str]
Named = dict[str, Element]
TREES_ONLY = "URDF describes trees; a loop is described by a cut joint (loop) in a TOML file"


def load_urdf(
    path: PathLike,
    allow_unphysical: bool = False,
    floating_base: bool = False,
    folder: PathLike | None = None,
) -> Mechanism:
    """The mechanism a URDF file describes.

    The root link becomes a body fixed to the world, or carried by a free joint if ``floating_base``; only a
    root called 'world' without inertia is the world itself. ``q`` follows the order of the <joint> elements,
    parents first. Mesh files are not opened; they must be inside the file's folder, or inside ``folder``, a
    folder around it such as the package's, and shapes keep their paths relative to it.
    ``allow_unphysical`` accepts inertias that no body has (see :class:`kinetree.Inertia`).
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"the path of a URDF file must be a text or a path, got {path!r}")
    file = Path(path)
    content = file_bytes(file)
    return _mechanism(content, str(path), MeshFolder.around(file, folder), allow_unphysical, floating_base)


def mechanism_from_urdf(
    text: str,
    source: str = "text",
    folder: PathLike | None = None,
    allow_unphysical: bool = False,
    floating_base: bool = False,
) -> Mechanism:
    """The mechanism a URDF text describes; ``source`` names it in messages. See :func:`load_urdf`."""
    if not isinstance(text, str):
        raise InputError(f"a URDF text must be a text, got {type(text).__name__}; use load_urdf for files")
    return _mechanism(text, source, MeshFolder.only(folder), allow_unphysical, floating_base)


def _mechanism(
    content: str | bytes, source: str, folder: MeshFolder, allow_unphysical: bool, floating_base: bool
) -> Mechanism:
    robot = parse_xml(content, source)
    check_robot(robot)
    links, joints = _by_name(robot, "link"), _by_name(robot, "joint")
    if not links:
        raise ModelError(f"{robot.place}: there is no <link>; a robot needs at least one")
    for element in (*links.values(), *joints.values()):
        check_grammar(element)
    carriers = carriers_of(links, joints)
    root = _root(robot, links, carriers)
    bodies = {
        name: link_body(x, folder, allow_unphysical) for name, x in links.items() if not is_world(x, root)
    }
    made = [] if root not in bodies else [Link(bodies[root], _base_joint(joints, floating_base))]
    if floating_base and not made:
        raise ModelError(
            f"{links[root].place}: the root link is the world itself, so it cannot be a floating base"
        )
    mimics = _mimics(joints)
    for child, joint in carriers.items():
        parent = joint.needed("parent").text("link")
        parent = parent if parent in bodies else WORLD
        made.append(
            Link(bodies[child], joint_of(joint, mimics.get(joint.text("name"))), parent, placement(joint))
        )
    try:
        return Mechanism(robot.text("name"), tuple(made))
    except ModelError as reason:
        raise ModelError(f"{robot.place}: {reason}") from None


def check_robot(robot: Element) -> None:
    """The root element is <robot>, without macros and without misspelt links and joints."""
    if robot.tag != "robot":
        raise FileError(f"{robot.place}: the outermost element of a URDF file is <robot>, got <{robot.tag}>")
    robot.text("name")
    for child in robot.children:
        if child.tag in ("link", "joint"):
            continue
        namespace, _, tag = child.tag.rpartition("}")
        if "xacro" in namespace:
            raise FileError(
                f"{child.place}: <xacro:{tag}> is a macro; expand the file first: xacro FILE > robot.urdf"
            )
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


def carriers_of(links: Named, joints: Named, told: int = 0) -> Named:
    """For each link that is a child, the joint that carries it; in the order of the joints.

    ``told``: how many unknown links were told before.
    """
    carriers: Named = {}
    for joint in joints.values():
        parent, child = (joint.needed(role).text("link") for role in ("parent", "child"))
        for role, link in (("parent", parent), ("child", child)):
            if link not in links:
                raise ModelError(f"{joint.needed(role).place}: {unknown_name('link', link, links, told)}")
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


def _root(robot: Element, links: Named, carriers: Named) -> str:
    """The only link without a parent, from which all others can be reached."""
    _check_no_cycle(links, carriers)
    roots = [name for name in links if name not in carriers]
    if len(roots) > 1:
        raise ModelError(
            f"{robot.place}: {len(roots)} links have no parent: {listed(roots)}; each link but one must be "
            "the child of a joint"
        )
    return roots[0]


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


def is_world(link: Element, root: str) -> bool:
    """Whether a link is the world frame itself: the root, called 'world', without inertia."""
    if link.text("name") != root or root != WORLD or link.one("inertial") is not None:
        return False
    if link.all("visual") or link.all("collision"):
        warnings.warn(f"{link.place}: the shapes of the world are not kept", KinetreeWarning, stacklevel=2)
    return True


def _base_joint(joints: Mapping[str, Element], floating_base: bool) -> Joint:
    """The joint between the world and the root link, with a name no other joint has."""
    name = "floating_base" if floating_base else "fixed_base"
    while name in joints:
        name += "_"
    return Joint.of_kind(name, "free" if floating_base else "fixed")


def _mimics(joints: Named) -> dict[str, Mimic]:
    """The mimics by joint, with a joint that mimics a mimic tied to the one that moves by itself."""
    written = {name: mimic for name, x in joints.items() if (mimic := mimic_of(x)) is not None}
    resolved: dict[str, Mimic] = {}
    for name, mimic in written.items():
        if mimic.joint not in joints:
            raise ModelError(f"{joints[name].place}: mimic: {unknown_name('joint', mimic.joint, joints)}")
        chain: dict[str, None] = {}
        last = name
        while last in written and last not in resolved:
            if last in chain:
                circle = listed([*chain, last])
                raise ModelError(f"{joints[name].place}: joints mimic each other in a circle: {circle}")
            chain[last] = None
            last = written[last].joint
        _resolve(list(chain), written, resolved)
    return resolved


def _resolve(chain: Sequence[str], written: Mapping[str, Mimic], resolved: dict[str, Mimic]) -> None:
    """q = m (m' q_other + o') + o along a chain of joints, each mimicking the next."""
    for name in reversed(chain):
        mimic = written[name]
        other = resolved.get(mimic.joint, Mimic(mimic.joint))
        resolved[name] = Mimic(
            other.joint, mimic.multiplier * other.multiplier, mimic.multiplier * other.offset + mimic.offset
        )
