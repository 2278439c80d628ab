"""Makes the gallery: runs every shipped example, draws its figures, writes the page by goals.

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
GOALS = {
    "Human walking and lifting": (
        "Predicted motions with joint torques and ground reactions; [tutorial](tutorials/human.md).",
        (
            "walking",
            "lifting",
            "lifting_one_hand",
            "lifting_beside",
            "lifting_cycle",
            "lifting_repeated",
            "lifting_fatigue",
            "walking_speed_step",
            "walking_two_step",
        ),
    ),
    "Robots that walk, trot and jump": (
        "On compliant ground, controlled or with minimum effort; [tutorial](tutorials/walker.md).",
        (
            *(
                "quadruped_predicted_trot",
                "planar_biped_jump",
                "one_leg_hop",
                "planar_biped_walk",
                "spatial_biped_walk",
            ),
            *("quadruped_trot", "hexapod_tripod", "jansen_walk", "planar_biped_dust", "quadruped_grounds"),
            *("quadruped_fall",),
        ),
    ),
    "Optimal motions": (
        "Minimum time, effort or loads within given limits; [tutorial](tutorials/planner.md).",
        (
            *("two_link_minimum_time", "stewart_minimum_time", "five_bar_minimum_time", "two_link_lifting"),
            *("two_link_lift_and_return", "two_arms_carry", "cart_pole_swing_up", "prismatic_arm"),
            *("two_link_pareto", "two_link_spared_joint", "two_link_starts"),
        ),
    ),
    "Torques of a given motion": (
        "For the choice of motors and gearboxes; [tutorial](tutorials/arm.md).",
        (
            *(
                "kuka_inverse_dynamics",
                "kuka_pick_masses",
                "gripper_inverse_dynamics",
                "biped_single_support",
            ),
            *("quadruped_prescribed",),
        ),
    ),
    "Parallel mechanisms and linkages": (
        "Closed loops, with pin forces; [tutorial](tutorials/parallel.md).",
        (
            *("stewart_following", "three_rrr_circle", "four_bar_crank", "robotic_leg_crank"),
            *("three_rrr_free_fall", "four_bar_free_fall", "four_bar_forced_simulation"),
            *("robotic_leg_forced_simulation", "iftomm"),
        ),
    ),
    "Comparison of controllers": (
        "With an exact model and with a wrong one; [tutorial](tutorials/motors.md).",
        ("quadruped_laws", "planar_biped_laws", "spatial_biped_laws", "hexapod_laws"),
    ),
    "Accuracy of simulations": (
        "Energy, integrators and open-loop torques; [tutorial](tutorials/teaching.md).",
        (
            *("gripper_free_fall", "kuka_free_fall", "gripper_two_ways", "biped_forced_simulation"),
            *("puma_stability", "two_link_joint_free", "two_link_joint_locked"),
        ),
    ),
}
COLUMNS, DPI, COLORS = 3, 100, 96
LONG_NAME = 16  # letters of a line's name that leave no room for a second one beside it
USUAL = 97.0  # percent of the values that are no peaks
HEAD = """# Gallery

Examples by goal. Each example is a study file that comes with the package: run it with `kinetree run NAME`,
copy it with `kinetree examples copy NAME FOLDER` and change it. Broad pale lines are reference motions. Many
examples reproduce published figures, which the text below each picture cites; [figures of the
sources](figures.md) lists all of them, with the differences. `python docs/make_gallery.py` writes this page.
"""


def main(names: list[str]) -> None:
    """Write pictures and the page; the text of examples that are not made again stays."""
    wanted = set(names or [example.name for example in examples()])
    before = sections((DOCS / "gallery.md").read_text(encoding="utf-8"))
    IMAGES.mkdir(parents=True, exist_ok=True)
    parts = [HEAD]
    known = {example.name for example in examples()}
    listed = [name for _, names in GOALS.values() for name in names]
    if set(listed) != known or len(listed) != len(known):
        raise ValueError(f"GOALS must list every example once; look at {sorted(set(listed) ^ known)}")
    for title, (about, names) in GOALS.items():
        parts.append(f"## {title}\n\n{about}\n")
        for name in names:
            if name in wanted:
                result = kt.run(name)
                page = FIGURES.get(name, usual)(result)
                picture(name, page, result.mechanism)
                parts.append(section(name, page))
                print(f"made {name}")
            elif name in before:
                parts.append(before[name])
    (DOCS / "gallery.md").write_text("\n".join(parts).rstrip() + "\n", encoding="utf-8")


def sections(text: str) -> dict[str, str]:
    """The parts of the page by the names of their examples."""
    found = {}
    for part in text.split("\n### ")[1:]:
        body = part.split("\n## ")[0].rstrip()
        found[body.split("{#")[1].split("}")[0]] = f"### {body}\n"
    return found


def section(name: str, page: Page) -> str:
    """Title, picture, numbers, command, then the text with its sources."""
    tables = read_study(name).tables
    study, verb = tables.study, "run" if tables.sweep is None else "sweep"
    lines = [
        f"### {study.title} {{#{name}}}",
        "",
        f"![{study.title}](images/gallery/{name}.png)",
        "",
    ]
    if page.rows:
        sources = any(row[2] for row in page.rows)
        lines += ["| | here | source |", "|---|---|---|"] if sources else ["| | here |", "|---|---|"]
        for what, here, there in page.rows:
            lines.append(f"| {what} | {here} | {there} |" if sources else f"| {what} | {here} |")
        lines.append("")
    lines += [f"```sh\nkinetree {verb} {name}\n```", "", " ".join(str(study.description).split()), ""]
    return "\n".join(lines)


# ---- pictures --------------------------------------------------------------------------------------------


def picture(name: str, page: Page, mechanism: kt.Mechanism) -> None:
    """A picture with the mechanism first, then the panels, in few colors so that the file is small."""
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
