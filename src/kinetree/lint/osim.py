"""What is wrong with a model of OpenSim, and what of it is not used."""

from __future__ import annotations

from pathlib import Path

from kinetree.errors import FileError, KinetreeError
from kinetree.formats.contact_choice import ContactChoice
from kinetree.formats.osim import read_osim
from kinetree.formats.osim_document import read_document
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import PathLike, file_content
from kinetree.lint.finding import LintFinding, of_error
from kinetree.lint.urdf import passed_over, placed
from kinetree.model.suspicions import suspicions


def check_osim(path: Path, folder: PathLike | None = None) -> list[LintFinding]:
    """The findings in an .osim file: the first that makes it unreadable, and what is not used."""
    file = str(path)
    try:
        document = read_document(file_content(path), file, PassedOver(file))
    except FileError as error:
        return of_error(error, file, "syntax")
    passed = PassedOver(file)
    try:
        mechanism = read_osim(path, folder, ContactChoice(), passed)
    except KinetreeError as error:
        return of_error(error, file, "impossible-mechanism") + passed_over(passed, file)
    return passed_over(passed, file) + placed(suspicions(mechanism), document, file)
