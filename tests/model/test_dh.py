"""DH tables: against products of 4 x 4 matrices, reference mass matrices and the printed Euler-angle rows."""

import json
from math import cos, pi, radians, sin
from pathlib import Path

import numpy as np
import pytest

from kinetree.algebra.rotation import (
    THREE_AXIS_SEQUENCES,
    TWO_AXIS_SEQUENCES,
    euler_rotation,
    rotation_about,
)
from kinetree.analysis.inverse import gravity_torque
from kinetree.errors import InputError, KinetreeError, ModelError
from kinetree.model.builder import Builder
from kinetree.model.dh import distal_frames, euler_dh_rows, from_dh
from kinetree.model.joint import Mimic
from support.each import each

REFERENCE = Path(__file__).parents[1] / "data" / "reference"
CLASSIC = json.loads((REFERENCE / "models_classic_dh.json").read_text())
EULER = json.loads((REFERENCE / "models_euler_dh.json").read_text())


def rng():
    return np.random.default_rng(20240)


# ---- the DH matrices, written out independently of the library --------------------------------


def turn(axis, t):
    c, s = np.cos(t), np.sin(t)
    T = np.eye(4, dtype=np.result_type(t, float))
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def shift(x, y, z):
    T = np.eye(4, dtype=np.result_type(x, y, z, float))
    T[:3, 3] = x, y, z
    return T


def classic_matrix(theta, d, a, alpha):
    """[Barman2020], eq. 2.8."""
    ct, st, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
    return np.array(
        [
            [ct, -ca * st, sa * st, a * ct],
            [st, ca * ct, -sa * ct, a * st],
            [0, sa, ca, d],
            [0, 0, 0, 1],
        ]
    )


def modified_matrix(theta, b, a, alpha):
    """[Shah2013], eqs. 3.4 and 3.5."""
    ct, st, ca, sa = cos(theta), sin(theta), cos(alpha), sin(alpha)
    return np.array(
        [
            [ct, -st, 0, a],
            [st * ca, ct * ca, -sa, -b * sa],
            [st * sa, ct * sa, ca, b * ca],
            [0, 0, 0, 1],
        ]
    )


# ---- poses of a mechanism, also for complex q --------------------------------------------------


def matrix(placement):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = placement.rotation, placement.position
    return T


def motion(axis, turns, q):
    if not turns:
        return shift(*(np.asarray(axis) * q))
    K = np.cross(np.eye(3), axis)
    T = np.eye(4, dtype=np.result_type(q, float))
    T[:3, :3] = np.eye(3) + np.sin(q) * K + (1 - np.cos(q)) * (K @ K)
    return T


def poses(mechanism, q):
    """World matrices of all body frames, by name."""
    world, k = {"world": np.eye(4)}, 0
    for link in mechanism.links:
        T = world[link.parent] @ matrix(link.placement)
        for axis, turns in zip(link.joint.axes, link.joint.turns, strict=True):
            T, k = T @ motion(axis, turns, q[k]), k + 1
        world[link.body.name] = T
    return world


def mass_matrix(mechanism, q):
    """M = sum of m Jv^T Jv + Jw^T I Jw, the Jacobians by complex step."""
    h, n, M = 1e-30, mechanism.n_dof, np.zeros((mechanism.n_dof,) * 2)
    here = poses(mechanism, np.asarray(q, float))
    moved = [poses(mechanism, np.asarray(q) + 1j * h * np.eye(n)[k]) for k in range(n)]
    for link in mechanism.links:
        body, R = link.body, here[link.body.name][:3, :3]
        D = [T[body.name].imag / h for T in moved]
        Jv = np.array([d[:3, :3] @ body.inertia.center + d[:3, 3] for d in D]).T
        spins = [R.T @ d[:3, :3] for d in D]
        Jw = np.array([[s[2, 1], s[0, 2], s[1, 0]] for s in spins]).T
        M += body.inertia.mass * Jv.T @ Jv + Jw.T @ body.inertia.moment @ Jw
    return M


# ---- geometry ----------------------------------------------------------------------------------


