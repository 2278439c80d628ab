"""Results are equal if every bit of them is."""

from dataclasses import replace

import numpy as np

from kinetree.model import zoo
from kinetree.result.build import build_result
from kinetree.result.records import Check
from support.results import random_result, small_motion, small_result


def test_every_single_bit_counts(rng):
    """Of every variable and coordinate of numbers: the lowest bit of one entry."""
    result = random_result(zoo.quadruped(), rng)
    numbers = [name for name in result if result[name].dtype.kind == "f" and result[name].size]
    assert len(numbers) > 20
    for name in numbers:
        values = np.array(result[name].values)
        flat = values.reshape(-1).view(np.int64)
        flat[rng.integers(len(flat))] ^= 1
        changed = result.dataset.assign_coords if name in result.dataset.coords else result.dataset.assign
        other = replace(result, dataset=changed({name: (result[name].dims, values, result[name].attrs)}))
        assert not result.equals(other)
        assert [text.split(":")[0] for text in result.differences(other)] == [name]


def test_signs_of_zero_and_missing_entries_count(rng):
    result = small_result(zoo.two_link(), rng)
    for a, b in ((0.0, -0.0), (np.nan, 0.0)):
        pair = [replace(result, dataset=result.dataset.assign(x=((), value, {}))) for value in (a, b)]
        assert not pair[0].equals(pair[1])
        assert pair[0].equals(pair[0])


def test_what_else_counts(rng):
    motion = small_motion(zoo.two_link(), rng)

    def made(mechanism=None, **more):
        return build_result("simulate", mechanism or zoo.two_link(), motion, **more)

    result = made()
    assert result.equals(made())
    others = {
        "mechanism": made(zoo.two_link().with_gravity((0, 0, -0.0))),
        "settings": made(settings={"rtol": 1e-8}),
        "statistics": made(statistics={"steps": 3}),
        "messages": made(messages=["slow"]),
        "audit": made(audit={"energy": Check.within(0.0, 1.0)}),
        "stopped_at": made(stopped_at=1.0, stop_reason="interrupted"),
        "event": made(events=[(0.0, "touchdown", "foot")]),
        "task": replace(result, task="inverse"),
    }
    for what, other in others.items():
        assert not result.equals(other)
        assert result.differences(other)[0].startswith(what)
    assert made(seconds=1.0).equals(made(seconds=2.0))
    assert not result.equals("run.nc")
