"""What goes into a result is checked and labeled; what it says comes out again."""

import copy
import csv
import pickle
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas
import pytest

import kinetree as kt
from kinetree.errors import FileError, InputError
from kinetree.model import zoo
from kinetree.result.build import build_result
from kinetree.result.netcdf import result_bytes
from kinetree.result.records import Check, Event
from kinetree.result.result import Result, arrays_of, changed
from kinetree.result.variables import KNOWN, Variable
from support.results import random_result, small_motion, small_result


def build(changes, mechanism=None, **more):
    mechanism = mechanism or zoo.two_link_prismatic()
    motion = small_motion(mechanism, np.random.default_rng(0)) | changes
    return build_result(
        "simulate", mechanism, {name: x for name, x in motion.items() if x is not None}, **more
    )


# ---- labels and units -----------------------------------------------------------------------------------


def test_units_follow_the_joints(rng):
    slide_first = zoo.two_link_prismatic()
    assert [link.joint.kind for link in slide_first.links] == ["prismatic", "revolute"]
    result = random_result(slide_first, rng)
    assert result.units("q") == ("m", "rad")
    assert result.units("qdd") == ("m/s^2", "rad/s^2")
    assert result.units("tau") == ("N", "N m")
    assert result.units("reaction") == ("N",) * 3 + ("N m",) * 3
    assert result.units("kinetic_energy") == "J"
    assert result.units("time") == "s"
    assert result.q.attrs["units"] == "m or rad"
    assert result["q_unit"].values.tolist() == ["m", "rad"]
    turning = random_result(zoo.puma(), rng)
    assert turning.q.attrs["units"] == "rad" and turning.tau.attrs["units"] == "N m"


def test_arrays_are_the_same_before_and_after_their_dataset_is_made(rng):
    result = random_result(zoo.quadruped(), rng)
    renamed = changed(result, settings={"by": "someone"})
    labels, variables = arrays_of(result)
    written, names, events = result_bytes(result), result.variables, result.events
    assert "dataset" not in {*vars(result), *vars(renamed)}  # nothing of this needs it
    assert [x.partition(":")[0] for x in renamed.differences(result)] == ["settings"]
    after = arrays_of(result)
    assert (result.variables, result.events, result_bytes(result)) == (names, events, written)
    for before, now in zip((labels, variables), after, strict=True):
        assert list(before) == list(now)
        for name, x in before.items():
            assert x._replace(values=None) == now[name]._replace(values=None)
            assert np.array_equal(x.values, now[name].values, equal_nan=x.values.dtype.kind == "f")


def test_labels_are_names(rng):
    result = random_result(zoo.quadruped(), rng)
    force = result.contact_force.sel(contact="foot2", axis="z")
    assert force.dims == ("time",)
    assert force.values.tobytes() == result.contact_force.values[:, 1, 2].tobytes()
    moment = result.reaction.sel(body="shank3", component="my").values
    assert moment.tobytes() == result.reaction.values[:, result.mechanism.body_index("shank3"), 4].tobytes()


def test_arrays_are_copies_that_cannot_be_changed():
    q = np.zeros((5, 2))
    result = build({"q": q})
    q[:] = 7.0
    assert (result.q.values == 0.0).all()
    with pytest.raises(ValueError, match="read-only"):
        result.q.values[0, 0] = 1.0


def test_results_of_one_mechanism_do_not_share_what_can_be_changed():
    arm = zoo.two_link_prismatic()
    first, second = build({}, arm), build({}, arm)
    with pytest.raises(ValueError, match="read-only"):
        first.q_unit.values[0] = "cm"
    first.dataset.q_unit.attrs["long_name"] = "another"
    assert second.q_unit.attrs["long_name"] != "another"
    assert second.equals(build({}, zoo.two_link_prismatic()))


def test_the_mechanism_is_the_very_object(rng):
    mechanism = zoo.gripper()
    assert small_result(mechanism, rng).mechanism is mechanism


def test_known_variables_are_well_described():
    for name, quantity in KNOWN.items():
        assert name.isidentifier() and not hasattr(Result, name)
        assert quantity.dims[0] == "time" and quantity.unit and quantity.long_name


def test_kinds_of_numbers():
    result = build(
        {
            "q": [[1, 2]] * 5,
            "count": ("time", range(5), "1", "count"),
            "length": ("time", [1, 2, 3, 4, 5], "m", "length"),
            "down": ("time", [True] * 5, "1", "whether it is down"),
            "phase": Variable(("time",), ["a", "bc", "", "d", "é"], "", "phase"),
        }
    )
    kinds = {name: result[name].dtype.kind for name in ("q", "count", "length", "down", "phase")}
    assert kinds == {"q": "f", "count": "i", "length": "f", "down": "b", "phase": "U"}


