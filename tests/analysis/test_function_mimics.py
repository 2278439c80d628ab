"""Joints that follow others by functions: derivatives, energy, power and motions against independent ones."""

from dataclasses import replace

import numpy as np
import pytest

import kinetree as kt
from kinetree import terms
from kinetree.analysis.derivative_check import check_derivatives
from kinetree.model import Composed, CubicSpline, Marker, Mimic, PiecewiseLinear, Polynomial

SPLINE = CubicSpline((-2.0, -0.8, 0.1, 0.9, 2.0), (0.2, -0.3, 0.1, 0.5, -0.1))
CURVED = Composed(SPLINE, Polynomial((0.1, 0.7)))
LOAD = kt.Wrench("shank", force=(3.0, -8.0, 20.0), point=(0.1, 0.0, -0.2))


def leg(spring=False):
    """A hip, a knee of two slides and two turns that all follow its angle, and a patella beside it."""
    build = kt.Builder("leg", gravity=(0.0, 0.0, -9.81))
    body = kt.Inertia(2.0, (0.05, 0.02, -0.2), np.diag([0.05, 0.04, 0.03]))
    thigh = build.world.revolute("hip", axis="y", armature=0.02).body("thigh", body)
    none = kt.Inertia(0.0, np.zeros(3), np.zeros((3, 3)))
    x = thigh.prismatic("knee_x", axis="x", at=(0, 0, -0.4), mimic=Mimic("knee", function=SPLINE)).body(
        "a", none
    )
    z = x.prismatic("knee_z", axis="z", mimic=Mimic("knee", 0.1, -0.2, (0.3, -0.2))).body("b", none)
    y = z.revolute("knee", axis="y", viscous=0.3).body("c", none)
    shank = y.revolute("twist", axis="x", armature=0.01, mimic=Mimic("knee", function=CURVED)).body(
        "shank", body
    )
    thigh.revolute("patella", axis="y", at=(0.05, 0, -0.4), mimic=Mimic("knee", -0.5)).body("cap", body)
    shank.revolute("ankle", axis="y").body("foot", body)
    if spring:
        ends = {"at_a": (0, 0, -0.1), "at_b": (0, 0.1, -0.1)}
        build.spring("band", "thigh", "shank", stiffness=300.0, damping=2.0, **ends)
    return build.build()


def states(n, count=3, seed=3):
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1.5, 1.5, (count, n)) for _ in range(3)]


def slopes(function, at, step=1e-5):
    """Derivatives (..., n) of a function of (n,) by central differences of fourth order."""
    columns = []
    for e in step * np.eye(len(at)):
        f = [np.asarray(function(at + k * e)) for k in (-2, -1, 1, 2)]
        columns.append((f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * step))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("spring", [False, True])
@pytest.mark.parametrize("load", [None, LOAD])
def test_derivatives_of_torques_and_accelerations_equal_differences(spring, load, k):
    m = leg(spring)
    q, qd, qdd = (x[k] for x in states(m.n_dof))
    d = kt.inverse_dynamics_derivatives(m, q, qd, qdd, load)
    inverse = lambda *x: kt.inverse_dynamics(m, *x, load)  # noqa: E731
    assert d.tau == pytest.approx(inverse(q, qd, qdd), rel=1e-12)
    assert d.dtau_dq == pytest.approx(slopes(lambda x: inverse(x, qd, qdd), q), abs=2e-6)
    assert d.dtau_dqd == pytest.approx(slopes(lambda x: inverse(q, x, qdd), qd), abs=2e-6)
    assert d.dtau_dqdd == pytest.approx(kt.mass_matrix(m, q), rel=1e-12)
    f = kt.forward_dynamics_derivatives(m, q, qd, d.tau, load)
    assert f.qdd == pytest.approx(qdd, abs=1e-9)
    forward = lambda *x: kt.forward_dynamics(m, *x, load)  # noqa: E731
    assert f.dqdd_dq == pytest.approx(slopes(lambda x: forward(x, qd, d.tau), q), rel=1e-5, abs=1e-4)


def test_the_check_of_derivatives_finds_nothing():
    assert all(check.passed for check in check_derivatives(leg(), states=3))


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("load", [None, LOAD])
def test_derivatives_of_reactions_equal_differences(load, k):
    m = leg()
    q, qd, qdd = (x[k] for x in states(m.n_dof))
    d = kt.analysis.joint_reaction_derivatives(m, q, qd, qdd, load)
    reaction = lambda *x: kt.joint_reactions(m, *x, load)  # noqa: E731
    assert d.dreaction_dq == pytest.approx(slopes(lambda x: reaction(x, qd, qdd), q), abs=2e-6)
    assert d.dreaction_dqd == pytest.approx(slopes(lambda x: reaction(q, x, qdd), qd), abs=2e-6)
    assert d.dreaction_dqdd == pytest.approx(slopes(lambda x: reaction(q, qd, x), qdd), abs=2e-6)


@pytest.mark.parametrize("k", range(3))
@pytest.mark.parametrize("spring", [False, True])
@pytest.mark.parametrize("load", [None, LOAD])
def test_second_derivatives_of_torques_equal_differences_of_first_ones(spring, load, k):
    m, rng = leg(spring), np.random.default_rng(8)
    q, qd, qdd = (x[k] for x in states(m.n_dof))
    w = rng.normal(size=m.n_dof)
    H = kt.analysis.torque_hessian(m, q, qd, qdd, w, load)

    def first(q, qd, qdd):
        d = kt.inverse_dynamics_derivatives(m, q, qd, qdd, load)
        return w @ np.concatenate([d.dtau_dq, d.dtau_dqd, d.dtau_dqdd], axis=1)

    found = np.concatenate(
        [
            slopes(lambda x: first(x, qd, qdd), q),
            slopes(lambda x: first(q, x, qdd), qd),
            slopes(lambda x: first(q, qd, x), qdd),
        ],
        axis=1,
    )
    assert H.full == pytest.approx(found, abs=3e-5)
    assert np.concatenate([H.dq, H.dqd, H.dqdd]) == pytest.approx(first(q, qd, qdd), abs=1e-10)


