"""Machine code = interpreter for every kernel, whatever the mechanism, the batch and the path taken."""

import ast
import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import kinetree.kernels
import kinetree.study.warmup as study_warmup
from kinetree.engine.code import many_states
from kinetree.engine.direct import _range_entry, _state_entry
from kinetree.kernels.catalogue import PLAIN, all_kernels
from kinetree.kernels.layout import Kernel
from kinetree.study.warmup import warmup
from support.kernels import (
    KERNELS,
    has_floating_base,
    interpreted,
    on_batch,
    on_single,
    random_inputs,
    rows_of,
    tree_for,
    width,
    zoo,
)

PACKAGE = Path(kinetree.kernels.__file__).parents[1]
ROUNDING = 1e-14  # of the largest number of its kind in the state
FELT = 1e-13  # of accelerations, measured as the torques M dqdd they stand for: thin wrists far from the base
INVERTED = 1e-12  # of pivots and of inverses of M, these measured the same way
MODELS = zoo()
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=list(KERNELS))
single_kernels = pytest.mark.parametrize("kernel", PLAIN, ids=lambda kernel: kernel.name)


def trees(kernel):
    """The trees of all mechanisms that a kernel can answer for."""
    found = {name: tree_for(kernel, mechanism) for name, mechanism in MODELS.items()}
    if kernel.name == "floating_inverse":
        return {name: tree for name, tree in found.items() if has_floating_base(tree)}
    return found


def small_tree(kernel):
    return trees(kernel)["planar_biped" if kernel.name == "floating_inverse" else "random 1"]


def errors(kernel, tree, q, found, expected):
    """Largest error of each answer over its tolerance, state by state."""
    M = on_batch(KERNELS["crba"], tree, [q])["matrix 0"] if uses_inverse(kernel) else None
    worst = {}
    for key, value in expected.items():
        if uses_inverse(kernel) and key.startswith("packed"):  # the full matrices tell the same
            continue
        new, old = written(key, kernel, tree, found[key]), written(key, kernel, tree, value)
        assert new.shape == old.shape
        assert np.isfinite(new).all()
        difference, scale = felt(key, kernel, M, new, old)
        if key == "torque":  # tau once more, from qdd
            scale = np.abs(M) @ np.abs(expected["qdd"])[..., None]
        floor = 0.1 * max(np.nanmax(np.abs(x), initial=0.0) for x in expected.values())  # zeros by symmetry
        worst[key] = worst_state(difference, np.maximum(scale, floor)) / tolerance(key, kernel)
    return worst


def uses_inverse(kernel):
    return kernel.name in ("aba", "aba_unloaded", "aba_alone", "aba_gradient", "mass_inverse", "udu")


def tolerance(key, kernel):
    if uses_inverse(kernel):
        return INVERTED if key == "pivot" or key.startswith("matrix") else FELT
    return FELT if kernel.name == "floating_inverse" else ROUNDING


def felt(key, kernel, M, found, expected):
    """Difference and scale of an answer; through M where M was inverted."""
    if kernel.name == "udu":
        found, expected = recomposed(found), recomposed(expected)
    elif M is not None and (key == "qdd" or key.startswith("matrix")):
        x, dx = (y if y.ndim == 3 else y[..., None] for y in (expected, found - expected))
        return np.abs(M @ dx), np.abs(M) @ np.abs(x)
    return np.abs(found - expected), np.abs(expected)


def worst_state(difference, scale):
    """max over states of the largest difference over the largest scale."""
    largest, scale = (x.reshape(len(x), -1).max(axis=1, initial=0.0) for x in (difference, scale))
    return float((largest / np.where(scale > 0, scale, 1.0)).max())


def written(key, kernel, tree, value):
    """Reactions are written for the axes that carry bodies only."""
    if (kernel.name, key) == ("reaction_gradient", "reaction"):
        return value.reshape(len(value), tree.n, 6)[:, tree.body_axis]
    return value


def recomposed(packed):
    """M = U D U^T of factors with D on the diagonal and U_ji in row i, column j."""
    D = np.diagonal(packed, axis1=1, axis2=2)
    U = np.swapaxes(packed, 1, 2) * (1 - np.eye(packed.shape[1])) + np.eye(packed.shape[1])
    return (U * D[:, None, :]) @ np.swapaxes(U, 1, 2)


def cut(answers, rows):
    return {key: value[rows] for key, value in answers.items()}


def assert_same_bits(found, expected):
    for key, value in expected.items():
        known = ~np.isnan(value)  # reactions are not written for axes without a body
        assert np.array_equal(found[key][known], value[known]), key


# ---- the catalogue ------------------------------------------------------------------------------------
def test_catalogue_has_every_kernel():
    found = set()
    for module in pkgutil.iter_modules(kinetree.kernels.__path__):
        content = vars(importlib.import_module(f"kinetree.kernels.{module.name}"))
        found |= {value for value in content.values() if isinstance(value, Kernel)}
    assert found == set(all_kernels())
    assert len(KERNELS) == len(all_kernels()) == len(found)  # names differ, none comes twice


def test_catalogue_knows_which_kernels_have_one_number_per_axis():
    for kernel in all_kernels():
        inputs, outputs = rows_of(kernel)
        plain = all(width(name, 7) == 7 for name in inputs + outputs)
        assert (kernel in PLAIN) == (plain and (kernel.entries is None or bool(kernel.targets)))
        assert kernel not in PLAIN or kernel.output_widths == (1,) * kernel.outputs


