"""Piecewise polynomials of time: what tables and desired motions are while a simulation runs.

``breaks[b]`` ... are k + 1 times; ``memory`` holds coefficients (k, order, n) from `start` on, lowest power
first, about the left break. Before the first and after the last break the end value is held.
"""

from kinetree.kernels.number import lanewise, where_less


@lanewise
def interval(memory, breaks, count, t):
    """The last of `count` intervals whose left break is not after t; the first if there is none."""
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        if memory[breaks + middle] <= t:
            low = middle
        else:
            high = middle
    return low


@lanewise
def polynomials_at(memory, breaks, count, order, n, t, value, rate, rate2):
    """n values with their first and second derivatives at time t into rows of plain numbers."""
    k = interval(memory, breaks, count, t)
    left, right = memory[breaks + k], memory[breaks + k + 1]
    moves = where_less(t, memory[breaks], 0.0, where_less(memory[breaks + count], t, 0.0, 1.0))
    x = min(max(t, left), right) - left
    start = breaks + count + 1 + k * order * n
    for i in range(n):
        p, dp, ddp = 0.0, 0.0, 0.0
        for power in range(order - 1, -1, -1):  # Horner, with both derivatives
            ddp = ddp * x + 2.0 * dp
            dp = dp * x + p
            p = p * x + memory[start + power * n + i]
        value[i] = p
        rate[i] = moves * dp
        rate2[i] = moves * ddp
