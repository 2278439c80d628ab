"""Makes the animation of the first screen: ``python docs/make_first_screen.py``.

A person walks a stride beside a quadruped that trots: both motions are predicted, not recorded.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from PIL import Image, ImageSequence

import kinetree as kt

PLACE = Path(__file__).parent / "images" / "first_screen.gif"
SIZE, FPS, SECONDS, COLORS = (
    (360, 300),
    10,
    2.4,
    28,
)  # pixels of a half, frames per second, ...


def main() -> None:
    """Predict both motions, draw them, put them side by side."""
    person = kt.gait_analysis.strides(kt.run("walking"), 1)
    robot = kt.run("quadruped_predicted_trot")
    with tempfile.TemporaryDirectory() as folder:
        halves = [frames(person, Path(folder) / "person.gif"), frames(robot, Path(folder) / "robot.gif")]
    count = round(FPS * SECONDS)
    pictures = [side_by_side([half[k % len(half)] for half in halves]) for k in range(count)]
    palette = pictures[0].quantize(COLORS, dither=Image.Dither.NONE)
    small = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    small[0].save(
        PLACE, save_all=True, append_images=small[1:], duration=round(1000 / FPS), loop=0, optimize=True
    )
    print(f"{PLACE.name}: {count} frames, {PLACE.stat().st_size / 1000:.0f} kB")


def frames(result: kt.Result, path: Path) -> list[Image.Image]:
    """The pictures of a motion at its own speed."""
    result.animate(path, fps=FPS, size=SIZE, speed=1.0)
    with Image.open(path) as movie:
        return [frame.convert("RGB") for frame in ImageSequence.Iterator(movie)]


def side_by_side(pictures: list[Image.Image]) -> Image.Image:
    """Pictures of one height in a row."""
    whole = Image.new("RGB", (sum(x.width for x in pictures), pictures[0].height), "white")
    left = 0
    for picture in pictures:
        whole.paste(picture, (left, 0))
        left += picture.width
    return whole


if __name__ == "__main__":
    main()
