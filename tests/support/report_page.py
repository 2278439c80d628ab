"""Reports as readers and browsers find them: elements, visible text, the numbers behind the curves."""

import base64
import json
import re
from functools import cache
from html import unescape
from html.parser import HTMLParser

import numpy as np

from kinetree.report.html.page import report_html

MEGABYTE = 1_000_000


@cache
def written(result):
    """The report of a result, made once."""
    return report_html(result)


class Page(HTMLParser):
    """Elements with their attributes, and the text within them."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.texts.append("")
        if tag not in ("meta", "img", "input", "path"):
            self.open.append(len(self.texts) - 1)

    def handle_endtag(self, tag):
        if self.open and self.elements[self.open[-1]][0] == tag:
            self.open.pop()

    def handle_data(self, data):
        for k in self.open[-1:]:
            self.texts[k] += data

    def of(self, tag):
        return [
            (attrs, text)
            for (kind, attrs), text in zip(self.elements, self.texts, strict=True)
            if kind == tag
        ]

    def data(self):
        return next(
            json.loads(text) for attrs, text in self.of("script") if attrs.get("id") == "kinetree-data"
        )


def unpacked(text):
    return np.frombuffer(base64.b64decode(text[2:]), {"f": "<f4", "d": "<f8"}[text[0]])


def visible(result):
    """What a reader sees of the page's text."""
    shown = re.sub(r"<(script|style).*?</\1>", "", written(result), flags=re.S)
    return unescape(re.sub(r"<[^>]+>", " ", shown)).replace("\u00a0", " ")
