"""What simulators write directly below <robot> in URDF: mentioned where it would change the dynamics."""

from __future__ import annotations

from kinetree.formats.drake_parts import HARMLESS, SPACE
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.physics_words import mention_plugins
from kinetree.formats.xml_file import Element

KNOWN = (  # read, or without effect on masses and forces
    "link", "joint", "material", "transmission", "gazebo", "loop", "coupling", "constraint", "sensor",
    "ros2_control", "mujoco", "group", "group_state", "end_effector", "disable_collisions", "author",
)  # fmt: skip
NONE = ("", "0", "false")


def mention_extensions(robot: Element, passed: PassedOver) -> None:
    """Note unknown elements of <robot>, and mention what is inside known ones that acts on bodies."""
    for child in robot.children:
        if child.is_of(SPACE) and child.plain_tag not in (*HARMLESS, "joint"):
            message = f"{child.place}: <drake:{child.plain_tag}> is ignored"
            passed.note("unknown-element", f"element <drake:{child.plain_tag}> of <robot>", message)
        elif child.tag == "gazebo":
            _mention_gazebo(child, passed)
        elif child.tag == "mujoco" and child.all("option"):
            passed.mention("not-used", "<option> of <mujoco>", f"{child.place}: <option> is ignored")
        elif child.tag not in KNOWN and not child.tag.startswith("{"):
            message = f"{child.place}: <{child.tag}> is not an element of URDF and is ignored"
            passed.note("unknown-element", f"element <{child.tag}> of <robot>", message)


def _mention_gazebo(element: Element, passed: PassedOver) -> None:
    """Mention springs, loops and what else Gazebo would do to a link or joint."""
    mention_plugins(element, passed)
    for child in element.children:
        said = child.content.strip().lower() or child.attributes.get("value", "").strip().lower()
        acts = {
            "joint": True,
            "springStiffness": not _is_zero(said),
            "dampingFactor": not _is_zero(said),
            "turnGravityOff": said not in NONE,
            "gravity": said in ("0", "false"),
            "kinematic": said not in NONE,
            "static": said not in NONE,
        }
        if acts.get(child.tag):
            message = f"{element.place}: <{child.tag}> of <gazebo> is ignored"
            passed.mention("not-used", f"<{child.tag}> of <gazebo>", message)


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0.0
    except ValueError:
        return text in NONE
