"""Full arrays from packed numbers: block by block, from packed batches, for single states."""

import numpy as np
import pytest

from kinetree.engine import run
from kinetree.engine.run import prepared
from kinetree.engine.unpack import unpacked
from kinetree.kernels.catalogue import all_kernels
from kinetree.kernels.kinematics import KINEMATICS
from kinetree.kernels.model_table import aimed_tree, packed_rows
from kinetree.kernels.number import LANES
from kinetree.kernels.reaction_gradient import REACTION_GRADIENT
from support.kernels import has_floating_base, random_inputs, rows_of, tree_for, width, zoo

MODELS = zoo()
UNPACKING = [kernel for kernel in all_kernels() if kernel.targets or kernel.places]
unpacking = pytest.mark.parametrize("kernel", UNPACKING, ids=lambda kernel: kernel.name)


def full_of(kernel, tree, inputs, threads=1):
    count = len(inputs[0])
    outputs = [np.full((count, width(name, tree.n)), np.nan) for name in rows_of(kernel)[1]]
    arrays, entries = prepared(kernel, tree).places.shape
    full = np.full((arrays, count, entries), np.nan)
    prepared(kernel, tree).fill(inputs, outputs, full, threads)
    return outputs, full


def packed_of(kernel, tree, inputs):
    """Packed numbers state by state, and the blocks they come from."""
    count = len(inputs[0])
    outputs = [np.zeros((count, width(name, tree.n))) for name in rows_of(kernel)[1]]
    blocks = prepared(kernel, tree).pack(inputs, outputs, 1)
    flat = blocks.transpose(0, 3, 1, 2).reshape(-1, blocks.shape[1] * blocks.shape[2])
    place = np.arange(count)
    if count > LANES:
        place[place >= (len(blocks) - 1) * LANES] += len(blocks) * LANES - count
    return flat[place], blocks


@unpacking
@pytest.mark.parametrize("count", [1, 3, 4, 7, 18])
def test_block_by_block_equals_all_at_once(kernel, count, rng):
    tree = tree_for(kernel, MODELS["random 3"])
    inputs = random_inputs(kernel, tree, rng, count)
    _, full = full_of(kernel, tree, inputs)
    packed, blocks = packed_of(kernel, tree, inputs)
    expected = unpacked(packed, prepared(kernel, tree).places)
    assert np.array_equal(full, expected)
    again = np.full(full.shape, np.nan)
    prepared(kernel, tree).unpack(blocks, again, 1)
    assert np.array_equal(again, expected)


@unpacking
def test_past_the_caches_the_same_is_written(kernel, rng, monkeypatch):
    """With odd and even numbers of entries, at any address."""
    for name in ("two_link_point_masses", "random 1", "random 3"):
        tree = tree_for(kernel, MODELS[name])
        inputs = random_inputs(kernel, tree, rng, 9)
        _, expected = full_of(kernel, tree, inputs)
        with monkeypatch.context() as patch:
            patch.setattr(run, "STREAMING_WORTH", 0)
            for shift in range(8):  # of a cache line
                memory = np.full(expected.size + 8, np.nan)
                full = memory[shift : shift + expected.size].reshape(expected.shape)
                outputs = [np.zeros((9, width(k, tree.n))) for k in rows_of(kernel)[1]]
                prepared(kernel, tree).fill(inputs, outputs, full, 1)
                assert np.array_equal(full, expected)
                assert np.isnan(memory[:shift]).all() and np.isnan(memory[shift + expected.size :]).all()


def test_more_entries_than_a_chunk_go_past_the_caches(rng, monkeypatch):
    tree = MODELS["humanoid"].jointed_tree
    inputs = random_inputs(REACTION_GRADIENT, tree, rng, 6)
    _, expected = full_of(REACTION_GRADIENT, tree, inputs)
    monkeypatch.setattr(run, "STREAMING_WORTH", 0)
    _, full = full_of(REACTION_GRADIENT, tree, inputs, threads=2)
    assert np.array_equal(full, expected)


@unpacking
def test_every_packed_row_has_its_place(kernel):
    """On the diagonal, what is up and what is low are the same number, so one of them is left out."""
    for mechanism in MODELS.values():
        tree = tree_for(kernel, mechanism)
        rows, width = packed_rows(kernel, tree), kernel.entries.width
        used = prepared(kernel, tree).places[prepared(kernel, tree).places != rows * width]
        assert set((used // width).tolist()) == set(range(rows))
        assert rows == 0 or len(np.unique(used)) >= rows * width - tree.n * (width // 2)


@pytest.mark.parametrize("kernel", [REACTION_GRADIENT, KINEMATICS], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("name", ["quadruped", "humanoid", "planar_biped"])
def test_single_states_of_wide_kernels(kernel, name, rng):
    tree = tree_for(kernel, MODELS[name])
    inputs = random_inputs(kernel, tree, rng, 1)
    found = prepared(kernel, tree).single(*(x[0].copy() for x in inputs))
    numbers = np.concatenate([x.ravel() for x in (found if isinstance(found, tuple) else (found,))])
    if kernel.entries is None:
        outputs = [np.zeros((1, width(k, tree.n))) for k in rows_of(kernel)[1]]
        prepared(kernel, tree).fill(inputs, outputs, None, 1)
        expected = np.concatenate([x.ravel() for x in outputs])
    else:
        outputs, full = full_of(kernel, tree, inputs)
        expected = np.concatenate([*(x.ravel() for x in outputs), full.ravel()])
    assert np.allclose(numbers, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
    bad = [x[0].copy() for x in inputs]
    bad[1][0] = np.nan
    assert prepared(kernel, tree).single(*bad) is None


def test_aimed_trees_are_made_once_and_leave_the_tree_alone():
    tree = MODELS["humanoid"].tree
    before = prepared(UNPACKING[0], tree).places.copy()
    aimed = aimed_tree(tree, 3)
    assert aimed_tree(tree, 3) is aimed is not tree
    assert aimed.kept is not tree.kept
    assert np.array_equal(prepared(UNPACKING[0], tree).places, before)
    assert has_floating_base(tree) == has_floating_base(aimed)
