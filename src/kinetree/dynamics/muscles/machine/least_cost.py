"""Least cost of making torques by muscles whose lengths are polynomials: values and exact derivatives.

For one muscle with length l(q), v = dl/dq . qd and, for prices w of the joints, s = dl/dq . w, the moments
are -a F(l, v) dl/dq, so that w . moments = -a F s = a u. All that is needed is a function of (l, v, s): with
y = (q, qd, w) and g, H, T the derivatives of l,

    dl = (g, 0, 0)    dv = (H qd, g, 0)    ds = (H w, 0, g)    and second ones of H, T qd, T w.

Fibers have rigid tendons and the active curves of De Groote and Fregly (2016), whose speed ends at zero
force. The cost of an activation is phi(a) = w a^p / p - mu ln a + kappa max(0, a - 1)^2 / 2, a function of
all moments through the dual max lam . tau - sum phi*(u_i) - rho |lam|^2 / 2, which has one unknown a joint.
"""

import functools
import math
from collections.abc import Callable
from typing import Any

from kinetree.dynamics.muscles.machine.sharing import solved
from kinetree.engine.door import helper, inline

MOST_COORDINATES, MOST_DEGREE = 6, 8  # of one muscle
MOST_STEPS, HALVINGS = 100, 40
LEAST_LENGTH = 0.3  # optimal lengths: shorter fibers pull as these do
HILLS = (
    (0.8150671134243542, 1.055033428970575, 0.162384573599574, 0.063303448465465),
    (0.433004984392647, 0.716775413397760, -0.029947116970696, 0.200356847296188),
    (0.1, 1.0, 0.35355339059327373, 0.0),
)
D1, D2, D3, D4 = -0.3211346127989808, -8.149, -0.374, 0.8825327733249912


@inline
def powers(q, span, d, top, P):
    """P[j, r, k]: the r-th derivative of x_j^k."""
    for j in range(d):
        x = q[span[j]]
        P[j, 0, 0] = 1.0
        for k in range(1, top + 1):
            P[j, 0, k] = P[j, 0, k - 1] * x
        for r in range(1, 4):
            for k in range(top + 1):
                P[j, r, k] = 0.0 if k < r else P[j, r - 1, k - 1] * k


@inline
def length_slopes(P, E, C, n, d, g):
    """The length of one muscle, with its slopes g (d,)."""
    length = 0.0
    for j in range(d):
        g[j] = 0.0
    for t in range(n):
        p = C[t]
        for j in range(d):
            p *= P[j, 0, E[t, j]]
        length += p
        for i in range(d):
            if E[t, i] > 0:
                p = C[t]
                for j in range(d):
                    p *= P[j, 1 if j == i else 0, E[t, j]]
                g[i] += p
    return length


@inline
def length_bends(P, E, C, n, d, third, H, T):
    """Second and, if asked for, third derivatives of the length of one muscle, (d, d) and (d, d, d)."""
    for i in range(d):
        for k in range(d):
            H[i, k] = 0.0
            for m in range(d):
                T[i, k, m] = 0.0
    for t in range(n):
        for i in range(d):
            if E[t, i] == 0:
                continue
            for k in range(i, d):
                if E[t, k] < (2 if k == i else 1):
                    continue
                p = C[t]
                for j in range(d):
                    p *= P[j, (1 if j == i else 0) + (1 if j == k else 0), E[t, j]]
                H[i, k] += p
                for m in range(k, d if third else k):
                    if E[t, m] < 1 + (1 if m == i else 0) + (1 if m == k else 0):
                        continue
                    p = C[t]
                    for j in range(d):
                        r = (1 if j == i else 0) + (1 if j == k else 0) + (1 if j == m else 0)
                        p *= P[j, r, E[t, j]]
                    T[i, k, m] += p
    for i in range(d):
        for k in range(i, d):
            H[k, i] = H[i, k]
            for m in range(k, d):
                x = T[i, k, m]
                T[i, m, k], T[k, i, m], T[k, m, i], T[m, i, k], T[m, k, i] = x, x, x, x, x