def test_large_numbers_are_numbers():
    height = np.array([1e200, -1e300, 0.0, 1e-300, 1.0])
    assert build({"height": ("time", height, "m", "height")}).height.values.tolist() == height.tolist()
    height[3] = -np.inf
    with pytest.raises(InputError, match=r"'height' must be finite, got -inf at time 0\.75 s"):
        build({"height": ("time", height, "m", "height")})


def test_missing_entries_only_where_they_may_be():
    values = np.array([1.0, np.nan, 2.0, 3.0, 4.0])
    given = ("time", values, "m", "height of the step", True)
    assert np.isnan(build({"height": given}).height.values[1])
    with pytest.raises(InputError, match=r"'height' must be finite, got nan at time 0\.25 s"):
        build({"height": given[:4]})
    with pytest.raises(InputError, match="not infinite"):
        build({"height": ("time", [np.inf] * 5, "m", "height", True)})


# ---- bad input ------------------------------------------------------------------------------------------

NAN = np.zeros((5, 2))
NAN[3, 1] = np.nan


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"time": None}, r"needs the variable 'time', got q, qd"),
        ({"qd": None}, r"a simulate result needs the variable 'qd', got time, q"),
        ({"time": [0.0, 1.0, 0.5, 2.0, 3.0]}, r"must not decrease, got 1 s and then 0\.5 s at index 2"),
        ({"time": [0.0, np.nan, 1.0, 2.0, 3.0]}, r"time must be finite, got nan at index 1"),
        ({"time": 3.0}, r"vector of at least one number, got shape \(\)"),
        ({"time": []}, r"at least one number"),
        ({"q": np.zeros((4, 2))}, r"'q' must have shape \(5, 2\) \(5 time, 2 joint\), got shape \(4, 2\)"),
        ({"q": np.zeros((5, 3))}, r"got shape \(5, 3\)"),
        ({"qd": NAN}, r"'qd' must be finite, got nan at time 0\.75 s, joint 'joint2'"),
        ({"qd": NAN + 1j}, r"'qd' must be real numbers"),
        ({"q": [["a", "b"]] * 5}, r"'q' must be numbers, got texts"),
        ({"q": [[True, False]] * 5}, r"'q' must be real numbers"),
        (
            {"kinetic_enrgy": np.zeros(5)},
            r"unknown variable 'kinetic_enrgy'.*Did you mean 'kinetic_energy'\?",
        ),
        ({"x": (("time", "elbow"), np.zeros((5, 2)), "m", "x")}, r"variable 'x': unknown dimension 'elbow'"),
        ({"contact_force": np.zeros((5, 1, 3))}, r"\(5 time, 0 contact, 3 axis\)"),
        ({"save": np.zeros(5)}, r"cannot be called 'save'"),
        ({"mechanism": np.zeros(5)}, r"cannot be called 'mechanism'"),
        ({"event_time": np.zeros(5)}, r"cannot be called 'event_time'"),
        ({"joint": ("time", np.zeros(5), "m", "x")}, r"'joint' has the name of a coordinate"),
        ({"kinetic energy": np.zeros(5)}, r"must be a word .* got 'kinetic energy'"),
        ({3: np.zeros(5)}, r"must be a word .* got 3"),
        ({"x": ("time", np.zeros(5), 3, "x")}, r"unit of 'x' must be a text, got 3"),
        ({"x": ("time", ["a\0b"] * 5, "", "x")}, r"an entry of 'x' must be Unicode text without zero char"),
    ],
)
def test_bad_arrays_are_named(changes, said):
    with pytest.raises(InputError, match=said):
        build(changes)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"settings": {"f": print}}, r"settings\.f must be a number, text, list or table"),
        ({"settings": {"a": {"b": [1, 2j]}}}, r"settings\.a\.b\[1\].*2j"),
        ({"settings": {1: 2}}, r"settings: keys must be texts, got 1"),
        ({"settings": {"a": "half \ud800"}}, r"settings\.a must be Unicode"),
        ({"statistics": {"a": object()}}, r"statistics\.a must be"),
        ({"audit": {"energy": 3.0}}, r"check 'energy' of the audit must be a Check, got 3\.0"),
        ({"events": [(0.1, "touch")]}, r"event 0 must be \(time, kind, name\), got \(0\.1, 'touch'\)"),
        ({"events": [(0.1, "a", "b"), (np.nan, "a", "b")]}, r"time of event 1 must be finite"),
        ({"events": [(0.1, 3, "b")]}, r"kind of event 0 must be a text, got 3"),
        ({"messages": [3]}, r"message 0 must be a text"),
        ({"stopped_at": 1.0}, r"needs stopped_at and stop_reason, got 1\.0 and None"),
        ({"stop_reason": "diverged"}, r"got None and 'diverged'"),
        ({"coordinates": {"run": ("lap", [1, 2], "1", "run")}}, r"coordinate 'run' must have one dimension"),
        ({"coordinates": {"side": ("joint", ["l"], "", "side")}}, r"'side' must have shape \(2,\)"),
        ({"coordinates": {"joint": ("joint", ["l"], "", "joint")}}, r"coordinate 'joint' is there already"),
    ],
)
def test_bad_records_are_named(more, said):
    with pytest.raises(InputError, match=said):
        build({}, **more)


