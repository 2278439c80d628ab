"""The words of pages, docstrings, comments and messages: the glossary is kept, the spelling is right."""

import io
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "contributing.md"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]
SOURCES = [*sorted(ROOT.glob("src/**/*.py")), *sorted(ROOT.glob("benchmarks/**/*.py"))]
KNOWN = "mot,datas,tung,fpr,te,bu,reacher,thi,sart"  # of OpenSim, Pinocchio, ReDySim; names, a task, a muscle


def refused_words():
    """The right column of the table under the heading Words."""
    text = GLOSSARY.read_text(encoding="utf-8").partition("## Words")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", text, re.MULTILINE)
    return [word.strip() for _, right in rows[1:] for word in right.split(",")]


def prose(path):
    """Lines that a person reads, with their numbers: of pages all, of code its comments and strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    kinds = {tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield from enumerate(token.string.splitlines(), token.start[0])


def found_in(path, words):
    pattern = re.compile(rf"\b({'|'.join(map(re.escape, words))})\b", re.IGNORECASE)
    return [f"{path.name}:{line}: {text.strip()[:80]}" for line, text in prose(path) if pattern.search(text)]


def test_the_glossary_has_words_on_both_sides():
    assert {"told", "anew", "whole number", "nobody", "tells", "sliding joint"} <= set(refused_words())


@pytest.mark.parametrize("files", [PAGES, SOURCES], ids=["pages", "sources"])
def test_words_of_the_glossary_are_kept(files):
    every = refused_words()
    assert [line for path in files if path != GLOSSARY for line in found_in(path, every)] == []


def test_docstrings_stand_alone():
    """A docstring that begins with "The same as" says nothing where it is read by itself."""
    begins = re.compile(r'"""The same as ')
    assert [path.name for path in SOURCES if begins.search(path.read_text(encoding="utf-8"))] == []


def test_a_refused_word_is_found(tmp_path):
    page, code = tmp_path / "page.md", tmp_path / "code.py"
    page.write_text("It begins\nanew.", encoding="utf-8")
    code.write_text("anew = 1  # names are free\nraise ValueError('a whole number')", encoding="utf-8")
    assert found_in(page, ["anew"]) == ["page.md:2: anew."]
    assert found_in(code, ["anew", "whole number"]) == ["code.py:2: 'a whole number'"]


def test_spelling():
    folders = ["README.md", "CHANGELOG.md", "docs", "src", "benchmarks", "fuzz"]
    command = [sys.executable, "-m", "codespell_lib", "-q", "3", "-L", KNOWN]
    command += ["--skip", "*.json,*.csv,*.nc,*.svg,*.png,*.gif,*.js,*.bib", *folders]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == ""
    assert run.returncode == 0, run.stderr
