"""Commands of motion capture: models scaled to a person, and poses from markers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kinetree.cli.app import Force, Model, Quiet, app, output_option, say
from kinetree.cli.names import complete_path
from kinetree.errors import InputError

if TYPE_CHECKING:
    from kinetree.capture.trial import Trial
    from kinetree.model.mechanism import Mechanism

TRIALS, XML = (".trc", ".c3d"), (".xml",)


def complete_trial(incomplete: str) -> list[str]:
    """Files of trials."""
    return complete_path(incomplete, TRIALS)


def complete_xml(incomplete: str) -> list[str]:
    """Setup files of OpenSim."""
    return complete_path(incomplete, XML)


Up = Annotated[
    str | None,
    typer.Option(help="Axis of the trial that points up, if not the model's: x, y or z.", metavar="AXIS"),
]
WeightsFile = Annotated[
    Path | None,
    typer.Option(
        help="Weights of markers: OpenSim's IK tasks (.xml).",
        metavar="FILE",
        autocompletion=complete_xml,
    ),
]
MarkersFile = Annotated[
    Path | None,
    typer.Option(
        help="Markers for the model: OpenSim's marker set (.xml).",
        metavar="FILE",
        autocompletion=complete_xml,
    ),
]
Start = Annotated[float | None, typer.Option(help="First time of the trial (s).", metavar="SECONDS")]
End = Annotated[float | None, typer.Option(help="Last time of the trial (s).", metavar="SECONDS")]


@app.command()
def scale(
    model: Model,
    static: Annotated[
        Path,
        typer.Argument(help="Static trial: .trc or .c3d.", metavar="TRIAL", autocompletion=complete_trial),
    ],
    output: Annotated[Path, output_option("Model to write: .toml.")],
    measurements: Annotated[
        Path | None,
        typer.Option(
            help="Pairs of markers that scale bodies: a measurement set of OpenSim (.xml).",
            metavar="FILE",
            autocompletion=complete_xml,
        ),
    ] = None,
    factor: Annotated[
        list[str] | None,
        typer.Option(help="Factor of a body, set by hand: femur_r=1.1; repeatable.", metavar="BODY=NUMBER"),
    ] = None,
    mass: Annotated[float | None, typer.Option(help="Mass of the person (kg).", metavar="KG")] = None,
    markers: MarkersFile = None,
    weights: WeightsFile = None,
    start: Start = None,
    end: End = None,
    up: Up = None,
    place: Annotated[
        bool, typer.Option("--place/--keep", help="Put markers where they were seen, or keep their places.")
    ] = True,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Scale a model to the person of a static trial.

    Lengths are distances of pairs of markers; bodies keep their shares of the mass.

    Example: kinetree scale gait2392.osim static.trc --measurements set.xml --mass 72.6 -o me.toml
    """
    from kinetree.capture.scale import scale as scaled
    from kinetree.report.output import check_output

    if output.suffix.lower() != ".toml":
        raise InputError(f"{output}: a scaled model is written as .toml, which keeps all of it")
    check_output([output], force)
    mechanism = _mechanism(model)
    factors = {}
    for text in factor or []:
        name, _, number = text.partition("=")
        try:
            factors[name] = float(number)
        except ValueError:
            raise InputError(f"--factor takes BODY=NUMBER, got '{text}'") from None
    found = scaled(
        mechanism,
        _trial(static, start, end, up, mechanism),
        measurements or (),
        mass=mass,
        factors=factors,
        markers=markers,
        weights=weights,
        place=place,
    )
    found.save(output, force)
    if not quiet:
        for name, (theirs, ours) in found.measured.items():
            say(f"{name}: {theirs:.4f} m measured, {ours:.4f} m in the model, factor {theirs / ours:.4f}")
        if found.static is not None:
            say(f"markers of the static trial are off by {1e3 * found.static.rms:.1f} mm rms")
        say(f"Wrote {output}: {found.mass:.1f} kg")


@app.command()
def track(
    model: Model,
    trial: Annotated[
        Path,
        typer.Argument(help="Trial: .trc or .c3d.", metavar="TRIAL", autocompletion=complete_trial),
    ],
    output: Annotated[Path, output_option("Motion to write: .nc, or .mot for OpenSim.")],
    weights: WeightsFile = None,
    markers: MarkersFile = None,
    frozen: Annotated[
        list[str] | None, typer.Option(help="Joint that stays where it is; repeatable.", metavar="JOINT")
    ] = None,
    smooth: Annotated[
        float | None,
        typer.Option(help="One spline with knots that far apart (s), not frame by frame.", metavar="SECONDS"),
    ] = None,
    limits: Annotated[bool, typer.Option("--limits/--no-limits", help="Keep the limits of joints.")] = True,
    start: Start = None,
    end: End = None,
    up: Up = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Find the motion of a model whose markers are nearest to measured ones.

    Example: kinetree track me.toml walk.trc -o walk.nc; kinetree plot walk.nc
    """
    from dataclasses import replace

    from kinetree.capture.scale import given_markers
    from kinetree.capture.track import track as tracked
    from kinetree.report.output import check_output

    if output.suffix.lower() not in (".nc", ".mot", ".sto"):
        raise InputError(f"{output}: a motion is written as .nc, .mot or .sto")
    check_output([output], force)
    mechanism = _mechanism(model)
    if markers is not None:
        mechanism = replace(mechanism, markers=tuple(given_markers(markers, mechanism)))
    measured = _trial(trial, start, end, up, mechanism)
    found = tracked(mechanism, measured, weights, frozen=frozen or (), limits=limits, smooth=smooth)
    found.save(output, force)
    if not quiet:
        name, t, far = found.worst
        count = len(found.time)
        say(
            f"{count} frames, {len(found.markers)} markers: {1e3 * found.rms:.1f} mm rms, at most "
            f"{1e3 * far:.1f} mm ('{name}' at {t:.3g} s), in {found.seconds:.2f} s"
        )
        left = int((~found.settled).sum())
        if left:
            say(f"note: the search did not come to rest in {left} frames")
        say(f"Wrote {output}")


def _mechanism(model: str) -> Mechanism:
    from kinetree.study.models import mechanism_of

    return mechanism_of(model)


def _trial(path: Path, start: float | None, end: float | None, up: str | None, mechanism: Mechanism) -> Trial:
    """A trial in the axes of a model, or a part of it."""
    from kinetree.capture.files import read_trial
    from kinetree.capture.laboratory import upward

    found = read_trial(path)
    if start is not None or end is not None:
        first, last = (float(found.time[k]) for k in (0, -1))
        found = found.between(first if start is None else start, last if end is None else end)
    return found if up is None else found.with_up(up, upward(mechanism))
