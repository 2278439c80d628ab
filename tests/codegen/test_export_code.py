"""C code for one mechanism: no warnings, the numbers of the library, written whole or not at all."""

import ctypes
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import kinetree as kt
from kinetree.cli import app
from kinetree.codegen.c_source import number
from kinetree.codegen.identifiers import comment, identifier, unique_identifiers
from kinetree.dynamics.loops.states import fitting_state
from kinetree.engine.tape.pieces import in_pieces
from kinetree.errors import FileError, InputError, SizeError
from support.kernels import zoo

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
SANITIZED = ["-O0", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
needs_compiler = pytest.mark.skipif(not COMPILERS, reason="no C compiler is installed")


def built(done, *flags, compiler=None):
    """The self-test of an export, built with strict flags; what it prints."""
    name = Path(done.files[1]).stem
    command = [compiler or COMPILERS[0], *STRICT, *flags, "-o", "out", f"{name}.c", f"{name}_test.c", "-lm"]
    subprocess.run(command, cwd=done.folder, check=True, capture_output=True, text=True)
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
    ran = subprocess.run(["./out"], cwd=done.folder, capture_output=True, text=True, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@needs_compiler
def test_every_tree_of_the_zoo_compiles_and_passes_its_test(tmp_path):
    """Under address and undefined-behavior sanitizers, in double and float in turn."""
    for k, (name, mechanism) in enumerate(zoo().items()):
        functions = ["inverse_dynamics", "forward_dynamics"] if mechanism.n_dof < 9 else ["inverse_dynamics"]
        real = ("double", "float")[k % 2]
        done = kt.export_code(mechanism, functions, tmp_path / name.replace(" ", "_"), real=real)
        lines = built(done, *SANITIZED).splitlines()
        assert lines[-1] == "passed" and len(lines) == len(functions) + 1


@needs_compiler
@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_function_and_a_long_one_in_parts(tmp_path, compiler):
    functions = [
        "inverse_dynamics", "forward_dynamics", "mass_matrix", "bias_torque", "gravity_torque",
        "joint_reactions", "forward_kinematics", "body_velocities", "energies", "inertia_regressor",
        "inverse_dynamics_derivatives", "forward_dynamics_derivatives", "jacobian:link3",
    ]  # fmt: skip
    done = kt.export_code(kt.zoo.gripper(), functions, tmp_path / "all")
    assert "FAILED" not in built(done, "-O2", compiler=compiler)
    long = kt.export_code(kt.zoo.humanoid(), ["forward_dynamics"], tmp_path / "long")
    text = (long.folder / "humanoid.c").read_text()
    assert "humanoid_forward_dynamics_part2(q, qd, tau, qdd, work);" in text
    assert "passed" in built(long, "-O1", compiler=compiler)
    if shutil.which("g++"):
        done.folder.joinpath("x.cpp").write_text(
            '#include "gripper.h"\nint main() { return GRIPPER_DOF - 4; }\n'
        )
        strict = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "x.cpp"]
        subprocess.run(["g++", *strict], cwd=done.folder, check=True)


@needs_compiler
def test_makefile_and_numbers_are_those_of_the_library(tmp_path, rng):
    """The object that the Makefile builds, called from here, beside compiled kernels."""
    arm = kt.zoo.kuka_kr5()
    if shutil.which("make"):
        done = kt.export_code(arm, ["inverse_dynamics", "forward_dynamics", "mass_matrix"], tmp_path / "arm")
        flags = f"CC={COMPILERS[0]}"
        made = subprocess.run(["make", "test", flags], cwd=done.folder, capture_output=True, text=True)
        assert made.returncode == 0 and made.stdout.rstrip().endswith("passed")
    else:
        done = kt.export_code(arm, ["inverse_dynamics", "forward_dynamics", "mass_matrix"], tmp_path / "arm")
    command = [COMPILERS[0], "-std=c99", "-O2", "-shared", "-fPIC", "-o", "arm.so", "kuka_kr5.c", "-lm"]
    subprocess.run(command, cwd=done.folder, check=True)
    library = ctypes.CDLL(str(done.folder / "arm.so"))

    def call(function, size, *rows):
        found = np.full(size, np.nan)
        pointers = [ctypes.c_void_p(x.ctypes.data) for x in (*rows, found)]
        getattr(library, f"kuka_kr5_{function}")(*pointers)
        return found

    for _ in range(20):
        q, qd, qdd = rng.uniform(-2, 2, (3, 6))
        tau, M = kt.inverse_dynamics(arm, q, qd, qdd), kt.mass_matrix(arm, q)
        size = np.abs(tau).max()
        np.testing.assert_allclose(call("inverse_dynamics", 6, q, qd, qdd), tau, rtol=0, atol=1e-14 * size)
        np.testing.assert_allclose(call("mass_matrix", 36, q).reshape(6, 6), M, rtol=0, atol=1e-14 * M.max())
        torque = M @ (call("forward_dynamics", 6, q, qd, tau) - qdd)
        assert np.abs(torque).max() < 1e-12 * np.abs(M).max() * np.abs(qdd).max() + 1e-13 * size


@needs_compiler
def test_odd_names_become_unique_identifiers(tmp_path):
    """Keywords, letters of other scripts, what ends comments, and names that differ in case only."""
    names = ["double", "a b", "a-b", "A_B", "2nd", "*/ int x; /*", "??/", "größe", "手", "\u05d0"]
    arm = kt.Builder("sin")
    body = arm.world
    for name in names:
        body = body.revolute(f"{name} joint", axis="y").body(name, kt.Inertia.rod(1.0, end=(0, 0, -0.1)))
    done = kt.export_code(
        arm.build(), ["gravity_torque", "jacobian:double", "jacobian:a-b"], tmp_path / "odd"
    )
    assert done.files[0] == "sin_.h" and len(done.operations) == 3
    text = (done.folder / "sin_.h").read_text(encoding="ascii")
    assert text.count("SIN_BODY") == len(names) == text.count("SIN_JOINT")
    assert "passed" in built(done, "-O1")


def test_identifiers_and_comments():
    assert identifier("double") == "double_" and identifier("***") == "unnamed"
    found = unique_identifiers(["x", "X", "x_2", "x y", "x-y", "int", "INT"])
    assert len(set(found)) == len(found) and found[2] == "x_2"
    assert all(word.isidentifier() and word.isascii() for word in found)
    assert "*/" not in comment("a**//b") and "/*" not in comment("//**") and "\\" not in comment("a\\")
    assert number(0.1, "double") == "0.1" and number(3.0, "float") == "3.0f" and number(1e300, "double")
    with pytest.raises(InputError, match="cannot be written as float"):
        number(1e300, "float")


def test_pieces_give_the_same_numbers_whatever_their_length(rng):
    """Cut anywhere: every number that a piece reads is an input, its own, or was left in a slot."""
    from kinetree.dynamics.tapes import taped

    recording = taped(kt.zoo.kuka_kr5(), "forward_dynamics").recording
    for largest in (50, 333, 10_000):
        cut = in_pieces(recording, largest)
        work: list[int | None] = [None] * cut.slots
        written = set()
        for piece in cut.pieces:
            assert piece.end - piece.begin <= largest
            known = set(range(piece.begin, piece.end)) | {k for k, _ in piece.loads}
            assert all(work[slot] == k for k, slot in piece.loads)
            for k in range(piece.begin, piece.end):
                name, *operands = recording.operations[k]
                fixed = ("input", "constant")
                assert name in fixed or all(
                    x in known or recording.operations[x][0] in fixed for x in operands
                )
            for k, slot in piece.stores:
                work[slot] = k
            written |= {(output, place) for output, place, _ in piece.results}
        assert written == {(0, place) for place in range(6)} and cut.pieces[-1].end == len(
            recording.operations
        )


def test_wrong_input_is_refused_and_nothing_is_left(tmp_path, monkeypatch):
    arm, there = kt.zoo.gripper(), tmp_path / "there"
    (tmp_path / "file").write_text("kept")
    kt.export_code(arm, output=there)
    before = {path.name: path.read_bytes() for path in there.iterdir()}
    cases = [
        (InputError, "unknown function 'inverse_dynamic'.*inverse_dynamics", arm, ["inverse_dynamic"], {}),
        (InputError, "functions is empty; known are inverse_dynamics", arm, [], {}),
        (InputError, "unknown body 'nose'", arm, ["jacobian:nose"], {}),
        (InputError, "unknown language 'rust'", arm, ["mass_matrix"], {"language": "rust"}),
        (InputError, "unknown real 'half'", arm, ["mass_matrix"], {"real": "half"}),
        (InputError, "has no closed loops", arm, ["close_loops_step"], {}),
        (InputError, "closed loops; with these only", kt.zoo.four_bar(), ["mass_matrix"], {}),
        (SizeError, r"takes \d+ operations", kt.zoo.chain(40), ["forward_dynamics_derivatives"], {}),
        (FileError, "already exists; use --force", arm, ["mass_matrix"], {"output": there}),
        (FileError, "is a file", arm, ["mass_matrix"], {"output": tmp_path / "file"}),
        (FileError, "is not a folder", arm, ["mass_matrix"], {"output": tmp_path / "file" / "x"}),
        (FileError, "is not a folder", arm, ["mass_matrix"], {"output": tmp_path / "no" / "x"}),
    ]
    for error, message, mechanism, functions, options in cases:
        with pytest.raises(error, match=message):
            kt.export_code(mechanism, functions, **{"output": tmp_path / "new", **options})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]
    assert {path.name: path.read_bytes() for path in there.iterdir()} == before

    def full(self, *given, **named):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(FileError, match="No space left"):
            kt.export_code(arm, output=tmp_path / "new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="cannot be written"):
        kt.export_code(kt.zoo.gripper(), output=tmp_path / "new")


def test_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = CliRunner().invoke
    done = run(
        app, ["export-code", "gripper", "--functions", "gravity_torque, mass_matrix", "--real", "float"]
    )
    assert done.exit_code == 0 and "gripper_gravity_torque: " in done.output and "kB of source" in done.output
    (tmp_path / "gripper_c" / "mine.c").write_text("kept")
    again = run(app, ["export-code", "gripper"])
    assert again.exit_code == 2 and "--force" in again.output and "Traceback" not in again.output
    forced = run(app, ["export-code", "gripper", "--force", "--json"])
    assert json.loads(forced.output)["files"][0] == "gripper.h"
    assert (tmp_path / "gripper_c" / "mine.c").read_text() == "kept"
    assert "double" in (tmp_path / "gripper_c" / "gripper.c").read_text()
    assert run(app, ["export-code", "gripper", "--language", "fortran", "-o", "x"]).exit_code == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gripper_c"]


@needs_compiler
def test_the_controller_of_the_page_holds_the_arm(tmp_path):
    """The law of the how-to page, compiled with strict flags and run on a simulated arm."""
    page = (Path(__file__).parents[2] / "docs" / "how_to" / "c_code.md").read_text(encoding="utf-8")
    (tmp_path / "hold.c").write_text(page.partition('```c title="hold.c"\n')[2].partition("```")[0])
    kt.export_code(kt.zoo.ur5(), ["gravity_torque", "forward_dynamics"], tmp_path / "ur5_c")
    files = ["-I", "ur5_c", "hold.c", "ur5_c/ur5.c", "-lm"]
    subprocess.run([COMPILERS[0], *STRICT, "-O2", "-o", "hold", *files], cwd=tmp_path, check=True)
    ran = subprocess.run(["./hold"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout


@needs_compiler
def test_mechanisms_of_urdf_files(tmp_path):
    """With mimic joints, fixed joints and frames."""
    for file in sorted((Path(__file__).parents[1] / "data" / "urdf").glob("*.urdf")):
        robot = kt.load(file)
        functions = ["inverse_dynamics", "forward_dynamics", "gravity_torque", "joint_reactions"]
        done = kt.export_code(robot, [*functions, f"jacobian:{robot.body_names[-1]}"], tmp_path / file.stem)
        assert "passed" in built(done, *SANITIZED)


@needs_compiler
def test_mechanisms_with_closed_loops(tmp_path, rng):
    """Planar, with several loops, spatial; positions closed from nearby are those of the library."""
    for mechanism in (kt.zoo.four_bar(), kt.zoo.three_rrr(), kt.zoo.stewart()):
        functions = ["inverse_dynamics", "forward_dynamics", "close_loops_step"]
        done = kt.export_code(mechanism, functions, tmp_path / mechanism.name)
        assert "passed" in built(done, *SANITIZED)
        assert "must close the loops" in (done.folder / done.files[0]).read_text()
        command = [COMPILERS[0], "-O1", "-shared", "-fPIC", "-o", "loops.so", done.files[1], "-lm"]
        subprocess.run(command, cwd=done.folder, check=True)
        library = ctypes.CDLL(str(done.folder / "loops.so"))
        close = getattr(library, f"{mechanism.name}_close_loops")
        held = [name for name, driven in zip(mechanism.joint_names, mechanism.driven, strict=True) if driven]
        for q in fitting_state(mechanism, 3, 5).q:
            start = q + 0.1 * rng.uniform(-1, 1, q.shape) * ~mechanism.driven
            found = start.copy()
            assert 1 <= close(ctypes.c_void_p(found.ctypes.data)) <= 10
            np.testing.assert_allclose(found, kt.loops.assemble(mechanism, start, hold=held), atol=1e-10)
