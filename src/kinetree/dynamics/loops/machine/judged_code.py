"""The compiled side of `machine.judged`: ask machine code about a state, then hold its verdict to bounds."""

from __future__ import annotations

from kinetree.dynamics.loops.machine.judged import (
    ARRAYS,
    BODY,
    BOUNDS,
    FIRST,
    FIRST_MEMORY,
    FIRST_SIZE,
    JUDGED,
    MEMORY,
    N_DOF,
    NEEDED,
    PAIRS,
    SIZE,
    SOURCES,
    START,
    TABLE,
    VERDICT,
)
from kinetree.engine.door import INTEGER, inline
from kinetree.engine.lanes.objects import ask, doubles, put_word, room, word

SINGLE = INTEGER(*[INTEGER] * 3)


@inline
def largest(x, n):
    """The largest size among n numbers; NaN if one of them is not finite."""
    most, doubt = 0.0, 0.0
    for k in range(n):
        most = max(most, abs(x[k]))
        doubt += x[k] - x[k]
    return most + doubt


@inline
def needed_first(words, pairs):
    """Ask the kernel of the tree about the same state; whether its answer can be trusted."""
    own = room(8)
    for k in range(6):
        put_word(own, k, word(pairs, k))
    put_word(own, 6, word(words, NEEDED))
    put_word(own, 7, word(words, N_DOF))
    return ask(word(words, FIRST), (word(words, FIRST_MEMORY), word(words, FIRST_SIZE), own)) != 0


@inline
def is_within(words, size, speed, change):
    """Whether each number of the verdict is at most b (1 + s speed + a (change + speed^2))."""
    own, verdict = doubles(words, size), doubles(word(words, VERDICT), word(words, JUDGED))
    for k in range(word(words, JUDGED)):
        at = BOUNDS + 3 * k
        most = own[at] * (1.0 + own[at + 1] * speed + own[at + 2] * (change + speed * speed))
        if not verdict[k] <= most:
            return False
    return True


def run(words, size, pairs):
    """The code of `judged_state`."""
    n = word(words, N_DOF)
    place = largest(doubles(word(pairs, 0), n), n)
    speed, change = largest(doubles(word(pairs, 2), n), n), largest(doubles(word(pairs, 4), n), n)
    if not place + speed + change >= 0.0:
        return 0
    if word(words, FIRST) != 0 and not needed_first(words, pairs):
        return 0
    for k in range(word(words, ARRAYS)):
        source = word(words, SOURCES + k)
        if source >= 0:
            put_word(words, PAIRS + 2 * k, word(pairs, 2 * source))
    table, memory, room_of_it = word(words, TABLE), word(words, MEMORY), word(words, SIZE)
    start, own = word(words, START), words + 8 * PAIRS
    ask(word(words, BODY), (table, memory, room_of_it, 0, 1, own, start, 0, 0))
    if not is_within(words, size, speed, change):
        return 0
    return 1 if largest(doubles(word(pairs, 6), n), n) >= 0.0 else 0
