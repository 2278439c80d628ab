"""Muscles in pictures and in what is listed of a mechanism."""

from dataclasses import replace
from io import StringIO

import numpy as np
from rich.console import Console

import kinetree as kt
from kinetree.model.suspicions import suspicions
from kinetree.report.skeleton import skeleton
from kinetree.report.terminal import mechanism_report


def test_pictures_have_the_paths_of_the_pose():
    arm, q = kt.zoo.muscle_arm(), [0.3, 1.0]
    drawn, known = skeleton(arm, q).muscles, kt.muscles.paths(arm, q)
    assert len(drawn) == 6
    for path, points in zip(drawn, known.values(), strict=True):
        assert np.array_equal(path, points)
    legend = kt.draw(arm, q).figure.axes[0].get_legend()
    assert "muscle" in [text.get_text() for text in legend.get_texts()]


def test_overviews_list_muscles():
    console = Console(width=200, file=StringIO())
    console.print(mechanism_report(kt.zoo.muscle_arm()))
    assert "biceps (world - upper - fore: 700 N)" in console.file.getvalue()


def test_doubtful_muscles_are_found():
    arm = kt.zoo.muscle_arm()
    inside = kt.model.PathPoint("upper", (0.3, 0.01, 0.0))
    buried = replace(
        arm.muscles[3],
        name="buried",
        path=(*arm.muscles[3].path, inside),
        wraps=(kt.model.PathWrap("olecranon"),),
    )
    rigid = replace(arm.muscles[0], name="rigid", path=(inside, kt.model.PathPoint("upper", (0.1, 0.0, 0.0))))
    assert [x.rule for x in suspicions(arm)] == []
    found = suspicions(replace(arm, muscles=[*arm.muscles, buried, rigid]))
    assert [(x.rule, x.name) for x in found] == [("path-inside-wrap", "buried"), ("unused-muscle", "rigid")]
    assert "point 2 of its path is inside the wrap 'olecranon'" in found[0].message
