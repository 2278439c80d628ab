"""The published JSON schema of mechanism files."""

from __future__ import annotations

import json
from typing import Any

from kinetree.formats.schema import json_schema
from kinetree.model.body import SHAPE_SIZES
from kinetree.model.joint import PARAMETERS
from kinetree.model.joint_kind import KINDS


def tables(schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(schema["$defs"])


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


def test_schema_tells_graphs_from_trees() -> None:
    schema = json_schema()
    assert schema["if"] == {"required": ["joint"]}
    graph, tree = (schema["$defs"][schema[key]["$ref"].rsplit("/", 1)[1]] for key in ("then", "else"))
    assert {"joint", "cut"} <= set(graph["properties"])
    assert not {"joint", "cut"} & set(tree["properties"])
    assert set(graph["required"]) == {"name", "body", "joint"}
    assert "free" in schema["$defs"]["GraphJointTable"]["properties"]["kind"]["enum"]
