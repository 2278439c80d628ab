"""The verb: run many cases of a study, or of a function of a mechanism."""

from __future__ import annotations

import math
import os
import pickle
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kinetree.errors import FileError, InputError, must_be, unknown_name
from kinetree.formats.held_inside import held_inside
from kinetree.formats.regular_file import PathLike
from kinetree.formats.toml_writer import toml_text
from kinetree.model.expected import expect_mechanism
from kinetree.model.mechanism import Mechanism
from kinetree.progress import ProgressLine, shown_line
from kinetree.result.records import plain, provenance
from kinetree.result.result import Result
from kinetree.result.zarr_store import ZarrStore, load_store
from kinetree.study.file import read_study
from kinetree.study.sweep_tables import SweepTable, checked_table
from kinetree.sweeps.case import STATUSES, Job, check_first_case
from kinetree.sweeps.drive import SweepProgress, SweepRun
from kinetree.sweeps.executors import backend
from kinetree.sweeps.outcome import ERROR, TIMEOUT
from kinetree.sweeps.plan import (
    MOST,
    Plan,
    coordinate,
    digest,
    function_plan,
    input_differences,
    plan_differences,
    study_plan,
)
from kinetree.sweeps.writer import Writer

if TYPE_CHECKING:
    from xarray import Dataset

Axes = Mapping[str, Any] | Sequence[Mapping[str, Any]] | None


def sweep(
    study: PathLike | Callable[..., Any],
    axes: Axes = None,
    *,
    mechanism: Mechanism | None = None,
    store: PathLike | None = None,
    resume: bool = False,
    retry: bool = False,
    force: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | None = None,
    executor: Any = None,
    case_timeout: float | None = None,
    allow_code: Collection[str] = (),
    settings: Mapping[str, Any] | None = None,
    most: int = MOST,
    progress: bool | Callable[[SweepProgress], object] | None = None,
    **table: Any,
) -> Result:
    """Run all cases of a sweep and return one result, with the axes as dimensions.

    ``study`` is a study file or the name of an example; its [sweep] defines what varies, and ``axes``
    replaces that: values by path, ``{"walk.speed": [1.0, 1.2]}``, or tables as [[sweep.axis]] has them.
    Further arguments are keys of [sweep], such as ``kind``, ``samples``, ``measures``, ``keep``; ``settings``
    are tables of the study with keys to override. Or ``study`` is a function of a ``mechanism``,
    which the axes "mechanism. ..." change; other axes are its arguments, and it returns a number, an array,
    or several by name.

    Cases run in ``workers`` processes of this machine, or on the Dask cluster of a ``scheduler``, as jobs of
    the ``slurm`` partition, or in an ``executor`` with the interface of concurrent.futures. A case that takes
    longer than ``case_timeout`` (s) is terminated. Failed cases keep their message and do not stop others.

    ``store`` is a permanent folder, .zarr, that is written as results arrive; ``resume`` continues an
    interrupted one, ``retry`` also repeats its failed cases. The result is the same, bit for bit, wherever
    and in whatever order cases run. More cases than ``most`` are refused.

    >>> def height(arm, angle):
    ...     import kinetree as kt
    ...     return float(kt.center_of_mass(arm, [angle, 0.0])[1])
    >>> import kinetree as kt
    >>> found = kt.sweep(height, {"angle": [0.0, 1.0]}, mechanism=kt.zoo.two_link(), workers=1)
    >>> found.value.dims
    ('angle',)
    """
    for name in table:
        if name not in SweepTable.model_fields:
            own = [p.name for p in signature(sweep).parameters.values() if p.kind is not p.VAR_KEYWORD]
            raise InputError(unknown_name("argument of sweep", name, [*own, *SweepTable.model_fields]))
    plan, pickled = planned(
        study, axes, mechanism=mechanism, allow_code=allow_code, settings=settings, most=most, **table
    )
    options: dict[str, Any] = {
        "workers": workers,
        "scheduler": scheduler,
        "slurm": slurm,
        "executor": executor,
        "case_timeout": case_timeout,
        "progress": progress,
        "function": pickled,
    }
    if store is not None:
        return run_plan(plan, store, resume=resume, retry=retry, force=force, **options)
    if resume:
        raise InputError("resume needs the store to continue: store='... .zarr'")
    folder = tempfile.mkdtemp(prefix="kinetree-sweep-")
    try:
        return run_plan(plan, Path(folder) / "sweep.zarr", **options)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def planned(
    study: PathLike | Callable[..., Any],
    axes: Axes = None,
    *,
    mechanism: Mechanism | None = None,
    allow_code: Collection[str] = (),
    settings: Mapping[str, Any] | None = None,
    most: int = MOST,
    words: str = "argument",
    **table: Any,
) -> tuple[Plan, bytes]:
    """The plan of a sweep, checked, and its function as it travels."""
    wanted = _sweep_table(axes, table)
    if callable(study):
        mechanism = expect_mechanism(mechanism)
        checked = checked_table(wanted)
        return function_plan(study, mechanism, checked, most), travelling(study)
    if mechanism is not None:
        raise InputError("mechanism= is for sweeps over a function; a study names its own")
    changes = dict(settings or {})
    if wanted:
        changes["sweep"] = {**changes.get("sweep", {}), **wanted}
    plan = study_plan(read_study(study, changes, words), allow_code, most)
    check_first_case(plan)
    return plan, b""


