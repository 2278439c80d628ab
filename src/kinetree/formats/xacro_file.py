"""URDF files with macros (xacro), expanded by the package of that name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinetree.errors import FileError, MissingExtraError
from kinetree.formats.xml_file import Element


def has_macros(robot: Element) -> bool:
    """Whether elements of the xacro namespace stand directly below the root."""
    return any(
        "xacro" in child.tag.partition("}")[0] for child in robot.children if child.tag.startswith("{")
    )


def expanded(file: Path) -> str:
    """The text of a file with its macros expanded.

    xacro evaluates expressions and includes files that the description names: expand only files that you
    trust.
    """
    try:
        import xacro
    except ImportError:
        raise MissingExtraError("xacro", "xacro", f"{file} holds xacro macros; expanding them") from None
    try:
        document: Any = xacro.process_file(str(file))
        text: str = document.toxml()
    except Exception as reason:  # the package raises classes of its own, and those of what it evaluates
        first = str(reason).strip().splitlines()[:1]
        raise FileError(f"{file}: xacro cannot expand it: {(first or [type(reason).__name__])[0]}") from None
    return text
