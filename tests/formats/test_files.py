"""Loading and saving by suffix, and files that cannot be read or written."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import kinetree as kt
from kinetree.algebra.arrays import frozen
from kinetree.errors import FileError, InputError, KinetreeError, ModelError
from kinetree.formats import regular_file
from kinetree.formats.files import READERS, WRITERS, load, save
from kinetree.formats.kinds import KINDS
from kinetree.formats.regular_file import read_text, write_text
from kinetree.formats.toml_file import toml_text
from kinetree.lint.mechanism import CHECKERS
from kinetree.model.builder import Builder
from kinetree.model.inertia import Inertia
from kinetree.model.mechanism import Mechanism
from support.stand_ins import interrupted


@pytest.fixture
def arm() -> Mechanism:
    builder = Builder("arm")
    inertia = Inertia(2.0, frozen([0.2, 0, 0]), frozen([0.01, 0.02, 0.02]))
    upper = builder.world.revolute(
        "shoulder", axis="y", lower=-1, upper=1, velocity_limit=3, effort_limit=20
    ).body("upper", inertia)
    upper.prismatic("slide", at=(0.4, 0, 0), lower=0, upper=0.3, velocity_limit=1, effort_limit=5).body(
        "träger", Inertia.box(1.0, (0.1, 0.2, 0.3))
    )
    return builder.build()


def leftovers(folder: Path) -> list[str]:
    return sorted(x.name for x in folder.iterdir())


# ---- saving and loading ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["arm.toml", "ARM.TOML", "träger arm.toml", "v1.2.toml"])
def test_toml_round_trip(tmp_path: Path, arm: Mechanism, name: str) -> None:
    save(arm, tmp_path / name)
    assert load(tmp_path / name) == arm
    assert load(str(tmp_path / name)) == arm
    assert leftovers(tmp_path) == [name]


def test_urdf_round_trip_keeps_names_and_masses(tmp_path: Path, arm: Mechanism) -> None:
    save(arm, tmp_path / "arm.urdf")
    loaded = load(tmp_path / "arm.urdf")
    assert loaded.body_names == arm.body_names
    assert loaded.joint_names == arm.joint_names
    for name in arm.body_names:
        mine, theirs = arm.link(name).body.inertia, loaded.link(name).body.inertia
        assert theirs.mass == mine.mass
        np.testing.assert_allclose(theirs.moment, mine.moment, atol=1e-15)
    assert leftovers(tmp_path) == ["arm.urdf"]


@pytest.mark.peers
def test_mjcf_is_read(tmp_path: Path) -> None:
    pytest.importorskip("mujoco")
    text = """<mujoco model="pendulum"><worldbody><body name="bob">
    <joint name="pivot" type="hinge" axis="0 1 0"/>
    <geom type="sphere" size="0.1" mass="2" pos="0 0 -0.5"/></body></worldbody></mujoco>"""
    (tmp_path / "pendulum.xml").write_text(text)
    loaded = load(tmp_path / "pendulum.xml")
    assert loaded.joint_names == ("pivot",)
    assert loaded.mass == pytest.approx(2.0)


def test_utf8_with_byte_order_mark_and_windows_lines(tmp_path: Path, arm: Mechanism) -> None:
    raw = b"\xef\xbb\xbf" + toml_text(arm).replace("\n", "\r\n").encode()
    (tmp_path / "arm.toml").write_bytes(raw)
    assert load(tmp_path / "arm.toml") == arm


def test_existing_file_is_replaced_only_with_force(tmp_path: Path, arm: Mechanism) -> None:
    path = tmp_path / "arm.toml"
    path.write_text("precious")
    with pytest.raises(FileError, match=r"arm\.toml: already exists.*force=True"):
        save(arm, path)
    assert path.read_text() == "precious"
    save(arm, path, force=True)
    assert load(path) == arm
    assert leftovers(tmp_path) == ["arm.toml"]


def test_saved_file_has_usual_permissions_and_unix_lines(tmp_path: Path, arm: Mechanism) -> None:
    save(arm, tmp_path / "arm.toml")
    (tmp_path / "usual").write_text("")
    assert os.stat(tmp_path / "arm.toml").st_mode == os.stat(tmp_path / "usual").st_mode
    assert b"\r" not in (tmp_path / "arm.toml").read_bytes()


def test_link_to_a_file_stays_a_link(tmp_path: Path, arm: Mechanism) -> None:
    (tmp_path / "real.toml").write_text("old")
    (tmp_path / "link.toml").symlink_to(tmp_path / "real.toml")
    save(arm, tmp_path / "link.toml", force=True)
    assert (tmp_path / "link.toml").is_symlink()
    assert load(tmp_path / "real.toml") == arm


# ---- files that cannot be written -----------------------------------------------------------------------


def test_save_refuses_wrong_places(tmp_path: Path, arm: Mechanism) -> None:
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        save(arm, tmp_path / "folder.toml", force=True)
    with pytest.raises(FileError, match=r"the folder .*missing does not exist"):
        save(arm, tmp_path / "missing" / "arm.toml")
    with pytest.raises(FileError, match=r"the name is too long"):
        save(arm, tmp_path / ("x" * 300 + ".toml"))
    assert leftovers(tmp_path) == ["folder.toml"]


@pytest.mark.parametrize("name", ["arm.sdf", "arm.json", "arm", ".toml"])
def test_save_refuses_unknown_formats(tmp_path: Path, arm: Mechanism, name: str) -> None:
    with pytest.raises(FileError, match=r"written as \.toml, \.urdf, \.xml"):
        save(arm, tmp_path / name)
    assert leftovers(tmp_path) == []


def test_save_refuses_what_is_no_mechanism(arm: Mechanism) -> None:
    with pytest.raises(InputError, match=r"must be a Mechanism, got 'arm\.toml'"):
        save("arm.toml", arm)  # type: ignore[arg-type]


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_failed_save_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, arm: Mechanism, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = tmp_path / "arm.toml"
    path.write_text("precious")
    if step == "open":
        monkeypatch.setattr(regular_file, "open", refuse, raising=False)
    else:
        monkeypatch.setattr(os, step, refuse)
    with pytest.raises(FileError, match=r"arm\.toml: cannot be written: Permission denied"):
        save(arm, path, force=True)
    assert path.read_text() == "precious"
    assert leftovers(tmp_path) == ["arm.toml"]


def test_interrupted_save_leaves_no_half_file(
    tmp_path: Path, arm: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save(arm, tmp_path / "arm.toml")
    assert leftovers(tmp_path) == []


def test_text_that_is_no_unicode_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="UTF-8"):
        write_text(tmp_path / "a.txt", "half \ud800")
    assert leftovers(tmp_path) == []


# ---- files that cannot be read --------------------------------------------------------------------------


def test_load_names_missing_files_folders_and_formats(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"arm\.toml: no such file"):
        load(tmp_path / "arm.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(FileError, match=r"folder\.toml: is a folder"):
        load(tmp_path / "folder.toml")
    with pytest.raises(
        FileError, match=r"the suffix '\.json'; .*\.toml, \.urdf, \.xacro, \.sdf, \.world, \.xml"
    ):
        load(tmp_path / "arm.json")
    with pytest.raises(FileError, match=r"no suffix; .*\.toml, \.urdf, \.xacro, \.sdf, \.world, \.xml"):
        load(tmp_path / "arm")


@pytest.mark.parametrize("path", [None, 3, b"arm.toml", "", "a\0.toml"])
def test_load_refuses_what_is_no_path(path: object) -> None:
    with pytest.raises(FileError, match="path"):
        load(path)  # type: ignore[arg-type]


def test_load_does_not_read_devices(tmp_path: Path) -> None:
    (tmp_path / "device.toml").symlink_to(os.devnull)
    with pytest.raises(FileError, match="regular file"):
        load(tmp_path / "device.toml")


def test_load_refuses_broken_links(tmp_path: Path) -> None:
    (tmp_path / "link.toml").symlink_to(tmp_path / "nowhere.toml")
    (tmp_path / "circle.toml").symlink_to(tmp_path / "circle.toml")
    for name in ("link.toml", "circle.toml"):
        with pytest.raises(FileError, match=name):
            load(tmp_path / name)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "is empty"),
        ('name = "arm"\n'.encode("utf-16"), "UTF-16"),
        ('name = "arm"\n'.encode("utf-16-be"), "zero byte at position 0"),
        (b'name = "arm"\nname2 = "\xe9"\n', "line 2: is not UTF-8 text: byte 0xe9"),
        (b'name = "arm"\n\x00', "zero byte"),
        (b"\x7fELF\x02\x01", "line 1"),
    ],
)
def test_load_refuses_other_encodings(tmp_path: Path, raw: bytes, said: str) -> None:
    (tmp_path / "arm.toml").write_bytes(raw)
    with pytest.raises(FileError) as caught:
        load(tmp_path / "arm.toml")
    assert said in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "arm.toml"))


def test_load_refuses_too_large_files(tmp_path: Path) -> None:
    with open(tmp_path / "large.toml", "wb") as file:
        file.truncate(50_000_001)
    with pytest.raises(FileError, match=r"large\.toml: has 50\.0 MB; the largest allowed is 50 MB"):
        load(tmp_path / "large.toml")


def test_unreadable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "arm.toml").write_text("name = 'x'")
    monkeypatch.setattr("kinetree.formats.regular_file.os.open", refuse)
    with pytest.raises(FileError, match=r"arm\.toml: cannot be read: Permission denied"):
        read_text(tmp_path / "arm.toml")


def test_model_errors_name_file_line_and_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("arm.toml").write_text('name = "arm"\n[[body]]\nname = "upper"\njoint = "free"\nmass = -1\n')
    with pytest.raises(ModelError) as caught:
        load("arm.toml")
    assert str(caught.value) == "arm.toml, line 2: body 'upper': mass must be >= 0 kg, got -1"
    assert isinstance(caught.value, KinetreeError)


def test_urdf_options_go_through_load(tmp_path: Path) -> None:
    file = tmp_path / "kuka.urdf"
    kt.save(kt.zoo.kuka_kr5(), file)
    with pytest.raises(kt.errors.ModelError, match=r"link6.*triangle inequality.*only with strict=True"):
        kt.load(file, strict=True)
    with pytest.warns(kt.KinetreeWarning, match=r"used as given: 'link6' violates the triangle ineq.* %"):
        fixed = kt.load(file)
    assert fixed == kt.load(file, allow_unphysical=True)
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 6))
    here, there = (kt.inverse_dynamics(x, q, qd, qdd) for x in (kt.zoo.kuka_kr5(), fixed))
    assert there == pytest.approx(here, rel=1e-9, abs=1e-9)
    with pytest.raises(kt.errors.ModelError, match="the root link is the world itself"):
        kt.load(file, allow_unphysical=True, floating_base=True)
    file.write_text(file.read_text().replace('"world"', '"stand"'))
    floating = kt.load(file, allow_unphysical=True, floating_base=True)
    assert floating.n_dof == fixed.n_dof + 6 and floating.mass == fixed.mass
    kt.save(fixed, tmp_path / "kuka.toml")
    with pytest.raises(kt.errors.InputError, match=r"floating_base is not an option for \.toml files"):
        kt.load(tmp_path / "kuka.toml", floating_base=True)


def test_every_format_has_its_reader_and_writer():
    assert set(READERS) == {kind.name for kind in KINDS}
    assert set(WRITERS) == {kind.name for kind in KINDS if kind.is_written}
    assert set(CHECKERS) <= set(READERS)
    suffixes = [suffix for kind in KINDS for suffix in kind.suffixes]
    assert len(suffixes) == len(set(suffixes))
