"""The machine code of methods: from the disk, without the compiler, or else compiled."""

from __future__ import annotations

import functools
from typing import Any

from kinetree.engine.stored_code import stored_or_made
from kinetree.engine.word_call import WordCall
from kinetree.integrate.settings import ARRAYS, name_of_code

STAGES = {"dopri5": 7, "dop853": 16, "radau": 26, "rk4": 6, "semi_implicit_euler": 3}  # rows of memory from K


@functools.cache
def advancing(name: str, watched: bool = False) -> WordCall:
    """advance(settings, memory, times, out, breaks, g, rules, log, log_index, ..., trace, max_steps).

    Finding events is half of the code, so it is left out unless there are event functions (``watched``).
    """

    def make() -> Any:
        from kinetree.integrate.driver import advancing

        return advancing(name, watched)

    return WordCall(stored_or_made(name_of_code(name, watched), 1, make, __file__), ARRAYS, 1)
