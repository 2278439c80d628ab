"""Names for the shell's completion; only names of files are read, so that it is quick."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any

from kinetree.formats.kinds import SUFFIXES

PACKAGE = Path(__file__).parents[1]
SEPARATOR = ":"  # between a package and one of its models


def complete_example(incomplete: str) -> list[str]:
    """Names of examples."""
    return sorted(path.stem for path in (PACKAGE / "examples").glob(f"{incomplete}*.toml"))


def complete_study(incomplete: str) -> list[str]:
    """Names of examples, and study files."""
    return complete_example(incomplete) + complete_path(incomplete, (".toml",))


def complete_file_or_example(incomplete: str) -> list[str]:
    """Mechanism and study files, and names of examples."""
    return complete_path(incomplete, tuple(SUFFIXES)) + complete_example(incomplete)


def complete_model(incomplete: str) -> list[str]:
    """Names of mechanisms that come along, mechanism files, and models of packages after PACKAGE:."""
    if SEPARATOR in incomplete:
        return complete_installed(incomplete)
    return complete_zoo(incomplete) + complete_path(incomplete, tuple(SUFFIXES))


def complete_code_functions(incomplete: str) -> list[str]:
    """Functions that code is written for, after the last comma."""
    text = (PACKAGE / "dynamics" / "tapes.py").read_text(encoding="utf-8")
    names = [*re.findall(r'TapedQuestion\(\s+"(\w+)"', text), "close_loops_step", "jacobian:"]
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def complete_package(incomplete: str) -> list[str]:
    """Names of installed packages."""
    from kinetree.formats.installed import distribution_names

    return [name for name in distribution_names() if name.lower().startswith(incomplete.lower())]


def complete_installed(incomplete: str) -> list[str]:
    """Models of an installed package, as PACKAGE:NAME."""
    from kinetree.errors import KinetreeError
    from kinetree.formats.installed import installed_models

    package = incomplete.partition(SEPARATOR)[0]
    try:
        found = installed_models(package)
    except KinetreeError:
        return []
    names = (f"{package}{SEPARATOR}{name}" for name in found)
    return [name for name in names if name.startswith(incomplete)]


def complete_result(incomplete: str) -> list[str]:
    """Result files, and stores of sweeps."""
    return [
        path.removesuffix(".zarr/") + ".zarr" if path.endswith(".zarr/") else path
        for path in complete_path(incomplete, (".nc",))
    ]


def complete_picture_kind(incomplete: str) -> list[str]:
    """Kinds of pictures of sweeps, and that of drives."""
    text = (PACKAGE / "report" / "sweep_plot.py").read_text(encoding="utf-8")
    kinds = re.findall(r'^    "(\w+)": _', text[text.index("PLOTS: dict") :], re.MULTILINE)
    kinds.append("torque_speed")
    return [kind for kind in kinds if kind.startswith(incomplete)]


def complete_variable(ctx: Any, incomplete: str) -> list[str]:
    """Variables of the result that stands in the command."""
    return [name for name in _result_names(ctx, None) if name.startswith(incomplete)]


def complete_joint(ctx: Any, incomplete: str) -> list[str]:
    """Joints of the result that stands in the command."""
    return [name for name in _result_names(ctx, "joint") if name.startswith(incomplete)]


def complete_body(ctx: Any, incomplete: str) -> list[str]:
    """Bodies of the result that stands in the command."""
    return [name for name in _result_names(ctx, "body") if name.startswith(incomplete)]


def _result_names(ctx: Any, labels: str | None) -> list[str]:
    """Names of a result's arrays over time, or labels of a dimension; none if it cannot be read."""
    path = next((ctx.params[key] for key in ("result", "first") if ctx.params.get(key)), None)
    path = path or next((os.path.expanduser(x) for x in typed_words() if x.lower().endswith(".nc")), None)
    try:
        import h5py

        with h5py.File(path, "r") as file:
            if labels is not None:
                return [str(x) for x in file[labels].asstr()[()]]
            arrays = {x: file[x] for x in file if isinstance(file[x], h5py.Dataset)}
            over_time = len(arrays["time"])
            own = (x for x, array in arrays.items() if x != "time" and over_time in array.shape)
            return [x for x in own if arrays[x].dtype.kind in "fib" and not x.startswith("event_")]
    except (ImportError, OSError, KeyError, TypeError, ValueError):
        return []


def typed_words() -> list[str]:
    """The words of the command that is being typed: an option without its value hides all arguments."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        return shlex.split(line)
    except ValueError:  # a quotation mark is still open
        return line.split()


def complete_store(incomplete: str) -> list[str]:
    """Stores of sweeps, which are folders."""
    return [path.rstrip("/") for path in complete_path(incomplete, ()) if path.endswith(".zarr/")]


def complete_model_or_result(incomplete: str) -> list[str]:
    """Mechanisms by name and file, and result files."""
    if SEPARATOR in incomplete:
        return complete_installed(incomplete)
    return complete_zoo(incomplete) + complete_path(incomplete, (*SUFFIXES, ".nc"))


def complete_zoo(incomplete: str) -> list[str]:
    """Names of mechanisms that come along."""
    text = (PACKAGE / "model" / "zoo" / "__init__.py").read_text(encoding="utf-8")
    listed = re.search(r"for make in \((.*?)\)", text, re.DOTALL)
    return [name for name in re.findall(r"\w+", listed[1] if listed else "") if name.startswith(incomplete)]


def complete_path(incomplete: str, suffixes: tuple[str, ...]) -> list[str]:
    """Files with one of the suffixes, and folders, that a text may go on to.

    >>> complete_path("no such folder/x", (".nc",))
    []
    """
    folder, _, start = incomplete.rpartition("/")
    place = folder + "/" if "/" in incomplete else ""
    try:
        entries = sorted(os.scandir(place or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    shown = [x for x in entries if x.name.startswith(start) and (start or not x.name.startswith("."))]
    return [
        f"{place}{x.name}" + ("/" if x.is_dir() else "")
        for x in shown
        if x.is_dir() or x.name.lower().endswith(suffixes)
    ]
