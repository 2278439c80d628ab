"""Changes that leave a model plausible: other numbers, names, axes and kinds, branches removed or doubled.

What is accepted is compared with other formulations, so that most mutated files should be mechanisms that
somebody might have written.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from copy import deepcopy

import numpy as np

Rng = np.random.Generator
NUMBER = re.compile(r"(?<![\w.#-])-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])")
NAME = re.compile(r"""(["'])([A-Za-z_][\w.]{1,40})\1""")
KINDS = {
    ".urdf": ("revolute", "continuous", "prismatic", "fixed", "floating", "planar"),
    ".xml": ("hinge", "slide", "ball"),
    ".sdf": ("revolute", "continuous", "prismatic", "fixed", "ball", "universal"),
    ".toml": ("revolute", "prismatic", "spherical", "universal", "free", "planar"),
}
PLAIN = {"<option", "<compiler", "<?xml", "<sdf", "version"}  # lines whose numbers are no lengths or masses


def plausible(rng: Rng, text: str, suffix: str, times: int = 5) -> str:
    """A text with one to some changes of which each leaves a model that can be meant."""
    for _ in range(int(rng.integers(1, times + 1))):
        text = _change(rng, suffix)(rng, text)
    return text


def _change(rng: Rng, suffix: str) -> Callable[[Rng, str], str]:
    changes: list[Callable[[Rng, str], str]] = [other_number, other_number, other_number, rounded, renamed]
    kinds = KINDS[suffix]
    changes.append(lambda rng, text: other_kind(rng, text, kinds))
    if suffix == ".toml":
        changes += [lambda rng, text: text + "\n# a comment\n"]
    else:
        changes += [_in_tree(shuffled), _in_tree(without_leaf), _in_tree(with_note), _in_tree(other_axis)]
    return changes[int(rng.integers(len(changes)))]


def other_number(rng: Rng, text: str) -> str:
    """One number a little larger or smaller; some become zero or change their sign."""
    lines = text.split("\n")
    places = [k for k, line in enumerate(lines) if NUMBER.search(line) and not any(x in line for x in PLAIN)]
    if not places:
        return text
    k = places[int(rng.integers(len(places)))]
    found = list(NUMBER.finditer(lines[k]))
    here = found[int(rng.integers(len(found)))]
    kind = int(rng.integers(12))
    value = float(here.group()) * float(rng.uniform(0.8, 1.25))
    value = -value if kind == 0 else 0.0 if kind == 1 else value
    lines[k] = f"{lines[k][: here.start()]}{value!r}{lines[k][here.end() :]}"
    return "\n".join(lines)


def rounded(rng: Rng, text: str) -> str:
    """All numbers of a line to some digits."""
    lines = text.split("\n")
    k, digits = int(rng.integers(len(lines))), int(rng.integers(3, 9))
    if not any(x in lines[k] for x in PLAIN):
        lines[k] = NUMBER.sub(
            lambda x: f"{float(x.group()):.{digits}g}" if "." in x.group() else x.group(), lines[k]
        )
    return "\n".join(lines)


def renamed(rng: Rng, text: str) -> str:
    """Another name for something, wherever it is named; only names that occur more than once."""
    names = [x.group(2) for x in NAME.finditer(text)]
    often = sorted({x for x in names if names.count(x) > 1 and any(c.isdigit() or c == "_" for c in x)})
    if not often:
        return text
    old = often[int(rng.integers(len(often)))]
    new = (f"{old}_{int(rng.integers(100))}", f"my {old}", f"{old}é", f"{old}.{old}")[int(rng.integers(4))]
    return re.sub(rf"""(["'>]){re.escape(old)}(["'<])""", rf"\g<1>{new}\g<2>", text)


def other_kind(rng: Rng, text: str, kinds: tuple[str, ...]) -> str:
    """A joint of another kind."""
    found = [x for kind in kinds for x in re.finditer(rf'"{kind}"', text)]
    if not found:
        return text
    here = found[int(rng.integers(len(found)))]
    new = kinds[int(rng.integers(min(len(kinds), 3 if rng.integers(4) else len(kinds))))]
    return f'{text[: here.start()]}"{new}"{text[here.end() :]}'


def _in_tree(change: Callable[[Rng, ET.Element], None]) -> Callable[[Rng, str], str]:
    """A change of elements as one of texts; a text that is no tree stays as it is."""

    def changed(rng: Rng, text: str) -> str:
        try:
            root = ET.fromstring(text)
        except ET.ParseError:
            return text
        change(rng, root)
        return ET.tostring(root, encoding="unicode")

    return changed


def shuffled(rng: Rng, root: ET.Element) -> None:
    """Children of an element in another order."""
    parents = [x for x in root.iter() if len(x) > 1]
    if parents:
        parent = parents[int(rng.integers(len(parents)))]
        children = list(parent)
        parent[:] = [children[k] for k in rng.permutation(len(children))]


def without_leaf(rng: Rng, root: ET.Element) -> None:
    """Something that can be left out is: limits, dynamics, geometry, or a link at an end with its joint."""
    small = ("limit", "dynamics", "visual", "collision", "geom", "mimic", "safety_controller", "material")
    found = [(parent, x) for parent in root.iter() for x in parent if x.tag in small]
    parents = {x.get("link") or x.text for joint in root.iter("joint") for x in joint.iter("parent")}
    for owner in root.iter():
        for link in owner.findall("link"):
            joint = next((x for x in owner.findall("joint") if _child(x) == link.get("name")), None)
            if joint is not None and link.get("name") not in parents:
                found += [(owner, link)]
    if not found:
        return
    owner, chosen = found[int(rng.integers(len(found)))]
    owner.remove(chosen)
    if chosen.tag == "link":
        for joint in [x for x in owner.findall("joint") if _child(x) == chosen.get("name")]:
            owner.remove(joint)


def _child(joint: ET.Element) -> str | None:
    found = joint.find("child")
    return None if found is None else found.get("link") or found.text


def with_note(rng: Rng, root: ET.Element) -> None:
    """A comment, a repeated picture, or (in formats that others extend) an element that nobody knows."""
    elements = list(root.iter())
    here = elements[int(rng.integers(len(elements)))]
    pictures = [x for x in here if x.tag in ("visual", "collision", "geom")]
    if pictures:
        here.append(deepcopy(pictures[0]))
    else:
        here.insert(0, ET.Comment(" written by hand "))


def other_axis(rng: Rng, root: ET.Element) -> None:
    """A joint about another axis, or a frame that is rotated further."""
    places = [(x, key) for x in root.iter() for key in ("axis", "xyz", "rpy", "euler", "pos") if x.get(key)]
    texts = [x for x in root.iter() if x.tag in ("xyz", "pose") and x.text]
    if not places and not texts:
        return
    k = int(rng.integers(len(places) + len(texts)))
    element, key = places[k] if k < len(places) else (texts[k - len(places)], "")
    old = (element.get(key) or "").split() if key else (element.text or "").split()
    try:
        values = np.array([float(x) for x in old]) + rng.normal(scale=0.3, size=len(old))
    except ValueError:
        return
    new = " ".join(f"{x:.6g}" for x in values)
    if key:
        element.set(key, new)
    else:
        element.text = new
