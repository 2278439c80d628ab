"""The models of an SDF file: includes read, nested models found, and the one that is meant chosen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kinetree.errors import FileError, InputError, KinetreeError, ModelError, listed, unknown_name
from kinetree.formats.drake_parts import HARMLESS, SPACE, take_joints
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.physics_words import mention_plugins
from kinetree.formats.regular_file import check_name, file_content
from kinetree.formats.sdf_scope import DELIMITER, NAMED, Scope
from kinetree.formats.sdf_values import attribute_flag, flag, word
from kinetree.formats.urdf_in_sdf import IncludedRobot, read_included_robot
from kinetree.formats.xml_file import Element, parse_xml
from kinetree.model.body import WORLD

ROOTS = ("sdf", "gazebo")
SDF, URDF = (".sdf", ".world", ".xml"), (".urdf",)  # suffixes of files that may be included
MOST_PARTS = 100_000  # links, joints and frames, those of included files counted each time
DEEPEST = 30  # files that include each other
CONFIG = "model.config"
Version = tuple[int, ...]


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


@dataclass
class Documents:
    """Reads the files of one model; ``folder`` says where they may be."""

    folder: MeshFolder
    passed: PassedOver
    versions: dict[str, Version] = field(default_factory=dict)  # by file
    folders: dict[str, MeshFolder] = field(default_factory=dict)  # from where relative paths start, by file
    robots: dict[str, IncludedRobot] = field(default_factory=dict)  # of URDF, by file
    _roots: dict[str, Element] = field(default_factory=dict)
    _chain: list[str] = field(default_factory=list)
    _checked: set[Element] = field(default_factory=set)  # elements whose unknown children are noted
    _parts: int = 0

    def root(self, content: str | bytes, source: str, folder: MeshFolder) -> Element:
        """The root element of a file."""
        if source not in self._roots:
            root = parse_xml(content, source, self.passed)
            if root.tag not in ROOTS:
                raise FileError(f"{root.place}: the root element of an SDF file is <sdf>, got <{root.tag}>")
            self._roots[source] = root
            self.versions[source] = _version(root)
            self.folders[source] = folder
        return self._roots[source]

    def scope(
        self,
        element: Element,
        prefix: str = "",
        owner: Scope | None = None,
        placing: Element | None = None,
    ) -> Scope:
        """A <model> or <world> with all that is in it."""
        scope = Scope(element, prefix, owner, placing)
        take_joints(element)
        if scope.is_world:
            mention_world(element, self.passed)
        for part in (element, *element.all("link"), *element.all("joint")):
            if part.tag in GRAMMAR and part not in self._checked and part.source not in self.robots:
                self._checked.add(part)
                check_grammar(part, self.passed)
        for child in element.children:
            if child.tag == "link" and child.text("name") == WORLD and child.one("inertial") is None:
                message = f"{child.place}: the name is that of the world; the link is treated as the world"
                self.passed.note(
                    "missing-element", f"link '{WORLD}' (treated as the world)", message, ModelError
                )
            elif child.tag in NAMED:
                scope.add(child)
                self._count(child)
            elif child.tag == "model":
                self._add_model(scope, child, child.text("name"), None)
            elif child.tag == "include":
                self._include(scope, child)
        return scope

    def _count(self, element: Element) -> None:
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise FileError(f"{element.place}: with its includes the model has more than {MOST_PARTS} parts")

    def _add_model(self, scope: Scope, model: Element, name: str, placing: Element | None) -> None:
        self._count(model)
        if name in scope.parts or name in scope.models:
            raise ModelError(f"{model.place}: two elements are called '{name}'; names must differ")
        scope.models[name] = self.scope(model, f"{scope.prefix}{name}{DELIMITER}", scope, placing)

    def _include(self, scope: Scope, include: Element) -> None:
        """Put the model of another file in its place; in a world, one that cannot be read is ignored."""
        try:
            model = self._included(include)
        except KinetreeError as reason:
            if not scope.is_world:
                raise
            self.passed.note("missing-element", "models of other files", str(reason), type(reason))
            return
        depth = len(self._chain)
        self._chain.append(model.source)
        if depth > DEEPEST or model.source in self._chain[:-1]:
            circle = " -> ".join(f"'{x}'" for x in self._chain[:4])
            raise FileError(f"{include.place}: the file includes itself: {circle}")
        if attribute_flag(include, "merge"):
            merged = self.scope(model, scope.prefix, scope, include)
            scope.merged.append(merged)
        else:
            name = word(include, "name", model.text("name"))
            self._add_model(scope, model, name, include if include.one("pose") is not None else None)
        self._chain.pop()

    def _included(self, include: Element) -> Element:
        """The model that an <include> names."""
        folder = self.folders[include.source]
        path = folder.path(word(include, "uri"), include.place)
        check_name(path)
        if path.is_dir():
            path = _model_file(path, include)
        if not path.exists():
            raise FileError(
                f"{include.place}: model '{word(include, 'uri')}' is missing (looked for {path}); give "
                f"folder= or packages="
            )
        if path.suffix.lower() in URDF:
            return self._robot(path, folder.beside(path))
        if path.suffix.lower() not in SDF:
            raise FileError(
                f"{include.place}: '{path.name}' is not an SDF or URDF file; only these are included"
            )
        root = self.root(file_content(path), str(path), folder.beside(path))
        models = root.all("model")
        if len(models) != 1:
            raise FileError(f"{include.place}: {path} holds {len(models)} models; an included file has one")
        return models[0]

    def _robot(self, path: Path, folder: MeshFolder) -> Element:
        """The robot of a URDF file as a model."""
        source = str(path)
        if source not in self.robots:
            self.robots[source] = robot = read_included_robot(path, folder, self.passed)
            self.folders[source] = robot.folder
        return self.robots[source].model

    def chosen(self, root: Element, wanted: str | None) -> Scope:
        """The model that is meant, or a whole world; an error that asks which, where several could be."""
        world = root.one(WORLD)
        if world is None:
            return self._one_of({x.text("name"): self.scope(x) for x in root.all("model")}, root, wanted)
        scope = self.scope(world)
        if wanted == world.attributes.get("name") or scope.elements("joint"):
            return scope
        return self._one_of(scope.models, world, wanted)

    def _one_of(self, models: dict[str, Scope], place: Element, wanted: str | None) -> Scope:
        if not models:
            raise ModelError(f"{place.place}: there is no <model>; a mechanism needs one")
        moving = [x for x, scope in models.items() if not flag(scope.element, "static") and _has_links(scope)]
        names = moving or list(models)
        if wanted is not None:
            if wanted not in models:
                raise InputError(unknown_name("model", wanted, models).after(f"{place.place}: root: "))
            names = [wanted]
        elif len(names) > 1:
            whole = f", or root='{place.attributes.get('name')}' for all of them" * (place.tag == WORLD)
            raise ModelError(
                f"{place.place}: there are {len(names)} models: {listed(names)}; select one with "
                f"root='{names[0]}'{whole}"
            )
        others = [x for x in models if x != names[0]]
        if others and wanted is None:
            message = f"{place.place}: of the models, only '{names[0]}' moves; {listed(others)} left out"
            self.passed.mention("not-used", "models that do not move", message)
        return _alone(models[names[0]])


def _alone(scope: Scope) -> Scope:
    """A model of a world without the world's name for it before those of its parts."""
    cutting = len(scope.prefix)
    for inner in scope.all_scopes():
        inner.prefix = inner.prefix[cutting:]
    return scope


def _has_links(scope: Scope) -> bool:
    return any(inner.elements("link") for inner in scope.all_scopes())


def _version(root: Element) -> Version:
    text = root.attributes.get("version", "")
    parts = text.split(".")
    if not text or not all(part.isdigit() for part in parts):
        raise FileError(f"{root.place}: version must be given, such as version=\"1.9\", got '{text}'")
    return tuple(int(part) for part in parts)


def _model_file(folder: Path, include: Element) -> Path:
    """The SDF file of a model's folder: that of the highest version its configuration names, or model.sdf."""
    config = folder / CONFIG
    if not config.is_file():
        return folder / "model.sdf"
    files = parse_xml(file_content(config), str(config)).all("sdf")
    best: tuple[Version, str] = ((), "model.sdf")
    for named in files:
        digits = named.attributes.get("version", "0").split(".")
        version = tuple(int(x) for x in digits if x.isdigit())
        if named.content and version >= best[0]:
            best = version, named.content
    path = folder / best[1]
    if Path(best[1]).is_absolute() or not path.resolve().is_relative_to(folder.resolve()):
        raise FileError(f"{include.place}: {config} names '{best[1]}', which is outside its folder")
    return path