def travelling(function: Callable[..., Any]) -> bytes:
    """A function as bytes; one of a script or notebook goes with its code."""
    try:
        import cloudpickle

        return bytes(cloudpickle.dumps(function))
    except ImportError:
        pass
    try:
        return pickle.dumps(function)
    except Exception as error:
        raise InputError(
            f"the function cannot go to workers: {error}; define it in a file that they import"
        ) from None


def _sweep_table(axes: Axes, table: Mapping[str, Any]) -> dict[str, Any]:
    """The table [sweep] out of arguments."""
    found: dict[str, Any] = {key: plain(value, key) for key, value in table.items() if value is not None}
    if isinstance(axes, Mapping):
        found["axis"] = [
            {"field": path, **(plain(x, path) if isinstance(x, Mapping) else {"values": _listed(x, path)})}
            for path, x in axes.items()
        ]
    elif axes is not None:
        found["axis"] = [plain(axis, "axis") for axis in axes]
    if axes is not None and not found["axis"]:
        raise InputError("axes must name at least one field that varies, got none")
    return found


def _listed(values: Any, path: str) -> list[Any]:
    array = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(array, list | tuple | range) or not len(array):
        raise InputError(f"axis '{path}' needs a list of at least one value, got {values!r}")
    for value in array:
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(must_be(f"axis '{path}': values", "finite", value, ""))
    return list(plain(list(array), path))


def run_plan(
    plan: Plan,
    store: PathLike,
    *,
    resume: bool = False,
    retry: bool = False,
    force: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    slurm: str | None = None,
    executor: Any = None,
    case_timeout: float | None = None,
    progress: bool | Callable[[SweepProgress], object] | None = None,
    function: bytes = b"",
) -> Result:
    """Run the cases of a plan that are not yet in its store; arguments as for `sweep`."""
    timeout = case_timeout
    if timeout is not None and not timeout > 0.0:
        raise InputError(must_be("case_timeout", "above 0 s", timeout))
    place = ZarrStore(store)
    if os.path.lexists(place.path) and not (resume or force):
        raise FileError(f"{place.path}: already exists; continue it (--resume) or replace it (--force)")
    made = resume and place.path.exists()
    with backend(
        plan.count, lanes=plan.lanes, workers=workers, scheduler=scheduler, slurm=slurm, executor=executor,
        folder=place.path.with_suffix(".slurm"), timeout=timeout,
    ) as chosen:  # fmt: skip
        if made:
            stated = resumed(place, plan)
        else:
            stated = created(place, plan, force)
        with place.locked(), shown_line(progress, _on_line) as tell:
            status = place.mend(stated, plan_grid(plan)) if made else place.status()
            writer = Writer(place, stated, status)
            if retry:
                writer.wait_again(STATUSES.index(ERROR), STATUSES.index(TIMEOUT))
            SweepRun(plan, place, writer, chosen, function, timeout, tell).run()
    return load_store(place.path)


