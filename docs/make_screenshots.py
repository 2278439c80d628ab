"""Makes the picture of a report in a browser: ``python docs/make_screenshots.py`` (needs Chromium)."""

from __future__ import annotations

import io
import subprocess
import tempfile
from pathlib import Path

from PIL import Image

import kinetree as kt

IMAGES = Path(__file__).parent / "images"
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--hide-scrollbars",
)
SIZE, SHOWN, COLORS = (1200, 1040), 1000, 128  # pixels of the window, width of the picture


def main() -> None:
    """Run an example, write its report, open it and take its picture."""
    with tempfile.TemporaryDirectory() as folder:
        page, shot = Path(folder) / "report.html", Path(folder) / "report.png"
        kt.run("gripper_free_fall").report(page)
        window = f"--window-size={SIZE[0]},{SIZE[1]}"
        command = [
            "chromium",
            *FLAGS,
            "--virtual-time-budget=3000",
            window,
            f"--screenshot={shot}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True)
        image = Image.open(io.BytesIO(shot.read_bytes())).convert("RGB")
    small = image.resize((SHOWN, round(SIZE[1] * SHOWN / SIZE[0])), Image.Resampling.LANCZOS)
    small.quantize(COLORS, dither=Image.Dither.NONE).save(IMAGES / "report.png", optimize=True)


if __name__ == "__main__":
    main()
