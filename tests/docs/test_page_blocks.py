"""All code of the documentation runs and prints what the pages show."""

import warnings

import pytest

from kinetree.formats.toml_file import mechanism_from_toml
from kinetree.study.file import read_study
from support.each import each
from support.pages import NUMBER, PAGES, absent, alike, blocks, difference, run_page, runnable, short

RUNNABLE = [page for page in PAGES if runnable(page)]
TOML = [
    pytest.param(block.body, id=f"{short(page)}:{block.line}")
    for page in PAGES
    for block in blocks(page)
    if block.language == "toml"
]
KNOWN = {"c", "console", "output", "python", "sh", "text", "toml", "xml"}


@pytest.mark.parametrize("page", RUNNABLE, ids=short)
def test_blocks_run_and_print_what_is_shown(page, tmp_path):
    if missing := absent(page):
        pytest.skip(f"not installed: {', '.join(missing)}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told = run_page(page, tmp_path)
    wrong = [
        f"{short(page)}:{block.line}\n{difference(block.body, printed)}"
        for block, printed in told
        if printed is not None and difference(block.body, printed)
    ]
    assert not wrong, "\n".join(wrong)


@each("page", RUNNABLE, ids=short)
def test_what_is_printed_is_shown(page):
    """A Python block that prints is followed by its output."""
    found = blocks(page)
    for block, after in zip(found, [*found[1:], None], strict=True):
        if block.language == "python" and not block.title and "print(" in block.body:
            assert after is not None and after.language == "output", f"{short(page)}:{block.line}"


@pytest.mark.parametrize("text", TOML)
def test_toml_blocks_are_mechanisms_or_studies(text, tmp_path):
    if "[study]" in text:
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        assert read_study(path).task
    else:
        assert mechanism_from_toml(text).n_dof > 0


@each("page", PAGES, ids=short)
def test_blocks_have_a_language(page):
    assert {block.language for block in blocks(page)} <= KNOWN
    assert page.read_text(encoding="utf-8").count("\n```\n\n```\n") == 0


def test_outputs_are_compared_with_care():
    """Numbers in their last place, dots for anything, blanks for blanks; everything else exactly."""
    assert not difference("joint 2 holds 120.2 N m\n", "joint 2  holds 120.3 N m")
    assert not difference("a ... b\nc 1e-05", "a long story b c 2e-05")
    assert difference("holds 120.2", "holds 120.4")
    assert difference("3 steps", "4 steps")
    assert difference("True", "False")
    assert alike("1.0e-3", "0.0011") and not alike("1.0e-3", "0.0013")
    assert NUMBER.findall("joint2 -1.5 2e-3 v3.1") == ["-1.5", "2e-3"]
