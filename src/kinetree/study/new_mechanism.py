"""A mechanism file to begin with: made of a few answers, with comments that say what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.errors import InputError, must_be, unknown_name
from kinetree.study import new_walker
from kinetree.study.new_lines import FileTemplate

TEMPLATES = {
    "arm": "a chain of links with revolute joints",
    "pendulum": "one body on a hinge",
    "cart": "a cart on a rail with a pendulum on it",
    "four_bar": "a crank that drives a rocker through a coupler, a closed loop",
    "dh": "a chain as a Denavit-Hartenberg table",
    "legged": "a floating trunk on legs with feet that touch the ground",
    **new_walker.TEMPLATES,
}
MOST_LINKS = 50


@dataclass(frozen=True)
class MechanismAnswers:
    """What the file is made of: lengths in m, masses in kg."""

    name: str
    template: str = "arm"
    links: int = 2
    length: float = 0.4
    mass: float = 1.0

    def __post_init__(self) -> None:
        if self.template not in TEMPLATES:
            raise InputError(unknown_name("template", self.template, TEMPLATES))
        if not 1 <= self.links <= MOST_LINKS:
            raise InputError(must_be("links", f"from 1 to {MOST_LINKS}", self.links, ""))
        for key in ("length", "mass"):
            if not 0.0 < getattr(self, key) < 1e6:
                raise InputError(must_be(key, "a number > 0", getattr(self, key), "g"))


def mechanism_file(answers: MechanismAnswers) -> str:
    """The text of the file.

    >>> from kinetree.formats.toml_file import mechanism_from_toml
    >>> mechanism_from_toml(mechanism_file(MechanismAnswers("mine", links=3)))
    Mechanism('mine', 3 bodies, 3 degrees of freedom)
    """
    a, head = answers, FileTemplate("mechanism")
    begin = head.filled("all", name=a.name, what=TEMPLATES[a.template])
    if a.template in new_walker.TEMPLATES:
        sizes = new_walker.scaled(a.template, a.length, a.mass)
        return begin + head.filled("walker", name=a.name) + new_walker.walker_text(a.template, sizes)
    return begin + BODIES[a.template](a, FileTemplate(a.template))


def _arm(a: MechanismAnswers, file: FileTemplate) -> str:
    size = {"mass": a.mass, "length": a.length}
    first = file.filled("first", axis="z" if a.links > 2 else "y", **size)
    return first + "".join(file.filled("next", k=k, before=k - 1, **size) for k in range(2, a.links + 1))


def _pendulum(a: MechanismAnswers, file: FileTemplate) -> str:
    return file.filled("all", mass=a.mass, length=a.length)


def _cart(a: MechanismAnswers, file: FileTemplate) -> str:
    return file.filled("all", mass=a.mass, length=a.length, cart=2 * a.mass)


def _four_bar(a: MechanismAnswers, file: FileTemplate) -> str:
    """A crank-rocker: with the coupler as length 1 the crank has 0.3, the frame 0.9 and the rocker 0.906."""
    crank, (pin_x, pin_z), pivot = 0.3 * a.length, (0.8 * a.length, 0.9 * a.length), 0.9 * a.length
    return file.filled(
        "all", name=a.name, mass=a.mass, crank_mass=0.3 * a.mass, crank=crank, pivot=pivot,
        coupler=_in_plane(pin_x, pin_z - crank), rocker=_in_plane(pin_x - pivot, pin_z),
        middle=_in_plane(pin_x / 2, (pin_z - crank) / 2),
    )  # fmt: skip


def _in_plane(x: float, z: float) -> str:
    return f"[{x:g}, 0, {z:g}]"


def _dh(a: MechanismAnswers, file: FileTemplate) -> str:
    about = a.mass * a.length**2
    rows = [
        file.filled(
            "row", k=k, a=0 if k == 1 else a.length, alpha=90 if k == 2 else 0, mass=a.mass,
            half=a.length / 2, along=about / 600, across=about / 12,
        )
        for k in range(1, a.links + 1)
    ]  # fmt: skip
    return file.filled("head") + "".join(rows)


def _legged(a: MechanismAnswers, file: FileTemplate) -> str:
    legs, half = max(2, a.links), a.length / 2
    text = file.filled("trunk", trunk=4 * a.mass, long=2 * a.length, length=a.length, half=half)
    for k in range(legs):
        x = a.length * (1 - 2 * (k // 2) / max(1, (legs + 1) // 2 - 1)) if legs > 2 else 0.0
        y = half * (1 - 2 * (k % 2))
        text += file.filled("leg", k=k + 1, x=x, y=y, half=half, thigh=a.mass / 2, shank=a.mass / 4)
    return text


BODIES = {
    "arm": _arm, "pendulum": _pendulum, "cart": _cart, "four_bar": _four_bar, "dh": _dh, "legged": _legged,
}  # fmt: skip
