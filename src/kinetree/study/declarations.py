"""Collect what the code declares for study files.

``python -m kinetree.study.declarations`` stores it as data, which is read instead of the code.
"""

from __future__ import annotations

from kinetree.declare.declaration import Declaration, declaration_of, is_declared
from kinetree.declare.stored import FILE, as_text


def collected() -> dict[str, list[Declaration]]:
    """All declarations of the code by section, in the order of the public names."""
    from kinetree.motion import terms

    kinds = [kind for name in terms.__all__ if is_declared(kind := getattr(terms, name))]
    objectives = [kind for kind in kinds if issubclass(kind, terms.Objective)]
    return {
        "objectives": [declaration_of(kind) for kind in objectives],
        "constraints": [declaration_of(kind) for kind in kinds if kind not in objectives],
    }


if __name__ == "__main__":
    FILE.write_text(as_text(collected()), encoding="utf-8")
