"""Pictures in a row as a movie: GIF by Pillow, MP4 by ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from kinetree.errors import FileError, MissingExtraError, listed
from kinetree.report.palette import AXIS_COLORS, CENTER_COLOR, FORCE_COLOR, INK, PATH, REACTION_COLOR

GIF, MP4 = ".gif", ".mp4"
MOVIES = (MP4, GIF)
COLORS = 128  # of a GIF
KEPT = (*AXIS_COLORS, CENTER_COLOR, FORCE_COLOR, REACTION_COLOR, PATH, INK)  # too few pixels to be chosen
Pictures = Iterable[np.ndarray]


def check_movie(path: Path) -> None:
    """Raise if the suffix names no format of movies, or the program that writes it is not there."""
    if path.suffix.lower() not in MOVIES:
        shown = f"the suffix '{path.suffix}'" if path.suffix else "no suffix"
        raise FileError(f"{path}: has {shown}; a movie can be written as {listed(MOVIES)}")
    if path.suffix.lower() == MP4:
        ffmpeg()


def movie_bytes(pictures: Pictures, suffix: str, fps: float) -> bytes:
    """The movie of pictures (height, width, 3) of bytes, as many per second as ``fps`` says."""
    return _gif(pictures, fps) if suffix.lower() == GIF else _mp4(pictures, fps)


def ffmpeg() -> str:
    """The program that writes MP4: that of imageio-ffmpeg, else one on the search path."""
    try:
        from imageio_ffmpeg import get_ffmpeg_exe

        return str(get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        found = shutil.which("ffmpeg")
    if found is None:
        raise MissingExtraError("imageio-ffmpeg", "movie", "writing a movie as .mp4")
    return found


def _gif(pictures: Pictures, fps: float) -> bytes:
    """A GIF that repeats; its colors are those of the first picture and of axes, forces and paths.

    Its clock counts hundredths of a second, so delays differ by one such that the whole lasts as long as it
    should.
    """
    from PIL import Image

    frames, palette = list[Any](), None
    for picture in pictures:
        image = Image.fromarray(picture)
        if palette is None:
            chosen = image.quantize(COLORS - len(KEPT)).getpalette() or []
            palette = Image.new("P", (1, 1))
            palette.putpalette(chosen + [x for color in KEPT for x in bytes.fromhex(color[1:])])
        frames.append(image.quantize(palette=palette, dither=Image.Dither.NONE))
    ends = np.round(100.0 / fps * np.arange(len(frames) + 1)).astype(int)
    buffer = BytesIO()
    frames[0].save(
        buffer, "GIF", save_all=True, append_images=frames[1:], duration=(10 * np.diff(ends)).tolist(), loop=0
    )
    return buffer.getvalue()


def _mp4(pictures: Pictures, fps: float) -> bytes:
    """H.264 as every browser and player shows it; width and height must be even."""
    row = iter(pictures)
    first = next(row)
    size = f"{first.shape[1]}x{first.shape[0]}"
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "movie.mp4")
        raw = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", size, "-r", f"{fps:.6f}", "-i", "-"]
        coded = ["-an", "-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart"]
        _feed([ffmpeg(), "-v", "error", "-y", *raw, *coded, str(target)], chain([first], row))
        return target.read_bytes()


def _feed(command: list[str], pictures: Pictures) -> None:
    """Run a program that reads pictures one after the other."""
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=log) as program:
            assert program.stdin is not None
            try:
                for picture in pictures:
                    program.stdin.write(picture.tobytes())
            except BrokenPipeError:
                pass  # it has ended, and its log says why
            except BaseException:
                program.kill()
                raise
            finally:
                with suppress(OSError):
                    program.stdin.close()
        log.seek(0)
        said = log.read().decode(errors="replace").strip().splitlines()
    if program.returncode:
        raise FileError(f"ffmpeg could not write the movie: {said[-1] if said else 'it gave no reason'}")
