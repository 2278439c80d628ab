"""The figures of [Shah2013], chapter 8: mechanisms with closed loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from gallery_panels import Page, Panel, largest, over_time

import kinetree as kt

FOUR_BAR = (("crank_pivot",), ("rocker_pivot", "coupler_pin"))
LEG = (*FOUR_BAR, ("hip", "short_bar_pin"), ("knee", "long_bar_pin"))
THREE_RRR = (("base1",), ("base2",), ("base3",), ("elbow1", "tip1"), ("tip2",), ("tip3",))
Groups = Sequence[Sequence[str]]


def _angles(result: kt.Result, figure: str, groups: Groups) -> list[Panel]:
    """A panel of angles for every group of joints: (a), (b), ..."""
    letters = zip("abcdef", groups, strict=False)
    return [over_time(result, f"{figure}({letter})", "q", joints) for letter, joints in letters]


def _torques(angles: str, forces: str, groups: Groups, drives: Sequence[str]) -> Callable[[kt.Result], Page]:
    """Angles of all joints, torques of the drives, forces in the plane at the cut pins."""

    def page(result: kt.Result) -> Page:
        t, cut = result.time.values, result.loop_force.values
        panels = [*_angles(result, angles, groups), over_time(result, f"{forces}: torque", "tau", drives)]
        for k, name in enumerate(str(x) for x in result.loop.values):
            lines = [(f"λ{axis}", t, cut[:, k, i]) for i, axis in enumerate("xy")]
            panels.append(Panel(f"{forces}: force at {name}", "N", lines))
        most = largest(np.linalg.norm(cut[..., :2], axis=-1))
        rows = [
            ("largest torque of a drive", f"{largest(result.tau):.3f} N m", ""),
            ("largest force at a cut pin", f"{most:.2f} N", ""),
        ]
        return Page(panels, result.q.values[40], rows)

    return page


def _torques_alone(figure: str) -> Callable[[kt.Result], Page]:
    """The crank's angle under the torques of its motion, and its distance from that motion."""

    def page(result: kt.Result) -> Page:
        t, off = result.time.values, (result.q - result.q_reference).values[:, 0]
        panels = [
            over_time(result, f"{figure}(a): crank", "q", ["crank_pivot"]),
            Panel(f"{figure}(b): error of the crank", "rad", [("", t, off)]),
        ]
        rows = [
            ("largest error of the crank", f"{largest(off):.1e} rad", "negligible"),
            ("largest loop gap", f"{largest(result.loop_error):.0e} m", ""),
        ]
        return Page(panels, result.q.values[40], rows)

    return page


def _fall(figure: str, groups: Groups) -> Callable[[kt.Result], Page]:
    """Angles of a free fall."""

    def page(result: kt.Result) -> Page:
        rows = [
            ("largest energy error", f"{largest(result.energy_error):.0e} J", ""),
            ("largest loop gap", f"{largest(result.loop_error):.0e} m", ""),
        ]
        return Page(_angles(result, figure, groups), result.q.values[0], rows)

    return page


LOOPS: dict[str, Callable[[kt.Result], Page]] = {
    "four_bar_crank": _torques("Fig. 8.4", "Fig. 8.5", FOUR_BAR, ["crank_pivot"]),
    "four_bar_forced_simulation": _torques_alone("Fig. 8.6"),
    "four_bar_free_fall": _fall("angles ", FOUR_BAR),
    "robotic_leg_crank": _torques("Fig. 8.9", "Fig. 8.10", LEG, ["crank_pivot"]),
    "robotic_leg_forced_simulation": _torques_alone("Fig. 8.11"),
    "three_rrr_circle": _torques("Fig. 8.14", "Fig. 8.15", THREE_RRR, ["base1", "base2", "base3"]),
    "three_rrr_free_fall": _fall("Fig. 8.16", THREE_RRR),
}