@inline
def hill(x, b1, b2, b3, b4):
    """b1 exp(-z^2 / 2), z = (x - b2) / (b3 + b4 x), with two derivatives."""
    w = b3 + b4 * x
    z = (x - b2) / w
    z1 = (b3 + b4 * b2) / (w * w)
    z2 = -2.0 * b4 * z1 / w
    f = b1 * math.exp(-0.5 * z * z)
    return f, -z * z1 * f, f * (z * z * z1 * z1 - z1 * z1 - z * z2)


@inline
def pull(length, v, par):
    """Force along the tendon at activation 1, and its derivatives: F, Fl, Fv, Fll, Flv, Fvv."""
    most, lo, lts, h, fastest = par[0], par[1], par[2], par[3], par[4]
    x = max(length - lts, 1e-3 * lo)
    lM = math.sqrt(x * x + h * h)
    c, c1, c2 = x / lM, h * h / lM**3, -3.0 * h * h * x / lM**5
    nl = max(lM / lo, LEAST_LENGTH)
    f, f1, f2 = 0.0, 0.0, 0.0
    for k in range(3):
        b1, b2, b3, b4 = HILLS[k]
        a0, a1, a2 = hill(nl, b1, b2, b3, b4)
        f, f1, f2 = f + a0, f1 + a1, f2 + a2
    n1, n2 = c / lo, c1 / lo
    A = f * c
    A1 = f1 * n1 * c + f * c1
    A2 = f2 * n1 * n1 * c + f1 * n2 * c + 2.0 * f1 * n1 * c1 + f * c2
    w, wl, wv, wl2, wlv = v * c / fastest, v * c1 / fastest, c / fastest, v * c2 / fastest, c1 / fastest
    z = D2 * w + D3
    r = math.sqrt(z * z + 1.0)
    k0, k1, k2 = D1 * math.log(z + r) + D4, D1 * D2 / r, -D1 * D2 * D2 * z / r**3
    if k0 < 0.0:  # faster than the greatest speed: no pull
        k0, k1, k2 = 0.0, 0.0, 0.0
    F = A * k0
    Fl, Fv = A1 * k0 + A * k1 * wl, A * k1 * wv
    Fll = A2 * k0 + 2.0 * A1 * k1 * wl + A * (k2 * wl * wl + k1 * wl2)
    Flv = A1 * k1 * wv + A * (k2 * wl * wv + k1 * wlv)
    return most * F, most * Fl, most * Fv, most * Fll, most * Flv, most * A * k2 * wv * wv


@helper
def activation(x, w, p, mu, kappa):
    """a with phi'(a) = w a^(p - 1) - mu / a + kappa max(0, a - 1) = x, and da/dx."""
    a = (x + math.sqrt(x * x + 4.0 * w * mu)) / (2.0 * w)
    if p != 2.0 or a > 1.0:
        b = math.log(max(min(a, 2.0), 1e-8))
        for _ in range(60):
            a = math.exp(b)
            more = kappa * max(0.0, a - 1.0)
            f = w * a ** (p - 1.0) - mu / a + more - x
            f1 = (p - 1.0) * w * a ** (p - 1.0) + mu / a + (kappa * a if a > 1.0 else 0.0)
            step = min(max(f / f1, -1.0), 1.0)
            b -= step
            if abs(step) < 1e-14:
                break
        a = math.exp(b)
    bend = (p - 1.0) * w * a ** (p - 2.0) + mu / (a * a) + (kappa if a > 1.0 else 0.0)
    return a, 1.0 / bend


@helper
def cost(a, w, p, mu, kappa):
    """phi(a)."""
    return w * a**p / p - mu * math.log(a) + 0.5 * kappa * max(0.0, a - 1.0) ** 2


