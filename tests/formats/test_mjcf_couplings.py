"""Polynomial equalities, damping of free and ball joints and height fields of MJCF files, beside MuJoCo."""

import mujoco
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import kinetree as kt
from kinetree.analysis.derivative_check import check_derivatives
from kinetree.model.height_field import HeightField

CAM = """
<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default>
<option gravity="0 0 -9.81"/><worldbody>
<body name="crank" pos="0 0 1"><joint name="crank" axis="0 1 0" damping="0.02" ref="0.2"/>
 <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="0.6"/>
 <body name="cam" pos=".3 0 0"><joint name="cam" axis="0 1 0" armature="0.01" damping="0.05" ref="-0.1"/>
  <geom type="capsule" fromto="0 0 0 .2 0 .1" size=".02" mass="0.4"/></body></body>
<body name="rider" pos="0 .5 1"><joint name="rider" type="slide" axis="0 0 1" stiffness="30" springref="0.1"/>
 <geom size=".05" mass="0.3"/></body>
</worldbody><equality>
<joint joint1="cam" joint2="crank" polycoef="0.1 0.5 0.4 -0.2 0.1"/>
<joint joint1="rider" joint2="crank" polycoef="0 0.1 0.2"/>
</equality></mujoco>
"""
BALLS = """
<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="trunk" pos="0 0 1"><joint name="base" type="free" damping="0.7" armature="0.3"/>
 <geom type="box" size=".2 .1 .05" mass="2"/>
 <body name="leg" pos=".2 0 0"><joint name="hip" type="ball" damping="0.4"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="0.5"/>
  <body name="foot" pos="0 0 -.3"><joint name="ankle" axis="0 1 0" damping="0.1"/>
   <geom size=".04" mass="0.2" pos=".1 0 0"/></body></body></body>
</worldbody></mujoco>
"""


def reduced(model, y, yd):
    """ydd of the crank by MuJoCo's M and bias, and the polynomials: G^T M G ydd = G^T (f - M c)."""
    d = mujoco.MjData(model)
    q, G, c = np.zeros(3), np.zeros(3), np.zeros(3)
    x = np.polynomial.Polynomial([0.0, 1.0])
    polynomials = [x, *(np.polynomial.Polynomial(model.eq_data[e][:5])(x - 0.2) for e in (0, 1))]
    polynomials[1] = polynomials[1] - 0.1
    for k, p in enumerate(polynomials):
        q[k], G[k], c[k] = p(y), p.deriv()(y), p.deriv(2)(y) * yd**2
    d.qpos[:], d.qvel[:] = q, G * yd
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    mujoco.mj_forward(model, d)
    M = np.zeros((3, 3))
    mujoco.mj_fullM(model, d, M)
    force = d.qfrc_passive - d.qfrc_bias
    return G @ (force - M @ c) / (G @ M @ G), q, G, M


def test_polynomial_equalities_have_the_reduced_dynamics_of_mujoco():
    robot, model = _loaded(CAM)
    assert robot.joint_names == ("crank",)
    for y, yd in ((0.3, 1.5), (-0.8, -2.0), (1.1, 0.7)):
        expected, _, G, M = reduced(model, y, yd)
        assert kt.forward_dynamics(robot, [y], [yd], [0.0])[0] == pytest.approx(expected, rel=1e-12)
        assert kt.mass_matrix(robot, [y])[0, 0] == pytest.approx(G @ M @ G, rel=1e-12)
        assert kt.inverse_dynamics(robot, [y], [yd], [expected])[0] == pytest.approx(0.0, abs=1e-12)
        rate = (kt.potential_energy(robot, [y + 1e-6]) - kt.potential_energy(robot, [y - 1e-6])) / 2e-6
        held = kt.inverse_dynamics(robot, [y], [0.0], [0.0])[0]
        assert held == pytest.approx(rate, rel=1e-7)
        J = kt.jacobian(robot, [y], "cam", point=(0.1, 0, 0))
        twist = kt.body_velocities(robot, [y], [yd])[robot.body_index("rider")]
        assert twist[2] == pytest.approx(G[2] * yd, rel=1e-12)
        R, p = (
            np.array([kt.forward_kinematics(robot, [y + s])["cam"][k] for s in (1e-6, -1e-6)]) for k in (0, 1)
        )
        moved = p + R @ [0.1, 0.0, 0.0]
        assert J[:3, 0] == pytest.approx((moved[0] - moved[1]) / 2e-6, abs=1e-8)


