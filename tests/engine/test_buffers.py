"""Memory of large answers that waits to be used again, for those who ask for it."""

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import kinetree as kt
from kinetree.engine.buffers import LARGE, keep, kept_bytes, new_array, new_result


@pytest.fixture
def keeping():
    """Up to 100 MB wait."""
    keep(100e6)
    yield
    keep(0)


def address(array):
    return array.__array_interface__["data"][0]


def test_nothing_waits_unless_asked_for(rng):
    arm = kt.zoo.kuka_kr5()
    s = kt.random_state(arm, rng, batch=LARGE)
    kt.inverse_dynamics_derivatives(arm, s.q, s.qd, s.qdd)
    gc.collect()
    assert kept_bytes() == 0
    assert new_array(2, LARGE).base.flags.owndata  # NumPy's own memory


def test_memory_of_large_arrays_serves_again(keeping):
    a = new_array(2, LARGE)
    place, view = address(a), a[1]
    del a
    assert kept_bytes() == 0  # the view is still in use
    view[:] = 1.0
    del view
    assert kept_bytes() == 16 * LARGE
    b, c = new_array(2 * LARGE), new_result((2, LARGE))
    assert address(b) == place and not np.may_share_memory(b, c)
    assert b.flags.writeable and b.flags.c_contiguous and b.dtype == np.float64
    assert kept_bytes() == 0


def test_answers_of_one_size_take_turns_in_the_same_memory(keeping, rng):
    arm = kt.zoo.kuka_kr5()
    s = kt.random_state(arm, rng, batch=LARGE)
    first = kt.inverse_dynamics(arm, s.q, s.qd, s.qdd)
    expected, place = first.copy(), address(first)
    del first
    again = kt.inverse_dynamics(arm, s.q, s.qd, s.qdd)
    assert address(again) == place and np.array_equal(again, expected)


def test_all_memory_starts_on_a_cache_line(keeping):
    """Stores past the caches need it."""
    arrays = [new_array(size) for size in (1, 3, 17, LARGE - 1, LARGE, LARGE + 3)]
    assert all(address(x) % 64 == 0 for x in arrays)


def test_no_more_waits_than_is_allowed(keeping):
    small = new_array(LARGE - 1)
    del small
    assert kept_bytes() == 0
    many = [new_array(LARGE * 64 + k) for k in range(40)]  # 8.4 MB each, more than may wait
    del many
    assert 0 < kept_bytes() <= 100e6
    keep(0)
    assert kept_bytes() == 0


def test_threads_never_share_what_is_lent(keeping):
    wrong = []

    def work(mark):
        for _ in range(300):
            array = new_array(LARGE)
            array[:] = mark
            if not (array == mark).all():
                wrong.append(mark)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize(("value", "expected"), [("32", 32e6), ("", 0.0), ("many", 0.0), (None, 0.0)])
def test_the_environment_decides_at_the_start(value, expected, monkeypatch):
    monkeypatch.delenv("KINETREE_KEEP_MB", raising=False)
    if value is not None:
        monkeypatch.setenv("KINETREE_KEEP_MB", value)
    told = "from kinetree.engine import buffers; print(buffers._store.limit)"
    found = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert float(found.stdout) == expected
