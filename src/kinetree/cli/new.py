"""The command that makes a file to begin with."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from kinetree.cli.app import (
    Arguments,
    FloatingBase,
    Force,
    MeshesFrom,
    Packages,
    Quiet,
    Root,
    app,
    read_options,
    say,
)
from kinetree.cli.names import complete_model, typed_words
from kinetree.errors import InputError, unknown_name
from kinetree.formats.kinds import kind_of

KINDS = ("mechanism", "study")
# Of each kind of file; a test compares them with those that are made.
TEMPLATES = {
    "mechanism": (
        "arm", "pendulum", "cart", "four_bar", "dh", "legged",
        "biped", "planar_biped", "quadruped", "hexapod",
    ),
    "study": ("simulate", "inverse", "control", "predict", "stand", "walk", "gait", "lift"),
}  # fmt: skip


def complete_template(incomplete: str) -> list[str]:
    """Templates of the kind of file that stands in the command, else of both."""
    kinds = [kind for kind in TEMPLATES if kind in typed_words()[:3]] or list(TEMPLATES)
    return [name for kind in kinds for name in TEMPLATES[kind] if name.startswith(incomplete)]


@app.command()
def new(
    kind: Annotated[
        str,
        typer.Argument(help="Type of file.", metavar="mechanism|study", autocompletion=lambda: list(KINDS)),
    ],
    name: Annotated[str, typer.Argument(help="Name of the file, NAME.toml.", metavar="NAME")],
    template: Annotated[
        str | None,
        typer.Option(
            help="Mechanism: arm, pendulum, cart, dh, four_bar, legged, biped, planar_biped, quadruped, "
            "hexapod. Study: simulate, inverse, control, predict, stand, walk, gait, lift; default: NAME if "
            "known.",
            metavar="NAME",
            autocompletion=complete_template,
        ),
    ] = None,
    links: Annotated[
        int | None, typer.Option(help="Mechanism: number of links or legs.", metavar="NUMBER")
    ] = None,
    length: Annotated[
        float | None, typer.Option(help="Mechanism: length of a link (m).", metavar="NUMBER")
    ] = None,
    mass: Annotated[
        float | None, typer.Option(help="Mechanism: mass of a link (kg).", metavar="NUMBER")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            help="Study: name in the zoo, or a mechanism file.",
            metavar="MODEL",
            autocompletion=complete_model,
        ),
    ] = None,
    duration: Annotated[
        float | None, typer.Option(help="Study: duration of the motion (s).", metavar="NUMBER")
    ] = None,
    folder: MeshesFrom = None,
    packages: Packages = None,
    floating_base: FloatingBase = None,
    root: Root = None,
    arguments: Arguments = None,
    yes: Annotated[bool, typer.Option("--yes", help="Use the defaults without asking.")] = False,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Create a mechanism or study file from a template.

    On a terminal it asks for options that are not given; otherwise it uses the defaults. The file has
    comments and passes 'kinetree check'; a study also passes 'kinetree run'.

    Example: kinetree new mechanism arm --template arm --links 3 --length 0.4;
    kinetree new mechanism dog --template quadruped; kinetree new study walk --model dog.toml;
    kinetree new study stand --model go1.urdf
    """
    if kind not in KINDS:
        raise InputError(unknown_name("kind of file", kind, KINDS))
    path = Path(f"{name.removesuffix('.toml')}.toml")
    from kinetree.report.output import check_output, write_file

    check_output([path], force)
    asking = Asking(sys.stdin.isatty() and sys.stdout.isatty() and not (yes or quiet))
    options = read_options(folder, packages, floating_base, root, arguments)
    if kind == "mechanism":
        _refuse(kind, model=model, duration=duration, **options)
        text = _mechanism(path.stem, asking, template=template, links=links, length=length, mass=mass)
    else:
        _refuse(kind, links=links, length=length, mass=mass)
        text = _study(path, asking, options, task=template, model=model, duration=duration)
    write_file(path, text.encode())
    if not quiet:
        verb = "look at it: kinetree info" if kind == "mechanism" else "run it: kinetree run"
        say(f"Wrote {path}; {verb} {path}")


