"""Reports as text: complete, of one piece, and safe whatever the names are."""

import base64
import hashlib
import json
import os
import re
from dataclasses import replace
from functools import cache
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.errors import FileError, InputError
from kinetree.model.body import Shape
from kinetree.report.frames import frames
from kinetree.report.html.markup import element
from kinetree.report.html.page import report_html
from kinetree.report.html.pair import pair_result
from kinetree.report.html.panels import MotionLine, MotionPanel, report_panels, thinned
from kinetree.report.html.payload import MOST_MOTIONS, packed, payload, payload_json
from kinetree.report.panel import Line
from kinetree.result.build import build_result
from kinetree.result.records import Check
from kinetree.study.run import run

MEGABYTE = 1_000_000
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&"


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


# ---- one piece, and safe --------------------------------------------------------------------------------


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


# ---- complete -------------------------------------------------------------------------------------------


def test_the_page_holds_the_motion_of_the_result(biped_walk):
    data = Page(written(biped_walk)).data()
    motion, expected = data["motions"][0], frames(biped_walk, most=len(unpacked(data["motions"][0]["time"])))
    np.testing.assert_allclose(unpacked(motion["time"]), expected.time, rtol=1e-6, atol=1e-7)
    for key, values in (
        ("position", expected.position),
        ("quaternion", expected.quaternion),
        ("centerOfMass", expected.center_of_mass),
        ("contactForce", expected.contact_force),
        ("centerOfPressure", expected.center_of_pressure),
    ):
        np.testing.assert_allclose(unpacked(motion[key]), values.ravel(), rtol=1e-6, atol=1e-6)
    assert [len(x) // 3 for x in motion["support"]] == [len(x) for x in expected.support_polygons]
    assert data["ground"]["normal"] == [0.0, 0.0, 1.0]
    assert [body["name"] for body in data["scene"]["bodies"]] == list(biped_walk.mechanism.body_names)
    assert len(data["events"]) == len(biped_walk.events)


def test_curves_are_those_of_the_result(gripper_torques):
    panels = {(panel["symbol"], panel["unit"]): panel for panel in payload(gripper_torques)["panels"]}
    first = next(iter(panels))
    assert first == ("tau", "N m")  # what the study asks for
    for name, key in (("q", ("q", "rad")), ("tau", first)):
        for line in panels[key]["lines"]:
            expected = gripper_torques[name].sel(joint=line["label"]).values
            np.testing.assert_allclose(unpacked(line["values"]), expected, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(
                unpacked(panels[key]["times"][line["time"]]), gripper_torques.time.values, atol=1e-7
            )
    sizes = np.linalg.norm(gripper_torques.reaction.values[:, 0, :3], axis=-1)
    np.testing.assert_allclose(unpacked(panels["joint force", "N"]["lines"][0]["values"]), sizes, rtol=1e-6)


def test_reports_are_small(gripper_fall, biped_walk, fastest):
    for result in (gripper_fall, biped_walk, fastest):
        assert len(written(result).encode()) < MEGABYTE


def visible(result):
    """What a reader sees of the page's text."""
    shown = re.sub(r"<(script|style).*?</\1>", "", written(result), flags=re.S)
    return unescape(re.sub(r"<[^>]+>", " ", shown)).replace("\u00a0", " ")


def test_sentences_checks_and_origin_are_told(fastest, gripper_fall):
    text = visible(fastest)
    assert "0.3931" in text and "Solved" in text and "shortest time" in text
    for check in fastest.audit.values():
        assert check.sentence in text
    assert gripper_fall.provenance["numpy"] in visible(gripper_fall)
    assert "without any torques" in visible(gripper_fall)


def test_a_failed_check_is_red(gripper_fall):
    bad = replace(gripper_fall, audit={"energy": Check.within(2.0, 1.0, "J", "energy is conserved")})
    page = Page(written(bad))
    assert [attrs["class"] for attrs, _ in page.of("li")] == ["bad"]
    badge = next(attrs for attrs, _ in page.of("span") if attrs.get("id") == "verdict")
    assert badge["class"] == "badge bad"
    assert "1 of 1 checks failed" in visible(bad)


def test_a_partial_result_says_so(gripper_fall):
    part = replace(gripper_fall, stopped_at=0.3, stop_reason="interrupted")
    assert "It stopped at 0.3 s: interrupted." in visible(part)
    page = Page(written(part))
    assert (
        next(attrs for attrs, _ in page.of("span") if attrs.get("id") == "verdict")["class"] == "badge part"
    )


def test_prices_of_limits_are_tabled():
    ends = [kt.terms.Boundary("start", [0, -2], 0.0), kt.terms.Boundary("end", [1, -1], 0.0)]
    problem = kt.Problem(
        kt.zoo.two_link(), objective=kt.terms.Time(), constraints=[*ends, kt.terms.TorqueLimits()]
    )
    found = kt.predict(problem).to_result()
    assert found.statistics["reached"]
    text = visible(found)
    assert "Limits that are reached, and their shadow prices" in text and "torque limit" in text
    panels = {panel.symbol: panel for panel in report_panels(found, 1)}
    assert "joint_force" in panels
    assert {*panels["tau"].limits} <= {
        (joint, side * 10.0) for joint in ("joint1", "joint2") for side in (-1, 1)
    }
    assert panels["tau"].limits and not panels["q"].limits


# ---- all kinds of results -------------------------------------------------------------------------------


def test_a_comparison_shows_all_cases(tmp_path):
    study = tmp_path / "two.toml"
    study.write_text(
        """
        [study]
        task = "compare"
        duration = 0.5
        [mechanism]
        zoo = "two_link"
        [trajectory]
        kind = "cycloid"
        start_degrees = 0
        end_degrees = 60
        duration = 0.5
        [compare]
        task = "control"
        [[compare.case]]
        name = "weak"
        controller = { kind = "pd", kp = 20, kd = 10 }
        [[compare.case]]
        name = "exact"
        controller = { kind = "computed_torque", kp = 49, kd = 14 }
        """
    )
    result = run(study)
    data = Page(written(result)).data()
    assert [motion["name"] for motion in data["motions"]] == ["weak", "exact"]
    error = next(panel for panel in data["panels"] if panel["symbol"] == "q - q_reference")
    worst = {
        k: max(np.abs(unpacked(line["values"])).max() for line in error["lines"] if line["motion"] == k)
        for k in (0, 1)
    }
    assert worst[1] < 1e-6 < worst[0]


def test_a_large_batch_shows_some_and_says_so(rng):
    count = MOST_MOTIONS + 6
    falls = kt.simulate_batch(kt.zoo.gripper(), rng.normal(size=(count, 4)), duration=0.5, times=41)
    text = written(falls)
    assert len(Page(text).data()["motions"]) == MOST_MOTIONS
    assert f"the first {MOST_MOTIONS} of {count} motions" in text
    assert len(text) < 2 * MEGABYTE


def test_stability_shows_the_prescribed_motion():
    result = run(
        "puma_stability",
        study={"duration": 1.0},
        stability={"tolerances": [1e-6], "states": 2, "algorithms": ["articulated", "cholesky"]},
    )
    data = Page(written(result)).data()
    assert len(data["motions"]) == 1
    assert {"q_error", "amplification", "power"} <= {panel["symbol"] for panel in data["panels"]}
    assert "By 'articulated'" in visible(result)


def test_a_result_without_motion_has_curves_only():
    result = build_result("other", kt.zoo.two_link(), {"time": [0.0, 1.0], "kinetic_energy": [1.0, 2.0]})
    page = Page(written(result))
    assert not page.of("canvas") and page.data()["motions"] == []
    assert [panel["symbol"] for panel in page.data()["panels"]] == ["energy"]


def test_a_single_sample_and_a_sliding_joint():
    still = build_result(
        "simulate", kt.zoo.two_link_prismatic(), {"time": [0.0], "q": [[0.1, 0.2]], "qd": [[0, 0]]}
    )
    assert len(unpacked(Page(written(still)).data()["motions"][0]["time"])) == 1


def test_two_results_side_by_side():
    slow, fast = (kt.simulate(kt.zoo.two_link(), [0, 0], [v, 0], 1.0, times=n) for v, n in ((1, 11), (2, 5)))
    both = pair_result(slow, fast, ("a", "a"))
    np.testing.assert_array_equal(both.q.values[0], slow.q.values)
    np.testing.assert_allclose(both.q.values[1, :, 0], 2 * slow.time.values, atol=1e-8)
    names = [x["name"] for x in payload(both)["motions"]]
    assert names == ["a (first)", "a (second)"]
    with pytest.raises(InputError, match="same joints"):
        pair_result(slow, kt.simulate(kt.zoo.gripper(), [0] * 4, duration=0.1, times=3))


def test_meshes_are_drawn_if_their_folder_is_given(tmp_path):
    (tmp_path / "part.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    )
    plain = kt.zoo.two_link()
    first, second = plain.links
    body = replace(first.body, shapes=(Shape("mesh", [1, 1, 1], file="part.obj"),))
    arm = replace(plain, links=(replace(first, body=body), second))
    result = kt.simulate(arm, [0, 0], duration=0.1, times=3)
    bodies = payload(result, tmp_path)["scene"]["bodies"]
    assert len(bodies[0]["solids"][0]["triangles"]) == 12 and not bodies[0]["shapes"]
    assert payload(result)["scene"]["bodies"][0]["shapes"][0]["kind"] == "capsule"


# ---- numbers --------------------------------------------------------------------------------------------


def test_numbers_that_do_not_fit_four_bytes_keep_eight():
    for values in ([1e300, 1.0], [1e-200, 0.0]):
        text = packed(values)
        assert text.startswith("d:")
        np.testing.assert_array_equal(unpacked(text), values)
    assert np.isnan(unpacked(packed([np.nan, 1.0]))[0])


def test_thinning_keeps_peaks_gaps_and_ends(rng):
    time = np.linspace(0.0, 1.0, 20_001)
    values = rng.normal(size=len(time))
    values[[7777, 15_000]] = 100.0, -100.0
    values[3000:6000] = np.nan
    line = thinned(Line("x", time, values), 500)
    assert len(line.time) <= 502 and (np.diff(line.time) > 0).all()
    assert np.nanmax(line.values) == 100.0 and np.nanmin(line.values) == -100.0
    assert line.time[0] == 0.0 and line.time[-1] == 1.0
    inside = (line.time > time[3100]) & (line.time < time[5900])
    assert inside.any() and np.isnan(line.values[inside]).all()


# ---- files and the command line -------------------------------------------------------------------------


def test_a_report_is_written_completely_or_not_at_all(gripper_fall, tmp_path):
    path = tmp_path / "fall.html"
    gripper_fall.report(path)
    before = path.read_bytes()
    with pytest.raises(FileError, match="exists already"):
        gripper_fall.report(path)
    gripper_fall.report(path, force=True)
    assert path.read_bytes() == before  # the same result gives the same page
    with pytest.raises(FileError, match=r"\.html"):
        gripper_fall.report(tmp_path / "fall.pdf")
    assert os.listdir(tmp_path) == ["fall.html"]


def test_commands_write_reports(gripper_fall, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    gripper_fall.save("fall.nc")
    invoke = CliRunner().invoke
    assert invoke(app, ["report", "fall.nc", "--open"]).exit_code == 0
    assert opened == [(tmp_path / "fall.html").as_uri()]
    again = invoke(app, ["report", "fall.nc"])
    assert again.exit_code == 2 and "exists already" in again.output
    assert invoke(app, ["report", "fall.nc", "-o", "fall.html", "--force"]).exit_code == 0
    assert invoke(app, ["report", "fall.nc", "-o", "fall.txt"]).exit_code == 2
    assert invoke(app, ["compare", "fall.nc", "fall.nc", "--output", "both.html"]).exit_code == 0
    words = ["run", "gripper_free_fall", "--set", "study.duration=0.1", "--report", "run.html", "--quiet"]
    assert invoke(app, words).exit_code == 0
    assert {"fall.html", "both.html", "run.html"} <= set(os.listdir())
    assert "gripper" in (tmp_path / "run.html").read_text(encoding="utf-8")


# ---- axes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [
        (lambda t: np.sin(np.pi * t) + 1e-16, False),  # a motion from rest to rest
        (lambda t: np.exp(30 * t), True),
        (lambda t: 1.0 + t, False),
        (lambda t: np.exp(30 * t) - 1.0, False),
        (lambda t: np.full_like(t, np.nan), False),
    ],
)
def test_powers_are_drawn_only_of_what_grows_by_powers(values, logarithmic):
    t = np.linspace(0.0, 1.0, 201)
    panel = MotionPanel("", "x", "", [MotionLine(Line("x", t, values(t)), 0)])
    assert panel.logarithmic is logarithmic


def test_a_result_with_very_many_events_stays_readable(tmp_path):
    """Contact that chatters: as many lines as can be told apart, and the table says how many there were."""
    motion = {"time": [0.0, 1.0], "q": [[0, 0], [1, 2]], "qd": [[1, 2], [1, 2]]}
    events = [(k / 20_000, "touch_down", "toe") for k in range(20_000)]
    result = build_result("simulate", kt.zoo.two_link(), motion, events=events)
    told = payload(result)["events"]
    assert 400 <= len(told) <= 500 and told[0]["time"] == 0.0 and told[-1]["time"] > 0.99
    page = report_html(result)
    assert len(page) < MEGABYTE and "of 20000" in page
    lines = [x for x in result.plot("q").axes[0].get_lines() if x.get_gid() == "event"]
    assert 400 <= len(lines) <= 500
