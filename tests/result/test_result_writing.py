"""Results are written whole or not at all."""

import os

import pytest

from kinetree.errors import FileError
from kinetree.formats import regular_file
from kinetree.model import zoo
from kinetree.result import netcdf
from kinetree.result.netcdf import load_result
from support.results import small_result
from support.stand_ins import interrupted


def leftovers(folder):
    return sorted(path.name for path in folder.iterdir())


def test_existing_file_is_replaced_only_with_force(tmp_path, rng):
    path = tmp_path / "run.nc"
    first, second = small_result(zoo.two_link(), rng), small_result(zoo.puma(), rng)
    first.save(path)
    with pytest.raises(FileError, match=r"run\.nc: already exists.*force=True"):
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
    with pytest.raises(FileError, match=r"the folder .*missing does not exist"):
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
    target = (regular_file, "open") if step == "open" else (os, step)
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
    monkeypatch.setattr(*((os, "fsync") if where == "fsync" else (netcdf, "_write")), interrupted)
    with pytest.raises(KeyboardInterrupt):
        small_result(zoo.two_link(), rng).save(tmp_path / "run.nc")
    assert leftovers(tmp_path) == []
