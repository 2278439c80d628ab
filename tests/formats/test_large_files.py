"""Files of many bodies: what is done once per line or body is done quickly and only once."""

import time
import tomllib

import numpy as np
import pytest

import kinetree as kt
from kinetree.formats.toml_file import mechanism_from_toml, toml_text
from kinetree.formats.toml_lines import key_lines
from kinetree.formats.urdf import mechanism_from_urdf
from kinetree.formats.urdf_writer import urdf_text
from kinetree.lint.toml import check_mechanism_toml
from kinetree.lint.urdf import check_urdf


def chain(n):
    builder = kt.Builder("chain")
    body = builder.world
    for k in range(n):
        body = body.revolute(f"joint{k}", axis="y", at=(0, 0, -1)).body(
            f"link{k}", kt.Inertia(1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
        )
    return builder.build()


def seconds(work, *arguments):
    """The shortest of some runs."""
    spent = []
    for _ in range(4):
        begin = time.process_time()
        work(*arguments)
        spent.append(time.process_time() - begin)
    return min(spent)


def test_finding_the_lines_costs_less_than_parsing():
    text = toml_text(chain(300))
    lines = key_lines(text)
    assert text.split("\n")[lines["body", 299, "name"] - 1] == 'name = "link299"'
    assert seconds(key_lines, text) < seconds(tomllib.loads, text)


def test_a_list_over_many_lines_costs_no_more_than_its_length():
    text = "values = [\n" + "  1.0, # ]\n" * 5000 + "]\nlast = 1\n"
    assert key_lines(text) == {("values",): 1, ("last",): 5003}
    assert seconds(key_lines, text) < seconds(tomllib.loads, text)


@pytest.mark.parametrize(
    "quoted", ['"""a\n[b]""""', '"""\n\\""" [ """', "'''a\n[b]'''''", '""""""', '"\\"["', "'\\'"]
)
def test_texts_in_quotes_end_where_toml_ends_them(quoted):
    text = f"first = {quoted}\nlast = 1\n"
    assert set(tomllib.loads(text)) == {"first", "last"}
    assert key_lines(text) == {("first",): 1, ("last",): 2 + quoted.count("\n")}


@pytest.fixture
def checked_inertias(monkeypatch):
    """Grows by one with every inertia that is made."""
    made, check = [], kt.Inertia.__post_init__

    def counted(self):
        made.append(self)
        check(self)

    monkeypatch.setattr(kt.Inertia, "__post_init__", counted)
    return made


def test_an_inertia_is_made_once(checked_inertias):
    mechanism = chain(7)
    texts = toml_text(mechanism), urdf_text(mechanism)
    for read, text in zip((mechanism_from_toml, mechanism_from_urdf), texts, strict=True):
        checked_inertias.clear()
        assert read(text) == mechanism
        assert len(checked_inertias) == 7


def test_checking_a_sound_file_makes_each_body_only_twice(checked_inertias):
    text = toml_text(chain(7))
    checked_inertias.clear()
    assert check_mechanism_toml(text, "chain.toml") == []
    assert len(checked_inertias) == 14


def test_of_many_unknown_parents_the_first_are_given_a_hint(tmp_path):
    mechanism = chain(61)
    toml = toml_text(mechanism).replace('parent = "link', 'parent = "lunk')
    urdf = tmp_path / "chain.urdf"
    urdf.write_text(urdf_text(mechanism).replace('parent link="link', 'parent link="lunk'), encoding="utf-8")
    broken = toml.replace("mass = 1", "mas = 1", 1)
    for text, found in (
        (toml, check_mechanism_toml(toml, "chain.toml")),
        (broken, check_mechanism_toml(broken, "chain.toml")),
        (urdf.read_text(encoding="utf-8"), check_urdf(urdf)),
    ):
        lost = [x for x in found if x.rule == "impossible-tree"]
        assert len(lost) == 60 and sum("Did you mean 'link" in x.message for x in lost) == 20
        rows = text.split("\n")
        for k, x in enumerate(lost):
            assert f"'lunk{k}'" in x.message
            assert any(f'"lunk{k}"' in row for row in rows[x.line - 1 : x.line + 2])


def test_of_many_suspicions_each_leads_to_its_own_line(tmp_path):
    mechanism = chain(30)
    toml = toml_text(mechanism).replace('axis = "y"', 'axis = "y", upper = 90')
    urdf = tmp_path / "chain.urdf"
    urdf.write_text(urdf_text(mechanism_from_toml(toml)), encoding="utf-8")
    for text, found in ((toml, check_mechanism_toml(toml, "chain.toml")), (None, check_urdf(urdf))):
        assert [x.rule for x in found] == ["degrees-as-radians"] * 30
        rows = (urdf.read_text(encoding="utf-8") if text is None else text).split("\n")
        for k, x in enumerate(found):
            assert f"'joint{k}'" in x.message and "90" in rows[x.line - 1]
        assert len({x.line for x in found}) == 30


def test_a_long_chain_is_written_to_mjcf_and_read_again_as_mujoco_reads_it(tmp_path):
    """Every body of MJCF is inside the one before it."""
    mujoco = pytest.importorskip("mujoco")
    long, file = chain(400), tmp_path / "chain.xml"
    kt.save(long, file)
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    data.qpos[:] = 0.01
    mujoco.mj_forward(model, data)
    for mechanism in (long, kt.load(file)):
        expected = data.qfrc_bias
        np.testing.assert_allclose(
            kt.gravity_torque(mechanism, data.qpos), expected, rtol=0, atol=1e-12 * np.abs(expected).max()
        )
