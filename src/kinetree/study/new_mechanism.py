"""A mechanism file to begin with: made of a few answers, with comments that say what may be changed."""

from __future__ import annotations

from dataclasses import dataclass

from kinetree.errors import InputError, must_be, unknown_name
from kinetree.study import new_walker

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
    if answers.template in new_walker.TEMPLATES:
        return "\n".join([*_head(answers), *_walker(answers)]) + "\n"
    return "\n".join([*_head(answers), *BODIES[answers.template](answers)]) + "\n"


def _walker(a: MechanismAnswers) -> list[str]:
    sizes = new_walker.scaled(a.template, a.length, a.mass)
    return [
        f"# Let it walk:  kinetree new study walk --template walk --model {a.name}.toml",
        "#               kinetree run walk.toml --report walk.html",
        "# Lengths and masses may change by 30 % and more; the walking law adapts to them.",
        *new_walker.walker_lines(a.template, sizes),
    ]


def _head(a: MechanismAnswers) -> list[str]:
    return [
        f"# {a.name}: {TEMPLATES[a.template]}.",
        '# SI units: m, kg, s, N, rad; an angle may also be written as "90 deg".',
        "# Check it:  kinetree check FILE      look at it:  kinetree info FILE, kinetree draw FILE",
        f'name = "{a.name}"',
        "gravity = [0, 0, -9.81]  # m/s^2; z points up",
        "",
    ]


def _arm(a: MechanismAnswers) -> list[str]:
    lines = []
    for k in range(1, a.links + 1):
        axis = "z" if k == 1 and a.links > 2 else "y"
        at = "" if k == 1 else f", at = [{a.length:g}, 0, 0]"
        lines += [
            "[[body]]",
            f'name = "link{k}"',
            *([f'parent = "link{k - 1}"'] if k > 1 else ['# parent = "world" is the default']),
            f'joint = {{ name = "joint{k}", kind = "revolute", axis = "{axis}"{at}, '
            'lower = "-170 deg", upper = "170 deg", effort_limit = 200 }',
            f"rod = {{ mass = {a.mass:g}, end = [{a.length:g}, 0, 0] }}"
            "  # or mass, center and inertia; or box, cylinder, sphere, point",
            "",
        ]
    return lines[:-1]


def _pendulum(a: MechanismAnswers) -> list[str]:
    return [
        "[[body]]",
        'name = "bob"',
        'joint = { name = "pivot", kind = "revolute", axis = "y", viscous = 0.0 }  # viscous: N m s/rad',
        f"rod = {{ mass = {a.mass:g}, end = [0, 0, -{a.length:g}] }}  # hangs down at q = 0",
    ]


def _cart(a: MechanismAnswers) -> list[str]:
    return [
        "[[body]]",
        'name = "cart"',
        'joint = { name = "rail", kind = "prismatic", axis = "x", lower = -2, upper = 2, effort_limit = 99 }',
        f"box = {{ mass = {2 * a.mass:g}, size = [0.4, 0.2, 0.1] }}",
        "",
        "[[body]]",
        'name = "pole"',
        'parent = "cart"',
        'joint = { name = "pivot", kind = "revolute", axis = "y" }  # q = 0: the pole stands up',
        f"rod = {{ mass = {a.mass:g}, end = [0, 0, {a.length:g}] }}",
    ]


