"""Reading SDF files, the models and worlds of Gazebo and Drake (SDFormat).

All poses of the file are those at q = 0. Joints may form loops: a spanning tree is found as for any graph,
and the other joints are cut. What does not change the dynamics is noted and said in one warning; ``strict``
refuses it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from kinetree.algebra.arrays import Array, frozen
from kinetree.algebra.placement import Placement
from kinetree.errors import InputError, ModelError, must_be, unknown_name
from kinetree.formats import urdf_elements
from kinetree.formats.contact_choice import ContactChoice, Contacts
from kinetree.formats.mesh_path import MeshFolder, Packages
from kinetree.formats.mimics import resolved_mimics
from kinetree.formats.passed_over import PassedOver, warn_of_unphysical
from kinetree.formats.regular_file import file_content
from kinetree.formats.sdf_contact import contact_points, floor_of
from kinetree.formats.sdf_document import Documents
from kinetree.formats.sdf_elements import joint_type, joints_of, link_body, mimic_of, shape_of, undrawn
from kinetree.formats.sdf_scope import MODEL, Scope
from kinetree.formats.sdf_values import flag, vector, word
from kinetree.formats.xml_file import Element
from kinetree.model.body import WORLD, Body, Shape
from kinetree.model.contact_point import ContactPoint
from kinetree.model.floor import Floor
from kinetree.model.frame import Frame
from kinetree.model.graph import spanning_tree
from kinetree.model.joint import Joint, Mimic
from kinetree.model.loop import Loop
from kinetree.model.mechanism import EARTH, Link, Mechanism
from kinetree.model.rooted import reversed_joint

PathLike = str | os.PathLike[str]
OLDEST_IN_JOINT = (1, 5)  # versions before express axes in the frame of the model
WORLD_GRAVITY = (0.0, 0.0, -9.8)  # of a <world> that gives none
NEAR = 1e-13  # m; an axis that passes this close to a link's origin is taken to pass through it


@dataclass(frozen=True)
class SdfOptions:
    """How an SDF file is read; see :func:`load_sdf`."""

    allow_unphysical: bool = False
    floating_base: bool | None = None
    root: str | None = None
    strict: bool = False
    contacts: ContactChoice = field(default_factory=ContactChoice)


def load_sdf(
    path: PathLike,
    allow_unphysical: bool = False,
    floating_base: bool | None = None,
    folder: PathLike | None = None,
    packages: Packages | None = None,
    root: str | None = None,
    strict: bool = False,
    contacts: Contacts = None,
) -> Mechanism:
    """The mechanism an SDF file describes.

    A model that no joint ties to the world floats on a free joint unless it is static, as the format has it;
    ``floating_base=False`` fixes its first link instead. Where a world has several models that can move,
    ``root`` names the one that is meant, or the world for all of them together. Bodies keep the frames of
    their links and their names, ``nested::link`` in nested models; a joint that turns about an axis beside
    its link's origin carries an empty body called like the joint with '_frame'. ``q`` follows the order of
    the <joint> elements. Joints that close loops become cut joints, <frame> elements frames. Collisions of
    models that float become contact points with their friction, a plane of a static model the floor;
    ``contacts`` chooses other bodies (:func:`kinetree.load`). Files named by <include>, SDF or URDF, must be
    inside the file's folder, or inside ``folder``, or in a model or package that is known.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputError(must_be("the path of an SDF file", "a text or a path", path))
    file = Path(path)
    options = SdfOptions(allow_unphysical, floating_base, root, strict, ContactChoice.of(contacts))
    passed = PassedOver(str(path), strict)
    mechanism = read_sdf(file_content(file), MeshFolder.around(file, folder, packages), options, passed)
    _warn(mechanism, options, passed)
    return mechanism


def mechanism_from_sdf(
    text: str,
    source: str = "text",
    floating_base: bool | None = None,
    root: str | None = None,
    strict: bool = False,
) -> Mechanism:
    """The mechanism an SDF text describes; ``source`` names it in messages. See :func:`load_sdf`."""
    if not isinstance(text, str):
        raise InputError(f"an SDF text must be a text, got {type(text).__name__}; use load_sdf for files")
    options = SdfOptions(False, floating_base, root, strict)
    passed = PassedOver(source, strict)
    mechanism = read_sdf(text, MeshFolder.only(None), options, passed)
    _warn(mechanism, options, passed)
    return mechanism


