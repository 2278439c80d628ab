"""What happens to the pages while the site is built: formulas become MathML, commands tell about themselves.

Nothing is fetched: a formula between dollar signs is written as MathML, which browsers draw themselves. The
page of the command line is filled from the commands' own help, that of the rules from the rules, the list of
terms from their declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any

from latex2mathml.converter import convert

CODE = re.compile(r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)\s*?$|(?P<ticks>`+)[^`].*?(?P=ticks)", re.M | re.S)
FORMULA = re.compile(
    r"\$\$(?P<block>.+?)\$\$|(?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*?[^\s$])?)\$(?![\w$])", re.S
)
OUTSIDE = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<up>(?:\.\./)+)(?P<path>[^)]+)\)")
CITED = re.compile(r"(?<!\[)\[(?P<key>Barman2020|Xiang2009|Mohan2007|NCTU|Shah2013)\](?![\[(\]])")
PLACE = "kinetreeformula{}x{}x"
COMMANDS = "<!-- commands -->"
RULES = "<!-- rules -->"
TERMS = "<!-- terms -->"
TRAJECTORIES, CONTROLLERS = "<!-- trajectories -->", "<!-- controllers -->"
HIDDEN = ("--install-completion", "--show-completion")


# ---- the steps of MkDocs --------------------------------------------------------------------------------


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Formulas are put aside, commands filled in, and what is not part of the site is named, not linked."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, commands())
    if RULES in markdown:
        markdown = markdown.replace(RULES, rules())
    if TERMS in markdown:
        markdown = markdown.replace(TERMS, terms())
    if TRAJECTORIES in markdown:
        from kinetree.study import kinds as declared

        markdown = markdown.replace(TRAJECTORIES, kinds(declared.TRAJECTORIES))
        markdown = markdown.replace(CONTROLLERS, kinds(declared.CONTROLLERS))
    markdown = _outside_code(markdown, lambda text: unlinked(text, page.file.src_uri))
    markdown = _outside_code(markdown, lambda text: cited(text, page.file.src_uri))
    page.meta["formulas"] = []
    return _outside_code(markdown, lambda text: FORMULA.sub(lambda m: _put_aside(m, page), text))


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """The formulas come back."""
    for k, formula in enumerate(page.meta.get("formulas", [])):
        html = html.replace(PLACE.format(k, len(formula)), formula)
    return html


def _put_aside(found: re.Match[str], page: Any) -> str:
    block = found["block"]
    formula = mathml(block if block is not None else found["inline"], block is not None)
    page.meta["formulas"].append(formula)
    return PLACE.format(len(page.meta["formulas"]) - 1, len(formula))


def mathml(latex: str, block: bool = False) -> str:
    """A formula for the browser."""
    return convert(latex.strip(), display="block" if block else "inline")


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """A text changed but for what is code in it."""
    return "".join(part if code else change(part) for code, part in _parts(text))


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    end = 0
    for found in CODE.finditer(text):
        yield False, text[end : found.start()]
        yield True, found[0]
        end = found.end()
    yield False, text[end:]


def unlinked(text: str, source: str) -> str:
    """Links that leave the folder of the documentation become names of files."""
    depth = source.count("/")

    def change(found: re.Match[str]) -> str:
        leaves = found["up"].count("..") > depth
        return f"{found['text']} (`{found['path']}`)" if leaves else found[0]

    return OUTSIDE.sub(change, text)


def cited(text: str, source: str) -> str:
    """Keys of documents lead to the bibliography.

    >>> cited("as in [Shah2013], Table 6.1", "theory/index.md")
    'as in [[Shah2013]](../bibliography.md#shah2013), Table 6.1'
    """
    up = "../" * source.count("/")
    return CITED.sub(lambda found: f"[{found[0]}]({up}bibliography.md#{found['key'].lower()})", text)


# ---- the command line -----------------------------------------------------------------------------------


def commands() -> str:
    """Every command with its arguments and options, as its own help has them."""
    import typer.main

    from kinetree.cli import app

    group: Any = typer.main.get_command(app)
    context = group.make_context("kinetree", [], resilient_parsing=True)
    return "\n\n".join(
        _command(group.get_command(context, name), name) for name in group.list_commands(context)
    )


def _command(command: Any, name: str) -> str:
    """A command, and what it consists of."""
    context = command.make_context(f"kinetree {name}", [], resilient_parsing=True)
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f"## {name}", f"```sh\nkinetree {name} {usage}\n```", unescape(command.help or "")]
    rows = [row for row in map(_row, command.get_params(context)) if row]
    if rows:
        lines.append("\n".join(["| | |", "|---|---|", *rows]))
    for inner in getattr(command, "commands", {}):
        lines.append(
            _command(command.get_command(context, inner), f"{name} {inner}").replace("## ", "### ", 1)
        )
    return "\n\n".join(lines)


def _row(parameter: Any) -> str:
    """A line of the table of arguments and options."""
    if parameter.param_type_name == "argument":
        name = parameter.metavar or parameter.name.upper()
    else:
        name = ", ".join((*parameter.opts, *parameter.secondary_opts))
        if name in ("--help", *HIDDEN) or getattr(parameter, "hidden", False):
            return ""
    default = getattr(parameter, "show_default", None)
    said = default if isinstance(default, str) else parameter.default
    shown = (
        f" Default: `{said}`." if isinstance(said, (str, int, float)) and not isinstance(said, bool) else ""
    )
    about = (getattr(parameter, "help", None) or "").replace("|", "\\|")
    return f"| `{name}` | {about}{shown} |"


# ---- the rules of the check -----------------------------------------------------------------------------


def rules() -> str:
    """The rules of ``kinetree check`` as tables: errors, then warnings."""
    from kinetree.lint.rules import ERROR, RULES, WARNING

    parts = []
    for severity, title in ((ERROR, "Errors"), (WARNING, "Warnings")):
        rows = [
            f"| `{name}` | {rule.about} | {rule.advice} |"
            for name, rule in RULES.items()
            if rule.severity == severity
        ]
        parts.append(
            "\n".join([f"## {title}", "", "| rule | what is found | what to do |", "|---|---|---|", *rows])
        )
    return "\n\n".join(parts)


# ---- kinds of trajectories and controllers ---------------------------------------------------------------


def kinds(declared: dict[str, Any]) -> str:
    """Every kind with its keys, those that it needs first, as it is declared."""
    lines = ["| kind | what | needs | may have |", "|---|---|---|---|"]
    for kind in declared.values():
        needs, may = (", ".join(f"`{key}`" for key in keys) for keys in (kind.needs, kind.may))
        lines.append(f"| `{kind.name}` | {kind.text} | {needs} | {may} |")
    return "\n".join(lines)


# ---- the terms of a prediction --------------------------------------------------------------------------


def terms() -> str:
    """Every term that a study file may have, with its parameters, as it is declared."""
    from kinetree.motion.declared import CONSTRAINTS, OBJECTIVES

    lines = ["| in a study | in Python | what | parameters |", "|---|---|---|---|"]
    for declared in (*OBJECTIVES, *CONSTRAINTS):
        given = "<br>".join(f"`{x.name}`: {x.description}" for x in declared.parameters)
        keys = f"`[[predict.{declared.key}]]`"
        if declared.short is not None:
            keys += f"<br>or `{declared.short.key}`"
        elif declared.objective and declared.complete:
            keys += f'<br>or `objective = "{declared.key}"`'
        lines.append(f"| {keys} | `terms.{declared.term}` | {declared.text} | {given} |")
    return "\n".join(lines)
