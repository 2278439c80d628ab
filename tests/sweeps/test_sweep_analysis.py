"""What cases say together, against closed forms; pictures, page and command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli.app import app
from kinetree.report.html.sweep_page import chosen_case, sweep_html
from kinetree.report.sweep_plot import PLOTS, plot_sweep, usual_kind
from kinetree.result.zarr_store import ZarrStore
from kinetree.sweeps import executors
from kinetree.sweeps.case import STATUSES
from kinetree.sweeps.executors import Here
from kinetree.sweeps.story import story

ARM = kt.zoo.two_link()
UNIT = {"uniform": [0.0, 1.0]}


def swept(function, axes, **more):
    return kt.sweep(function, axes, mechanism=ARM, executor=Here(), **more)


@pytest.fixture(scope="module")
def sampled():
    both = {"x": UNIT, "y": UNIT}
    return swept(
        lambda arm, x, y: {"cost": x + y, "big": float(x > 0.3)}, both, samples=256, kind="monte_carlo"
    )


def test_quantiles_and_convergence_of_a_triangular_distribution(sampled):
    """The sum of two uniform numbers has the quantiles sqrt(2 q) and 2 - sqrt(2 (1 - q)), variance 1/6."""
    found = kt.sweeps.quantiles(sampled, "cost", [0.05, 0.5, 0.95]).values
    assert found == pytest.approx([np.sqrt(0.1), 1.0, 2.0 - np.sqrt(0.1)], abs=0.03)
    settled = kt.sweeps.convergence(sampled, "cost")
    assert settled.mean[-1] == pytest.approx(1.0, abs=0.01)
    assert settled.error[-1] == pytest.approx(np.sqrt(1 / 6 / 255), rel=0.1)
    assert settled.relative_error == pytest.approx(settled.error[-1] / settled.mean[-1])


def test_sobol_indices_of_the_ishigami_function():
    """f = sin a + 7 sin^2 b + 0.1 c^4 sin a (Ishigami and Homma 1990), whose indices are known."""
    turn = {"uniform": [-np.pi, np.pi]}
    found = swept(
        lambda arm, a, b, c: np.sin(a) + 7 * np.sin(b) ** 2 + 0.1 * c**4 * np.sin(a),
        {"a": turn, "b": turn, "c": turn},
        kind="sensitivity",
        samples=1024,
    )
    indices = kt.sweeps.sensitivity(found)
    assert indices.axes == ("a", "b", "c") and indices.left_out == 0
    assert indices.first == pytest.approx([0.3139, 0.4424, 0.0], abs=0.05)
    assert indices.total == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.05)
    assert (indices.first_range[:, 0] <= indices.first).all() and (
        indices.first <= indices.first_range[:, 1]
    ).all()
    assert usual_kind(found) == "sensitivity" and plot_sweep(found).axes


def test_distinct_optima_are_counted():
    """Newton's method for the minima of (x^2 - 1)^2 + x / 4 finds the two of them, left deeper."""

    def search(arm, start):
        x = start
        for _ in range(60):
            x -= (4 * x * (x * x - 1) + 0.25) / max(12 * x * x - 4, 4.0)
        return {"f": (x * x - 1) ** 2 + x / 4, "x": x}

    found = swept(
        search, {"start": {"range": [-2.0, 2.0], "count": 16}}, kind="multi_start", objectives=["f"]
    )
    best, other = kt.sweeps.optima(found)
    assert best.objective < other.objective and best.count + other.count == 16 and best.count >= 8
    assert found.x.values[best.best] < 0 < found.x.values[other.best]
    assert chosen_case(found) == best.best and plot_sweep(found).axes


def test_a_front_has_what_nothing_beats():
    found = swept(
        lambda arm, w, z: {"a": w + z, "b": (1 - w) ** 2 + z},
        {"w": {"range": [0.0, 1.0], "count": 5}, "z": [0.0, 0.3]},
        kind="pareto",
        objectives=["a", "b"],
    )
    assert kt.sweeps.pareto_front(found) == [0, 2, 4, 6, 8]  # those with z = 0
    assert plot_sweep(found).axes and plot_sweep(found, "b", kind="heat_map").axes
    with pytest.raises(kt.errors.InputError, match="at least two"):
        kt.sweeps.pareto_front(found, ["a"])


