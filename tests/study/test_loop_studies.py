"""Studies of mechanisms with closed loops: what a file may say, and what is wrong with it."""

import pytest

import kinetree as kt
from kinetree.study.run import run

FIVE_BAR = {"zoo": "five_bar"}
ARMS = {"left_arm_joint": 0.0, "right_arm_joint": 0.0}
END = {"left_arm_joint": -0.2, "right_arm_joint": -0.1}
PREDICT = {"objective": "squared_torque", "start": {"q": ARMS}, "end": {"q": END}, "segments": 4}
FOLLOW = {"kind": "follow", "along": ["x", "y"], "body": "left_rod", "point": [0.4, 0, 0], "duration": 1.0}


def plain(value):
    """A value as TOML says it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f'"{key}" = {plain(x)}' for key, x in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(plain, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def write(folder, task, **tables):
    """A study file."""
    path, lines = folder / "study.toml", []
    for name, table in {"study": {"task": task}, "mechanism": FIVE_BAR, **tables}.items():
        lines += [f"[{name}]", *(f"{key} = {plain(value)}" for key, value in table.items())]
    path.write_text("\n".join(lines))
    return path


def test_a_prediction_names_its_independent_joints(tmp_path):
    asked = {**PREDICT, "independent": ["left_arm_joint", "left_rod_joint"], "duration": [0.4, 0.5]}
    result = run(write(tmp_path, "predict", predict=asked))
    assert result.passed and result.settings["independent"] == ["left_arm_joint", "left_rod_joint"]


def test_a_tip_goes_from_point_to_point(tmp_path):
    motion = {**FOLLOW, "points": [[0.15, 0.6], [0.2, 0.55]]}
    result = run(write(tmp_path, "inverse", trajectory=motion))
    assert result.passed
    R, p = kt.forward_kinematics(kt.zoo.five_bar(), result.q.values[-1])["left_rod"]
    assert (R @ [0.4, 0, 0] + p)[:2] == pytest.approx([0.2, 0.55], abs=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"independent": ["left_arm_joint", "elbow"]}, "unknown joint 'elbow'"),
        ({"independent": ["left_arm_joint"]}, "mobility 2, but 1 independent"),
        ({"guess": {"elbow": 1.0}}, "guess: unknown joint 'elbow'"),
        ({"end": {"q": {**END, "left_rod_joint": 1.0}}}, "leaves the loops open by"),
        ({"frozen": {"left_rod_joint": 0.0}}, "are not supported with closed loops"),
    ],
)
def test_what_is_wrong_with_a_prediction_is_named(tmp_path, changes, message):
    with pytest.raises(kt.errors.InputError, match=message) as caught:
        run(write(tmp_path, "predict", predict={**PREDICT, **changes}))
    assert "study.toml, line" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "needs a path: either center and radius of a circle, or points"),
        ({"center": [0.15, 0.5]}, "needs a path: either center and radius"),
        ({"points": [[0.15, 0.5]] * 3}, "3 points needs the key 'times'"),
        ({"points": [[0.1], [0.2]]}, "must name the 1 coordinates"),
        ({"points": [[0.15, 0.6], [0.2, 0.9]]}, "the path leaves what mechanism 'five_bar' can reach"),
        ({"points": [[0.15, 0.6], [0.2, 0.5]], "end": 0.0}, "has no key 'end'"),
    ],
)
def test_what_is_wrong_with_a_path_is_named(tmp_path, changes, message):
    with pytest.raises(kt.errors.InputError, match=message) as caught:
        run(write(tmp_path, "inverse", trajectory={**FOLLOW, **changes}))
    assert "study.toml, line" in str(caught.value)
