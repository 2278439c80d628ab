"""The kernel cache trusts what its user has sealed: damage, planted files, folders of other people."""

import os
import pickle
import stat
import subprocess
import sys

import pytest
from numba import types

from kinetree.engine import disk_cache, keyed, machine_code

ROOT = hasattr(os, "getuid") and os.getuid() == 0
posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes are those of POSIX")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: tmp_path)
    keyed._known_key.cache_clear()
    return tmp_path


def halve(x):
    return x / 2.0


def compiled():
    """Compiled, or found on disk; an answer that only the right code gives."""
    run = machine_code.compiled_function(halve, [types.float64], "halve")
    assert run(3.0) == 1.5
    return run


def entry(cache):
    (file,) = cache.rglob("numba-*")
    return file


def is_hit(run):
    return sum(run.stats.cache_hits.values()) == 1


class Planted:
    def __init__(self, place):
        self.place = str(place)

    def __reduce__(self):
        return (open, (self.place, "w"))


def test_entries_are_found_again(cache):
    assert not is_hit(compiled())
    assert is_hit(compiled())
    if os.name == "posix":
        assert stat.S_IMODE((cache / keyed.KEY).stat().st_mode) == 0o600


def test_a_planted_pickle_is_never_read(cache, tmp_path):
    compiled()
    file, trace = entry(cache), tmp_path / "executed"
    for content in (pickle.dumps(Planted(trace)), bytes(keyed.DIGEST) + pickle.dumps(Planted(trace))):
        file.write_bytes(content)
        assert not is_hit(compiled())
        assert not trace.exists() and is_hit(compiled())  # it was replaced


