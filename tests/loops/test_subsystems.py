"""Inverse dynamics subsystem by subsystem beside all equations at once ([Shah2013], chapter 8)."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.drives import compiled_drives
from kinetree.dynamics.loops.dynamics import drive_map, drive_torque
from kinetree.dynamics.loops.states import fitting_state
from kinetree.dynamics.loops.system import constraints
from support.each import each
from support.reference import closed, read, relative_error


def ladder(n):
    """n four-bars swinging, with velocity, and an acceleration that fits."""
    mechanism = kt.zoo.n_four_bar(n)
    sign = np.array([-1.0 if "crank" in name else 1.0 for name in mechanism.joint_names])
    angle, rate, acceleration = (
        np.array([0.4, -1.1, 2.0]),
        np.array([1.5, -2.0, 0.3]),
        np.array([-2.0, 1.0, 3.0]),
    )
    return mechanism, kt.State(*(np.outer(x, sign) for x in (angle, rate, acceleration)))


def of_zoo(name):
    mechanism = kt.zoo.by_name(name)
    return mechanism, fitting_state(mechanism, 4, seed=3)


def of_file(name):
    (variant,) = read(f"{name}.json")["variants"]
    state = variant["states"][0]
    return closed(variant), kt.State(
        *(np.array([x]) for x in (state["q"], state["qd"], state["inverse"]["qdd"]))
    )


CASES = {
    "four_bar": (lambda: of_zoo("four_bar"), [2, 1]),
    "robotic_leg": (lambda: of_zoo("robotic_leg"), [2, 2, 2, 1]),
    "three_rrr": (lambda: of_zoo("three_rrr"), [4, 1, 1, 1]),
    "jansen": (lambda: of_file("jansen_leg"), [2, 2, 2, 1]),
    "six_bar": (lambda: of_file("six_bar"), [2, 2, 1]),
    "ladder of 40": (lambda: ladder(40), [2] * 40 + [1]),
    "stewart": (lambda: of_file("stewart"), [18] + [1] * 6),
    "delta": (lambda: of_file("delta"), [18] + [1] * 3),
}


@each("name", CASES)
def test_subsystems_one_after_the_other_are_all_at_once(name):
    make, sizes = CASES[name]
    mechanism, at = make()
    assert [part.unknowns for part in kt.loops.subsystems(mechanism)] == sizes
    found = constraints(mechanism, at.q)
    tree = kt.inverse_dynamics(mechanism.opened(), at.q, at.qd, at.qdd)
    whole = drive_map(mechanism, found, tree[..., None], np.ones(mechanism.n_dof), mechanism.driven)[..., 0]
    by_parts = compiled_drives(mechanism, at.q, at.qd, at.qdd, tree)
    assert by_parts is not None
    assert relative_error(by_parts, whole) < 1e-10
    for tau in (
        kt.inverse_dynamics(mechanism, at.q, at.qd, at.qdd),
        kt.loops.inverse_dynamics(mechanism, at.q, at.qd, at.qdd)[0],
    ):
        assert relative_error(by_parts, tau) < 1e-12
        assert not tau[..., ~mechanism.driven].any()


def test_near_singular_blocks_are_left_to_the_equations_as_a_whole():
    mechanism, at = ladder(2)
    sign = np.sign(at.qd[0])
    near, still = sign * (np.pi / 2 - 1e-7), np.zeros(5)
    tree = kt.inverse_dynamics(mechanism.opened(), near, still, still)
    assert compiled_drives(mechanism, near, still, still, tree) is None
    expected = -(3 / 2 + 2) * 9.81 * np.sin(np.pi / 2 - 1e-7)  # (N + 1) / 2 + N of the pendulum
    tau = drive_torque(mechanism, near, still, still)
    assert abs(abs(tau[0]) - abs(expected)) < 1e-6


def test_redundant_drives_have_no_subsystems():
    (variant,) = read("five_bar.json")["variants"]
    mechanism = closed(variant)
    with pytest.raises(kt.errors.InputError, match="has 3 driven joints and mobility 2"):
        kt.loops.subsystems(mechanism)
