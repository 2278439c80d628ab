"""Files that are no results, or no longer: refused by name, whatever is wrong with them."""

import os

import h5netcdf
import h5py
import numpy as np
import pytest
import xarray

from kinetree.errors import FileError
from kinetree.model import zoo
from kinetree.result.netcdf import load_result
from support.results import small_result


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileError, match=r"run\.nc: no such file \(looked in .*\)"):
        load_result(tmp_path / "run.nc")
    (tmp_path / "folder.nc").mkdir()
    with pytest.raises(FileError, match=r"folder\.nc: is a folder"):
        load_result(tmp_path / "folder.nc")
    (tmp_path / "device.nc").symlink_to(os.devnull)
    with pytest.raises(FileError, match="not a regular file"):
        load_result(tmp_path / "device.nc")
    with pytest.raises(FileError, match="path"):
        load_result(b"run.nc")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"time,q\n0,1\n", r"is not a NetCDF-4 file; .*HDF5"),
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
    with pytest.raises(FileError, match=r"other\.nc: is not a Kinetree result: .*kinetree_format"):
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
        ("settings", '{"rtol": 1e-3}', "checksum does not match"),
        ("mechanism", 'name = "other"', "checksum does not match"),
        ("task", "inverse", "checksum does not match"),
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
    with pytest.raises(FileError, match="checksum does not match"):
        load_result(saved)


def test_a_small_file_cannot_claim_gigabytes(saved):
    with h5py.File(saved, "a") as file:
        file.create_dataset("large", (2**30,), "f8", chunks=(1000,))
    with pytest.raises(FileError, match="its arrays claim to have 8590 MB"):
        load_result(saved)


def test_nothing_is_pickled(content):
    assert b"cnumpy" not in content and b"\x80\x04\x95" not in content
