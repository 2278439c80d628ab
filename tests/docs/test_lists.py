"""Lists on pages that come from the code: as `python docs/make_lists.py` writes them, and complete."""

import pytest

from kinetree.declare import stored
from kinetree.lint.rules import RULES
from kinetree.study import kinds
from support.pages import DOCS, docs_script

lists = docs_script("make_lists")


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", lists.PAGES)
def test_pages_are_as_the_code_says(page):
    assert text_of(page) == lists.filled(page), "run: python docs/make_lists.py"


def test_no_other_page_waits_for_a_list():
    """A mark alone on its page would be an empty list in plain Markdown."""
    for page in DOCS.rglob("*.md"):
        text = page.read_text(encoding="utf-8")
        for name in lists.LISTS:
            assert text.count(f"<!-- {name} -->") == text.count(f"<!-- end of {name} -->"), page


def test_commands_describe_themselves():
    text = text_of("cli.md")
    assert "\n## run\n" in text and "\n### examples copy\n" in text
    assert "| `--set` | " in text and "--install-completion` |" not in text


def test_rows_of_tables_have_as_many_cells_as_their_heads():
    for page in lists.PAGES:
        cells = 0
        for line in text_of(page).splitlines():
            now = line.replace("\\|", "").count("|") if line.startswith("|") else 0
            assert not (cells and now) or now == cells, line
            cells = now


def test_every_rule_of_the_check_is_on_its_page():
    text = text_of("rules.md")
    assert all(text.count(f"| `{name}` | {rule.about} |") == 1 for name, rule in RULES.items())


def test_every_kind_of_trajectory_and_controller_is_on_its_page():
    text = text_of("study_file.md")
    for kind in (*kinds.TRAJECTORIES.values(), *kinds.CONTROLLERS.values()):
        assert f"| `{kind.name}` | {kind.text} |" in text


def test_every_term_of_a_study_is_on_its_page():
    text = text_of("study_file.md")
    for declared in (*stored("objectives"), *stored("constraints")):
        (line,) = [x for x in text.splitlines() if x.startswith(f"| `[[predict.{declared.key}]]`")]
        assert f"| `terms.{declared.name}` | {declared.text} |" in line
        assert all(f"`{x.name}`: {x.description}" in line for x in declared.parameters)
