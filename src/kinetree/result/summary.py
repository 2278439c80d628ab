"""A result in words: for the terminal and for notebooks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from kinetree.dynamics.loops.structure import freedom_in_words
from kinetree.errors import counted, listed

if TYPE_CHECKING:
    from kinetree.result.result import Result

Rows = Sequence[tuple[str, ...]]
LONGEST = 60  # characters of a value
REACHED = re.compile(r"^[^:]+: .*\breached\b")  # a limit that a motion makes use of: no warning


def summary(result: Result) -> str:
    """The result in some lines: what, how long, which variables, what the audit says."""
    lines = [f"Result: {headline(result)}", *_notes(result)]
    lines += [f"  {line}" for line in _aligned(_variable_rows(result))]
    if result.audit:
        rows = [(name, str(check), check.sentence) for name, check in result.audit.items()]
        lines += ["audit", *(f"  {line}" for line in _aligned(rows))]
    if result.not_judged:
        lines.append(f"not judged: {listed_unjudged(result.not_judged)}")
    lines += [f"{name}: {text}" for name, text in _facts(result)]
    return "\n".join(lines)


def summary_html(result: Result) -> str:
    """The summary of a result as HTML, without its headline."""
    blocks = [f"<div>{escape(note)}</div>" for note in _notes(result)]
    blocks.append(_table(("variable", "dimensions", "unit", "meaning"), _variable_rows(result)))
    if result.audit:
        rows = [(name, str(check), check.sentence) for name, check in result.audit.items()]
        blocks.append(_table(("check", "outcome", ""), rows))
    if result.not_judged:
        blocks.append(f"<div>not judged: {escape(listed_unjudged(result.not_judged))}</div>")
    blocks += [f"<div>{escape(name)}: {escape(text)}</div>" for name, text in _facts(result)]
    return "<div>" + "".join(blocks) + "</div>"


def listed_unjudged(not_judged: Mapping[str, str]) -> str:
    """Verdicts that there are none of, with their reasons, those of the same reason together.

    >>> listed_unjudged({"tilt": "there is no ground", "slip": "there is no ground"})
    'tilt, slip (there is no ground)'
    """
    reasons: dict[str, list[str]] = {}
    for name, why in not_judged.items():
        reasons.setdefault(why, []).append(name.replace("_", " "))
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())


def headline(result: Result) -> str:
    """What a result is, in one line: task, mechanism, samples and time."""
    if result.task == "sweep":
        sizes = " x ".join(f"{n} {dim}" for dim, n in result.dataset["status"].sizes.items())
        return f"sweep of '{result.settings['study']['title']}', {sizes}"
    time = result.dataset["time"].values
    samples = counted(len(time), "sample", "samples")
    span = f"{time[0]:g} s" if len(time) == 1 else f"{time[0]:g} to {time[-1]:g} s"
    return f"{result.task} '{result.mechanism.name}', {freedom_in_words(result.mechanism)}, {samples}, {span}"


def _notes(result: Result) -> list[str]:
    if result.task == "sweep":
        return [] if result.complete else [str(result.stop_reason)]
    stop = [] if result.complete else [f"stopped at {result.stopped_at:g} s: {result.stop_reason}"]
    calm = result.passed and result.complete
    return stop + [f"{'note' if calm or REACHED.search(x) else 'warning'}: {x}" for x in result.messages]


def _variable_rows(result: Result) -> Rows:
    arrays = [(name, result.dataset[name]) for name in result.variables]
    return [
        (name, ", ".join(map(str, x.dims)), str(x.attrs.get("units", "")), str(x.attrs.get("long_name", "")))
        for name, x in arrays
    ]


def _facts(result: Result) -> list[tuple[str, str]]:
    kinds = Counter(event.kind for event in result.events)
    facts = {
        "events": listed(f"{count} {kind}" for kind, count in kinds.items()) if kinds else "",
        "settings": _listed(result.settings, " = "),
        "statistics": _listed(result.statistics, " = "),
        "from": _listed(result.provenance, " "),
    }
    return [(name, text) for name, text in facts.items() if text and text != "none"]


def _listed(table: Mapping[str, Any], between: str) -> str:
    texts = {key: str(value) for key, value in table.items()}
    short = {key: x if len(x) <= LONGEST else f"{x[: LONGEST - 3]}..." for key, x in texts.items()}
    return listed(f"{key}{between}{text}" for key, text in short.items())


def _aligned(rows: Rows) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))] if rows else []
    return ["  ".join(text.ljust(n) for text, n in zip(row, widths, strict=True)).rstrip() for row in rows]


def _table(head: tuple[str, ...], rows: Rows) -> str:
    cells = [f"<tr>{''.join(f'<th>{escape(text)}</th>' for text in head)}</tr>"]
    cells += [f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows]
    return f"<table>{''.join(cells)}</table>"
