"""The digital human: segments, stature, symmetry, ranges, strength."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.model.human.segments import PAIRED, TABLE
from kinetree.report.shapes import shape_faces
from support.each import each

MAN, WOMAN = kt.zoo.human(), kt.zoo.human("female", 1.63, 60.0)
PEOPLE = [(MAN, 1.75, 75.0), (WOMAN, 1.63, 60.0), (kt.zoo.human("male", 1.95, 105.0), 1.95, 105.0)]


def corners(person, q):
    """Corners of all shapes in the world, by body."""
    poses = kt.forward_kinematics(person, q)
    for link in person.links:
        R, p = poses[link.body.name]
        faces = [face for shape in link.body.shapes for face in shape_faces(shape)]
        if faces:
            yield link.body.name, np.concatenate(faces) @ R.T + p


@pytest.mark.parametrize(("person", "height", "mass"), PEOPLE)
def test_size_is_as_asked(person, height, mass):
    assert person.mass == pytest.approx(mass, rel=1e-12) and person.n_dof == 55
    where = dict(corners(person, np.zeros(55)))
    assert where["head"][:, 2].max() == pytest.approx(height, abs=0.002)
    lowest = min(points[:, 2].min() for points in where.values())
    assert lowest == pytest.approx(0.0, abs=0.003)
    poses = kt.forward_kinematics(person, np.zeros(55))
    for point in person.contact_points:
        assert (poses[point.body][0] @ point.position + poses[point.body][1])[2] == pytest.approx(
            0, abs=1e-12
        )
    # the center of mass of a standing adult is at 0.54 to 0.59 of the stature
    assert 0.54 < kt.center_of_mass(person, np.zeros(55))[2] / height < 0.59


def test_parts_make_up_de_leva_segments():
    """Trunk and head, cut at joints, weigh and resist rotation like the segments of the table."""
    sums = {"trunk": ("pelvis", "lumbar", "waist", "chest", "thorax"), "foot": ("left_foot", "left_toes")}
    poses = kt.forward_kinematics(MAN, np.zeros(55))

    def together(names):
        whole = kt.Inertia()
        for name in names:
            R, p = poses[name]
            whole = whole + MAN.link(name).body.inertia.moved(kt.Placement.at(p, R))
        return whole

    assert together(sums["trunk"]).mass == pytest.approx(0.4346 * 75)
    # de Leva's own row of the whole trunk, cervicale to hips: an independent sum; center 0.5138 from above
    trunk, top = together(sums["trunk"]), poses["neck"][1][2]
    length = top - poses["pelvis"][1][2]
    assert (top - trunk.center[2]) / length == pytest.approx(0.5138, abs=0.015)
    assert np.sqrt(trunk.moment[0, 0] / trunk.mass) / length == pytest.approx(0.328, abs=0.02)
    assert np.sqrt(trunk.moment[1, 1] / trunk.mass) / length == pytest.approx(0.306, abs=0.02)
    foot = together(sums["foot"])
    length = 0.2581 * 1.75 / 1.741
    assert np.sqrt(np.diag(foot.moment) / foot.mass) / length == pytest.approx([0.124, 0.245, 0.257])


def test_hips_of_women_are_as_high_as_measured():
    """ANSUR II: trochanterion at 845.4 of 1628.5 mm, knee at 465.9 mm; masses stay where they were."""
    poses = kt.forward_kinematics(WOMAN, np.zeros(55))
    height = PEOPLE[1][1]
    assert poses["pelvis"][1][2] / height == pytest.approx(845.4 / 1628.5, abs=1e-3)
    assert poses["left_shank"][1][2] / height == pytest.approx(465.9 / 1628.5, abs=3e-3)
    # de Leva's own rows: hips at 0.500, thigh center 0.3612 of 0.3685 m below them, omphalion 0.1815 m above
    scale = height / 1.735
    hips = (0.067 + 0.4323 + 0.3685) * scale
    thigh, pelvis = WOMAN.link("left_thigh").body.inertia, WOMAN.link("pelvis").body.inertia
    assert poses["left_thigh"][1][2] + thigh.center[2] == pytest.approx(hips - 0.3612 * 0.3685 * scale)
    assert poses["pelvis"][1][2] + pelvis.center[2] == pytest.approx(hips + 0.508 * 0.1815 * scale)
    assert np.sqrt(thigh.moment[0, 0] / thigh.mass) == pytest.approx(0.369 * 0.3685 * scale)


def test_feet_of_women_are_as_long_as_measured():
    """ANSUR II: 246.3 mm of 1628.5 mm from the heel to the tip of the toes."""
    places = {point.name: point.position for point in WOMAN.contact_points}
    toes = kt.forward_kinematics(WOMAN, np.zeros(55))
    body = {point.name: point.body for point in WOMAN.contact_points}
    heel, tip = (toes[body[x]][1] + toes[body[x]][0] @ places[x] for x in ("left_heel", "left_toe_tip"))
    foot = kt.human.proportions("female", *PEOPLE[1][1:]).segments["left_foot"].length
    assert foot == pytest.approx(0.2463 / 1.6285 * PEOPLE[1][1], rel=1e-3)
    assert 0.88 * foot < tip[0] - heel[0] <= foot  # the heel point is before the end of the heel


@pytest.mark.parametrize("sex", ["male", "female"])
def test_table_makes_a_whole_person(sex):
    total = sum(row[0] * (2 if name in PAIRED else 1) for name, row in TABLE[sex].items())
    assert total == pytest.approx(1.0, abs=2e-4)


@pytest.mark.parametrize("person", [MAN, WOMAN])
def test_left_and_right_are_mirror_images(person):
    """M of the mirrored pose is M with coordinates exchanged, and so are torques of a mirrored motion."""
    state = kt.random_state(person, np.random.default_rng(0))
    q, qd, qdd = 0.5 * state.q, state.qd, state.qdd
    image = [kt.human.mirror_image(name) for name in person.joint_names]
    order, sign = [person.joint_index(name) for name, _ in image], np.array([s for _, s in image])
    mirrored = [sign * x[order] for x in (q, qd, qdd)]
    M = kt.mass_matrix(person, q)
    assert np.allclose(kt.mass_matrix(person, mirrored[0]), sign[:, None] * M[np.ix_(order, order)] * sign)
    tau = kt.inverse_dynamics(person, q, qd, qdd)
    assert np.allclose(kt.inverse_dynamics(person, *mirrored), sign * tau[order], atol=1e-9)


@each(
    ("joint", "body", "point", "axis", "towards"),
    [
        ("left_hip.flexion", "left_thigh", (0, 0, -0.4), 0, 1),  # forward
        ("right_hip.flexion", "right_thigh", (0, 0, -0.4), 0, 1),
        ("left_hip.adduction", "left_thigh", (0, 0, -0.4), 1, -1),  # towards the middle
        ("right_hip.adduction", "right_thigh", (0, 0, -0.4), 1, 1),
        ("left_hip.rotation", "left_toes", (0.05, 0, 0), 1, -1),
        ("left_knee", "left_shank", (0, 0, -0.4), 0, -1),  # backwards
        ("left_ankle.flexion", "left_toes", (0, 0, 0), 2, 1),  # toes up
        ("left_toe", "left_toes", (0.05, 0, 0), 2, 1),
        ("right_shoulder.flexion", "right_hand", (0, 0, 0), 0, 1),
        ("right_elbow.flexion", "right_hand", (0, 0, 0), 0, 1),
        ("left_clavicle.elevation", "left_upper_arm", (0, 0, 0), 2, 1),
        ("left_clavicle.protraction", "left_upper_arm", (0, 0, 0), 0, 1),
        ("left_wrist.flexion", "left_hand", (0, 0, -0.1), 1, -1),  # palm towards the thigh
        ("lumbar.flexion", "head", (0, 0, 0.1), 0, 1),
    ],
)
def test_signs_are_anatomical(joint, body, point, axis, towards):
    J = kt.jacobian(MAN, np.zeros(55), body, point)
    assert np.sign(J[axis, MAN.joint_index(joint)]) == towards


def test_walking_freezes_17():
    walker = MAN.frozen(kt.human.FROZEN_WHILE_WALKING)
    assert walker.n_dof == 38 and walker.fused().mass == pytest.approx(75.0)
    rooted = walker.fused().rooted_at("right_foot", point="right_heel")
    state = kt.analysis.change_root(walker.fused(), rooted, np.zeros(38))
    assert state.q[:3] == pytest.approx([-0.0351, -0.0885, 0.0], abs=1e-3)
    still = np.zeros(38)
    force = kt.inverse_dynamics(rooted, state.q, still, still)[:3]
    assert force == pytest.approx([0, 0, 75 * 9.81])  # the ground reaction of standing


def test_segments_can_be_replaced():
    other = kt.zoo.human(
        segments={"left_thigh": {"mass": 5.0}, "hand": {"mass": 1.0}, "head": {"center": 0.4}}
    )
    assert other.link("left_thigh").body.inertia.mass == 5.0
    assert other.link("right_thigh").body.inertia.mass == MAN.link("right_thigh").body.inertia.mass
    assert [other.link(f"{s}_hand").body.inertia.mass for s in ("left", "right")] == [1.0, 1.0]
    longer = kt.zoo.human(segments={"shank": {"length": 0.5, "radii": [0.26, 0.25, 0.1]}})
    poses = kt.forward_kinematics(longer, np.zeros(55))
    assert poses["left_foot"][1][2] == pytest.approx(poses["left_shank"][1][2] - 0.5)


@each(
    ("given", "words"),
    [
        ({"sex": "other"}, "unknown sex 'other'"),
        ({"sex": None}, "unknown sex"),
        ({"height": 0.5}, "height of a human must be between 1.2 and 2.3 m, got 0.5"),
        ({"height": float("nan")}, "height of a human"),
        ({"mass": 400.0}, "mass of a human must be between 25 and 250 kg"),
        ({"height": 2.2, "mass": 40.0}, "body mass index"),
        ({"segments": {"tail": {"mass": 1.0}}}, "unknown segment 'tail'"),
        ({"segments": {"thigh": {"weight": 1.0}}}, "unknown value 'weight'"),
        ({"segments": {"thigh": 3.0}}, "segment 'thigh' takes a table"),
        ({"segments": {"thigh": {"mass": -1.0}}}, "mass of segment 'thigh' must be positive"),
        ({"segments": {"thigh": {"center": 1.5}}}, "between 0 and 1"),
        ({"segments": {"thigh": {"radii": [1.0, -1.0, 1.0]}}}, "positive fractions"),
    ],
)
def test_what_is_no_human_is_refused(given, words):
    with pytest.raises(kt.KinetreeError, match=words):
        kt.zoo.human(**given)


def test_percentiles_are_people():
    for sex in ("male", "female"):
        small, large = kt.human.size_at(sex, 5), kt.human.size_at(sex, 95)
        assert (
            kt.zoo.human(**small).mass == pytest.approx(small["mass"]) and large["height"] > small["height"]
        )
    with pytest.raises(kt.errors.InputError, match="percentile must be one of 5, 50, 95, got 42"):
        kt.human.size_at("male", 42)


# ---- strength -------------------------------------------------------------------------------------------


def test_strength_has_the_meaning_of_its_coefficients():
    """At c3 and rest the isometric torque; at c4 and c5, three quarters and half of it (Anderson 2007)."""
    strong = kt.human.strength(["left_knee"])
    most, c3, c4, c5 = 0.163 * 75 * 9.80665 * 1.75, 1.133, 1.517, 3.952
    for rate, share in ((-c4, 0.75), (-c5, 0.5)):  # extensors shorten while the knee extends
        assert strong.limits([c3], [rate]).lower[0] == pytest.approx(-share * most, rel=2e-3)
    assert strong.limits([c3], [0.0]).lower[0] == pytest.approx(-most, rel=0.05)
    lengthening = strong.limits([c3], [c4]).lower[0]
    assert lengthening == pytest.approx(-0.75 * (1 + 0.095 * c4) * most, rel=2e-3)
    flexors = kt.human.strength(["left_hip.flexion"]).limits([-0.214], [2.095])
    assert flexors.upper[0] == pytest.approx(0.75 * 0.113 * 75 * 9.80665 * 1.75, rel=2e-3)


def test_derivatives_of_strength():
    names = MAN.joint_names[6:]
    rng = np.random.default_rng(3)
    for sex, age in (("male", "18-25"), ("female", ">65")):
        strong = kt.human.strength(names, sex, 1.7, 70.0, age)
        q, qd = rng.uniform(-2, 2, (40, 49)), rng.uniform(-8, 8, (40, 49))
        qd[:20] *= 0.05  # where shortening goes over into lengthening
        at, step = strong.limits(q, qd), 1e-5
        for side in ("lower", "upper"):
            slopes, bends = getattr(at, f"{side}_slopes"), getattr(at, f"{side}_bends")
            for k, (dq, dqd) in enumerate(((step, 0.0), (0.0, step))):
                more, less = strong.limits(q + dq, qd + dqd), strong.limits(q - dq, qd - dqd)
                change = (getattr(more, side) - getattr(less, side)) / (2 * step)
                assert np.allclose(slopes[..., k, :], change, atol=1e-5 * 250)
                turn = (getattr(more, f"{side}_slopes") - getattr(less, f"{side}_slopes")) / (2 * step)
                assert np.allclose(bends[..., k : k + 2, :], turn, atol=2e-4 * 250)
        assert (at.lower < 0).all() and (at.upper > 0).all()  # muscles never fail altogether
    fixed = kt.human.strength(names, constant=["left_knee"]).limits(q, qd)
    knee = names.index("left_knee")
    assert np.ptp(fixed.lower[:, knee]) == 0.0 and not fixed.lower_slopes[..., knee].any()


def test_strength_grows_with_size_and_can_be_scaled():
    small, large = kt.human.constant_torques("male", 1.6, 60.0), kt.human.constant_torques("male", 1.9, 95.0)
    ratio = (1.9 * 95.0) / (1.6 * 60.0)
    assert all(large[name] == pytest.approx([ratio * x for x in small[name]]) for name in small)
    weak = kt.human.scaled_torques(small, {"left_ankle": 0.5, "right": 2.0})
    assert weak["left_ankle.flexion"][0] == 0.5 * small["left_ankle.flexion"][0]
    assert weak["right_knee"][1] == 2.0 * small["right_knee"][1] and weak["left_knee"] == small["left_knee"]
    assert set(small) == set(MAN.joint_names[6:])
    limits = {x.joint.dof_names[k]: v for x in MAN.links[1:] for k, v in enumerate(x.joint.effort_limit)}
    for name, (low, high) in kt.human.constant_torques().items():
        assert limits[name] == pytest.approx(max(-low, high))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: kt.human.strength(["tail"]), "unknown joint of a human 'tail'"),
        (lambda: kt.human.strength(["left_knee"], age="30"), "unknown age '30'"),
        (lambda: kt.human.strength(["left_knee"]).limits([0.0, 0.0], [0.0]), "must have shape"),
        (lambda: kt.human.scaled_torques({"left_knee": (-1.0, 1.0)}, {"tail": 2.0}), "unknown joint or side"),
        (lambda: kt.human.scaled_torques({"left_knee": (-1.0, 1.0)}, {"left": 0.0}), "must be positive"),
    ],
)
def test_wrong_questions_about_strength_are_refused(call, words):
    with pytest.raises(kt.KinetreeError, match=words):
        call()
