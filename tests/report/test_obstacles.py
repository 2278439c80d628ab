"""What a study says is around a motion is drawn: payloads, keep-out regions, floors to stay above."""

import numpy as np
import pytest

import kinetree as kt
from kinetree.report.draw import figure_of
from kinetree.report.frames import frames
from kinetree.report.html.payload import payload
from kinetree.report.obstacles import obstacle_faces, obstacles
from kinetree.study.file import read_study
from kinetree.study.mechanism import study_mechanism

WALL = {
    "term": "KeepOutBox", "of": "world", "center": [0.4, 0.3, 0.0], "size": [0.1, 0.2, 0.3],
    "rotation": [[0, -1, 0], [1, 0, 0], [0, 0, 1]],
}  # fmt: skip
BALL = {"term": "KeepOut", "of": "link1", "center": [0.4, 0.0, 0.0], "radius": 0.05}


@pytest.fixture(scope="module")
def swing():
    """A motion around a box of the world, a ball on the first link, above a floor."""
    terms = [
        kt.terms.Boundary("start", [0.0, 0.5], 0.0),
        kt.terms.Boundary("end", [0.5, 0.5], 0.0),
        kt.terms.KeepOutBox("link2", WALL["center"], WALL["size"], rotation=WALL["rotation"]),
        kt.terms.KeepOut("link2", BALL["center"], BALL["radius"], points=(0.2, 0.0, 0.0), of="link1"),
        kt.terms.GroundClearance("link2", height=-0.6, normal=(0, 1, 0)),
    ]
    arm = kt.zoo.two_link(gravity=(0, -9.81, 0))
    return kt.predict(kt.Problem(arm, objective=kt.terms.Time(), constraints=terms, duration=1.0)).to_result()


def test_regions_of_a_prediction_are_where_its_terms_say(swing):
    found = frames(swing).obstacles
    assert [(x.body, x.shape.kind) for x in found] == [("world", "box"), ("link1", "sphere")]
    q = np.array([np.pi / 2, 0.0])
    box, ball = (np.concatenate(obstacle_faces(swing.mechanism, (x,), q)) for x in found)
    np.testing.assert_allclose(np.ptp(box, axis=0), [0.2, 0.1, 0.3], atol=1e-12)  # turned by 90 degrees
    np.testing.assert_allclose(0.5 * (box.min(axis=0) + box.max(axis=0)), [0.4, 0.3, 0.0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(ball - [0.0, 0.4, 0.0], axis=1), 0.05, atol=1e-9)


def test_equal_regions_are_drawn_once_and_those_of_all_phases():
    phases = {"phases": [{"constraints": [WALL, BALL]}, {"constraints": [WALL | {"body": "link1"}]}]}
    assert len(obstacles(kt.zoo.two_link(), phases)) == 2
    assert obstacles(kt.zoo.two_link(), {"phases": ["swing"], "constraints": None}) == ()


def test_the_floor_is_what_bodies_stay_above(swing):
    plane = frames(swing).ground
    np.testing.assert_allclose([plane.origin, plane.normal], [[0.0, -0.6, 0.0], [0.0, 1.0, 0.0]], atol=1e-12)
    fall = kt.simulate(kt.zoo.gripper(), [-1, 0, 0, 0], duration=0.1)
    assert not frames(fall).stands


def test_pages_and_pictures_show_regions(swing):
    page = payload(swing)
    assert [(x["body"], x["kind"]) for x in page["obstacles"]] == [(-1, "box"), (0, "sphere")]
    motion = frames(swing, most=2)
    plain, around = (
        len(figure_of(swing.mechanism, motion.q, around=x).axes[0].collections) for x in (None, motion)
    )
    assert around == plain + 1
    spatial = figure_of(kt.zoo.ur5(), around=None), figure_of(kt.zoo.ur5(), around=_still())
    assert [any("not a floor" in t.get_text() for t in x.axes[0].texts) for x in spatial] == [False, True]


def _still():
    arm = kt.zoo.ur5()
    return frames(kt.simulate(arm, np.zeros(arm.n_dof), duration=0.01))


def test_a_payload_looks_like_its_solid(tmp_path):
    study = tmp_path / "carry.toml"
    study.write_text(
        "[study]\ntask = 'simulate'\nduration = 0.01\n[mechanism]\nzoo = 'two_link'\n"
        "[[mechanism.payload]]\non = 'link2'\nname = 'crate'\n"
        "box = {mass = 1.0, size = [0.1, 0.2, 0.3], center = [0.4, 0, 0]}\n"
        "[[mechanism.payload]]\non = 'link2'\nname = 'can'\n"
        "cylinder = {mass = 1.0, radius = 0.1, length = 0.5, axis = 'x'}\n"
        "[[mechanism.payload]]\non = 'link2'\nname = 'ball'\nsphere = {mass = 1.0, radius = 0.1}\n"
        "[[mechanism.payload]]\non = 'link2'\nname = 'dot'\nmass = 1.0\n"
    )
    read = read_study(study)
    arm = study_mechanism(read.tables.mechanism, read.origin, read.folder, read.name)
    shapes = {link.body.name: link.body.shapes for link in arm.links}
    for name in ("crate", "can", "ball"):  # the inertia of what is seen is that of the payload
        (shape,) = shapes[name]
        seen = kt.zoo.two_link().with_payload("link2", 1.0, shape=shape).links[-1].body.inertia
        own = next(link.body.inertia for link in arm.links if link.body.name == name)
        np.testing.assert_allclose(seen.center, own.center, atol=1e-12)
        np.testing.assert_allclose(seen.moment, own.moment, atol=1e-12)
    assert shapes["dot"] == ()
