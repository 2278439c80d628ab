"""Damaged result files are refused before HDF5 reads them; files of others within limits."""

import os
import time

import h5py
import numpy as np
import pytest
import xarray as xr

import kinetree as kt
from kinetree.result import seal
from kinetree.result.build import build_result
from kinetree.result.netcdf import result_bytes


@pytest.fixture
def saved(tmp_path):
    run = build_result("simulate", kt.zoo.two_link(), {"time": [0, 1], "q": [[1, 2]] * 2, "qd": [[0, 0]] * 2})
    path = tmp_path / "run.nc"
    run.save(path)
    return path


def unsealed(path):
    content = path.read_bytes()
    path.write_bytes(content[: -seal.LENGTH])
    return path


def test_every_flipped_byte_is_seen_before_the_file_is_opened(saved, monkeypatch):
    content = saved.read_bytes()
    monkeypatch.setattr(h5py, "File", lambda *_: pytest.fail("HDF5 opened a damaged file"))
    for k in np.random.default_rng(0).integers(8, len(content) - seal.LENGTH, 60):
        damaged = bytearray(content)
        damaged[k] ^= 1 << int(k % 8)
        saved.write_bytes(damaged)
        with pytest.raises(kt.errors.FileError, match="its checksum does not match"):
            kt.load_result(saved)


def test_other_programs_open_sealed_files(saved):
    with xr.open_dataset(saved, engine="h5netcdf") as found:
        assert found["q"].values.tolist() == [[1, 2], [1, 2]]


def test_a_file_without_a_seal_is_opened_elsewhere_first(saved):
    expected = kt.load_result(saved)
    assert kt.load_result(unsealed(saved)).equals(expected)


def test_a_file_that_loops_or_takes_all_memory_is_given_up(saved, monkeypatch, tmp_path):
    program = tmp_path / "opened_elsewhere.py"
    program.write_text("while True: pass")
    monkeypatch.setattr(seal, "SECONDS", 0.2)
    monkeypatch.setattr(seal, "__file__", str(tmp_path / "seal.py"))
    began = time.monotonic()
    with pytest.raises(kt.errors.FileError, match=r"opening it took more than 0\.2 s"):
        kt.load_result(unsealed(saved))
    assert time.monotonic() - began < 30.0


def test_a_truncated_file_is_refused(saved):
    saved.write_bytes(saved.read_bytes()[:3000])
    with pytest.raises(kt.errors.FileError, match="is incomplete or damaged"):
        kt.load_result(saved)


def test_links_and_numbers_in_other_files_are_refused(saved, tmp_path):
    other = tmp_path / "other.nc"
    other.write_bytes(saved.read_bytes())
    os.mkfifo(tmp_path / "pipe")
    layout = h5py.VirtualLayout((2, 2), "f8")
    layout[:] = h5py.VirtualSource(str(other), "q", (2, 2))
    changes = {
        "link": lambda file: file.__setitem__("extra", h5py.ExternalLink(str(tmp_path / "pipe"), "/q")),
        "lie in other files": lambda file: file.create_virtual_dataset("extra", layout),
    }
    for said, change in changes.items():
        unsealed_copy = tmp_path / "copy.nc"
        unsealed_copy.write_bytes(other.read_bytes()[: -seal.LENGTH])
        with h5py.File(unsealed_copy, "a") as file:
            change(file)
        with pytest.raises(kt.errors.FileError, match=said):
            kt.load_result(unsealed_copy)


def test_arrays_that_together_claim_too_much_are_refused(saved):
    with h5py.File(unsealed(saved), "a") as file:
        for k in range(30):
            file.create_dataset(f"big{k}", (1 << 20,), dtype="f8", chunks=(1 << 14,))
    with pytest.raises(kt.errors.FileError, match=r"its arrays claim to have \d+ MB"):
        kt.load_result(saved)


def test_a_pipe_is_no_result(tmp_path):
    os.mkfifo(tmp_path / "run.nc")
    with pytest.raises(kt.errors.FileError, match="regular file"):
        kt.load_result(tmp_path / "run.nc")


def test_the_same_result_has_the_same_bytes(saved):
    assert result_bytes(kt.load_result(saved))[-seal.LENGTH :].startswith(seal.MARK)
