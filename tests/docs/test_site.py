"""The site: built strictly, from nothing but what is installed, and it asks nobody for anything."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from support.pages import ROOT


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; no proxy and no name server is asked, because every address is refused."""
    folder = tmp_path_factory.mktemp("site")
    guard = tmp_path_factory.mktemp("guard")
    (guard / "sitecustomize.py").write_text(
        "import socket\n"
        "def refuse(self, address, *more):\n"
        "    raise OSError(f'the documentation is built without network, but {address} was asked')\n"
        "socket.socket.connect = socket.socket.connect_ex = refuse\n"
    )
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    surroundings = os.environ | {"PYTHONPATH": str(guard), "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=surroundings, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


class Page(HTMLParser):
    """Addresses of a page: what it fetches, where it links to, which places it has; and its text."""

    def __init__(self, path):
        super().__init__()
        self.fetched, self.links, self.places, self.words = [], [], set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        self.places |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag in ("script", "img", "iframe", "source", "video") and values.get("src"):
            self.fetched.append(values["src"])
        elif tag == "link" and values.get("href"):
            self.fetched.append(values["href"])
        elif tag == "a" and values.get("href"):
            self.links.append(values["href"])

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path) for path in site.rglob("*.html")}


def test_nothing_is_fetched_from_elsewhere(site, pages):
    elsewhere = {x for page in pages.values() for x in page.fetched if urlsplit(x).netloc}
    assert elsewhere == set()
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8"))


def test_links_within_the_site_lead_somewhere(site, pages):
    lost = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue
        for address in (*page.links, *page.fetched):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                lost.append((path.relative_to(site).as_posix(), address))
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                lost.append((path.relative_to(site).as_posix(), address))
    assert lost == []


def test_formulas_are_mathml_and_none_is_left(pages):
    formulas = 0
    for path, page in pages.items():
        text = path.read_text(encoding="utf-8")
        formulas += text.count("<math")
        assert "kinetreeformula" not in text
        assert "$$" not in "".join(page.words), path.name
    assert formulas > 100


def test_the_page_of_the_command_line_has_every_command(site):
    from typer.main import get_command

    from kinetree.cli import app

    group = get_command(app)
    context = group.make_context("kinetree", [], resilient_parsing=True)
    text = (site / "cli.html").read_text(encoding="utf-8")
    for name in group.list_commands(context):
        assert f'id="{name}"' in text
    assert "--allow-code" in text


def test_docstrings_are_drawn_as_text_and_code(site):
    """Examples of docstrings are blocks of code, not nested quotations; roles are gone."""
    for path in (site / "api").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert "<blockquote>" not in text
        assert not re.search(r":(class|func|meth|mod):", text)


@pytest.mark.browser
def test_the_search_works_from_a_folder(site, tmp_path):
    """Pages opened by a double click, without any network."""
    from support.browser import errors, go_offline, open_browser

    driver = open_browser(tmp_path)
    try:
        go_offline(driver)
        driver.get((site / "how_to" / "models.html").as_uri())
        driver.execute_script("document.querySelector('[data-md-toggle=search]').click()")
        driver.implicitly_wait(15)
        driver.find_element("css selector", ".md-search__input").send_keys("gripper")
        found = driver.find_element("css selector", ".md-search-result__item a")
        assert found.get_attribute("href").startswith(site.as_uri())
        assert errors(driver) == []
    finally:
        driver.quit()
