"""Every exception of the library, and the base of its warnings.

A message names the offender, its value and what is allowed. All derive from :class:`KinetreeError`,
so one ``except kinetree.KinetreeError`` catches whatever bad input can cause.
"""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable
from pathlib import Path
from types import UnionType
from typing import Any

__all__ = [
    "AssemblyError",
    "FileError",
    "InputError",
    "MissingExtraError",
    "ModelError",
    "SimulationError",
    "SingularityError",
    "SizeError",
    "StopSimulation",
]
HELPFUL = 20  # messages about unknown names that suggest another one
LONGEST = 200  # characters of a value in a message
OTHER_WORDS: dict[str, tuple[str, ...]] = {  # earlier names, and those of other libraries: what is meant
    "guess": ("q0", "start"), "start": ("q0", "constraints"), "end": ("constraints",),
    "q": ("q0",), "qd": ("qd0",), "pose": ("q0", "q"),
    "at": ("point",), "location": ("point",), "rest_length": ("rest",), "T": ("duration",),
    "tf": ("duration",), "t_end": ("duration",), "dt": ("step",), "timestep": ("step",), "tau": ("torque",),
    "u": ("torque",), "control": ("controller",), "law": ("controller",), "cost": ("objective",),
    "objectives": ("objective",), "torque_limit": ("effort_limit",), "torque_limits": ("effort_limit",),
    "max_torque": ("effort_limit",), "limits": ("lower",), "joint_limits": ("lower",),
    "Obstacle": ("KeepOut",), "Wall": ("KeepOutBox",), "Box": ("KeepOutBox",), "Collision": ("KeepApart",),
    "MaxVelocity": ("VelocityLimits",), "MaxTorque": ("TorqueLimits",), "Gravity": ("GravityCompensation",),
    "body": ("on",), "parent": ("on",), "Line": ("tool_line",), "Circle": ("tool_circle",),
}  # fmt: skip
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 120
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 8
_SHORT.maxlevel = 3


class Refusal(str):
    """What a message says of something refused: the offender, its value, and what is allowed instead.

    >>> stated = must_be("duration", "positive", -1.0).after("study 'fall': ")
    >>> stated, stated.offender, stated.value
    ("study 'fall': duration must be positive, got -1.0", 'duration', -1.0)
    """

    offender: str
    value: object
    allowed: object

    def __new__(cls, text: str, offender: str, value: object, allowed: object) -> Refusal:
        """The text, which has these parts."""
        stated = super().__new__(cls, text)
        stated.offender, stated.value, stated.allowed = offender, value, allowed
        return stated

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        """Copies and pickles are the text alone; values may be anything."""
        return str, (str(self),)

    def after(self, where: str) -> Refusal:
        """This refusal with words in front that say where it happened."""
        return Refusal(where + self, self.offender, self.value, self.allowed)

    def then(self, more: str) -> Refusal:
        """This refusal with more words."""
        return Refusal(self + more, self.offender, self.value, self.allowed)


class KinetreeError(Exception):
    """Base of every error that Kinetree raises on purpose.

    Where something was refused, ``offender`` names it, ``value`` is what it was, and ``allowed`` says in
    words what it may be, or lists the names that there are; otherwise they are None.

    >>> import kinetree as kt
    >>> try:
    ...     kt.gravity_torque(kt.zoo.two_link(), [0.0, 0.0, 0.0])
    ... except kt.KinetreeError as error:
    ...     print(error)
    q must have shape (..., 2), one value for each of the joints joint1, joint2; got shape (3,)
    """

    offender: str | None = None
    value: object = None
    allowed: object = None

    def __init__(self, *given: object) -> None:
        if given and isinstance(given[0], Refusal):
            self.offender, self.value, self.allowed = given[0].offender, given[0].value, given[0].allowed
            given = (str(given[0]), *given[1:])
        super().__init__(*given)

    def __getstate__(self) -> dict[str, Any]:
        """What other processes get: of the value no more than messages show."""
        own = dict(vars(self))
        return own | {"value": shown(own["value"])} if "value" in own else own

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self.args, self.__getstate__()


class KinetreeWarning(UserWarning):
    """Base of every warning of Kinetree: the result is usable, and the text states the uncertainty.

    >>> import warnings
    >>> import kinetree as kt
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", kt.KinetreeWarning)  # raise where a result would be uncertain
    ...     fall = kt.simulate(kt.zoo.two_link(), [0, 0], duration=0.1)
    """


class ModelError(KinetreeError, ValueError):
    """A mechanism cannot exist as described: its tree, its masses, its joints."""


class FileError(KinetreeError, ValueError):
    """A file cannot be read, understood or written."""


class InputError(KinetreeError, ValueError):
    """An argument has the wrong shape, an unknown name or a value that is not allowed."""


class AssemblyError(InputError):
    """Loops that cannot be closed: from this guess, with these joints held, or with these lengths."""


class SingularityError(KinetreeError, ArithmeticError):
    """The result is not finite in this configuration (gimbal lock, singular mass matrix)."""


class SizeError(KinetreeError, MemoryError):
    """A result needs more memory than there is; raised before it is computed."""


