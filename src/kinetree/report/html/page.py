"""The page of a report: what stands where, and the file it is written to."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from kinetree.errors import FileError
from kinetree.formats.regular_file import PathLike, check_writable, checked_path
from kinetree.report.frames import frames, motion_names
from kinetree.report.html.markup import Html, element, html
from kinetree.report.html.panels import left_out
from kinetree.report.html.payload import MOST_MOTIONS, payload, payload_json
from kinetree.report.html.pictures import drawing, gait, history, muscles, poses
from kinetree.report.html.story import description, facts, sentences, title, verdict
from kinetree.report.html.tables import (
    audit_list,
    event_table,
    mechanism_tables,
    motion_table,
    price_table,
    value_table,
    variable_table,
)
from kinetree.report.output import write_file
from kinetree.report.panel import missing_note, zero_note
from kinetree.result.result import Result
from kinetree.result.summary import listed_unjudged
from kinetree.result.variables import NET_REACTION, VERDICTS

ASSETS = files("kinetree.report.html") / "assets"
SUFFIXES = (".html", ".htm")
MARKS = {"good": "✓", "bad": "✗", "part": "◐", "none": "–"}
MOST_MESSAGES = 4
GO = Html('<svg class="go" viewBox="0 0 16 16" aria-hidden="true"><path d="M4 2l10 6-10 6z"/></svg>')
STOP = Html(
    '<svg class="stop" viewBox="0 0 16 16" aria-hidden="true"><path d="M3 2h4v12H3zM9 2h4v12H9z"/></svg>'
)
COMPASS = Html('<svg class="over compass" viewBox="-42 -42 84 84" aria-hidden="true"><g id="axes"></g></svg>')
HINT = (
    "Drag to rotate, drag with shift or the right button to pan, click and scroll to zoom, double-click to "
    "reset. Keys: arrows, + and −, space, comma and period. Hover over a curve to see the pose at that time."
)


def write_report(result: Result, path: PathLike, force: bool = False, meshes: PathLike | None = None) -> None:
    """Write the report of a result as one .html file that needs nothing else; see :meth:`Result.report`."""
    place = checked_path(path)
    check_report(place)
    check_writable(place, force)
    write_file(place, report_html(result, meshes).encode("utf-8"))


def check_report(path: PathLike) -> None:
    """Raise if the suffix is not that of a web page."""
    place = checked_path(path)
    if place.suffix.lower() not in SUFFIXES:
        raise FileError(f"{place}: a report is a file with the suffix .html")


def report_html(result: Result, meshes: PathLike | None = None, *, bare: bool = False) -> str:
    """The report as a text: a page whose style, script, pictures and numbers are all within it.

    Texts are escaped, and the page's policy lets only its own script run and nothing be fetched. ``meshes``
    is the folder of the mechanism's mesh files, which are not looked for elsewhere. A ``bare`` page begins
    with the animation, to stand in another page.

    >>> import kinetree as kt
    >>> page = report_html(kt.simulate(kt.zoo.two_link(), [0, 0], duration=0.1, times=3))
    >>> page.startswith("<!doctype html>"), 'src="http' in page
    (True, False)
    """
    style, script = asset("style.css"), page_script()
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element(
            "meta", name="generator", content=f"kinetree {result.provenance.get('kinetree', '')}".strip()
        ),
        element("title", title(result)),
        element("style", Html(style)),
    )
    data = Html(payload_json(payload(result, meshes)))
    body = element(
        "body",
        "" if bare else _header(result),
        element(
            "main",
            _stage(result),
            _card("Comparison with measured walking", gait(result)),
            _card("Muscles", muscles(result)),
            *_sections(result),
        ),
        _header(result) if bare else "",
        _footer(result),
        element("script", data, type="application/json", id="kinetree-data"),
        element("script", Html(script)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def asset(name: str) -> str:
    """The text of a file that pages are made with."""
    return (ASSETS / name).read_text(encoding="utf-8")


def page_script() -> str:
    """All scripts in the order of their names, in one scope of their own."""
    names = sorted(item.name for item in ASSETS.iterdir() if item.name.endswith(".js"))
    return '"use strict";\n(() => {\n' + "\n".join(asset(name) for name in names) + "})();\n"


def _policy(style: str, script: str) -> str:
    """Only this style and this script, and no request to anywhere."""
    allowed = {
        "default-src": "'none'",
        "img-src": "data:",
        "style-src": f"'{digest(style)}'",
        "script-src": f"'{digest(script)}'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{key} {value}" for key, value in allowed.items())


def digest(text: str) -> str:
    """What a page's policy calls a style or script by."""
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"


