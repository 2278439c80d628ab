"""Pages of the documentation: their blocks are run one after the other, and what they print is compared.

A page is one story: its Python blocks share their names, its files (blocks with a ``title``) lie in one
folder, where its commands (``$ kinetree ...`` in console blocks) run, too. The block ``output`` after a
Python block is what it prints. ``...`` stands for any text; numbers may differ by one and a half in their
last place.

Write what the blocks of pages print into them: ``python tests/support/pages.py docs/start.md ...``
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(?P<language>[a-z]+)(?P<options>[^\n]*)\n(?P<body>.*?)^```$", re.M | re.S)
TITLE = re.compile(r'title="([^"]+)"')
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?!\w)")
WIDTH = 100  # columns of the terminal
LAST_PLACE = 1.5
FRAMEWORKS = ("torch", "jax")


def docs_script(name):
    """A Python file of the docs folder as a module."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Block(NamedTuple):
    """A block of a page: its language, its title, its text, its line, and where its text lies in the page."""

    language: str
    title: str
    body: str
    line: int
    span: tuple[int, int]


def short(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page):
    """All blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        title = TITLE.search(match["options"])
        line = text.count("\n", 0, match.start()) + 1
        found.append(
            Block(match["language"], title[1] if title else "", match["body"], line, match.span("body"))
        )
    return found


def runnable(page):
    return any(block.language in ("python", "console") for block in blocks(page))


def absent(page):
    """Frameworks that a page imports and that are not installed here: they are not needed for tests."""
    code = "\n".join(block.body for block in blocks(page) if block.language == "python")
    imported = re.findall(r"^import (\w+)", code, re.M)
    return [name for name in FRAMEWORKS if name in imported and importlib.util.find_spec(name) is None]


# ---- running --------------------------------------------------------------------------------------------


def run_page(page, folder):
    """Run a page in a folder; every block that prints, with what it printed."""
    names, printed, told = {"__name__": "__main__"}, "", []
    with _surroundings(folder):
        for block in blocks(page):
            if block.title and block.language != "console":
                path = folder / block.title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(block.body, encoding="utf-8")
            elif block.language == "python":
                printed = _run_python(block, names, page)
                told.append((block, None))
            elif block.language == "output":
                told.append((block, printed))
            elif block.language == "console":
                told.append((block, _run_console(block)))
    return told


@contextlib.contextmanager
def _surroundings(folder):
    before, place = dict(os.environ), Path.cwd()
    os.environ.update(COLUMNS=str(WIDTH), NO_COLOR="1", TERM="dumb")
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(place)
        os.environ.clear()
        os.environ.update(before)


def _run_python(block, names, page):
    code = compile("\n" * block.line + block.body, short(page), "exec")
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, names)
    return out.getvalue()


def _run_console(block):
    """The block as it should be: its commands, each with what it prints."""
    lines = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            lines += [line, *run_command(line[2:]).splitlines()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def run_command(line):
    """What a command of Kinetree prints, errors included; a code other than 0 is printed, too."""
    from kinetree.cli import app

    words = shlex.split(line, comments=True)
    assert words[0] == "kinetree", f"only commands of Kinetree are run, got {line}"
    out, code = io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            app(words[1:], prog_name="kinetree")
        except SystemExit as end:
            code = end.code or 0
    return out.getvalue() + (f"exit code {code}\n" if code else "")


# ---- comparing ------------------------------------------------------------------------------------------


def difference(wanted, printed):
    """What is not the same in two texts, in words; nothing if they agree."""
    numbers = []

    def pattern(part):
        pieces, end = [], 0
        for match in NUMBER.finditer(part):
            pieces += [re.escape(part[end : match.start()]), f"({NUMBER.pattern})"]
            numbers.append(match[0])
            end = match.end()
        return "".join(pieces) + re.escape(part[end:])

    parts = " ".join(wanted.split()).split("...")
    found = re.fullmatch(".*?".join(pattern(part) for part in parts), " ".join(printed.split()), re.S)
    if found is None:
        return f"wanted:\n{wanted}\nprinted:\n{printed}"
    apart = [(a, b) for a, b in zip(numbers, found.groups(), strict=True) if not alike(a, b)]
    return "\n".join(f"wanted {a}, printed {b}" for a, b in apart)


def alike(wanted, printed):
    """Whether two numbers agree within one and a half of the last place that is written."""
    mantissa, _, exponent = wanted.lower().partition("e")
    places = len(mantissa.partition(".")[2])
    unit = 10.0 ** (int(exponent or 0) - places) if places or exponent else 0.0
    return abs(float(wanted) - float(printed)) <= LAST_PLACE * unit + 1e-15


# ---- writing --------------------------------------------------------------------------------------------


def write_outputs(page):
    """Put into a page what its blocks print, but where dots are wanted there; say what could not be kept.

    Pictures that its blocks save, and that the page shows, replace those of the page.
    """
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        told = run_page(page, Path(folder))
        for shown in re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", text):
            made = Path(folder) / Path(shown).name
            if made.exists():
                small_picture(made, page.parent / shown)
    for block, printed in reversed(told):
        if printed is None or not difference(block.body, printed):
            continue
        if "..." in block.body:
            print(f"{short(page)}:{block.line}: is different, and has dots:\n{printed}")
            continue
        lines = "\n".join(line.rstrip() for line in printed.splitlines())
        text = text[: block.span[0]] + lines + "\n" + text[block.span[1] :]
    page.write_text(text, encoding="utf-8")


def small_picture(made, place):
    """A picture in few colors."""
    from PIL import Image

    with Image.open(made) as image:
        image.convert("RGB").quantize(96, dither=Image.Dither.NONE).save(place, optimize=True)


if __name__ == "__main__":
    for given in sys.argv[1:]:
        write_outputs(Path(given).resolve())
