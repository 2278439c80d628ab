"""One contact with Coulomb friction, solved exactly: the impulse from the velocity without it.

With the mobility G (3, 3) of the place and the velocity b that it had without this impulse lam, the law is
0 <= lam_n _|_ u_n - target >= 0, |lam_t| <= mu lam_n, and lam_t against u_t where it slides, u = G lam + b.
Either it sticks, u = (target, 0, 0), or it is open, or it slides: then (G^ + s 1) lam_t = -c for one s > 0,
with Schur's complement G^ = G_tt - G_tn G_nt / G_nn and c = b_t + G_tn k, k = (target - b_n) / G_nn, and s
follows from |lam_t| = mu lam_n.
"""

from kinetree.kernels.number import any_positive, lanewise, magnitude, square_root, where_less

TINY = 1e-300
SLIDES = 20  # steps of Newton's method for s at most
CLOSE = 1e-14  # relative error of |lam_t| = mu lam_n at which s is found
RUBS = 1e-12  # friction below which there is none
LEAST = 1e-3  # of lam_n without friction that is left of it while s is sought


@lanewise
def larger(a, b):
    """The larger of two numbers."""
    return where_less(a, b, b, a)


@lanewise
def smaller(a, b):
    """The smaller of two numbers."""
    return where_less(a, b, a, b)


@lanewise
def chosen(mask, new, old):
    """The new value where the mask is 1, else the old one."""
    return where_less(0.5, mask, new, old)


@lanewise
def inverse_mobility(G):
    """The inverse of a symmetric matrix (nn, nt, nu, tt, tu, uu)."""
    a, b, c = G[3] * G[5] - G[4] * G[4], G[2] * G[4] - G[1] * G[5], G[1] * G[4] - G[2] * G[3]
    k = 1.0 / (G[0] * a + G[1] * b + G[2] * c)
    return (
        a * k,
        b * k,
        c * k,
        (G[0] * G[5] - G[2] * G[2]) * k,
        (G[1] * G[2] - G[0] * G[4]) * k,
        (G[0] * G[3] - G[1] * G[1]) * k,
    )


@lanewise
def projected(lam, u, target, mu, size):
    """The impulse that a step against the velocity and the law's projection make of lam."""
    k = 1.0 / size
    n = larger(lam[0] - (u[0] - target) * k, 0.0)
    x, y = lam[1] - u[1] * k, lam[2] - u[2] * k
    f = smaller(mu * n / (square_root(x * x + y * y) + TINY), 1.0)
    return n, x * f, y * f


@lanewise
def sticking_or_open(lam, G, H, u, target, mu):
    """The impulse that makes it stick; whether friction suffices, and whether it is open instead.

    With much friction both may be solutions. A contact without impulse that opens stays open then.
    """
    e = target - u[0]
    n = lam[0] + H[0] * e - H[1] * u[1] - H[2] * u[2]
    x = lam[1] + H[1] * e - H[3] * u[1] - H[4] * u[2]
    y = lam[2] + H[2] * e - H[4] * u[1] - H[5] * u[2]
    limit = mu * n
    sticks = where_less(n, 0.0, 0.0, where_less(limit * limit, x * x + y * y, 0.0, 1.0))
    push = target - (u[0] - (G[0] * lam[0] + G[1] * lam[1] + G[2] * lam[2]))
    rests = where_less(0.0, lam[0], 0.0, where_less(0.0, target - u[0], 0.0, 1.0))
    is_open = larger(rests, where_less(0.0, push, 0.0, 1.0))
    return (n, x, y), chosen(rests, 0.0, sticks), is_open, push


