"""Torques of measured motions: virtual work of forces, residuals, plates on feet, OpenSim's own test."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.markers import GroundForce
from support.opensim_peer import DATA, Every, Peer

LEG = Path(__file__).parents[1] / "data" / "osim" / "leg.osim"
T = np.linspace(0.0, 1.0, 101)


@pytest.fixture(scope="module")
def leg():
    with pytest.warns(kt.KinetreeWarning):
        return kt.load(LEG)


def motion(m):
    """A leg that swings, its pelvis at rest."""
    q = np.zeros((len(T), m.n_dof))
    q[:, m.joint_index("pelvis_ty")] = 0.95
    q[:, m.joint_index("hip_flexion")] = 0.3 * np.sin(3 * T)
    q[:, m.joint_index("knee_angle")] = -0.8 + 0.3 * np.cos(4 * T)
    return q


def push(name="plate", body=None, at=(0.1, 0.0, 0.05), size=400.0):
    force = np.stack([30 * np.sin(T), size + 100 * T, -10 + 0 * T], axis=1)
    return GroundForce(name, T, force, np.tile(at, (len(T), 1)), np.tile([0.0, 2.0, 0.0], (len(T), 1)), body)


def test_forces_do_virtual_work_at_their_points(leg):
    q, force = motion(leg), push(body="foot")
    loaded, free = (kt.markers.dynamics(leg, T, q, x) for x in ((force,), ()))
    change = loaded["tau"].values - free["tau"].values
    for k in (0, 40, 100):
        R, p = kt.forward_kinematics(leg, q[k])["foot"]
        J = kt.jacobian(leg, q[k], "foot", R.T @ (force.point[k] - p))
        expected = -J.T @ np.concatenate([force.force[k], force.moment[k]])
        assert change[k] == pytest.approx(expected, abs=1e-8)


def test_what_remains_at_the_base_balances_momentum(leg):
    q, force = motion(leg), push(body="foot")
    result = kt.markers.dynamics(leg, T, q, (force,))
    com = kt.center_of_mass(leg, q)
    second = np.gradient(np.gradient(com, T, axis=0), T, axis=0)
    rest = leg.mass * (second - leg.gravity) - force.force
    assert result["residual_force"].values[5:-5] == pytest.approx(rest[5:-5], abs=0.5)
    assert result.audit["residual_force"].value > 0.05 and not result.audit["residual_force"].passed


def test_forces_that_name_no_body_act_on_the_nearest_foot(leg):
    foot = kt.forward_kinematics(leg, motion(leg))["foot"][1].mean(axis=0)
    at = (float(foot[0]), 0.0, float(foot[2]))
    q = motion(leg)
    given, found = (
        kt.markers.dynamics(leg, T, q, (push(body=x, at=at),))["tau"].values for x in ("foot", None)
    )
    assert found == pytest.approx(given, abs=1e-8)
    parts = push(at=at, size=150.0), push("other", at=at, size=150.0)
    two = kt.markers.dynamics(leg, T, q, parts)["tau"].values
    twice = [
        kt.markers.dynamics(leg, T, q, (push(body="foot", at=at, size=150.0),))["tau"].values,
        kt.markers.dynamics(leg, T, q)["tau"].values,
    ]
    assert two == pytest.approx(2 * twice[0] - twice[1], abs=1e-7)


def test_motions_are_filtered_and_differentiated(leg):
    q = motion(leg)
    k = leg.joint_index("hip_flexion")
    noisy = q + 0.002 * np.sin(2 * np.pi * 40 * T)[:, None]
    clean = kt.markers.dynamics(leg, T, noisy, cutoff=6.0)
    assert clean["q"].values[10:-10] == pytest.approx(q[10:-10], abs=2e-3)
    assert clean["qdd"].values[20:-20, k] == pytest.approx(-2.7 * np.sin(3 * T)[20:-20], abs=0.05)


LAID = np.array([[1.0, 0, 0], [0, 0, -1], [0, 1, 0]])  # z up


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: kt.markers.dynamics(m, T, motion(m), (push(body="foot", size=-600.0),)),
         "pulls down, with 550 N on average \\(a negative weight\\): the plate is upside down"),
        (lambda m: kt.markers.dynamics(m, T, motion(m), (push(body="foot").turned(LAID),)),
         'push along \\+z on average, but up is \\+y .* up="z"'),
        (lambda m: kt.markers.dynamics(m, T, motion(m), (push(at=(100.0, 0.0, 50.0)),)),
         "the nearest foot, 'foot', is 11"),
        (lambda m: kt.markers.dynamics(m, T, motion(m), (push(),), feet=["hoof"]),
         "feet: unknown body 'hoof'"),
        (lambda m: kt.markers.dynamics(m, T, motion(m)[:, :3]), "q must have shape"),
        (lambda m: kt.markers.dynamics(m, T[:4], motion(m)[:4]), "need at least 6 frames, got 4"),
    ],
)  # fmt: skip
def test_faults_are_named(leg, make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make(leg)


def test_motion_files_need_all_joints(leg, tmp_path):
    path = tmp_path / "short.mot"
    path.write_text("x\ninDegrees=yes\nendheader\ntime knee_angle\n0 1\n")
    with pytest.raises(kt.KinetreeError, match="no column for pelvis_tx, pelvis_ty"):
        kt.markers.read_motion(path, leg)


@pytest.mark.skipif(not (DATA / "id").is_dir(), reason="the trial is not here")
def test_opensims_own_subject_is_within_its_tolerance():
    folder = DATA / "id"
    m = kt.load(folder / "subject01.osim", allow_unphysical=True)
    time, q = kt.markers.read_motion(folder / "subject01_walk1_ik.mot", m)
    forces = kt.markers.read_forces(folder / "subject01_walk1_grf.xml")
    found = kt.markers.dynamics(m, time, q, forces, cutoff=6.0)["tau"].values
    stored = kt.gait_analysis.read_opensim(folder / "std_subject01_InverseDynamics.sto")
    inside = (stored.time >= time[0]) & (stored.time <= time[-1])
    for k, name in enumerate(m.joint_names):
        theirs = next(x for key, x in stored.columns.items() if key.startswith(f"{name}_"))[inside]
        assert np.abs(np.interp(stored.time[inside], time, found[:, k]) - theirs).max() < 2.0


@pytest.mark.peers
@pytest.mark.skipif(not (DATA / "id").is_dir(), reason="the trial is not here")
def test_torques_equal_opensims_solver_on_the_same_motion(tmp_path):
    """Its inverse dynamics without plates, and its own Jacobians at the plates' points."""
    pytest.importorskip("opensim")
    from support.opensim_peer import saved_again

    path = saved_again(DATA / "id" / "subject01.osim", tmp_path)
    m = kt.load(path, allow_unphysical=True)
    time, q = kt.markers.read_motion(DATA / "id" / "subject01_walk1_ik.mot", m)
    forces = kt.markers.read_forces(DATA / "id" / "subject01_walk1_grf.xml")
    found = kt.markers.dynamics(m, time, q, forces, cutoff=6.0)
    peer = Peer(path)
    every = Every(m, peer.names)
    for k in range(10, 200, 30):
        a, u, ud = every.state(*(found[x].values[k] for x in ("q", "qd", "qdd")))
        peer.at(a, u)
        expected = peer.torques(ud)
        poses = peer.poses()
        for force in (x.at(time) for x in forces):
            R, p = poses[force.body]
            J = peer.point_jacobian(force.body, R.T @ (force.point[k] - p))
            expected = expected - J.T @ force.force[k]
            turn = [
                peer.point_jacobian(force.body, x) - peer.point_jacobian(force.body, np.zeros(3))
                for x in np.eye(3)
            ]
            spin = sum(0.5 * np.cross(R[:, i], turn[i], axis=0) for i in range(3))
            expected = expected - spin.T @ force.moment[k]
        ours = found["tau"].values[k]
        assert every.slopes(found["q"].values[k]).T @ expected == pytest.approx(
            ours, abs=1e-6 * np.abs(ours).max()
        )