@inline
def value_at(B, span, dims, tau, w, p, mu, kappa, rho, lam):
    """The dual at prices lam."""
    value = 0.0
    for j in range(lam.shape[0]):
        value += lam[j] * (tau[j] - 0.5 * rho * lam[j])
    for i in range(w.shape[0]):
        x = 0.0
        for c in range(dims[i]):
            x += B[i, c] * lam[span[i, c]]
        a, _ = activation(x, w[i], p, mu, kappa)
        value -= x * a - cost(a, w[i], p, mu, kappa)
    return value


@inline
def state_at(B, span, dims, tau, w, p, mu, kappa, rho, lam, a, A, r):
    """The dual, with activations a, missing moments r, minus its second derivatives, A's lower half."""
    value = 0.0
    for j in range(lam.shape[0]):
        r[j] = tau[j] - rho * lam[j]
        value += lam[j] * (tau[j] - 0.5 * rho * lam[j])
        for k in range(j):
            A[j, k] = 0.0
        A[j, j] = rho
    for i in range(w.shape[0]):
        x = 0.0
        for c in range(dims[i]):
            x += B[i, c] * lam[span[i, c]]
        y, slope = activation(x, w[i], p, mu, kappa)
        a[i] = y
        value -= x * y - cost(y, w[i], p, mu, kappa)
        for c in range(dims[i]):
            b = B[i, c]
            r[span[i, c]] -= b * y
            for k in range(c + 1):
                A[span[i, c], span[i, k]] += slope * b * B[i, k]
    return value


@helper
def shared(B, span, dims, tau, w, p, mu, kappa, rho, tolerance, lam, a, A, r, d, trial):
    """The least cost of one sample; lam is the start and the result."""
    n = lam.shape[0]
    size, value = 1.0, 0.0
    for j in range(n):
        size = max(size, abs(tau[j]))
    for _ in range(MOST_STEPS):
        value = state_at(B, span, dims, tau, w, p, mu, kappa, rho, lam, a, A, r)
        worst, rise = 0.0, 0.0
        for j in range(n):
            worst = max(worst, abs(r[j]))
            d[j] = r[j]
        if worst <= tolerance * size or not solved(A, d):
            return value
        for j in range(n):
            rise += d[j] * r[j]
        length = 1.0
        for _ in range(HALVINGS):
            for j in range(n):
                trial[j] = lam[j] + length * d[j]
            reached = value_at(B, span, dims, tau, w, p, mu, kappa, rho, trial)
            if reached >= value + 1e-4 * length * rise - 1e-12 * abs(value):
                break
            length *= 0.5
        for j in range(n):
            lam[j] += length * d[j]
    return value


def least_costs(
    q, qd, tau, E, C, n, span, dims, par, top, w, p, mu, kappa, rho, tolerance, lam, a, value, P, g, B, A, r,
    d, trial,
):  # fmt: skip
    """Prices lam (m, n), activations a (m, k), least costs (m,) at m samples; lam is also the start."""
    for s in range(q.shape[0]):
        for i in range(n.shape[0]):
            powers(q[s], span[i], dims[i], top, P)
            length = length_slopes(P, E[i], C[i], n[i], dims[i], g)
            v = 0.0
            for j in range(dims[i]):
                v += g[j] * qd[s, span[i, j]]
            F, _, _, _, _, _ = pull(length, v, par[i])
            for j in range(dims[i]):
                B[i, j] = -F * g[j]
        value[s] = shared(
            B, span, dims, tau[s], w, p, mu, kappa, rho, tolerance, lam[s], a[s], A, r, d, trial
        )


