"""Direct calls from Python into machine code: what they take, what they refuse, and that nothing leaks."""

import gc
import sys
import threading
import tracemalloc

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.memory import aligned
from kinetree.engine import run as running
from kinetree.engine.code import many_states
from kinetree.engine.run import prepared
from kinetree.engine.workspace import workspace_size
from kinetree.kernels.aba_gradient import ABA_GRADIENT
from kinetree.kernels.crba import CRBA
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.model_table import tree_table
from kinetree.kernels.number import LANES
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT
from kinetree.kernels.rnea import RNEA_UNLOADED
from kinetree.kernels.rnea_gradient import RNEA_GRADIENT
from kinetree.kernels.rnea_hessian import RNEA_HESSIAN
from support.each import each
from support.kernels import random_inputs

PACKING = (CRBA, RNEA_GRADIENT, ABA_GRADIENT, RNEA_HESSIAN, REACTION_GRADIENT)


@pytest.fixture
def tree():
    return kt.zoo.random_tree(4, 7).tree


@pytest.fixture
def call(tree):
    """The built-in function itself, after machine code for single states is there."""
    ready = prepared(RNEA_UNLOADED, tree)
    assert ready.single(*np.zeros((3, tree.n))) is not None
    return ready.call


@pytest.fixture
def state(tree, rng):
    return [x[0] for x in random_inputs(RNEA_UNLOADED, tree, rng, 1)]


class Odd(np.ndarray):
    """An array that may do anything."""


