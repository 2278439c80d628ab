"""Terms are declared by their constructors; the stored data and all that is made of them follow."""

import json
import subprocess
import sys
from inspect import isclass, signature
from typing import Annotated

import pytest

from kinetree.declare import (
    DECLARED_UNIT,
    FILE,
    NEEDED,
    Parameter,
    as_text,
    declaration_of,
    declare,
    is_declared,
    stored,
)
from kinetree.motion import terms
from kinetree.motion.terms.contract import Constraint, Objective
from kinetree.study.file import study_schema
from support.pages import docs_script

DECLARED = {x.name: x for section in ("objectives", "constraints") for x in stored(section)}
KINDS = {name: getattr(terms, name) for name in terms.__all__}
CLASSES = [name for name, kind in KINDS.items() if isclass(kind) and not kind.__abstractmethods__]


def test_the_stored_declarations_are_those_of_the_code():
    declared = docs_script("make_lists").declarations()
    told = "run 'python docs/make_lists.py': the stored declarations are out of date"
    assert FILE.read_text(encoding="utf-8") == as_text(declared), told
    assert declared == {name: [*stored(name)] for name in json.loads(FILE.read_text(encoding="utf-8"))}


def test_every_term_is_declared():
    assert sorted(CLASSES) == sorted(DECLARED)
    assert len({x.key for x in DECLARED.values()}) == len(DECLARED)
    for section, kind in (("objectives", Objective), ("constraints", Constraint)):
        assert all(issubclass(KINDS[x.name], kind) for x in stored(section))


def test_reading_a_study_does_not_import_the_terms():
    code = (
        "import sys; from kinetree.study.prediction_tables import PredictTable; "
        "print('kinetree.motion.terms' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


def test_the_schema_has_every_term_with_its_parameters():
    tables = study_schema()["$defs"]
    for place in ("PredictTable", "PhaseTable"):
        keys = tables[place]["properties"]
        for name, declaration in DECLARED.items():
            assert declaration.text in keys[declaration.key]["description"]
            own = tables[keys[declaration.key]["items"]["$ref"].split("/")[-1]]
            arguments = [] if KINDS[name].__init__ is object.__init__ else signature(KINDS[name]).parameters
            more = {"weight", "mean"} if issubclass(KINDS[name], Objective) else set()
            assert own["properties"].keys() == {*arguments} | more
            needed = [x for x in arguments if arguments[x].default is arguments[x].empty]
            assert sorted(own.get("required", [])) == sorted(needed)
            if declaration.short is not None:
                assert keys[declaration.short.key]["description"] == declaration.short.text
        if place == "PredictTable":
            complete = {x.key for x in stored("objectives") if x.complete}
            assert complete <= set(keys["objective"]["enum"])


@declare("ball", "a ball", unit="kg")
class Ball:
    def __init__(
        self,
        radius: Annotated[float, Parameter("Radius", "m", "positive", "default small")],
        mass: Annotated[
            float | None, Parameter("Mass", DECLARED_UNIT, default_text="default by volume")
        ] = None,
        center: Annotated[tuple[float, ...], Parameter("Center", "m", "vector")] = (0.0, 0.0, 1.0),
        color: Annotated[str, Parameter("Color", choices=("red", "blue"))] = "red",
        hollow: Annotated[bool, Parameter("Whether it is hollow")] = False,
        layers: Annotated[int, Parameter("Layers")] = 2,
    ): ...


def test_a_declaration_is_read_from_the_signature():
    read = declaration_of(Ball)
    assert (read.key, read.name, read.text, read.complete) == ("ball", "Ball", "a ball", False)
    kinds = ["positive", "number", "vector", "color", "flag", "whole"]
    assert [x.kind for x in read.parameters] == kinds
    assert [x.default for x in read.parameters] == [NEEDED, None, [0.0, 0.0, 1.0], "red", False, 2]
    assert [x.description for x in read.parameters] == [
        "Radius (m).",  # a needed one has no default that words could state
        "Mass (kg); default by volume.",
        "Center (m).",
        'Color; default "red".',
        "Whether it is hollow.",
        "Layers; default 2.",
    ]


def test_a_class_that_derives_from_a_declared_one_is_not_declared():
    class Other(Ball): ...

    assert is_declared(Ball) and not is_declared(Other) and not is_declared(3)


def test_incomplete_signatures_are_refused():
    @declare("a", "a")
    def bare(x: float) -> None: ...

    @declare("b", "b")
    def unclear(x: Annotated[float | str, Parameter("x")]) -> None: ...

    with pytest.raises(TypeError, match=r"bare: annotate 'x' with one Parameter\(...\), got 0"):
        declaration_of(bare)
    with pytest.raises(TypeError, match="unclear: Parameter of 'x' needs a kind"):
        declaration_of(unclear)
