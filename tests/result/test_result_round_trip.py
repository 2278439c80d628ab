"""Results as files: what is read back is equal, bit for bit."""

import os
from dataclasses import replace

import numpy as np
import pytest
import xarray

import kinetree as kt
from kinetree.model import zoo
from kinetree.result.build import build_result
from kinetree.result.netcdf import load_result
from support.results import random_result, small_result
from support.trees import mimic_tree, random_tree, welded_tree


def reread(result, folder):
    path = folder / "run.nc"
    result.save(path)
    return load_result(path)


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
    shape = kt.model.Shape("mesh", [1.0, 1.0, 1.0], file="meshes/upper arm.stl")
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
    post = kt.model.Link(kt.Body("post", kt.Inertia.point(1.0, (0, 0, 1))), kt.Joint.of_kind("weld", "fixed"))
    result = small_result(kt.Mechanism("post", (post,)), rng)
    found = reread(result, tmp_path)
    assert found.q.shape == (5, 0)
    assert found.equals(result)


def test_unicode_names(tmp_path, rng):
    arm = kt.Mechanism(
        "Schwenkarm 腕",
        (
            kt.model.Link(
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
