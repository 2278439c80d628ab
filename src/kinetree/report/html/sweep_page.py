"""The page of a sweep: its pictures and numbers, with the animation of a chosen case beside them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from kinetree.errors import InputError, KinetreeError
from kinetree.formats.regular_file import PathLike, check_writable, checked_path
from kinetree.report.html.markup import Html, element, table
from kinetree.report.html.page import asset, check_report, digest, page_script, report_html
from kinetree.report.output import picture_bytes, write_file
from kinetree.report.sweep_plot import plot_sweep, usual_kind
from kinetree.result.netcdf import load_result
from kinetree.result.result import Result
from kinetree.sweeps.analysis import measures, optima, pareto_front, sweep_table
from kinetree.sweeps.story import story
from kinetree.sweeps.sweep import case_result

MOST_ROWS = 200
STYLE = """
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 20px; align-items: start; }
@media (max-width: 1100px) { .pair { grid-template-columns: minmax(0, 1fr); } }
.pair img, .more img { width: 100%; height: auto; background: #fff; border-radius: 10px; }
iframe { width: 100%; height: 760px; border: 1px solid var(--edge); border-radius: 14px; background: #fff; }
.more img { max-width: 1000px; display: block; margin: 0 auto; }
.rows { overflow: auto; max-height: 420px; }
"""


def write_sweep_report(
    store: PathLike,
    path: PathLike,
    *,
    case: int | None = None,
    force: bool = False,
    allow_code: Collection[str] = (),
    only_inside: bool = False,
) -> None:
    """Write the page of a sweep's store as one .html file; ``case`` is shown in motion, default the best.

    The case is run again for it; ``allow_code`` and ``only_inside`` as for `case_result`.
    """
    place = checked_path(path)
    check_report(place)
    check_writable(place, force)
    write_file(place, sweep_html(store, case, allow_code, only_inside).encode("utf-8"))


def sweep_html(
    store: PathLike, case: int | None = None, allow_code: Collection[str] = (), only_inside: bool = False
) -> str:
    """The page as a text."""
    result = load_result(store)
    run = partial(case_result, store, allow_code=allow_code, only_inside=only_inside)
    title, facts, lines = story(result)
    style, script = asset("style.css"), page_script()
    own = style + STYLE
    policy = {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": f"'{digest(own)}' '{digest(style)}'",
        "script-src": f"'{digest(script)}'",
        "frame-src": "'self'",
    }
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="; ".join(f"{key} {value}" for key, value in policy.items()),
        ),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Html(own)),
    )
    shown = [element("div", element("dt", name), element("dd", value)) for name, value in facts.items()]
    body = element(
        "body",
        element(
            "header",
            element("p", "Kinetree · sweep", class_="eyebrow"),
            element("h1", title),
            element("dl", *shown, class_="facts"),
            element("ul", *(element("li", line) for line in lines), class_="messages") if lines else "",
        ),
        element("main", _pair(result, run, case), _more(result), _rows(result)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def chosen_case(result: Result) -> int:
    """The case to show: the best optimum, the middle of the front, else the one nearest to the median."""
    kind = sweep_table(result).kind
    if kind == "multi_start" and (found := optima(result)):
        return found[0].best
    if kind == "pareto" and (front := pareto_front(result)):
        return front[len(front) // 2]
    names = measures(result)
    if not names:
        raise InputError("no case of the sweep succeeded: there is none to show")
    count = result["status"].size
    dims = list(map(str, result["status"].dims))
    array = result[names[0]].transpose(*dims, ...)
    values = np.asarray(array.values, dtype=np.float64).reshape(count, -1)
    near = np.abs(values - np.nanmedian(values, axis=0)).sum(axis=1)
    return int(np.nanargmin(near))


def _pair(result: Result, run: Callable[[int], Result], case: int | None) -> Html:
    """The picture, and beside it the animation of a case."""
    try:
        shown = chosen_case(result) if case is None else case
        one = run(shown)
        where = ", ".join(_values(result, shown))
        page = element("iframe", srcdoc=report_html(one, bare=True), title=f"Animation of case {shown}")
        beside = element("section", element("h2", f"Case {shown}: {where}"), page, class_="card")
    except KinetreeError as error:
        beside = element("section", element("p", f"No case can be animated: {error}"), class_="card")
    picture = element(
        "section", element("h2", "All cases"), _picture(result, usual_kind(result)), class_="card"
    )
    return element("div", picture, beside, class_="pair")


def _picture(result: Result, kind: str) -> Html:
    try:
        content = picture_bytes(plot_sweep(result, kind=kind), ".png", 140)
    except InputError as error:
        return element("p", str(error), class_="quiet")
    source = f"data:image/png;base64,{b64encode(content).decode('ascii')}"
    return element("img", src=source, alt=f"{kind.replace('_', ' ')} of the sweep")


def _more(result: Result) -> Html:
    """Further pictures: every case as a line, and pairs of axes and measures."""
    first = usual_kind(result)
    kinds = [kind for kind in ("parallel", "scatter") if kind != first]
    kinds = ["distribution", *kinds] if first == "bands" else kinds
    blocks = [element("section", _picture(result, kind), class_="card more") for kind in kinds]
    return Html("".join(blocks))


def _values(result: Result, case: int) -> list[str]:
    """What varies, in a case."""
    place = dict(zip(result["status"].dims, np.unravel_index(case, result["status"].shape), strict=True))
    one: Any = result.dataset.isel({str(dim): int(k) for dim, k in place.items()})
    found = []
    for name in one.coords:
        dims = result.dataset[name].dims
        if len(dims) == 1 and dims[0] in place and not (name == dims[0] and _is_numbered(result, str(name))):
            value = one[name].values[()]
            found.append(f"{name} = {value:.5g}" if isinstance(value, float) else f"{name} = {value}")
    return found


def _is_numbered(result: Result, dim: str) -> bool:
    """Whether a dimension only numbers its values, which have names of their own."""
    return any(result.dataset[x].dims == (dim,) and x != dim for x in result.dataset.coords)


def _rows(result: Result) -> Html:
    """A table of the cases, the first of them if there are many."""
    count = result["status"].size
    names = measures(result, scalar=True)
    statuses = result.dataset.attrs["statuses"].split(", ")
    flat = {name: np.asarray(result[name].values).ravel() for name in (*names, "status", "message")}
    rows = [
        (
            k,
            ", ".join(_values(result, k)),
            f"{statuses[int(flat['status'][k])]} {flat['message'][k]}".strip(),
            *(f"{flat[name][k]:.6g}" for name in names),
        )
        for k in range(min(count, MOST_ROWS))
    ]
    caption = "Cases" if count <= MOST_ROWS else f"The first {MOST_ROWS} of {count:,} cases"
    made = table(("case", "values", "status", *names), rows, caption=caption, numbers=3)
    return element("section", element("div", made, class_="rows"), class_="card")
