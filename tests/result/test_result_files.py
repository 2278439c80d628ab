"""Results as files: read back equal, written whole or not at all, and refused if anything is wrong."""

import os
from dataclasses import replace

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray

import kinetree as kt
from kinetree.errors import FileError
from kinetree.model import files, zoo
from kinetree.result import netcdf
from kinetree.result.build import build_result
from kinetree.result.netcdf import load_result
from kinetree.result.records import Check
from support.results import random_result, small_motion, small_result
from support.trees import mimic_tree, random_tree, welded_tree


def reread(result, folder):
    path = folder / "run.nc"
    result.save(path)
    return load_result(path)


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def content():
    return netcdf.result_bytes(random_result(zoo.quadruped(), np.random.default_rng(7)))


@pytest.fixture
def saved(tmp_path, content):
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    return path


# ---- round trips ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", zoo.ZOO)
def test_a_result_of_every_mechanism_reads_back_equal(name, tmp_path, rng):
    result = random_result(zoo.by_name(name), rng)
    found = reread(result, tmp_path)
    assert found.differences(result) == []
    assert found.equals(result) and result.equals(found)
    assert found.mechanism == result.mechanism
    assert found.provenance == result.provenance
    assert found.events == result.events
    for name in result:
        assert found[name].dims == result[name].dims
        assert found[name].attrs == result[name].attrs
        assert found[name].dtype == result[name].dtype
        assert found[name].values.tobytes() == result[name].values.tobytes()


@pytest.mark.parametrize("make", [random_tree, mimic_tree, welded_tree])
def test_results_of_random_mechanisms_read_back_equal(make, tmp_path, rng):
    mechanism = make(rng)
    found = reread(random_result(mechanism, rng), tmp_path)
    assert found.mechanism == mechanism
    assert found["joint"].values.tolist() == list(mechanism.joint_names)
    for key, value in vars(mechanism.tree).items():
        if isinstance(value, np.ndarray):
            assert getattr(found.mechanism.tree, key).tobytes() == value.tobytes()


def test_units_of_mimic_mechanisms_are_those_of_the_joints_in_q(tmp_path, rng):
    mechanism = mimic_tree(rng)
    found = reread(small_result(mechanism, rng), tmp_path)
    kinds = {link.joint.name: link.joint.kind for link in mechanism.links}
    wanted = ["rad" if kinds[name] == "revolute" else "m" for name in mechanism.joint_names]
    assert list(found.units("q")) == wanted
    assert len(wanted) < len(mechanism.links)


def test_mesh_paths_are_kept(tmp_path, rng):
    link = zoo.two_link().links[0]
    shape = kt.Shape("mesh", [1.0, 1.0, 1.0], file="meshes/upper arm.stl")
    body = replace(link.body, shapes=(shape,))
    mechanism = replace(zoo.two_link(), links=(replace(link, body=body), *zoo.two_link().links[1:]))
    found = reread(small_result(mechanism, rng), tmp_path)
    assert found.mechanism.links[0].body.shapes[0].file == "meshes/upper arm.stl"


def test_bare_results(tmp_path, rng):
    """One sample, no contact, no events, nothing but the motion."""
    result = small_result(zoo.two_link(), rng, 1)
    found = reread(result, tmp_path)
    assert found.equals(result)
    assert found.events == () and found.audit == {} and found.messages == () and found.settings == {}
    assert found.complete and found.stopped_at is None and found.stop_reason is None
    assert found.q.shape == (1, 2)


def test_a_mechanism_without_degrees_of_freedom(tmp_path, rng):
    post = kt.Link(kt.Body("post", kt.Inertia.point(1.0, (0, 0, 1))), kt.Joint.of_kind("weld", "fixed"))
    result = small_result(kt.Mechanism("post", (post,)), rng)
    found = reread(result, tmp_path)
    assert found.q.shape == (5, 0)
    assert found.equals(result)


