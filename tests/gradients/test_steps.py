"""A step as a function: slopes by rows, quaternions included, against differences; PyTorch and JAX."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError
from kinetree.gradients.steps import StepFunction
from kinetree.simulation import stepper as steps

GROUND = kt.Ground(kt.simulation.Soil(friction=0.3), normal=(0, 0, 1))


@pytest.fixture(autouse=True)
def exact_steps(monkeypatch):
    monkeypatch.setitem(steps.PRESET, "tolerance", 1e-15)


def block():
    build = kt.Builder("block")
    body = build.world.free("base").body("block", kt.Inertia.box(1.0, (0.2, 0.2, 0.1)))
    for k in range(4):
        body.contact(f"p{k}", at=(0.1 * (-1) ** k, 0.1 * (-1) ** (k // 2), -0.05))
    return build.build()


def sliding():
    """A block that slides on its corners, one of them lifted."""
    stepper = kt.Stepper(block(), 0.002, batch=2, ground=GROUND, coordinates="quaternion")
    turn = np.array([1.0, 0.01, 0.015, 0.002])
    q = np.concatenate([[0.0, 0.0, 0.0525], turn / np.linalg.norm(turn)])
    rows = np.tile(q, (2, 1)), np.tile([0.5, 0.2, -0.05, 0.0, 0.1, 0.3], (2, 1))
    return stepper, (*rows, np.full((2, 6), 0.1), np.zeros((2, 6)))


def test_slopes_are_those_of_differences():
    stepper, rows = sliding()
    function, rng = StepFunction(stepper, 3), np.random.default_rng(0)
    weights = rng.normal(size=(2, 7)), rng.normal(size=(2, 6))

    def value(*rows):
        q, qd = function.value(*rows)
        return (weights[0] * q).sum() + (weights[1] * qd).sum()

    slopes = function.slopes(*weights, *rows)
    assert stepper.contact.force[0, :, 2].any()
    for k, row in enumerate(rows):
        change = rng.normal(size=row.shape)
        if k == 0:  # along the unit sphere
            u = row[:, 3:]
            change[:, 3:] -= u * (u * change[:, 3:]).sum(axis=1, keepdims=True)
        plus, minus = list(rows), list(rows)
        plus[k], minus[k] = row + 1e-6 * change, row - 1e-6 * change
        expected = (value(*plus) - value(*minus)) / 2e-6
        assert (slopes[k] * change).sum() == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_torch():
    torch = pytest.importorskip("torch")
    ktt = pytest.importorskip("kinetree.torch")
    stepper, rows = sliding()
    tensors = [torch.tensor(row, requires_grad=k > 0) for k, row in enumerate(rows)]
    assert torch.autograd.gradcheck(
        lambda *x: ktt.step(stepper, tensors[0], *x, times=2), tensors[1:], eps=1e-6, atol=1e-5
    )
    single = [torch.tensor(row[0], dtype=torch.float32) for row in rows]
    q, qd = ktt.step(stepper, *single)
    assert q.dtype == torch.float32 and q.shape == (2, 7) and qd.shape == (2, 6)
    with pytest.raises(InputError, match="qd must have shape"):
        ktt.step(stepper, tensors[0], tensors[0])


def test_jax():
    jax = pytest.importorskip("jax")
    ktj = pytest.importorskip("kinetree.jax")
    stepper, rows = sliding()
    with jax.enable_x64(True):
        given = [jax.numpy.asarray(row) for row in rows]
        found = jax.jit(jax.grad(lambda *x: ktj.step(stepper, *x)[1].sum(), argnums=(1, 2)))(*given)
    expected = StepFunction(stepper).slopes(np.zeros((2, 7)), np.ones((2, 6)), *rows)
    assert np.allclose(found[0], expected[1], atol=1e-12) and np.allclose(found[1], expected[2], atol=1e-12)


def test_refused():
    with pytest.raises(InputError, match="quaternions"):
        StepFunction(kt.Stepper(block()))
    with pytest.raises(InputError, match=r"needs a kt\.Stepper"):
        StepFunction(block())
    with pytest.raises(InputError, match="times"):
        StepFunction(kt.Stepper(kt.zoo.two_link()), 0)
