"""Newton's system of the barrier problem: its step against the KKT system, where equations bend much."""

import numpy as np
import pytest

from kinetree.motion.solvers.barrier import Barrier, Iterate
from kinetree.motion.solvers.newton import BarrierRows, Newton
from motion.test_merit_search import Sheet


def system(pull):
    """The sheet at z0 z1 = 3, whose equation has the multiplier ``pull``, with a slack at 0.5."""
    sheet = Sheet()
    barrier = Barrier(sheet)
    rows = BarrierRows(sheet, barrier)
    at = Iterate(
        np.array([2.0, 1.5, 0.7, 0.5]), np.array([pull, 0.4]), np.array([0.1, 0.2, 0.3]), np.full(4, 0.2)
    )
    z = at.v[:3]
    J = np.array([[z[1], z[0], 0.0], [0.0, 0.0, 1.0]])
    dual = sheet.gradient(z) + J.T @ at.y
    newton = Newton(barrier, rows, at, sheet.jacobian(z)[rows.order], dual)
    return barrier, at, J, dual, newton


@pytest.mark.parametrize("pull", [0.3, -10.0, -1e4, -1e8])
def test_a_step_solves_the_kkt_system_where_only_the_equation_is_not_convex(pull):
    """H is definite along the hyperbola and has the eigenvalue ``pull`` across it: nothing is shifted."""
    mu, (barrier, at, J, dual, newton) = 0.02, system(pull)
    z, s = at.v[:3], at.v[3]
    c = np.array([z[0] * z[1] - 2.0, z[2] - s])
    assert newton.good and barrier.shift == 0.0
    step = newton.step(c, mu)
    d_low, d_high = barrier.distances(at.v)
    W = np.diag([1.0, 1.0, 1.0, 0.0])
    W[0, 1] = W[1, 0] = pull
    W[:3, :3] += np.diag(at.low / d_low + at.high[:3] / d_high[:3])
    W[3, 3] = at.high[3] / d_high[3]
    slope = np.append(dual, -at.y[1])  # of the Lagrange function, with the barriers instead of multipliers
    slope += mu * (np.append(-1.0 / d_low, 0.0) + 1.0 / d_high)
    rows_of_v = np.column_stack([J, [0.0, -1.0]])
    kkt = np.block([[W, rows_of_v.T], [rows_of_v, np.zeros((2, 2))]])
    expected = np.linalg.solve(kkt, -np.concatenate([slope, c]))
    assert np.allclose(step.v, expected[:4], rtol=1e-7)
    assert np.allclose(step.y, expected[4:], rtol=1e-7)


def test_what_is_not_convex_along_the_equation_is_shifted():
    """Along the hyperbola the curvature is 1 - 2 pull z0 z1 / |z|^2 and what bounds add."""
    barrier, _, _, _, newton = system(10.0)
    assert newton.good and 1.0 < barrier.shift < 100.0
