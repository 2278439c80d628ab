"""Sharing of torques among muscles, frame by frame, by Newton's method on its dual.

    min sum w_i a_i^p + sum e_j^2 / r_j^2    with    sum_i B_ij a_i + e_j = tau_j,    low_i <= a_i <= high_i

has the dual max lam . tau - sum phi*(B_i . lam) - sum rho_j lam_j^2 / 2, rho = r^2 / 2, with one unknown a
joint. It is concave, its slope is the missing moment, and a_i is the point between the bounds where w_i p
a^(p - 1) is B_i . lam. The multiplier lam_j is the price of a moment, d cost / d tau_j. For p = 2 the dual is
piecewise quadratic, and Newton's method ends with the exact solution.
"""

import math

from kinetree.engine.door import helper

MOST_STEPS = 100
HALVINGS = 30
RISE = 1e-4  # share of the rise that the slope promises
SUBSTEPS = 8  # of activation dynamics between two frames


@helper
def activation_of(x, w, p, low, high):
    """(a, da/dx) where w p a^(p - 1) = x, between the bounds; the slope is zero at a bound."""
    if x <= 0.0:
        return low, 0.0
    if p == 2.0:
        a = 0.5 * x / w
        slope = 0.5 / w
    else:
        a = (x / (p * w)) ** (1.0 / (p - 1.0))
        slope = a / ((p - 1.0) * x)
    if a <= low:
        return low, 0.0
    if a >= high:
        return high, 0.0
    return a, slope


@helper
def cost_of(a, w, p):
    """w a^p."""
    return w * a * a if p == 2.0 else w * a**p


@helper
def solved(A, b):
    """Whether the symmetric A (n, n), whose lower half is used up, is positive definite; b becomes A^-1 b."""
    n = b.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= A[i, k] * A[j, k]
            if i != j:
                A[i, j] = s / A[j, j]
            elif s <= 0.0:
                return False
            else:
                A[i, i] = math.sqrt(s)
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= A[i, k] * b[k]
        b[i] = s / A[i, i]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, n):
            s -= A[k, i] * b[k]
        b[i] = s / A[i, i]
    return True


@helper
def dual_value(B, span, count, tau, w, low, high, rho, p, lam):
    """The dual at prices lam."""
    value = 0.0
    for j in range(lam.shape[0]):
        value += lam[j] * (tau[j] - 0.5 * rho[j] * lam[j])
    for i in range(w.shape[0]):
        x = 0.0
        for c in range(count[i]):
            x += B[i, c] * lam[span[i, c]]
        a, _ = activation_of(x, w[i], p, low[i], high[i])
        value -= x * a - cost_of(a, w[i], p)
    return value


@helper
def dual_state(B, span, count, tau, w, low, high, rho, p, lam, a, A, r):
    """The dual at prices lam, with activations a, missing moments r and -d2, the lower half of A."""
    n = lam.shape[0]
    value = 0.0
    for j in range(n):
        r[j] = tau[j] - rho[j] * lam[j]
        value += lam[j] * (tau[j] - 0.5 * rho[j] * lam[j])
        for k in range(j):
            A[j, k] = 0.0
        A[j, j] = rho[j]
    for i in range(w.shape[0]):
        x = 0.0
        for c in range(count[i]):
            x += B[i, c] * lam[span[i, c]]
        y, slope = activation_of(x, w[i], p, low[i], high[i])
        a[i] = y
        value -= x * y - cost_of(y, w[i], p)
        for c in range(count[i]):
            b = B[i, c]
            j = span[i, c]
            r[j] -= b * y
            for k in range(c + 1 if slope > 0.0 else 0):
                A[j, span[i, k]] += slope * b * B[i, k]
    return value


@helper
def shared_frame(B, span, count, tau, w, low, high, rho, p, tolerance, lam, a, A, r, d, trial):
    """(steps, largest missing moment) of one frame; lam is the start and the result."""
    n = lam.shape[0]
    size = 1.0
    for j in range(n):
        size = max(size, abs(tau[j]))
    worst = 0.0
    for step in range(MOST_STEPS):
        value = dual_state(B, span, count, tau, w, low, high, rho, p, lam, a, A, r)
        worst = 0.0
        for j in range(n):
            worst = max(worst, abs(r[j]))
            d[j] = r[j]
        if worst <= tolerance * size or not solved(A, d):
            return step, worst
        rise = 0.0
        for j in range(n):
            rise += d[j] * r[j]
        length = 1.0
        for _ in range(HALVINGS):
            for j in range(n):
                trial[j] = lam[j] + length * d[j]
            reached = dual_value(B, span, count, tau, w, low, high, rho, p, trial)
            if reached >= value + RISE * length * rise - 1e-13 * abs(value):
                break
            length *= 0.5
        for j in range(n):
            lam[j] += length * d[j]
    return MOST_STEPS, worst


@helper
def reached(a, u, rise, fall, dt):
    """The activation after a time dt of excitation u, by Winters' rates."""
    h = dt / SUBSTEPS
    for _ in range(SUBSTEPS):
        z = 0.5 + 1.5 * a
        rate = 1.0 / (rise * z) if u > a else z / fall
        a = u + (a - u) * math.exp(-rate * h)
    return a


def share(
    B, span, count, tau, w, low, high, rho, p, tolerance, rise, fall, dt, lam, a, price, steps, worst, least,
    most, A, r, d, trial,
):  # fmt: skip
    """Activations a (m, k), prices (m, n), steps (m,) and missing moments (m,) of m frames, in their order.

    B (m, k, s) are moments at activation 1 about the joints span (k, s), count (k,) of them; where dt (m,) is
    positive, the bounds are also what excitations 0 and 1 lead to from the frame before.
    """
    for f in range(tau.shape[0]):
        for i in range(w.shape[0]):
            least[i], most[i] = low[i], high[i]
            if f > 0 and dt[f] > 0.0:
                least[i] = max(low[i], reached(a[f - 1, i], low[i], rise[i], fall[i], dt[f]))
                most[i] = min(high[i], reached(a[f - 1, i], high[i], rise[i], fall[i], dt[f]))
        steps[f], worst[f] = shared_frame(
            B[f], span, count, tau[f], w, least, most, rho, p, tolerance, lam, a[f], A, r, d, trial
        )
        for j in range(lam.shape[0]):
            price[f, j] = lam[j]
