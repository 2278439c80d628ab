"""What notebooks show: short, complete, escaped."""

import re
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.shown import Shown
from kinetree.result.build import build_result

ENDS = [kt.terms.Boundary("start", [0, 0], 0.0), kt.terms.Boundary("end", [1, 1], 0.0)]


def minimum_time():
    constraints = [*ENDS, kt.terms.TorqueLimits()]
    return kt.Problem(kt.zoo.two_link(), objective=kt.terms.Time(), constraints=constraints)


def parsed(text):
    """The HTML as XML, with void elements closed; texts that are not escaped would not parse."""
    return ElementTree.fromstring(re.sub(r"(<img [^>]*)>", r"\1/>", text))


def pictures(tree):
    return [b64decode(x.get("src").partition(",")[2]) for x in tree.iter("img")]


def test_a_mechanism_shows_its_joints_and_a_picture():
    tree = parsed(kt.zoo.kuka_kr5()._repr_html_())
    words = [cell.text for cell in tree.iter("th")]
    assert words[-6:] == list(kt.zoo.kuka_kr5().joint_names)
    [picture] = pictures(tree)
    assert picture.startswith(b"\x89PNG")
    assert len(picture) < 60_000


def test_long_tables_are_cut_and_say_so():
    text = kt.zoo.chain(40)._repr_html_()
    assert text.count("<tr>") == 25
    assert "and 16 more" in text


def test_names_are_escaped():
    builder = kt.Builder("a<b>&c")
    builder.world.revolute("<script>", axis="z").body("rod", kt.Inertia.rod(1.0, end=(0.1, 0, 0)))
    text = builder.build()._repr_html_()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_a_problem_shows_its_families_and_the_initial_guess():
    problem = minimum_time()
    tree = parsed(problem._repr_html_())
    text = " ".join(tree.itertext())
    assert all(family in text for family in problem.families)
    assert repr(problem) in text and len(pictures(tree)) == 1


@pytest.mark.parametrize("samples", [1, 5])
def test_a_result_shows_its_variables_and_a_small_picture(samples):
    arm = kt.zoo.two_link()
    time = np.linspace(0.0, 1.0, samples)
    motion = {"time": time, "q": np.outer(time + 1.0, [1.0, 2.0]), "qd": np.ones((samples, 2))}
    result = build_result("simulate", arm, motion)
    tree = parsed(result._repr_html_())
    assert {"q", "qd"} <= {cell.text for cell in tree.iter("td")}
    [picture] = pictures(tree)
    assert len(picture) < 60_000
    moved = build_result("simulate", arm, motion | {"q": motion["q"] + [[0.0, 0.5]]})
    assert pictures(parsed(moved._repr_html_())) != [picture]  # it shows this motion


def test_a_sweep_shows_its_usual_picture():
    found = kt.sweep("gripper_inverse_dynamics", {"trajectory.duration": [1.0, 2.0]}, workers=1)
    tree = parsed(found._repr_html_())
    assert len(pictures(tree)) == 1


def test_derivatives_of_closed_loops_are_drawn_also_where_they_are_undetermined():
    bars = kt.zoo.four_bar()
    q = kt.loops.assemble(bars, np.full(bars.n_dof, 0.5))
    slopes = kt.analysis.joint_reaction_derivatives(bars, q, 0.0 * q, 0.0 * q)
    assert np.isnan(slopes.slopes).any()
    assert len(pictures(parsed(slopes._repr_html_()))) == 1


def test_an_empty_batch_of_derivatives_is_shown():
    none = np.zeros((0, 6))
    slopes = kt.inverse_dynamics_derivatives(kt.zoo.kuka_kr5(), none, none, none)
    assert len(pictures(parsed(slopes._repr_html_()))) == 1


def test_a_prediction_shows_words_and_curves():
    problem = kt.Problem(
        kt.zoo.two_link(), objective=kt.terms.Time(), constraints=[*ENDS, kt.terms.TorqueLimits()]
    )
    tree = parsed(kt.predict(problem)._repr_html_())
    assert "iterations" in " ".join(tree.itertext())
    assert len(pictures(tree)) == 1


@pytest.mark.parametrize("batch", [(), (3,)])
def test_answers_print_shapes(batch):
    arm, zero = kt.zoo.kuka_kr5(), np.zeros((*batch, 6))
    slopes = kt.inverse_dynamics_derivatives(arm, zero, zero, zero)
    assert f"dtau_dq {slopes.dtau_dq.shape}" in repr(slopes)
    assert len(repr(slopes)) < 200
    tree = parsed(slopes._repr_html_())
    assert len(list(tree.iter("tr"))) == 5 and len(pictures(tree)) == 1


def test_data_that_are_no_arrays_are_left_out():
    class Answer(Shown):
        __slots__ = ("_hidden", "count", "names", "other", "share")

        def __init__(self):
            self.count, self.share, self.names = 3, 0.25, ("a", "b")
            self.other, self._hidden = {"x": 1}, np.zeros(3)

    assert repr(Answer()) == "Answer(count 3, names a b, share 0.25)"


def test_phases_show_a_row_each_and_one_picture():
    first = minimum_time()
    second = first.changed(constraints=[*_back(), kt.terms.TorqueLimits()])
    asked = kt.motion.PhasedProblem([first, second])
    tree = parsed(asked._repr_html_())
    assert len(list(tree.iter("tr"))) == 3 and repr(asked) in " ".join(tree.itertext())
    found = kt.motion.predict_phases(asked)
    tree = parsed(found._repr_html_())
    assert repr(found) in " ".join(tree.itertext()) and len(pictures(tree)) == 1


def _back():
    return [kt.terms.Boundary("start", [1, 1], 0.0), kt.terms.Boundary("end", [0, 0], 0.0)]


def test_a_timing_shows_words_and_the_phase_plane():
    path = kt.trajectories.cycloid([0.0, 0.0], [1.0, 0.5], duration=1.0)
    timing = kt.fastest_timing(kt.zoo.two_link(), path)
    tree = parsed(timing._repr_html_())
    assert f"{timing.duration:.6g}" in " ".join(tree.itertext()) and len(pictures(tree)) == 1


def test_a_prepared_simulation_says_what_it_is():
    fall = kt.simulation.Simulator(kt.zoo.two_link(), 0.1, times=3)
    assert repr(fall) == "Simulator('two_link': 0.1 s, 3 samples, method auto, law none)"


def test_single_numbers_of_an_answer_are_shown_as_numbers():
    target = kt.analysis.Target("link6", position=(0.6, 0.1, 0.4))
    found = kt.inverse_kinematics(kt.zoo.kuka_kr5(), target)
    assert f"converged {found.converged}, iterations {found.iterations})" in repr(found)
