"""Functions of JAX arrays: derivatives of both modes and both orders, compiled and batched, refusals."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.errors import InputError

jax = pytest.importorskip("jax")
ktj = pytest.importorskip("kinetree.jax")
from jax.test_util import check_grads  # noqa: E402

ARM = kt.zoo.chain(4)


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def asked():
    return {
        "inverse_dynamics": (lambda *x: ktj.inverse_dynamics(ARM, *x), 3),
        "forward_dynamics": (lambda *x: ktj.forward_dynamics(ARM, *x), 3),
        "mass_matrix": (lambda q: ktj.mass_matrix(ARM, q), 1),
        "forward_kinematics": (lambda q: ktj.forward_kinematics(ARM, q, "link4"), 1),
    }


@pytest.mark.parametrize("name", asked())
def test_derivatives_of_both_modes_and_orders(name):
    function, count = asked()[name]
    rows = list(np.random.default_rng(1).random((count, 2, 4)))
    check_grads(function, rows, order=2, modes=("fwd", "rev"), atol=1e-4, rtol=1e-4)


def test_compiled_batches_agree_with_exact_derivatives():
    q, qd, tau = np.random.default_rng(2).random((3, 6, 4))
    function = jax.jit(jax.vmap(jax.jacrev(lambda *x: ktj.forward_dynamics(ARM, *x))))
    exact = kt.forward_dynamics_derivatives(ARM, q, qd, tau)
    assert np.allclose(function(q, qd, tau), exact.dqdd_dq, rtol=1e-12)
    hessian = jax.hessian(lambda x: ktj.inverse_dynamics(ARM, x, qd[0], tau[0]) @ tau[1])(q[0])
    assert np.allclose(hessian, kt.analysis.torque_hessian(ARM, q[0], qd[0], tau[0], tau[1]).q_q)


def test_precision_is_that_of_the_arguments():
    found = ktj.inverse_dynamics(
        ARM, np.zeros((2, 4), np.float32), np.zeros(4, np.float32), np.zeros(4, np.float32)
    )
    assert found.dtype == np.float32 and found.shape == (2, 4)


def test_wrong_arrays_are_refused():
    zero = np.zeros(4)
    with pytest.raises(InputError, match="do not fit together"):
        ktj.inverse_dynamics(ARM, np.zeros((3, 4)), np.zeros((2, 4)), zero)
    with pytest.raises(InputError, match=r"q must have shape \(..., 4\), got \(1,\)"):
        ktj.inverse_dynamics(ARM, np.zeros(1), zero, zero)
    with pytest.raises(InputError, match="arrays of numbers"):
        ktj.mass_matrix(ARM, "a")
    with pytest.raises(InputError, match=r"shape \(..., 4\)"):
        ktj.mass_matrix(ARM, np.zeros(3))
    with pytest.raises(InputError, match="must be real"):
        ktj.mass_matrix(ARM, zero * 1j)
    with pytest.raises(InputError, match="opened"):
        ktj.mass_matrix(kt.zoo.four_bar(), np.zeros(3))
