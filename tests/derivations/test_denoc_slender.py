"""DeNOC for bent slender links ([Mohan2007]): against kernels, reference data, the general DeNOC, and
misprints."""

import numpy as np
import pytest
import sympy

import kinetree as kt
from kinetree.derivations import denoc
from kinetree.derivations.denoc import slender as denoc_slender
from kinetree.derivations.denoc.matrices import denoc_matrices
from kinetree.derivations.denoc.slender import SlenderArm
from support.cases import assert_close
from support.each import each
from support.reference import read

GRAVITY = {"-9.81z": (0.0, 0.0, -9.81), "0": (0.0, 0.0, 0.0)}


def random_arm(rng, n):
    """Rods bent any way, with payloads and hubs; some have no mass, some no length."""
    mass, a, b = rng.uniform(1, 2, n), rng.uniform(0, 0.5, n), rng.uniform(-0.4, 0.5, n)
    if n > 2:
        mass[1] = a[1] = b[1] = 0.0
        a[2] = 0.0
    hub = rng.uniform(0.01, 0.1, n)
    return SlenderArm(mass, a, b, rng.uniform(-3, 3, n), rng.uniform(0, 1, n), hub, rng.uniform(-9, 9, 3))


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_random_arms_agree_with_the_kernels(n, rng):
    arm = random_arm(rng, n)
    robot = arm.mechanism()
    q, qd, qdd = rng.uniform(-3, 3, (3, n))
    tau = kt.inverse_dynamics(robot, q, qd, qdd)
    assert_close(denoc_slender.inverse_dynamics(arm, q, qd, qdd), tau, 1e-12)
    assert_close(denoc_slender.mass_matrix(arm, q), kt.mass_matrix(robot, q), 1e-12)
    assert_close(denoc_slender.forward_dynamics(arm, q, qd, tau), qdd, 1e-10)
    assert_close(
        denoc_slender.forward_dynamics(arm, q, qd, tau), kt.forward_dynamics(robot, q, qd, tau), 1e-10
    )
    phi = tau - kt.bias_torque(robot, q, qd)
    assert_close(denoc_slender.accelerations(arm, q, phi), qdd, 1e-10)
    assert_close(denoc.accelerations(robot.tree, q, phi), qdd, 1e-10)


def sliding_arm(rng, n, prismatic):
    """Rods of which some slide on rails."""
    lengths = rng.uniform(0.05, 0.5, n), rng.uniform(-0.4, 0.5, n)
    rest = rng.uniform(-3, 3, n), rng.uniform(0.1, 1, n), rng.uniform(0.01, 0.1, n), rng.uniform(-9, 9, 3)
    return SlenderArm(rng.uniform(1, 2, n), *lengths, *rest, prismatic=prismatic, theta=rng.uniform(-3, 3, n))


@pytest.mark.parametrize(
    "prismatic",
    [[True], [True, False], [False, True], [True, True, False], [False, True, True, False, True]],
    ids=str,
)
def test_prismatic_joints_agree_with_the_kernels(rng, prismatic):
    """[Mohan2007], eq. 11a."""
    n = len(prismatic)
    arm = sliding_arm(rng, n, prismatic)
    robot = arm.mechanism()
    q, qd, qdd = rng.uniform(-1.5, 1.5, (3, n))
    tau = kt.inverse_dynamics(robot, q, qd, qdd)
    assert_close(denoc_slender.inverse_dynamics(arm, q, qd, qdd), tau, 1e-12)
    assert_close(denoc_slender.mass_matrix(arm, q), kt.mass_matrix(robot, q), 1e-12)
    assert_close(denoc_slender.forward_dynamics(arm, q, qd, tau), qdd, 1e-10)
    assert_close(denoc_slender.accelerations(arm, q, tau - kt.bias_torque(robot, q, qd)), qdd, 1e-10)