def random_rows(r, n, kinds):
    return [
        {
            "a": r.uniform(-1, 1),
            "alpha": r.uniform(-3, 3),
            "b": r.uniform(-1, 1),
            "theta": r.uniform(-3, 3),
            "joint": kinds[k % len(kinds)],
            "parent": "world" if k == 0 else int(r.integers(k)),
        }
        for k in range(n)
    ]


@pytest.mark.parametrize("convention", ["modified", "classic"])
def test_branched_table_is_the_product_of_its_matrices(convention):
    r = rng()
    rows = random_rows(r, 9, ("revolute", "prismatic", "fixed"))
    mechanism, ends = from_dh(rows, convention), distal_frames(rows, convention)
    q = r.uniform(-3, 3, mechanism.n_dof)
    body_frames, coordinates = poses(mechanism, q), iter(q)
    of_kind = {"modified": modified_matrix, "classic": classic_matrix}[convention]
    expected = []
    for k, row in enumerate(rows):
        move = next(coordinates) if row["joint"] != "fixed" else 0.0
        theta = row["theta"] + (move if row["joint"] == "revolute" else 0.0)
        b = row["b"] + (move if row["joint"] == "prismatic" else 0.0)
        base = np.eye(4) if row["parent"] == "world" else expected[row["parent"]]
        expected.append(base @ of_kind(theta, b, row["a"], row["alpha"]))
        link_frame = body_frames[f"link{k + 1}"] @ matrix(ends[k])
        assert np.abs(link_frame - expected[k]).max() < 1e-13


def test_classic_body_frame_stands_at_the_joint():
    rows = random_rows(rng(), 3, ("revolute",))
    mechanism = from_dh(rows, "classic")
    q = [0.3, -0.7, 1.1]
    frames, ends = poses(mechanism, q), distal_frames(rows)
    for k, row in enumerate(rows):
        parent = frames[mechanism.links[k].parent]
        start = np.eye(4) if row["parent"] == "world" else parent @ matrix(ends[row["parent"]])
        expected = start @ turn("z", row["theta"] + q[k])
        assert np.abs(frames[f"link{k + 1}"] - expected).max() < 1e-13


def test_multi_dof_rows_place_the_joint():
    row = {"a": 0.3, "alpha": 0.4, "b": -0.2, "theta": 0.9}
    rows = [
        {**row, "joint": "free", "sequence": "ZYX", "joint_name": "base"},
        {**row, "joint": "universal", "sequence": "ZX"},
        {**row, "joint": "spherical"},
        {**row, "joint": "cylindrical"},
    ]
    mechanism = from_dh(rows)
    for link in mechanism.links:
        assert np.abs(matrix(link.placement) - modified_matrix(0.9, -0.2, 0.3, 0.4)).max() < 1e-15
    assert mechanism.joint_names == (
        *("base.tx", "base.ty", "base.tz", "base.rz", "base.ry", "base.rx"),
        *("joint2.rz", "joint2.rx", "joint3.ry", "joint3.rx", "joint3.rz", "joint4.rz", "joint4.tz"),
    )


def test_right_angles_are_exact():
    placement = from_dh([{"alpha": -pi / 2, "a": 1, "b": 2, "theta": pi}]).links[0].placement
    assert placement.rotation.tolist() == [[-1, 0, 0], [0, 0, 1], [0, 1, 0]]
    assert placement.position.tolist() == [1, 2, 0]


# ---- inertia -----------------------------------------------------------------------------------


def classic_rows(links):
    """Rows of a reference chain; its center is at (l, 0, dG) of the joint, as [Barman2020], eq. 2.12 has
    it."""
    rows = []
    for x in links:
        back = x["dG"] - x["d"]
        center = (x["l"] - x["a"], back * sin(x["alpha"]), back * cos(x["alpha"]))
        kind = {"R": "revolute", "P": "prismatic"}[x["type"]]
        row = {key: x[key] for key in ("theta", "d", "a", "alpha")}
        rows.append({**row, "joint": kind, "mass": x["m"], "center": center, "inertia": x["I"]})
    return rows


@each("case", CLASSIC["chains"], ids=lambda case: case["types"])
def test_classic_chain_has_the_reference_mass_matrix(case):
    rows = [{**row, "allow_unphysical": True} for row in classic_rows(case["links"])]
    M = mass_matrix(from_dh(rows, "classic"), case["q"])
    assert np.abs(M - case["dtau_dqdd"]).max() < 1e-12 * max(1, np.abs(M).max())