@lanewise
def sliding(lam, G, u, push, mu, others):
    """The impulse of a contact that slides; ``others`` is 1 where it does not."""
    free_t = u[1] - (G[1] * lam[0] + G[3] * lam[1] + G[4] * lam[2])
    free_u = u[2] - (G[2] * lam[0] + G[4] * lam[1] + G[5] * lam[2])
    inverse = 1.0 / G[0]
    p, q, r = G[3] - G[1] * G[1] * inverse, G[4] - G[1] * G[2] * inverse, G[5] - G[2] * G[2] * inverse
    ct, cu = free_t + G[1] * push * inverse, free_u + G[2] * push * inverse
    most = larger(push, TINY)
    s = square_root(ct * ct + cu * cu) * G[0] / (mu * most + TINY)
    n, x, y = push, ct, cu
    for it in range(SLIDES + 1):
        a, c = p + s, r + s
        det = 1.0 / (a * c - q * q)
        x, y = (q * cu - c * ct) * det, (q * ct - a * cu) * det
        n = larger((push - G[1] * x - G[2] * y) * inverse, LEAST * most * inverse)
        tangent, limit = square_root(x * x + y * y) + TINY, mu * n + TINY
        off = chosen(others, 0.0, magnitude(tangent - limit) - CLOSE * limit)
        if it == SLIDES or not any_positive(off):
            break
        vx, vy = (c * x - q * y) * det, (a * y - q * x) * det
        change = (G[1] * vx + G[2] * vy) * inverse
        k = 1.0 / (tangent * limit)
        rt, rl = limit * k, tangent * k
        slope = (x * vx + y * vy) * rt * rt * rt + mu * change * rl * rl
        step = (rt - rl) / where_less(0.0, slope, slope, 1e300)
        s = where_less(0.0, off, larger(s - step, 0.0), s)
    k = smaller(mu * n / (square_root(x * x + y * y) + TINY), 1.0)
    return n, x * k, y * k


@lanewise
def one_contact(lam, G, H, u, target, mu):
    """The impulse of one contact that obeys the law exactly, if all others keep theirs."""
    stuck, sticks, is_open, push = sticking_or_open(lam, G, H, u, target, mu)
    n, x, y = stuck
    others = larger(sticks, is_open)
    if any_positive(1.0 - others):
        sn, sx, sy = sliding(lam, G, u, push, mu, others)
        rubs = where_less(RUBS, mu, 1.0, 0.0)
        sn = chosen(rubs, sn, push / G[0])
        sx, sy = chosen(rubs, sx, 0.0), chosen(rubs, sy, 0.0)
        n, x, y = chosen(sticks, n, sn), chosen(sticks, x, sx), chosen(sticks, y, sy)
    closed = where_less(0.5, sticks, 1.0, 1.0 - is_open)
    return chosen(closed, n, 0.0), chosen(closed, x, 0.0), chosen(closed, y, 0.0)


@lanewise
def plain_step(lam, G, u, target, mu):
    """One projected step, normal first: slow, but not caught where normal and tangent couple strongly."""
    n = larger(lam[0] + (target - u[0]) / G[0], 0.0)
    dn = n - lam[0]
    ut, uu = u[1] + G[1] * dn, u[2] + G[2] * dn
    h = 0.5 * (G[3] - G[5])
    k = 1.0 / (0.5 * (G[3] + G[5]) + square_root(h * h + G[4] * G[4]))
    x, y = lam[1] - ut * k, lam[2] - uu * k
    f = smaller(mu * n / (square_root(x * x + y * y) + TINY), 1.0)
    return n, x * f, y * f


@lanewise
def law_slope(lam, u, target, mu, r):
    """How far the projection of lam - r (u - target) is from lam, and C = -d(projection)/du.

    C = ((nn, 0, 0), (tn, tt, tu), (un, tu, uu)): friction depends on the normal velocity, not the reverse.
    """
    n = larger(lam[0] - r * (u[0] - target), 0.0)
    x, y = lam[1] - r * u[1], lam[2] - r * u[2]
    size = square_root(x * x + y * y) + TINY
    f = mu * n / size
    on, stick = where_less(0.0, n, 1.0, 0.0), where_less(f, 1.0, 0.0, 1.0)
    ax, ay = x / size, y / size
    f = smaller(f, 1.0)
    slip = on * (1.0 - stick)
    held, turned = on * stick * r, slip * r * f
    C = (
        on * r,
        slip * mu * ax * r,
        slip * mu * ay * r,
        held + turned * (1.0 - ax * ax),
        -turned * ax * ay,
        held + turned * (1.0 - ay * ay),
    )
    return (n - lam[0], x * f - lam[1], y * f - lam[2]), C
