"""Store the declarations of the code, and write lists of it into pages: `python docs/make_lists.py`.

A list stands between two marks, such as ``<!-- rules -->`` and ``<!-- end of rules -->``: commands with
their own help, rules of the check, kinds of trajectories and controllers, and terms of predictions.
"""

from __future__ import annotations

from html import unescape
from pathlib import Path
from typing import Any

from kinetree.declare import FILE, Declaration, as_text, declaration_of, is_declared, stored

DOCS = Path(__file__).parent
PAGES = {
    "cli.md": ("commands",),
    "rules.md": ("rules",),
    "study_file.md": ("trajectories", "controllers", "terms"),
}
HIDDEN = ("--install-completion", "--show-completion")


def filled(page: str) -> str:
    """The text of a page with all its lists."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for name in PAGES[page]:
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, (_, after) = text.split(begin)[0], text.split(end)
        text = f"{before}{begin}\n\n{LISTS[name]()}\n\n{end}{after}"
    return text


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
        lines.append("\n".join(["| argument or option | meaning |", "|---|---|", *rows]))
    for inner in getattr(command, "commands", {}):
        lines.append(
            _command(command.get_command(context, inner), f"{name} {inner}").replace("## ", "### ", 1)
        )
    return "\n\n".join(lines)


def _row(parameter: Any) -> str:
    """A line of the table of arguments and options."""
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name.upper()).replace("|", " or ")
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


def trajectories() -> str:
    """Every kind of trajectory that a study may have."""
    from kinetree.study.kinds import TRAJECTORIES

    return kinds(TRAJECTORIES)


def controllers() -> str:
    """Every kind of controller that a study may have."""
    from kinetree.study.kinds import CONTROLLERS

    return kinds(CONTROLLERS)


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
    lines = ["| in a study | in Python | what | parameters |", "|---|---|---|---|"]
    objectives = stored("objectives")
    for declaration in (*objectives, *stored("constraints")):
        given = "<br>".join(f"`{x.name}`: {x.description}" for x in declaration.parameters)
        keys = f"`[[predict.{declaration.key}]]`"
        if declaration.short is not None:
            keys += f"<br>or `{declaration.short.key}`"
        elif declaration in objectives and declaration.complete:
            keys += f'<br>or `objective = "{declaration.key}"`'
        lines.append(f"| {keys} | `terms.{declaration.name}` | {declaration.text} | {given} |")
    return "\n".join(lines)


# ---- the declarations that study files are read by -------------------------------------------------------


def declarations() -> dict[str, list[Declaration]]:
    """All declarations of the code by section, in the order of the public names."""
    from kinetree.motion import terms
    from kinetree.tasks.lifting.task import Lifting
    from kinetree.tasks.walking.task import Walking

    kinds = [kind for name in terms.__all__ if is_declared(kind := getattr(terms, name))]
    objectives = [kind for kind in kinds if issubclass(kind, terms.Objective)]
    return {
        "objectives": [declaration_of(kind) for kind in objectives],
        "constraints": [declaration_of(kind) for kind in kinds if kind not in objectives],
        "tasks": [declaration_of(kind) for kind in (Walking, Lifting)],
    }


LISTS = {made.__name__: made for made in (commands, rules, trajectories, controllers, terms)}


def main() -> None:
    """Store the declarations, then fill all pages, some of which are made of them."""
    FILE.write_text(as_text(declarations()), encoding="utf-8")
    for page in PAGES:
        (DOCS / page).write_text(filled(page), encoding="utf-8")


if __name__ == "__main__":
    main()
