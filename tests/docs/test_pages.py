"""Pages and files of the documentation: links, commands, pictures, the API, the gallery, the README."""

import ast
import importlib
import re

import pytest

import kinetree
from kinetree.cli import app
from kinetree.study.examples import examples
from kinetree.study.file import read_study
from support.each import each
from support.pages import DOCS, PAGES, ROOT, blocks, short

README = ROOT / "README.md"
PICTURES = sorted(path for path in (DOCS / "images").rglob("*") if path.is_file())
LARGEST_PICTURE, LARGEST_GALLERY_PICTURE, LARGEST_GALLERY = 200_000, 100_000, 3_000_000  # bytes
ROOMS = {
    "kinetree": ("Trajectory",),  # on the page of trajectories
    "kinetree.control": (),
    "kinetree.trajectories": ("PiecewisePolynomial",),  # also kinetree's own
    "kinetree.motion.terms": (),
    "kinetree.model.zoo": ("ZOO",),
}


def text_of(page):
    return page.read_text(encoding="utf-8")


def commands():
    """Every command that the application has, those of groups with two words."""
    import typer.main

    group = typer.main.get_command(app)
    context = group.make_context("kinetree", [], resilient_parsing=True)
    found = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found[name] = command
        found |= {f"{name} {inner}": x for inner, x in getattr(command, "commands", {}).items()}
    return found


# ---- the README -----------------------------------------------------------------------------------------


def test_the_example_of_the_readme_is_short():
    """About ten statements, and it prints something."""
    (code,) = (block.body for block in blocks(README) if block.language == "python")
    assert 8 <= len(ast.parse(code).body) <= 12
    assert "print(" in code


def test_the_readme_has_exactly_two_commands():
    assert [block.body.strip() for block in blocks(README) if block.language == "sh"] == [
        "pip install . && python -m kinetree demo",
        'pip install -e ".[dev,peers]" && pytest -n auto --dist worksteal',
    ]


def test_the_checks_install_and_test_as_the_readme_says():
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    command = [block.body for block in blocks(README) if block.language == "sh"][1]
    install, test = command.strip().split(" && ")
    assert install.removeprefix("pip install") in script.replace("--quiet ", "")
    assert f"stage tests {test} " in script


# ---- links, commands, pictures ----------------------------------------------------------------------------


@each("page", PAGES, ids=short)
def test_links_lead_to_files(page):
    prose = re.sub(r"^```.*?^```$", "", text_of(page), flags=re.MULTILINE | re.DOTALL)
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", prose)
    local = [target for target in targets if "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_every_command_that_is_mentioned_exists():
    known = {name.partition(" ")[0] for name in commands()}
    mentioned = set()
    for page in PAGES:
        mentioned |= set(re.findall(r"`kinetree ([a-z]+)\b", text_of(page)))
    assert mentioned and mentioned <= known


@each("page", PAGES, ids=short)
def test_commands_to_type_have_their_options(page):
    """Blocks that are not executed still name commands and options that exist."""
    known = commands()
    for block in blocks(page):
        for line in block.body.splitlines() if block.language == "sh" else ():
            words = line.partition("#")[0].split()
            if words[:1] == ["kinetree"]:
                two = " ".join(words[1:3])
                command = known[two if two in known else words[1]]
                options = {option for x in command.params for option in x.opts}
                assert {word.partition("=")[0] for word in words if word.startswith("--")} <= options


@each("picture", PICTURES, ids=short)
def test_pictures_are_small_and_shown(picture):
    place = picture.relative_to(DOCS).as_posix()
    most = LARGEST_GALLERY_PICTURE if "gallery" in place else LARGEST_PICTURE
    assert picture.stat().st_size < most
    assert any(place in text_of(page) for page in PAGES)


# ---- what the pages must hold ---------------------------------------------------------------------------


@pytest.mark.parametrize("room", ROOMS)
def test_the_api_pages_have_every_public_name(room):
    named = set(re.findall(r"^::: (\S+)$", "".join(map(text_of, (DOCS / "api").glob("*.md"))), re.MULTILINE))
    rooms = ("analysis", "errors", "model", "motion", "simulation")  # their names stand on pages of theirs
    modules = ("control", "terms", "trajectories", "zoo", *rooms)  # have pages of their own
    public = {name for name in importlib.import_module(room).__all__ if name not in (*ROOMS[room], *modules)}
    assert {f"{room}.{name}" for name in public} <= named


def test_the_api_pages_name_nothing_else():
    for page in (DOCS / "api").glob("*.md"):
        for path in re.findall(r"^::: (\S+)$", text_of(page), re.MULTILINE):
            module, _, name = path.rpartition(".")
            assert hasattr(importlib.import_module(module), name)


@pytest.mark.parametrize("page", ["architecture.md", "first_files.md", "decisions.md", "contributing.md"])
def test_files_and_folders_that_a_page_names_exist(page):
    """Paths in backticks, from the root of the repository or inside the package."""
    named = re.findall(r"`([\w.]+(?:/[\w.]*)+|[\w/]+\.pyi?)`", text_of(DOCS / page))
    places = (ROOT, ROOT / "src" / "kinetree")
    assert named
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def test_the_gallery_has_every_example_as_it_is():
    """``python docs/make_gallery.py`` after an example is new or says something else."""
    text = text_of(DOCS / "gallery.md")
    size = sum(path.stat().st_size for path in (DOCS / "images" / "gallery").glob("*"))
    assert size < LARGEST_GALLERY
    for example in examples():
        tables = read_study(example.name).tables
        description = " ".join(str(tables.study.description).split())
        part = text.partition(f"### {example.title} {{#{example.name}}}")[2].partition("\n### ")[0]
        assert description in part
        assert f"kinetree {'run' if tables.sweep is None else 'sweep'} {example.name}\n" in part
        assert f"images/gallery/{example.name}.png" in part


def test_the_changelog_is_that_of_the_project():
    assert text_of(DOCS / "changelog.md").strip() == '--8<-- "CHANGELOG.md"'


def test_every_page_is_in_the_navigation():
    """Without building: MkDocs says the same, and checks the links within the site."""
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    navigation = config.partition("\nnav:")[2]
    listed = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(listed) == sorted(pages)


def test_version_of_the_documentation():
    assert kinetree.__version__ in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
