"""Names of mechanisms, joints and bodies as identifiers of C, and as comments."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

RESERVED = frozenset(
    """alignas alignof and and_eq asm atomic auto bitand bitor bool break case catch char class compl complex
    concept const constexpr const_cast continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if imaginary inline int long main mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
    restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t
    while xor xor_eq sin cos sqrt test makefile""".split()
)  # of C and C++, and of files beside


def identifier(name: str) -> str:
    """A name as an identifier: letters without accents, digits and single underscores.

    >>> identifier("Größe 2.1/left"), identifier("6dof"), identifier("double"), identifier("手")
    ('grosse_2_1_left', 'm_6dof', 'double_', 'u624b')
    """
    spelled = "".join(map(_spelled, name.lower()))
    text = re.sub(r"_+", "_", re.sub(r"[^0-9a-z]", "_", spelled)).strip("_") or "unnamed"
    text = f"m_{text}" if text[0].isdigit() else text
    return f"{text}_" if text in RESERVED else text


def unique_identifiers(names: Iterable[str]) -> list[str]:
    """Identifiers of names, numbered where they would be the same.

    >>> unique_identifiers(["a b", "a_b", "a-b", "a_b_2"])
    ['a_b', 'a_b_3', 'a_b_4', 'a_b_2']
    """
    wanted = [identifier(name) for name in names]
    taken, found = set(wanted), dict[str, None]()
    for text in wanted:
        unique, number = text, 1
        while unique in found or (number > 1 and unique in taken):
            number += 1
            unique = f"{text.rstrip('_')}_{number}"
        found[unique] = None
    return list(found)


def comment(text: str) -> str:
    r"""Text that ends no comment and starts none, in ASCII.

    >>> comment("a */ b ??/ é"), comment("two\nlines")
    ('a * / b ? ?/ <U+00E9>', 'two lines')
    """
    printable = "".join(x if " " <= x <= "~" else " " if x.isspace() else f"<U+{ord(x):04X}>" for x in text)
    for pair in ("*/", "/*", "??"):
        while pair in printable:
            printable = printable.replace(pair, f"{pair[0]} {pair[1]}")
    return printable.replace("\\", "/")


def _spelled(character: str) -> str:
    """A letter without its accent; others by their number."""
    plain = unicodedata.normalize("NFKD", character.replace("ß", "ss"))
    letters = "".join(x for x in plain if x.isascii())
    if letters or not character.isalnum():
        return letters or "_"
    return f"u{ord(character):x}"
