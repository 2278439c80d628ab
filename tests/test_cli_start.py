"""The command line starts quickly: nothing heavy is loaded for help, completion and version."""

import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import kinetree
from kinetree.cli import app, new
from kinetree.cli.app import name_of
from kinetree.cli.commands import COMMANDS, SECTIONS
from kinetree.cli.names import complete_model, complete_path, complete_result, complete_zoo
from kinetree.cli.setting_names import keys_of, table_classes
from kinetree.model import zoo
from kinetree.study import new_mechanism, new_study
from kinetree.study.file import study_schema
from support.stand_ins import interrupted

HEAVY = ("numpy", "scipy", "numba", "matplotlib", "xarray", "h5py", "rich", "mujoco")
QUICK = {
    "import": "import kinetree",
    "help": "from kinetree.cli import app; app(['--help'], standalone_mode=False)",
    "version": "from kinetree.cli import app; app(['--version'], standalone_mode=False)",
    "help of a command": "from kinetree.cli import app; app(['run', '--help'], standalone_mode=False)",
}


def loaded(code, **environment):
    """The heavy packages that a piece of code loads, and how many modules in all."""
    found = f"[x for x in {HEAVY} if x in sys.modules], len(sys.modules)"
    told = f"{code}\nimport sys; print({found}, file=sys.stderr)"
    run = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, env=os.environ | environment, check=True
    )
    names, count = run.stderr.strip().splitlines()[-1].rsplit(" ", 1)
    return names, int(count)


@pytest.mark.parametrize("case", QUICK)
def test_nothing_heavy_is_loaded(case):
    names, count = loaded(QUICK[case])
    assert names == "[]"
    assert count < (900 if "command" in case else 450)  # typer reads arguments with pydantic