def test_the_kinetic_energy_of_a_prismatic_rod_is_the_integral_of_equation_11a(rng):
    """A revolute joint that carries a rail: elements of the rail do not move with the slide, others do."""
    arm = sliding_arm(rng, 2, [False, True])
    (theta, b), (rate, b_rate) = q, qd = rng.uniform(0.2, 1.0, (2, 2))
    c, s = np.cos(theta), np.sin(theta)
    z1, x2 = np.array([0, 0, 1.0]), np.array([c, s, 0])
    o2, w = arm.a[0] * x2 + arm.b[0] * z1, rate * z1
    Q = np.array(
        [[c, -s * np.cos(arm.alpha[0]), s * np.sin(arm.alpha[0])],
         [s, c * np.cos(arm.alpha[0]), -c * np.sin(arm.alpha[0])],
         [0, np.sin(arm.alpha[0]), np.cos(arm.alpha[0])]]
    )  # fmt: skip
    z2, x3 = Q[:, 2], Q @ [np.cos(arm.theta[1]), np.sin(arm.theta[1]), 0]
    v2 = np.cross(w, o2)
    nodes, weights = np.polynomial.legendre.leggauss(4)

    def along(length, place, extra):
        """Half the integral of the squared speed of elements, per mass and length."""
        points = (nodes + 1) / 2 * length
        speeds = [v2 + np.cross(w, place(x)) + extra for x in points]
        return 0.5 * abs(length) * sum(k / 2 * v @ v for k, v in zip(weights, speeds, strict=True))

    rho = arm.mass[1] / (abs(arm.a[1]) + abs(arm.b[1]))
    slide = b_rate * z2
    energy = rho * along(arm.b[1], lambda x: x * z2, 0.0)
    energy += rho * along(arm.a[1], lambda x: b * z2 + x * x3, slide)
    tip = v2 + np.cross(w, b * z2 + arm.a[1] * x3) + slide
    energy += 0.5 * arm.payload[1] * tip @ tip + 0.5 * arm.hub[1] * (w @ z2) ** 2
    first = SlenderArm(*(x[:1] for x in (arm.mass, arm.a, arm.b, arm.alpha, arm.payload, arm.hub)))
    energy += 0.5 * rate**2 * denoc_slender.mass_matrix(first, q[:1])[0, 0]
    assert energy == pytest.approx(0.5 * qd @ denoc_slender.mass_matrix(arm, q) @ qd, rel=1e-12)


def test_puma_is_that_of_the_zoo():
    assert SlenderArm.puma().mechanism("puma") == kt.zoo.puma()


@pytest.mark.parametrize("state", read("puma_slender.json")["states"], ids=range(4))
def test_puma_reference_states(state):
    arm = SlenderArm.puma(GRAVITY[state["gravity"]])
    q, qd, qdd, tau = (np.array(state[key]) for key in ("q", "qd", "qdd", "tau_fd"))
    rest = np.zeros(6)
    assert_close(denoc_slender.inverse_dynamics(arm, q, qd, qdd), state["tau"], 1e-9)
    assert_close(denoc_slender.inverse_dynamics(arm, q, qd, rest), state["bias"], 1e-9)
    assert_close(denoc_slender.mass_matrix(arm, q), state["GIM"], 1e-9)
    assert_close(denoc_slender.forward_dynamics(arm, q, qd, tau), state["qdd_fd"], 1e-9)


def test_puma_follows_the_torques_of_its_trajectory():
    """[Mohan2007], eq. 38 and Fig. 4: all joints move by pi in 10 s."""
    for case in read("puma_slender.json")["inverse_dynamics"]:
        arm = SlenderArm.puma(GRAVITY[case["gravity"]])
        for k, tau in enumerate(case["tau"]):
            q, qd, qdd = (np.full(6, case[key][k]) for key in ("q", "qd", "qdd"))
            assert_close(denoc_slender.inverse_dynamics(arm, q, qd, qdd), tau, 1e-9)
            assert_close(denoc_slender.forward_dynamics(arm, q, qd, np.array(tau)), qdd, 1e-9)


def test_link_mass_matrices_of_puma():
    """Step 3; link 2 fails with the printed C_5 = rho a^2 b."""
    records = read("puma_slender.json")["link_mass_matrices"]
    arm = SlenderArm.puma()
    found = denoc_slender.link_mass_matrices(arm, np.array([record["theta"] for record in records]))
    for record, M in zip(records, found, strict=True):
        M = M.articulated
        J, F, G = (np.array([[x.value for x in row] for row in part]) for part in M)
        assert_close(np.block([[G, F], [F.T, J]]), record["M_vw_order_frame_i"], 1e-12)
    printed = 15.7612 / (0.432 + 0.149) * 0.432**2 * 0.149
    assert printed == pytest.approx(2 * arm.links[1].C_5.value)


