"""Mechanisms whose equations of motion stand in every textbook."""

import numpy as np
import pytest
from scipy.special import ellipk

import kinetree as kt
from support.cases import assert_close

G = 9.81


def test_physical_pendulum(rng):
    """I qdd + m g l cos(q) = tau for a rod lifted from the horizontal; m l^2 / 3 about its end."""
    m, length = 1.7, 0.9
    robot = kt.Builder("pendulum")
    robot.world.revolute("hinge", axis="-y").body("rod", kt.Inertia.rod(m, (length, 0, 0)))
    pendulum = robot.build()
    q, qd, qdd = rng.uniform(-3, 3, (3, 5, 1))
    inertia, weight = m * length**2 / 3, m * G * length / 2
    assert_close(kt.inverse_dynamics(pendulum, q, qd, qdd), inertia * qdd + weight * np.cos(q))
    assert_close(kt.forward_dynamics(pendulum, q, qd, qdd), (qdd - weight * np.cos(q)) / inertia)
    assert_close(kt.potential_energy(pendulum, q), weight * np.sin(q[:, 0]))
    assert_close(kt.kinetic_energy(pendulum, q, qd), 0.5 * inertia * qd[:, 0] ** 2)


def test_period_of_a_large_swing():
    """T = 4 sqrt(l / g) K(sin^2(amplitude / 2)), integrated with 4th-order Runge-Kutta."""
    length, amplitude, steps = 0.8, 2.0, 200
    robot = kt.Builder("pendulum")
    robot.world.revolute("hinge", axis="-y").body("bob", kt.Inertia.point(2.0, (0, 0, -length)))
    pendulum = robot.build()
    period = 4 * np.sqrt(length / G) * ellipk(np.sin(amplitude / 2) ** 2)

    def rates(x):
        return np.array([x[1], kt.forward_dynamics(pendulum, x[:1], x[1:], np.zeros(1))[0]])

    x, h = np.array([amplitude, 0.0]), period / 4 / steps
    for _ in range(steps):
        a = rates(x)
        b = rates(x + h / 2 * a)
        c = rates(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + rates(x + h * c))
    assert abs(x[0]) < 1e-8


def test_block_on_an_incline():
    """A slider down a slope s: m (qdd - g sin(s)) + friction; the slope carries m g cos(s)."""
    m, slope, viscous, coulomb = 3.0, 0.5, 0.7, 1.1
    robot = kt.Builder("incline")
    down = robot.world.prismatic("slide", rpy=(0, slope, 0), axis="x", viscous=viscous, coulomb=coulomb)
    down.body("block", kt.Inertia.box(m, (0.1, 0.2, 0.3)))
    block = robot.build()
    tau = kt.inverse_dynamics(block, [0.4], [-2.0], [1.5])
    assert_close(tau, [m * (1.5 - G * np.sin(slope)) - 2.0 * viscous - coulomb])
    assert_close(kt.joint_reactions(block, [0.4], [-2.0], [1.5])[0, 2], m * G * np.cos(slope))
    resting = kt.inverse_dynamics(block, [0.4], [0.0], [0.0])
    assert_close(resting, [-m * G * np.sin(slope)])  # Coulomb friction is zero at rest


def test_mass_on_a_spring():
    robot = kt.Builder("spring", gravity=(0, 0, 0))
    robot.world.prismatic("slide", stiffness=50.0, rest=0.2, armature=0.5).body("mass", kt.Inertia.point(2.0))
    mass = robot.build()
    assert_close(kt.forward_dynamics(mass, [0.5], [1.0], [4.0]), [(4.0 - 50.0 * 0.3) / 2.5])
    assert_close(kt.potential_energy(mass, [0.5]), 0.5 * 50.0 * 0.3**2)
    assert_close(kt.kinetic_energy(mass, [0.5], [1.0]), 0.5 * 2.5)
    assert_close(kt.mass_matrix(mass, [0.5]), [[2.5]])
    assert_close(kt.gravity_torque(mass, [0.5]), [0.0])


def test_projectile(rng):
    """A free body: its center falls with g whatever it turns like; without moment its spin keeps L."""
    robot = kt.Builder("stone")
    inertia = kt.Inertia(2.0, (0.1, -0.2, 0.3), (0.02, 0.03, 0.04))
    robot.world.free("base", sequence="ZYX").body("stone", inertia)
    stone = robot.build()
    q, qd = rng.uniform(-1, 1, (2, 6))
    qdd = kt.forward_dynamics(stone, q, qd, np.zeros(6))
    R = kt.forward_kinematics(stone, q).rotation[0]
    v, a = kt.body_velocities(stone, q, qd)[0], kt.analysis.body_accelerations(stone, q, qd, qdd)[0]
    r, w, wd = R @ inertia.center, v[3:], a[3:]
    assert_close(a[:3] + np.cross(wd, r) + np.cross(w, np.cross(w, r)), [0, 0, -G], 1e-11)
    moment = R @ inertia.moment @ R.T
    assert_close(moment @ wd, -np.cross(w, moment @ w), 1e-11)


