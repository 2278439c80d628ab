"""Functions of tensors: gradients of both orders as PyTorch checks them, batches, precision, refusals."""

import subprocess
import sys

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError

torch = pytest.importorskip("torch")
ktt = pytest.importorskip("kinetree.torch")
ARM = kt.zoo.chain(4)


def asked():
    return {
        "inverse_dynamics": (lambda *x: ktt.inverse_dynamics(ARM, *x), 3),
        "forward_dynamics": (lambda *x: ktt.forward_dynamics(ARM, *x), 3),
        "mass_matrix": (lambda q: ktt.mass_matrix(ARM, q), 1),
        "forward_kinematics": (lambda q: ktt.forward_kinematics(ARM, q, "link4"), 1),
    }


@pytest.mark.parametrize("name", asked())
def test_gradients_and_their_gradients(name):
    function, count = asked()[name]
    torch.manual_seed(1)
    rows = [torch.rand(2, 4, dtype=torch.float64, requires_grad=True) for _ in range(count)]
    assert torch.autograd.gradcheck(function, rows, atol=1e-5)
    assert torch.autograd.gradgradcheck(function, rows, atol=1e-4)


def test_values_and_transforms_of_torch_func():
    torch.manual_seed(2)
    q, qd, tau = torch.rand(3, 5, 4, dtype=torch.float64)
    exact = kt.forward_dynamics_derivatives(ARM, q.numpy(), qd.numpy(), tau.numpy())
    assert np.array_equal(ktt.forward_dynamics(ARM, q, qd, tau), kt.forward_dynamics(ARM, q, qd, tau))
    slopes = torch.func.vmap(torch.func.jacrev(lambda *x: ktt.forward_dynamics(ARM, *x)))(q, qd, tau)
    assert np.allclose(slopes, exact.dqdd_dq, rtol=1e-12)

    def total(x):
        return ktt.forward_dynamics(ARM, x, qd[0], tau[0]).sum()

    modes = torch.func.jacfwd, torch.func.jacrev
    every = [outer(inner(total))(q[0]) for outer in modes for inner in modes]
    assert all(torch.allclose(x, every[0], rtol=1e-10) for x in every)
    assert torch.allclose(every[0], every[0].T, atol=1e-12)
    with pytest.raises(InputError, match="third"):
        torch.func.jacrev(torch.func.jacrev(torch.func.jacrev(total)))(q[0])


def test_shapes_broadcast_and_precision_is_kept():
    q = torch.rand(3, 1, 4, requires_grad=True)  # single precision
    found = ktt.inverse_dynamics(ARM, q, np.zeros(4), torch.zeros(5, 4))
    assert (found.shape, found.dtype) == ((3, 5, 4), torch.float64)  # NumPy's zeros are double
    single = ktt.inverse_dynamics(ARM, q, torch.zeros(4), torch.zeros(4))
    assert single.dtype == torch.float32
    single.sum().backward()
    assert q.grad.shape == q.shape and q.grad.dtype == torch.float32


def test_arrays_of_others_through_dlpack():
    tau = kt.inverse_dynamics(ARM, *torch.zeros(3, 4, dtype=torch.float64))
    assert torch.from_dlpack(tau).shape == (4,)


def test_wrong_tensors_are_refused():
    zero = torch.zeros(4)
    for bad, words in (
        ((torch.zeros(5), zero, zero), r"q must have shape \(..., 4\), got \(5,\)"),
        ((torch.zeros(1), zero, zero), r"q must have shape \(..., 4\), got \(1,\)"),
        ((torch.zeros(2, 4), torch.zeros(3, 4), zero), "do not fit together"),
        ((torch.full((4,), torch.nan), zero, zero), "finite|nan"),
        ((zero.to(torch.complex64), zero, zero), "must be real"),
        ((zero.to("meta"), zero, zero), "device 'meta'"),
        (("high", zero, zero), "q must be a tensor"),
    ):
        with pytest.raises(InputError, match=words):
            ktt.inverse_dynamics(ARM, *bad)
    with pytest.raises(InputError, match="opened"):
        ktt.mass_matrix(kt.zoo.four_bar(), torch.zeros(3))
    with pytest.raises(InputError, match="Did you mean 'link"):
        ktt.forward_kinematics(ARM, zero, "lnk4")


def test_an_absent_torch_is_named(tmp_path):
    code = "import sys; sys.modules['torch'] = None\nimport kinetree.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingExtraError" in done.stderr and "[torch]" in done.stderr.splitlines()[-1]
