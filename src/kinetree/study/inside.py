"""Where the files that a study names may be: anywhere, or in its own folder only."""

from __future__ import annotations

import os
from pathlib import Path

from kinetree.errors import InputError, cut
from kinetree.formats.held_inside import is_held_inside


def file_of(folder: Path, file: str) -> str:
    """The path of a file that a study in a folder names; links are followed before it is judged."""
    place = os.path.normpath(os.path.join(folder, file))
    if is_held_inside():
        inside = os.path.realpath(folder)
        if os.path.commonpath([inside, os.path.realpath(place)]) != inside:
            raise InputError(
                f"file '{cut(file)}' is outside the folder of the study, {inside}, and files outside are not "
                f"allowed"
            )
    return place