def test_unicode_names(tmp_path, rng):
    arm = kt.Mechanism(
        "Schwenkarm 腕",
        (
            kt.Link(
                kt.Body("Träger 🦾", kt.Inertia.point(1.0, (0, 0, 1))),
                kt.Joint.of_kind("Gelenk é", "revolute"),
            ),
        ),
    )
    found = reread(small_result(arm, rng), tmp_path)
    assert found.mechanism == arm
    assert found["joint"].values.tolist() == ["Gelenk é"]
    assert list(found.to_pandas()) == ["q.Gelenk é", "qd.Gelenk é"]


def test_a_result_that_ended_early(tmp_path, rng):
    result = small_result(zoo.two_link(), rng, stopped_at=0.75, stop_reason="diverged: joint2 beyond 1e6 rad")
    found = reread(result, tmp_path)
    assert not found.complete and not found.passed
    assert found.stopped_at == 0.75
    assert found.stop_reason == "diverged: joint2 beyond 1e6 rad"
    assert found.equals(result)


def test_long_texts(tmp_path, rng):
    """Far more than the 64 kB that an attribute of fixed length may have."""
    result = small_result(zoo.chain(n=400), rng, settings={"note": "é" * 300_000})
    assert reread(result, tmp_path).equals(result)


def test_file_is_compressed_and_of_usual_permissions(tmp_path):
    motion = {"time": np.linspace(0, 1, 5000), "q": np.zeros((5000, 2)), "qd": np.zeros((5000, 2))}
    build_result("simulate", zoo.two_link(), motion).save(tmp_path / "still.nc")
    assert os.path.getsize(tmp_path / "still.nc") < 5000 * 5 * 8 / 4
    (tmp_path / "usual").write_text("")
    assert os.stat(tmp_path / "still.nc").st_mode == os.stat(tmp_path / "usual").st_mode


def test_other_programs_read_the_file(saved):
    """xarray alone finds labels, units and numbers."""
    result = load_result(saved)
    with xarray.open_dataset(saved, engine="h5netcdf") as found:
        assert set(found.coords) == set(result.dataset.coords)
        assert found.q.sel(joint="base.tx").values.tobytes() == result.q.sel(joint="base.tx").values.tobytes()
        assert found.q.attrs["units"] == "m or rad"
        assert found.q_unit.values.tolist() == ["m"] * 3 + ["rad"] * 15
        assert found.contact_force.attrs["units"] == "N"
        assert found.touching.dtype == bool
        assert found.attrs["task"] == "simulate"
        assert 'name = "quadruped"' in found.attrs["mechanism"]


# ---- writing --------------------------------------------------------------------------------------------


def test_existing_file_is_replaced_only_with_force(tmp_path, rng):
    path = tmp_path / "run.nc"
    first, second = small_result(zoo.two_link(), rng), small_result(zoo.puma(), rng)
    first.save(path)
    with pytest.raises(FileError, match=r"run\.nc: exists already.*force=True"):
        second.save(path)
    assert load_result(path).equals(first)
    second.save(path, force=True)
    assert load_result(path).equals(second)
    assert leftovers(tmp_path) == ["run.nc"]


@pytest.mark.parametrize("name", ["run.h5", "run", "run.nc.txt"])
def test_other_suffixes_are_refused(name, tmp_path, rng):
    result = small_result(zoo.two_link(), rng)
    with pytest.raises(FileError, match=r"suffix \.nc"):
        result.save(tmp_path / name)
    with pytest.raises(FileError, match=r"suffix \.nc"):
        load_result(tmp_path / name)
    assert leftovers(tmp_path) == []