def test_classic_and_modified_tables_of_one_arm_agree():
    """The same arm in both conventions: alpha and a move one row on, the rest stays ([Shah2013], section
    3.2)."""
    r = rng()
    n = 4
    a, alpha, b, theta = r.uniform(-1, 1, (4, n))
    center, spread = r.uniform(-0.2, 0.2, (n, 3)), r.uniform(0.1, 0.3, (n, 6))
    inertia = [[s[0] + 1, s[1] + 1, s[2] + 1, s[3], s[4], s[5]] for s in spread]
    mass = {"mass": 1.5}
    at_end = [
        {"a": a[k], "alpha": alpha[k], "b": b[k], "theta": theta[k], "center": center[k], **mass}
        | {"inertia": inertia[k]}
        for k in range(n)
    ]
    classic = from_dh(at_end, "classic")
    at_joint = [
        {"a": a[k - 1] if k else 0, "alpha": alpha[k - 1] if k else 0, "theta": theta[k], "b": b[k]}
        for k in range(n)
    ]
    for k, row in enumerate(at_joint):
        R = turn("x", alpha[k])[:3, :3]
        xx, yy, zz, xy, xz, yz = inertia[k]
        full = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        row |= {"center": R @ center[k] + [a[k], 0, 0], "inertia": R @ full @ R.T, **mass}
    q = r.uniform(-3, 3, n)
    difference = mass_matrix(classic, q) - mass_matrix(from_dh(at_joint), q)
    assert np.abs(difference).max() < 1e-12


def test_inertia_spellings_agree():
    full = np.array([[3.0, 0.1, 0.2], [0.1, 4.0, 0.3], [0.2, 0.3, 5.0]])
    six = from_dh([{"mass": 1, "inertia": (3, 4, 5, 0.1, 0.2, 0.3)}])
    assert np.array_equal(six.links[0].body.inertia.moment, full)
    assert six == from_dh([{"mass": 1, "inertia": full}])
    assert np.array_equal(
        from_dh([{"inertia": (3, 4, 5)}]).links[0].body.inertia.moment, np.diag([3.0, 4.0, 5.0])
    )


# ---- names, parents, joints --------------------------------------------------------------------


def test_defaults_and_spellings():
    rows = [
        {},
        {"d": 0.5, "joint": "prismatic", "lower": -0.1, "upper": 0.2, "armature": 0.3},
        {"name": "finger", "parent": "link1", "joint": "fixed", "joint_name": "weld"},
        {"parent": 1, "mimic": {"joint": "joint2", "multiplier": -2.0}},
        {"parent": "world", "mimic": Mimic("joint1")},
    ]
    mechanism = from_dh(rows, gravity=(0, -9.81, 0), name="hand")
    assert mechanism.body_names == ("link1", "link2", "finger", "link4", "link5")
    assert [link.parent for link in mechanism.links] == ["world", "link1", "link1", "link2", "world"]
    assert [link.joint.name for link in mechanism.links] == ["joint1", "joint2", "weld", "joint4", "joint5"]
    assert mechanism.joint_names == ("joint1", "joint2")
    slider = mechanism.links[1]
    assert (slider.joint.lower, slider.joint.upper, slider.joint.armature) == (-0.1, 0.2, 0.3)
    assert slider.placement.position.tolist() == [0, 0, 0.5]
    assert mechanism.links[3].joint.mimic == Mimic("joint2", -2.0)
    assert mechanism.gravity.tolist() == [0, -9.81, 0] and mechanism.name == "hand"


def test_table_equals_the_builder():
    arm = Builder("arm")
    first = arm.world.revolute("joint1", at=(0, 0, 0.4)).body("link1")
    turned = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    first.prismatic("joint2", at=(0.18, -0.3, 0), rotation=turned, upper=0.5).body("link2")
    rows = [{"b": 0.4}, {"a": 0.18, "alpha": pi / 2, "b": 0.3, "joint": "prismatic", "upper": 0.5}]
    assert from_dh(rows, name="arm") == arm.build()