def test_the_force_of_psi_has_three_components(rng):
    """Steps 8 and 13 of [Mohan2007] leave out the one along the axis: it vanishes for a single rod only."""
    robot = random_arm(rng, 4).mechanism()
    d = denoc_matrices(robot, rng.uniform(-3, 3, 4), "axes")
    along = [d.Psi(i + 1)[3:, 0] @ d.p(i)[:3] for i in range(4)]
    assert abs(along[3]) < 1e-14
    assert min(abs(x) for x in along[:3]) > 1e-3


def test_the_rod_integrals_of_equation_17():
    """M_i from its definition, integrated along the two rods."""
    a, b, m, payload, hub = sympy.symbols("a b m m_p I_h", positive=True)
    s = sympy.symbols("s")

    def element(r):
        r = sympy.Matrix(r)
        return (r.dot(r) * sympy.eye(3) - r * r.T).applyfunc(sympy.expand), r

    rho = m / (a + b)
    parts = [
        [rho * sympy.integrate(x, (s, 0, length)) for x in element(r)]
        for r, length in (([0, 0, s], b), ([s, 0, b], a))
    ]
    tip = element([a, 0, b])
    J = parts[0][0] + parts[1][0] + payload * tip[0] + sympy.diag(0, 0, hub)
    h = parts[0][1] + parts[1][1] + payload * tip[1]
    numbers = {a: 0.4, b: 0.3, m: 2.0, payload: 0.7, hub: 0.05}
    arm = SlenderArm(*(np.array([numbers[x]]) for x in (m, a, b)), np.array([0.5]), 0.7, 0.05)
    (M,) = denoc_slender.link_mass_matrices(arm, np.array([0.0]))
    assert_close([[x.value for x in row] for row in M.J], np.array(J.subs(numbers), float), 1e-14)
    assert_close([-x.value for x in M.rho], np.array(h.subs(numbers), float).ravel(), 1e-14)


def test_complex_steps_and_symbols(rng):
    arm = random_arm(rng, 4)
    robot = arm.mechanism()
    q, qd, tau = rng.uniform(-3, 3, (3, 4))
    moved = q.astype(complex)
    moved[2] += 1e-30j
    slope = denoc_slender.forward_dynamics(arm, moved, qd, tau).imag / 1e-30
    assert_close(slope, kt.forward_dynamics_derivatives(robot, q, qd, tau).dqdd_dq[:, 2], 1e-9)
    angles = sympy.symbols("t1:5")
    entry = denoc_slender.mass_matrix(arm, np.array(angles, object))[0, 2]
    found = float(entry.subs(dict(zip(angles, q, strict=True))))
    assert found == pytest.approx(kt.mass_matrix(robot, q)[0, 2], abs=1e-12)


@each(
    ("changed", "message"),
    [
        ({"mass": [1.0, -1.0]}, r"mass must be >= 0, got \[1.0, -1.0\]"),
        ({"a": [0.1, 0.2, 0.3]}, r"a must have one number per link \(2\), got shape \(3,\)"),
        ({"alpha": [0.1, np.nan]}, r"alpha must be finite"),
        ({"hub": [0.0, -0.1]}, r"hub must be >= 0"),
        ({"a": [0.1, 0.0], "b": [0.1, 0.0]}, r"link 2 has a rod of mass 2 kg, but a = b = 0"),
        ({"gravity": [0.0, 1.0]}, r"gravity must be a vector of 3 numbers"),
        ({"b": "long"}, r"b must be real numbers"),
        ({"mass": []}, r"mass must have one number per link \(0\)"),
        ({"prismatic": [True]}, r"prismatic must be true or false for each of 2 joints, got \[True\]"),
        ({"prismatic": "first"}, r"prismatic must be true or false for each of 2 joints, got 'first'"),
        ({"theta": [0.0, np.inf]}, r"theta must be finite"),
    ],
)
def test_tables_that_are_no_arm_are_refused(changed, message):
    table = {"mass": [1.0, 2.0], "a": [0.3, 0.2], "b": [0.1, 0.1], "alpha": [0.0, 1.0]}
    with pytest.raises(kt.errors.ModelError, match=message):
        SlenderArm(**(table | changed))


def test_a_tip_without_inertia_is_named():
    arm = SlenderArm([1.0, 0.0], [0.3, 0.0], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(kt.errors.SingularityError, match=r"joint 'joint2' moves no inertia"):
        denoc_slender.forward_dynamics(arm, np.zeros(2), np.zeros(2), np.zeros(2))
