"""Keys of study files for the shell's completion, from stored declarations and the sources of tables.

Importing the tables takes a second; a test compares what is found here with their schema.
"""

from __future__ import annotations

import re
from pathlib import Path

from kinetree.declare import stored

STUDY = Path(__file__).parents[1] / "study"
FORMATS = [STUDY.parent / "formats" / name for name in ("schema.py", "schema_parts.py")]
SHARED = "SharedTables"  # the class whose keys are the tables that tasks share


def complete_setting(incomplete: str) -> list[str]:
    """Tables of study files as "integrator.", or keys of one as "integrator.rtol=", terms among them."""
    table, dot, _ = incomplete.partition(".")
    tables = table_classes()
    if not dot:
        return [f"{name}." for name in tables if name.startswith(incomplete)]
    keys = (f"{table}.{key}=" for key in keys_of(tables.get(table, ""), table))
    return [key for key in keys if key.startswith(incomplete)]


def table_classes() -> dict[str, str]:
    """The class of every table of a study, by the name that it has in a file.

    >>> table_classes()["integrator"]
    'IntegratorTable'
    """
    found = {"study": "StudyHead"}
    shared = classes()[SHARED][1]
    for key, name in re.findall(r"^    (\w+): (?:list\[)?(\w+)", shared, re.MULTILINE):
        found[key] = name if name in classes() else f"{name}Table"  # or a table that may be a function
    for file in sorted((STUDY / "tasks").glob("*.py")):
        text = file.read_text(encoding="utf-8")
        for task, settings in re.findall(r'^TASK = Task\(\n    "(\w+)".*?settings=(\w+)', text, re.M | re.S):
            found[task] = "PredictTable" if settings.startswith("_") else settings
    return found


def keys_of(name: str, table: str) -> list[str]:
    """Keys of a class of tables, those of its bases first; of predictions the terms, too."""
    bases, body = classes().get(name, ("", ""))
    keys = keys_of(bases.split(",")[0], table) if bases else []
    for task in re.findall(r'\bdeclared_table\("(\w+)"\)', bases):
        keys += [parameter.name for x in stored("tasks") if x.key == task for parameter in x.parameters]
    if name == "MotionTable":
        terms = [*stored("objectives"), *stored("constraints")]
        keys += [x.short.key for x in terms if x.short is not None] + [x.key for x in terms]
    return list(dict.fromkeys([*keys, *re.findall(r"^    (\w+): (?!ClassVar)", body, re.MULTILINE)]))


def classes() -> dict[str, tuple[str, str]]:
    """Bases and body of every class of tables, by name."""
    found: dict[str, tuple[str, str]] = {}
    files = (*FORMATS, *sorted(STUDY.glob("*.py")), *sorted((STUDY / "tasks").glob("*.py")))
    texts = [file.read_text(encoding="utf-8") for file in files]
    for text in texts:
        for indent, name, bases, body in re.findall(
            r"^( *)class (\w+)\(([^:]*)\):[^\n]*\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL
        ):
            found[name] = (bases, "" if indent else _search_keys(bases, [text, *texts]) + body)
    return found


def _search_keys(bases: str, texts: list[str]) -> str:
    """Options of searches as lines of a class, if a base is made of a list of them, in the first file."""
    name = re.search(r"search_table\(.*?(\w+)\)", bases)
    if name is None:
        return ""
    lists = (re.search(rf"^{name[1]} = \((.*?)\)", text, re.MULTILINE | re.DOTALL) for text in texts)
    names = next(x[1] for x in lists if x is not None)
    return "".join(f"    {key}: Any\n" for key in re.findall(r'"(\w+)"', names))