def test_steady_precession_of_a_top():
    """m g l = (C (psid + phid cos(th)) - A phid cos(th)) phid keeps the nutation th steady."""
    m, length, A, C = 1.2, 0.3, 0.15, 0.02  # A about the tip, across
    th, phid = 0.6, 1.1
    psid = (m * G * length / phid + A * phid * np.cos(th)) / C - phid * np.cos(th)
    across = A - m * length**2
    robot = kt.Builder("top")
    robot.world.spherical("tip", sequence="ZXZ").body(
        "top", kt.Inertia(m, (0, 0, length), (across, across, C))
    )
    top = robot.build()
    q, qd = [0.4, th, 0.9], [phid, 0.0, psid]
    assert_close(kt.inverse_dynamics(top, q, qd, np.zeros(3)), np.zeros(3), 1e-13)
    assert_close(kt.forward_dynamics(top, q, qd, np.zeros(3)), np.zeros(3), 1e-10)
    assert_close(
        kt.momentum(top, q, qd)[5], A * np.sin(th) ** 2 * phid + C * (psid + phid * np.cos(th)) * np.cos(th)
    )


def test_cart_and_pole(rng):
    """(M + m) xdd + m l (thdd cos - thd^2 sin) = F; m l cos xdd + m l^2 thdd - m g l sin = 0."""
    M, m, length = 2.0, 0.3, 0.7
    robot = kt.Builder("cart-pole")
    cart = robot.world.prismatic("x", axis="x").body("cart", kt.Inertia.box(M, (0.2, 0.1, 0.1)))
    cart.revolute("th", axis="y").body("pole", kt.Inertia.point(m, (0, 0, length)))
    system = robot.build()
    (x, th), (xd, thd), (xdd, thdd) = rng.uniform(-1, 1, (3, 2))
    force = (M + m) * xdd + m * length * (thdd * np.cos(th) - thd**2 * np.sin(th))
    torque = m * length * np.cos(th) * xdd + m * length**2 * thdd - m * G * length * np.sin(th)
    assert_close(kt.inverse_dynamics(system, [x, th], [xd, thd], [xdd, thdd]), [force, torque])
    assert_close(kt.forward_dynamics(system, [x, th], [xd, thd], [force, torque]), [xdd, thdd])


def test_mass_on_a_turning_table(rng):
    """r thdd + 2 rd thd across and rdd - r thd^2 along: the Coriolis force of a slider on a turntable."""
    m, inertia = 0.8, 0.5
    robot = kt.Builder("table", gravity=(0, 0, 0))
    table = robot.world.revolute("turn").body(
        "table", kt.Inertia(0.0, moment=(0, 0, inertia), allow_unphysical=True)
    )
    table.prismatic("slide", axis="x").body("mass", kt.Inertia.point(m))
    (th, r), (thd, rd), (thdd, rdd) = rng.uniform(-2, 2, (3, 2))
    tau = kt.inverse_dynamics(robot.build(), [th, r], [thd, rd], [thdd, rdd])
    assert_close(tau, [(inertia + m * r**2) * thdd + 2 * m * r * rd * thd, m * (rdd - r * thd**2)])


def test_screw_motion_of_a_cylindrical_joint(rng):
    m, inertia = 1.5, 0.2
    robot = kt.Builder("piston", gravity=(0, 0, -G))
    robot.world.cylindrical("bore").body("piston", kt.Inertia(m, (0, 0, 0.1), (inertia, inertia, inertia)))
    q, qd, qdd = rng.uniform(-2, 2, (3, 2))
    assert_close(kt.inverse_dynamics(robot.build(), q, qd, qdd), [inertia * qdd[0], m * (qdd[1] + G)])


def test_puck_on_a_plane(rng):
    """x and y slide in the fixed frame, then the angle turns: no coupling if the center is the origin."""
    m, inertia = 0.4, 0.05
    robot = kt.Builder("puck")
    robot.world.planar("ice").body("puck", kt.Inertia(m, moment=(inertia, inertia, inertia)))
    q, qd, qdd = rng.uniform(-2, 2, (3, 3))
    puck = robot.build()
    assert_close(kt.inverse_dynamics(puck, q, qd, qdd), [m * qdd[0], m * qdd[1], inertia * qdd[2]])
    assert_close(kt.joint_reactions(puck, q, qd, qdd)[0, 2], m * G)
    assert_close(kt.forward_kinematics(puck, q).position[0], [q[0], q[1], 0.0])


def test_universal_joint_turns_about_the_first_axis_first():
    robot = kt.Builder("u")
    robot.world.universal("u", sequence="XZ").body("b")
    R = kt.forward_kinematics(robot.build(), [np.pi / 2, np.pi / 2]).rotation[0]
    assert_close(R, [[0, -1, 0], [0, 0, -1], [1, 0, 0]])


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_hanging_chain_needs_no_torque(n):
    robot = kt.Builder("chain")
    body = robot.world
    for k in range(n):
        at = (0, 0, -0.2) if k else (0, 0, 0)
        body = body.universal(f"joint{k}", at=at).body(f"link{k}", kt.Inertia.rod(0.1, (0, 0, -0.2)))
    chain = robot.build()
    zero = np.zeros(chain.n_dof)
    assert_close(kt.inverse_dynamics(chain, zero, zero, zero), zero)
    pull = kt.joint_reactions(chain, zero, zero, zero)
    assert_close(pull[:, 2], 0.1 * G * np.arange(n, 0, -1))