@pytest.mark.parametrize("kind", ["distribution", "parallel", "scatter"])
def test_pictures_of_samples(sampled, kind):
    assert plot_sweep(sampled, kind=kind).axes


def test_words_about_samples(sampled):
    _, facts, lines = story(sampled)
    assert facts["status"] == "256 ok" and any("mean of" in line for line in lines)
    with pytest.raises(kt.errors.InputError, match=r"unknown picture of a sweep 'scater'.*'scatter'"):
        sampled.plot(kind="scater")
    with pytest.raises(kt.errors.InputError, match="need a sweep of the kind 'sensitivity'"):
        kt.sweeps.sensitivity(sampled, "cost")
    assert set(PLOTS) >= {"heat_map", "bands", "curves", "pareto"}


# ---- the command ----------------------------------------------------------------------------------------

STUDY = """
[study]
task = "inverse"
title = "Torques"
[mechanism]
zoo = "two_link"
[trajectory]
kind = "cycloid"
start = 0.0
end = 1.0
duration = 1.0
[output]
samples = 5
[sweep]
keep = ["tau"]
kind = "monte_carlo"
samples = 8
[sweep.measures]
peak = "peak tau"
high = "max tau joint1 > 1.0"
[[sweep.axis]]
field = "mechanism.body.*"
each = true
relative = true
uniform = [0.9, 1.1]
"""


@pytest.fixture
def command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(executors, "LocalPool", lambda workers: Here())
    (tmp_path / "torques.toml").write_text(STUDY)

    def run(*arguments):
        return CliRunner().invoke(app, ["sweep", *arguments])

    return run


def test_the_command_runs_draws_and_goes_on(command, tmp_path):
    done = command("torques.toml", "--plot", "t.png", "--report", "t.html")
    assert done.exit_code == 0, done.output
    assert "8 ok" in done.output and "peak joint1" in done.output
    page = (tmp_path / "t.html").read_text()
    assert "iframe" in page and page.count("data:image/png") >= 3 and "Torques" in page
    assert 'src="http' not in page
    found = kt.load_result("torques.zarr")
    assert found.tau.dims == ("sample", "instant", "joint") and usual_kind(found) == "bands"
    exact = kt.sweeps.case_result("torques.zarr", 5)
    assert np.array_equal(exact.tau.values, found.tau.values[5])
    assert command("torques.toml").exit_code == 2
    assert command("torques.toml", "--resume").exit_code == 0
    told = command("--status", "torques.zarr", "--json")
    assert json.loads(told.output)["done"] == 8
    again = command("torques.toml", "--resume", "--set", "sweep.seed=3")
    assert again.exit_code == 2 and "another sweep" in again.output
    assert CliRunner().invoke(app, ["plot", "torques.zarr", "--kind", "scatter"]).exit_code == 0
    assert "frame-src" in sweep_html("torques.zarr", 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a study"),
        (("torques.toml", "--set", "sweep.samples=2000000000"), "2,000,000,000 cases"),
        (("torques.toml", "--output", "x.nc"), "suffix .zarr"),
        (("torques.toml", "--scheduler", "tcp://127.0.0.1:9"), "cannot be reached"),
        (("torques.toml", "--case-timeout", "-1"), "case_timeout"),
        (("torques.toml", "--set", "sweep.axis=[]"), "nothing varies"),
        (("--status", "none.zarr"), "no such sweep store"),
        (("gripper_free_fall",), "has no table [sweep]"),
    ],
)
def test_mistakes_exit_with_2_and_a_sentence(command, monkeypatch, arguments, message):
    monkeypatch.setattr(executors, "UNREACHABLE", 1)
    done = command(*arguments)
    assert done.exit_code == 2 and message in " ".join(done.output.split()), done.output
    assert "Traceback" not in done.output


def test_a_sweep_on_paper(command):
    done = command("torques.toml", "--dry-run", "--set", "sweep.samples=5000", "--json")
    facts = json.loads(done.output)
    assert facts["cases"] == 5000 and "sample 5000" in facts["axes"]


