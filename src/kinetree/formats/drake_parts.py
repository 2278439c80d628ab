"""Elements that Drake adds to URDF and SDF: rotors behind gears, and joints of further types.

Drake's documentation, "Parsing models for MultibodyPlant": a rotor of inertia I behind a gear of ratio g
resists the joint like an inertia g^2 I.
"""

from __future__ import annotations

from kinetree.errors import ModelError
from kinetree.formats.xml_file import Element

SPACE = "drake"
HARMLESS = (  # elements that change neither masses nor forces of joints
    "proximity_properties", "illustration_properties", "perception_properties", "collision_filter_group",
    "diffuse_map", "accepting_renderer", "acceleration", "controller_gains",
)  # fmt: skip


def drake_children(element: Element, tag: str) -> list[Element]:
    """The children with a tag of Drake's."""
    return [x for x in element.children if x.is_of(SPACE) and x.plain_tag == tag]


def rotor_inertia(element: Element) -> float:
    """The inertia (kg m^2, kg) that <drake:rotor_inertia> and <drake:gear_ratio> in an element add.

    The value is an attribute in URDF and the text inside in SDF.
    """
    inertia, ratio = (
        _value(element, tag, usual) for tag, usual in (("rotor_inertia", 0.0), ("gear_ratio", 1.0))
    )
    felt = ratio * (ratio * inertia)
    if not 0.0 <= felt < float("inf"):
        raise ModelError(
            f"{element.place}: the inertia of a rotor must be >= 0, got {inertia:g} and the gear "
            f"ratio {ratio:g}"
        )
    return felt


def _value(element: Element, tag: str, default: float) -> float:
    for child in drake_children(element, tag):
        return child.number("value") if "value" in child.attributes else float(child.inner_numbers(1)[0])
    return default


def rotors(robot: Element) -> dict[str, float]:
    """What the rotors in the <transmission>s of a URDF file add, by joint."""
    found: dict[str, float] = {}
    for transmission in robot.all("transmission"):
        joints = [x.attributes.get("name", "") for x in transmission.all("joint")]
        felt = sum(rotor_inertia(actuator) for actuator in transmission.all("actuator"))
        if felt and len(joints) == 1:
            found[joints[0]] = found.get(joints[0], 0.0) + felt
    return found


def plain_joint(element: Element) -> Element:
    """A <drake:joint> as a <joint>; a ball in URDF is spherical."""
    kind = element.attributes.get("type", "")
    in_urdf = element.parent is not None and element.parent.tag == "robot"
    attributes = element.attributes | ({"type": "spherical"} if kind == "ball" and in_urdf else {})
    made = Element("joint", attributes, element.source, element.line, element.parent)
    for child in element.children:
        tag = child.plain_tag if child.is_of(SPACE) else child.tag
        part = Element(tag, child.attributes, child.source, child.line, made, child.children, child.content)
        made.children.append(part)
    return made


def take_joints(owner: Element) -> None:
    """Put a <joint> in the place of each <drake:joint> of a model."""
    owner.children = [
        plain_joint(x) if x.is_of(SPACE) and x.plain_tag == "joint" else x for x in owner.children
    ]
