"""Reading MJCF files, the model descriptions of MuJoCo.

MuJoCo itself (package ``mujoco``) reads and compiles the file, and the mechanism is made from the result.
Before MuJoCo opens anything, the file and all it includes are checked: no document type declarations, and
no file outside the folder of the model, but for those that a relative path names a few folders above it.
"""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kinetree.errors import (
    FileError,
    InputError,
    KinetreeWarning,
    MissingExtraError,
    ModelError,
    cut,
    listed,
    must_be,
)
from kinetree.formats.contact_choice import ContactChoice, Contacts
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.mjcf_bodies import mechanism_from_compiled
from kinetree.formats.mjcf_compiled import CompiledModel
from kinetree.formats.mjcf_shapes import ShapeReader
from kinetree.formats.passed_over import PassedOver, warn_of_unphysical
from kinetree.formats.regular_file import read_text
from kinetree.formats.xml_file import Element, parse_xml
from kinetree.model.mechanism import Mechanism

PathLike = str | os.PathLike[str]
FOLDER_ATTRIBUTES = ("assetdir", "meshdir", "texturedir")
MODEL_TAGS = ("include", "model")  # elements that name another model file
HIGHEST = 4  # folders above the file that relative paths may lead to
SUFFIXES = (  # of files that a model may name outside its folder
    ".xml", ".mjcf", ".stl", ".obj", ".msh", ".skn", ".png", ".ktx", ".hf", ".hfield", ".bin", ".usd", ".dae",
)  # fmt: skip


def compiled_without(mujoco: Any, missing: Collection[str], path: str) -> Any:
    """The model of a file without the assets whose files are missing, and without the geoms that show them.

    A geom whose mesh gives its body mass or inertia cannot be left out: that is an error.
    """
    spec = mujoco.MjSpec.from_file(path)
    names = {_file_name(name) for name in missing}
    lost = [mesh for mesh in spec.meshes if _file_name(mesh.file) in names]
    lost_names = {mesh.name or Path(_slashed(mesh.file)).stem for mesh in lost}
    for geom in list(spec.geoms):
        if geom.meshname in lost_names:
            _refuse_mass(mujoco, spec, geom, path)
            spec.delete(geom)
    for mesh in lost:
        spec.delete(mesh)
    gone = [texture for texture in spec.textures if _file_name(texture.file) in names]
    gone_names = {texture.name for texture in gone}
    for material in spec.materials:
        material.textures = ["" if name in gone_names else name for name in material.textures]
    for texture in gone:
        spec.delete(texture)
    return spec.compile()


def _refuse_mass(mujoco: Any, spec: Any, geom: Any, path: str) -> None:
    """An error if the mass of a body is that of a geom."""
    body = geom.parent
    never = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_FALSE
    always = mujoco.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    setting = spec.compiler.inertiafromgeom
    given = setting == never or (bool(body.explicitinertial) and setting != always)
    low, high = (int(x) for x in spec.compiler.inertiagrouprange)
    weightless = geom.mass == 0.0 or geom.density == 0.0 or not low <= int(geom.group) <= high
    if not given and not weightless and body.name != "world":
        raise FileError(
            f"{path}: the mesh '{geom.meshname}' is missing, and body '{body.name}' has its mass from it; "
            f"give the body an <inertial> or add the file"
        )


def _file_name(name: str) -> str:
    return Path(_slashed(name)).name


def _slashed(name: str) -> str:
    return str(name).replace("\\", "/")


def load_mjcf(
    path: PathLike,
    allow_unphysical: bool = False,
    folder: PathLike | None = None,
    strict: bool = False,
    contacts: Contacts = None,
) -> Mechanism:
    """The mechanism an MJCF file describes, with the dynamics that MuJoCo gives it.

    ``q`` follows MuJoCo's order and, for hinges and slides, its values; a ball joint has the Euler angles
    YXZ instead of a quaternion, a free joint the position and the Euler angles YXZ relative to the pose in
    the file. Bodies keep their frames and names; a joint whose anchor is not the body's origin, or that is
    followed by another joint of the same body, carries an empty body called like the joint with '_frame'.
    Every file the model refers to must be inside its folder, or inside ``folder``, a folder around it, or by
    a relative path at most four folders above; shapes keep mesh paths relative to the folder. Meshes that are
    not there are left out of the picture where no mass depends on them. Geoms that may touch the floor become
    contact points with the file's friction, the floor :attr:`Mechanism.floor`, sites frames, keyframes named
    states, motors and servos actuators; ``contacts`` chooses other bodies (:func:`kinetree.load`). Whatever a
    mechanism cannot hold is left out with one warning that names it, a line each. ``allow_unphysical`` says
    that inertias which no body has are meant (see :class:`kinetree.Inertia`); MuJoCo refuses most of them.
    ``strict`` refuses these, files above the folder and missing meshes.
    """
    mujoco, choice = _mujoco(), ContactChoice.of(contacts)
    if not isinstance(path, str | os.PathLike):
        raise FileError(must_be("the path of a file", "a text or a Path", path))
    file = Path(path)
    inside = MeshFolder.around(file, folder)
    region = _Region(inside, 0 if strict or folder is not None else HIGHEST)
    passed = PassedOver(str(path), strict)
    elements = _all_elements(file, region, passed)
    _check_main(elements[0])
    missing = _missing_assets(elements, region)
    _check_no_nan(elements)
    make = mujoco.MjModel.from_xml_path
    if missing and not strict:
        make = functools.partial(compiled_without, mujoco, missing)
    compiled = _compiled(mujoco, make, str(file), str(path))
    if missing and not strict:
        compiled.left_out.append(f"missing meshes and textures ({listed(missing, 4)})")
    shapes = ShapeReader(compiled, inside, elements)
    mechanism = _mechanism(compiled, shapes, allow_unphysical, strict, file.stem, str(path), choice)
    passed.warn(stacklevel=3)
    return mechanism


