"""The documentation: its code runs, its files are mechanisms, its links and commands are true."""

import ast
import re
from pathlib import Path

import pytest

from kinetree.cli import app
from kinetree.model.toml_file import mechanism_from_toml

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
LARGEST_PICTURE = 200_000  # bytes


def blocks(page, language):
    """Code blocks of a page in one language, each with its place for messages."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [
        pytest.param(match[1], id=f"{page.name}:{text.count(chr(10), 0, match.start()) + 1}")
        for match in found
    ]


def all_blocks(language):
    return [block for page in PAGES for block in blocks(page, language)]


@pytest.mark.parametrize("code", all_blocks("python"))
def test_python_blocks_run(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "block", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", all_blocks("toml"))
def test_toml_blocks_are_mechanisms(text):
    assert mechanism_from_toml(text).n_dof > 0


def test_the_example_of_the_readme_is_short():
    """About ten statements, and it prints something."""
    (code,) = (block.values[0] for block in blocks(README, "python"))
    statements = ast.parse(code).body
    assert 8 <= len(statements) <= 12
    assert "print(" in code


def test_the_readme_has_exactly_two_commands():
    commands = [block.values[0].strip() for block in blocks(README, "sh")]
    assert commands == [
        "pip install . && python -m kinetree demo",
        'pip install -e ".[dev,peers]" && pytest',
    ]


def test_the_checks_install_and_test_as_the_readme_says():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    install, test = blocks(README, "sh")[1].values[0].strip().split(" && ")
    assert install.removeprefix("pip install") in script.replace("--quiet ", "")
    assert script.strip().splitlines()[-1].startswith(test)


def test_every_command_that_is_mentioned_exists():
    known = {command.name or command.callback.__name__ for command in app.registered_commands}
    mentioned = set()
    for page in PAGES:
        mentioned |= set(re.findall(r"`kinetree ([a-z]+)\b", page.read_text(encoding="utf-8")))
    assert mentioned and mentioned <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").glob("*")), ids=lambda path: path.name)
def test_pictures_are_small_and_shown(picture):
    assert picture.stat().st_size < LARGEST_PICTURE
    assert any(f"images/{picture.name}" in page.read_text(encoding="utf-8") for page in PAGES)