def _loaded(text):
    from kinetree.formats.mjcf import mechanism_from_mjcf

    return mechanism_from_mjcf(text), mujoco.MjModel.from_xml_string(text)


def test_polynomial_equalities_move_as_the_reduced_equation_and_keep_their_energy():
    robot, model = _loaded(CAM)
    run = kt.simulate(robot, [0.3], [1.0], 1.0, rtol=1e-9, times=11)
    assert all(check.passed for check in run.audit.values())
    other = solve_ivp(
        lambda t, x: [x[1], reduced(model, x[0], x[1])[0]], (0.0, 1.0), [0.3, 1.0], rtol=1e-9, atol=1e-11
    )
    assert run.q.values[-1, 0] == pytest.approx(other.y[0, -1], abs=1e-7)


def test_polynomials_have_exact_derivatives_and_steps_take_linear_mimics_only():
    robot, _ = _loaded(CAM)
    assert all(check.passed for check in check_derivatives(robot, states=2))
    with pytest.raises(kt.errors.ModelError, match="joint 'cam' follows another by a function that is no"):
        kt.Stepper(robot, 0.001)


def test_polynomials_survive_toml_and_mjcf(tmp_path):
    robot, _ = _loaded(CAM)
    for name in ("cam.toml", "cam.xml"):
        kt.save(robot, tmp_path / name)
        again = kt.load(tmp_path / name)
        expected = kt.forward_dynamics(robot, [0.4], [1.0], [0.0])
        assert kt.forward_dynamics(again, [0.4], [1.0], [0.0]) == pytest.approx(expected, rel=1e-12)


def test_damping_and_armature_of_free_and_ball_joints_are_those_of_mujoco():
    robot, model = _loaded(BALLS)
    d = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, qd = 0.6 * rng.standard_normal((2, robot.n_dof))
        qpos, qvel = kt.coordinates_to(robot, "mujoco", q, qd, nq=model.nq)
        d.qpos[:], d.qvel[:] = qpos, qvel
        mujoco.mj_forward(model, d)
        qdd = kt.forward_dynamics(robot, q, qd, np.zeros(robot.n_dof))
        h = 1e-5
        rates = [
            kt.coordinates_to(robot, "mujoco", q + s * h * qd, qd + s * h * qdd, nq=model.nq)[1]
            for s in (1, -1)
        ]
        assert (rates[0] - rates[1]) / (2 * h) == pytest.approx(d.qacc, abs=1e-6 * np.abs(d.qacc).max())


def test_damping_of_a_free_joint_survives_mjcf_and_toml(tmp_path):
    robot, _ = _loaded(BALLS)
    q, qd = 0.3 * np.ones(robot.n_dof), np.linspace(-1, 1, robot.n_dof)
    expected = kt.forward_dynamics(robot, q, qd, 0 * q)
    kt.save(robot, tmp_path / "a.toml")
    assert kt.forward_dynamics(kt.load(tmp_path / "a.toml"), q, qd, 0 * q) == pytest.approx(
        expected, rel=1e-12
    )
    with pytest.warns(kt.KinetreeWarning, match=r"rotational dampers \(damping of hip\)"):
        kt.save(robot, tmp_path / "a.xml")
    assert 'type="free" armature="0.3" damping="0.7"' in (tmp_path / "a.xml").read_text()


FIELD = """
<mujoco><asset><hfield name="hills" nrow="3" ncol="4" size="2 1 0.5 0.1"
 elevation="0 0.1 0.2 0  0.3 1 0.5 0  0 0.2 0.4 0.6"/></asset><worldbody>
<geom type="hfield" hfield="hills" pos="0.5 0 0.1" euler="0 0 30" friction="0.8"/>
<body pos="0 0 2"><freejoint/><geom size="0.1" mass="1"/></body></worldbody></mujoco>
"""