@pytest.mark.parametrize("k", range(3))
def test_power_is_the_rate_of_energy_and_points_move_as_their_jacobian_says(k):
    m = leg()
    q, qd, qdd = (x[k] for x in states(m.n_dof))
    h = 1e-5
    energy = [
        kt.kinetic_energy(m, *x) + kt.potential_energy(m, x[0])
        for x in ((q + s * h * qd + 0.5 * h * h * qdd, qd + s * h * qdd) for s in (-1, 1))
    ]
    friction = 0.3 * qd[m.joint_index("knee")] ** 2
    armature = 0.0  # counts as kinetic energy
    power = kt.inverse_dynamics(m, q, qd, qdd) @ qd
    assert power - friction - armature == pytest.approx((energy[1] - energy[0]) / (2 * h), rel=1e-6, abs=1e-5)
    J = kt.jacobian(m, q, "foot", (0.1, 0.0, 0.05))
    place = lambda x: (lambda R, p: p + R @ [0.1, 0.0, 0.05])(*kt.forward_kinematics(m, x)["foot"])  # noqa: E731
    assert J[:3] == pytest.approx(slopes(place, q), abs=1e-8)
    accelerations = kt.analysis.body_accelerations(m, q, qd, qdd)
    twists = [kt.body_velocities(m, q + s * h * qd + 0.5 * h * h * qdd, qd + s * h * qdd) for s in (-1, 1)]
    assert accelerations == pytest.approx((twists[1] - twists[0]) / (2 * h), abs=1e-5)


def test_a_simulation_keeps_its_energy_and_solves_the_equation_of_motion():
    m = leg()
    run = kt.simulate(m, [0.3, -0.4, 0.2], [0.5, 1.0, -2.0], 1.0, rtol=1e-9, times=21)
    assert all(check.passed for check in run.audit.values())
    q, qd, qdd = (getattr(run, k).values for k in ("q", "qd", "qdd"))
    assert qdd == pytest.approx(kt.forward_dynamics(m, q, qd, np.zeros_like(q)), rel=1e-9, abs=1e-8)


def test_a_prediction_with_them_has_exact_derivatives_and_is_solved():
    m = leg()
    problem = kt.Problem(
        m,
        objective=[terms.SquaredTorque(), 1e-4 * terms.SquaredReaction("shank"), 1e-3 * terms.Jerk()],
        constraints=[
            terms.Boundary("start", position=[0.0, 0.1, 0.0]),
            terms.PointPosition("foot", lower=(0.05, 0.0, -0.9), upper=(0.2, 0.0, -0.5), axes="xz"),
            terms.PointSpeed("foot", 3.0),
            terms.PointVelocity("foot", (0.0, 0.0, 0.0), axes="x"),
            terms.KeepOut("foot", center=(0.0, 0.0, -2.0), radius=0.5),
        ],
        duration=0.8,
        segments=4,
    )
    check = problem.check_derivatives()
    assert check.passed, check
    assert kt.predict(problem).solved


def test_a_kink_is_warned_about_and_a_line_becomes_linear():
    assert Mimic("knee", function=Polynomial((0.5, 2.0))) == Mimic("knee", 2.0, 0.5)
    bent = Mimic("knee", function=PiecewiseLinear((0.0, 1.0, 2.0), (0.0, 1.0, 0.0)))
    assert bent.at(1.5) == 0.5 and bent.slope(1.5) == -1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"function": 3.0}, "function must be a smooth function such as CubicSpline"),
        ({"function": SPLINE, "offset": 1.0}, "a function takes the place of multiplier, offset"),
    ],
)
def test_faults_are_named(given, message):
    with pytest.raises(kt.errors.ModelError, match=message):
        Mimic("knee", **given)


def test_the_stepper_takes_linear_mimics_only():
    m = leg()
    with pytest.raises(
        kt.errors.ModelError, match="'knee_x' follows another by a function that is no straight"
    ):
        kt.Stepper(m, 0.001)


def test_functions_and_markers_survive_files_and_other_roots(tmp_path):
    m = replace(
        leg(), markers=(Marker("R.Knee", "shank", (0.01, 0.02, 0.0)), Marker("toe", "foot", weight=0.0))
    )
    kt.save(m, tmp_path / "leg.toml")
    assert kt.load(tmp_path / "leg.toml") == m


def test_markers_name_bodies_once():
    with pytest.raises(kt.errors.ModelError, match=r"marker 'toe'.*'hand'"):
        replace(leg(), markers=(Marker("toe", "hand"),))
    with pytest.raises(kt.errors.ModelError, match="more than one marker is called 'toe'"):
        replace(leg(), markers=(Marker("toe", "foot"), Marker("toe", "shank")))
    with pytest.raises(kt.errors.ModelError, match="weight must be >= 0, got -1"):
        Marker("toe", "foot", weight=-1.0)


@pytest.mark.parametrize("name", ["leg.urdf", "leg.xml"])
def test_other_formats_get_tangents_and_say_so(tmp_path, name):
    m = replace(leg(), markers=(Marker("toe", "foot"),))
    with pytest.warns(
        kt.KinetreeWarning, match=r"(?s)functions of mimics, written as tangents.*knee_x.*twist.*"
    ):
        kt.save(m, tmp_path / name)
    text = (tmp_path / name).read_text()
    assert f"{float(SPLINE.at(0.0)):.6f}"[:7] in text
