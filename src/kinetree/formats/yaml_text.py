"""YAML files as plain numbers, texts, lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from kinetree.errors import FileError, KinetreeError
from kinetree.formats.regular_file import check_readable, read_text

LARGEST = 1_000_000  # characters
PLAIN = (str, int, float, bool, type(None))


def yaml_content(path: Path, tags: Mapping[str, Callable[[str], object]] | None = None) -> Any:
    """What a YAML file contains; ``tags`` make values of the texts behind them, such as ``!degrees 90``.

    Aliases are refused, as they can grow without bound, and all other tags are.
    """
    check_readable(path, "YAML file")
    text = read_text(path)
    if len(text) > LARGEST:
        raise FileError(f"{path}: has {len(text)} characters; the largest allowed is {LARGEST}")

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """A safe loader with tags of its own."""

    for tag, value in (tags or {}).items():
        Loader.add_constructor(tag, lambda loader, node, value=value: value(loader.construct_scalar(node)))
    try:
        if any(isinstance(event, yaml.events.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise FileError(f"{path}: aliases (*name) are not allowed; write the names out")
        content = yaml.load(text, Loader)
    except KinetreeError:
        raise
    except yaml.YAMLError as reason:
        raise FileError(f"{path}: is not valid YAML: {' '.join(str(reason).split())}") from None
    except RecursionError:
        raise FileError(f"{path}: is nested too deeply") from None
    except (ValueError, OverflowError, TypeError) as reason:
        raise FileError(f"{path}: is not valid YAML: {reason}") from None
    _check_plain(content, path)
    return content


def _check_plain(content: object, path: Path) -> None:
    waiting = [content]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend([*item.keys(), *item.values()])
        elif isinstance(item, list):
            waiting.extend(item)
        elif not isinstance(item, PLAIN):
            raise FileError(f"{path}: a {type(item).__name__} is neither a number nor a text: {item}")
