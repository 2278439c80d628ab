"""Reports are complete: motion, curves, sentences, checks; written whole or not at all."""

import os
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.errors import FileError
from kinetree.report.frames import frames
from kinetree.report.html.panels import report_panels
from kinetree.report.html.payload import payload
from kinetree.result.records import Check
from support.report_page import MEGABYTE, Page, unpacked, visible, written


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


def test_sentences_checks_and_origin_are_told(fastest, gripper_fall):
    text = visible(fastest)
    assert "0.3931" in text and "Solved" in text and "fastest motion" in text
    for check in fastest.audit.values():
        assert check.sentence in text
    assert gripper_fall.provenance["numpy"] in visible(gripper_fall)
    assert "without torques" in visible(gripper_fall)


def test_forces_of_a_free_root_are_not_the_largest_of_the_joints(biped_walk):
    """A tree rooted at its supporting foot has the ground's force there: no joint exerts it."""
    dataset = biped_walk.dataset.copy(deep=True)
    dataset["tau"][5, 2] = 1e4  # base.tz
    text = visible(replace(biped_walk, dataset=dataset))
    largest = float(np.abs(biped_walk.tau.values[:, 6:]).max())
    assert f"largest joint torque or force is {largest:.3g} N m" in text


@pytest.mark.parametrize(("seconds", "text"), [(0.123, "0.12 s"), (9.9, "9.9 s"), (100.4, "100 s")])
def test_the_computing_time_has_no_exponent(gripper_fall, seconds, text):
    shown = visible(replace(gripper_fall, provenance={**gripper_fall.provenance, "seconds": seconds}))
    assert f"computed in {text}" in " ".join(shown.split())


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
    assert "Active limits and their shadow prices" in text and "torque limit" in text
    panels = {panel.symbol: panel for panel in report_panels(found, 1)}
    assert "joint_force" in panels
    assert {*panels["tau"].limits} <= {
        (joint, side * 10.0) for joint in ("joint1", "joint2") for side in (-1, 1)
    }
    assert panels["tau"].limits and not panels["q"].limits


def test_a_report_is_written_completely_or_not_at_all(gripper_fall, tmp_path):
    path = tmp_path / "fall.html"
    gripper_fall.report(path)
    before = path.read_bytes()
    with pytest.raises(FileError, match="already exists"):
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
    assert again.exit_code == 2 and "already exists" in again.output
    assert invoke(app, ["report", "fall.nc", "-o", "fall.html", "--force"]).exit_code == 0
    assert invoke(app, ["report", "fall.nc", "-o", "fall.txt"]).exit_code == 2
    assert invoke(app, ["compare", "fall.nc", "fall.nc", "--output", "both.html"]).exit_code == 0
    words = ["run", "gripper_free_fall", "--set", "study.duration=0.1", "--report", "run.html", "--quiet"]
    assert invoke(app, words).exit_code == 0
    assert {"fall.html", "both.html", "run.html"} <= set(os.listdir())
    assert "gripper" in (tmp_path / "run.html").read_text(encoding="utf-8")