BAD_TABLES = [
    ([{"alpa": 1.0}], "modified", ["DH row 0 ('link1')", "unknown key 'alpa'", "Did you mean 'alpha'"]),
    ([{}, {"a": "long"}], "modified", ["DH row 1 ('link2')", "a must be real numbers", "'long'"]),
    ([{"name": "arm", "b": float("nan")}], "classic", ["DH row 0 ('arm')", "b must be finite", "nan"]),
    ([{"theta": None}], "modified", ["theta must be a number", "None"]),
    ([{"alpha": 90}], "modified", ["alpha must be at most one revolution", "got 90", "degrees"]),
    ([{"b": 1, "d": 1}], "classic", ["DH row 0", "either b or d"]),
    ([{}, {"parent": "hip"}], "modified", ["DH row 1", "unknown parent 'hip'", "world, link1"]),
    ([{}, {"parent": "link3"}, {}], "modified", ["DH row 1", "'link3'", "parents go before their children"]),
    ([{}, {"parent": "link2"}], "modified", ["DH row 1", "'link2'", "not an earlier row"]),
    ([{}, {"parent": 1}], "modified", ["DH row 1", "0 to 0", "got 1"]),
    ([{"parent": -1}], "modified", ["DH row 0", "'world'", "got -1"]),
    ([{}, {"parent": True}], "modified", ["DH row 1", "unknown parent 'True'"]),
    ([{"name": "x"}, {"name": "x"}], "modified", ["DH row 1 ('x')", "row 0", "must differ"]),
    ([{"name": ""}], "modified", ["DH row 0", "non-empty"]),
    ([{"name": "world"}], "modified", ["DH row 0 may not be named 'world'"]),
    ([{"joint": "revolut"}], "modified", ["unknown joint kind", "'revolut'", "Did you mean 'revolute'"]),
    ([{"joint": "spherical"}], "classic", ["DH row 0", "'spherical'", "revolute, prismatic, fixed"]),
    ([{"joint": "spherical", "sequence": "XXY"}], "modified", ["DH row 0", "XXY"]),
    ([{"sequence": "XYZ"}], "modified", ["DH row 0", "a revolute joint takes no 'sequence'"]),
    ([{"lower": 1, "upper": 0}], "modified", ["DH row 0", "lower limit 1 exceeds upper limit 0"]),
    ([{"mimic": "joint1"}], "modified", ["DH row 0", "mimic", "'joint1'"]),
    ([{"mass": -1}], "modified", ["DH row 0", "mass must be >= 0 kg, got -1"]),
    ([{"mass": 1, "center": (1, 2)}], "classic", ["DH row 0", "center of mass", "3 numbers"]),
    ([{"mass": 1, "inertia": (1, 2, 3, 4)}], "classic", ["DH row 0", "inertia must be 3", "(4,)"]),
    ([{"mass": 1, "inertia": (1, 1, 9)}], "classic", ["DH row 0", "triangle inequality"]),
    ([{"mass": 1, "allow_unphysical": "no"}], "classic", ["DH row 0", "true or false", "'no'"]),
    ([[0, 0, 1, 0]], "modified", ["DH row 0 must be a mapping"]),
    ({"a": 1}, "modified", ["must be a list of rows", "dict"]),
    ([], "modified", ["has no bodies"]),
]


@each("rows, convention, words", BAD_TABLES, ids=lambda x: str(x)[:40])
def test_bad_tables_are_refused_with_the_row_named(rows, convention, words):
    with pytest.raises(ModelError) as raised:
        from_dh(rows, convention)
    for word in words:
        assert word in str(raised.value)


def test_unknown_convention_is_refused():
    for function in (from_dh, distal_frames):
        with pytest.raises(InputError, match=r"unknown DH convention 'clasic'.*Did you mean 'classic'"):
            function([{}], "clasic")
    with pytest.raises(KinetreeError, match="gravity"):
        from_dh([{}], gravity=(0, 9.81))


# ---- Euler-angle joints ------------------------------------------------------------------------


