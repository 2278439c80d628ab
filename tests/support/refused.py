"""Errors by their fields: who was refused, with what value, and what is allowed; their words may change."""

from contextlib import contextmanager

import pytest

from kinetree.errors import InputError

ANY = object()


@contextmanager
def refused(offender, value=ANY, allowed=ANY, kind=InputError):
    """Expect an error with these fields; of what is allowed, text that it has or names that are among it."""
    with pytest.raises(kind) as caught:
        yield caught
    fault = mismatch(caught.value, offender, value, allowed)
    assert fault is None, fault


def mismatch(error, offender, value=ANY, allowed=ANY):
    """In which fields an error is not as expected; None if it is."""
    if error.offender != offender:
        return f"offender {error.offender!r} instead of {offender!r} of: {error}"
    if value is not ANY and repr(error.value) != repr(value):  # NaN too
        return f"value {error.value!r} instead of {value!r} of: {error}"
    wanted = [allowed] if isinstance(allowed, str) else allowed
    if allowed is not ANY and any(x not in error.allowed for x in wanted):
        return f"allowed {error.allowed!r} without {allowed!r} of: {error}"
    return None


def faults(calls, kind=InputError):
    """Of (name, call, offender, value, allowed) those whose call is not refused so, in words."""
    found = {}
    for name, call, *fields in calls:
        try:
            call()
        except kind as error:
            fault = mismatch(error, *fields)
        else:
            fault = "not refused"
        if fault is not None:
            found[name] = fault
    return found