def test_a_height_field_is_the_floor_and_survives_mjcf_and_toml(tmp_path):
    robot, model = _loaded(FIELD)
    floor = robot.floor
    assert floor.terrain is not None and floor.friction == pytest.approx(0.8)
    d = mujoco.MjData(model)
    mujoco.mj_forward(model, d)
    ground = kt.Ground.of(robot)
    x, y = np.linspace(-2, 2, 4), np.linspace(-1, 1, 3)
    R, p = d.geom_xmat[0].reshape(3, 3), d.geom_xpos[0]
    for i in range(4):
        for j in range(3):
            top = p + R @ [x[i], y[j], 0.0]
            height = ground.heights(robot, top)
            ray = mujoco.mj_ray(
                model,
                d,
                top + np.array([1e-6, 1e-6, 5.0]),
                np.array([0.0, 0, -1]),
                None,
                1,
                1,
                np.zeros(1, dtype=np.int32),
            )
            if 0 < i < 3 and j == 1:
                assert -height == pytest.approx(5.0 - ray, abs=1e-5)
            assert -height == pytest.approx(0.5 * model.hfield_data[j * 4 + i], abs=1e-7)
    for name in ("field.toml", "field.xml"):
        kt.save(robot, tmp_path / name)
        again = kt.Ground.of(kt.load(tmp_path / name))
        places = np.random.default_rng(0).uniform(-0.9, 0.9, (20, 3))
        assert again.heights(robot, places) == pytest.approx(ground.heights(robot, places), abs=1e-6)


def test_coarse_heights_are_mujocos_triangles_within_2_mm():
    """By rays at random places; a spline through the file's 12 heights would be 7 cm off."""
    robot, model = _loaded(FIELD)
    d, rng = mujoco.MjData(model), np.random.default_rng(3)
    mujoco.mj_forward(model, d)
    places = rng.uniform([-2, -1, 0], [2, 1, 0], (300, 3))
    top = d.geom_xpos[0] + places @ d.geom_xmat[0].reshape(3, 3).T + np.array([0.0, 0.0, 1.0])
    down, hit = np.array([0.0, 0.0, -1.0]), np.zeros(1, dtype=np.int32)
    expected = [1.0 - mujoco.mj_ray(model, d, x, down, None, 1, 1, hit) for x in top]
    own = robot.floor.terrain.at(places[:, 0], places[:, 1])
    assert own == pytest.approx(np.array(expected), abs=2e-3)
    few = HeightField(0.5 * model.hfield_data.reshape(3, 4).T, (-2, 2), (-1, 1))
    assert np.abs(few.at(places[:, 0], places[:, 1]) - expected).max() > 0.05


def test_heights_that_jump_too_often_are_said_to_be_rounded():
    rng = np.random.default_rng(0)
    given = " ".join(f"{h:.3f}" for h in rng.uniform(0, 1, 150 * 150))
    start, end = FIELD.index('nrow="3"'), FIELD.index("/></asset>")
    text = FIELD[:start] + f'nrow="150" ncol="150" size="2 1 0.05 0.1" elevation="{given}"' + FIELD[end:]
    with pytest.warns(kt.KinetreeWarning, match=r"triangles of height field 'hills'.* up to 0\.0\d+ m off"):
        _loaded(text)


def test_a_ball_rests_on_a_height_field_where_mujoco_has_it():
    """In a valley with a fine grid: at its lowest place, by MuJoCo's triangles and by the spline."""
    x, y = np.linspace(-2, 2, 41), np.linspace(-1, 1, 21)
    heights = 0.25 * x[None, :] ** 2 * (1.0 + 0.0 * y[:, None]) / 1.0
    given = " ".join(f"{h:.9g}" for h in heights.ravel())
    start, end = FIELD.index('nrow="3"'), FIELD.index("/></asset>")
    text = FIELD[:start] + f'nrow="21" ncol="41" size="2 1 1 0.1" elevation="{given}"' + FIELD[end:]
    robot, model = _loaded(text.replace('euler="0 0 30"', ""))
    d = mujoco.MjData(model)
    d.qpos[:3] = 0.5, 0.0, 0.25
    for _ in range(1000):
        mujoco.mj_step(model, d)
    run = kt.simulate(
        robot, [0.5, 0.0, 0.25 - 2.0, 0, 0, 0], None, 1.0, ground=kt.Ground.of(robot), rtol=1e-6
    )
    assert run.q.values[-1, 2] + 2.0 == pytest.approx(d.qpos[2], abs=4e-3)
    assert run.contact_force.values[-1].sum(axis=0)[2] == pytest.approx(9.81, rel=0.01)


@pytest.mark.parametrize(("numbers", "mixed"), [("0.2 1", 0.11), ("0.05 1", 0.035), ("-300 -20", -300.0)])
def test_softness_by_solref_is_listed(numbers, mixed, recwarn):
    """Time constants of both geoms are mixed, and loops that would give way are rigid here."""
    text = f"""<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="b" pos="0 0 0.09"><freejoint/>
    <geom name="foot" size="0.1" solref="{numbers}"/></body></worldbody>
    <equality><connect name="rope" body1="b" anchor="0 0 1" solref="{numbers}"/></equality></mujoco>"""
    _, model = _loaded(text)
    d = mujoco.MjData(model)
    mujoco.mj_forward(model, d)
    assert d.contact[0].solref[0] == pytest.approx(mixed)
    said = "\n".join(str(x.message) for x in recwarn)
    assert ("softness of contacts by solref (foot)" in said) == (mixed > 0.04 or mixed < 0)
    assert "softness of equalities by solref (connect 'rope')" in said