def _on_line(line: ProgressLine) -> Callable[[SweepProgress], object]:
    return lambda step: line.show(str(step), step.done / max(step.count, 1))


def created(store: ZarrStore, plan: Plan, force: bool = False) -> dict[str, Any]:
    """A new store for a plan; one that is there is replaced only with force, and only if it is one."""
    if force and os.path.lexists(store.path):
        store.remove()
    stated = {
        "title": plan.title,
        "name": plan.name,
        "dims": [dim.name for dim in plan.dims],
        "shape": list(plan.shape),
        "coordinates": [
            column.name for dim in plan.dims for column in dim.columns if column.name != dim.name
        ],
        "statuses": list(STATUSES),
        "sweep": plain(plan.sweep.model_dump(exclude_none=True), "sweep"),
        "study": {"name": plan.name, "title": plan.title, "file": plain(plan.table, "study")},
        "folder": str(plan.folder.resolve()),
        "identity": plan.identity,
        "digest": plan.digest,
        "mechanism": plan.mechanism or _mechanism_text(plan),
        "provenance": provenance(),
    }
    store.create(stated, plan_grid(plan))
    return stated


def plan_grid(plan: Plan) -> Dataset:
    """The axes of a sweep as a dataset."""
    import xarray as xr

    coords: dict[str, Any] = {}
    for dim in plan.dims:
        alone = len(dim.columns) == 1 and dim.columns[0].name == dim.name
        if not alone:
            coords[dim.name] = (dim.name, np.arange(dim.size))
        for column in dim.columns:
            note = {"long_name": ", ".join(column.paths), "relative": int(column.relative)}
            coords[column.name] = (dim.name, coordinate(column.values), note)
    about = {"title": plan.title, "kinetree_sweep": plan.digest, "statuses": ", ".join(STATUSES)}
    return xr.Dataset(coords=coords, attrs=about)


def _mechanism_text(plan: Plan) -> str:
    """The mechanism of the first case."""
    from kinetree.study.assignment import Assignment
    from kinetree.study.code import Code
    from kinetree.study.file import study_of_table
    from kinetree.study.origin import StudyOrigin

    table = Job.of(plan).filled(plan.values(0))
    study = study_of_table(plan.name, StudyOrigin(plan.name, table), plan.folder, {})
    return toml_text(Assignment(study, Code(plan.folder)).mechanism)


def resumed(store: ZarrStore, plan: Plan) -> dict[str, Any]:
    """The store of an earlier run of the same plan; another one is refused with the differences."""
    stated = store.plan()
    if digest(stated["identity"]) != plan.digest:
        inputs = input_differences(stated["identity"], plan.identity)
        if inputs:
            raise FileError(
                f"{store.path}: cannot be resumed, as its finished cases had other inputs:\n"
                + "\n".join(inputs)
                + "\nput them back as they were, replace the store (--force), or write another (--output)"
            )
        differences = "\n".join(plan_differences(stated["identity"], plan.identity))
        raise FileError(
            f"{store.path}: is the store of another sweep, which cannot be resumed:\n{differences}"
        )
    return stated


def case_result(
    store: PathLike, case: int, *, allow_code: Collection[str] = (), only_inside: bool = False
) -> Result:
    """The full result of one case of a sweep's store, computed again and equal bit for bit.

    ``allow_code`` names the Python files of the study that may be run; what was allowed to the sweep does not
    count. ``only_inside`` restricts all files to the folder that the store is in, for untrusted stores. A
    file that has changed since the sweep is refused.

    >>> case_result("walk.zarr", 12).report("case12.html")  # doctest: +SKIP
    """
    from kinetree.sweeps.plan import stored_plan

    with held_inside(only_inside):
        plan = stored_plan(ZarrStore(store), [allow_code] if isinstance(allow_code, str) else allow_code)
        if not isinstance(case, int) or not 0 <= case < plan.count:
            raise InputError(must_be("case", f"an integer from 0 to {plan.count - 1}", case))
        return Job.of(plan).result(plan.values(case))
