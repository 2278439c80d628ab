"""Linkages and parallel manipulators of the zoo: closed at q = 0, mobile as they should be."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.dynamics.loops.system import constraints
from support.each import each

MOBILITY = {
    "four_bar": 1,
    "robotic_leg": 1,
    "three_rrr": 3,
    "slider_crank": 1,
    "five_bar": 2,
    "n_four_bar": 1,
    "scissor_lift": 1,
    "jansen_leg": 1,
    "bricard": 1,
    "stewart": 6,
    "delta": 3,
}
CLOSED_AT_ZERO = [name for name in MOBILITY if name not in ("four_bar", "robotic_leg", "three_rrr")]


@each("name", MOBILITY)
def test_drives_are_as_many_as_freedoms_and_independent(name):
    mechanism = kt.zoo.by_name(name)
    found = kt.loops.structure(mechanism)
    assert found.mobility == MOBILITY[name]
    assert found.independent == tuple(np.array(mechanism.joint_names)[mechanism.driven])


@each("name", CLOSED_AT_ZERO)
def test_loops_are_closed_at_zero(name):
    mechanism = kt.zoo.by_name(name)
    assert np.abs(constraints(mechanism, np.zeros(mechanism.n_dof)).gap).max() < 1e-15


@each("n", [1, 2, 7])
@each("theta", [0.3, 1.2, 2.5])
def test_four_bars_swing_as_one_pendulum(n, theta):
    """((n + 1) / 3 + n) theta" = ((n + 1) / 2 + n) g sin theta, whatever the speed."""
    mechanism = kt.zoo.n_four_bar(n)
    sign = np.array([1.0 if "crank" in name else -1.0 for name in mechanism.joint_names])
    q, qd = sign * theta, 1.7 * sign
    qdd, _ = kt.loops.forward_dynamics(mechanism, q, qd, np.zeros(mechanism.n_dof))
    expected = ((n + 1) / 2 + n) * 9.81 * np.sin(theta) / ((n + 1) / 3 + n)
    assert np.abs(np.abs(qdd) - abs(expected)).max() < 1e-12
    assert qdd[0] * np.sin(q[0]) > 0.0  # away from the upright


def test_a_slider_crank_moves_as_its_formula_tells():
    """x = r cos a + sqrt(rod^2 - (r sin a - e)^2)."""
    r, rod, e = 0.1, 0.25, 0.03
    mechanism = kt.zoo.slider_crank(r, rod, e)
    angle = np.linspace(0.0, 2.0 * np.pi, 40)[:, None]
    motion = kt.loops.dependent_motion(mechanism, ["crank_joint"], angle, q0=np.zeros(3))
    x = r * np.cos(angle[:, 0]) + np.sqrt(rod**2 - (r * np.sin(angle[:, 0]) - e) ** 2)
    assert np.abs(motion.q[:, 2] - (x - x[0])).max() < 1e-13


def test_a_scissor_lift_needs_the_same_work_at_its_foot_as_its_parts_rise():
    """Holding torque by virtual work: dV / d angle of all parts, from their heights alone."""
    n, bar = 3, 0.8
    mechanism = kt.zoo.scissor_lift(n, bar)
    zero = np.zeros(mechanism.n_dof)
    tau, _ = kt.loops.inverse_dynamics(mechanism, zero, zero, zero)
    angle = np.pi / 4
    bars = (
        sum(2 * 2.0 * (k + 0.5) for k in range(n)) + 20.0 * n
    )  # kg times heights in units of bar sin(angle)
    assert abs(tau[0] - 9.81 * bars * bar * np.cos(angle)) < 1e-11


def test_legs_of_a_stewart_platform_carry_it():
    """Statics: the vertical parts of the leg forces carry the weight of plate and upper legs along them."""
    mechanism = kt.zoo.stewart()
    zero = np.zeros(mechanism.n_dof)
    tau, forces = kt.loops.inverse_dynamics(mechanism, zero, zero, zero)
    assert forces.determined.all()
    pistons = tau[mechanism.driven]
    assert np.ptp(pistons) < 1e-12  # by symmetry
    lifted = forces.wrench[:, :3].sum(axis=0)  # on the plate, by the legs
    assert np.abs(lifted - [0.0, 0.0, 2.0 * 9.81]).max() < 1e-12


def test_a_delta_plate_keeps_its_orientation():
    mechanism = kt.zoo.delta()
    names = ["shoulder1", "shoulder2", "shoulder3"]
    way = np.linspace(0.0, 1.0, 12)[:, None] * np.array([0.4, -0.3, 0.2])
    motion = kt.loops.dependent_motion(mechanism, names, way, q0=np.zeros(mechanism.n_dof))
    turned = kt.forward_kinematics(mechanism, motion.q)["plate"][0]
    assert np.abs(turned - np.eye(3)).max() < 1e-12


@each(
    ("make", "words"),
    [
        (lambda: kt.zoo.slider_crank(0.1, 0.2, 0.2), "offset must be less than the rod"),
        (lambda: kt.zoo.slider_crank(-0.1), "crank must be positive"),
        (lambda: kt.zoo.five_bar(base=3.0), "do not meet over a distance of"),
        (lambda: kt.zoo.n_four_bar(0), "n must be an integer from 1"),
        (lambda: kt.zoo.n_four_bar(True), "n must be an integer from 1"),
        (lambda: kt.zoo.scissor_lift(2.5), "n must be an integer from 1"),
        (lambda: kt.zoo.delta(rod=0.1), "rods of 0.1 m are too short"),
        (lambda: kt.zoo.stewart(height=float("nan")), "height"),
    ],
)
def test_impossible_sizes_are_refused(make, words):
    with pytest.raises(kt.KinetreeError, match=words):
        make()


def test_the_walker_is_made_of_jansens_legs():
    """Two mirrored legs, one crank and the trunk; toes where those of a single leg are."""
    leg, walker = kt.zoo.jansen_leg(0.005), kt.zoo.jansen_walker(1, 0.005)
    crank = 0.005 * 15.0
    assert walker.mass == pytest.approx(2.0 + crank + 2.0 * (leg.mass - crank))
    assert np.abs(kt.loops.gap(walker, np.zeros(walker.n_dof))).max() < 1e-14

    def toes(mechanism):
        poses = kt.forward_kinematics(mechanism, np.zeros(mechanism.n_dof))
        return [poses[x.body][0] @ x.position + poses[x.body][1] for x in mechanism.contact_points]

    (toe,), (left, right) = toes(leg), toes(walker)
    assert np.allclose(left, toe, atol=1e-14)
    assert right[0] > 0.0 > left[0]