class Asking:
    """Asks for what was not given, if there is anyone to ask."""

    def __init__(self, possible: bool) -> None:
        self.possible = possible

    def __call__(self, given: Any, words: str, usual: Any) -> Any:
        """What was given, else what is answered, else the usual value."""
        if given is not None:
            return given
        return typer.prompt(words, default=usual, type=type(usual)) if self.possible else usual


def _mechanism(name: str, ask: Asking, **given: Any) -> str:
    from kinetree.study.new_mechanism import TEMPLATES, MechanismAnswers, mechanism_file
    from kinetree.study.new_walker import USUAL

    named = name if name in TEMPLATES else "arm"
    template = ask(given["template"], f"Template ({', '.join(TEMPLATES)})", named)
    walks = USUAL.get(template)
    usual = 4 if template == "legged" else 2
    if walks is not None and given["links"] is not None:
        raise InputError(
            f"template '{template}' has a fixed number of legs; --links is for arm, dh and legged"
        )
    settled = template in ("pendulum", "cart", "four_bar") or walks is not None
    links = usual if settled else ask(given["links"], "Number of links or legs", usual)
    length = ask(given["length"], "Length of a link (m)", 0.4 if walks is None else walks["thigh"])
    mass = ask(given["mass"], "Mass of a link (kg)", 1.0 if walks is None else walks["thigh_mass"])
    return mechanism_file(MechanismAnswers(name, template, links, length, mass))


def _study(path: Path, ask: Asking, options: dict[str, Any], **given: Any) -> str:
    from kinetree.formats.installed import installed_path, is_installed_name
    from kinetree.model import zoo
    from kinetree.study.models import mechanism_of
    from kinetree.study.new_study import GAIT, LEGGED, LIFT, TEMPLATES, StudyAnswers, study_file

    usual = path.stem if path.stem in TEMPLATES else "simulate"
    task = ask(given["task"], f"Template ({', '.join(TEMPLATES)})", usual)
    model = ask(
        given["model"],
        "Mechanism (name in the zoo, or file)",
        "human" if task == LIFT else "spatial_biped" if task in LEGGED else "gripper",
    )
    if task == GAIT:
        _refuse("study of the task gait", duration=given["duration"])
        duration = 1.0
    elif task == LIFT:
        duration = given["duration"]
    else:
        duration = ask(given["duration"], "Duration (s)", 5.0 if task in LEGGED else 1.0)
    installed = is_installed_name(model)
    if installed:
        model = installed_path(model).as_posix()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", UserWarning)
        mechanism = mechanism_of(model, **options)
    free = "floating_base" in options or not _may_float(model)
    if task in LEGGED and not free and not _moves(mechanism):
        options = options | {"floating_base": True}
        mechanism = mechanism_of(model, **options)  # it is read again, and warns again
    else:
        for warning in heard:
            warnings.warn(warning.message, stacklevel=2)
    seen = model if model in zoo.ZOO or installed else _seen(model, path)
    answers = StudyAnswers(path.stem, seen, task, duration, _from_the_study(options, path))
    return study_file(answers, mechanism)


def _may_float(model: str) -> bool:
    """Whether the format of a file leaves open if its root is fixed to the world."""
    kind = kind_of(Path(model))
    return kind is not None and "floating_base" in kind.options


def _moves(mechanism: Any) -> bool:
    """Whether the first body of a mechanism moves by itself."""
    return bool(mechanism.links[0].joint.n_dof >= 3)


def _from_the_study(options: dict[str, Any], path: Path) -> dict[str, Any]:
    """Options for reading, with folders as they are seen from the study."""
    found = dict(options)
    if "folder" in found:
        found["folder"] = _seen(found["folder"], path)
    if "packages" in found:
        found["packages"] = {name: _seen(place, path) for name, place in found["packages"].items()}
    return found


def _seen(place: str, path: Path) -> str:
    return Path(os.path.relpath(place, path.parent)).as_posix()


def _refuse(kind: str, **given: Any) -> None:
    for key, value in given.items():
        if value is not None:
            raise InputError(f"--{key.replace('_', '-')} does not apply to a {kind}")
