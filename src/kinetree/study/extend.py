"""Results with more in them than the task found by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kinetree.result.labeled import Unlabeled
from kinetree.result.records import plain
from kinetree.result.result import Result, arrays_of, changed
from kinetree.result.variables import KNOWN, Variable
from kinetree.study.assignment import Study


def with_variables(
    result: Result, values: Mapping[str, Any], labels: Mapping[str, Variable] | None = None
) -> Result:
    """The result with further variables: arrays of known names (:mod:`kinetree.result.variables`), or others.

    Dimensions that the result does not have need ``labels``.
    """
    more = {}
    for name, given in values.items():
        if isinstance(given, Variable):
            more[name] = given
        else:
            known = KNOWN[name]
            more[name] = Variable(known.dims, given, known.unit, known.long_name, known.may_be_missing)
        more[name].values.setflags(write=False)
    coordinates, variables = arrays_of(result)
    return changed(result, dataset=Unlabeled(coordinates | dict(labels or {}), variables | more))


def with_study(result: Result, study: Study, remarks: Sequence[str] = ()) -> Result:
    """The result with the study that asked for it among its settings, and remarks on the mechanism's file."""
    stated = {"name": study.name, "title": study.title, "file": plain(_texts(study.origin.table), "study")}
    settings = {**result.settings, "study": stated}
    return changed(result, settings=settings, messages=(*result.messages, *remarks))


def _texts(value: Any) -> Any:
    """TOML's dates and times as texts; all else as it is."""
    if isinstance(value, Mapping):
        return {key: _texts(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_texts(x) for x in value]
    return value.isoformat() if hasattr(value, "isoformat") else value