def test_bad_mechanism():
    with pytest.raises(InputError, match="must be a Mechanism, got 'arm'"):
        build_result("simulate", "arm", {})


def test_settings_that_contain_themselves():
    settings = {}
    settings["self"] = settings
    with pytest.raises(InputError, match="nested more than"):
        build({}, settings=settings)


def test_own_coordinates_and_batches():
    """A leading axis of runs, with a label beside it."""
    runs = {"run": ("run", ["a", "b", "c"], "", "run"), "mass": ("run", [1.0, 2.0, 3.0], "kg", "load")}
    swept = (("run", "time", "joint"), np.arange(30.0).reshape(3, 5, 2), "{q_unit}", "position of every run")
    result = build({"swept": swept}, coordinates=runs)
    assert result.swept.sel(run="b", joint="joint2").values.tolist() == [11, 13, 15, 17, 19]
    assert result.swept.mass.values.tolist() == [1.0, 2.0, 3.0]
    table = result.to_pandas()
    assert table["swept.b.joint2"].tolist() == [11, 13, 15, 17, 19]
    assert table.attrs["units"]["swept.c.joint1"] == "m"


# ---- access ---------------------------------------------------------------------------------------------


def test_attribute_and_item_access(rng):
    result = random_result(zoo.gripper(), rng)
    assert result.q is not None and result["tau"].dims == ("time", "joint")
    assert result.time.values.tobytes() == result["time"].values.tobytes()
    assert {"q", "time", "save", "mechanism", "kinetic_energy"} <= set(dir(result))
    assert "q" in result and "torque" not in result
    assert "q" in result._ipython_key_completions_()
    with pytest.raises(
        InputError, match=r"unknown variable of the simulate result 'taw'.*Did you mean 'tau'"
    ):
        result["taw"]
    with pytest.raises(AttributeError, match=r"'kinetic_enery'.*Did you mean 'kinetic_energy'"):
        _ = result.kinetic_enery
    assert not hasattr(result, "contact_force")


def test_copies(rng):
    result = random_result(zoo.quadruped(), rng)
    assert copy.deepcopy(result).equals(result)
    assert pickle.loads(pickle.dumps(result)).equals(result)


def test_threads_that_ask_while_labels_are_made_get_the_same_dataset(rng):
    both, given = Barrier(2, timeout=10.0), random_result(zoo.two_link(), rng).dataset

    def make():
        both.wait()
        return given.copy()

    result = Result(make, zoo.two_link(), "simulate")
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: result.dataset, range(2))
    assert first is second is result.dataset and first.equals(given)


def test_labels_that_cannot_be_made_are_tried_another_time(rng):
    given, answers = random_result(zoo.two_link(), rng).dataset, [None]
    result = Result(
        lambda: given if not answers else 1 / len([answers.pop()][1:]), zoo.two_link(), "simulate"
    )
    with pytest.raises(ZeroDivisionError):
        _ = result.dataset
    assert result.dataset is given


def test_events_audit_and_provenance(rng):
    result = random_result(zoo.gripper(), rng)
    assert result.events == (Event(0.01, "touchdown", "foot"), Event(0.02, "lift-off", "Fuß 大"))
    assert result.events[1].name == "Fuß 大"
    assert not result.audit["drift"].passed and not result.passed
    assert result.settings["max_step"] == "inf" and result.settings["gains"] == [0.0, 1.0, 2.0]
    assert result.provenance["kinetree"] == kt.__version__
    assert result.provenance["numpy"] == np.__version__
    assert result.provenance["date"].endswith("+00:00")
    assert small_result(zoo.gripper(), rng, seconds=2.5).provenance["seconds"] == 2.5


