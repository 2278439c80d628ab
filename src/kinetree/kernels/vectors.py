"""Vectors and matrices as tuples of numbers. ``x_plus(..., c)`` adds c in fused multiply-adds.

Matrices are row-major 9-tuples; symmetric ones (xx, xy, xz, yy, yz, zz).
"""

from kinetree.kernels.number import lanewise

ZERO3 = (0.0, 0.0, 0.0)
ZERO6 = ZERO3 + ZERO3
ZERO9 = ZERO6 + ZERO3
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@lanewise
def add(a, b):
    """a + b"""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@lanewise
def sub(a, b):
    """a - b"""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@lanewise
def negative(a):
    """-a"""
    return -a[0], -a[1], -a[2]


@lanewise
def scale(k, v):
    """k v"""
    return k * v[0], k * v[1], k * v[2]


@lanewise
def scale_plus(k, v, c):
    """k v + c"""
    return c[0] + k * v[0], c[1] + k * v[1], c[2] + k * v[2]


@lanewise
def dot(a, b):
    """a . b"""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@lanewise
def dot_plus(a, b, c):
    """a . b + c"""
    return c + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@lanewise
def cross(a, b):
    """a x b"""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@lanewise
def cross_plus(a, b, c):
    """a x b + c"""
    return (
        c[0] + a[1] * b[2] - a[2] * b[1],
        c[1] + a[2] * b[0] - a[0] * b[2],
        c[2] + a[0] * b[1] - a[1] * b[0],
    )


@lanewise
def cross_z_plus(a, k, c):
    """a x (0, 0, k) + c"""
    return c[0] + a[1] * k, c[1] - a[0] * k, c[2]


@lanewise
def add_z(a, k):
    """a + (0, 0, k)"""
    return a[0], a[1], a[2] + k


@lanewise
def column_z(A):
    """The third column of A."""
    return A[2], A[5], A[8]


@lanewise
def times(A, v):
    """A v"""
    return dot(A[0:3], v), dot(A[3:6], v), dot(A[6:9], v)


@lanewise
def times_plus(A, v, c):
    """A v + c"""
    return dot_plus(A[0:3], v, c[0]), dot_plus(A[3:6], v, c[1]), dot_plus(A[6:9], v, c[2])


@lanewise
def transposed_times(A, v):
    """A^T v"""
    return dot(A[0::3], v), dot(A[1::3], v), dot(A[2::3], v)


@lanewise
def transposed_times_plus(A, v, c):
    """A^T v + c"""
    return dot_plus(A[0::3], v, c[0]), dot_plus(A[1::3], v, c[1]), dot_plus(A[2::3], v, c[2])


@lanewise
def product(A, B):
    """A B"""
    return transposed_times(B, A[0:3]) + transposed_times(B, A[3:6]) + transposed_times(B, A[6:9])


@lanewise
def times_rz(A, s, c):
    """A times the rotation about z with sine s and cosine c."""
    return (
        c * A[0] + s * A[1],
        c * A[1] - s * A[0],
        A[2],
        c * A[3] + s * A[4],
        c * A[4] - s * A[3],
        A[5],
        c * A[6] + s * A[7],
        c * A[7] - s * A[6],
        A[8],
    )


@lanewise
def full(S):
    """The 9-tuple of a symmetric matrix."""
    return S[0], S[1], S[2], S[1], S[3], S[4], S[2], S[4], S[5]


@lanewise
def minus_outer(A, a, b):
    """A - a b^T"""
    return (
        A[0] - a[0] * b[0],
        A[1] - a[0] * b[1],
        A[2] - a[0] * b[2],
        A[3] - a[1] * b[0],
        A[4] - a[1] * b[1],
        A[5] - a[1] * b[2],
        A[6] - a[2] * b[0],
        A[7] - a[2] * b[1],
        A[8] - a[2] * b[2],
    )


@lanewise
def sym_minus_outer(S, a, b):
    """S - a b^T for parallel a and b"""
    return (
        S[0] - a[0] * b[0],
        S[1] - a[0] * b[1],
        S[2] - a[0] * b[2],
        S[3] - a[1] * b[1],
        S[4] - a[1] * b[2],
        S[5] - a[2] * b[2],
    )


@lanewise
def skew(h):
    """The matrix of h x"""
    return 0.0, -h[2], h[1], h[2], 0.0, -h[0], -h[1], h[0], 0.0


@lanewise
def skew_plus(h, A):
    """h~ + A"""
    return A[0], A[1] - h[2], A[2] + h[1], A[3] + h[2], A[4], A[5] - h[0], A[6] - h[1], A[7] + h[0], A[8]


@lanewise
def sum6(A, B):
    """A + B of symmetric matrices"""
    return A[0] + B[0], A[1] + B[1], A[2] + B[2], A[3] + B[3], A[4] + B[4], A[5] + B[5]


@lanewise
def trace_minus(S):
    """(tr S) 1 - S: rotational inertia from the second moment of mass S."""
    return S[3] + S[5], -S[1], -S[2], S[0] + S[5], -S[4], S[0] + S[3]


# ---- rigid bodies: mass m, first moment h, second moment S = integral of r r^T ---------------
@lanewise
def spin_matrix(w, wd):
    """w~ w~ + wd~: acceleration of body points per offset (Khalil's U)."""
    xx, yy, zz, xy, xz, yz = w[0] * w[0], w[1] * w[1], w[2] * w[2], w[0] * w[1], w[0] * w[2], w[1] * w[2]
    return (
        -(yy + zz),
        xy - wd[2],
        xz + wd[1],
        xy + wd[2],
        -(xx + zz),
        yz - wd[0],
        xz - wd[1],
        yz + wd[0],
        -(xx + yy),
    )


