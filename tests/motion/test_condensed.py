"""Arithmetic of the interior-point method: against dense formulas, its step against the whole KKT system."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kinetree.motion.compiled import condensed

EQUAL, MU, TAU = 50.0, 0.3, 0.99


@pytest.fixture(params=["compiled", "interpreted"])
def ask(request):
    """One of the functions, compiled or not."""
    return condensed.compiled if request.param == "compiled" else lambda function: function


@pytest.fixture
def case(rng):
    """5 unknowns, 7 rows of which 2 are equations; some unknowns and slacks bounded on one side or both."""
    n, m = 5, 7
    equal, open_rows = np.array([1, 4]), np.array([0, 2, 3, 5, 6])
    slack = np.full(m, -1)
    slack[open_rows] = n + np.arange(len(open_rows))
    size = n + len(open_rows)
    v = rng.standard_normal(size)
    a, b = np.array([0, 2, 5, 7, 8]), np.array([2, 3, 5, 6, 9])
    J = rng.standard_normal((m, n)) * (rng.random((m, n)) < 0.7)
    J[np.arange(m), np.arange(m) % n] = 1.0  # no empty rows
    rows, columns = np.nonzero(J)
    W = rng.standard_normal((n, n))
    W = W @ W.T + 5 * np.eye(n)
    lower = np.tril_indices(n)
    return SimpleNamespace(
        n=n, m=m, equal=equal, open=open_rows, slack=slack, size=size, v=v, J=J, W=W,
        a=a, low=v[a] - rng.uniform(0.1, 2, len(a)), b=b, high=v[b] + rng.uniform(0.1, 2, len(b)),
        pull=rng.uniform(0.1, 2, len(a)), push=rng.uniform(0.1, 2, len(b)), y=rng.standard_normal(m),
        slope=rng.standard_normal(n), c=rng.standard_normal(m), values=J[rows, columns],
        columns=columns.astype(np.int64), starts=np.searchsorted(rows, np.arange(m + 1)).astype(np.int64),
        hessian=W[lower], places=(lower[1] * n + lower[0]).astype(np.int64),
    )  # fmt: skip


def bounds(x):
    return x.a, x.low, x.b, x.high


def on(size, places, values):
    """Values at their places, summed, zero elsewhere."""
    full = np.zeros(size)
    np.add.at(full, places, values)
    return full


def test_room_ends_at_the_first_bound(ask, case, rng):
    dv = 3.0 * rng.standard_normal(case.size)
    step = ask(condensed.room)(case.v, dv, *bounds(case), TAU)
    lengths = np.linspace(0.0, 1.0, 200_001)
    low = (case.v - np.zeros(1))[case.a, None] + lengths * dv[case.a, None] - case.low[:, None]
    high = case.high[:, None] - case.v[case.b, None] - lengths * dv[case.b, None]
    fine = np.vstack([low - (1 - TAU) * low[:, :1], high - (1 - TAU) * high[:, :1]]).min(axis=0) >= -1e-12
    assert step == pytest.approx(lengths[fine].max(), abs=1e-5)
    assert ask(condensed.room)(case.v, np.zeros(case.size), *bounds(case), TAU) == 1.0


def test_slacks_settle_where_the_merit_is_lower(ask, case, rng):
    """Against the merit of each slack on a fine grid between where it was and its row."""
    lower, upper = np.full(case.size, -np.inf), np.full(case.size, np.inf)
    lower[case.a], upper[case.b] = case.low, case.high
    g, price = 3.0 * rng.standard_normal(case.m), 0.7
    found = case.v.copy()
    ask(condensed.settle)(g, case.slack, found, lower, upper, MU, price)
    untouched = np.setdiff1d(np.arange(case.size), case.slack[case.open])
    assert np.array_equal(found[untouched], case.v[untouched])

    def merit(k, row, s):
        with np.errstate(invalid="ignore", divide="ignore"):
            room = [np.log(d) for d in (s - lower[k], upper[k] - s) if np.isfinite(d).all()]
        return price * np.abs(g[row] - s) - MU * sum(room)

    for row in case.open:
        k = case.slack[row]
        assert lower[k] < found[k] < upper[k]
        assert merit(k, row, found[k]) <= merit(k, row, case.v[k]) + 1e-12
        if not (np.isfinite(lower[k]) and np.isfinite(upper[k])):  # then no other place is better on the way
            way = np.linspace(case.v[k], g[row], 2001)
            way = way[(way > lower[k]) & (way < upper[k])]
            assert merit(k, row, found[k]) <= merit(k, row, way).min() + 1e-6


def test_room_of_multipliers_keeps_them_positive(ask, case, rng):
    d_pull, d_push = rng.standard_normal(len(case.pull)) * 3, rng.standard_normal(len(case.push)) * 3
    step = ask(condensed.room_of_multipliers)(case.pull, d_pull, case.push, d_push, TAU)
    both, change = np.append(case.pull, case.push), np.append(d_pull, d_push)
    limits = [TAU * x / -d for x, d in zip(both, change, strict=True) if d < 0]
    assert step == pytest.approx(min([1.0, *limits]))


def test_logarithms_and_complementarity(ask, case, rng):
    d_low, d_high = case.v[case.a] - case.low, case.high - case.v[case.b]
    total = ask(condensed.logarithms)(case.v.copy(), *bounds(case), 1e-12)
    assert total == pytest.approx(np.log(np.append(d_low, d_high)).sum())
    gap = ask(condensed.complementarity)(case.v, *bounds(case), case.pull, case.push)
    assert gap == pytest.approx(d_low @ case.pull + d_high @ case.push)
    least = ask(condensed.least_complementarity)(case.v, *bounds(case), case.pull, case.push)
    assert least == pytest.approx(min((d_low * case.pull).min(), (d_high * case.push).min()))
    dv, d_pull, d_push = (rng.standard_normal(k) for k in (case.size, len(case.pull), len(case.push)))
    primal, dual = 0.3, 0.6
    after = ask(condensed.complementarity_after)(
        case.v, dv, *bounds(case), case.pull, d_pull, case.push, d_push, primal, dual
    )
    moved = ask(condensed.complementarity)(
        case.v + primal * dv, *bounds(case), case.pull + dual * d_pull, case.push + dual * d_push
    )
    assert after == pytest.approx(moved)


def test_a_point_on_its_bound_is_moved_off(ask, case):
    v = case.v.copy()
    v[case.a[0]] = case.low[0]
    ask(condensed.logarithms)(v, *bounds(case), 1e-6)
    assert v[case.a[0]] == pytest.approx(case.low[0] + 1e-6)
    assert np.array_equal(np.delete(v, case.a[0]), np.delete(case.v, case.a[0]))


def test_residual_and_optimality_are_the_dense_ones(ask, case, rng):
    g, target, c = rng.standard_normal(case.m), rng.standard_normal(case.m), np.empty(case.m)
    total = ask(condensed.residual)(g, target, case.slack, case.v, c)
    expected = g - target
    expected[case.open] = g[case.open] - case.v[case.n :]
    assert np.allclose(c, expected) and total == pytest.approx(np.abs(expected).sum())
    dual = case.slope + case.J.T @ case.y
    found = ask(condensed.optimality)(
        dual, case.y, c, case.slack, case.v, *bounds(case), case.pull, case.push, MU, np.empty(case.size)
    )
    lagrangian = np.append(dual, -case.y[case.open])
    lagrangian += on(case.size, case.b, case.push) - on(case.size, case.a, case.pull)
    gap = np.append((case.v[case.a] - case.low) * case.pull, (case.high - case.v[case.b]) * case.push) - MU
    assert found == pytest.approx(max(np.abs(lagrangian).max(), np.abs(c).max(), np.abs(gap).max()))


def test_large_multipliers_are_scaled_away(ask, case):
    """s_d = max(100, mean multiplier) / 100: Waechter and Biegler 2006, eq. 5."""
    y, none = 1e6 * case.y, np.zeros(0)
    nowhere = np.zeros(0, dtype=np.int64)
    dual = case.J.T @ y
    found = ask(condensed.optimality)(
        dual, y, np.zeros(case.m), case.slack, case.v, nowhere, none, nowhere, none, none, none, 0.0,
        np.empty(case.size),
    )  # fmt: skip
    worst = max(np.abs(dual).max(), np.abs(y[case.open]).max())
    assert found == pytest.approx(worst / (np.abs(y).mean() / 100.0))


def test_sums_over_rows_are_matrix_products(ask, case):
    out = case.slope.copy()
    ask(condensed.transposed_times)(case.values, case.starts, case.columns, case.y, out)
    assert np.allclose(out, case.slope + case.J.T @ case.y)
    product, H = np.empty(case.m), np.eye(case.n)
    ask(condensed.times)(case.values, case.starts, case.columns, case.slope, product)
    assert np.allclose(product, case.J @ case.slope)
    ask(condensed.add_squares)(case.values, case.starts, case.columns, np.abs(case.c), H)
    assert np.allclose(np.triu(H), np.triu(np.eye(case.n) + (case.J.T * np.abs(case.c)) @ case.J))
    sigma, unit, weight = np.empty(case.size), np.empty(case.size), np.empty(case.m)
    ask(condensed.curb)(case.v, *bounds(case), case.pull, case.push, case.slack, EQUAL, sigma, unit, weight)
    d_low, d_high = case.v[case.a] - case.low, case.high - case.v[case.b]
    assert np.allclose(
        sigma, on(case.size, case.a, case.pull / d_low) + on(case.size, case.b, case.push / d_high)
    )
    assert np.allclose(unit, on(case.size, case.b, 1 / d_high) - on(case.size, case.a, 1 / d_low))
    assert np.allclose(weight[case.open], sigma[case.n :]) and (weight[case.equal] == EQUAL).all()
    H = np.zeros((case.n, case.n))
    ask(condensed.condense)(
        case.values, case.starts, case.columns, weight, sigma, case.hessian, case.places, H
    )
    expected = case.W + np.diag(sigma[: case.n]) + case.J.T @ (weight[:, None] * case.J)
    assert np.allclose(np.triu(H), np.triu(expected))


def test_the_condensed_step_solves_the_whole_system(ask, case):
    """Unknowns, slacks, multipliers of rows and of bounds at once, without any elimination, by NumPy."""
    x, n, m, size = case, case.n, case.m, case.size
    dual = x.slope + x.J.T @ x.y
    sigma, unit, weight = np.empty(size), np.empty(size), np.empty(m)
    ask(condensed.curb)(x.v, *bounds(x), x.pull, x.push, x.slack, EQUAL, sigma, unit, weight)
    H, right = np.zeros((n, n)), np.empty(n)
    ask(condensed.condense)(x.values, x.starts, x.columns, weight, sigma, x.hessian, x.places, H)
    H = np.triu(H) + np.triu(H, 1).T
    system = (x.values, x.starts, x.columns, x.slack, weight, x.c, MU, unit, x.y)
    ask(condensed.right_side)(*system, dual, right)
    dz, J_equal = np.linalg.solve(H, right), x.J[x.equal]
    carried = np.linalg.solve(H, J_equal.T)
    dy = np.zeros(m)
    dy[x.equal] = np.linalg.solve(J_equal @ carried, J_equal @ dz + x.c[x.equal])
    dz = dz - carried @ dy[x.equal]
    dv = np.empty(size)
    ask(condensed.expand)(*system, dz, dv, dy)
    d_pull, d_push = np.empty(len(x.pull)), np.empty(len(x.push))
    ask(condensed.expand_bounds)(x.v, dv, *bounds(x), x.pull, x.push, MU, d_pull, d_push)

    A = np.zeros((m, size))  # dc/dv
    A[:, :n] = x.J
    A[x.open, x.slack[x.open]] = -1.0
    low, high = np.zeros((len(x.a), size)), np.zeros((len(x.b), size))
    low[np.arange(len(x.a)), x.a], high[np.arange(len(x.b)), x.b] = 1.0, 1.0
    W = np.zeros((size, size))
    W[:n, :n] = x.W
    d_low, d_high = x.v[x.a] - x.low, x.high - x.v[x.b]
    none = np.zeros
    matrix = np.block([
        [W, A.T, -low.T, high.T],
        [A, none((m, m + len(x.a) + len(x.b)))],
        [x.pull[:, None] * low, none((len(x.a), m)), np.diag(d_low), none((len(x.a), len(x.b)))],
        [-x.push[:, None] * high, none((len(x.b), m + len(x.a))), np.diag(d_high)],
    ])  # fmt: skip
    slope = np.append(x.slope, np.zeros(size - n))
    wanted = -np.concatenate([
        slope + A.T @ x.y - low.T @ x.pull + high.T @ x.push, x.c,
        d_low * x.pull - MU, d_high * x.push - MU,
    ])  # fmt: skip
    step = np.concatenate([dv, dy, d_pull, d_push])
    assert np.allclose(matrix @ step, wanted, atol=1e-9)
    assert np.allclose(step, np.linalg.solve(matrix, wanted), rtol=1e-8, atol=1e-9)


def test_multipliers_stay_near_the_central_path(ask, case, rng):
    d_pull, d_push = (1e3 * rng.standard_normal(k) for k in (len(case.pull), len(case.push)))
    new_pull, new_push = np.empty(len(case.pull)), np.empty(len(case.push))
    trust, dual = 10.0, 0.5
    ask(condensed.take)(
        case.v, *bounds(case), case.pull, case.push, d_pull, d_push, dual, MU, trust, new_pull, new_push
    )
    near = MU / (case.v[case.a] - case.low)
    assert np.allclose(new_pull, np.clip(case.pull + dual * d_pull, near / trust, near * trust))
    near = MU / (case.high - case.v[case.b])
    assert np.allclose(new_push, np.clip(case.push + dual * d_push, near / trust, near * trust))


def test_every_function_is_tested_with_its_signature():
    names = {function.__name__ for function in condensed.SIGNATURES}
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in names if f"condensed.{name})" not in text] == []
