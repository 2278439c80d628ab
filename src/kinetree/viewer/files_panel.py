"""Opening and saving from the page."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kinetree.errors import FileError
from kinetree.model import zoo
from kinetree.report.frames import motion_names
from kinetree.report.movie import movie_content
from kinetree.result.netcdf import result_bytes
from kinetree.result.result import Result
from kinetree.viewer.subject import RESULT_SUFFIX
from kinetree.viewer.words import paragraph

CHOOSE = "choose one"
MOVIES = ("GIF", "MP4")


class OpenPanel:
    """A choice of the zoo's mechanisms, and on a page for this machine a field for a path."""

    def __init__(self, gui: Any, opened: Callable[[str], None], *, public: bool) -> None:
        self.zoo = gui.add_dropdown("Zoo", (CHOOSE, *zoo.ZOO), initial_value=CHOOSE)
        self.path = gui.add_text("File or name", "", visible=not public)
        self.button = gui.add_button("Open", icon="folder-open", visible=not public)
        if not public:
            gui.add_html(
                paragraph(
                    "A model (.toml, .urdf, .sdf, .xml), a result (.nc), or a name in the zoo.", faint=True
                )
            )
        self.zoo.on_update(lambda event: opened(self.zoo.value) if self.zoo.value in zoo.ZOO else None)
        if not public:
            self.button.on_click(lambda event: opened(str(self.path.value)))


class SavePanel:
    """A download, and on a page for this machine a file; nothing that exists is replaced."""

    def __init__(
        self,
        gui: Any,
        result: Result,
        tell: Callable[[str], None],
        attempt: Callable[[Callable[[], None]], None],
        *,
        public: bool,
    ) -> None:
        self._result, self._tell = result, tell
        name = f"{_plain(result.mechanism.name)}{RESULT_SUFFIX}"
        self.download = gui.add_button("Download the result", icon="download")
        self.path = gui.add_text("Save as", _free(name), visible=not public)
        self.button = gui.add_button("Save", icon="device-floppy", visible=not public)
        self.download.on_click(
            lambda event: attempt(
                lambda: event.client.send_file_download(name, result_bytes(result), save_immediately=True)
            )
        )
        if not public:
            self.button.on_click(lambda event: attempt(self.save))
        moving = bool(motion_names(result))
        self.record = gui.add_button_group("Record a movie", MOVIES, visible=moving)
        self.record.on_click(lambda event: attempt(lambda: self._record(event)))

    def _record(self, event: Any) -> None:
        """Draw the motion and send it to the page as a file."""
        kind = str(self.record.value)
        if kind not in MOVIES:  # a page may send anything
            return
        self._tell("Drawing the movie …")
        content = movie_content(self._result, f".{kind.lower()}", progress=self._drawn)
        name = f"{_plain(self._result.mechanism.name)}.{kind.lower()}"
        event.client.send_file_download(name, content, save_immediately=True)
        self._tell(f"The movie is downloaded as {name}.")

    def _drawn(self, part: float) -> None:
        if int(100 * part) % 10 == 0:
            self._tell(f"Drawing the movie: {100 * part:.0f} %")

    def save(self) -> None:
        """Write the result to the file that is named, unless it exists."""
        path = Path(str(self.path.value).strip())
        if path.suffix.lower() != RESULT_SUFFIX:
            raise FileError(f"{path}: a result is a file with the suffix {RESULT_SUFFIX}")
        if path.exists() or path.is_symlink():
            raise FileError(f"{path}: already exists; choose another name")
        self._result.save(path)
        self._tell(f"Saved {path.resolve()}")


def _plain(name: str) -> str:
    """A name of letters, digits and underscores for a file."""
    return re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:60] or "result"


def _free(name: str) -> str:
    """The name, with a number if there is such a file."""
    stem, suffix = Path(name).stem, Path(name).suffix
    for k in range(2, 1000):
        if not Path(name).exists():
            break
        name = f"{stem}_{k}{suffix}"
    return name
