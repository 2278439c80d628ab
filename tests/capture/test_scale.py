"""Models scaled to a person: closed forms, OpenSim's own scaled model, and what is refused."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import kinetree as kt
from kinetree.capture.fit import MarkerFit
from kinetree.markers import Measurement
from support.opensim_peer import DATA

LEG = Path(__file__).parents[1] / "data" / "osim" / "leg.osim"
FACTORS = {"femur": 1.2, "tibia": (1.0, 1.1, 0.9), "patella": 0.8, "foot": 1.05}


@pytest.fixture(scope="module")
def leg():
    with pytest.warns(kt.KinetreeWarning):
        return kt.load(LEG)


def test_lengths_centers_and_slides_grow_with_the_body_that_they_are_on(leg):
    made = kt.markers.scale(leg, factors=FACTORS).mechanism
    q = np.zeros(leg.n_dof)
    old, new = (kt.forward_kinematics(m, q) for m in (leg, made))
    for body, on in (("tibia", "femur"), ("patella", "femur")):  # at zero, joints of these are along the axes
        R, p = old[on]
        before, after = R.T @ (old[body][1] - p), new[on][0].T @ (new[body][1] - new[on][1])
        assert after == pytest.approx(1.2 * before, abs=1e-12)
    foot = made.links[made.body_index("foot")].body.inertia
    assert foot.center == pytest.approx([0.105, 0.0315, 0.0]) and made.mass == pytest.approx(leg.mass)
    law = next(x.joint.mimic for x in made.links if x.joint.name == "knee.translation1")
    first = next(x.joint.mimic for x in leg.links if x.joint.name == "knee.translation1")
    assert law.at(-0.7) == pytest.approx(1.2 * first.at(-0.7))
    assert law.slope(-0.7) == pytest.approx(1.2 * first.slope(-0.7))


def test_masses_keep_their_shares_and_moments_grow_as_those_of_the_stretched_body(leg):
    made = kt.markers.scale(leg, factors=FACTORS, mass=2 * leg.mass).mechanism
    assert made.mass == pytest.approx(2 * leg.mass)
    for a, b in zip(leg.links, made.links, strict=True):
        assert b.body.inertia.mass == pytest.approx(2 * a.body.inertia.mass)
    a, b = (m.links[m.body_index("femur")].body.inertia.moment for m in (leg, made))
    assert b == pytest.approx(2 * 1.2**2 * a)
    box = kt.Inertia.box(1.0, (0.1, 0.2, 0.3))
    one = kt.Builder("one")
    one.world.revolute("j").body("box", box)
    stretched = kt.markers.scale(one.build(), factors={"box": (1.5, 1.0, 0.7)}).mechanism
    assert stretched.links[0].body.inertia.moment == pytest.approx(
        kt.Inertia.box(1.0, (0.15, 0.2, 0.21)).moment
    )


def test_muscles_keep_their_shape(leg):
    size = 1.1
    made = kt.markers.scale(
        leg, factors=dict.fromkeys(("pelvis", "femur", "tibia", "patella", "foot"), size)
    ).mechanism
    for a, b in zip(leg.muscles, made.muscles, strict=True):
        assert b.optimal_fiber_length == pytest.approx(size * a.optimal_fiber_length)
        assert b.tendon_slack_length == pytest.approx(size * a.tendon_slack_length)
    assert made.wraps[0].radii[0] == pytest.approx(size * leg.wraps[0].radii[0])
    assert made.muscles[0].path[2].x.at(-1.0) == pytest.approx(size * leg.muscles[0].path[2].x.at(-1.0))


def stand(m, q):
    """A static trial of a mechanism."""
    fit = MarkerFit(m, m.markers, np.ones(len(m.markers)))
    places = np.repeat(fit.places(q[None]), 3, axis=0)
    return kt.markers.Trial(tuple(x.name for x in m.markers), [0.0, 0.01, 0.02], places)


def with_markers(m):
    places = {
        "hip": ("pelvis", (0, 0, 0.1)),
        "hip2": ("pelvis", (0.1, 0, 0)),
        "hip3": ("pelvis", (0, 0.1, -0.1)),
        "knee": ("femur", (0, -0.4, 0.05)),
        "thigh": ("femur", (0.05, -0.2, 0)),
        "ankle": ("tibia", (0, -0.4, 0)),
        "shin": ("tibia", (0.04, -0.2, 0.02)),
        "upper": ("femur", (0, -0.02, 0.03)),
    }
    return replace(m, markers=tuple(kt.model.Marker(name, *x) for name, x in places.items()))


def test_a_person_is_found_from_a_static_trial(leg):
    model = with_markers(leg)
    person = kt.markers.scale(model, factors={"femur": 1.15, "tibia": 0.93}).mechanism
    q = np.zeros(leg.n_dof)
    q[leg.joint_index("knee_angle")] = -0.1
    lengths = [Measurement("thigh", [("upper", "knee")], {"femur": "XYZ"}),
               Measurement("shank", [("shin", "ankle")], {"tibia": "X Y Z"})]  # fmt: skip
    found = kt.markers.scale(model, stand(person, q), lengths)
    assert found.factors["femur"] == pytest.approx([1.15] * 3) and found.factors["tibia"] == pytest.approx(
        [0.93] * 3
    )
    assert found.static.rms < 1e-6
    wrong = replace(
        model,
        markers=tuple(replace(x, position=(*x.position[:2], x.position[2] + 0.01)) for x in model.markers),
    )
    placed = kt.markers.scale(wrong, stand(person, q), factors={"femur": 1.15, "tibia": 0.93})
    again = kt.markers.track(placed.mechanism, stand(person, q))
    assert placed.static.rms > 1e-3 and again.rms < 1e-6  # markers are put where they were seen


LENGTH = [Measurement("x", [("hip", "knee")], {"femur": "X"})]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m, t: kt.markers.scale(m, t, [Measurement("x", [("hip", "nose")], {"femur": "X"})]),
         "measurement 'x': unknown marker 'nose'"),
        (lambda m, t: kt.markers.scale(m, t, [Measurement("x", [("hip", "knee")], {"fibula": "X"})]),
         "unknown body 'fibula'"),
        (lambda m, t: kt.markers.scale(m, replace(t, positions=9 * t.positions), LENGTH),
         "no person has a factor of 9"),
        (lambda m, t: kt.markers.scale(m, None, LENGTH),
         "measurements need a static trial"),
        (lambda m, t: kt.markers.scale(m, factors={"femur": -1.0}), "one positive number or three"),
        (lambda m, t: kt.markers.scale(m, mass=0.0), "mass must be > 0 kg, got 0"),
        (lambda m, t: Measurement("x", [("a", "b")], {"femur": "W"}), "axes of 'femur' must be of XYZ, got"),
    ],
)  # fmt: skip
def test_faults_are_named(leg, make, message):
    model = with_markers(leg)
    with pytest.raises(kt.KinetreeError, match=message):
        make(model, stand(model, np.zeros(leg.n_dof)))


@pytest.mark.filterwarnings("ignore::kinetree.KinetreeWarning")
@pytest.mark.skipif(not (DATA / "scale").is_dir(), reason="the model is not here")
def test_opensims_own_subject_is_scaled_as_opensim_scales_it():
    """Factors of measurements to eight digits; the model to the seven digits of its file."""
    folder = DATA / "scale"
    generic, theirs = (kt.load(folder / f"{x}.osim") for x in ("gait2354_simbody", "std_subject01_simbody"))
    static = kt.markers.read_trial(folder / "subject01_static.trc").between(1.0, 2.0)
    sets = {
        "measurements": folder / "gait2354_Scale_MeasurementSet.xml",
        "markers": folder / "gait2354_Scale_MarkerSet.xml",
    }
    root = ElementTree.parse(folder / "std_subject01_scaleSet_applied.xml").getroot()
    applied = {
        x.findtext("segment").strip(): np.array(x.findtext("scales").split(), float)
        for x in root.iter("Scale")
    }
    by_hand = {x: applied[x] for x in ("femur_r", "femur_l", "tibia_r", "tibia_l")}
    found = kt.markers.scale(generic, static, mass=72.6, factors=by_hand, **sets)
    for body, factors in found.factors.items():
        assert factors == pytest.approx(applied[body], rel=1e-8)
    q = np.random.default_rng(0).uniform(-0.5, 0.5, generic.n_dof)
    ours, std = (kt.forward_kinematics(m, q) for m in (found.mechanism, theirs))
    assert max(np.abs(ours[x][1] - std[x][1]).max() for x in theirs.body_names) < 2e-6
    assert kt.mass_matrix(found.mechanism, q) == pytest.approx(kt.mass_matrix(theirs, q), abs=2e-5)
    for a, b in zip(found.mechanism.muscles, theirs.muscles, strict=True):
        assert a.optimal_fiber_length == pytest.approx(b.optimal_fiber_length, rel=1e-5)
