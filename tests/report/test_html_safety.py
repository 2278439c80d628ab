"""Reports are of one piece, and safe whatever the names are."""

import base64
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.report.html.markup import element
from kinetree.report.html.payload import payload_json
from kinetree.result.build import build_result
from kinetree.result.records import Check
from support.report_page import Page, written

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


@pytest.fixture(scope="module")
def evil():
    plain = kt.zoo.two_link()
    first, second = plain.links
    links = (
        replace(first, joint=replace(first.joint, name=f"{EVIL}1"), body=replace(first.body, name=EVIL)),
        replace(second, joint=replace(second.joint, name=f"{EVIL}2"), parent=EVIL),
    )
    q = np.array([[0.0, 0.1], [0.3, 0.2]])
    motion = {"time": [0.0, 1.0], "q": q, "qd": q, "mood": (("time", "mark"), q, EVIL, EVIL)}
    return build_result(
        "simulate",
        kt.Mechanism(EVIL, links),
        motion | {"touch": (("time",), [1.0, 2.0], EVIL, EVIL)},
        coordinates={"mark": (("mark",), [EVIL, "c"], "", EVIL)},
        settings={"study": {"title": EVIL, "file": {"study": {"description": EVIL}}}, EVIL: [EVIL]},
        audit={EVIL: Check.within(1.0, 2.0, EVIL, EVIL)},
        events=[(0.5, EVIL, EVIL)],
        statistics={EVIL: EVIL, "reached": [{"family": EVIL, "label": EVIL, "price": 1.0}]},
        messages=[EVIL],
        stopped_at=0.7,
        stop_reason=EVIL,
    )  # fmt: skip


def test_no_name_becomes_code(evil):
    text = written(evil)
    page = Page(text)
    assert len(page.of("script")) == 2
    assert "<script>alert" not in text and "onerror=alert(2)>" not in text.replace("&gt;", "")
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
    assert page.of("h1")[0][1] == EVIL
    assert {line["label"] for panel in page.data()["panels"] for line in panel["lines"]} >= {f"{EVIL}1"}
    assert page.data()["events"][0]["name"] == EVIL


def test_the_policy_allows_just_the_script_and_the_style_of_the_page(gripper_fall):
    page = Page(written(gripper_fall))
    policy = next(attrs["content"] for attrs, _ in page.of("meta") if "http-equiv" in attrs)
    assert "default-src 'none'" in policy and "unsafe" not in policy
    script = next(text for attrs, text in page.of("script") if "id" not in attrs)
    for rule, text in (("script-src", script), ("style-src", page.of("style")[0][1])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{rule} 'sha256-{digest}'" in policy
    assert not [attrs for _, attrs in page.elements if "style" in attrs]


def test_nothing_is_asked_from_elsewhere(gripper_fall, evil):
    for result in (gripper_fall, evil):
        page = Page(written(result))
        assert not {"link", "iframe", "object", "embed", "base", "form"} & {tag for tag, _ in page.elements}
        addresses = [attrs[key] for _, attrs in page.elements for key in ("src", "href") if key in attrs]
        assert all(address.startswith("data:image/png;base64,") for address in addresses)
        style = page.of("style")[0][1]
        assert "url(" not in style and "@import" not in style


def test_json_cannot_end_its_element():
    text = payload_json({"name": "</script><!--\u2028&"})
    assert not {"<", ">", "&", "\u2028"} & {*text}
    assert json.loads(text) == {"name": "</script><!--\u2028&"}


def test_elements_escape_what_they_are_given():
    assert element("p", "<b>", title='"x"') == '<p title="&quot;x&quot;">&lt;b&gt;</p>'
    assert element("input", checked=True, id=None) == "<input checked>"
