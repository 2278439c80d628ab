"""Joints that mimic joints which mimic others, tied to the one that moves by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kinetree.errors import ModelError, listed
from kinetree.model.joint import Mimic


def resolved_mimics(written: Mapping[str, Mimic], place: Callable[[str], str]) -> dict[str, Mimic]:
    """The mimics by joint, chains resolved; ``place`` begins the message about a circle of a joint.

    >>> chain = {"b": Mimic("a", 2.0, 1.0), "c": Mimic("b", 3.0)}
    >>> resolved_mimics(chain, str)["c"]
    Mimic(joint='a', multiplier=6.0, offset=3.0, higher=(), others=(), function=None)
    """
    resolved: dict[str, Mimic] = {}
    for name in written:
        chain: dict[str, None] = {}
        last = name
        while last in written and last not in resolved:
            if last in chain:
                circle = listed([*chain, last])
                raise ModelError(f"{place(name)}: joints mimic each other in a circle: {circle}")
            chain[last] = None
            last = written[last].joint
        _resolve(list(chain), written, resolved)
    return resolved


def _resolve(chain: Sequence[str], written: Mapping[str, Mimic], resolved: dict[str, Mimic]) -> None:
    """q = m (m' q_other + o') + o along a chain of joints, each mimicking the next."""
    for name in reversed(chain):
        mimic = written[name]
        other = resolved.get(mimic.joint, Mimic(mimic.joint))
        resolved[name] = Mimic(
            other.joint, mimic.multiplier * other.multiplier, mimic.multiplier * other.offset + mimic.offset
        )
