"""Numbers that contradict the documents are those that `docs/make_numbers.py` computes."""

import importlib.util
import json
import sys

import pytest

from support.pages import DOCS

QUICK = ("joint_forces", "sliding_arm", "drift", "hexapod", "soft_ground")


@pytest.fixture(scope="module")
def made():
    spec = importlib.util.spec_from_file_location("make_numbers", DOCS / "make_numbers.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_numbers"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def numbers():
    return json.loads((DOCS / "assets" / "numbers.json").read_text(encoding="utf-8"))


def test_the_page_has_the_numbers_of_the_file(made, numbers):
    assert set(numbers) == set(made.STATEMENTS)
    assert made.table(numbers) in (DOCS / "figures.md").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", QUICK)
def test_numbers_are_computed_again(made, numbers, name):
    now, before = made.STATEMENTS[name](), numbers[name]
    assert [row[:3] for row in now] == [tuple(row[:3]) for row in before]
    assert [row[3] for row in now] == pytest.approx([row[3] for row in before], rel=0.02, nan_ok=True)


def test_feedforward_is_the_better_law_where_the_model_is_wrong(numbers):
    """[Shah2013], 9.2.2, 9.3, 9.5, of the saved numbers."""
    found = {row[1]: row[3] for row in numbers["laws"]}
    for robot in ("planar_biped", "spatial_biped", "quadruped"):
        for case, better in (("exact model", "computed torque"), ("masses wrong", "feedforward")):
            errors = {
                law: value
                for law in ("computed torque", "feedforward")
                for what, value in found.items()
                if what.startswith(robot) and case in what and f"error of {law}" in what
            }
            assert min(errors, key=errors.get) == better, (robot, case, errors)
