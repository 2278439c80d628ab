"""What new files are made of: templates, how a file is read, and what lets joint limits act."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from kinetree.model.mechanism import Mechanism
from kinetree.state import independent_axes

FOLDER = Path(__file__).with_name("templates")


class FileTemplate:
    """The sections of a file of ``templates/``: each begins at a line ``#: NAME``.

    >>> print(FileTemplate("pendulum").filled("all", mass=1.5, length=0.4).splitlines()[1])
    name = "bob"
    """

    def __init__(self, name: str) -> None:
        parts = (FOLDER / f"{name}.toml").read_text(encoding="utf-8").split("#: ")[1:]
        self._sections = dict(part.split("\n", 1) for part in parts)

    def filled(self, section: str, **values: float | str) -> str:
        """A section with ``$name`` replaced by values; numbers have six digits."""
        texts = {name: x if isinstance(x, str) else f"{x:g}" for name, x in values.items()}
        return Template(self._sections[section]).substitute(texts)


def option_lines(options: Mapping[str, Any]) -> list[str]:
    """The line with the options that the file of a mechanism is read with.

    >>> option_lines({"floating_base": True, "contacts": ["foot"]})
    ['parameters = { floating_base = true, contacts = ["foot"] }']
    """
    if not options:
        return []
    return [f"parameters = {_inline(options)}"]


def stop_lines(mechanism: Mechanism) -> list[str]:
    """Springs at the limits of joints, as firm as the weight needs: simulators of other formats have them."""
    axes = independent_axes(mechanism)
    limits = mechanism.tree.lower[axes], mechanism.tree.upper[axes]
    if not np.isfinite(limits).any():
        return []
    stiffness = float(f"{max(100.0, 50.0 * mechanism.mass):.1g}")
    return [
        "[stops]  # springs at the limits of joints",
        f"stiffness = {stiffness:g}  # N m/rad, N/m",
        f"damping = {stiffness / 100.0:g}  # N m s/rad, N s/m",
        "",
    ]


def _inline(value: Any) -> str:
    """A value as TOML on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_inline(x)}" for name, x in value.items())
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list):
        return f"[{', '.join(_inline(x) for x in value)}]"
    return json.dumps(value)


def _key(name: str) -> str:
    plain = all(x.isascii() and (x.isalnum() or x in "-_") for x in name)
    return name if plain and name else json.dumps(name)