def _four_bar(a: MechanismAnswers) -> list[str]:
    """A crank-rocker: with the coupler as length 1 the crank has 0.3, the frame 0.9 and the rocker 0.906."""
    crank, (pin_x, pin_z), pivot = 0.3 * a.length, (0.8 * a.length, 0.9 * a.length), 0.9 * a.length
    coupler = f"[{pin_x:g}, 0, {pin_z - crank:g}]"
    return [
        "# In the plane x-z, closed at q = 0 with the crank upright. The crank turns fully as long as it is",
        "# the shortest bar and, with the longest, shorter than the other two together (Grashof).",
        f"# Turn it:  kinetree new study turn --template inverse --model {a.name}.toml",
        "#           kinetree run turn.toml --report turn.html",
        "[[body]]",
        'name = "crank"',
        'joint = { name = "crank_pivot", kind = "revolute", axis = "y", effort_limit = 200 }',
        f"rod = {{ mass = {0.3 * a.mass:g}, end = [0, 0, {crank:g}] }}",
        "",
        "[[body]]",
        'name = "coupler"',
        'parent = "crank"',
        f'joint = {{ name = "crank_pin", kind = "revolute", axis = "y", at = [0, 0, {crank:g}], '
        "driven = false }",
        f"rod = {{ mass = {a.mass:g}, end = {coupler} }}",
        "",
        "[[body]]",
        'name = "rocker"',
        f'joint = {{ name = "rocker_pivot", kind = "revolute", axis = "y", at = [{pivot:g}, 0, 0], '
        "driven = false }",
        f"rod = {{ mass = {a.mass:g}, end = [{pin_x - pivot:g}, 0, {pin_z:g}] }}",
        "",
        "[[loop]]  # the joint that closes the loop: a point of each body",
        'name = "rocker_pin"',
        'kind = "revolute"',
        'axis = "y"',
        f'a = {{ body = "coupler", at = {coupler} }}',
        f'b = {{ body = "rocker", at = [{pin_x - pivot:g}, 0, {pin_z:g}] }}',
        "",
        "[[frame]]  # the middle of the coupler, whose path reports and movies draw",
        'name = "tip"',
        'body = "coupler"',
        f"at = [{pin_x / 2:g}, 0, {(pin_z - crank) / 2:g}]",
    ]


def _dh(a: MechanismAnswers) -> list[str]:
    lines = [
        "[dh]",
        'convention = "modified"  # link frames at their joints; or "classic", at their far ends',
        "",
    ]
    for k in range(1, a.links + 1):
        lines += [
            "[[dh.row]]",
            f'name = "link{k}"',
            f"a = {0 if k == 1 else a.length:g}        # along x of the frame before (m)",
            f'alpha = "{90 if k == 2 else 0} deg"  # about it; b and theta: along and about z',
            f"mass = {a.mass:g}",
            f"center = [{a.length / 2:g}, 0, 0]",
            "inertia = [{0:.6g}, {1:.6g}, {1:.6g}]  # about the center: xx, yy, zz".format(
                a.mass * a.length**2 / 600, a.mass * a.length**2 / 12
            ),
            "effort_limit = 200",
            "",
        ]
    return lines[:-1]


def _legged(a: MechanismAnswers) -> list[str]:
    legs = max(2, a.links)
    lines = [
        "[[body]]",
        'name = "trunk"',
        'joint = { name = "base", kind = "free" }  # moves freely: three positions, then three angles YXZ',
        f"box = {{ mass = {4 * a.mass:g}, size = [{2 * a.length:g}, {a.length:g}, {a.length / 2:g}] }}",
    ]
    for k in range(legs):
        x = a.length * (1 - 2 * (k // 2) / max(1, (legs + 1) // 2 - 1)) if legs > 2 else 0.0
        y = a.length / 2 * (1 - 2 * (k % 2))
        lines += [
            "",
            "[[body]]",
            f'name = "thigh{k + 1}"',
            'parent = "trunk"',
            f'joint = {{ name = "hip{k + 1}", kind = "revolute", axis = "y", at = [{x:g}, {y:g}, 0], '
            "effort_limit = 100 }",
            f"rod = {{ mass = {a.mass / 2:g}, end = [0, 0, -{a.length / 2:g}] }}",
            "",
            "[[body]]",
            f'name = "shank{k + 1}"',
            f'parent = "thigh{k + 1}"',
            f'joint = {{ name = "knee{k + 1}", kind = "revolute", axis = "y", '
            f"at = [0, 0, -{a.length / 2:g}], effort_limit = 100 }}",
            f"rod = {{ mass = {a.mass / 4:g}, end = [0, 0, -{a.length / 2:g}] }}",
            "",
            "[[contact]]  # a point that may touch the ground",
            f'name = "foot{k + 1}"',
            f'body = "shank{k + 1}"',
            f"at = [0, 0, -{a.length / 2:g}]",
        ]
    return lines


BODIES = {
    "arm": _arm,
    "pendulum": _pendulum,
    "cart": _cart,
    "four_bar": _four_bar,
    "dh": _dh,
    "legged": _legged,
}