def test_a_sweep_in_which_nothing_succeeds(command):
    done = command("torques.toml", "--set", "trajectory.kind=gait")
    assert done.exit_code == 2
    done = command(
        "two_link_minimum_time", "--set", 'sweep.axis=[{field="predict.max_iterations", values=[1]}]'
    )
    assert done.exit_code == 3 and "no case passed" in done.output


FALLS = """
[study]
task = "simulate"
duration = 0.1
[mechanism]
zoo = "gripper"
[sweep]
function = "own.py:height"
[[sweep.axis]]
field = "study.duration"
values = [0.1, -1.0, 0.2]
"""
OWN = """
def height(result):
    if float(result.time[-1]) > 0.15:
        raise ValueError("too long for me")
    return {"height": 1.0}
"""


def test_failed_cases_are_reported_in_words(command, tmp_path):
    (tmp_path / "falls.toml").write_text(FALLS.replace('function = "own.py:height"\n', "lanes = false\n"))
    done = command("falls.toml", "--workers", "1")
    assert done.exit_code == 0 and done.exception is None, done.output
    assert "2 ok, 1 error" in done.output and "failed once: " in done.output
    page = CliRunner().invoke(app, ["report", "falls.zarr"])
    assert page.exit_code == 0 and "failed once" in (tmp_path / "falls.html").read_text()


def test_infeasible_and_fallen_cases_are_reported_in_words(tmp_path):
    """The most frequent messages, of every status that is a failure, from texts as a store has them."""

    def one(arm, k):
        return 1.0 * k

    one.__qualname__ = "one"
    axes, store = {"k": list(range(6))}, ZarrStore(tmp_path / "f.zarr")
    kt.sweep(one, axes, mechanism=kt.zoo.two_link(), store=store.path, executor=Here())
    numbers = [STATUSES.index(x) for x in ("ok", "infeasible", "fell", "fell", "diverged", "error")]
    texts = ["", "no motion", "it fell", "it fell", "too fast", "no such joint"]
    store.write("status", (slice(0, 6),), np.array(numbers, dtype=np.int8))
    store.write("message", (slice(0, 6),), np.array(texts))
    lines = story(kt.load_result(store.path))[2]
    assert lines[-3:] == ["failed 2 times: it fell", "failed once: no motion", "failed once: no such joint"]


def test_measures_in_python_are_refused_before_the_run_and_blamed_by_line(command, tmp_path):
    (tmp_path / "falls.toml").write_text(FALLS)
    (tmp_path / "own.py").write_text(OWN)
    done = command("falls.toml", "--workers", "1")
    assert done.exit_code == 2 and "--allow-code own.py" in " ".join(done.output.split()), done.output
    assert not (tmp_path / "falls.zarr").exists()
    done = command("falls.toml", "--workers", "1", "--allow-code", "own.py")
    assert done.exit_code == 0, done.output
    found = kt.load_result("falls.zarr")
    assert found.height.values[0] == 1.0 and "study.duration" in str(found.message.values[1])
    assert str(found.message.values[2]).endswith("own.py, line 4: ValueError: too long for me")


TOGETHER = """[study]
task = "inverse"
duration = 0.5
[mechanism]
zoo = "two_link_prismatic"
[trajectory]
kind = "cycloid"
start = [0, 0]
end = [0.2, 1]
[sweep]
[sweep.measures]
all = "peak tau"
one = "peak tau joint2"
[[sweep.axis]]
field = ["mechanism.body.link1.mass", "mechanism.body.link2.mass"]
values = [[1.0, 1.0], [2.0, 1.5], [3.0, 2.0]]
"""


def test_curves_of_fields_that_vary_together_have_names_and_units(tmp_path):
    (tmp_path / "sizes.toml").write_text(TOGETHER)
    result = kt.sweep(tmp_path / "sizes.toml", executor=Here())
    units = {name: result[name].attrs["units"] for name in ("all", "one")}
    assert units == {"all": "N or N m", "one": "N m"}
    figure = plot_sweep(result, "all", "one", kind="curves")
    assert "together with link2_mass" in figure.axes[-1].get_xlabel()
    assert [x.get_text() for x in figure.axes[0].get_legend().get_texts()] == ["joint1", "joint2"]
    assert figure.axes[1].get_legend() is None