# ---- the parts of the page ------------------------------------------------------------------------------


def _header(result: Result) -> Html:
    state, words = verdict(result)
    badge = element(
        "span",
        element("span", MARKS[state], aria_hidden="true"),
        words,
        class_=f"badge {state}",
        id="verdict",
    )
    theme = element("button", "light / dark", type="button", id="theme", class_="plain")
    first, *rest = sentences(result)
    about, more = description(result)
    return element(
        "header",
        element(
            "div",
            element(
                "div",
                element("p", f"Kinetree · {result.task.replace('_', ' ')}", class_="eyebrow"),
                element("h1", title(result)),
            ),
            element("div", badge, theme, class_="actions"),
            class_="head",
        ),
        element("p", element("strong", first), " ", " ".join(rest), class_="lead"),
        element("p", about, class_="quiet") if about else "",
        _details("Description", element("p", more, class_="quiet")) if more else "",
        _messages(result),
        element("dl", *(_fact(name, value) for name, value in facts(result).items()), class_="facts"),
        element("noscript", element("p", "The animation and the curves need JavaScript.", class_="notice")),
    )


def _messages(result: Result) -> Html:
    """What the task said beside its numbers; they are no warnings if all checks are passed."""
    stated, names = list(result.messages), motion_names(result)
    if len(names) > MOST_MOTIONS:
        stated.append(f"The animation and the curves show the first {MOST_MOTIONS} of {len(names)} motions.")
    if not stated:
        return Html("")
    calm = result.passed and result.complete
    items = [element("li", message) for message in stated]
    listed = element("ul", *items[:MOST_MESSAGES], class_="messages" if calm else "messages warn")
    more = element("ul", *items[MOST_MESSAGES:], class_="messages") if items[MOST_MESSAGES:] else Html("")
    return html([listed, _details(f"{len(items) - MOST_MESSAGES} more messages", more)])


def _fact(name: str, value: str) -> Html:
    return element("div", element("dt", name), element("dd", value))


def _verdicts(result: Result) -> Html:
    """What is wrong with the motion that the curves show: joint, amount, time."""
    failed = [check for name, check in result.audit.items() if not check.passed and name in VERDICTS]
    items = [element("li", check.sentence) for check in failed]
    return element("ul", *items, class_="messages warn", id="verdicts") if items else Html("")


def _stage(result: Result) -> Html:
    """The animation with its player, and the curves beside it."""
    names = motion_names(result)[:MOST_MOTIONS]
    zero, missing = left_out(result, len(names))
    note = ". ".join(x for x in (missing_note(missing), zero_note(zero)) if x)
    curves, wrong = element("section", id="plots", aria_label="Curves over time"), _verdicts(result)
    left = element("p", note, class_="hint", id="left-out") if note else Html("")
    save = element("button", "download curves as CSV", type="button", id="save-curves", class_="plain")
    plots = element("div", wrong, curves, left, element("p", save, class_="hint"))
    if not names:
        return element("div", plots, class_="stage")
    screen = element(
        "div",
        element(
            "canvas", id="view", tabindex="0", role="application",
            aria_label=f"Animation of {result.mechanism.name}; arrow keys rotate the view, space plays",
        ),
        _key(result),
        COMPASS,
        element("span", id="grid-note", class_="over"),
        class_="screen",
    )  # fmt: skip
    viewer = element(
        "section", screen, _player(result, names), element("p", HINT, class_="hint"),
        class_="card viewer", aria_label="Animation",
    )  # fmt: skip
    return element("div", viewer, plots, class_="stage both")


