"""The help, read as somebody reads it who never saw the program."""

import re

import pytest
from typer.testing import CliRunner

from kinetree.cli import app
from kinetree.cli.commands import COMMANDS

PAGES = [*COMMANDS, "examples list", "examples copy"]


def page(words, columns):
    result = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", PAGES)
def test_help_is_plain(name, columns):
    text = page(name, columns)
    assert not re.search(r"<\w", text), "types of the program"
    assert not re.search(r"\{[^|}]*\}", text), "braces where there is nothing to choose"
    assert "default: (" not in text and "[default: None]" not in text
    assert max(map(len, text.splitlines())) <= columns
    assert re.search(rf"Examples?: kinetree {name.split()[0]}", text)


@pytest.mark.parametrize("name", PAGES)
def test_every_option_that_wants_something_says_what(name):
    for option in re.findall(r"^  (?:-o, )?(--[a-z-]+)(?: \(.*)?$", page(name, 400), re.MULTILINE):
        raise AssertionError(f"{option} says neither what it wants nor what it is for")


def test_usage_says_what_is_needed_and_what_is_not():
    first = {name: page(name, 80).splitlines()[0] for name in PAGES}
    assert first["run"] == "Usage: kinetree run [OPTIONS] STUDY"
    assert first["check"] == "Usage: kinetree check [OPTIONS] FILE..."
    assert first["export"] == "Usage: kinetree export [OPTIONS] RESULT [FILE]"
    assert first["new"] == "Usage: kinetree new [OPTIONS] {mechanism|study} NAME"
    assert first["examples copy"] == "Usage: kinetree examples copy [OPTIONS] NAME [FOLDER]"


def test_whatever_writes_one_place_can_be_told_where_by_o():
    for name in ("run", "plot", "report", "compare", "export", "draw", "demo"):
        assert re.search(r"-o, --output (FILE|FOLDER)", page(name, 80)), name