@pytest.mark.parametrize(("value", "passed"), [(1e-7, True), (-1e-7, True), (-2e-6, False), (np.nan, False)])
def test_a_check_compares_sizes(value, passed):
    check = Check.within(value, 1e-6, "J")
    assert check.passed is passed
    assert ("passed" in str(check)) is passed and " J" in str(check)


def test_words(rng):
    result = random_result(zoo.quadruped(), rng, stopped_at=0.1, stop_reason="interrupted <by> hand")
    text, html = repr(result), result._repr_html_()
    for part in ("simulate 'quadruped', 18 degrees of freedom, 7 samples", "contact_force", "m or rad",
                 "warning: slow", "1 touchdown, 1 lift-off", "method = RK45", "FAILED: nan m"):  # fmt: skip
        assert part in text
    assert "stopped at 0.1 s: interrupted <by> hand" in text
    assert "interrupted &lt;by&gt; hand" in html and "<by>" not in html
    assert "<td>contact_force</td>" in html and html.count("<table>") == 2
    assert max(len(line) for line in text.splitlines()) < 250


# ---- tables ---------------------------------------------------------------------------------------------


def test_pandas_has_a_column_for_every_number(rng):
    result = random_result(zoo.quadruped(), rng)
    table = result.to_pandas()
    over_time = [name for name in result.variables if "time" in result[name].dims]
    assert table.shape == (7, sum(result[name].size // 7 for name in over_time))
    assert table.index.name == "time"
    assert table.index.to_numpy().tobytes() == result.time.values.tobytes()
    assert table["q.hip2.ry"].to_numpy().tobytes() == result.q.sel(joint="hip2.ry").values.tobytes()
    column = table["contact_force.foot3.z"].to_numpy()
    assert column.tobytes() == result.contact_force.sel(contact="foot3", axis="z").values.tobytes()
    units = table.attrs["units"]
    assert set(units) == {"time", *table.columns}
    assert (units["q.base.tx"], units["qd.base.rx"], units["reaction.trunk.mz"]) == ("m", "rad/s", "N m")


def test_csv_reads_back_bit_for_bit(tmp_path, rng):
    result = random_result(zoo.quadruped(), rng)
    result.to_csv(tmp_path / "run.csv")
    with open(tmp_path / "run.csv", encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    table = result.to_pandas()
    assert head[0] == "time [s]" and len(head) == 1 + table.shape[1]
    assert np.array([row[0] for row in rows], float).tobytes() == table.index.to_numpy().tobytes()
    for k, (name, column) in enumerate(table.items(), start=1):
        assert head[k].startswith(name)
        texts = [row[k] for row in rows]
        if column.dtype.kind == "f":
            read = np.array([float(text or "nan") for text in texts])
            assert read.tobytes() == column.to_numpy().tobytes(), name
        else:
            assert texts == [str(x) for x in column]


def test_pandas_reads_csv_directly(tmp_path, rng):
    result = small_result(zoo.quadruped(), rng)
    result.to_csv(tmp_path / "run.csv")
    is_exact = tuple(map(int, pandas.__version__.split(".")[:2])) >= (3, 1)  # by itself
    how = {} if is_exact else {"float_precision": "round_trip"}
    found, table = pandas.read_csv(tmp_path / "run.csv", index_col=0, **how), result.to_pandas()
    assert found.index.name == "time [s]"
    assert found.columns[0] == "q.base.tx [m]" and found.columns[-1] == "qd.knee4 [rad/s]"
    np.testing.assert_allclose(found.to_numpy(), table.to_numpy(), rtol=1e-15)


def test_csv_is_not_replaced_unasked(tmp_path, rng):
    result = small_result(zoo.two_link(), rng)
    result.to_csv(tmp_path / "run.csv")
    with pytest.raises(FileError, match=r"run\.csv: already exists"):
        result.to_csv(tmp_path / "run.csv")
    result.to_csv(tmp_path / "run.csv", force=True)
    with pytest.raises(FileError, match=r"run\.txt: .*\.csv"):
        result.to_csv(tmp_path / "run.txt")
    assert (
        (tmp_path / "run.csv")
        .read_bytes()
        .startswith(b"time [s],q.joint1 [rad],q.joint2 [rad],qd.joint1 [rad/s]")
    )
