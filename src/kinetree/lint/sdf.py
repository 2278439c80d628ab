"""What is wrong with an SDF file, and what a tolerant reader passes over."""

from __future__ import annotations

from pathlib import Path

from kinetree.errors import FileError, KinetreeError
from kinetree.formats.mesh_path import MeshFolder, Packages
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import PathLike, file_content
from kinetree.formats.sdf import SdfOptions, read_sdf
from kinetree.formats.xml_file import parse_xml
from kinetree.lint.finding import LintFinding, of_error
from kinetree.lint.urdf import passed_over, placed
from kinetree.model.suspicions import suspicions


def check_sdf(
    path: Path,
    folder: PathLike | None = None,
    packages: Packages | None = None,
    floating_base: bool | None = None,
    root: str | None = None,
) -> list[LintFinding]:
    """The findings in an SDF file: the first that makes it unreadable, and what is ignored."""
    file = str(path)
    try:
        document = parse_xml(file_content(path), file, PassedOver(file))
    except FileError as error:
        return of_error(error, file, "syntax")
    passed = PassedOver(file)
    options = SdfOptions(floating_base=floating_base, root=root)
    try:
        mechanism = read_sdf(file_content(path), MeshFolder.around(path, folder, packages), options, passed)
    except KinetreeError as error:
        return of_error(error, file, "impossible-mechanism") + passed_over(passed, file)
    return passed_over(passed, file) + placed(suspicions(mechanism), document, file)