@pytest.mark.parametrize(("numbers", "soft"), [("0.02 1", False), ("0.3 1", True), ("-50 -5", True)])
def test_softness_of_joint_limits_is_listed(numbers, soft, recwarn):
    """MuJoCo lets a weight of 1 kg at 1 m hang 20 times lower or more beyond a soft limit."""
    text = f"""<mujoco><compiler angle="radian"/><worldbody><body>
    <joint name="hinge" axis="0 1 0" range="-0.1 0.1" limited="true" solreflimit="{numbers}" damping="1"/>
    <geom pos="1 0 0" size="0.05" mass="1"/></body></worldbody></mujoco>"""
    _, model = _loaded(text)
    d = mujoco.MjData(model)
    for _ in range(2000):
        mujoco.mj_step(model, d)
    assert (d.qpos[0] - 0.1 > 5e-3) == soft  # rad; 4e-4 by default
    said = "\n".join(str(x.message) for x in recwarn)
    assert ("softness of the limit by solreflimit of hinge joint 'hinge'" in said) == soft


@pytest.mark.parametrize(("numbers", "mixed"), [("0.015 1 0.036", 0.4575), ("0.3 0.95 0.001", 0.6)])
def test_contacts_that_the_file_makes_soft_are_listed(numbers, mixed, recwarn):
    """The numbers of both geoms are mixed; a foot with the first sinks in by a centimeter in MuJoCo."""
    text = f"""<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 0.09"><freejoint/>
    <geom name="foot" size="0.1" solimp="{numbers}"/></body></worldbody></mujoco>"""
    _, model = _loaded(text)
    d = mujoco.MjData(model)
    mujoco.mj_forward(model, d)
    assert d.contact[0].solimp[0] == pytest.approx(mixed)
    said = [str(x.message) for x in recwarn if "softness of contacts by solimp (foot)" in str(x.message)]
    assert len(said) == (mixed < 0.5)


FINGER = """
<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="a" pos="0 0 1"><joint name="a" axis="0 1 0" damping="0.02"/>
 <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="0.6"/>
 <body name="b" pos=".3 0 0"><joint name="b" axis="0 1 0" armature="0.01" stiffness="2" springref=".1"/>
  <geom type="capsule" fromto="0 0 0 .2 0 .1" size=".02" mass="0.4"/>
  <body name="c" pos=".2 0 .1"><joint name="c" axis="1 1 0" ref="0.2"/>
   <geom type="capsule" fromto="0 0 0 .2 0 .1" size=".02" mass="0.4"/>
   <body name="w" pos=".2 0 .1"><joint name="w" {wrist}/>
    <geom type="box" size=".1 .05 .02" pos=".1 0 0" mass="0.4"/></body></body></body></body></worldbody>
<tendon>
 <fixed name="t" stiffness="7" damping=".3" springlength=".2" armature=".05">
  <joint joint="a" coef=".5"/><joint joint="b" coef="-.7"/><joint joint="c" coef=".3"/></fixed>
 <fixed name="u" stiffness="3" damping=".2" springlength=".1" armature=".02" frictionloss="0" range="-2 1">
  <joint joint="b" coef="-.7"/></fixed>
 <fixed name="e">
  <joint joint="a" coef=".5"/><joint joint="b" coef="1"/><joint joint="c" coef="-.3"/></fixed>
 {tendons}
</tendon>{equality}</mujoco>
"""
TIE = '<equality><tendon tendon1="e" polycoef="0.1 0 0 0 0"/></equality>'
BALL = 'type="ball" armature="0.02" damping=".01"'


def _accelerations(robot, q, qd, qdd):
    """Accelerations as MuJoCo has them, by differences of its velocities along the motion."""
    h = 1e-5
    ends = [kt.coordinates_to(robot, "mujoco", q + s * qd + s * s / 2 * qdd, qd + s * qdd) for s in (h, -h)]
    return (ends[0][1] - ends[1][1]) / (2 * h)


