"""The command that checks files."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from kinetree.cli.app import (
    BAD_INPUT,
    Arguments,
    AsJson,
    FloatingBase,
    MeshesFrom,
    Packages,
    Quiet,
    Root,
    app,
    read_options,
    say,
)
from kinetree.cli.names import complete_file_or_example


def _print_rules(wanted: bool) -> None:
    if not wanted:
        return
    from kinetree.lint.rules import RULES

    for name, rule in RULES.items():
        say(f"{name} ({rule.severity}): {rule.about}")
    raise typer.Exit


@app.command()
def check(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Mechanism (.toml, .urdf, .sdf, .xml) or study files (.toml), or names of examples.",
            metavar="FILE",
            autocompletion=complete_file_or_example,
        ),
    ],
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    rules: Annotated[
        bool, typer.Option("--rules", callback=_print_rules, is_eager=True, help="List the rules.")
    ] = False,
) -> None:
    """Check mechanism and study files: every error and warning.

    Each finding has file, line, severity and the name of its rule. Suspicious units are warnings: degrees
    given as radians, millimeters as meters, grams as kilograms, inertias that do not fit mass and size.

    Exit codes: 0 no errors, 2 errors, or warnings with --strict.

    Example: kinetree check arm.toml robot.urdf
    """
    from kinetree.lint.finding import ERROR
    from kinetree.lint.study import check_file

    options = read_options(folder, packages, floating_base, root, arguments)
    found = [finding for file in files for finding in check_file(file, **options)]
    errors = sum(finding.severity == ERROR for finding in found)
    if as_json:
        counts = {"files": len(files), "errors": errors, "warnings": len(found) - errors}
        typer.echo(json.dumps({**counts, "findings": [finding.plain() for finding in found]}))
    else:
        for finding in found:
            if not quiet or finding.severity == ERROR:
                say(str(finding), style="red" if finding.severity == ERROR else "yellow")
        if not quiet:
            say(_summary(len(files), errors, len(found) - errors))
    if errors or (strict and found):
        raise typer.Exit(BAD_INPUT)


def _summary(files: int, errors: int, warnings: int) -> str:
    counts = [
        f"{n} {word}{'' if n == 1 else 's'}" for n, word in ((errors, "error"), (warnings, "warning")) if n
    ]
    return f"{files} file{'' if files == 1 else 's'}: {', '.join(counts) or 'no problems found'}"