@lanewise
def inertial_force(m, h, U, a):
    """integral of (a + U r) dm"""
    return times_plus(U, h, scale(m, a))


@lanewise
def inertial_moment(h, S, U, a):
    """integral of r x (a + U r) dm"""
    return (
        dot(U[6:9], (S[1], S[3], S[4])) - U[3] * S[2] - U[4] * S[4] - U[5] * S[5] + h[1] * a[2] - h[2] * a[1],
        dot(U[0:3], (S[2], S[4], S[5])) - U[6] * S[0] - U[7] * S[1] - U[8] * S[2] + h[2] * a[0] - h[0] * a[2],
        dot(U[3:6], (S[0], S[1], S[2])) - U[0] * S[1] - U[1] * S[3] - U[2] * S[4] + h[0] * a[1] - h[1] * a[0],
    )


@lanewise
def inertia_times(m, h, S, w, v):
    """Momentum (moment, force) of the motion (w, v)."""
    return (
        (S[3] + S[5]) * w[0] - S[1] * w[1] - S[2] * w[2] + h[1] * v[2] - h[2] * v[1],
        (S[0] + S[5]) * w[1] - S[1] * w[0] - S[4] * w[2] + h[2] * v[0] - h[0] * v[2],
        (S[0] + S[3]) * w[2] - S[2] * w[0] - S[4] * w[1] + h[0] * v[1] - h[1] * v[0],
    ), cross_plus(w, h, scale(m, v))


@lanewise
def moved_inertia(m, h, S, R, p):
    """First and second moment of a body placed at (R, p)."""
    k = times(R, h)
    g = scale_plus(0.5 * m, p, k)
    a, b, c = R[0:3], R[3:6], R[6:9]
    Sa, Sb, Sc = times(full(S), a), times(full(S), b), times(full(S), c)
    return scale_plus(m, p, k), (
        dot(Sa, a) + 2.0 * (g[0] * p[0]),
        dot(Sa, b) + g[0] * p[1] + g[1] * p[0],
        dot(Sa, c) + g[0] * p[2] + g[2] * p[0],
        dot(Sb, b) + 2.0 * (g[1] * p[1]),
        dot(Sb, c) + g[1] * p[2] + g[2] * p[1],
        dot(Sc, c) + 2.0 * (g[2] * p[2]),
    )


@lanewise
def momentum(m, h, w, v):
    """P = integral of (v + w x r) dm"""
    return cross_plus(w, h, scale(m, v))


@lanewise
def velocity_moment(h, S, w, v):
    """G = integral of (v + w x r) r^T dm"""
    return (
        v[0] * h[0] + w[1] * S[2] - w[2] * S[1],
        v[0] * h[1] + w[1] * S[4] - w[2] * S[3],
        v[0] * h[2] + w[1] * S[5] - w[2] * S[4],
        v[1] * h[0] + w[2] * S[0] - w[0] * S[2],
        v[1] * h[1] + w[2] * S[1] - w[0] * S[4],
        v[1] * h[2] + w[2] * S[2] - w[0] * S[5],
        v[2] * h[0] + w[0] * S[1] - w[1] * S[0],
        v[2] * h[1] + w[0] * S[3] - w[1] * S[1],
        v[2] * h[2] + w[0] * S[4] - w[1] * S[2],
    )


@lanewise
def twice_trace_minus(G):
    """2 ((tr G) 1 - G)"""
    return (
        2.0 * (G[4] + G[8]),
        -2.0 * G[1],
        -2.0 * G[2],
        -2.0 * G[3],
        2.0 * (G[0] + G[8]),
        -2.0 * G[5],
        -2.0 * G[6],
        -2.0 * G[7],
        2.0 * (G[0] + G[4]),
    )


# ---- numbers in a row ---------------------------------------------------------------------------
@lanewise
def load3(x, k):
    """Three numbers of a row from place k on."""
    return x[k], x[k + 1], x[k + 2]


@lanewise
def store3(x, k, v):
    """Put a vector into a row from place k on."""
    x[k], x[k + 1], x[k + 2] = v[0], v[1], v[2]


@lanewise
def store9(x, k, A):
    """Put a matrix into a row from place k on."""
    store3(x, k, A[0:3])
    store3(x, k + 3, A[3:6])
    store3(x, k + 6, A[6:9])


@lanewise
def load9(x, k):
    """Nine numbers of a row from place k on: a matrix."""
    return load3(x, k) + load3(x, k + 3) + load3(x, k + 6)


# ---- first moments of forces: V = sum x f^T ----------------------------------------------------------
@lanewise
def trace(A):
    """tr A"""
    return A[0] + A[4] + A[8]


@lanewise
def axial(V):
    """Moment of the forces, sum of x x f, for V = sum x f^T; its product with z is tr(z~ V)."""
    return V[5] - V[7], V[6] - V[2], V[1] - V[3]


@lanewise
def outer_plus(a, b, C):
    """a b^T + C"""
    return scale_plus(a[0], b, C[0:3]) + scale_plus(a[1], b, C[3:6]) + scale_plus(a[2], b, C[6:9])


@lanewise
def skew_times(w, A):
    """w~ A: the cross product of w with every column of A."""
    x, y, z = A[0:3], A[3:6], A[6:9]
    return (
        scale_plus(w[1], z, scale(-w[2], y))
        + scale_plus(w[2], x, scale(-w[0], z))
        + scale_plus(w[0], y, scale(-w[1], x))
    )


@lanewise
def sum9(A, B, k):
    """A + k B"""
    return scale_plus(k, B[0:3], A[0:3]) + scale_plus(k, B[3:6], A[3:6]) + scale_plus(k, B[6:9], A[6:9])
