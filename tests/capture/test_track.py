"""Poses from markers: against known motions, SciPy's least squares and OpenSim's tool; faults by name."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

import kinetree as kt
from kinetree.capture.fit import MarkerFit
from kinetree.capture.track import chosen_markers
from kinetree.model import CubicSpline, Marker, Mimic
from support.opensim_peer import DATA

RNG = np.random.default_rng(5)


def walker():
    """A planar base, a thigh, and a shank whose knee also slides as it bends."""
    build = kt.Builder("leg", gravity=(0.0, -9.81, 0.0))
    rod = kt.Inertia.rod(2.0, end=(0, -0.4, 0))
    base = build.world.planar("base", axis="z").body("pelvis", rod)
    thigh = base.revolute("hip", axis="z", lower=-1.0, upper=1.0).body("thigh", rod)
    slide = Mimic("knee", function=CubicSpline((-2.0, -1.0, 0.0), (0.02, 0.01, 0.0)))
    knee = thigh.prismatic("slide", axis="x", at=(0, -0.4, 0), mimic=slide).body("joint")
    knee.revolute("knee", axis="z").body("shank", rod)
    places = [
        ("pelvis", (0, 0, 0.1)),
        ("pelvis", (0.1, 0, -0.1)),
        ("thigh", (0.05, -0.2, 0)),
        ("thigh", (-0.05, -0.3, 0)),
        ("shank", (0.0, -0.1, 0.05)),
        ("shank", (0.0, -0.4, 0)),
        ("pelvis", (-0.1, 0.1, 0)),
    ]
    for k, (body, place) in enumerate(places):
        build.marker(Marker(f"m{k}", body, place))
    return build.build()


M = walker()
T = np.linspace(0.0, 1.0, 101)
Q = np.stack(
    [T, 0.9 + 0.02 * np.sin(9 * T), 0.1 * np.sin(5 * T), 0.5 * np.sin(6 * T), -0.7 + 0.6 * np.cos(7 * T)],
    axis=1,
)


def places(q, markers=M.markers):
    return MarkerFit(M, markers, np.ones(len(markers))).places(q)


def seen(noise=0.0):
    names = tuple(m.name for m in M.markers)
    return kt.markers.Trial(names, T, places(Q) + noise * RNG.normal(size=(len(T), len(names), 3)))


def test_markers_are_where_forward_kinematics_has_them():
    poses = kt.forward_kinematics(M, Q)
    expected = [poses[m.body][1] + poses[m.body][0] @ np.array(m.position) for m in M.markers]
    assert places(Q) == pytest.approx(np.stack(expected, axis=1), abs=1e-14)


def test_a_known_motion_is_found_from_afar_also_turned_around():
    found = kt.markers.track(M, seen(), start={"base.tx": 3.0})
    assert found.q == pytest.approx(Q, abs=1e-6) and found.settled.all() and found.rms < 1e-8
    assert found.qd[5:-5] == pytest.approx(np.gradient(Q, T, axis=0)[5:-5], abs=2e-2)


def test_every_frame_is_the_least_squares_solution_of_another_method():
    trial = seen(0.01)
    weights = {m.name: w for m, w in zip(M.markers, (1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 0.0), strict=True)}
    found = kt.markers.track(M, trial, weights)
    assert "m6" not in found.markers
    w = np.sqrt([weights[x] for x in found.markers])
    chosen = chosen_markers(M, found.markers)
    for k in (0, 37, 100):
        y = np.stack([trial.of(x) for x in found.markers], axis=1)[k]
        residual = lambda q, y=y: (w[:, None] * (places(q[None], chosen)[0] - y)).ravel()  # noqa: E731
        other = least_squares(residual, Q[k], xtol=1e-13, ftol=1e-13, gtol=1e-13)
        assert found.q[k] == pytest.approx(other.x, abs=3e-4)
        assert (residual(found.q[k]) ** 2).sum() <= 2 * other.cost * (1 + 1e-7)


def test_limits_hold_and_gaps_do_not_count():
    trial = seen()
    positions = trial.positions.copy()
    positions[20:40, 3] = np.nan
    gaps = replace(trial, positions=positions)
    assert kt.markers.track(M, gaps).q == pytest.approx(Q, abs=1e-6)
    assert np.isnan(kt.markers.track(M, gaps).error[20:40, 3]).all()
    links = [
        replace(x, joint=replace(x.joint, upper=np.array([0.3]))) if x.joint.name == "hip" else x
        for x in M.links
    ]
    tight = replace(M, links=tuple(links))
    found = kt.markers.track(tight, trial)
    k = tight.joint_index("hip")
    assert found.q[:, k].max() == 0.3 and found.settled.all()
    assert kt.markers.track(tight, trial, limits=False).q == pytest.approx(Q, abs=1e-6)


def test_frozen_joints_stay():
    found = kt.markers.track(M, seen(), frozen=["knee"], start={"knee": -0.4})
    assert (found.q[:, M.joint_index("knee")] == -0.4).all() and found.rms > 0.01


def test_a_smooth_motion_has_exact_derivatives_and_less_noise():
    noisy = seen(0.005)
    rough, smooth = kt.markers.track(M, noisy), kt.markers.track(M, noisy, smooth=0.1)
    assert np.abs(smooth.q - Q).mean() < 0.7 * np.abs(rough.q - Q).mean()
    between = (smooth.q[2:] - smooth.q[:-2]) / (2 * 0.01)
    assert smooth.qd[5:-5] == pytest.approx(between[4:-4], abs=0.1)
    exact = kt.markers.track(M, seen(), smooth=0.05)
    assert exact.q == pytest.approx(Q, abs=1e-3)
    slope = np.stack(
        [np.ones_like(T), 0.18 * np.cos(9 * T), 0.5 * np.cos(5 * T), 3 * np.cos(6 * T), -4.2 * np.sin(7 * T)],
        1,
    )
    assert exact.qd == pytest.approx(slope, abs=0.03)


def test_results_save_load_and_go_to_opensim(tmp_path):
    found = kt.markers.track(M, seen(0.001))
    found.save(tmp_path / "walk.nc")
    again = kt.load_result(tmp_path / "walk.nc")
    assert np.array_equal(again["q"].values, found.q) and again.audit["marker_rms"].passed
    found.save(tmp_path / "walk.mot")
    assert "knee" in (tmp_path / "walk.mot").read_text()


def test_weights_come_from_opensims_task_files(tmp_path):
    path = tmp_path / "tasks.xml"
    path.write_text(
        '<OpenSimDocument><IKTaskSet><objects><IKMarkerTask name="m0"><apply>true</apply><weight>5</weight>'
        '</IKMarkerTask><IKMarkerTask name="m1"><apply>false</apply><weight>5</weight></IKMarkerTask>'
        "</objects></IKTaskSet></OpenSimDocument>"
    )
    assert kt.markers.read_weights(path) == {"m0": 5.0, "m1": 0.0}
    assert "m1" not in kt.markers.track(M, seen(), path).markers


def scaled_trial(factor):
    return replace(seen(), positions=factor * seen().positions)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kt.markers.track(M, scaled_trial(1000.0)), "spread over .* the unit of lengths in the file"),
        (lambda: kt.markers.track(M, replace(seen(), markers=tuple("abcdefg"))),
         "0 markers in common, at least 3 are needed; the trial has a, b, c"),
        (lambda: kt.markers.track(M, seen(), {"m9": 1.0}), "weights: unknown marker 'm9'"),
        (lambda: kt.markers.track(M, seen(), {"m1": -1.0}), "weight of marker 'm1' must be >= 0, got -1"),
        (lambda: kt.markers.track(M, replace(seen(), positions=np.full((101, 7, 3), np.nan))),
         "no marker of the trial is seen in any frame"),
        (lambda: kt.markers.track(replace(M, markers=()), seen()), "has no markers"),
        (lambda: kt.markers.track(M, seen(), smooth=0.001), "use a larger one"),
        (lambda: kt.markers.track(M, seen(), frozen=["neck"]), "unknown joint 'neck'"),
        (lambda: seen().between(5.0, 6.0), "no frame from 5 to 6 s; it has those from 0 to 1 s"),
        (lambda: seen().of("nose"), "unknown marker 'nose'"),
        (lambda: kt.markers.low_passed(T, Q, 60.0), "below half the rate of the frames, 50 Hz, got 60"),
    ],
)  # fmt: skip
def test_faults_are_named(make, message):
    with pytest.raises(kt.KinetreeError, match=message):
        make()


def test_frames_that_see_too_little_are_named():
    positions = seen().positions.copy()
    positions[50:60, :5] = np.nan
    with pytest.raises(
        kt.KinetreeError, match=r"10 of 101 frames see fewer than 3 markers, the first at 0.5 s"
    ):
        kt.markers.track(M, replace(seen(), positions=positions))


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
@pytest.mark.skipif(not (DATA / "walking").is_dir(), reason="the trial is not here")
def test_no_frame_of_a_walk_is_fitted_worse_than_by_opensim(tmp_path):
    opensim = pytest.importorskip("opensim")
    opensim.Logger.setLevelString("off")
    model, file = DATA / "walking" / "subject01_gait2392_scaled.osim", DATA / "walking" / "walk_free_02.trc"
    m = kt.load(model)
    found = kt.markers.track(m, kt.markers.read_trial(file))
    tool, theirs = opensim.InverseKinematicsTool(), opensim.Model(str(model))
    tool.setModel(theirs)
    tool.setMarkerDataFileName(str(file))
    tool.setStartTime(float(found.time[0]))
    tool.setEndTime(float(found.time[-1]))
    tool.setOutputMotionFileName(str(tmp_path / "ik.mot"))
    tool.setResultsDir(str(tmp_path))
    for name in found.markers:
        task = opensim.IKMarkerTask()
        task.setName(name)
        task.setApply(True)
        task.setWeight(1.0)
        tool.getIKTaskSet().cloneAndAppend(task)
    tool.run()
    table = kt.gait_analysis.read_opensim(tmp_path / "ik.mot")
    q = np.zeros_like(found.q)
    for k, name in enumerate(m.joint_names):
        q[:, k] = (
            table.columns[name]
            if name.startswith("pelvis_t") and name != "pelvis_tilt"
            else np.radians(table.columns[name])
        )
    y = np.ascontiguousarray(np.stack([found.trial.of(x) for x in found.markers], axis=1))
    other = MarkerFit(m, chosen_markers(m, found.markers), found.weights).equations(q, y).error
    assert (
        np.nansum(found.error**2, axis=1)
        <= np.nansum(np.where(np.isfinite(other), other, np.nan) ** 2, axis=1)
    ).all()
