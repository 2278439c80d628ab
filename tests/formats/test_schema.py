"""The published JSON schema of mechanism files."""

from __future__ import annotations

import json
from typing import Any

from kinetree.formats.schema import json_schema
from kinetree.model.body import SHAPE_SIZES
from kinetree.model.joint import PARAMETERS
from kinetree.model.joint_kind import KINDS


def tables(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {"MechanismTable": schema, **schema["$defs"]}


def test_schema_describes_every_key_and_refuses_others() -> None:
    schema = json_schema()
    json.dumps(schema)
    for name, table in tables(schema).items():
        assert table["additionalProperties"] is False, name
        for key, known in table["properties"].items():
            assert known.get("description", "").endswith("."), f"{name}.{key}"
            assert '"null"' not in json.dumps(known), f"{name}.{key}"


def test_schema_gives_units_of_all_numbers() -> None:
    for name, table in tables(json_schema()).items():
        for key, known in table["properties"].items():
            if '"number"' in json.dumps(known):
                assert "(" in known["description"], f"{name}.{key} has no unit"


def test_schema_knows_every_joint_parameter_and_kind() -> None:
    joint = tables(json_schema())["JointTable"]["properties"]
    assert set(PARAMETERS) <= set(joint)
    assert joint["kind"]["enum"] == list(KINDS)
    assert tables(json_schema())["ShapeTable"]["properties"]["kind"]["enum"] == list(SHAPE_SIZES)


def test_schema_offers_a_joint_by_its_kind_alone() -> None:
    text, table = tables(json_schema())["BodyTable"]["properties"]["joint"]["anyOf"]
    assert text["enum"] == list(KINDS)
    assert table["$ref"].endswith("JointTable")


def test_schema_requires_only_what_has_no_default() -> None:
    required = {name: set(table.get("required", ())) for name, table in tables(json_schema()).items()}
    assert required["MechanismTable"] == {"name"}
    assert required["BodyTable"] == {"name", "joint"}
    assert required["JointTable"] == {"kind"}
    assert required["LoopTable"] == {"name", "kind", "a", "b"}
    assert required["ContactTable"] == {"name", "body"}
    assert required["DhRowTable"] == set()
