"""Terms are declared once: declarations agree with the classes, and all that is made of them follows."""

from inspect import Parameter as Argument
from inspect import isclass, signature

import numpy as np
import pytest

import kinetree as kt
from kinetree.motion import terms
from kinetree.motion.declared import NEEDED, OBJECTIVES, every_term
from kinetree.motion.terms.contract import Constraint, Objective
from kinetree.study.file import study_schema

DECLARED = {declared.term: declared for declared in every_term()}
KINDS = {name: getattr(terms, name) for name in terms.__all__}
CLASSES = [name for name, kind in KINDS.items() if isclass(kind) and not kind.__abstractmethods__]


def test_every_term_is_declared():
    assert sorted(CLASSES) == sorted(DECLARED)
    assert len({declared.key for declared in every_term()}) == len(DECLARED)


@pytest.mark.parametrize("name", DECLARED)
def test_declared_parameters_are_those_of_the_class(name):
    kind, declared = getattr(terms, name), DECLARED[name]
    assert issubclass(kind, Objective if declared.objective else Constraint)
    taken = [] if kind.__init__ is object.__init__ else list(signature(kind).parameters.values())
    assert [x.name for x in taken] == [x.name for x in declared.parameters]
    for argument, parameter in zip(taken, declared.parameters, strict=True):
        if argument.default is Argument.empty:
            assert parameter.default is NEEDED
        elif argument.default is None:
            assert parameter.default is None
        else:
            assert np.array_equal(argument.default, parameter.default), argument


def test_declared_choices_are_those_of_the_terms():
    from kinetree.motion.declared import PARTS, PLACES
    from kinetree.motion.problem import setting
    from kinetree.motion.terms import reaction

    assert setting.PLACES == PLACES
    assert (*reaction.PARTS, *reaction.COMPONENTS) == PARTS


def test_the_schema_has_every_term_with_its_parameters():
    tables = study_schema()["$defs"]
    for place in ("PredictTable", "PhaseTable"):
        keys = tables[place]["properties"]
        for declared in every_term():
            assert declared.text in keys[declared.key]["description"]
            own = tables[keys[declared.key]["items"]["$ref"].split("/")[-1]]
            wanted = {x.name: x.description for x in declared.parameters}
            found = {
                name: x["description"]
                for name, x in own["properties"].items()
                if name not in ("weight", "mean")
            }
            assert found == wanted
            assert ("weight" in own["properties"]) is ("mean" in own["properties"]) is declared.objective
            needed = [x.name for x in declared.parameters if x.default is NEEDED]
            assert sorted(own.get("required", [])) == sorted(needed)
            if declared.short is not None:
                assert keys[declared.short.key]["description"] == declared.short.text
        if place == "PredictTable":
            complete = {declared.key for declared in OBJECTIVES if declared.complete}
            assert complete <= set(keys["objective"]["enum"])


def test_declarations_make_terms():
    made = DECLARED["KeepOut"].made(body="link2", center=[0, 0, 0], radius=0.1)
    assert isinstance(made, kt.terms.KeepOut)
    with pytest.raises(kt.errors.InputError, match="radius of the keep-out sphere must be positive"):
        DECLARED["KeepOut"].made(body="link2", center=[0, 0, 0], radius=-0.1)