def cost_bends(
    q, qd, lam, E, C, n, span, dims, par, top, w, p, mu, kappa, rho, second, P, g, H, T, room, slope, hess,
):  # fmt: skip
    """Slopes (m, 3 n) and Hessians (m, 3 n, 3 n) by (q, qd, lam) of -sum phi*(u_i) - rho |lam|^2 / 2.

    Without ``second`` slopes alone.
    """
    J = q.shape[1]
    dl, dv, ds, du = room[0], room[1], room[2], room[3]
    for S in range(q.shape[0]):
        for a in range(3 * J):
            slope[S, a] = -rho * lam[S, a - 2 * J] if a >= 2 * J else 0.0
            for b in range(3 * J if second else 0):
                hess[S, a, b] = -rho if a == b and a >= 2 * J else 0.0
        for i in range(n.shape[0]):
            d = dims[i]
            powers(q[S], span[i], d, top, P)
            length = length_slopes(P, E[i], C[i], n[i], d, g)
            length_bends(P, E[i], C[i], n[i], d, second, H, T)
            v, s = 0.0, 0.0
            for j in range(d):
                v += g[j] * qd[S, span[i, j]]
                s += g[j] * lam[S, span[i, j]]
            F, Fl, Fv, Fll, Flv, Fvv = pull(length, v, par[i])
            y, y1 = activation(-F * s, w[i], p, mu, kappa)
            for j in range(d):
                hv, hs = 0.0, 0.0
                for c in range(d):
                    hv += H[j, c] * qd[S, span[i, c]]
                    hs += H[j, c] * lam[S, span[i, c]]
                dl[j], dl[d + j], dl[2 * d + j] = g[j], 0.0, 0.0
                dv[j], dv[d + j], dv[2 * d + j] = hv, g[j], 0.0
                ds[j], ds[d + j], ds[2 * d + j] = hs, 0.0, g[j]
            for a in range(3 * d):
                du[a] = -(Fl * dl[a] + Fv * dv[a]) * s - F * ds[a]
            for a in range(d if second else 0):  # what third derivatives make of qd and of prices
                for b in range(a + 1):
                    bent, priced = 0.0, 0.0
                    for c in range(d):
                        bent += T[a, b, c] * qd[S, span[i, c]]
                        priced += T[a, b, c] * lam[S, span[i, c]]
                    room[4 + a, b], room[4 + MOST_COORDINATES + a, b] = bent, priced
            for a in range(3 * d):
                ka, ja = a // d, a % d
                row = ka * J + span[i, ja]
                slope[S, row] -= y * du[a]
                df_a = Fl * dl[a] + Fv * dv[a]
                for b in range(a + 1 if second else 0):
                    kb, jb = b // d, b % d
                    d2l, d2v, d2s = 0.0, 0.0, 0.0
                    if ka == 0:  # and so kb
                        d2l, d2v, d2s = H[ja, jb], room[4 + ja, jb], room[4 + MOST_COORDINATES + ja, jb]
                    elif ka == 1 and kb == 0:
                        d2v = H[ja, jb]
                    elif ka == 2 and kb == 0:
                        d2s = H[ja, jb]
                    h = Fll * dl[a] * dl[b] + Flv * (dl[a] * dv[b] + dv[a] * dl[b]) + Fvv * dv[a] * dv[b]
                    df_b = Fl * dl[b] + Fv * dv[b]
                    d2u = -((h + Fl * d2l + Fv * d2v) * s + df_a * ds[b] + df_b * ds[a] + F * d2s)
                    column, more = kb * J + span[i, jb], y * d2u + y1 * du[a] * du[b]
                    hess[S, row, column] -= more
                    if row != column:
                        hess[S, column, row] -= more


SIGNATURES = {  # i: integers, f: floats, each with its number of axes; I and F: single ones
    least_costs: "f2 f2 f2 i3 f2 i1 i2 i1 f2 I f1 F F F F F f2 f2 f1 f3 f1 f2 f2 f1 f1 f1",
    cost_bends: "f2 f2 f2 i3 f2 i1 i2 i1 f2 I f1 F F F F I f3 f1 f2 f3 f2 f2 f3",
}


@functools.cache
def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Machine code of one of the functions above."""
    from kinetree.engine.door import FLOAT, INTEGER, array_type, compiled_function

    def of(letter: str) -> Any:
        kind = FLOAT if letter[0] in "fF" else INTEGER
        return kind if letter in "FI" else array_type(kind, int(letter[1]))

    signature = [of(letter) for letter in SIGNATURES[function].split()]
    return compiled_function(function, signature, f"muscle-{function.__name__}")