def test_wrong_places_are_refused(tmp_path, rng):
    result = small_result(zoo.two_link(), rng)
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        result.save(tmp_path / "folder.nc", force=True)
    with pytest.raises(FileError, match=r"there is no folder .*missing"):
        result.save(tmp_path / "missing" / "run.nc")
    with pytest.raises(FileError, match="path"):
        result.save(3)
    assert leftovers(tmp_path) == ["folder.nc"]


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_failed_save_leaves_the_old_file_and_nothing_else(step, tmp_path, rng, monkeypatch):
    """As in a folder that is read-only, or on a full disk."""

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    path, result = tmp_path / "run.nc", small_result(zoo.two_link(), rng)
    result.save(path)
    target = (files, "open") if step == "open" else (os, step)
    with (
        monkeypatch.context() as patch,
        pytest.raises(FileError, match=r"run\.nc: cannot be written: Permission"),
    ):
        patch.setattr(*target, refuse, raising=False)
        small_result(zoo.puma(), rng).save(path, force=True)
    assert load_result(path).equals(result)
    assert leftovers(tmp_path) == ["run.nc"]


@pytest.mark.parametrize("where", ["fsync", "while composing"])
def test_interrupted_save_leaves_nothing_behind(where, tmp_path, rng, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(*((os, "fsync") if where == "fsync" else (netcdf, "_write")), interrupt)
    with pytest.raises(KeyboardInterrupt):
        small_result(zoo.two_link(), rng).save(tmp_path / "run.nc")
    assert leftovers(tmp_path) == []


# ---- files that are refused -----------------------------------------------------------------------------


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileError, match=r"run\.nc: no such file \(looked in .*\)"):
        load_result(tmp_path / "run.nc")
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(FileError, match=r"folder\.nc: is a folder"):
        load_result(tmp_path / "folder.nc")
    (tmp_path / "device.nc").symlink_to(os.devnull)
    with pytest.raises(FileError, match="no regular file"):
        load_result(tmp_path / "device.nc")
    with pytest.raises(FileError, match="path"):
        load_result(b"run.nc")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"time,q\n0,1\n", r"is no NetCDF-4 file; .*HDF5"),
        (b"CDF\x01\x00\x00\x00\x00", "classic format"),
        (b"\x89HDF\r\n\x1a\n", "incomplete or damaged"),
        (b"\x89HDF\r\n\x1a\n" + bytes(4000), "incomplete or damaged"),
    ],
)
def test_files_that_are_no_results(content, said, tmp_path):
    (tmp_path / "run.nc").write_bytes(content)
    with pytest.raises(FileError, match=said) as caught:
        load_result(tmp_path / "run.nc")
    assert str(caught.value).startswith(str(tmp_path / "run.nc"))


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.999])
def test_truncated_file(part, saved):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(part * len(whole))])
    with pytest.raises(FileError, match=r"run\.nc: is incomplete or damaged"):
        load_result(saved)


def test_no_flipped_bit_goes_unnoticed(tmp_path, rng):
    """Whatever bit of the file is wrong: the same result is read or the file is refused by name."""
    path, refused = tmp_path / "run.nc", 0
    result = small_result(zoo.two_link(), rng, 50, settings={"rtol": 1e-8})
    result.save(path)
    content = path.read_bytes()
    for place in rng.integers(0, len(content), 100):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            assert load_result(path).equals(result)
        except FileError as error:
            assert str(error).startswith(str(path))
            refused += 1
    assert refused > 10


def test_foreign_netcdf(tmp_path):
    dataset = xarray.Dataset({"q": ("time", np.zeros(3))}, {"time": [0.0, 1.0, 2.0]})
    dataset.to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(FileError, match=r"other\.nc: is no result of Kinetree: .*kinetree_format"):
        load_result(tmp_path / "other.nc")


def test_foreign_hdf5(tmp_path):
    with h5py.File(tmp_path / "other.nc", "w") as file:
        file["numbers"] = [1, 2, 3]
    with pytest.raises(FileError, match=r"other\.nc: is"):
        load_result(tmp_path / "other.nc")


def change(path, name, value):
    with h5netcdf.File(path, "a") as file:
        if value is None:
            del file.attrs[name]
        else:
            file.attrs[name] = value


def test_newer_version_says_to_upgrade(saved):
    change(saved, "kinetree_format", "2.0")
    with pytest.raises(
        FileError, match=r"newer Kinetree \(format 2\.0, .* 1\.x\); upgrade with: pip install"
    ):
        load_result(saved)