def mechanism_from_mjcf(
    text: str, source: str = "text", allow_unphysical: bool = False, strict: bool = False
) -> Mechanism:
    """The mechanism an MJCF text describes; ``source`` names it in messages. See :func:`load_mjcf`.

    A text has no folder, so it may not refer to files.
    """
    if not isinstance(text, str):
        raise InputError(must_be("an MJCF text", "a text", type(text).__name__, ""))
    mujoco = _mujoco()
    passed = PassedOver(source, strict)
    elements = list(_with_descendants(parse_xml(text, source, passed)))
    _check_main(elements[0])
    for element in elements:
        for name in _file_names(element):
            raise FileError(
                f"{element.place}: an MJCF text may not refer to a file, got '{name}'; "
                "save the text in a folder and use load_mjcf"
            )
    _check_no_nan(elements)
    compiled = _compiled(mujoco, mujoco.MjModel.from_xml_string, text, source)
    shapes = ShapeReader(compiled, MeshFolder(), elements)
    mechanism = _mechanism(compiled, shapes, allow_unphysical, strict, source, source, ContactChoice())
    passed.warn(stacklevel=2)
    return mechanism


def _mujoco() -> Any:
    try:
        import mujoco
    except ImportError:
        raise MissingExtraError("mujoco", "mjcf", "reading MJCF files") from None
    return mujoco


def _compiled(mujoco: Any, compile_model: Callable[[str], Any], argument: str, source: str) -> CompiledModel:
    """What MuJoCo compiles, or its complaint as a FileError; its warnings would else go to a log file."""
    heard: list[str] = []
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(heard.append)
    try:
        return CompiledModel(mujoco, compile_model(argument), heard)
    except FileError:
        raise
    except (ValueError, mujoco.FatalError, mujoco.UnexpectedError) as reason:
        raise FileError(f"{source}: MuJoCo refuses it: {_one_line(str(reason))}") from None
    finally:
        mujoco.set_mju_user_warning(previous)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _mechanism(
    compiled: CompiledModel,
    shapes: ShapeReader,
    allow_unphysical: bool,
    strict: bool,
    title: str,
    source: str,
    choice: ContactChoice,
) -> Mechanism:
    """The mechanism, with one warning for everything that is ignored and one for unphysical inertias."""
    try:
        with np.errstate(invalid="ignore", over="ignore"):  # each part refuses what is not finite, by name
            allowed = allow_unphysical or not strict
            mechanism = mechanism_from_compiled(compiled, title, allowed, shapes, choice)
    except ModelError as reason:
        raise ModelError(f"{source}: {reason}") from None
    if not allow_unphysical:
        warn_of_unphysical(mechanism, source, stacklevel=4)
    for remark in compiled.remarks:
        warnings.warn(f"{source}: MuJoCo warns: {_one_line(remark)}", KinetreeWarning, stacklevel=3)
    if compiled.left_out:
        parts = "\n".join(f"  - {part}" for part in compiled.left_out)
        warnings.warn(
            f"{source}: ignored because a mechanism cannot represent it:\n{parts}",
            KinetreeWarning,
            stacklevel=3,
        )
    return mechanism


# ---- checks before MuJoCo opens anything --------------------------------------------------------------


class _Region(NamedTuple):
    """Where the files of a model may be: in a folder, and some folders above it by relative paths."""

    inside: MeshFolder
    above: int

    def refusal(self, name: str, path: Path) -> str:
        """Why a model may not name a file, or nothing."""
        root = self.inside.root or Path()
        real, real_root = Path(os.path.realpath(path)), os.path.realpath(root)
        if real.is_relative_to(real_root):
            return ""
        higher = Path(real_root).parents[: self.above]
        written = os.path.normpath(os.path.join(real_root, os.path.relpath(path, root)))
        is_plain = not Path(_slashes(name)).is_absolute() and str(real) == written  # through no link
        if higher and is_plain and real.suffix.lower() in SUFFIXES and real.is_relative_to(higher[-1]):
            return ""
        return (
            f"file '{name}' is outside the folder '{root}'; a model may only refer to files inside it, or "
            f"inside a folder above it given by folder="
        )