class SimulationError(KinetreeError, RuntimeError):
    """A simulation could not continue; ``result`` is the motion so far, or None.

    >>> import kinetree as kt
    >>> def law(t, q, qd):
    ...     return [0.0, 0.0] if t < 0.5 else [float("nan"), 0.0]
    >>> try:
    ...     kt.simulate(kt.zoo.two_link(), [0, 0], duration=1.0, torque=law)
    ... except kt.errors.SimulationError as error:
    ...     print(f"{error}; kept: {len(error.result.time)} samples")
    the torque function 'law' returns nan for joint 'joint1' at t = 0.5... s; kept: ... samples
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class StopSimulation(KinetreeError):
    """Raised by a law to end the simulation with a reason; this is not a failure.

    >>> import kinetree as kt
    >>> def law(t, q, qd):
    ...     if q[0] > 0.5:
    ...         raise kt.errors.StopSimulation("joint 1 is where it should be")
    ...     return [1.0, 0.0]
    >>> kt.simulate(kt.zoo.two_link(), [0, 0], duration=5.0, torque=law).stop_reason
    'joint 1 is where it should be'
    """


class MissingExtraError(KinetreeError, ImportError):
    """An optional dependency is needed and not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package '{package}', which is not installed; "
            f"install it with: {install_command(extra)}"
        )


def install_command(extra: str) -> str:
    """What installs an extra: of the checkout that the package comes from, or of the package of an index."""
    root = Path(__file__).resolve().parents[2]
    if (root / "pyproject.toml").is_file() and (root / "src" / "kinetree").is_dir():
        return f"pip install -e '{root}[{extra}]'"
    return f"pip install '{_installed_from() or 'kinetree'}[{extra}]'"


def _installed_from() -> str | None:
    """The folder that pip installed the package from, as pip has noted it; None if that was no folder."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import unquote, urlsplit

    try:
        noted = json.loads(distribution("kinetree").read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError):
        return None
    place = unquote(urlsplit(str(noted.get("url", ""))).path)
    return place if "dir_info" in noted and (Path(place) / "pyproject.toml").is_file() else None


def shown(value: object) -> str:
    """A value as messages show it: arrays by their shape, all else in at most 200 characters.

    >>> import numpy as np
    >>> shown(np.zeros((1000, 6))), shown([1, 2]), len(shown("x" * 10**6)) <= LONGEST
    ('an array of shape (1000, 6)', '[1, 2]', True)
    """
    if _is_large(value):
        return f"an array of shape {getattr(value, 'shape')}"  # noqa: B009
    if isinstance(value, tuple | list) and 0 < len(value) <= 4 and any(map(_is_large, value)):
        return f"({', '.join(map(shown, value))})"
    try:
        text = _SHORT.repr(value)
    except Exception:  # the value's own way to print itself fails
        text = f"a {type(value).__name__}"
    return cut(text)


def _is_large(value: object) -> bool:
    """Whether a value is an array of so many numbers that its shape says more."""
    shape = getattr(value, "shape", None)
    return isinstance(shape, tuple) and len(shape) > 0 and getattr(value, "size", 0) > 8


def counted(n: int, one: str, several: str) -> str:
    """A number with its noun.

    >>> counted(1, "body", "bodies"), counted(3, "body", "bodies")
    ('1 body', '3 bodies')
    """
    return f"{n} {one if n == 1 else several}"


def cut(text: str, most: int = LONGEST) -> str:
    """A text of at most so many characters: what is in the middle goes.

    >>> cut("left_front_shoulder_roll", 17)
    'left_f ... r_roll'
    """
    half = (most - 5) // 2
    return text if len(text) <= most else f"{text[:half]} ... {text[-half:]}"


def expect(value: object, kinds: type | UnionType | tuple[type, ...], what: str, wanted: str) -> None:
    """Raise an InputError unless the value is of one of the kinds.

    >>> expect(3, str, "joint", "the name of a joint")
    Traceback (most recent call last):
    kinetree.errors.InputError: joint must be the name of a joint, got 3
    """
    if not isinstance(value, kinds):
        raise InputError(must_be(what, wanted, value))


def must_be(offender: str, allowed: str, value: object, form: str | None = None) -> Refusal:
    """Message for a value that is not what it must be; with a ``form`` the value is formatted by that.

    >>> must_be("step", "a positive number", "long"), must_be("step", "> 0 s", -0.5, "g")
    ("step must be a positive number, got 'long'", 'step must be > 0 s, got -0.5')
    """
    got = shown(value) if form is None else format(value, form)
    return Refusal(f"{offender} must be {allowed}, got {got}", offender, value, allowed)


def texts(values: object, what: str) -> tuple[str, ...]:
    """A list of names as a tuple, if it is one.

    >>> texts(["hip", "knee"], "joints")
    ('hip', 'knee')
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(must_be(what, "a list of names", values))
    found = tuple(values)
    if not all(isinstance(x, str) for x in found):
        raise InputError(must_be(what, "a list of names", values))
    return found


def listed(choices: Iterable[object], most: int = 20) -> str:
    """The choices as text for a message, cut after `most` of them."""
    names = [str(choice) for choice in choices]
    named = ", ".join(map(cut, names[:most])) or "none"
    return named if len(names) <= most else f"{named}, ... ({len(names)} in all)"


def unknown_name(kind: str, name: object, choices: Iterable[object], named: int = 0) -> Refusal:
    """Message for a name that is none of the choices, with the nearest one suggested.

    Only the first messages of many help with a choice, as to find it takes time: ``named`` were there before.
    """
    names = [str(choice) for choice in choices] if named < HELPFUL else []
    return Refusal(_unknown(kind, str(name), names, named < HELPFUL), kind, name, names)


def _unknown(kind: str, name: str, names: list[str], helps: bool) -> str:
    """The words for an unknown name; with what is allowed if they are to help."""
    if not helps:
        return f"unknown {kind} '{cut(name)}'"
    near = [word for word in OTHER_WORDS.get(name, ()) if word in names]
    near = near or difflib.get_close_matches(name[:LONGEST], names, n=1)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return f"unknown {kind} '{cut(name)}'; allowed: {listed(names)}.{hint}"


def __dir__() -> list[str]:
    return __all__
