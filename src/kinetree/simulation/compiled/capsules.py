"""Capsules and spheres against one another: nearest points of two segments, lane by lane without branches."""

from kinetree.kernels.layout import Layout
from kinetree.kernels.number import lanewise, magnitude, square_root, where_less
from kinetree.kernels.vectors import add, cross, cross_plus, dot, scale, scale_plus, sub, times, times_plus

PAIR = Layout(
    world=False,
    constant=True,
    a=int,  # axes that carry the two, -1: the world
    b=int,
    ca=3,  # centers, in the frames of the axes
    cb=3,
    ha=3,  # from there to an end of the segment; zero for spheres
    hb=3,
    radius=1,  # of both together
    radius_b=1,
    bound=1,  # of spheres around both together
    friction=1,
)
THIN = 1e-30  # m^2: keeps points from being divided by
PARALLEL = 1e-10  # share of the lengths below which segments count as parallel


@lanewise
def clamped(x):
    """x between -1 and 1."""
    return where_less(x, -1.0, -1.0, where_less(1.0, x, 1.0, x))


@lanewise
def nearest_on_segments(r, ha, hb):
    """s and t from -1 to 1 for which r + s ha - t hb is shortest (Ericson 2005, section 5.1.9)."""
    a, b, e = dot(ha, ha) + THIN, dot(ha, hb), dot(hb, hb) + THIN
    c, f = dot(ha, r), dot(hb, r)
    det = a * e - b * b
    s = where_less(PARALLEL * a * e, det, clamped((b * f - c * e) / (det + THIN * THIN)), 0.0)
    t = clamped((b * s + f) / e)
    s = clamped((b * t - c) / a)
    return s, clamped((b * s + f) / e)


@lanewise
def across(n):
    """Two directions across a unit vector, and across one another."""
    small = where_less(magnitude(n[0]), 0.7, 1.0, 0.0)
    t = cross(n, (small, 1.0 - small, 0.0 * small))
    t = scale(1.0 / square_root(dot(t, t)), t)
    return t, cross(n, t)


@lanewise
def pair_places(work, pairs, k):
    """Centers and half segments of both in the world."""
    a, b = pairs.a[k], pairs.b[k]
    ca, cb = (
        times_plus(work.R[a], pairs.ca[k], work.p[a]),
        times_plus(work.R[b], pairs.cb[k], work.p[b]),
    )
    return ca, times(work.R[a], pairs.ha[k]), cb, times(work.R[b], pairs.hb[k])


@lanewise
def pair_contact(work, pairs, k, places):
    """Normal from the second to the first, two directions across, place, gap, speed of separation."""
    ca, ha, cb, hb = places
    s, t = nearest_on_segments(sub(ca, cb), ha, hb)
    pb = scale_plus(t, hb, cb)
    d = sub(scale_plus(s, ha, ca), pb)
    distance = square_root(dot(d, d) + THIN)
    n = scale(1.0 / distance, d)
    gap = distance - pairs.radius[k]
    place = add(pb, scale(pairs.radius_b[k] + 0.5 * gap, n))
    t, u = across(n)
    a, b = pairs.a[k], pairs.b[k]
    va, vb = cross_plus(work.w[a], place, work.v[a]), cross_plus(work.w[b], place, work.v[b])
    return n, t, u, place, gap, dot(sub(va, vb), n)
