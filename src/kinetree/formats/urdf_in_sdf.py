"""URDF robots that an SDF file includes: their links and joints with the poses and names that SDF gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kinetree.formats.drake_parts import rotors
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.sdf_scope import MODEL
from kinetree.formats.urdf import Names, UrdfOptions, carriers_of, check_robot, is_world, read_robot
from kinetree.formats.urdf_elements import Colors, check_grammar, material_colors
from kinetree.formats.urdf_extensions import mention_extensions
from kinetree.formats.xml_file import Element
from kinetree.model.body import WORLD


@dataclass(frozen=True, eq=False)
class IncludedRobot:
    """A <robot> as a <model> whose links and joints keep the content that URDF gives them.

    Joints have a <pose> in their parent's frame and links one in that of the joint that carries them;
    ``colors`` are those of the file's materials, ``armatures`` of the rotors by joint.
    """

    model: Element
    folder: MeshFolder
    colors: Colors = field(default_factory=dict)
    armatures: Mapping[str, float] = field(default_factory=dict)


def read_included_robot(path: Path, folder: MeshFolder, passed: PassedOver) -> IncludedRobot:
    """The robot of a URDF file that an SDF file includes."""
    heard = PassedOver(str(path), passed.strict)
    robot, folder = read_robot(path, folder, UrdfOptions(strict=passed.strict), heard)
    check_robot(robot, heard)
    mention_extensions(robot, heard)
    for loop in robot.all("loop"):
        heard.mention("not-used", "<loop> of included URDF files", f"{loop.place}: the loop stays open")
    links, joints = Names("link"), Names("joint")
    for names in (links, joints):
        for element in robot.all(names.tag):
            names.add(element)
            check_grammar(element, heard)
    carriers = carriers_of(links.known, joints.known, passed=heard)
    armatures = rotors(robot)
    for joint in carriers.values():
        parent = joint.needed("parent").text("link")
        _place(joint, MODEL if parent == WORLD else parent)
        for role in ("parent", "child"):
            end = joint.needed(role)
            end.content = end.text("link")
    renamed = {
        name: _free(f"{name}_joint", {*links.known, *joints.known})
        for name in joints.known
        if name in links.known
    }
    for name, joint in joints.known.items():
        if name in renamed:
            message = f"{joint.place}: a link has the same name; in SDF the joint is '{renamed[name]}'"
            heard.mention("not-used", "names of joints that links have, too", message)
        joint.attributes["name"] = renamed.get(name, name)
        for mimic in joint.all("mimic"):
            other = mimic.attributes.get("joint", "")
            mimic.attributes["joint"] = renamed.get(other, other)
    for child, joint in carriers.items():
        pose = Element("pose", {"relative_to": joint.text("name")}, joint.source, joint.line)
        links.known[child].children.append(pose)
    passed.remarks += heard.remarks
    kept = [x for name, x in links.known.items() if name in carriers or not is_world(x, name)]
    attributes = {"name": robot.attributes.get("name") or path.stem}
    model = Element("model", attributes, robot.source, robot.line)
    model.children = [*kept, *joints.known.values()]
    felt = {renamed.get(name, name): value for name, value in armatures.items()}
    return IncludedRobot(model, folder, material_colors(robot), felt)


def _place(element: Element, frame: str) -> None:
    """Write the <origin> of an element as a <pose> in a frame."""
    origin, pose = (
        element.one("origin"),
        Element("pose", {"relative_to": frame}, element.source, element.line),
    )
    if origin is not None:
        values = [origin.numbers(key, 3, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy")]
        pose.content = " ".join(repr(float(x)) for three in values for x in three)
    element.children.append(pose)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
