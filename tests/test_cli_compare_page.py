"""Comparing two results on a page, and completion of what they hold."""

from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.cli.names import complete_joint, complete_variable


@pytest.fixture
def two(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, speed in (("slow", 1.0), ("fast", 2.0)):
        kt.simulate(kt.zoo.two_link(), [0, 0], [speed, 0], 0.2, times=5).save(f"{name}.nc")
    return tmp_path


def test_a_page_shows_both_results_and_is_not_replaced(two):
    words = ["compare", "slow.nc", "fast.nc", "--report", "both.html"]
    first = CliRunner().invoke(app, words)
    assert first.exit_code == 0 and "Wrote both.html" in first.output
    text = (two / "both.html").read_text()
    assert '"name":"slow"' in text and '"name":"fast"' in text
    assert CliRunner().invoke(app, words).exit_code != 0
    assert CliRunner().invoke(app, [*words[:-1], "both.png", "--force"]).exit_code != 0


def test_completion_knows_variables_and_joints(two):
    context = SimpleNamespace(params={"result": "slow.nc"})
    assert complete_variable(context, "q") == ["q", "qd", "qdd"]
    assert complete_joint(context, "") == list(kt.zoo.two_link().joint_names)
    for path in ("none.nc", None, str(two)):
        assert complete_variable(SimpleNamespace(params={"first": path}), "") == []