def euler_product(sequence, angles):
    R = np.eye(3)
    for row in euler_dh_rows(sequence):
        theta = row.theta + (0.0 if row.angle is None else angles[row.angle])
        R = R @ modified_matrix(theta, 0.0, 0.0, row.alpha)[:3, :3]
    return R


def plain_product(sequence, angles):
    if len(sequence) == 3:
        return euler_rotation(sequence, angles)
    return rotation_about(sequence[0], angles[0]) @ rotation_about(sequence[1], angles[1])


@each("sequence", [*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES])
def test_euler_rows_give_the_euler_rotation(sequence):
    for angles in rng().uniform(-pi, pi, (5, len(sequence))):
        assert np.abs(euler_product(sequence, angles) - plain_product(sequence, angles)).max() < 1e-14


def test_euler_rows_are_the_tables_of_the_book():
    printed = EULER["canonical_dh"]
    assert set(printed) == {*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES}
    for sequence, rows in printed.items():
        for row, (alpha, k, theta) in zip(euler_dh_rows(sequence.lower()), rows, strict=True):
            assert row.angle == (k - 1 if k else None)
            assert (row.alpha, row.theta) == pytest.approx((radians(alpha), radians(theta)), abs=1e-15)


@each("case", EULER["cases"], ids=lambda case: case["seq"])
def test_euler_rows_give_the_reference_rotations(case):
    assert np.abs(euler_product(case["seq"], case["theta"]) - case["R"]).max() < 1e-14


@each("sequence", [*THREE_AXIS_SEQUENCES, *TWO_AXIS_SEQUENCES])
def test_compiled_axes_give_the_same_rotation_as_the_euler_rows(sequence):
    kind = "spherical" if len(sequence) == 3 else "universal"
    tree = from_dh([{"joint": kind, "sequence": sequence}]).tree
    angles = rng().uniform(-pi, pi, len(sequence))
    R = np.eye(3)
    for axis, angle in enumerate(angles):
        assert tree.turns[axis] and not tree.position[axis].any()
        R = R @ tree.rotation[axis] @ turn("z", angle)[:3, :3]
    assert np.abs(R @ tree.body_rotation[0] - euler_product(sequence, angles)).max() < 1e-14


def test_unknown_sequence_is_refused():
    with pytest.raises(InputError, match="XXY"):
        euler_dh_rows("XXY")


# Puma 560 of Armstrong, Khatib and Burdick (1986), as the toolbox of Corke has it: rows 0 and 2 violate the
# triangle inequality
PUMA_560 = [  # a, alpha, d, mass, center, inertia
    (0.0, np.pi / 2, 0.0, 0.0, (0, 0, 0), (0, 0.35, 0)),
    (0.4318, 0.0, 0.0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
    (0.0203, -np.pi / 2, 0.15005, 4.8, (-0.0203, -0.0141, 0.070), (0.066, 0.086, 0.0125)),
    (0.0, np.pi / 2, 0.4318, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
    (0.0, -np.pi / 2, 0.0, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
    (0.0, 0.0, 0.0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
]


def test_one_error_names_all_rows_at_fault_and_one_word_accepts_the_table():
    rows = [dict(zip(("a", "alpha", "d", "mass", "center", "inertia"), x, strict=True)) for x in PUMA_560]
    with pytest.raises(ModelError) as raised:
        from_dh(rows, "classic")
    said = str(raised.value)
    at_fault = [k for k in range(6) if f"DH row {k} (" in said]
    assert at_fault == [0, 2] and said.count("allow_unphysical") == 1
    arm = from_dh(rows, "classic", allow_unphysical=True)
    printed = [0.0, 31.6399, 6.0351, 0.0, 0.0283, 0.0]  # Corke, Robotics, Vision and Control: gravload(qn)
    q = [0.0, np.pi / 4, np.pi, 0.0, np.pi / 4, 0.0]
    assert gravity_torque(arm, q) == pytest.approx(printed, abs=6e-5)


def test_faults_of_several_kinds_are_named_together():
    with pytest.raises(ModelError) as raised:
        from_dh([{"alpha": 90}, {"mass": 1, "inertia": (1, 1, 9)}, {"mass": -1}])
    said = str(raised.value)
    assert all(f"DH row {k}" in said for k in range(3)) and "degrees" in said and "triangle" in said