def test_a_command_loads_only_its_own_file():
    code = (
        QUICK["help of a command"]
        + "\nimport sys; print([x for x in sys.modules if x.startswith('kinetree.cli.')])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    files = {name.rpartition(".")[2] for name in eval(run.stdout.strip().splitlines()[-1])}
    assert "run" in files and not files & {"models", "results", "check", "verify", "new"}


def test_a_study_is_run_without_labels_that_it_only_writes(tmp_path):
    code = (
        "from kinetree.cli import app\n"
        "app(['run', 'two_link_minimum_time', '--quiet'], standalone_mode=False)\n"
        "import sys; print([x for x in ('xarray', 'pandas', 'dask', 'scipy.optimize') if x in sys.modules])"
    )
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert run.stdout.strip().splitlines()[-1] == "[]"
    assert (tmp_path / "two_link_minimum_time.nc").exists()


def completed(words, position):
    code = (
        "import sys, atexit; sys.argv = ['kinetree']\n"
        f"atexit.register(lambda: print([x for x in {HEAVY} if x in sys.modules], file=sys.stderr))\n"
        "from kinetree.cli import main; main()"
    )
    asked = {"_KINETREE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(position)}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | asked)
    assert run.stderr.strip() == "[]"
    return run.stdout.split()


def test_the_shell_completes_commands_and_names():
    assert completed("kinetree ver", 1) == ["verify"]
    assert {"quadruped"} <= {*completed("kinetree info qua", 2)}
    assert completed("kinetree run gripper_f", 2) == ["gripper_free_fall"]


def test_the_shell_completes_keys_terms_and_templates():
    assert completed("kinetree run x --set integ", 4) == ["integrator."]
    assert completed("kinetree run x --set predict.keep", 4) == [
        "predict.keep_out=",
        "predict.keep_apart=",
        "predict.keep_out_box=",
    ]
    assert completed("kinetree sweep x --set controller.band", 4) == ["controller.bandwidth="]
    assert completed("kinetree new study x --template co", 5) == ["control"]
    assert completed("kinetree new mechanism x --template ca", 5) == ["cart"]
    assert completed("kinetree run x --set nothing.x", 4) == []


def test_keys_that_are_completed_are_those_of_the_schema():
    schema = study_schema()
    tables = table_classes()
    assert set(tables) == set(schema["properties"])
    for name, described in schema["properties"].items():
        (reference,) = re.findall(r"#/\$defs/(\w+Table|\w+Choice|StudyHead)", str(described))
        known = schema["$defs"][reference]["properties"]
        assert set(keys_of(tables[name], name)) == set(known), name


def test_templates_that_are_completed_are_those_that_are_made():
    assert new.TEMPLATES == {"mechanism": tuple(new_mechanism.TEMPLATES), "study": tuple(new_study.TEMPLATES)}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_can_be_installed(shell, tmp_path):
    """The script goes into the user's own folder, and the shell's start file reads it."""
    code = (
        "import sys; sys.argv = ['kinetree', '--install-completion', sys.argv[1]]\n"
        "from kinetree.cli import main; main()"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, shell],
        capture_output=True, text=True,
        env=os.environ | {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(f"_KINETREE_COMPLETE=complete_{shell}" in text for text in written)


def test_names_for_completion_are_those_that_exist(tmp_path, monkeypatch):
    assert complete_zoo("") == list(zoo.ZOO)
    monkeypatch.chdir(tmp_path)
    for name in ("arm.toml", "arm.nc", "arm.txt", ".hidden.toml"):
        (tmp_path / name).touch()
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.nc").touch()
    assert complete_path("", (".toml",)) == ["arm.toml", "inner/"]
    assert complete_result("a") == ["arm.nc"] and complete_result("inner/") == ["inner/b.nc"]
    assert "arm.toml" in complete_model("ar") and complete_path("no/such/", (".nc",)) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_tells_what_the_commands_say(name):
    """The line of the help is the first line of the docstring."""
    result = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    said = " ".join(result.output.split("Options:")[0].split())
    assert (
        f"] {COMMANDS[name][1]}" in said
        or f"}} {COMMANDS[name][1]}" in said
        or re.search(rf"[A-Z] {re.escape(COMMANDS[name][1])}", said)
        or f"... {COMMANDS[name][1]}" in said
    )


def test_every_command_is_in_the_table():
    for file, _ in COMMANDS.values():
        __import__(f"kinetree.cli.{file}")
    known = {name_of(info) for info in app.registered_commands} | {x.name for x in app.registered_groups}
    assert known == COMMANDS.keys()
    assert sum(len(section) for section in SECTIONS.values()) == len(COMMANDS)


def test_a_wrong_command_gets_the_nearest_suggested():
    result = CliRunner().invoke(app, ["verfy"])
    assert result.exit_code == 2 and "Did you mean 'verify'?" in result.output


# ---- the package itself ---------------------------------------------------------------------------------


def test_star_import_help_and_pickling_work():
    code = (
        "from kinetree import *\nimport kinetree, pickle, pydoc\n"
        "assert zoo.gripper() == pickle.loads(pickle.dumps(kinetree.zoo.gripper()))\n"
        "assert pickle.loads(pickle.dumps(kinetree.inverse_dynamics)) is inverse_dynamics\n"
        "assert 'forward_dynamics' in pydoc.render_doc(kinetree)\n"
        "print(sorted(set(kinetree.__all__) - set(globals())))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_unknown_name_of_the_package_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"package kinetree 'simulat'.*Did you mean 'simulate'"):
        kinetree.simulat  # noqa: B018
    assert {*kinetree.__all__} <= {*dir(kinetree)}


def test_what_the_package_shows_can_be_imported_from():
    import kinetree.terms
    import kinetree.zoo
    from kinetree.control import PD
    from kinetree.terms import Time
    from kinetree.zoo import gripper

    assert kinetree.terms.Time is Time and kinetree.zoo.gripper is gripper is zoo.gripper
    assert kinetree.control.PD is PD
    assert {*kinetree.zoo.__all__} == {*zoo.__all__, "installed_models"}  # which reads files


def test_an_interrupt_while_the_command_is_loaded_shows_no_traceback(monkeypatch, capsys):
    import kinetree.cli
    from kinetree.__main__ import main

    monkeypatch.setattr(kinetree.cli, "main", interrupted)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130 and capsys.readouterr().err == "interrupted\n"
