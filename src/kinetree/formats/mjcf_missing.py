"""MJCF models whose meshes or textures are not there, compiled without them where no mass depends on them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from kinetree.errors import FileError


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
