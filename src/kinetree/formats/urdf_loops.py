"""Loops of URDF files: <loop> and <coupling> of URDF+, and a robot.yaml beside the file.

URDF+ (Chignoli, Adrian, Kim, Wensing 2024, arXiv:2411.19753) closes loops by <loop> elements, joints between
a place of a predecessor and one of a successor, and ties joints by <coupling>: the coordinates on the way
from the nearest common ancestor to the successor add up to a ratio of those on the way to the predecessor.
The collection example-parallel-robots (Batto, De Matteis) names pairs of links that coincide in a robot.yaml.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from kinetree.algebra.placement import Placement
from kinetree.errors import FileError, ModelError, listed, must_be, unknown_name
from kinetree.formats.passed_over import ALL_DRIVEN, ALSO_READ, PassedOver
from kinetree.formats.regular_file import read_text
from kinetree.formats.urdf_elements import cut_joint, placement
from kinetree.formats.xml_file import Element
from kinetree.formats.yaml_text import yaml_content
from kinetree.model.body import WORLD
from kinetree.model.joint import Joint, Mimic
from kinetree.model.loop import Loop
from kinetree.model.mechanism import Link, Mechanism

BESIDE = ("robot.yaml",)  # names of the file beside a URDF file, or its own name with .yaml
KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
CUTS = {"3d": "spherical", "6d": "fixed"}
REPLACED = {  # kinds of joints with the sequence of their axes
    "SPHERICAL": ("spherical", None), "CARDAN": ("universal", None), "FIXED": ("fixed", None),
    "UJOINT_XY": ("universal", "XY"), "UJOINT_YZ": ("universal", "YZ"), "UJOINT_ZX": ("universal", "ZX"),
}  # fmt: skip
Entry = TypeVar("Entry")


# ---- URDF+ --------------------------------------------------------------------------------------------


def with_loop_elements(mechanism: Mechanism, robot: Element, passed: PassedOver) -> Mechanism:
    """The mechanism with the loops and couplings that elements of URDF+ describe."""
    loops = tuple(_loop(x, mechanism) for x in robot.all("loop"))
    mimics: dict[str, Mimic] = {}
    for coupling in robot.all("coupling"):
        follower, mimic = _coupling(coupling, mechanism, mimics)
        mimics[follower] = mimic
    for element in robot.all("constraint"):
        message = f"{element.place}: <constraint> is not an element of URDF+; <loop> and <coupling> are read"
        passed.note("unknown-element", "element <constraint> of <robot>", message)
    if not loops and not mimics:
        return mechanism
    links = tuple(_following(link, mimics) for link in mechanism.links)
    drives = {x.attributes.get("name", "") for part in robot.all("transmission") for x in part.all("joint")}
    if loops and drives:  # pins of loops have none
        links = tuple(_driven(link, drives) for link in links)
    elif loops:
        _mention_drives(links, robot.place, "a <transmission> with <joint name=...> for each drive", passed)
    try:
        return replace(mechanism, links=links, loops=(*mechanism.loops, *loops))
    except ModelError as reason:
        raise ModelError(f"{robot.place}: {reason}") from None


def _mention_drives(links: Sequence[Link], source: str, way: str, passed: PassedOver) -> None:
    """Say that all joints of a file with loops count as driven, and how the file can name its drives."""
    names = [name for link in links if not link.floats for name in link.joint.dof_names if link.joint.driven]
    passed.mention(
        ALL_DRIVEN,
        f"all {len(names)} joints of the tree count as driven, because the file names no drives ({way} does)",
        f"{source}: no drives are named, so all joints of the tree count as driven: {listed(names)}; "
        f"pins of loops usually have none. {way} says which have one",
    )


def _following(link: Link, mimics: Mapping[str, Mimic]) -> Link:
    mimic = mimics.get(link.joint.name)
    return link if mimic is None else replace(link, joint=replace(link.joint, mimic=mimic))


def _driven(link: Link, drives: Collection[str]) -> Link:
    driven = tuple(name in drives for name in link.joint.dof_names)
    return replace(link, joint=replace(link.joint, driven=driven))


def _end(element: Element, role: str, mechanism: Mechanism) -> tuple[str, Placement]:
    """A body and the place in it that <predecessor> or <successor> names."""
    side = element.needed(role)
    name = side.text("link") if "link" in side.attributes else side.text("name")
    if name == WORLD and name not in mechanism.body_names:
        return WORLD, placement(side)
    if name not in mechanism.body_names:
        raise ModelError(unknown_name("link", name, mechanism.body_names).after(f"{side.place}: "))
    return name, placement(side)


def _loop(element: Element, mechanism: Mechanism) -> Loop:
    (a, place_a), (b, place_b) = (_end(element, role, mechanism) for role in ("predecessor", "successor"))
    return Loop(cut_joint(element), a, b, place_a, place_b)


def _coupling(element: Element, mechanism: Mechanism, mimics: Mapping[str, Mimic]) -> tuple[str, Mimic]:
    """Which joint follows which: that of the successor the predecessor's, or the other way round."""
    ways = [_way(mechanism, _end(element, role, mechanism)[0]) for role in ("predecessor", "successor")]
    ratio_of = element.one("ratio")
    ratio = 1.0 if ratio_of is None else ratio_of.number("value")
    arms: dict[str, float] = {}
    for way, other, arm in ((ways[0], ways[1], ratio), (ways[1], ways[0], -1.0)):
        arms |= {joint.name: arm for joint in way if joint not in other and joint.n_dof}
    single = all(x.joint.n_dof == 1 for x in mechanism.links if x.joint.name in arms)
    if len(arms) != 2 or not single or ratio == 0.0:
        raise ModelError(
            f"{element.place}: a coupling connects two one-DOF joints by a nonzero ratio; this one connects "
            f"{listed(arms)} by {ratio:g}"
        )
    names = list(arms)
    leading = {mimic.joint for mimic in mimics.values()}
    bound = {x.joint.name for x in mechanism.links if x.joint.mimic is not None} | set(mimics)
    for leader, follower in (names, names[::-1]):
        if follower not in bound | leading and leader not in bound:
            return follower, Mimic(leader, -arms[leader] / arms[follower])
    raise ModelError(f"{element.place}: both joints, {listed(names)}, are coupled to others already")


