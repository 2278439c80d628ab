"""The line on the terminal while something takes long."""

from types import SimpleNamespace

import pytest

import kinetree as kt
from kinetree.progress import ProgressLine, shown_line


def stderr(is_terminal):
    return SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: is_terminal))


@pytest.fixture
def terminal(monkeypatch):
    """Standard error as if it were a terminal, and no patience."""
    monkeypatch.setattr("kinetree.progress.PATIENCE", 0.0)
    monkeypatch.setattr("kinetree.progress.sys", stderr(True))
    monkeypatch.setenv("FORCE_COLOR", "1")


def told(line):
    return line.show


def test_a_function_of_ones_own_is_called_instead(terminal):
    seen = []
    with shown_line(seen.append, told) as tell:
        tell("begun")
    assert seen == ["begun"]


def test_nothing_is_shown_without_a_terminal_or_where_it_is_not_wanted(terminal, monkeypatch):
    with shown_line(False, told) as tell:
        assert tell is None
    monkeypatch.setattr("kinetree.progress.sys", stderr(False))
    with shown_line(None, told) as tell:
        assert tell is None


def test_text_and_part_are_shown_and_names_are_no_markup(terminal, capsys):
    with shown_line(None, told) as tell:
        tell("joint [red]1[/red]", 0.25)
    shown = capsys.readouterr().err
    assert "joint [red]1[/red]" in shown and "25%" in shown


def test_the_line_waits_until_it_takes_long(monkeypatch, capsys):
    monkeypatch.setattr("kinetree.progress.PATIENCE", 60.0)
    line = ProgressLine()
    line.show("soon over")
    line.close()
    assert capsys.readouterr().err == ""


def test_a_simulation_shows_its_time_and_its_speed(terminal, capsys):
    kt.simulate(kt.zoo.gripper(), [0.1] * 4, duration=0.2)
    shown = capsys.readouterr().err
    assert "x real time" in shown and "%" in shown
