"""The documents' derivations of the equations of motion, side by side: same functions, same tree.

| name | what | source |
|---|---|---|
| spatial | the library's own kernels (the default) | Featherstone 2008 |
| plain | the same algorithms in 6-vectors and NumPy: read these first | Featherstone 2008 |
| newton_euler | recursive Newton-Euler in moving frames, with sensitivities | [Barman2020], [NCTU] |
| lagrangian | recursive Lagrangian with 4 x 4 matrices, with sensitivities | [Xiang2009] |
| closed_form | regular Lagrangian: M, V, G term by term | [Xiang2009], [NCTU] |
| walker_orin | mass matrix and forward dynamics from inverse dynamics alone | [NCTU] |
| denoc | decoupled natural orthogonal complement, by modules | [Mohan2007], [Shah2013] |

Modules are loaded when first asked for.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from kinetree.derivations.contract import ABILITIES, Formulation
from kinetree.errors import InputError, unknown_name

NAMES = ("spatial", "newton_euler", "lagrangian", "closed_form", "walker_orin", "denoc", "plain")


def module_of(name: str) -> ModuleType:
    """The module of a formulation."""
    if name not in NAMES:
        raise InputError(unknown_name("formulation", name, NAMES))
    return import_module(f"kinetree.derivations.{name}")


def described(name: str) -> Formulation:
    """What a formulation says of itself."""
    formulation: Formulation = module_of(name).FORMULATION
    return formulation


def able(ability: str) -> tuple[str, ...]:
    """The formulations that offer a function."""
    if ability not in ABILITIES:
        raise InputError(unknown_name("ability", ability, ABILITIES))
    return tuple(name for name in NAMES if ability in described(name).can)
