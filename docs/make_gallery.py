"""Makes the gallery: runs every shipped example, draws the documents' figures, writes the page.

``python docs/make_gallery.py`` makes all of it, ``python docs/make_gallery.py NAME ...`` some of it again.
"""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
from gallery_figures import FIGURES, usual
from gallery_panels import Page, Panel, Sticks
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import kinetree as kt
from kinetree.report.palette import GROUND, INK, LINE_COLORS
from kinetree.study.examples import examples
from kinetree.study.file import read_study

DOCS = Path(__file__).parent
IMAGES = DOCS / "images" / "gallery"
TASKS = {
    "inverse": "Torques of a motion",
    "hybrid": "Joints prescribed and driven",
    "simulate": "Free fall",
    "control": "Walking",
    "walk": "A person walks",
    "lift": "A person lifts",
    "gait": "Predicted gaits",
    "predict": "The best motion",
    "stability": "Numerical stability",
    "compare": "Side by side",
    "iftomm": "Benchmark problems",
}
COLUMNS, DPI, COLORS = 3, 100, 96
LONG_NAME = 16  # letters of a line's name that leave no room for a second one beside it
USUAL = 97.0  # percent of the values that are no peaks
HEAD = """# Gallery

The documents' numerical examples, and some more, each a study that comes with the package: run one with
`kinetree run NAME`, copy and change it with `kinetree examples copy NAME FOLDER`. Pictures show the curves of
the documents' figures, whose numbers stand above them; what was asked for is broad and pale. Which figure is
where, and what differs: [Figures of the documents](figures.md). This page is made by
`python docs/make_gallery.py`.
"""


def main(names: list[str]) -> None:
    """Write pictures and the page; the text of examples that are not made again stays."""
    wanted = set(names or [example.name for example in examples()])
    before = sections((DOCS / "gallery.md").read_text(encoding="utf-8"))
    IMAGES.mkdir(parents=True, exist_ok=True)
    parts = [HEAD]
    for task, title in TASKS.items():
        parts.append(f"## {title}\n")
        for example in (x for x in examples() if x.task == task):
            if example.name in wanted:
                result = kt.run(example.name)
                page = FIGURES.get(example.name, usual)(result)
                picture(example.name, page, result.mechanism)
                parts.append(section(example.name, page))
                print(f"made {example.name}")
            elif example.name in before:
                parts.append(before[example.name])
    (DOCS / "gallery.md").write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """The parts of the page by the names of their examples."""
    found = {}
    for part in text.split("\n### ")[1:]:
        body = part.split("\n## ")[0].rstrip()
        found[body.split("{#")[1].split("}")[0]] = f"### {body}\n"
    return found


def section(name: str, page: Page) -> str:
    """Title, text with the documents' figures, command, picture, numbers."""
    tables = read_study(name).tables
    study, verb = tables.study, "run" if tables.sweep is None else "sweep"
    lines = [
        f"### {study.title} {{#{name}}}",
        "",
        " ".join(str(study.description).split()),
        "",
        f"```sh\nkinetree {verb} {name}\n```",
        "",
        f"![{study.title}: curves of the documents' figures](images/gallery/{name}.png)",
        "",
    ]
    if page.rows:
        documents = any(row[2] for row in page.rows)
        lines += ["| | here | document |", "|---|---|---|"] if documents else ["| | here |", "|---|---|"]
        for what, here, there in page.rows:
            lines.append(f"| {what} | {here} | {there} |" if documents else f"| {what} | {here} |")
        lines.append("")
    return "\n".join(lines)


# ---- pictures --------------------------------------------------------------------------------------------


def picture(name: str, page: Page, mechanism: kt.Mechanism) -> None:
    """A picture with the mechanism first, then the panels, in few colours so that the file is small."""
    count = len(page.panels) + 1
    rows = -(-count // COLUMNS)
    figure = Figure(figsize=(10.0, 2.35 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    kt.draw(mechanism, page.pose, figure.add_subplot(rows, COLUMNS, 1, projection="3d"), legend=False)
    for k, panel in enumerate(page.panels):
        ax = figure.add_subplot(rows, COLUMNS, k + 2)
        draw_sticks(ax, panel) if isinstance(panel, Sticks) else draw_panel(ax, panel)
    memory = io.BytesIO()
    figure.savefig(memory, dpi=DPI, format="png")
    image = Image.open(memory).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    image.save(IMAGES / f"{name}.png", optimize=True)


def draw_panel(ax: Any, panel: Panel) -> None:
    """Lines with their names if there are several; what was asked for is broad and pale."""
    for k, (x, y) in enumerate(panel.behind):
        ax.plot(x, y, color=LINE_COLORS[k % len(LINE_COLORS)], linewidth=4.0, alpha=0.3)
    for k, (label, x, y) in enumerate(panel.lines):
        ax.plot(x, y, color=LINE_COLORS[k % len(LINE_COLORS)], linewidth=1.3, label=label)
    if panel.logarithmic:
        ax.set_yscale("log")
    else:
        _cut_peaks(ax, np.concatenate([y for _, _, y in panel.lines]))
    labels = [label for label, _, _ in panel.lines]
    if len(labels) > 1:
        columns = 1 if max(map(len, labels)) > LONG_NAME else 2
        look = {"fontsize": 6.5, "labelcolor": INK, "handlelength": 1.2, "columnspacing": 0.8}
        ax.legend(ncols=columns, framealpha=0.7, edgecolor="none", borderpad=0.2, **look)
    ax.set_xlabel(panel.across, fontsize=7.5, color=INK)
    ax.set_ylabel(panel.unit, fontsize=7.5, color=INK)
    _dress(ax, panel.title)


def _cut_peaks(ax: Any, values: np.ndarray) -> None:
    """Leave peaks of impacts out of sight, and say how high they are, so that the rest is seen."""
    values = values[np.isfinite(values)]
    usual, peak = np.percentile(np.abs(values), USUAL), np.abs(values).max()
    if peak > 3.0 * usual > 0.0:
        cut = np.clip(values, -2.0 * usual, 2.0 * usual)
        ax.set_ylim(cut.min() - 0.1 * usual, cut.max() + 0.1 * usual)
        note = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1.0}
        words = f"peaks up to {peak:.0f}"
        ax.text(0.02, 0.02, words, transform=ax.transAxes, fontsize=6.5, color=INK, bbox=note)


def draw_sticks(ax: Any, panel: Sticks) -> None:
    """Poses from pale to dark."""
    shades = colormaps["viridis_r"](np.linspace(0.1, 0.9, len(panel.points)))
    for points, shade in zip(panel.points, shades, strict=True):
        ax.plot(*points.T, "o-", color=shade, linewidth=1.3, markersize=2.5)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xlabel("m", fontsize=7.5, color=INK)
    _dress(ax, panel.title)


def _dress(ax: Any, title: str) -> None:
    ax.set_title(title, fontsize=8, loc="left", color=INK)
    ax.tick_params(labelsize=6.5, colors=INK)
    ax.yaxis.get_offset_text().set_fontsize(6.5)
    ax.grid(True, color=GROUND, alpha=0.25, linewidth=0.5)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


if __name__ == "__main__":
    main(sys.argv[1:])
