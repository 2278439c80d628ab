"""Whatever stands where a mechanism should: every public function says so, and how to get one."""

import inspect
import pathlib

import numpy as np
import pytest

import kinetree as kt
from support.each import each

ANSWERS = {  # made by the library, not by users
    "kt.Result", "kt.lifting.Lifter", "kt.motion.FastestTiming", "kt.trajectories.LeggedGait",
    "kt.walking.Walker", "kt.markers.ScaledModel", "kt.markers.Tracked",
}  # fmt: skip


def public_callables(module=kt, name="kt", seen=None):
    """Every public function and class of the package and its rooms, once."""
    seen = set() if seen is None else seen
    for key in dir(module):
        if key.startswith("_"):
            continue
        value = getattr(module, key)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if inspect.ismodule(value):
            if value.__name__.startswith("kinetree"):
                yield from public_callables(value, f"{name}.{key}", seen)
        elif callable(value):
            yield f"{name}.{key}", value


def signature(function):
    try:
        return inspect.signature(function)
    except ValueError:  # exceptions of C code
        return inspect.Signature()


TAKES_MECHANISM = [
    pytest.param(function, parameter, id=f"{name}-{parameter.name}")
    for name, function in public_callables()
    if name not in ANSWERS
    for parameter in signature(function).parameters.values()
    if "Mechanism" in str(parameter.annotation)
]


def test_the_walk_finds_the_functions_of_all_rooms():
    found = {x.id for x in TAKES_MECHANISM}
    assert {"kt.inverse_dynamics-mechanism", "kt.loops.gap-mechanism", "kt.Problem-mechanism"} <= found
    assert len(found) > 80


@each(("function", "parameter"), TAKES_MECHANISM)
def test_what_is_no_mechanism_is_refused_first(function, parameter):
    """Before all other arguments, which are wrong as well."""
    optional = parameter.default is not inspect.Parameter.empty
    others = {
        x.name: np.zeros(2)
        for x in signature(function).parameters.values()
        if x.default is x.empty and x.kind not in (x.VAR_POSITIONAL, x.VAR_KEYWORD)
    }
    if parameter.name == "target":
        others["source"] = kt.zoo.two_link()
    if parameter.name == "second":
        others["first"] = kt.zoo.two_link()
    if function is kt.sweep:
        others["study"] = len
    for wrong in (
        "arm.urdf",
        {},
        [],
        3,
        kt.Mechanism,
        kt.zoo.gripper,
        np.zeros(3),
        *([] if optional else [None]),
    ):
        with pytest.raises(kt.errors.InputError, match=f"^{parameter.name} must be a Mechanism, got "):
            function(**{**others, parameter.name: wrong})


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("arm.urdf", r"kinetree.load\(...\) reads a file"),
        (pathlib.Path("arm.urdf"), r"kinetree.load\(...\) reads a file"),
        (kt.zoo.gripper, r"is a call missing, gripper\(\)\?"),
        (kt.Builder("arm"), r"is .build\(\) missing\?"),
        (kt.simulate(kt.zoo.gripper(), np.zeros(4), duration=0.01, times=2), r"its attribute .mechanism"),
        (None, r"kinetree.load\(...\) reads one from a file"),
    ],
)  # fmt: skip
def test_the_message_says_how_to_get_one(wrong, hint):
    with pytest.raises(kt.errors.InputError, match=hint):
        kt.inverse_dynamics(wrong, [0.0], [0.0], [0.0])
    with pytest.raises(kt.errors.InputError, match=hint):
        kt.simulate(wrong, [0.0])


def test_errors_of_the_library_itself_are_not_hidden(monkeypatch):
    """An AttributeError that is not the user's stays what it is."""

    class Broken(kt.Mechanism):
        @property
        def tree(self):
            raise AttributeError("a fault of ours")

    arm = kt.zoo.two_link()
    broken = Broken(arm.name, arm.links, arm.gravity)
    for ask in (kt.inverse_dynamics, kt.forward_dynamics, kt.inverse_dynamics_derivatives):
        with pytest.raises(AttributeError, match=r"fault of ours|attribute of a Mechanism 'tree'"):
            ask(broken, [0.0] * 2, [0.0] * 2, [0.0] * 2)


GRIPPER, BIPED = kt.zoo.gripper(), kt.zoo.planar_biped()


@each(
    ("call", "wrong", "meant"),
    [
        (lambda: kt.simulate(GRIPPER, np.zeros(4), duraton=1.0), "duraton", "duration"),
        (lambda: kt.simulation.Simulator(GRIPPER, 0.1, contoller=None), "contoller", "controller"),
        (lambda: kt.simulation.Settings(rtoll=1e-6), "rtoll", "rtol"),
        (lambda: kt.zoo.by_name("chain", m=3), "m", "n"),
        (lambda: kt.gaits.gait(BIPED, sped=0.3), "sped", "speed"),
        (lambda: kt.gaits.jump(BIPED, tolerence=1e-3), "tolerence", "tolerance"),
        (lambda: kt.lifting.lift(bx=3.0), "bx", "box"),
        (lambda: kt.walking.walk(sped=1.2), "sped", "speed"),
        (lambda: kt.run("gripper_free_fall", studdy={"duration": 1.0}), "studdy", "study"),
        (
            lambda: kt.sweep("gripper_free_fall", {"study.duration": [0.1, 0.2]}, wrkers=1),
            "wrkers",
            "workers",
        ),
        (lambda: kt.Problem(GRIPPER, objectives=()), "objectives", "objective"),
        (lambda: kt.model.Mimic("a", multipler=2.0), "multipler", "multiplier"),
    ],
)
def test_keywords_that_no_function_has_are_named(call, wrong, meant):
    """Those that functions collect are not swallowed; Python refuses the others, and suggests since 3.13."""
    with pytest.raises((kt.KinetreeError, TypeError)) as stop:
        call()
    assert wrong in str(stop.value)
    assert not isinstance(stop.value, kt.KinetreeError) or meant in str(stop.value)