ODD = {
    "list": lambda x: x.tolist(),
    "nothing": lambda x: None,
    "number": lambda x: 1.0,
    "text": lambda x: "q",
    "every other": lambda x: np.repeat(x, 2)[::2],
    "backwards": lambda x: x[::-1],
    "float32": lambda x: x.astype(np.float32),
    "integers": lambda x: x.astype(int),
    "complex": lambda x: x.astype(complex),
    "objects": lambda x: x.astype(object),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "batch of one": lambda x: x[None],
    "three axes": lambda x: x[None, None],
    "no axis": lambda x: np.array(1.0),
    "subclass": lambda x: x.view(Odd),
    "masked": np.ma.masked_array,
    "too short": lambda x: x[1:],
    "too long": lambda x: np.append(x, 0.0),
    "empty": lambda x: x[:0],
    "unaligned": lambda x: np.frombuffer(b"." + x.tobytes(), dtype=np.uint8)[1:].view(np.float64),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", range(3))
def test_what_is_not_plain_is_refused(call, state, odd, place):
    assert call(*state) is not None
    state[place] = ODD[odd](state[place])
    assert call(*state) is None


def test_numbers_of_arguments(call, state):
    assert call() is None
    assert call(*state[:2]) is None
    assert call(*state, state[0]) is None
    with pytest.raises(TypeError):
        call(q=state[0])


def test_read_only_arrays_are_read(call, state):
    expected = call(*state)
    for x in state:
        x.setflags(write=False)
    assert np.array_equal(call(*state), expected)


def test_answers_are_arrays_of_their_own(call, state):
    first, second = call(*state), call(*state)
    assert type(first) is np.ndarray
    assert first.flags.owndata
    assert first.flags.writeable
    assert first.flags.c_contiguous
    assert not np.shares_memory(first, second)
    first[:] = 0.0
    assert np.array_equal(call(*state), second)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_states(call, tree, count, rng):
    inputs = random_inputs(RNEA_UNLOADED, tree, rng, count)
    alone = [call(*[x[k] for x in inputs]) for k in range(count)]
    assert np.array_equal(call(*inputs), alone)
    inputs[1][-1, -1] = np.nan
    assert call(*inputs) is None


def test_no_state_at_all(call, tree):
    assert call(*[np.zeros((0, tree.n))] * 3) is None


def test_batches_are_answered_once_there_is_machine_code(tree, rng):
    """Up to the size for which the GIL is kept."""
    call, limit = prepared(RNEA_UNLOADED, tree).call, running.WITH_GIL // tree.n
    inputs = random_inputs(RNEA_UNLOADED, tree, rng, limit + 1)
    assert call(*(x[:LANES].copy() for x in inputs)) is None
    expected = np.zeros_like(inputs[0])
    prepared(RNEA_UNLOADED, tree).fill(inputs, [expected])
    for count in (LANES, LANES + 1, 17, limit):
        found = call(*(x[:count].copy() for x in inputs))
        assert np.array_equal(found, expected[:count])
    assert call(*inputs) is None
    inputs[2][5] = np.inf
    assert call(*(x[:8].copy() for x in inputs)) is None


@each("kernel", PACKING, ids=lambda kernel: kernel.name)
@each("count", [1, 3, LANES, 6])
def test_full_arrays_of_batches(kernel, count, rng):
    tree = kt.zoo.quadruped().jointed_tree if kernel is REACTION_GRADIENT else kt.zoo.quadruped().tree
    inputs = random_inputs(kernel, tree, rng, 6)
    outputs = [np.zeros((6, width * tree.n)) for width in kernel.output_widths]
    entries = 6 * tree.n_bodies * tree.n if kernel is REACTION_GRADIENT else tree.n**2
    full = np.zeros(({CRBA: 1, RNEA_HESSIAN: 4}.get(kernel, 3), 6, entries))
    prepared(kernel, tree).fill(inputs, outputs, full)
    found = prepared(kernel, tree).single(*(x[:count].copy() for x in inputs))
    answers, matrices = found if outputs else (np.zeros(0), found)
    assert np.allclose(matrices.reshape(len(full), count, entries), full[:, :count], rtol=1e-12, atol=1e-12)
    assert matrices.shape[-1] == tree.n
    for answer, output in zip(answers if len(outputs) > 1 else [answers], outputs, strict=False):
        assert answer.shape == (count, output.shape[1])
        assert np.allclose(answer, output[:count], rtol=1e-12, atol=1e-12)
    inputs[0][0, 1] = np.nan
    assert prepared(kernel, tree).single(*(x[:count].copy() for x in inputs)) is None


def test_outputs_of_different_sizes_follow_each_other(tree, rng):
    inputs = random_inputs(KINEMATICS, tree, rng, 2)
    outputs = [np.zeros((2, width * tree.n)) for width in KINEMATICS.output_widths]
    prepared(KINEMATICS, tree).fill(inputs, outputs)
    found = prepared(KINEMATICS, tree).single(*inputs)
    assert np.allclose(found, np.concatenate([x.ravel() for x in outputs]), rtol=1e-13, atol=1e-13)


def test_counts_of_references_stay(call, state):
    refused = [*state[:2], state[2][1:]]
    before = [sys.getrefcount(x) for x in (*state, np.ndarray, np.dtype(float))], sys.getrefcount(None)
    for _ in range(1000):
        call(*state)
        call(*refused)
    after = [sys.getrefcount(x) for x in (*state, np.ndarray, np.dtype(float))], sys.getrefcount(None)
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 100  # others use None too
    assert sys.getrefcount(call(*state)) <= 2


@pytest.mark.parametrize("kernel", [RNEA_UNLOADED, RNEA_GRADIENT, CRBA], ids=lambda kernel: kernel.name)
def test_memory_is_given_back(kernel, tree, rng):
    call = prepared(kernel, tree).single
    good = [x[0] for x in random_inputs(kernel, tree, rng, 1)]
    bad = [np.full(tree.n, np.nan), *good[1:]]
    tracemalloc.start()
    try:
        sizes = []
        for _ in range(3):
            for _ in range(4000):
                call(*good)
                call(*bad)
            gc.collect()
            sizes.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert sizes[2] - sizes[1] < 100_000  # bytes; one array more per call would be 400 kB and more


def test_functions_outlive_what_made_them(state):
    tree = kt.zoo.random_tree(4, 7).tree
    expected = prepared(RNEA_UNLOADED, tree).single(*state)
    call = prepared(RNEA_UNLOADED, tree).call
    del tree
    gc.collect()
    assert np.array_equal(call(*state), expected)


def test_threads_share_a_call(call, tree, rng):
    inputs = random_inputs(RNEA_UNLOADED, tree, rng, 64)
    expected = [call(*[x[k] for x in inputs]) for k in range(64)]
    wrong = []

    def ask():
        for _ in range(200):
            for k in range(64):
                if not np.array_equal(call(*[x[k] for x in inputs]), expected[k]):
                    wrong.append(k)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ranges_take_only_plain_arrays(tree, rng):
    inputs = random_inputs(RNEA_UNLOADED, tree, rng, 9)
    table, memory = tree_table(tree), aligned(workspace_size(RNEA_UNLOADED, tree, LANES))
    out, run = np.zeros((9, tree.n)), many_states(RNEA_UNLOADED)
    assert run(table, memory, 0, 9, (*inputs, out)) is True
    for odd in (out.astype(np.float32), np.zeros((9, 2 * tree.n))[:, ::2], out.tolist(), None):
        with pytest.raises(TypeError, match="contiguous arrays of float64"):
            run(table, memory, 0, 9, (*inputs, odd))
    with pytest.raises(TypeError, match="contiguous arrays of float64"):
        run(table, memory, 0, 9, (*inputs, *[out] * 20))
    inputs[0][0] = np.nan
    assert run(table, memory, 0, 9, (*inputs, out)) is False