def test_newer_minor_version_is_read(saved):
    result = load_result(saved)
    change(saved, "kinetree_format", "1.7")
    change(saved, "something_new", "not known yet")
    assert load_result(saved).equals(result)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("kinetree_format", "one", "is damaged: .*'one'"),
        ("settings", None, "lacks the attributes settings"),
        ("checksum", None, "lacks the attributes checksum"),
        ("settings", '{"rtol": 1e-3}', "checksum does not fit"),
        ("mechanism", 'name = "other"', "checksum does not fit"),
        ("task", "inverse", "checksum does not fit"),
    ],
)
def test_changed_texts_are_noticed(name, value, said, saved):
    change(saved, name, value)
    with pytest.raises(FileError, match=said):
        load_result(saved)


def test_missing_variable(saved):
    with h5py.File(saved, "a") as file:
        del file["qd"]
    with pytest.raises(FileError, match=r"run\.nc: is incomplete: a simulate result needs the variable 'qd'"):
        load_result(saved)
    with h5py.File(saved, "a") as file:
        file.move("q", "position")
    with pytest.raises(FileError, match=r"needs the variable 'q'"):
        load_result(saved)


def test_changed_number_is_noticed(saved):
    with h5py.File(saved, "a") as file:
        file["tau"][0, 0] = np.nextafter(file["tau"][0, 0], np.inf)
    with pytest.raises(FileError, match="checksum does not fit"):
        load_result(saved)


def test_a_small_file_cannot_claim_gigabytes(saved):
    with h5py.File(saved, "a") as file:
        file.create_dataset("large", (2**30,), "f8", chunks=(1000,))
    with pytest.raises(FileError, match="'large' claims to have 8590 MB"):
        load_result(saved)


def test_nothing_is_pickled(content):
    assert b"cnumpy" not in content and b"\x80\x04\x95" not in content


# ---- equality -------------------------------------------------------------------------------------------


def test_every_single_bit_counts(rng):
    """Of every variable and coordinate of numbers: the lowest bit of one entry."""
    result = random_result(zoo.quadruped(), rng)
    numbers = [name for name in result if result[name].dtype.kind == "f" and result[name].size]
    assert len(numbers) > 20
    for name in numbers:
        values = np.array(result[name].values)
        flat = values.reshape(-1).view(np.int64)
        flat[rng.integers(len(flat))] ^= 1
        changed = result.dataset.assign_coords if name in result.dataset.coords else result.dataset.assign
        other = replace(result, dataset=changed({name: (result[name].dims, values, result[name].attrs)}))
        assert not result.equals(other)
        assert [text.split(":")[0] for text in result.differences(other)] == [name]


def test_signs_of_zero_and_missing_entries_count(rng):
    result = small_result(zoo.two_link(), rng)
    for a, b in ((0.0, -0.0), (np.nan, 0.0)):
        pair = [replace(result, dataset=result.dataset.assign(x=((), value, {}))) for value in (a, b)]
        assert not pair[0].equals(pair[1])
        assert pair[0].equals(pair[0])


def test_what_else_counts(rng):
    motion = small_motion(zoo.two_link(), rng)

    def made(mechanism=None, **more):
        return build_result("simulate", mechanism or zoo.two_link(), motion, **more)

    result = made()
    assert result.equals(made())
    others = {
        "mechanism": made(zoo.two_link().with_gravity((0, 0, -0.0))),
        "settings": made(settings={"rtol": 1e-8}),
        "statistics": made(statistics={"steps": 3}),
        "messages": made(messages=["slow"]),
        "audit": made(audit={"energy": Check.within(0.0, 1.0)}),
        "stopped_at": made(stopped_at=1.0, stop_reason="interrupted"),
        "event": made(events=[(0.0, "touchdown", "foot")]),
        "task": replace(result, task="inverse"),
    }
    for what, other in others.items():
        assert not result.equals(other)
        assert result.differences(other)[0].startswith(what)
    assert made(seconds=1.0).equals(made(seconds=2.0))
    assert not result.equals("run.nc")