@pytest.mark.parametrize("equality", ["", TIE])
def test_fixed_tendons_of_three_joints_and_the_armature_of_a_ball_agree_with_mujoco(equality, recwarn):
    """Springs, dampers and armature of tendons, their equality by MuJoCo's M and a multiplier."""
    robot, model = _loaded(FINGER.format(wrist=BALL, tendons="", equality=equality))
    assert not recwarn.list
    assert robot.joint_names == (*"abc"[: 2 if equality else 3], "w.ry", "w.rx", "w.rz")
    assert robot.links[1].joint.lower[0] == pytest.approx(-1 / 0.7)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    d, M, rng = mujoco.MjData(model), np.zeros((6, 6)), np.random.default_rng(1)
    rows = np.array([[0.5, 1, -0.3, 0, 0, 0]]) if equality else np.zeros((0, 6))
    for _ in range(3):
        q, qd = 0.5 * rng.normal(size=robot.n_dof), rng.normal(size=robot.n_dof)
        d.qpos[:], d.qvel[:] = kt.coordinates_to(robot, "mujoco", q, qd)
        if equality:
            assert rows[0, :3] @ (d.qpos[:3] - [0, 0, 0.2]) == pytest.approx(0.1, abs=1e-14)
        again = kt.coordinates_from(robot, "mujoco", d.qpos, d.qvel)
        assert np.allclose(again, (q, qd), atol=1e-12)
        mujoco.mj_forward(model, d)
        mujoco.mj_fullM(model, d, M)
        force = np.r_[d.qfrc_passive - d.qfrc_bias, np.zeros(len(rows))]
        expected = np.linalg.solve(np.block([[M, rows.T], [rows, np.zeros((len(rows),) * 2)]]), force)[:6]
        qdd = kt.forward_dynamics(robot, q, qd, np.zeros(robot.n_dof))
        scale = np.abs(expected).max()
        assert _accelerations(robot, q, qd, qdd) == pytest.approx(expected, abs=1e-8 * scale)
        assert kt.inverse_dynamics(robot, q, qd, qdd) == pytest.approx(0.0, abs=1e-9)
        energy = kt.kinetic_energy(robot, q, qd)
        assert energy == pytest.approx(0.5 * d.qvel @ M @ d.qvel, rel=1e-12)


def test_joints_that_follow_several_others_are_simulated_written_and_held(tmp_path, recwarn):
    """The compiled course against SciPy with the accelerations of `forward_dynamics`."""
    stop = '<fixed name="s" range="-.4 .1" frictionloss=".0"><joint joint="a"/><joint joint="w"/></fixed>'
    robot, _ = _loaded(
        FINGER.format(wrist='axis="0 0 1"', tendons=stop.replace('"/>', '" coef="1"/>'), equality=TIE)
    )
    q, qd, n = np.array([0.1, 0.2, 0.3]), np.array([1.0, -0.5, 0.8]), 3

    def rates(_, y):
        return np.r_[y[n:], kt.forward_dynamics(robot, y[:n], y[n:], np.zeros(n))]

    expected = solve_ivp(rates, (0, 0.5), np.r_[q, qd], rtol=1e-10, atol=1e-12).y[:n, -1]
    with pytest.warns(kt.simulation.VerdictWarning, match=r"joint 's' is at .* beyond its limit 0\.1 m"):
        run = kt.simulate(robot, q, qd, 0.5, rtol=1e-10, atol=1e-12)
    assert run.q.values[-1] == pytest.approx(expected, abs=1e-8)
    for suffix in ("toml", "xml"):
        kt.save(robot, tmp_path / f"finger.{suffix}")
        again = kt.load(tmp_path / f"finger.{suffix}")
        assert kt.forward_dynamics(again, q, qd, [0, 0, 0]) == pytest.approx(
            kt.forward_dynamics(robot, q, qd, [0, 0, 0]), rel=1e-12
        )
    with pytest.warns(kt.simulation.VerdictWarning, match="joint 's'"):  # it begins beyond its limit
        stopped = kt.simulate(robot, q, qd, 0.5, stops=kt.simulation.Stops(stiffness=1e4, damping=10.0))
    length = stopped.q.values[:, 0] + stopped.q.values[:, 2]
    free = run.q.values[:, 0] + run.q.values[:, 2]
    assert free.max() > 0.3
    assert length[5:].max() < 0.45
    held = robot.frozen({"a": 0.1})
    M, less = kt.mass_matrix(robot, q), kt.mass_matrix(held, q[1:])
    assert less == pytest.approx(M[1:, 1:], rel=1e-12)
    assert not recwarn.list


