"""The command that opens the live viewer."""

from __future__ import annotations

from typing import Annotated

import typer

from kinetree.cli.app import Arguments, FloatingBase, MeshesFrom, Packages, Root, app, read_options, say
from kinetree.cli.names import complete_model_or_result


@app.command()
def show(
    shown: Annotated[
        str,
        typer.Argument(
            help="A mechanism (name or file) or a result (.nc).",
            metavar="MODEL|RESULT",
            autocompletion=complete_model_or_result,
        ),
    ],
    port: Annotated[
        int, typer.Option(help="Port of the page; 0 selects a free one.", metavar="NUMBER")
    ] = 8080,
    host: Annotated[str, typer.Option(help="Address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    public: Annotated[
        bool, typer.Option("--public", help="Allow a host that other machines can reach.")
    ] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page.")] = True,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
) -> None:
    """Show a mechanism or a result in the browser.

    The page has sliders for the joints, plays results, runs simulations, and lets you pull bodies with the
    mouse. Ctrl-C ends it (exit code 0).

    Example: kinetree show gripper
    """
    from kinetree.viewer.page import view
    from kinetree.viewer.subject import subject_of

    subject = subject_of(shown, **read_options(folder, packages, floating_base, root, arguments))
    viewer = view(subject, host, port, browser, public=public, wait=False)
    say(f"The viewer is at {viewer.url} (Ctrl-C ends it)")
    viewer.wait()
    say("The viewer has ended")