def _all_elements(main: Path, region: _Region, passed: PassedOver) -> list[Element]:
    """Every element of a file and of the model files it refers to, those of the file itself first."""
    elements: list[Element] = []
    seen = {_identity(main)}
    waiting: list[tuple[Path, ...]] = [(main,)]  # files to read, each after those that led to it
    while waiting:
        chain = waiting.pop(0)
        found = list(_with_descendants(parse_xml(read_text(chain[-1]), str(chain[-1]), passed)))
        elements += found
        for file in _model_files(found, chain, region):
            if _identity(file) not in seen:
                seen.add(_identity(file))
                waiting.append((*chain, file))
    return elements


def _model_files(elements: list[Element], chain: tuple[Path, ...], region: _Region) -> Iterator[Path]:
    """The model files that the elements of the last file of a chain refer to."""
    starts = (chain[0].parent, chain[-1].parent)
    for element in elements:
        if element.tag not in MODEL_TAGS or "file" not in element.attributes:
            continue
        for file in _located(element, element.text("file"), starts, region):
            if not os.path.exists(file):
                raise FileError(f"{element.place}: there is no file '{cut(str(file))}'")
            if _identity(file) in map(_identity, chain):
                circle = " -> ".join(f"'{cut(str(x))}'" for x in (*chain, file))
                raise FileError(f"{element.place}: the file includes itself: {circle}")
            yield file


def _identity(file: Path) -> str:
    return os.path.realpath(file)


def _missing_assets(elements: list[Element], region: _Region) -> list[str]:
    """Names of meshes and textures that are nowhere; all others are where they may be.

    Meshes, textures and height fields stay in the region, wherever MuJoCo looks for them.
    """
    named = {x.attributes[key] for x in elements for key in FOLDER_ATTRIBUTES if key in x.attributes}
    folders, missing = [_slashes(name) for name in sorted(named)], dict[str, None]()
    if any(Path(name).is_absolute() for name in folders):
        region = region._replace(above=0)
    for element in elements:
        if not _file_names(element):
            continue
        main, own = region.inside.start or Path(), Path(element.source).parent
        starts = [*(main / x for x in folders), main, *(own / x for x in folders), own]
        for name in _file_names(element):
            found = _located(element, name, starts, region)
            if element.tag in ("mesh", "texture") and not any(os.path.lexists(x) for x in found):
                missing[name] = None
    return list(missing)


def _located(element: Element, name: str, starts: Sequence[Path], region: _Region) -> list[Path]:
    """The files a name may stand for, none outside the model's folder, also not through a symbolic link.

    Seen from each of the folders in which MuJoCo looks: those that exist, or else the first. '..' after a
    link may lead to two places, depending on the reader; both count.
    """
    written = [start / _slashes(name) for start in starts]
    candidates = dict.fromkeys(x for path in written for x in (Path(os.path.abspath(path)), path))
    found = [x for x in candidates if os.path.lexists(x)] or written[:1]
    for path in found:
        refusal = region.refusal(name, path)
        if refusal:
            raise FileError(f"{element.place}: {refusal}")
        if os.path.exists(path) and not os.path.isfile(path):
            raise FileError(f"{element.place}: '{cut(str(path))}' is not a regular file")
    return found


def _slashes(name: str) -> str:
    """MuJoCo takes a backslash for a separator on every system."""
    return name.replace("\\", "/")


def _check_main(root: Element) -> None:
    if root.tag != "mujoco":
        raise FileError(f"{root.place}: the root element of an MJCF file is <mujoco>, got <{root.tag}>")


def _check_no_nan(elements: list[Element]) -> None:
    for element in elements:
        for key, value in element.attributes.items():
            if key != "name" and any(word.lower().lstrip("+-") == "nan" for word in value.split()):
                raise FileError(f"{element.place}: {key} must be numbers, got '{value}'")


def _with_descendants(root: Element) -> Iterator[Element]:
    """An element and all inside it; namespaces are refused because MuJoCo does not know them."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element.tag.startswith("{"):
            raise FileError(f"{element.place}: MJCF has no namespaces, got the element {element.tag}")
        yield element
        waiting.extend(reversed(element.children))


def _file_names(element: Element) -> list[str]:
    """The files an element names, in the attributes 'file', 'fileup', 'filename', ..."""
    return [value for key, value in element.attributes.items() if key.startswith("file")]