@pytest.mark.parametrize(
    ("head", "value"),
    [
        ("inDegrees=yes", 0.5),
        ("inDegrees=no", np.degrees(0.5)),
        ("Angles are in degrees.", 0.5),
        ("name old\ndatacolumns 3\ndatarows 1", 0.5),
        ("", np.degrees(0.5)),
    ],
)
def test_angles_are_in_the_unit_of_the_header(tmp_path, head, value):
    path = tmp_path / "x.mot"
    path.write_text(f"x\n{head}\nendheader\ntime joint1 joint2\n0 {np.degrees(0.5)} 0\n0.1 0 0\n")
    assert kt.markers.read_motion(path, kt.zoo.two_link())[1][0, 0] == pytest.approx(value)


def test_a_table_of_opensim_is_compared_with_a_result(tmp_path, leg):
    from typer.testing import CliRunner

    from kinetree.cli.app import app

    result = kt.markers.dynamics(leg, T, motion(leg))
    result.save(tmp_path / "leg.nc")
    names = " ".join(f"{x}_moment" for x in leg.joint_names)
    rows = "\n".join(
        f"{t} " + " ".join(map(str, row + 0.25)) for t, row in zip(T, result["tau"].values, strict=True)
    )
    (tmp_path / "id.sto").write_text(f"id\nendheader\ntime {names}\n{rows}\n")
    for pair in (("leg.nc", "id.sto"), ("id.sto", "leg.nc")):
        run = CliRunner().invoke(app, ["compare", *(str(tmp_path / x) for x in pair), "--json"])
        assert run.exit_code == 0, run.output
        assert '"variable": "tau"' in run.output and '"difference": 0.25' in run.output
