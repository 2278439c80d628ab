"""The kernel cache never gives wrong code and never stops anyone: stale, damaged, shared or forbidden."""

import ctypes
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kinetree
from kinetree.algebra.memory import aligned
from kinetree.engine import code as codes
from kinetree.engine import disk_cache, keyed, stored_code
from kinetree.engine.workspace import single_memory, workspace_size
from kinetree.kernels.axes import outward
from kinetree.kernels.layout import Kernel, Layout
from kinetree.kernels.model_table import tree_table
from kinetree.kernels.number import lanewise
from kinetree.kernels.rnea import RNEA_UNLOADED
from support.cases import assert_close
from support.kernels import interpreted, on_batch, random_inputs, zoo

PENDULUM = """
import warnings, numpy as np, kinetree as kt
robot = kt.Builder("pendulum")
robot.world.revolute("hinge", axis="-y").body("bob", kt.Inertia.point(2.0, (0.5, 0, 0)))
state = np.zeros((3, 1))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    torque = kt.inverse_dynamics(robot.build(), *state)[0]
    from kinetree.engine.code import single_state
    from kinetree.engine.disk_cache import cache_folder
    folder = cache_folder()
from kinetree.kernels.rnea import RNEA_UNLOADED
print(torque, folder, single_state(RNEA_UNLOADED).cache_hits)
print(*(f"{x.category.__name__}: {x.message}" for x in caught), sep="\\n")
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of the package that nobody edits while the tests run."""
    folder = tmp_path_factory.mktemp("package")
    source = Path(kinetree.__file__).parent
    shutil.copytree(source, folder / "kinetree", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def start(package, code, **environment):
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env=dict(os.environ, PYTHONPATH=str(package), PYTHONDONTWRITEBYTECODE="1", **environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process):
    """Standard output, line by line; nothing may have gone wrong."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert err == ""
    return out.rstrip("\n").split("\n")


def swing(package, **environment):
    """Torque, cache folder, hits of the cache and warnings of a pendulum's process."""
    answer, *warned = finish(start(package, PENDULUM, **environment))
    torque, folder, hits = answer.split(" ")
    return float(torque), folder, int(hits), [line for line in warned if line]


def files(folder):
    found = [*folder.rglob("numba-*"), *folder.rglob(stored_code.FILE)]
    return {file.relative_to(folder): file.stat().st_mtime_ns for file in found}


# ---- the stamp ----------------------------------------------------------------------------------------
def stamps(package, **environment):
    code = """
from kinetree.engine.disk_cache import stamp
print(stamp(4), stamp(1), stamp(2), stamp(1, 'integrate'), stamp(1, 'simulation/compiled'))
"""
    return finish(start(package, code, **environment))[0].split()


def test_stamp_tells_sources_lanes_and_processor(package, tmp_path):
    """numba's own key is blind to helper files and to the number of lanes."""
    copy = tmp_path / "package"
    shutil.copytree(package, copy)
    first = stamps(copy)
    assert len(set(first)) == 5
    assert stamps(copy) == first
    helper = copy / "kinetree" / "engine" / "angle_table.py"
    text = helper.read_text()
    assert "NEAR = 1e6" in text
    helper.write_text(text.replace("NEAR = 1e6", "NEAR = 2e6"))
    assert not set(stamps(copy)) & set(first)
    helper.write_text(text)
    assert stamps(copy) == first  # what counts is the text, not when it was written
    assert not set(stamps(copy, NUMBA_CPU_NAME="generic")) & set(first)


def test_stamp_of_a_room_tells_its_own_sources_only(package, tmp_path):
    copy = tmp_path / "package"
    shutil.copytree(package, copy)
    first = stamps(copy)
    with open(copy / "kinetree" / "integrate" / "linear.py", "a") as file:
        file.write("# changed\n")
    changed = [a != b for a, b in zip(first, stamps(copy), strict=True)]
    assert changed == [False, False, False, True, False]
    code = "from kinetree.engine.disk_cache import stamp; print(stamp(4), stamp(4, 'engine/tape'))"
    general, made = finish(start(copy, code))[0].split()
    with open(copy / "kinetree" / "engine" / "tape" / "llvm_text.py", "a") as file:
        file.write("# changed\n")
    after = finish(start(copy, code))[0].split()
    assert after[0] == general and after[1] != made


@pytest.mark.parametrize("lanes", [2, 8])
def test_other_numbers_of_lanes_live_side_by_side(lanes, rng, monkeypatch):
    tree = zoo()["random 2"].tree
    inputs = random_inputs(RNEA_UNLOADED, tree, rng, 19)
    expected = interpreted(RNEA_UNLOADED, tree, inputs, monkeypatch)["tau"]
    tau = np.zeros_like(expected)
    run = codes.many_states(RNEA_UNLOADED, lanes)
    memory = aligned(workspace_size(RNEA_UNLOADED, tree, lanes))
    run(tree_table(tree), memory, 0, 19, (*inputs, tau))
    assert_close(tau, expected, 1e-14)
    assert_close(on_batch(RNEA_UNLOADED, tree, inputs)["tau"], expected, 1e-14)


# ---- folders that cannot be written ---------------------------------------------------------------------
def test_forbidden_folder_is_replaced_with_one_warning(package, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    torque, folder, _, warned = swing(
        package, KINETREE_CACHE_DIR=str(blocked / "cache"), XDG_CACHE_HOME=str(tmp_path / "home")
    )
    assert abs(torque - 9.81) < 1e-12
    assert folder == str(tmp_path / "home" / "kinetree")
    assert len(warned) == 1
    assert warned[0].startswith("RuntimeWarning: ")
    for part in (str(blocked / "cache"), folder, "KINETREE_CACHE_DIR"):
        assert part in warned[0]
    assert files(tmp_path / "home")


def test_without_any_folder_kernels_stay_in_memory(package, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    nowhere = str(blocked / "nowhere")
    code = f"import tempfile; tempfile.tempdir = {nowhere!r}\n" + PENDULUM
    answer, *warned = finish(start(package, code, KINETREE_CACHE_DIR=nowhere, XDG_CACHE_HOME=nowhere))
    torque, folder, hits = answer.split(" ")
    assert abs(float(torque) - 9.81) < 1e-12
    assert (folder, hits) == ("None", "0")
    assert len(warned) == 1 and warned[0].startswith("RuntimeWarning: no kernel cache can be written")
    assert not list(package.rglob("*.nb?"))  # nor in the package itself


# ---- many processes ------------------------------------------------------------------------------------
def test_processes_share_an_empty_cache(package, tmp_path):
    """Two compile at the same time; the third finds the code."""
    cache = tmp_path / "cache"
    both = [start(package, PENDULUM, KINETREE_CACHE_DIR=str(cache)) for _ in range(2)]
    for process in both:
        assert abs(float(finish(process)[0].split(" ")[0]) - 9.81) < 1e-12
    first = files(cache)
    assert first
    torque, _, hits, warned = swing(package, KINETREE_CACHE_DIR=str(cache))
    assert abs(torque - 9.81) < 1e-12
    assert (hits, warned) == (1, [])
    assert files(cache) == first


# ---- damage ----------------------------------------------------------------------------------------------
@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(disk_cache, "cache_folder", lambda: tmp_path)
    keyed._known_key.cache_clear()
    return tmp_path


@lanewise
def doubled(tree, work, q, result):
    for i in outward(len(q)):
        result[i] = q[i] + q[i]


@lanewise
def squared(tree, work, q, result):
    for i in outward(len(q)):
        result[i] = q[i] * q[i]


DOUBLED, SQUARED = (Kernel(f, Layout(unused=1), inputs=1, outputs=1) for f in (doubled, squared))


def compiled(kernel=DOUBLED):
    """Compiled anew, or found on disk."""
    return codes.single_state.__wrapped__(kernel)


def assert_right(run, kernel=DOUBLED):
    tree = zoo()["random 1"].tree
    q, out, memory = np.linspace(1.0, 2.0, tree.n), np.zeros(tree.n), single_memory(kernel, tree)
    pairs = np.array([q.ctypes.data, tree.n, out.ctypes.data, tree.n])
    call = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(run.address)
    assert call(memory.ctypes.data, memory.size, pairs.ctypes.data) == 1
    assert np.array_equal(out, q + q if kernel is DOUBLED else q * q)


def hits(run):
    return run.cache_hits


def test_second_compilation_is_a_hit(cache):
    assert hits(compiled()) == 0
    again = compiled()
    assert hits(again) == 1
    assert_right(again)


DAMAGES = {
    "empty": lambda data: b"",
    "half": lambda data: data[: len(data) // 2],
    "zeros": lambda data: bytes(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_replaced(cache, damage):
    compiled()
    (file,) = (cache / name for name in files(cache))
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    recovered = compiled()
    assert hits(recovered) == 0
    assert_right(recovered)
    assert hits(compiled()) == 1  # the files are whole again


def test_removed_files_are_replaced(cache):
    compiled()
    for name in files(cache):
        (cache / name).unlink()
    assert_right(compiled())
    assert hits(compiled()) == 1


def test_full_disks_do_not_stop_anyone(cache, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    assert_right(compiled())
    assert [file.name for file in cache.rglob("*") if file.is_file()] in ([], [keyed.KEY])


@pytest.mark.parametrize("change", [{"symbol": "nobody"}, {"needs": ["no_such_function"]}, {"needs": 3}])
def test_code_that_cannot_run_here_is_made_again(cache, change):
    """LLVM would end the process for a function that is nowhere."""
    compiled()
    (file,) = (cache / name for name in files(cache))
    head, _, rest = keyed.content(file.parent, file.name).partition(b"\n")
    changed = json.dumps(json.loads(head) | change).encode() + b"\n" + rest
    assert keyed.kept(file.parent, file.name, changed)
    recovered = compiled()
    assert hits(recovered) == 0
    assert_right(recovered)


def test_code_of_the_same_symbol_lives_side_by_side(cache):
    """numba names functions by a counter that starts anew in every process."""
    compiled(DOUBLED)
    compiled(SQUARED)
    folders = [cache / name for name in files(cache)]
    heads = [json.loads(keyed.content(x.parent, x.name).partition(b"\n")[0]) for x in folders]
    assert len(heads) == 2
    loaded = {kernel: compiled(kernel) for kernel in (DOUBLED, SQUARED)}
    for kernel, run in loaded.items():
        assert hits(run) == 1
        assert_right(run, kernel)


def test_stored_code_needs_no_numba(package, tmp_path):
    told = "import sys; print('numba' in sys.modules)\n"
    code = PENDULUM + told
    first, again = (finish(start(package, code, KINETREE_CACHE_DIR=str(tmp_path)))[-1] for _ in range(2))
    assert (first, again) == ("True", "False")


def test_blocked_subfolder_never_leads_to_another_cache(cache):
    """numba would store the code beside its source, where all kernels of one signature look the same."""
    (cache / disk_cache.stamp(1)).write_text("not a folder")
    try:
        for kernel in (DOUBLED, SQUARED, DOUBLED):
            run = compiled(kernel)
            assert hits(run) == 0
            assert_right(run, kernel)
        assert not list(disk_cache.PACKAGE.rglob("*.nb?"))
    finally:
        for file in disk_cache.PACKAGE.rglob("*.nb?"):
            file.unlink()


# ---- age -------------------------------------------------------------------------------------------------
def test_code_of_earlier_versions_goes_when_nobody_used_it_for_long(cache):
    old, recent, strange = cache / ("0" * 16), cache / ("1" * 16), cache / "notes"
    for folder in (old, recent, strange):
        folder.mkdir()
        (folder / "file").write_text("something")
    for folder in (old, strange):
        os.utime(folder, (1e9, 1e9))
    assert_right(compiled())
    assert not old.exists()
    assert (recent / "file").read_text() == (strange / "file").read_text() == "something"
    assert (cache / disk_cache.stamp(1)).is_dir()


def test_what_stands_for_numba_sets_an_error_and_ends_nothing(package):
    """Code that wants to raise an exception does so, even where numba is not loaded."""
    program = """
import ctypes, sys
from kinetree.engine import stored_code
raises = ctypes.PYFUNCTYPE(ctypes.py_object, *[ctypes.c_int64] * 3)
for name in ("numba_unpickle", "numba_do_raise", "numba_runtime_build_excinfo_struct"):
    try:
        raises(stored_code._stand_in(name))(1, 2, 3)
    except RuntimeError as error:
        print(error)
place = ctypes.c_int32(-1)
for name in ("numba_gil_ensure", "numba_gil_release"):
    ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(stored_code._stand_in(name))(ctypes.addressof(place))
print(place.value, "numba" in sys.modules)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    *told, last = run.stdout.splitlines()
    assert run.returncode == 0 and last == "0 False", run.stderr
    assert told == ["a kernel met an error that only numba can tell; its answer is void"] * 3