def _key(result: Result) -> Html:
    """What the colors in the animation stand for."""
    motion = frames(result, most=2)
    entries = [("center", "center of mass")]
    if motion.traces:
        names = ", ".join(name for name, _ in motion.traces)
        entries += [("trace", f"path of {names}")]
    if motion.obstacles:
        entries += [("obstacle", "keep-out region")]
    if motion.contact_force is not None or motion.foot_force is not None:
        entries += [("contact", "ground force")]
    if motion.center_of_pressure is not None:
        entries += [("pressure", "center of pressure (ZMP)"), ("support", "support polygon")]
    if motion.reaction is not None:
        net = NET_REACTION in result
        entries += [("reaction", "net joint force on the distal body" if net else "joint force")]
    marks = [element("span", element("i", class_=f"swatch {name}"), words) for name, words in entries]
    return element("div", *marks, class_="over key")


def _player(result: Result, names: tuple[str, ...]) -> Html:
    boxes = [("center", "center of mass", True)]
    if frames(result, most=2).traces:
        boxes.append(("traces", "paths of frames", True))
    if {"contact_force", "ground_reaction", "reaction", NET_REACTION} & {*result.variables}:
        boxes.append(("forces", "forces", True))
    boxes.append(("follow", "camera follows", False))
    if len(result.time) > 1:
        boxes.append(("percent", "time axis in %", False))
    choice = element("select", *(element("option", x, value=k) for k, x in enumerate(names)), id="motion")
    return element(
        "div",
        element(
            "div",
            element("button", GO, STOP, type="button", id="play", aria_label="play"),
            element(
                "input",
                type="range",
                id="slider",
                min="0",
                max="1000",
                value="0",
                step="1",
                aria_label="time",
            ),
            element("output", "0.000 s", id="clock"),
            class_="track",
        ),
        element("label", "speed ", element("select", id="speed")),
        element("label", "motion ", choice) if len(names) > 1 else "",
        *(
            element("label", element("input", type="checkbox", id=name, checked=checked), words)
            for name, words, checked in boxes
        ),
        element("button", "reset view", type="button", id="reset", class_="plain"),
        class_="player",
    )


def _card(heading: str, *content: object, long: bool = False, whole: bool = False) -> Html:
    """A part of the page; a ``long`` one may break over printed pages, a ``whole`` one is nowhere cut."""
    inside = [html(part) for part in content if html(part)]
    kind = "card long uncut" if whole else "card long" if long else "card"
    return element("section", element("h2", heading), *inside, class_=kind) if inside else Html("")


def _sections(result: Result) -> list[Html]:
    study = result.settings.get("study", {})
    settings = {key: value for key, value in result.settings.items() if key != "study"}
    left = [
        _card("Audit", audit_list(result.audit, listed_unjudged(result.not_judged))),
        _card("Events", event_table(result), long=True),
        _card("Optimization", history(result)),
    ]
    right = [
        _card("Mechanism", drawing(result), _details("Bodies and joints", mechanism_tables(result))),
        _card("The motion at a glance", poses(result)),
        _card(
            "Settings",
            _details("Settings", value_table(settings, "Settings")),
            _details("Study file", value_table(study.get("file", {}), "Study file")),
            _details("Statistics", value_table(_statistics(result), "Computing effort and outcome")),
            _details("Variables of the result", variable_table(result)),
            value_table(result.provenance, "Provenance"),
            long=True,
        ),
    ]
    numbers = _card("Numbers", motion_table(result), price_table(result.statistics), whole=True)
    return [numbers, element("div", element("div", *left), element("div", *right), class_="columns")]


def _statistics(result: Result) -> dict[str, object]:
    return {key: value for key, value in result.statistics.items() if key != "reached"}


def _details(heading: str, content: Html) -> Html:
    return element("details", element("summary", heading), content) if content else Html("")


def _footer(result: Result) -> Html:
    made = result.provenance
    stated = f"Kinetree {made.get('kinetree', '')}, {str(made.get('date', ''))[:10]}. "
    return element("footer", element("p", stated, "This page is self-contained and needs no network."))