@pytest.mark.parametrize(
    "bent", [("b", "f"), ("a", "f"), ("f", "e"), ("f", "c")], ids=["further", "first", "chain", "follower"]
)
def test_no_joint_of_several_is_tied_to_one_of_them_by_a_polynomial(bent):
    """c = a + b and e = c; with a polynomial before or behind c no linear mimic holds, so it is left out."""
    bodies = "".join(
        f'<body pos="{k} 0 0"><joint name="{name}" axis="0 1 0"/><geom size=".1" contype="0"/></body>'
        for k, name in enumerate("abcef")
    )
    arms = "".join(f'<joint joint="{name}" coef="{x}"/>' for name, x in (("a", 1), ("b", 1), ("c", -1)))
    text = (
        f'<mujoco><worldbody>{bodies}</worldbody><tendon><fixed name="t">{arms}</fixed></tendon><equality>'
        '<tendon tendon1="t" polycoef="0"/><joint joint1="e" joint2="c"/>'
        f'<joint joint1="{bent[0]}" joint2="{bent[1]}" polycoef="0 1 0.5"/></equality></mujoco>'
    )
    with pytest.warns(kt.KinetreeWarning, match="joint equality '2' .*several others, and one of them not"):
        robot, model = _loaded(text)
    d = mujoco.MjData(model)
    axes = robot.tree.coupling.at(np.linspace(0.3, 0.9, robot.n_dof))
    d.qpos[:] = [axes[robot.tree.axis_names.index(name)] for name in "abcef"]
    mujoco.mj_forward(model, d)
    assert d.efc_pos[:2] == pytest.approx(0.0, abs=1e-12)


FINGERS = """
<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="a"><joint name="a" axis="0 1 0" {a}/><geom size=".05" pos=".1 0 0" mass="1"/>
 <body name="b" pos=".2 0 0"><joint name="b" axis="0 1 0"/><geom size=".05" pos=".1 0 0" mass="1"/></body>
</body></worldbody>
<tendon><fixed name="t"><joint joint="a" coef="1.5"/><joint joint="b" coef="-0.5"/></fixed></tendon>
<equality>{tie}</equality>
<actuator><motor name="own" joint="a" gear="2" ctrlrange="-3 3" ctrllimited="true"/>
<position name="rope" tendon="t" kp="40" forcerange="-8 8" forcelimited="true" gear="3"/></actuator></mujoco>
"""


def _actuated(text, controls):
    robot, model = _loaded(text)
    d = mujoco.MjData(model)
    d.qpos[:], d.ctrl[:] = [0.3, -0.4], controls
    mujoco.mj_forward(model, d)
    q = d.qpos[: robot.n_dof]
    run = kt.simulate(robot, q, duration=1e-6, controller=kt.control.ModelActuators(controls), times=2)
    return robot, run.tau.values[0], d.qfrc_actuator


@pytest.mark.parametrize("controls", [(3.0, 4.0), (-3.0, -4.0), (1.0, 0.1)])
def test_a_limited_motor_of_a_joint_does_not_limit_what_a_tendon_does_to_it(controls):
    robot, tau, expected = _actuated(FINGERS.format(a="", tie=""), controls)
    np.testing.assert_allclose(tau, expected, rtol=1e-12)
    assert robot.tree.effort_limit.tolist() == [2 * 3 + 1.5 * 3 * 8, 0.5 * 3 * 8]
    _, tau, expected = _actuated(FINGERS.format(a='actuatorfrcrange="-7 7"', tie=""), controls)
    np.testing.assert_allclose(tau, expected, rtol=1e-12)


@pytest.mark.parametrize("controls", [(3.0, 4.0), (-3.0, -4.0), (1.0, 0.1)])
def test_the_limit_of_a_joint_includes_actuators_of_those_that_mimic_it(controls):
    """b = -2 a, so that the force on both is felt at a as the sum of the first and -2 times the second."""
    tie = '<joint joint1="b" joint2="a" polycoef="0 -2 0 0 0"/>'
    robot, tau, _ = _actuated(FINGERS.format(a="", tie=tie), controls)
    length = 3 * (1.5 * 0.3 - 0.5 * -0.6)
    rope = 3 * np.clip(40 * (controls[1] - length), -8, 8)
    assert robot.joint_names == ("a",)
    np.testing.assert_allclose(tau, [2 * controls[0] + rope * (1.5 - 2 * -0.5)], rtol=1e-12)