def _warn(mechanism: Mechanism, options: SdfOptions, passed: PassedOver) -> None:
    passed.warn(stacklevel=3)
    if not options.allow_unphysical:
        warn_of_unphysical(mechanism, passed.source, stacklevel=3)


def read_sdf(content: str | bytes, folder: MeshFolder, options: SdfOptions, passed: PassedOver) -> Mechanism:
    """The mechanism of a file; ignored items are collected, not yet reported."""
    documents = Documents(folder, passed)
    root = documents.root(content, passed.source, folder)
    scope = documents.chosen(root, options.root)
    model = _Model(scope, documents, options, passed)
    try:
        return model.mechanism(root)
    except ModelError as reason:
        said = str(reason)
        raise ModelError(said if said.startswith(root.source) else f"{root.place}: {said}") from None


@dataclass
class _Model:
    """A chosen model on its way to a mechanism: links with their places in the world, joints between them."""

    scope: Scope
    documents: Documents
    options: SdfOptions
    passed: PassedOver
    places: dict[str, Placement] = field(default_factory=dict)  # of links in the world
    bodies: dict[str, Body] = field(default_factory=dict)
    edges: list[Loop] = field(default_factory=list)
    joints: dict[str, Element] = field(default_factory=dict)
    elements: dict[str, Element] = field(default_factory=dict)  # of links

    def mechanism(self, root: Element) -> Mechanism:
        self._read_links()
        if not self.bodies:
            raise ModelError(
                f"{self.scope.element.place}: there is no <link>; a mechanism needs at least one"
            )
        self._read_joints()
        self._hold_static()
        self._root_all()
        name = self.scope.element.attributes.get("name") or Path(root.source).stem
        carried, cut = spanning_tree(name, list(self.bodies), self.edges)
        order = {joint.name: k for k, joint in enumerate(self.edges)}
        sequence = sorted(self.bodies, key=lambda body: order[carried[body].name])
        taken = {*self.bodies}
        links = [x for body in sequence for x in _links(self.bodies[body], carried[body], taken)]
        loops = [_loop(joint) for joint in self.edges if joint.name in cut]
        gravity = self._gravity(root)
        floor = floor_of(root, gravity)
        return Mechanism(
            name,
            tuple(links),
            gravity,
            tuple(loops),
            self._contacts(links, floor),
            frames=tuple(self._frames()),
            floor=floor,
        )

    # ---- links ------------------------------------------------------------------------------------------

    def _read_links(self) -> None:
        for scope in self.scope.all_scopes():
            for link in scope.elements("link"):
                name = scope.full(link.text("name"))
                if name in self.bodies:
                    raise ModelError(f"{link.place}: two links are called '{name}'; names must differ")
                folder = self.documents.folders[link.source]
                self.places[name] = scope.in_world(link.text("name"), link)
                unphysical = self.options.allow_unphysical
                self.elements[name] = link
                robot = self.documents.robots.get(link.source)
                if robot is None:
                    self.bodies[name] = link_body(link, name, folder, unphysical, self.passed)
                else:
                    body = urdf_elements.link_body(link, folder, unphysical, self.passed, robot.colors)
                    self.bodies[name] = replace(body, name=name)
        self.places[WORLD] = Placement()

    # ---- joints -----------------------------------------------------------------------------------------

    def _read_joints(self) -> None:
        scopes = [(scope, x) for scope in self.scope.all_scopes() for x in scope.elements("joint")]
        for scope, element in scopes:
            self.joints[scope.full(element.text("name"))] = element
        written = {
            scope.full(x.text("name")): mimic
            for scope, x in scopes
            if (mimic := self._mimic(scope, x)) is not None
        }
        for name, mimic in written.items():
            if mimic.joint not in self.joints:
                said = unknown_name("joint", mimic.joint, self.joints)
                raise ModelError(f"{self.joints[name].place}: mimic: {said}")
        mimics = resolved_mimics(written, lambda name: self.joints[name].place)
        for scope, element in scopes:
            name = scope.full(element.text("name"))
            self._read_joint(scope, element, name, mimics.get(name))

    def _mimic(self, scope: Scope, element: Element) -> Mimic | None:
        if element.source not in self.documents.robots:
            return mimic_of(element, scope.full)
        mimic = urdf_elements.mimic_of(element)
        return None if mimic is None else replace(mimic, joint=scope.full(mimic.joint))

    def _read_joint(self, scope: Scope, element: Element, name: str, mimic: Mimic | None) -> None:
        robot = self.documents.robots.get(element.source)
        if robot is None and joint_type(element) == "gearbox":
            message = f"{element.place}: a gearbox is ignored; joints move without it"
            self.passed.mention("not-used", "gearbox joints", message)
            return
        parent, child = (scope.link_of(word(element, role), element) for role in ("parent", "child"))
        if parent == child:
            raise ModelError(f"{element.place}: the joint connects link '{child}' to itself")
        place = scope.in_world(element.text("name"), element)
        if robot is None:
            made = list(joints_of(element, name, mimic, lambda x: self._turn(scope, place, x), self.passed))
        else:
            armature = robot.armatures.get(element.text("name"), 0.0)
            made = [replace(urdf_elements.joint_of(element, mimic, self.passed, armature), name=name)]
        for k, joint in enumerate(made):
            last = k == len(made) - 1
            carrier, carried = parent, child
            if not last:
                carried = f"{name}_frame"
                self.bodies[carried], self.places[carried] = Body(carried), place
            if k:
                carrier = f"{name}_frame"
            ends = self.places[carrier].inverse @ place, self.places[carried].inverse @ place
            loop = Loop(joint, carrier, carried, *ends)
            self.edges.append(loop)

    def _turn(self, scope: Scope, place: Placement, axis: Element) -> Array:
        """The rotation from the frame that an axis is expressed in to the joint's."""
        xyz = axis.one("xyz")
        named = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        old = self.documents.versions[axis.source] < OLDEST_IN_JOINT
        if not named and flag(axis, "use_parent_model_frame", old):
            named = MODEL
        if not named:
            return np.eye(3)
        turned: Array = place.rotation.T @ scope.in_world(named, axis).rotation
        return turned

    # ---- what holds the model ---------------------------------------------------------------------------

    def _hold_static(self) -> None:
        """Fix the links of static models to the world."""
        for scope in self.scope.all_scopes():
            if _is_static(scope):
                for link in scope.elements("link"):
                    name = scope.full(link.text("name"))
                    self._hold(name, f"{name}_static", floats=False)

    def _hold(self, link: str, name: str, floats: bool) -> None:
        while name in self.joints:
            name += "_"
        self.joints[name] = self.scope.element
        joint = Joint.of_kind(name, "free" if floats else "fixed")
        self.edges.append(Loop(joint, WORLD, link, self.places[link]))

    def _root_all(self) -> None:
        """Let what no joint leads to from the world float, or fix it there."""
        heads = self._unheld()
        floats = self.options.floating_base is not False
        if self.options.floating_base and not heads:
            raise ModelError(
                f"{self.scope.element.place}: the model is fixed to the world, so it cannot float"
            )
        for head in heads:
            usual = "floating_base" if floats else "fixed_base"
            name = usual if len(heads) == 1 else f"{head}_{usual}"
            self._hold(head, name, floats)
        self.edges = self.edges[len(self.edges) - len(heads) :] + self.edges[: len(self.edges) - len(heads)]

    def _unheld(self) -> list[str]:
        """One link of each group that no joints tie to the world: the first that is no child."""
        neighbours: dict[str, list[str]] = {name: [] for name in (WORLD, *self.bodies)}
        for edge in self.edges:
            neighbours[edge.body_a].append(edge.body_b)
            neighbours[edge.body_b].append(edge.body_a)
        children = {edge.body_b for edge in self.edges}
        reached: set[str] = set()
        _spread(WORLD, neighbours, reached)
        heads = []
        for name in sorted(self.bodies, key=lambda body: body in children):
            if name not in reached:
                heads.append(name)
                _spread(name, neighbours, reached)
        return heads

    # ---- the rest ---------------------------------------------------------------------------------------

    def _frames(self) -> Iterator[Frame]:
        for scope in self.scope.all_scopes():
            for element in scope.elements("frame"):
                name = scope.full(element.text("name"))
                link = scope.link_of(element.text("name"), element)
                place = self.places[link].inverse @ scope.in_world(element.text("name"), element)
                yield Frame(name if name not in self.bodies else f"{name}_frame", link, place)

    def _contacts(self, links: list[Link], floor: Floor | None) -> tuple[ContactPoint, ...]:
        """Where links may touch the ground: of models that float, or on a floor all that move."""
        held, floating = {WORLD}, set[str]()
        for link in links:
            if link.parent in held and not link.joint.n_dof:
                held.add(link.body.name)
            if link.parent in floating or (link.parent == WORLD and link.joint.is_free):
                floating.add(link.body.name)
        choice = self.options.contacts
        choice.check_names(self.elements)
        moving = [
            link.body.name
            for link in links
            if link.body.name in self.elements and link.body.name not in held
            if choice.wants(link.body.name, floor is not None or link.body.name in floating)
        ]
        solids = {name: self._solids(name) for name in moving}
        points = tuple(contact_points(solids, floor, self.passed))
        choice.check_found(points)
        return points

    def _solids(self, name: str) -> list[tuple[Element, Shape]]:
        """The collisions of a link and their shapes; what is wrong with one is said where it is drawn."""
        quiet, found = PassedOver(self.passed.source), []
        source = self.elements[name].source
        folder = self.documents.folders[source]
        read = urdf_elements.shape_of if source in self.documents.robots else shape_of
        for collision in self.elements[name].all("collision"):
            shape = read(collision, folder, quiet)
            if shape is not None:
                found.append((collision, shape))
            elif (tag := undrawn(collision)) is not None:
                message = f"{collision.place}: a {tag} does not touch the ground"
                self.passed.mention("not-used", f"contact of <{tag}> collisions", message)
        return found

    def _gravity(self, root: Element) -> Array:
        world = root.one(WORLD)
        usual = EARTH if world is None else WORLD_GRAVITY
        return frozen(usual) if world is None else vector(world, "gravity", usual)


