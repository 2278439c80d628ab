"""The tables of a report."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from kinetree.algebra.arrays import Array
from kinetree.model.body import WORLD
from kinetree.report.frames import leading_dimension
from kinetree.report.html.markup import Html, element, html, table
from kinetree.report.limit_lines import limit_use
from kinetree.result.records import Check
from kinetree.result.result import Result

MOST_EVENTS = 200
ROUNDING = 1e-13
MINUS = "\u2212"
LONGEST = 120  # characters of a value
PRICES = ("family", "label", "side", "bound", "unit", "share", "price")


def figure(value: float, digits: int = 4) -> str:
    """A number as it is read, with a dash for what is missing, and rounding errors as zero.

    >>> figure(0.00012345), figure(float("nan")), figure(3e-17)
    ('0.0001234', '–', '0')
    """
    return "–" if not np.isfinite(value) else "0" if abs(value) < ROUNDING else f"{value:.{digits}g}"


def motion_table(result: Result) -> Html:
    """For every joint: where it starts and ends, how far, how fast, with which torque."""
    if "q" not in result:
        return Html("")
    q, units = _by_joint(result, "q"), result.units("q")
    each = (units,) * q.shape[1] if isinstance(units, str) else units
    ends = {"lowest": np.nanmin(q, axis=0), "highest": np.nanmax(q, axis=0)}
    if leading_dimension(result) is None:
        ends = {"first": _first(q), "last": _first(q[::-1]), **ends}
    head: list[object] = ["joint", "unit", *ends]
    columns = [[figure(x) for x in values] for values in ends.values()]
    columns += _of_limit(result, "q", head)
    for name, words in (("qd", "largest speed"), ("tau", "largest torque")):
        if name in result:
            size, own = np.nanmax(np.abs(_by_joint(result, name)), axis=0), result.units(name)
            texts = (own,) * len(size) if isinstance(own, str) else own
            head.append(words)
            columns.append([f"{figure(x)} {unit}" for x, unit in zip(size, texts, strict=True)])
        columns += _of_limit(result, name, head)
    rows = zip(result.mechanism.joint_names, each, *columns, strict=True)
    return table(head, rows, caption="Joint ranges over the motion", numbers=2)


def _of_limit(result: Result, name: str, head: list[object]) -> list[list[str]]:
    """A column with the share of the limits that joints use, if any has one; its heading is added."""
    if name not in result:
        return []
    used = limit_use(result.mechanism, name, _by_joint(result, name))
    if not np.isfinite(used).any():
        return []
    head.append("% of range" if name == "q" else "% of limit")
    return [["–" if not np.isfinite(x) else f"{100.0 * x:.3g} %{' !' if x > 1.0 else ''}" for x in used]]


def _by_joint(result: Result, name: str) -> Array:
    """Values (all samples of all motions, joints)."""
    array = result[name].transpose(..., "joint").values
    values: Array = np.asarray(array, dtype=np.float64).reshape(-1, array.shape[-1])
    return values


def _first(rows: Array) -> Array:
    """The first row without missing numbers."""
    whole = np.flatnonzero(np.isfinite(rows).all(axis=1))
    found: Array = rows[whole[0]] if len(whole) else np.full(rows.shape[1], np.nan)
    return found


def event_table(result: Result) -> Html:
    """What happened and when; a click goes there."""
    happened = result.events
    events = happened[:MOST_EVENTS]
    rows = [
        (
            element(
                "button", f"{event.time:.4f} s", type="button", class_="seek", data_time=repr(event.time)
            ),
            event.kind.replace("_", " "),
            event.name,
        )
        for event in events
    ]
    more = len(happened) - len(events)
    note = f", the first {len(events)} of {len(happened)}" if more else ""
    return table(("time", "event", "where"), rows, caption=f"Events{note}", numbers=3)


def audit_list(audit: Mapping[str, Check], not_judged: str = "") -> Html:
    """Every check with its mark, sentence and figures, and what was not judged."""
    items = []
    for name, check in audit.items():
        mark, word = ("✓", "passed") if check.passed else ("✗", "failed")
        figures = re.sub(r"(?<=\de)-", MINUS, check.figures)  # a hyphen might end a line
        items.append(
            element(
                "li",
                element("span", mark, class_="mark", aria_hidden="true"),
                element(
                    "div",
                    element("strong", name.replace("_", " ")),
                    element("span", f" {word}: ", class_="word"),
                    element("span", figures, class_="figures"),
                    element("div", check.sentence, class_="quiet"),
                ),
                class_="good" if check.passed else "bad",
            )
        )
    rest = element("p", f"Not judged: {not_judged}.", class_="quiet", id="not-judged") if not_judged else ""
    if not items:
        return html([element("p", "This result has no checks.", class_="quiet"), rest])
    return html([element("ul", *items, class_="audit"), rest])


def price_table(statistics: Mapping[str, Any]) -> Html:
    """Limits that a predicted motion reaches, and what loosening them would be worth."""
    reached = statistics.get("reached")
    if not isinstance(reached, list):
        return Html("")
    rows = [
        [_price(key, entry.get(key)) for key in PRICES] for entry in reached if isinstance(entry, Mapping)
    ]
    head = ("limit", "of", "side", "value", "unit", "share of time", "price")
    words = "Active limits and their shadow prices: change of the objective per unit of the limit"
    return table(head, rows, caption=words, numbers=3)


def _price(key: str, value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.0%}" if key == "share" else f"{value:.3g}"
    return _shown(value)


def mechanism_tables(result: Result) -> Html:
    """Bodies and joints as they are described."""
    mechanism = result.mechanism
    rows = []
    for link in mechanism.links:
        joint, inertia = link.joint, link.body.inertia
        parent = "the world" if link.parent == WORLD else link.parent
        limits = [
            f"{figure(low)} to {figure(high)} {'rad' if turn else 'm'}"
            for low, high, turn in zip(joint.lower, joint.upper, joint.turns, strict=True)
            if np.isfinite(low) or np.isfinite(high)
        ]
        center = ", ".join(figure(x, 3) for x in inertia.center)
        rows.append(
            (
                link.body.name,
                joint.name,
                joint.kind,
                parent,
                "; ".join(limits) or "–",
                figure(inertia.mass),
                center,
            )
        )
    head = ("body", "joint", "kind", "parent", "limits", "mass / kg", "center of mass / m")
    return table(head, rows, caption="Bodies and their joints", numbers=5)


def variable_table(result: Result) -> Html:
    """What the result file holds."""
    arrays = [(name, result[name]) for name in result.variables]
    rows = [
        (name, ", ".join(map(str, x.dims)), x.attrs.get("units", ""), x.attrs["long_name"])
        for name, x in arrays
    ]
    return table(("variable", "dimensions", "unit", "meaning"), rows, caption="Variables", numbers=4)


def value_table(values: Mapping[str, Any], caption: str) -> Html:
    """Nested tables of values, one line for each, with points between the keys; none without values."""
    return Html("") if not values else table(("key", "value"), _lines(values), caption=caption, numbers=2)


def _lines(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _lines(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and value and all(isinstance(x, Mapping) for x in value):
        for k, inner in enumerate(value):
            yield from _lines(inner, f"{path}[{k}]")
    else:
        yield path, _shown(value)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        text = ", ".join(_shown(x) for x in value) or "none"
    else:
        text = " ".join(str(value).split()) or "–"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