def test_warmup_compiles_every_shape():
    told = []
    seconds = warmup(lambda *piece: told.append(piece))
    assert seconds > 0
    names, counter, totals = zip(*told, strict=True)
    assert counter == tuple(range(1, len(told) + 1))
    assert set(totals) == {len(told)}
    assert len(set(names)) == len(told)
    for kernel in all_kernels():
        shapes = {name.partition(", ")[2] for name in names if name.startswith(f"{kernel.name}, ")}
        assert "many states" in shapes
        assert ("large batches" in shapes) == (kernel.entries is not None)
        assert ("full arrays" in shapes) == bool(kernel.targets or kernel.places)
        assert ("single state" in shapes) == (kernel.output_widths is not None)
    assert _state_entry.cache_info().currsize == _range_entry.cache_info().currsize == 1
    compiled = many_states.cache_info().misses
    warmup()  # all is in memory now
    assert many_states.cache_info().misses == compiled


def makers():
    """Functions outside the engine that make machine code and keep it, by module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.relative_to(PACKAGE).parts[0] == "engine":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            calls = {getattr(x.func, "id", "") for x in ast.walk(node) if isinstance(x, ast.Call)}
            if isinstance(node, ast.FunctionDef) and calls & {
                "compiled_callback",
                "compiled_function",
                "compiled_words",
            }:
                yield ".".join(("kinetree", *path.relative_to(PACKAGE).with_suffix("").parts)), node.name


def test_warmup_knows_all_that_makes_machine_code():
    """Else something would be compiled after it: code of closed loops was, and of batches with masses."""
    known = {
        (node.module, name.name)
        for node in ast.walk(ast.parse(Path(study_warmup.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }
    found = list(makers())
    assert len(found) > 20
    for module, name in found:
        room, _, file = module.rpartition(".")
        is_known = (module, name) in known or (f"{room}.code", name) in known
        assert is_known or (name == "compiled" and (room, file) in known), (module, name)
    assert any("each with its masses" in name for name, _ in study_warmup.pieces())


# ---- machine code and interpreter ---------------------------------------------------------------------
@every_kernel
def test_every_mechanism_and_batch_size(kernel, rng, monkeypatch):
    for name, tree in trees(kernel).items():
        inputs = random_inputs(kernel, tree, rng, 5)
        expected = interpreted(kernel, tree, inputs, monkeypatch)
        for count in (1, 3, 4, 5):
            batch = [x[:count].copy() for x in inputs]
            found = errors(kernel, tree, batch[0], on_batch(kernel, tree, batch), cut(expected, slice(count)))
            assert found
            assert max(found.values()) < 1.0, (name, count, found)


@every_kernel
def test_many_states(kernel, rng, monkeypatch):
    tree = small_tree(kernel)
    inputs = random_inputs(kernel, tree, rng, 1023)
    found = on_batch(kernel, tree, inputs)
    worst = errors(kernel, tree, inputs[0], found, interpreted(kernel, tree, inputs, monkeypatch))
    assert max(worst.values()) < 10.0, worst  # the worst conditioned of a thousand states
    for rows in (slice(1), slice(3), slice(4), slice(5), slice(1018, 1023)):
        batch = [np.ascontiguousarray(x[rows]) for x in inputs]
        assert_same_bits(on_batch(kernel, tree, batch), cut(found, rows))


@every_kernel
def test_large_batches_are_streamed_without_a_difference(kernel, rng, monkeypatch):
    """Results too large for the caches are written past them, by machine code of its own."""
    tree = small_tree(kernel)
    inputs = random_inputs(kernel, tree, rng, 9)
    cached = on_batch(kernel, tree, inputs)
    monkeypatch.setattr("kinetree.engine.run.STREAMING_WORTH", 0)
    assert_same_bits(on_batch(kernel, tree, inputs), cached)


# ---- one state ----------------------------------------------------------------------------------------
@single_kernels
def test_single_state_equals_batch(kernel, rng):
    for name, tree in trees(kernel).items():
        inputs = random_inputs(kernel, tree, rng, 2)
        batch = on_batch(kernel, tree, inputs)
        alone = [on_single(kernel, tree, [x[k] for x in inputs]) for k in range(2)]
        found = {key: np.array([answers[key] for answers in alone]) for key in alone[0]}
        worst = errors(kernel, tree, inputs[0], found, {key: batch[key] for key in found})
        assert worst
        assert max(worst.values()) < 1.0, (name, worst)


@single_kernels
def test_single_state_gives_the_same_again(kernel, rng):
    """The memory of a state that was answered before does not shine through."""
    tree = small_tree(kernel)
    inputs = random_inputs(kernel, tree, rng, 2)
    first = on_single(kernel, tree, [x[0] for x in inputs])
    other = on_single(kernel, tree, [x[1] for x in inputs])
    assert any((first[key] != other[key]).any() for key in first)
    assert_same_bits(on_single(kernel, tree, [x[0] for x in inputs]), first)


@single_kernels
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_single_state_refuses_what_is_not_finite(kernel, rng, bad):
    tree = small_tree(kernel)
    for k in range(kernel.inputs):
        for place in (0, -1):
            inputs = [x[0] for x in random_inputs(kernel, tree, rng, 1)]
            inputs[k][place] = bad
            assert on_single(kernel, tree, inputs) is None


@single_kernels
def test_single_state_refuses_wrong_lengths(kernel, rng):
    tree = small_tree(kernel)
    for k in range(kernel.inputs):
        for change in (lambda x: x[1:].copy(), lambda x: np.append(x, 0.0), lambda x: x[:0].copy()):
            inputs = [x[0] for x in random_inputs(kernel, tree, rng, 1)]
            inputs[k] = change(inputs[k])
            assert on_single(kernel, tree, inputs) is None
