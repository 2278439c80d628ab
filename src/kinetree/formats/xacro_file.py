"""URDF files with macros (xacro), expanded by the package of that name."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kinetree.errors import FileError, MissingExtraError
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.xml_file import Element

_TAKING_OVER = threading.Lock()


def has_macros(robot: Element) -> bool:
    """Whether elements of the xacro namespace stand directly below the root."""
    return any(
        "xacro" in child.tag.partition("}")[0] for child in robot.children if child.tag.startswith("{")
    )


def expanded(file: Path, folder: MeshFolder) -> str:
    """The text of a file with its macros expanded; ``$(find name)`` is searched as ``package://name`` is.

    xacro evaluates expressions and includes files that the description names: expand only files that you
    trust.
    """
    try:
        import xacro
    except ImportError:
        raise MissingExtraError("xacro", "xacro", f"{file} holds xacro macros; expanding them") from None
    missing: list[str] = []
    try:
        with _packages_of(folder, missing):
            document: Any = xacro.process_file(str(file))
        text: str = document.toxml()
    except Exception as reason:  # the package raises classes of its own, and those of what it evaluates
        if missing:
            raise FileError(
                f"{file}: xacro cannot expand it: package '{missing[0]}' is neither above the file nor in "
                f"ROS_PACKAGE_PATH or AMENT_PREFIX_PATH; packages={{'{missing[0]}': folder}} gives its folder"
            ) from None
        first = str(reason).strip().splitlines()[:1]
        raise FileError(f"{file}: xacro cannot expand it: {(first or [type(reason).__name__])[0]}") from None
    return text


@contextmanager
def _packages_of(folder: MeshFolder, missing: list[str]) -> Iterator[None]:
    """Packages found in our folders; xacro itself asks an index that only an installed ROS has.

    Those that neither knows are added to ``missing``.
    """
    from xacro import substitution_args as xacro_values

    usual = xacro_values._eval_find

    def find(package: str) -> str:
        found = folder.package(package)
        if found is not None:
            return str(found)
        try:
            return str(usual(package))
        except Exception:  # there is no ROS, or it does not have the package
            missing.append(package)
            raise

    with _TAKING_OVER:
        xacro_values._eval_find = xacro_values._eval_dict["find"] = find
        try:
            yield
        finally:
            xacro_values._eval_find = xacro_values._eval_dict["find"] = usual