def test_every_damaged_bit_is_seen_before_anything_is_loaded(cache, rng, monkeypatch):
    compiled()
    file = entry(cache)
    whole = file.read_bytes()
    monkeypatch.setattr(pickle, "loads", lambda data: pytest.fail("read before it was tested"))
    for place in [0, keyed.DIGEST - 1, keyed.DIGEST, len(whole) - 1, *rng.integers(0, len(whole), 40)]:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(bytes(damaged))
        assert keyed.content(file.parent, file.name) is None
        assert not file.exists()
    for length in (0, 1, keyed.DIGEST, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        assert keyed.content(file.parent, file.name) is None
    file.write_bytes(whole)
    assert keyed.content(file.parent, file.name) == whole[keyed.DIGEST :]


def test_entries_of_other_keys_names_and_folders_are_refused(cache):
    compiled()
    file = entry(cache)
    whole = file.read_bytes()
    elsewhere = file.parent.with_name("another")
    elsewhere.mkdir()
    (elsewhere / file.name).write_bytes(whole)
    assert keyed.content(elsewhere, file.name) is None  # of another kernel
    (cache / keyed.KEY).write_bytes(os.urandom(keyed.LENGTH))
    keyed._known_key.cache_clear()
    assert not is_hit(compiled())  # of another user or machine
    assert is_hit(compiled())


@posix
def test_a_key_that_others_can_read_is_replaced(cache):
    compiled()
    key = (cache / keyed.KEY).read_bytes()
    (cache / keyed.KEY).chmod(0o644)
    keyed._known_key.cache_clear()
    assert not is_hit(compiled())
    assert (cache / keyed.KEY).read_bytes() != key
    assert stat.S_IMODE((cache / keyed.KEY).stat().st_mode) == 0o600


@posix
def test_an_entry_that_a_process_died_of_is_dropped(cache):
    compiled()
    file = entry(cache)
    program = f"""
import os, pathlib
from kinetree.engine import keyed
with keyed.loading(pathlib.Path({str(file.parent)!r}), {file.name!r}):
    os.abort()
"""
    died = subprocess.run([sys.executable, "-c", program], capture_output=True)
    assert died.returncode != 0
    assert len(list(file.parent.glob(f"*{keyed.LOADING}*"))) == 1
    assert not is_hit(compiled()) and is_hit(compiled())
    assert not list(file.parent.glob(f"*{keyed.LOADING}*"))


@posix
def test_an_entry_that_a_living_process_loads_is_kept(cache):
    compiled()
    file = entry(cache)
    with keyed.loading(file.parent, file.name):
        assert is_hit(compiled())


def test_without_a_place_for_a_key_nothing_is_kept(cache, monkeypatch):
    monkeypatch.setattr(keyed, "_new_key", lambda folder: None)
    assert not is_hit(compiled())
    assert not is_hit(compiled())
    assert not list(cache.rglob("numba-*"))


# ---- whose folder it is ---------------------------------------------------------------------------------
@posix
def test_folders_of_the_user_are_private_also_below_sticky_ones(tmp_path):
    own = tmp_path / "own"
    own.mkdir(mode=0o700)
    assert disk_cache.why_not_private(own) == ""
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    inner = shared / "inner"
    inner.mkdir(mode=0o700)
    assert disk_cache.why_not_private(inner) == ""
    assert "others may write" in disk_cache.why_not_private(shared)  # a sticky folder is no cache itself
    shared.chmod(0o777)
    assert f"others may write to '{shared}'" in disk_cache.why_not_private(inner)


@posix
@pytest.mark.parametrize("mode", [0o777, 0o707, 0o702])
def test_folders_that_others_may_write_are_not_used(tmp_path, monkeypatch, mode):
    shared, home = tmp_path / "shared", tmp_path / "home"
    shared.mkdir()
    shared.chmod(mode)
    monkeypatch.setenv("KINETREE_CACHE_DIR", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    with pytest.warns(RuntimeWarning, match="others may write") as caught:
        assert disk_cache.cache_folder.__wrapped__() == home / "kinetree"
    assert len(caught) == 1 and "KINETREE_CACHE_DIR" in str(caught[0].message)


@posix
@pytest.mark.skipif(not ROOT, reason="only root can give files away")
def test_folders_and_links_of_others_are_not_used(tmp_path):
    mine, theirs, link = tmp_path / "mine", tmp_path / "theirs", tmp_path / "link"
    mine.mkdir(mode=0o700)
    theirs.mkdir(mode=0o700)
    os.chown(theirs, 65534, 65534)
    link.symlink_to(mine)
    assert disk_cache.why_not_private(link) == ""
    os.chown(link, 65534, 65534, follow_symlinks=False)
    for place in (theirs, theirs / "inner", link):
        if place.parent == theirs:
            place.mkdir(mode=0o700)
        assert "belongs to another user (65534)" in disk_cache.why_not_private(place)


@posix
def test_relative_places_are_ignored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KINETREE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert disk_cache.first_choice().is_absolute() and not disk_cache.first_choice().is_relative_to(tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", ".")
    assert disk_cache.first_choice().is_absolute() and not disk_cache.first_choice().is_relative_to(tmp_path)


def test_a_cache_that_cannot_be_written_is_still_read(tmp_path):
    """A process fills a cache; another may read it though it can write nowhere."""
    program = """
import sys, tempfile, warnings
from kinetree.engine.stored_code import stored_or_made
from kinetree.kernels.rnea import RNEA_UNLOADED
if sys.argv[1] == "read":
    def nowhere(*arguments, **more):
        raise OSError(30, "Read-only file system")
    tempfile.mkstemp = tempfile.TemporaryFile = nowhere
    print(stored_or_made(RNEA_UNLOADED.name + '-single', 1, lambda: None) is not None)
else:
    from kinetree.engine.code import single_state
    single_state(RNEA_UNLOADED)
"""
    environment = dict(os.environ, KINETREE_CACHE_DIR=str(tmp_path / "cache"), KINETREE_NOTICE="0")
    for word, told in (("write", ""), ("read", "True\n")):
        run = subprocess.run(
            [sys.executable, "-c", program, word], env=environment, capture_output=True, text=True
        )
        assert (run.returncode, run.stdout, run.stderr) == (0, told, "")