def _is_static(scope: Scope) -> bool:
    owner: Scope | None = scope
    while owner is not None:
        for element in (owner.element, owner.placing):
            if element is not None and not owner.is_world and flag(element, "static"):
                return True
        owner = owner.owner
    return False


def _spread(start: str, neighbours: dict[str, list[str]], reached: set[str]) -> None:
    """Add all that is connected."""
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting.extend(neighbours[name])


def _loop(joint: Loop) -> Loop:
    """A cut joint has no drive."""
    return replace(joint, joint=replace(joint.joint, driven=(False,) * joint.joint.n_dof))


def _links(body: Body, edge: Loop, taken: set[str]) -> Iterator[Link]:
    """A body in its link's frame on the joint that carries it, with an empty body between where needed."""
    forward = edge.body_b == body.name
    joint: Joint | None = edge.joint if forward else reversed_joint(edge.joint)
    if joint is None:
        raise ModelError(f"joint '{edge.name}' cannot be passed from its child to its parent")
    parent, before, after = edge.body_a, edge.placement_a, edge.placement_b
    if not forward:
        parent, before, after = edge.body_b, edge.placement_b, edge.placement_a
    through = _without_offset(joint, after)
    if through is not None:
        yield Link(body, through, parent, before @ after.inverse)
        return
    name = f"{edge.name}_frame"
    while name in taken:
        name += "_"
    taken.add(name)
    yield Link(Body(name), joint, parent, before)
    yield Link(body, Joint.of_kind(f"{name}_weld", "fixed"), name, after.inverse)


def _without_offset(joint: Joint, after: Placement) -> Joint | None:
    """The joint about axes in the body's frame, if they pass through its origin; else None.

    With the joint's frame X in the body, a motion J and the body's pose P J X^-1 = (P X^-1) (X J X^-1).
    """
    if after.is_identity or joint.n_dof == 0:
        return joint
    beside = after.position
    if joint.n_dof == 1 and joint.is_turn:
        along = after.rotation @ joint.axes[0]
        beside = beside - (beside @ along) * along
    if not joint.is_slide and np.abs(beside).max() > NEAR:
        return None
    if joint.has_three_turns:
        return joint  # its angles may be counted in any axes
    return replace(joint, axes=frozen(joint.axes @ after.rotation.T)) if after.is_turned else joint
