"""Motions changed so that less remains at the base: a known motion with errors, whose forces are exact."""

from pathlib import Path

import numpy as np
import pytest

import kinetree as kt

LEG = Path(__file__).parents[1] / "data" / "osim" / "leg.osim"
T = np.linspace(0.0, 1.0, 101)


@pytest.fixture(scope="module")
def leg():
    with pytest.warns(kt.KinetreeWarning):
        return kt.load(LEG)


def motion(m):
    q = np.zeros((len(T), m.n_dof))
    q[:, m.joint_index("pelvis_ty")] = 0.95
    q[:, m.joint_index("hip_flexion")] = 0.3 * np.sin(3 * T)
    q[:, m.joint_index("knee_angle")] = -0.8 + 0.3 * np.cos(4 * T)
    return q


def exact_force(m, q):
    """What the motion needs of the world, all of it on the foot."""
    free = kt.markers.dynamics(m, T, q)
    force, moment = (free[f"residual_{x}"].values for x in ("force", "moment"))
    poses = kt.forward_kinematics(m, q)
    foot = poses["foot"][1]
    about = moment + np.cross(poses["pelvis"][1] - foot, force)
    return kt.markers.GroundForce("plate", T, force, foot, about, "foot")


def test_less_remains_and_the_motion_stays_near(leg):
    q = motion(leg)
    force = exact_force(leg, q)
    wrong = q.copy()
    wrong[:, leg.joint_index("hip_flexion")] += 0.04 * np.sin(12 * T)
    wrong[:, leg.joint_index("pelvis_tilt")] += 0.03 * np.cos(11 * T)
    before = kt.markers.dynamics(leg, T, wrong, (force,), cutoff=6.0)
    state = kt.markers.reduced_residuals(leg, T, wrong, (force,))
    after = kt.markers.dynamics(leg, T, state.q, (force,), rates=(state.qd, state.qdd))
    rms = [
        float(np.sqrt((x["residual_force"].values[10:-10] ** 2).sum(axis=1).mean())) for x in (before, after)
    ]
    assert rms[1] < 0.5 * rms[0]
    assert np.abs(state.q - wrong).max() < 0.12
    assert state.qd[5:-5] == pytest.approx(np.gradient(state.q, T, axis=0)[5:-5], abs=0.02)


def test_a_motion_that_fits_its_forces_stays(leg):
    q = motion(leg)
    state = kt.markers.reduced_residuals(leg, T, q, (exact_force(leg, q),), cutoff=20.0)
    assert state.q[10:-10] == pytest.approx(q[10:-10], abs=4e-3)


def test_faults_are_named(leg):
    q = motion(leg)
    with pytest.raises(kt.KinetreeError, match="none are given"):
        kt.markers.reduced_residuals(leg, T, q, ())
    with pytest.raises(kt.KinetreeError, match=r"knots = 0.005 s apart are too many for 101 frames"):
        kt.markers.reduced_residuals(leg, T, q, (exact_force(leg, q),), knots=0.005)