def _way(mechanism: Mechanism, body: str) -> list[Joint]:
    """The joints from the world to a body."""
    way: list[Joint] = []
    while body != WORLD:
        link = mechanism.link(body)
        way.append(link.joint)
        body = link.parent
    return way[::-1]


# ---- robot.yaml ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Companion:
    """What a robot.yaml says: pairs of frames, their kinds of cut joints, motors, joints of other kinds.

    A frame is named by its link, or by the joint that carries the link, as Pinocchio names frames.
    """

    source: str
    pairs: Sequence[tuple[str, str]]
    kinds: Sequence[str]
    motors: Sequence[str] | None
    replaced: Mapping[str, tuple[str, str | None]]


def companion_of(file: Path) -> Companion | None:
    """The companion of a URDF file, if there is one beside it that names closed loops."""
    for name in (f"{file.stem}.yaml", *BESIDE):
        path = file.parent / name
        if path.is_file():
            found = _read(path)
            if found is not None:
                return found
    return None


def _read(path: Path) -> Companion | None:
    if "closed_loop" not in read_text(path):
        return None
    content = yaml_content(path)
    if not isinstance(content, dict) or "closed_loop" not in content:
        return None
    pairs = _listed(path, content, "closed_loop") or []
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)):
            raise FileError(must_be(f"{path}: closed_loop", "pairs of names of links", pair))
    kinds = _listed(path, content, "type") or ["6D"] * len(pairs)
    if len(kinds) != len(pairs):
        raise FileError(f"{path}: closed_loop has {len(pairs)} pairs and type {len(kinds)} entries")
    names, types = (_listed(path, content, key) or [] for key in ("joint_name", "joint_type"))
    if len(names) != len(types):
        raise FileError(f"{path}: joint_name has {len(names)} entries and joint_type {len(types)}")
    motors = content.get("name_mot")
    motors = [motors] if isinstance(motors, str) else motors
    if motors is not None and not (isinstance(motors, list) and all(isinstance(x, str) for x in motors)):
        raise FileError(must_be(f"{path}: name_mot", "names of joints or parts of them", motors))
    return Companion(
        str(path),
        [(a, b) for a, b in pairs],
        [_chosen(path, "type", str(x).lower(), CUTS) for x in kinds],
        motors,
        {
            str(x): _chosen(path, "joint_type", str(kind), REPLACED)
            for x, kind in zip(names, types, strict=True)
        },
    )


def _listed(path: Path, content: dict[str, Any], key: str) -> list[Any] | None:
    value = content.get(key)
    if value is not None and not isinstance(value, list):
        raise FileError(must_be(f"{path}: {key}", "a list", value))
    return value


def _chosen(path: Path, key: str, value: str, choices: Mapping[str, Entry]) -> Entry:
    if value not in choices:
        raise FileError(unknown_name("entry", value, choices).after(f"{path}: {key}: "))
    return choices[value]


def with_companion(mechanism: Mechanism, companion: Companion, passed: PassedOver) -> Mechanism:
    """The mechanism with loops closed, joints exchanged and motors named as the companion says."""
    known = {link.joint.name: link for link in mechanism.links}
    for name in companion.replaced:
        if name not in known:
            raise ModelError(unknown_name("joint", name, known).after(f"{companion.source}: joint_name: "))
    links = tuple(_as_told(link, companion) for link in mechanism.links)
    loops = []
    for (a, b), kind in zip(companion.pairs, companion.kinds, strict=True):
        for name in (a, b):
            if name not in mechanism.body_names and name not in known:
                known_frames = (*mechanism.body_names, *known)
                raise ModelError(
                    unknown_name("link or joint", name, known_frames).after(
                        f"{companion.source}: closed_loop: "
                    )
                )
        first, second = (x if x in mechanism.body_names else known[x].body.name for x in (a, b))
        loops.append(Loop(Joint.of_kind(f"{a}_{b}", kind, cut=True), first, second))
    passed.mention(
        ALSO_READ,
        f"loops read from {Path(companion.source).name}",
        f"{companion.source}: {len(loops)} loops are read from this file next to the description",
    )
    assumed = passed.withdraw(ALL_DRIVEN) or not mechanism.loops  # <transmission>s count for <loop>s only
    if assumed and companion.motors is None:
        _mention_drives(links, companion.source, "name_mot: [...]", passed)
    return replace(mechanism, links=links, loops=(*mechanism.loops, *loops))


def _as_told(link: Link, companion: Companion) -> Link:
    """A joint of another kind, or without a motor."""
    joint = link.joint
    if joint.name in companion.replaced:
        kind, sequence = companion.replaced[joint.name]
        return replace(link, joint=Joint.of_kind(joint.name, kind, sequence=sequence, driven=False))
    if companion.motors is None or not joint.n_dof or link.floats:
        return link
    driven = any(motor in joint.name for motor in companion.motors)
    return replace(link, joint=replace(joint, driven=(driven,) * joint.n_dof))
