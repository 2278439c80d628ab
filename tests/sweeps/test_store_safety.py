"""Stores of strangers and damaged stores: nothing of them runs, and no numbers are made up."""

import json
import os
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli.app import app
from kinetree.result import store_contents
from kinetree.result.zarr_store import ZarrStore
from kinetree.sweeps.executors import Here
from kinetree.sweeps.inputs import function_digest

ARM = kt.zoo.two_link()
STUDY = """
[study]
task = "inverse"
[mechanism]
zoo = "two_link"
[trajectory]
kind = "file"
file = "path.csv"
[sweep]
{function}
[sweep.measures]
peak = "peak tau"
[[sweep.axis]]
field = "mechanism.body.link1.mass"
values = [0.5, 1.0, 2.0]
"""
OWN = "import pathlib\npathlib.Path('canary').touch()\ndef cost(result):\n    return {'cost': 1.0}\n"


def grown(arm, angle, k):
    """A function whose numbers are all different."""
    if k > 4.5:
        raise ValueError("too many")
    return {"value": 10.0 * k + angle, "row": [angle, k]}


AXES = {"angle": [0.5, 1.5], "k": [1.0, 2.0, 3.0, 4.0, 5.0]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    place = tmp_path_factory.mktemp("whole") / "s.zarr"
    kt.sweep(grown, AXES, mechanism=ARM, store=place, executor=Here())
    return place


@pytest.fixture
def store(whole, tmp_path):
    place = tmp_path / "s.zarr"
    shutil.copytree(whole, place)
    return place


def resumed(place):
    return kt.sweep(grown, AXES, mechanism=ARM, store=place, executor=Here(), resume=True)


def edited(place, *names, change):
    """Change the metadata of an array, both where it is listed and its own; or those of the group."""
    root = json.loads((place / "zarr.json").read_text())
    for name in names:
        own = json.loads((place / name / "zarr.json").read_text())
        change(own)
        change(root["consolidated_metadata"]["metadata"][name])
        (place / name / "zarr.json").write_text(json.dumps(own))
    if not names:
        change(root)
    (place / "zarr.json").write_text(json.dumps(root))


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{t:g},{0.1 * t * t:g},{0.2 * t * t:g}" for t in np.linspace(0.0, 1.0, 11)]
    (tmp_path / "path.csv").write_text("\n".join(["time,joint1,joint2", *rows]))
    (tmp_path / "own.py").write_text(OWN)
    (tmp_path / "s.toml").write_text(STUDY.format(function='function = "own.py:cost"'))
    (tmp_path / "t.toml").write_text(STUDY.format(function=""))
    return tmp_path


# ---- code -----------------------------------------------------------------------------------------------


def test_a_store_cannot_allow_code(study):
    kt.sweep("s.toml", allow_code=["own.py"], store="s.zarr", executor=Here())
    (study / "canary").unlink()
    plan = study / "s.zarr" / "kinetree" / "plan.json"
    table = json.loads(plan.read_text())
    assert "code" not in table
    plan.write_text(json.dumps({**table, "code": ["own.py"]}))
    with pytest.raises(kt.errors.InputError, match=r"trajectory|Python code, which runs only if allowed"):
        table["identity"]["study"]["trajectory"] = {"kind": "function", "function": "own.py:cost"}
        plan.write_text(json.dumps({**table, "code": ["own.py"]}))
        kt.sweeps.case_result("s.zarr", 0)
    for more in ((), ("--case", "1")):
        done = CliRunner().invoke(app, ["report", "s.zarr", "--force", *more])
        assert done.exit_code == 0, done.output
    assert not (study / "canary").exists()


def test_code_runs_again_if_it_is_allowed_again(study):
    text = STUDY.format(function="").replace(
        'kind = "file"\nfile = "path.csv"', 'kind = "cycloid"\nend = 1.0'
    )
    laws = "import pathlib\npathlib.Path('canary').touch()\ndef law(t, q, qd):\n    return 0.0 * q\n"
    (study / "own.py").write_text(laws)
    text = text.replace('task = "inverse"', 'task = "simulate"\nduration = 0.1').replace("peak tau", "last q")
    text = 'torque = "own.py:law"\n' + text[: text.index("[trajectory]")] + text[text.index("[sweep]") :]
    (study / "u.toml").write_text(text)
    kt.sweep("u.toml", allow_code=["own.py"], store="u.zarr", executor=Here())
    (study / "canary").unlink()
    with pytest.raises(kt.errors.InputError, match=r"--allow-code own\.py"):
        kt.sweeps.case_result("u.zarr", 0)
    assert not (study / "canary").exists()
    assert kt.sweeps.case_result("u.zarr", 0, allow_code=["own.py"]).task == "simulate"
    done = CliRunner().invoke(app, ["report", "u.zarr", "--allow-code", "own.py"])
    assert done.exit_code == 0 and "iframe" in (study / "u.html").read_text()


def test_files_of_a_stored_study_are_those_of_the_sweep(study, tmp_path_factory):
    kt.sweep("t.toml", store="t.zarr", executor=Here())
    assert kt.sweeps.case_result("t.zarr", 0, only_inside=True).task == "inverse"
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "t.zarr"
    shutil.copytree("t.zarr", elsewhere)
    with pytest.raises(kt.errors.InputError, match="outside that of the store"):
        kt.sweeps.case_result(elsewhere, 0, only_inside=True)
    (study / "path.csv").write_text((study / "path.csv").read_text() + "\n")
    with pytest.raises(kt.errors.InputError, match=r"path\.csv: has changed since the sweep"):
        kt.sweeps.case_result("t.zarr", 0)
    plan = study / "t.zarr" / "kinetree" / "plan.json"
    table = json.loads(plan.read_text())
    table["identity"]["files"] = {}
    plan.write_text(json.dumps(table))
    with pytest.raises(kt.errors.InputError, match=r"does not record what the file path\.csv held"):
        kt.sweeps.case_result("t.zarr", 0)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("zarr_format", 2),
        ("data_type", "|O"),
        ("data_type", {"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 1}}),
        ("codecs", [{"name": "numcodecs.pickle", "configuration": {}}]),
        ("codecs", [{"name": "bytes", "configuration": {"endian": "little"}}]),
        ("codecs", [{"name": "sharding_indexed", "configuration": {}}]),
        ("chunk_key_encoding", {"name": "v2", "configuration": {"separator": "."}}),
        ("storage_transformers", [{"name": "x"}]),
        ("shape", [2, -5]),
        ("shape", [2, 5, 1]),
        ("chunk_grid", {"name": "regular", "configuration": {"chunk_shape": [1, 1]}}),
        ("dimension_names", ["angle", "other"]),
        ("fill_value", "\0\0"),
        ("attributes", {"long_name": 3}),
    ],
)
def test_metadata_that_no_sweep_writes_are_refused(store, key, value):
    edited(store, "value", change=lambda table: table.__setitem__(key, value))
    with pytest.raises(kt.errors.FileError, match="'value'"):
        kt.load_result(store)


def test_stores_of_format_2_and_pickles_are_refused(tmp_path, whole):
    """A store as zarr format 2 with a codec that unpickles; nothing of it may be opened."""
    place = tmp_path / "p.zarr"
    shutil.copytree(whole / "kinetree", place / "kinetree")
    (place / ".zgroup").write_text('{"zarr_format": 2}')
    (place / ".zattrs").write_text("{}")
    (place / "status").mkdir()
    array = {"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None, "order": "C",
             "compressor": None, "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}  # fmt: skip
    (place / "status" / ".zarray").write_text(json.dumps(array))
    (place / "status" / "0").write_bytes(b"cos\nsystem\n(S'touch canary'\ntR.")
    for read in (kt.load_result, kt.sweeps.sweep_status, resumed):
        try:
            read(place)
        except kt.KinetreeError:
            continue
    assert not os.path.exists("canary")


@pytest.mark.parametrize(
    "key", ["dims", "shape", "statuses", "sweep", "mechanism", "study", "identity", "folder"]
)
@pytest.mark.parametrize("value", [None, [], {}, 7, "\0", [["x"]]])
def test_plans_that_are_damaged_are_refused(store, key, value):
    place = store / "kinetree" / "plan.json"
    place.write_text(json.dumps({**json.loads(place.read_text()), key: value}))
    asks = [
        kt.sweeps.sweep_status, resumed, lambda x: kt.sweeps.case_result(x, 0),
        lambda x: repr(kt.load_result(x)),
        lambda x: kt.sweeps.pareto_front(kt.load_result(x), ["value", "k"]),
    ]  # fmt: skip
    for ask in asks:
        try:
            ask(store)
        except kt.KinetreeError:
            continue


# ---- size -----------------------------------------------------------------------------------------------


def test_sizes_without_chunks_are_refused(store):
    plan = store / "kinetree" / "plan.json"
    table = json.loads(plan.read_text())
    many = 300_000_000
    plan.write_text(json.dumps({**table, "shape": [2, many]}))

    def change(own):
        own["shape"] = [2, many, *own["shape"][2:]]
        size = 65536 if own["data_type"] == "int8" else 1024
        own["chunk_grid"]["configuration"]["chunk_shape"] = [1, size, *own["shape"][2:]]

    edited(store, "status", "message", "value", "row", change=change)
    edited(store, "k", change=lambda own: own.__setitem__("shape", [many]))
    with pytest.raises(kt.errors.FileError, match=r"'status' of shape \(2, 300000000\)|chunk .* missing"):
        kt.load_result(store)


def test_sizes_beyond_the_memory_are_refused(store, monkeypatch):
    monkeypatch.setattr(store_contents, "available_bytes", lambda: 100)
    with pytest.raises(kt.errors.FileError, match=r"of shape \(.*\) takes .* GB in memory"):
        kt.load_result(store)


def test_a_chunk_that_unpacks_to_more_is_refused_unread(store):
    import numcodecs

    chunk = next(path for path in (store / "value" / "c").rglob("*") if path.is_file())
    chunk.write_bytes(numcodecs.Zstd().encode(bytes(10_000_000)) + b"\0\0\0\0")
    assert store_contents.content_size(chunk) == 10_000_000
    with pytest.raises(kt.errors.FileError, match=r"chunk c/0/0 of 'value' is damaged; --resume"):
        kt.load_result(store)


@pytest.mark.parametrize("size", [1, 255, 256, 70_000, 5_000_000])
def test_sizes_in_headers_are_those_of_the_library(size, tmp_path):
    import numcodecs

    (tmp_path / "x").write_bytes(numcodecs.Zstd(level=1).encode(os.urandom(size)))
    assert store_contents.content_size(tmp_path / "x") == size


# ---- damage ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["value", "row", "message", "status", "angle", "k", "row_0"])
@pytest.mark.parametrize("how", ["removed", "flipped", "cut"])
def test_damaged_chunks_are_named_and_mended(whole, store, name, how):
    chunk = next(path for path in (store / name / "c").rglob("*") if path.is_file())
    if how == "removed":
        chunk.unlink()
    else:
        content = bytearray(chunk.read_bytes())
        content[len(content) // 2] ^= 0xFF
        chunk.write_bytes(content if how == "flipped" else content[:-5])
    with pytest.raises(kt.errors.FileError, match=rf"(?s)'{name}'.*--resume"):
        kt.load_result(store)
    assert resumed(store).dataset.identical(kt.load_result(whole).dataset)


@pytest.mark.parametrize("what", ["value/c/0/0", "value", "zarr.json", "kinetree/plan.json"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_links_and_pipes_are_refused(store, tmp_path, what, kind):
    place = store / what
    os.rename(place, tmp_path / "moved")
    if kind == "link":
        place.symlink_to(tmp_path / "moved")
    else:
        os.mkfifo(place)
    with pytest.raises(kt.errors.FileError, match=r"not a regular file|not a folder"):
        kt.load_result(store)


def test_foreign_attributes_do_no_harm(store):
    def change(own):
        own["attributes"] = {"scale_factor": 7.0, "add_offset": 1e9, "calendar": "x", "dtype": "<M8[s]"}

    edited(store, "value", "status", change=change)
    edited(store, change=lambda root: root["attributes"].update(statuses=3, note=[1, 2]))
    found = kt.load_result(store)
    assert found.value.values[0, 0] == 10.5 and "value" in repr(found)


def test_a_store_that_is_being_made_says_so(store):
    root = json.loads((store / "zarr.json").read_text())
    del root["consolidated_metadata"]
    (store / "zarr.json").write_text(json.dumps(root))
    with pytest.raises(kt.errors.FileError, match="is just being made"):
        kt.load_result(store)
    assert kt.sweeps.sweep_status(store).done == 0
    assert resumed(store).statistics == {"cases": 10, "ok": 8, "error": 2}


# ---- inputs ---------------------------------------------------------------------------------------------


def test_a_changed_file_is_not_mixed_with_earlier_results(study):
    kt.sweep("t.toml", store="t.zarr", executor=Here())
    (study / "path.csv").write_text((study / "path.csv").read_text().replace("0.1,", "0.1000001,"))
    with pytest.raises(
        kt.errors.FileError, match=r"(?s)other inputs:\nthe file path\.csv has changed\nput them"
    ):
        kt.sweep("t.toml", store="t.zarr", executor=Here(), resume=True)
    kt.sweep("s.toml", allow_code=["own.py"], store="s.zarr", executor=Here())
    (study / "own.py").write_text(OWN.replace("1.0", "9.0"))
    with pytest.raises(kt.errors.FileError, match=r"the file own\.py has changed"):
        kt.sweep("s.toml", allow_code=["own.py"], store="s.zarr", executor=Here(), resume=True)


def test_another_version_is_not_mixed_with_earlier_results(store, monkeypatch):
    monkeypatch.setattr("kinetree.sweeps.outcome.version", lambda: "0.0.9 (other)")
    with pytest.raises(kt.errors.FileError, match=r"wrote the store, this is 0\.0\.9"):
        resumed(store)


def test_the_body_of_a_function_counts(store):
    def made(factor, function=abs):
        def one(arm, angle, k, more=1.0):
            return factor * function(angle) + helper(k) + more

        return one

    def helper(k):
        return k

    first = function_digest(made(2.0))
    assert function_digest(made(2.0)) == first
    assert function_digest(made(3.0)) != first and function_digest(made(2.0, round)) != first
    helper.__code__ = (lambda k: 2 * k).__code__
    assert function_digest(made(2.0)) != first

    def other(arm, angle, k):
        return {"value": 0.0, "row": [0.0, 0.0]}

    other.__qualname__ = grown.__qualname__
    with pytest.raises(kt.errors.FileError, match="body of the function 'grown' has changed"):
        kt.sweep(other, AXES, mechanism=ARM, store=store, executor=Here(), resume=True)


# ---- replacing and repeating ----------------------------------------------------------------------------


def test_force_does_not_follow_links(store, tmp_path):
    link = tmp_path / "link.zarr"
    link.symlink_to(store)
    with pytest.raises(kt.errors.FileError, match="is a link, which --force does not follow"):
        kt.sweep(grown, AXES, mechanism=ARM, store=link, executor=Here(), force=True)
    assert ZarrStore(store).status().all() and link.is_symlink()


def test_a_repeated_case_loses_its_message(tmp_path):
    def fails_once(arm, k):
        import pathlib

        mark = pathlib.Path(path)
        if k and not mark.exists():
            mark.touch()
            raise ValueError("not yet")
        return 1.0 * k

    path = str(tmp_path / "mark")
    given = {"mechanism": ARM, "store": tmp_path / "r.zarr", "executor": Here()}
    first = kt.sweep(fails_once, {"k": [0, 1]}, **given)
    assert first.message.values.tolist() == ["", "ValueError: not yet"]
    again = kt.sweep(fails_once, {"k": [0, 1]}, **given, resume=True, retry=True)
    assert again.message.values.tolist() == ["", ""] and again.statistics == {"cases": 2, "ok": 2}


def test_messages_that_claim_gigabytes_are_not_read(store):
    """The progress of a sweep reads the messages of failed cases only if they are those of its plan."""
    assert ZarrStore(store).message(0) == ""
    for file in (store / "zarr.json", store / "message" / "zarr.json"):
        table = json.loads(file.read_text())
        own = table.get("consolidated_metadata", {}).get("metadata", {}).get("message", table)
        own["chunk_grid"] = {"name": "regular", "configuration": {"chunk_shape": [30_000, 30_000]}}
        file.write_text(json.dumps(table))
    with pytest.raises(kt.errors.FileError, match="'message' does not belong to the sweep"):
        ZarrStore(store).message(0)
