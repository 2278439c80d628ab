"""Many cases of one path through the code as one test, which names every case that fails."""

from __future__ import annotations

import functools
import inspect
import itertools
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pytest

SHOWN = 10  # failed cases

Ids = Callable[[Any], str] | Iterable[str] | None


def each(names: str | Sequence[str], values: Iterable[Any], ids: Ids = None) -> Any:
    """Like ``pytest.mark.parametrize``, but all cases are one test; one above the other makes the product.

    Every case has the random numbers ``rng`` that it would have as a test by itself, whatever ran before it.
    Other fixtures are shared, so cases that leave files or settings must be tests by themselves.
    """
    keys = [x.strip() for x in names.split(",")] if isinstance(names, str) else list(names)
    ids = ids if ids is None or callable(ids) else list(ids)
    cases = [_case(value, keys, k, ids) for k, value in enumerate(values)]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        body, axes = getattr(test, "cases", (test, []))
        axes = [(keys, cases), *axes]

        @functools.wraps(body)
        def run(request: pytest.FixtureRequest, **fixtures: Any) -> None:
            _run(body, axes, request.node.nodeid, fixtures)

        rest = [x for name, x in inspect.signature(test).parameters.items() if name not in (*keys, "request")]
        request = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        vars(run).update(cases=(body, axes), __signature__=inspect.Signature([request, *rest]))
        return run

    return decorate


def _run(body: Callable[..., None], axes: list[Any], node: str, fixtures: dict[str, Any]) -> None:
    """Run all cases of a test; those that fail are named together."""
    failed, checked, reason = list[tuple[str, BaseException]](), 0, ""
    for rows in itertools.product(*(cases for _, cases in axes)):
        case = "-".join(name for name, _ in reversed(rows))
        given = {
            key: x
            for (keys, _), (_, row) in zip(axes, rows, strict=True)
            for key, x in zip(keys, row, strict=True)
        }
        if "rng" in fixtures:
            given["rng"] = np.random.default_rng(zlib.crc32(f"{node}[{case}]".encode()))
        try:
            body(**{**fixtures, **given})
        except pytest.skip.Exception as skipped:
            reason = str(skipped)
            continue
        except (Exception, pytest.fail.Exception) as error:
            failed.append((case, error))
        checked += 1
    if not checked and reason:
        pytest.skip(reason)
    assert checked, "no case was checked"
    if failed:
        first = [f"[{case}] {type(error).__name__}: {error}" for case, error in failed[:SHOWN]]
        text = "\n".join((f"{len(failed)} of {checked} cases fail:", *first))
        raise AssertionError(text) from failed[0][1]


def _case(value: Any, keys: list[str], k: int, ids: Ids) -> tuple[str, tuple[Any, ...]]:
    """Name and values of a case; the name is the one that pytest gives."""
    name = None
    if isinstance(value, type(pytest.param())):
        assert not value.marks, "a marked case is a test by itself"
        name, row = value.id, tuple(value.values)
    else:
        row = (value,) if len(keys) == 1 else tuple(value)
    assert len(row) == len(keys), f"case {k} has {len(row)} values for {keys}"
    if name is None and ids is not None and not callable(ids):
        name = ids[k]
    return name or "-".join(_name(x, key, k, ids) for key, x in zip(keys, row, strict=True)), row


def _name(x: Any, key: str, k: int, ids: Ids) -> str:
    if callable(ids):
        return str(ids(x))
    if isinstance(x, str | int | float | complex | None):
        return str(x)
    return getattr(x, "__name__", f"{key}{k}")
