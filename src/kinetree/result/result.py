"""The result of a task: labeled arrays, and all that is needed to understand and to repeat it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from kinetree.doors import upstairs
from kinetree.errors import InputError, unknown_name
from kinetree.formats.regular_file import PathLike
from kinetree.model.mechanism import Mechanism
from kinetree.result.labeled import Unlabeled, Variables, coordinates_of, variable_of, variables_of
from kinetree.result.records import Check, Event
from kinetree.result.variables import ALL, units_along

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from xarray import DataArray, Dataset

EVENT = "event"


@dataclass(frozen=True, eq=False, repr=False)
class Movie:
    """The motion of a mechanism as the ``content`` of a .gif file, which notebooks show."""

    name: str
    content: bytes

    def __repr__(self) -> str:
        return f"Movie of {self.name}, {len(self.content)} bytes"

    def _repr_html_(self) -> str:
        data = b64encode(self.content).decode("ascii")
        return f'<img alt="{escape(self.name)}" src="data:image/gif;base64,{data}">'


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The result of a task: labeled arrays, settings, audit and provenance.

    ``dataset`` holds the arrays with their labels, units and meanings; each is also an attribute of the
    result. ``settings`` are the inputs of the task, ``audit`` the checks of the outcome, ``statistics`` the
    computing effort, ``messages`` the warnings, ``provenance`` the versions, platform and date. A task that
    ended early has the time ``stopped_at`` (s) and a ``stop_reason``. ``not_judged`` has the verdicts that
    there are none of, by name, with the reason.

    >>> import kinetree as kt
    >>> from kinetree.result.build import build_result
    >>> motion = {"time": [0.0, 0.1], "q": [[0, 0], [1, 2]], "qd": [[0, 0], [20, 40]]}
    >>> run = build_result("simulate", kt.zoo.two_link(), motion)
    >>> run.q.sel(joint="joint2").values.tolist()
    [0.0, 2.0]
    >>> run.units("qd")
    ('rad/s', 'rad/s')
    >>> run.complete
    True
    """

    dataset: Dataset
    mechanism: Mechanism
    task: str
    settings: dict[str, Any] = field(default_factory=dict)
    audit: dict[str, Check] = field(default_factory=dict)
    statistics: dict[str, Any] = field(default_factory=dict)
    messages: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)
    stopped_at: float | None = None
    stop_reason: str | None = None
    not_judged: dict[str, str] = field(default_factory=dict)

    # ---- the arrays -------------------------------------------------------------------------------------

    def __post_init__(self) -> None:
        """Labels cost more than a short simulation: an `Unlabeled` may stand for the dataset."""
        if callable(self.__dict__["dataset"]):
            self.__dict__["_make_dataset"] = self.__dict__.pop("dataset")

    def __getstate__(self) -> dict[str, Any]:
        """All fields, the dataset made."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __getitem__(self, name: str) -> DataArray:
        if name not in self:
            raise InputError(unknown_name(f"variable of the {self.task} result", name, list(self)))
        return self.dataset[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self.dataset.variables

    def __iter__(self) -> Iterator[str]:
        return iter([str(name) for name in self.dataset.variables])

    def __getattr__(self, name: str) -> Any:
        if name == "dataset":
            make = self.__dict__.get("_make_dataset")
            if make is not None:  # it goes only when the dataset is there: other threads may ask, too
                self.__dict__.setdefault("dataset", make())
                self.__dict__.pop("_make_dataset", None)
            if "dataset" in self.__dict__:
                return self.__dict__["dataset"]
        if "_make_dataset" in self.__dict__ and not name.startswith("_"):
            self.dataset  # noqa: B018  (makes it)
        if name.startswith("_") or "dataset" not in self.__dict__ or name not in self:
            choices = [*self, *super().__dir__()] if "dataset" in self.__dict__ else []
            shown = [choice for choice in choices if not choice.startswith("_")]
            raise AttributeError(unknown_name("attribute of a Result", name, shown))
        return self.dataset[name]

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the arrays, without those of labels and events."""
        events, made = tuple(_event_arrays()), self.__dict__.get("_make_dataset")
        names = made.variables if isinstance(made, Unlabeled) else self.dataset.data_vars
        return tuple(str(name) for name in names if name not in events)

    def units(self, name: str) -> str | tuple[str, ...]:
        """The unit of a variable, or one for each joint, component, ... where they differ."""
        coordinates, variable = coordinates_of(self.dataset), variable_of(self[name])
        if "{" not in variable.unit:
            return variable.unit
        return tuple(units_along(variable.unit, variable.dims, coordinates).ravel().tolist())

    # ---- what happened ----------------------------------------------------------------------------------

    @property
    def events(self) -> tuple[Event, ...]:
        """Events in order of time."""
        made = self.__dict__.get("_make_dataset")
        arrays: Any = made.variables if isinstance(made, Unlabeled) else self.dataset
        if next(iter(_event_arrays())) not in arrays:
            return ()
        columns = (arrays[name].values.tolist() for name in _event_arrays())
        return tuple(Event(*row) for row in zip(*columns, strict=True))

    @property
    def complete(self) -> bool:
        """Whether the task ran to its end."""
        return self.stopped_at is None

    @property
    def passed(self) -> bool:
        """Whether the task ran to its end and every check of the audit passed.

        Never where verdicts were switched off: then nothing was judged that could pass.
        """
        judged = not any(name.rpartition(": ")[2] == ALL for name in self.not_judged)
        return judged and self.complete and all(check.passed for check in self.audit.values())

    def equals(self, other: object) -> bool:
        """Whether both results are equal: arrays bitwise, names, units, mechanism, settings, audit, events.

        Provenance (date, versions, platform) is not compared.
        """
        return isinstance(other, Result) and not self.differences(other)

    def differences(self, other: Result) -> list[str]:
        """The differences from another result, in words; see :meth:`equals`."""
        from kinetree.result.comparison import differences

        return differences(self, other)

    # ---- the ways out -----------------------------------------------------------------------------------

    def at(self, times: ArrayLike) -> Result:
        """The result at other times (k,) in s, within its own; settings and audit stay those of all samples.

        Positions, velocities and accelerations are polynomials of degree 5 through the samples, of degree 3
        through positions and velocities at impacts: splines of that degree are reproduced. Other numbers are
        interpolated without overshoot. At a time that is there twice, the later values count.

        >>> import kinetree as kt
        >>> from kinetree.result.build import build_result
        >>> motion = {"time": [0, 1], "q": [[0, 0], [1, 2]], "qd": [[1, 2], [1, 2]]}
        >>> build_result("simulate", kt.zoo.two_link(), motion).at([0.25, 0.5]).q.values.tolist()
        [[0.25, 0.5], [0.5, 1.0]]
        """
        from kinetree.result.resample import resampled

        return resampled(self, times)

    def to_pandas(self) -> DataFrame:
        """All variables over time as one table with columns such as "q.joint1" or "reaction.forearm.fx".

        The index is time (s); ``attrs["units"]`` has the unit of every column.
        """
        from kinetree.result.table import frame

        return frame(self)

    def to_csv(self, path: PathLike, force: bool = False, variables: Sequence[str] | None = None) -> None:
        """Write that table, or some ``variables`` of it, as .csv with columns such as "tau.knee [N m]".

        Numbers have enough digits to read back the same floats: ``pandas.read_csv(path,
        index_col=0)``, with ``float_precision="round_trip"`` before pandas 3.1. An existing file is replaced
        only with ``force``.
        """
        from kinetree.result.table import write_csv

        write_csv(self, path, force, variables)

    def to_json(self, path: PathLike, force: bool = False, variables: Sequence[str] | None = None) -> None:
        """Write that table, or some ``variables`` of it, as a .json file: task, mechanism, units and columns.

        The ``columns`` are lists by name, "time" first; missing numbers are null. An existing file is
        replaced only with ``force``.
        """
        from kinetree.result.table import write_json

        write_json(self, path, force, variables)

    def save(self, path: PathLike, force: bool = False) -> None:
        """Write everything to a .nc file (NetCDF-4), atomically; ``kinetree.load_result`` reads it.

        An existing file is replaced only with ``force``.
        """
        from kinetree.result.netcdf import save_result

        save_result(self, path, force)

    def plot(
        self,
        *names: str,
        joints: Sequence[str] | None = None,
        bodies: Sequence[str] | None = None,
        ax: Any = None,
        show: bool = False,
        kind: str | None = None,
    ) -> Figure:
        """Plot variables over time, by default the most important ones, and return the matplotlib Figure.

        ``joints`` selects some of the degrees of freedom, ``bodies`` the forces on some bodies and their
        contact points; ``ax`` draws one variable into given axes; ``show`` opens a window. With ``kind``
        "torque_speed" drives are drawn beside their limits. A sweep is drawn as its kind suggests, or as
        ``kind`` says: "heat_map", "curves", "bands", "distribution", "optima",
        "pareto", "sensitivity", "parallel", "scatter".
        """
        plot = upstairs("plot_result")
        figure: Figure = plot(self, *names, joints=joints, bodies=bodies, ax=ax, show=show, kind=kind)
        return figure

    def animate(
        self,
        path: PathLike | None = None,
        fps: float = 30.0,
        size: Sequence[int] = (800, 600),
        speed: float | None = None,
        force: bool = False,
        meshes: PathLike | None = None,
    ) -> Movie | None:
        """Write the motion as a movie, .gif or (with the extra ``movie`` or ffmpeg) .mp4.

        Without a path the movie is returned, and shown by a notebook as the last line of a cell.
        ``fps`` frames per second of ``size`` (width, height in pixels); at ``speed`` 0.5 the motion takes
        twice as long; by default, motions of less than 1.5 s are shown in slow motion. ``meshes`` is as in
        :meth:`report`. An existing file is replaced only with ``force``.
        """
        if path is None:
            content = upstairs("movie_content")(self, ".gif", fps, size, speed, meshes=meshes)
            return Movie(self.mechanism.name, content)
        upstairs("write_movie")(self, path, fps, size, speed, force=force, meshes=meshes)
        return None

    def report(self, path: PathLike, force: bool = False, meshes: PathLike | None = None) -> None:
        """Write a page (.html) with animation, linked curves, tables, audit and provenance, all in one file.

        It opens with a double click, without a network connection. An existing file is replaced only with
        ``force``. Bodies are drawn as described in their file; ``meshes`` is a folder to read mesh files from
        if their paths have changed. Meshes are simplified so that they add less than 1 MB.
        """
        upstairs("write_report")(self, path, force, meshes)

    def __repr__(self) -> str:
        from kinetree.result.summary import summary

        return summary(self)

    def _repr_html_(self) -> str:
        return str(upstairs("result_html")(self))


def arrays_of(result: Result) -> tuple[Variables, Variables]:
    """Labels and arrays of a result; if its Dataset is not made yet, without making it."""
    made = result.__dict__.get("_make_dataset")
    if isinstance(made, Unlabeled):
        return made
    return coordinates_of(result.dataset), variables_of(result.dataset)


def changed(result: Result, **changes: Any) -> Result:
    """The result with other fields, as by ``dataclasses.replace``, which would make its Dataset.

    ``dataset`` may be what makes one: an :class:`Unlabeled`.
    """
    if "_make_dataset" in result.__dict__:
        changes.setdefault("dataset", result.__dict__["_make_dataset"])
    return replace(result, **changes)


def event_variables(events: Sequence[Event]) -> dict[str, tuple[np.ndarray, str, str]]:
    """The events as arrays: values, unit, meaning."""
    return {
        "event_time": (
            np.array([event.time for event in events], dtype=np.float64),
            "s",
            "time of the event",
        ),
        "event_kind": (np.array([event.kind for event in events], dtype=np.str_), "", "kind of the event"),
        "event_name": (np.array([event.name for event in events], dtype=np.str_), "", "what it happened to"),
    }


def _event_arrays() -> Mapping[str, Any]:
    return event_variables(())
