"""Reports of all kinds of results."""

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.model.body import Shape
from kinetree.report.html.page import report_html
from kinetree.report.html.pair import pair_result
from kinetree.report.html.payload import MOST_MOTIONS, payload
from kinetree.result.build import build_result
from kinetree.study.run import run
from support.report_page import MEGABYTE, Page, unpacked, visible, written


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
        [verdicts]
        effort = false
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
    error = next(panel for panel in data["panels"] if panel["symbol"] == "q_error")
    worst = {
        k: max(np.abs(unpacked(line["values"])).max() for line in error["lines"] if line["motion"] == k)
        for k in (0, 1)
    }
    assert worst[1] < 1e-6 < worst[0]


def test_a_large_batch_shows_some_and_says_so(rng):
    count = MOST_MOTIONS + 6
    falls = kt.simulation.simulate_batch(
        kt.zoo.gripper(), rng.normal(size=(count, 4)), duration=0.5, times=41
    )
    text = written(falls)
    assert len(Page(text).data()["motions"]) == MOST_MOTIONS
    assert f"the first {MOST_MOTIONS} of {count} motions" in text
    assert len(text) < 2 * MEGABYTE


def test_stability_shows_the_motion_of_every_algorithm_and_the_prescribed_one():
    result = run(
        "puma_stability",
        study={"duration": 1.0},
        stability={"tolerances": [1e-6], "states": 2, "algorithms": ["articulated", "cholesky"]},
    )
    data = Page(written(result)).data()
    assert [motion["name"] for motion in data["motions"]] == ["articulated", "cholesky"]
    lines = next(panel for panel in data["panels"] if panel["symbol"] == "q")["lines"]
    assert sum(line["asked"] for line in lines) == 2 * result.mechanism.n_dof
    assert {"q_error", "amplification", "simulated_power"} <= {panel["symbol"] for panel in data["panels"]}
    assert "With 'articulated', the first joint departs" in visible(result)


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
    kind, _, triangles = bodies[0]["solids"][0]["triangles"].partition(":")
    assert kind == "2" and len(b64decode(triangles)) == 2 * 12 and not bodies[0]["shapes"]
    assert payload(result)["scene"]["bodies"][0]["shapes"][0]["kind"] == "capsule"


def test_a_result_with_very_many_events_stays_readable():
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
