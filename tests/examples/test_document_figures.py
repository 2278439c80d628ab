"""The shipped studies tell what the documents' figures and tables tell, in numbers."""

import re

import numpy as np
import pytest

from kinetree.study.examples import example_names
from kinetree.study.file import read_study
from kinetree.study.run import run
from support.pages import DOCS

FIGURES = {  # every figure with curves of a numerical example; closed loops and humans come later
    "[Barman2020]": [f"4.{k}" for k in range(2, 8)],
    "[Xiang2009]": [str(k) for k in range(7, 15)],
    "[Mohan2007]": [str(k) for k in range(4, 10)],
    "[Shah2013]": [
        *(f"6.{k}" for k in (2, 3, 4, 6, 7, 8, 10, 11, 12, 13, 14)),
        *(f"7.{k}" for k in (*range(2, 9), *range(10, 16), *range(17, 23), *range(24, 30))),
        *(f"9.{k}" for k in range(3, 13)),
        *(f"C.{k}" for k in range(1, 5)),
    ],
}
ATTITUDE = {  # deg in the first step (s), [Shah2013], sections 7.2 to 7.4: ours must round to the book's
    "planar_biped_walk": (1.0, 3.0, 0.3),
    "spatial_biped_walk": (0.5, 2.0, 0.3),
    "quadruped_trot": (1.0, 2.0, 0.3),
    "hexapod_tripod": (0.5, 0.3, 0.05),
}


def told_figures(document):
    """The numbers of a document's figures that the texts of the examples name."""
    found = set()
    for name in example_names():
        text = " ".join(read_study(name).tables.study.description.split())
        for part in re.split(r"(?=\[[A-Z]\w+\])", text):
            if not part.startswith(document) and not (document not in text and part == text):
                continue
            for group in re.findall(
                r"Figs?\. ((?:[0-9C][0-9.]*\d|\d)(?:(?:, | and | to )[0-9C][0-9.]*)*)", part
            ):
                numbers = [x.strip(". ") for x in re.split(r", | and | to ", group)]
                found |= set(numbers)
                for low, high in re.findall(r"([0-9C.]+) to ([0-9C.]+)", group):
                    found |= between(low, high.strip("."))
    return found


def between(low, high):
    """The figures from one to another: "4.2", "4.4" is 4.2, 4.3, 4.4."""
    head, first = low.rpartition(".")[::2]
    last = high.rpartition(".")[2]
    return {f"{head}.{k}" if head else str(k) for k in range(int(first), int(last) + 1)}


@pytest.mark.parametrize("document", FIGURES)
def test_every_figure_of_the_documents_has_an_example(document):
    missing = set(FIGURES[document]) - told_figures(document)
    assert not missing, f"no example names {document}, figures {sorted(missing)}"


def test_the_page_of_figures_names_them_all_and_only_examples_that_exist():
    text = (DOCS / "figures.md").read_text(encoding="utf-8")
    assert set(re.findall(r"gallery\.md#(\w+)", text)) <= set(example_names())
    for document, wanted in FIGURES.items():
        told = set()
        for cell in re.findall(rf"^\| {re.escape(document)}, ([^|]+) \|", text, flags=re.MULTILINE):
            told |= set(re.split(r", | and ", cell))
            told |= {x for low, high in re.findall(r"(\S+) to (\S+)", cell) for x in between(low, high)}
        assert set(wanted) <= told, sorted(set(wanted) - told)


@pytest.mark.parametrize("name", ATTITUDE)
def test_the_attitude_in_the_first_step_is_the_books(name):
    step, wanted, apart = ATTITUDE[name]
    result = run(name, study={"duration": step}, output={"samples": 501})
    attitude = result.q.sel(joint=["base.ry", "base.rx", "base.rz"]).values
    turned = np.degrees(np.abs(attitude - attitude[0]).max())
    assert turned == pytest.approx(wanted, abs=apart)


