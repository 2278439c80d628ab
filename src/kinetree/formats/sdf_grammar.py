"""Elements of SDF that are not read: unknown ones, and known ones that would change the motion."""

from __future__ import annotations

from typing import NamedTuple

from kinetree.errors import unknown_name
from kinetree.formats.drake_parts import HARMLESS, SPACE
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.physics_words import mention_plugins
from kinetree.formats.xml_file import Element


class SdfGrammar(NamedTuple):
    """Children that are read, those without effect here, and those of Drake that are read."""

    children: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    drake: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """All that are no surprise."""
        return (*self.children, *self.ignored)


GRAMMAR = {
    "model": SdfGrammar(
        ("link", "joint", "frame", "model", "include", "pose", "static", "plugin"),
        ("self_collide", "allow_auto_disable", "enable_wind", "gripper", "author", "description"),
        ("joint",),
    ),
    "link": SdfGrammar(
        ("inertial", "visual", "collision", "pose", "gravity", "velocity_decay", "kinematic"),
        ("sensor", "light", "projector", "audio_source", "audio_sink", "battery", "particle_emitter",
         "self_collide", "must_be_base_link", "enable_wind", "plugin"),
    ),
    "inertial": SdfGrammar(
        ("pose", "mass", "inertia", "density", "fluid_added_mass"), ("auto_inertia_params", "frame")
    ),
    "joint": SdfGrammar(
        ("parent", "child", "axis", "axis2", "pose", "thread_pitch", "screw_thread_pitch"),
        ("physics", "sensor", "gearbox_ratio", "gearbox_reference_body", "damping", "plugin"),
        ("rotor_inertia", "gear_ratio"),
    ),
    "axis": SdfGrammar(
        ("xyz", "limit", "dynamics", "mimic", "use_parent_model_frame", "initial_position"), (), ("mimic",)
    ),
    "limit": SdfGrammar(("lower", "upper", "effort", "velocity", "stiffness", "dissipation")),
    "dynamics": SdfGrammar(("damping", "friction", "spring_stiffness", "spring_reference")),
}  # fmt: skip
PARTS = ("model", "link", "joint")  # which are checked one by one
SINGLE = ("inertial", "surface")  # of several the first counts, as other readers have it
FIRM = 1e8  # N m/rad, N/m: what SDF has for limits where nothing is said


def check_grammar(element: Element, passed: PassedOver) -> None:
    """Note what a <link>, <joint> or <model> has that is not read."""
    waiting = [element]
    while waiting:
        current = waiting.pop()
        grammar = GRAMMAR[_kind(current)]
        for part in (current, *current.all("collision")):
            part.keep_first(SINGLE, passed)
        for child in current.children:
            if child.is_of(SPACE):
                if child.plain_tag not in (*HARMLESS, *grammar.drake):
                    name = f"drake:{child.plain_tag}"
                    passed.note(
                        "unknown-element",
                        f"element <{name}> of <{current.tag}>",
                        f"{child.place}: in <{current.tag}>, <{name}> is ignored",
                    )
            elif child.tag not in grammar.known and not child.tag.startswith("{"):
                stated = unknown_name("element", child.tag, grammar.known, len(passed.remarks))
                passed.note(
                    "unknown-element",
                    f"element <{child.tag}> of <{current.tag}>",
                    f"{child.place}: in <{current.tag}>, {stated}",
                )
            _mention(current, child, passed)
        mention_plugins(current, passed)
        waiting.extend(x for x in current.children if _kind(x) in GRAMMAR and x.tag not in PARTS)


def _kind(element: Element) -> str:
    return "axis" if element.tag == "axis2" else element.tag


def _mention(owner: Element, child: Element, passed: PassedOver) -> None:
    """Mention a known element that would change the motion and is not used."""
    numbers = _numbers(child)
    acts = {
        "velocity_decay": any(_numbers(x) != [0.0] for x in child.children),
        "kinematic": child.content.strip().lower() in ("1", "true"),
        "initial_position": numbers != [0.0],
        "stiffness": owner.tag == "limit" and bool(numbers) and 0.0 < numbers[0] < FIRM,
    }
    if acts.get(child.tag):
        message = f"{child.place}: <{child.tag}> of <{owner.tag}> is not used"
        passed.mention("not-used", f"<{child.tag}> of <{owner.tag}>", message)


def _numbers(element: Element) -> list[float]:
    try:
        return [float(x) for x in element.content.split()]
    except ValueError:
        return []


def mention_world(world: Element, passed: PassedOver) -> None:
    """Mention states, moving figures and forces that a <world> has beside its models."""
    mention_plugins(world, passed)
    for tag in ("state", "actor", "population"):
        for child in world.all(tag):
            message = f"{child.place}: <{tag}> of a world is not used"
            passed.mention("not-used", f"<{tag}> of the world", message)
    for wind in world.all("wind"):
        if any(any(_numbers(x)) for x in wind.all("linear_velocity")):
            passed.mention("not-used", "<wind> of the world", f"{wind.place}: <wind> is not used")