def test_the_force_at_touch_down_falls_to_the_books_within_a_sample():
    """[Shah2013], section 7.2.1: 100 N, in curves with a sample every 10 ms (Table 10.11)."""
    result = run("planar_biped_walk", study={"duration": 1.0}, output={"samples": 1001})
    up = result.contact_force.sel(contact=["heel2", "toe2"], axis="y").sum("contact").values
    touch = next(x.time for x in result.events if x.kind == "touch_down" and x.name == "toe2")
    t = result.time.values
    assert touch == pytest.approx(0.85, abs=0.01)
    assert up[(t > touch) & (t < touch + 0.002)].max() > 600.0
    assert 60.0 < up[np.searchsorted(t, touch + 0.015)] < 110.0


def test_a_step_under_torques_alone_is_lost_as_in_the_book():
    """[Shah2013], Figs. 6.13, 6.14: after 0.1 s, and the energy is off by up to 0.0058 J."""
    result = run("biped_forced_simulation")
    held, exact = np.abs(result.q.values - result.q_reference.values).max(axis=2)
    time = result.time.values
    assert 0.08 < time[np.argmax(held > 0.01)] < 0.15 and held[-1] > 1.0
    assert exact.max() < 2e-3
    assert np.abs(result.energy_error.values).max() < 0.0058


@pytest.mark.parametrize(
    ("name", "follows"),
    [("planar_biped", 0.36), ("spatial_biped", 0.19), ("quadruped", 0.39), ("hexapod", 0.31)],
)
def test_control_keeps_what_torques_alone_lose(name, follows):
    """[Shah2013], chapter 9, beside Figs. 7.7, 7.14, 7.21 and 7.28."""
    samples = 101 if name in ("planar_biped", "quadruped") else 201
    result = run(f"{name}_laws", study={"duration": 1.0}, output={"samples": samples})
    off = np.abs(result.q.values - result.q_reference.values)[..., 6:].max(axis=2)
    computed, forward, alone = off
    assert computed.max() < 1e-6 and forward.max() < 0.02
    assert np.nanmax(alone) > 0.2
    assert result.time.values[np.argmax(alone > 0.01)] == pytest.approx(follows, abs=0.03)


def test_two_integrators_fall_alike():
    """[Shah2013], Fig. 6.4: a straight line."""
    result = run("gripper_two_ways")
    by_error, in_equal_steps = result.q.values
    assert 0.0 < np.abs(by_error - in_equal_steps).max() < 1e-7 < np.ptp(by_error)


def test_the_inertias_of_the_slides():
    """[NCTU], slide 10: the table for theta2 = 0, 90, 180, 270 degrees."""
    locked, free = run("two_link_joint_locked"), run("two_link_joint_free")
    assert locked.tau.values[:, 0] == pytest.approx(np.array([[5, 2], [3, 1], [1, 0], [3, 1]]), abs=1e-12)
    assert 1.0 / free.qdd.values[:, 0, 0] == pytest.approx(np.array([1.0, 2.0, 1.0, 2.0]))


def test_the_stability_study_has_what_was_simulated():
    """[Mohan2007], Figs. 5, 7 and 8: angles, accelerations and power beside the prescribed ones."""
    result = run("puma_stability", stability={"tolerances": [1e-6], "states": 2})
    early = result.time.values < 5.0
    assert np.allclose(
        result.q.values, result.q_reference.values + result.q_error.values, equal_nan=True, atol=1e-12
    )
    assert np.abs(result.qdd.values - result.qdd_reference.values)[:, early].max() < 1e-3
    power = result.simulated_power.values
    assert np.abs(power - result.power.values)[:, early].max() < 1e-4
    assert np.isnan(power[:, -1]).all() and result.simulated_power.attrs["units"] == "W"


def test_the_search_remembers_its_iterations():
    """[Xiang2009], Fig. 10: the travel time from iteration to iteration, down to the shortest."""
    result = run("two_link_minimum_time")
    history = result.objective_history
    assert history.dims == ("iteration",) and len(history) >= result.statistics["iterations"]
    assert history.values[-1] == pytest.approx(result.statistics["objective"], rel=1e-6)
    assert history.values[0] > 2.0 * history.values[-1]
    assert result.violation_history.values[-1] < 1e-4
