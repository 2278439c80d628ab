"""URDF files with macros (xacro), expanded without executing anything.

The language is that of the ROS package xacro (https://wiki.ros.org/xacro): properties, arguments, macros with
block parameters, conditions, inclusions and expressions. Expressions are evaluated by
:mod:`kinetree.formats.xacro_values`. Files are read in the folders that meshes may be in; the environment is
not read. The elements of the result keep the file and the line that they come from.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kinetree.errors import FileError, InputError, cut, listed, must_be, shown, unknown_name
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.regular_file import check_readable, file_content
from kinetree.formats.xacro_functions import TEXT_TOOLS, Namespace, XacroFunction
from kinetree.formats.xacro_limits import Budget, Fault, Value, weight
from kinetree.formats.xacro_scope import (
    Lazy,
    Macro,
    MacroParameter,
    MacroScope,
    check_identifier,
    literal,
    truth,
)
from kinetree.formats.xacro_values import evaluate
from kinetree.formats.xml_file import Element, parse_xml
from kinetree.formats.yaml_text import yaml_content

Arguments = Mapping[str, str | int | float | bool]
SUFFIX = ".xacro"
PREFIX = "xacro:"
MOST_FILES = 1000  # of one expansion
UNITS = {
    "!radians": 1.0, "!degrees": 0.017453292519943295, "!meters": 1.0, "!millimeters": 0.001, "!foot": 0.3048,
    "!inches": 0.0254,
}  # fmt: skip
_PIECE = re.compile(
    r"(?P<escape>\$(?=\$+[{(])\$*[{(])|\$\{(?P<value>[^}]*)\}|\$\((?P<command>[^)]*)\)|(?P<text>[^$]+|\$(?![{($])|\$$)"
)
_PARAMETER = re.compile(
    r"""\s*(?P<name>[^\s:=]+)(?:\s*:?=\s*(?P<forward>\^\|?)?"""
    r"""(?P<default>\$\{[^}]*\}|\$\([^)]*\)|(?:'[^']*'|"[^"]*"|[^\s'"])+)?)?(?=\s|$)"""
)


def has_macros(robot: Element, file: Path) -> bool:
    """Whether a file is to be expanded: by its name, or as it has elements of the xacro namespace."""
    if file.suffix.lower() == SUFFIX:
        return True
    waiting = [robot]
    while waiting:
        element = waiting.pop()
        if element.tag.startswith("{") and "xacro" in element.tag.partition("}")[0]:
            return True
        waiting.extend(element.children)
    return False


def checked_arguments(arguments: object) -> dict[str, str]:
    """Arguments of a xacro file as the texts that ``$(arg name)`` gives."""
    if not isinstance(arguments, Mapping):
        raise InputError(must_be("arguments", "a dict of values by name", arguments))
    texts = {}
    for name, value in arguments.items():
        if not isinstance(name, str) or not isinstance(value, str | int | float):
            raise InputError(must_be(f"arguments: '{name}'", "a text, a number or a truth value", value))
        texts[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return texts


def expanded(
    file: Path, folder: MeshFolder, arguments: Mapping[str, str], passed: PassedOver
) -> tuple[Element, MeshFolder]:
    """The root element of a file without its macros, and the folders with the packages that it names.

    ``$(find name)`` is searched as ``package://name`` is.
    """
    expansion = _Expansion(file, folder, arguments, passed)
    try:
        root = expansion.robot(file)
    except RecursionError:
        raise FileError(
            f"{expansion.place}: macros or expressions are nested too deeply; does a macro call itself?"
        ) from None
    except Fault as fault:
        raise FileError(f"{expansion.place}: {fault}") from None
    expansion.check_arguments()
    return root, replace(folder, packages={**folder.packages, **expansion.packages})


class _Expansion:
    """The expansion of one file and of all that it includes."""

    def __init__(
        self, file: Path, folder: MeshFolder, arguments: Mapping[str, str], passed: PassedOver
    ) -> None:
        self.top, self.folder, self.passed = file, folder, passed
        self.given, self.defaults = dict(arguments), dict[str, str]()
        self.asked: set[str] = set()
        self.files: list[Path] = []  # that are being read, the innermost last
        self.count = 0
        self.packages: dict[str, Path] = {}
        self.budget = Budget()
        self.place = str(file)
        self.uris: set[str] = set()
        self.tools = Namespace("xacro", self._tools())

    # ---- files ----------------------------------------------------------------------------------------

    def robot(self, file: Path) -> Element:
        """The root element of the result."""
        root = self._parsed(file, self.passed.source)
        made = Element(self._plain_tag(root), {}, root.source, root.line)
        self.files.append(file)
        scope = MacroScope()
        self._content(root, made, scope)
        self._attributes(root, made, scope)  # now, as they may use arguments that are declared inside
        return _finished(made)

    def _parsed(self, file: Path, source: str) -> Element:
        self.count += 1
        if self.count > MOST_FILES:
            raise Fault(f"more than {MOST_FILES} files are included")
        self._check_readable(file, "xacro file")
        content = file_content(file)
        self.budget.bytes(len(content))
        self.uris.update(
            x.decode(errors="replace") for x in re.findall(rb"xmlns:xacro\s*=\s*[\"']([^\"']*)[\"']", content)
        )
        return parse_xml(content, source, self.passed)

    def _check_readable(self, file: Path, what: str) -> None:
        try:
            check_readable(file, what)
        except FileError as reason:
            raise Fault(str(reason)) from None

    def _path(self, name: str) -> Path:
        """The path of a file that is included, in one of the folders that may be read."""
        current = self.files[-1]
        path = os.path.normpath(os.path.join(os.path.abspath(current.parent), name))
        for package in self.packages.values():
            if Path(os.path.realpath(path)).is_relative_to(os.path.realpath(package)):
                return Path(path)
        folder = self.folder.beside(current)
        try:
            return (folder.root or Path()) / folder.kept(name, "", "file")
        except FileError as reason:
            raise Fault(str(reason).removeprefix(": ")) from None

    def _package(self, name: str) -> str:
        found = self.folder.package(name)
        if found is None and self.files:
            found = self.folder.beside(self.files[-1]).package(name)
        if found is None:
            raise Fault(
                f"package '{cut(name)}' is neither above the file nor in ROS_PACKAGE_PATH or "
                f"AMENT_PREFIX_PATH; packages={{'{cut(name)}': folder}} gives its folder"
            )
        self.packages[name] = found
        return str(found)

    # ---- elements -------------------------------------------------------------------------------------

    def _word(self, element: Element) -> str | None:
        """The name of an element of xacro without its prefix; None for all others."""
        if not element.tag.startswith("{"):
            return None
        uri, _, name = element.tag[1:].partition("}")
        return name if uri in self.uris or "xacro" in uri else None

    def _plain_tag(self, element: Element) -> str:
        if self._word(element) is not None:
            raise FileError(f"{element.place}: the root element cannot be one of xacro")
        return element.tag

    def _at(self, element: Element) -> str:
        self.place = f"{element.source}, line {element.line}"
        return self.place

    def _handle(self, element: Element, target: Element, scope: MacroScope) -> None:
        """Put what an element of the file stands for into an element of the result."""
        place = self._at(element)
        word = self._word(element)
        try:
            self.budget.step(10)
            if word is None:
                self._copy(element, element.tag, target, scope)
                return
            rule = _RULES.get(word)
            if rule is not None:
                rule(self, element, target, scope)
            else:
                self._call(word, element, target, scope)
        except Fault as fault:
            raise FileError(f"{place}: <{PREFIX}{word}>: {fault}" if word else f"{place}: {fault}") from None

    def _copy(self, element: Element, tag: str, target: Element, scope: MacroScope) -> None:
        self.budget.element()
        made = Element(tag, {}, element.source, element.line, target)
        self._attributes(element, made, scope)
        self._content(element, made, scope)
        target.parts.append(_finished(made))

    def _attributes(self, element: Element, target: Element, scope: MacroScope) -> None:
        for key, value in element.attributes.items():
            if not self._is_own(key):
                target.attributes[key] = self.budget.text(str(self._text(value, element, scope)))

    def _is_own(self, key: str) -> bool:
        """Whether an attribute is one of xacro."""
        return key.startswith("{") and (
            key[1:].partition("}")[0] in self.uris or "xacro" in key.partition("}")[0]
        )

    def _content(self, element: Element, target: Element, scope: MacroScope) -> None:
        for part in element.parts:
            if isinstance(part, Element):
                self._handle(part, target, scope)
            else:
                target.parts.append(self.budget.text(str(self._text(part, element, scope))))

    def _wanted(self, element: Element, *names: str, also: tuple[str, ...] = ()) -> list[str]:
        """Attributes that an element of xacro must have; those that it does not know are noted."""
        for name in names:
            if name not in element.attributes:
                raise Fault(f"the attribute '{name}' is missing")
        for name in element.unknown_attributes((*names, *also)):
            self.passed.note(
                "unknown-element",
                f"attribute '{name}' of xacro",
                f"{self._at(element)}: unknown attribute '{name}'",
            )
        return [element.attributes[name] for name in names]

    # ---- the elements of xacro ------------------------------------------------------------------------

    def _property(self, element: Element, target: Element, scope: MacroScope) -> None:
        also = ("value", "default", "remove", "scope", "lazy_eval")
        (written,) = self._wanted(element, "name", also=also)
        given = element.attributes
        name = str(self._text(written, element, scope))
        check_identifier(name)
        remove = self._flag(element, "remove", False, scope)
        if ("value" in given) + ("default" in given) + remove > 1:
            raise Fault(f"property '{name}' has more than one of value, default and remove")
        if remove:
            scope.remove(name)
            return
        if "default" in given and scope.knows(name):
            return
        text = given.get("value", given.get("default"))
        lazy = self._flag(element, "lazy_eval", True, scope)
        where = given.get("scope", "")
        if where not in ("", "parent", "global"):
            raise Fault(f"scope must be parent or global, got '{cut(where)}'")
        owner = {"parent": scope.caller, "global": scope.top}.get(where, scope)
        if text is None:
            owner.properties["**" + name] = element
        elif where or not lazy:
            owner.properties[name] = literal(self._text(text, element, scope))
        else:
            found = literal(text)
            owner.properties[name] = self._later(found, element, scope) if isinstance(found, str) else found

    def _later(self, text: str, element: Element, scope: MacroScope) -> Lazy:
        def value() -> Value:
            outer = self.place
            place = self._at(element)
            try:
                return self._text(text, element, scope)
            except Fault as fault:
                raise FileError(f"{place}: property '{element.attributes['name']}': {fault}") from None
            finally:
                self.place = outer

        return Lazy(value)

    def _flag(self, element: Element, name: str, usual: bool, scope: MacroScope) -> bool:
        if name not in element.attributes:
            return usual
        written = element.attributes[name]
        return truth(self._text(written, element, scope), written)

    def _argument(self, element: Element, target: Element, scope: MacroScope) -> None:
        (name,) = self._wanted(element, "name", also=("default",))
        self.asked.add(name)
        if name not in self.given and name not in self.defaults and "default" in element.attributes:
            self.defaults[name] = str(self._text(element.attributes["default"], element, scope))

    def _condition(self, element: Element, target: Element, scope: MacroScope) -> None:
        (written,) = self._wanted(element, "value")
        wanted = self._word(element) == "if"
        if truth(self._text(written, element, scope), written) is wanted:
            self._content(element, target, scope)

    def _include(self, element: Element, target: Element, scope: MacroScope) -> None:
        (written,) = self._wanted(element, "filename", also=("ns", "optional"))
        optional = truth(element.attributes.get("optional", "false"), "optional")
        inner = scope
        if "ns" in element.attributes:
            inner = MacroScope(scope, is_namespace=True)
            scope.namespaces[str(self._text(element.attributes["ns"], element, scope))] = inner
        name = str(self._text(written, element, scope))
        for path in self._matching(name):
            if optional and not path.exists():
                continue
            if path in self.files:
                raise Fault(f"'{cut(name)}' includes itself")
            root = self._parsed(path, str(path))
            self.files.append(path)
            self._content(root, target, inner)
            self.files.pop()

    def _matching(self, name: str) -> list[Path]:
        if not re.search(r"[*?\[]", name):
            return [self._path(name)]
        pattern = str(self._path(name))  # which stays inside the folders; what it matches is tested again
        found = [self._path(path) for path in sorted(glob.glob(pattern))[: MOST_FILES + 1]]
        if not found:
            self.passed.note(
                "missing-element",
                "xacro:include without a file",
                f"{self.place}: no file matches '{cut(name)}'",
            )
        return found

    def _macro(self, element: Element, target: Element, scope: MacroScope) -> None:
        (written,) = self._wanted(element, "name", also=("params",))
        name = written.removeprefix(PREFIX)
        if name == "call" or "." in name:
            raise Fault(f"'{cut(name)}' cannot be the name of a macro")
        scope.macros[name] = Macro(element, _parameters(element.attributes.get("params", "")))

    def _dynamic_call(self, element: Element, target: Element, scope: MacroScope) -> None:
        if "macro" not in element.attributes:
            raise Fault("the attribute 'macro' is missing")
        name = str(self._text(element.attributes["macro"], element, scope))
        rest = {key: value for key, value in element.attributes.items() if key != "macro"}
        self._call(name, replace(element, attributes=rest), target, scope)

    def _call(self, name: str, element: Element, target: Element, scope: MacroScope) -> None:
        """Put the body of a macro in place of its call."""
        found = scope.macro(name)
        if found is None and self.top.suffix.lower() != SUFFIX and not _macro_names(scope):
            message = f"{self.place}: the macro '{cut(name)}' is called, but the file has no macros"
            self.passed.note("unknown-element", f"calls of xacro macros ({cut(name)})", message)
            return
        if found is None:
            raise Fault(unknown_name("macro", name, _macro_names(scope)))
        around, macro = found
        inner, waiting = MacroScope(around), list(macro.parameters)
        for key, value in element.attributes.items():
            parameter = next((x for x in waiting if x.name == key), None)
            if parameter is None:
                raise Fault(unknown_name("parameter", key, [x.name for x in macro.parameters]))
            waiting.remove(parameter)
            inner.properties[key] = literal(self._text(value, element, scope))
        given = Element(element.tag, {}, element.source, element.line)
        self._content(element, given, scope)
        self._at(element)
        blocks = _finished(given).children
        for parameter in [x for x in waiting if x.is_block]:
            if not blocks:
                raise Fault(f"the block '{parameter.name.lstrip('*')}' is missing")
            inner.properties[parameter.name] = blocks.pop(0)
            waiting.remove(parameter)
        if blocks:
            raise Fault(f"<{cut(blocks[0].tag)}> is not the block of a parameter")
        for parameter in [x for x in waiting if x.has_default]:
            inner.properties[parameter.name] = self._default(parameter, element, scope)
            waiting.remove(parameter)
        if waiting:
            raise Fault(f"parameters are missing: {listed(x.name for x in waiting)}")
        self._content(macro.body, target, inner)

    def _default(self, parameter: MacroParameter, element: Element, scope: MacroScope) -> Value:
        if parameter.forwards:
            try:
                return scope.value(parameter.name)
            except KeyError:
                if parameter.default is None:
                    raise Fault(f"there is no property '{parameter.name}' to forward") from None
        return literal(self._text(parameter.default or "", element, scope))

    def _block(self, element: Element, target: Element, scope: MacroScope) -> None:
        (name,) = self._wanted(element, "name")
        for key in ("**" + name, "*" + name):
            if scope.owner(key) is not None:
                block = scope.value(key)
                assert isinstance(block, Element)
                if key.startswith("**"):
                    self._content(block, target, scope)
                else:
                    self._copy(block, block.tag, target, scope)
                return
        raise Fault(f"there is no block '{cut(name)}'")

    def _element(self, element: Element, target: Element, scope: MacroScope) -> None:
        written = next(
            (x for key, x in element.attributes.items() if self._is_own(key) and _local(key) == "name"), ""
        )
        name = str(self._text(written, element, scope))
        if not name:
            raise Fault("the attribute 'xacro:name' is missing or empty")
        self._copy(element, name, target, scope)

    def _attribute(self, element: Element, target: Element, scope: MacroScope) -> None:
        written = self._wanted(element, "name", "value")
        name, value = (str(self._text(x, element, scope)) for x in written)
        if not name:
            raise Fault("the name is empty")
        target.attributes[name] = self.budget.text(value)

    # ---- texts ----------------------------------------------------------------------------------------

    def _text(self, text: str, element: Element, scope: MacroScope) -> Value:
        """A text with its ``${...}`` and ``$(...)`` evaluated; a single one keeps its type."""
        if "$" not in text:
            return text
        found: list[Value] = []
        at = 0
        while at < len(text):
            match = _PIECE.match(text, at)
            if match is None:
                raise Fault(f"'{cut(text[at:])}' is not closed")
            at = match.end()
            self.budget.step()
            if match["value"] is not None:
                found.append(self._expression(match["value"], element, scope))
            elif match["command"] is not None:
                found.append(self._command(match["command"], element, scope))
            elif match["escape"] is not None:
                found.append(match["escape"][1:])
            else:
                found.append(match["text"])
        if len(found) == 1:
            return found[0]
        return self.budget.value("".join(_written(x) for x in found))

    def _expression(self, written: str, element: Element, scope: MacroScope) -> Value:
        text = str(self._text(written, element, scope))

        def lookup(name: str) -> Value:
            if name in _TOOL_NAMES and not scope.knows(name):
                return self.tools.members[name]
            return self.tools if name == "xacro" and scope.owner(name) is None else scope.value(name)

        try:
            value = evaluate(text, lookup, self.budget)
        except Fault as fault:
            raise Fault(f"in '${{{cut(text)}}}': {fault}") from None
        if isinstance(value, XacroFunction | Namespace | MacroScope | slice):
            raise Fault(f"'${{{cut(text)}}}' is not a value")
        return value

    def _command(self, written: str, element: Element, scope: MacroScope) -> Value:
        text = str(self._text(written, element, scope))
        if text.startswith("eval "):
            return str(evaluate(text[5:], self._argument_value, self.budget))
        word, *rest = text.split() or [""]
        if word == "cwd" and not rest:
            return os.path.abspath(self.top.parent)
        if word == "dirname" and not rest:
            return os.path.abspath(self.files[-1].parent)
        if word == "find" and len(rest) == 1:
            return self._package(rest[0])
        if word == "arg" and len(rest) == 1:
            return self._given(rest[0])
        if word == "env" and len(rest) == 1:
            return self._variable(rest[0], None)
        if word == "optenv" and rest:
            return self._variable(rest[0], " ".join(rest[1:]))
        raise Fault(
            f"'$({cut(text)})' is not supported; known: $(arg NAME), $(find PACKAGE), $(dirname), $(eval ...)"
        )

    def _given(self, name: str) -> str:
        self.asked.add(name)
        for known in (self.given, self.defaults):
            if name in known:
                return known[name]
        raise Fault(
            f"the argument '{cut(name)}' has no default and is not given; pass "
            f"arguments={{'{cut(name)}': value}}, or --arg {cut(name)}:=VALUE"
        )

    def _argument_value(self, name: str) -> Value:
        """What a name means in ``$(eval ...)``: the argument with that name."""
        if name in ("true", "false"):
            return name == "true"
        if name not in self.given and name not in self.defaults:
            raise KeyError(name)
        return literal(self._given(name))

    def _variable(self, name: str, default: str | None) -> str:
        """A variable of the environment: taken from the arguments, as the environment is not read."""
        self.asked.add(name)
        if name in self.given:
            return self.given[name]
        if default is None:
            raise Fault(
                f"environment variables are not read; pass arguments={{'{cut(name)}': value}}, "
                f"or --arg {cut(name)}:=VALUE"
            )
        if name in os.environ and os.environ[name] != default:
            self.passed.mention(
                "not-used",
                f"environment variable '{cut(name)}'",
                f"{self.place}: the environment variable '{cut(name)}' is not read; the default "
                f"'{cut(default)}' is used; --arg {cut(name)}:=VALUE gives another",
            )
        return default

    def check_arguments(self) -> None:
        """Every argument that was given must be one of the file."""
        for name in self.given:
            if name not in self.asked:
                raise InputError(unknown_name("argument", name, sorted(self.asked)).after(f"{self.top}: "))

    # ---- functions that know the files ----------------------------------------------------------------

    def _tools(self) -> dict[str, Value]:
        def said(*words: Value, **options: Value) -> str:
            text = cut(" ".join(map(str, words)))
            self.passed.mention("not-used", f"message of the file: {text}", f"{self.place}: message: {text}")
            return ""

        made: dict[str, Callable[..., Value]] = {
            "load_yaml": self._yaml,
            "abs_filename": lambda name: os.path.join(os.path.abspath(self.files[-1].parent), _name(name)),
            "arg": lambda name: self._given(_name(name)),
        }
        messages = {
            name: XacroFunction(name, said, any_keyword=True)
            for name in ("message", "warning", "error", "print_location")
        }
        return {**TEXT_TOOLS, **messages, **{name: XacroFunction(name, call) for name, call in made.items()}}

    def _yaml(self, name: Value) -> Value:
        path = self._path(_name(name))
        self._check_readable(path, "YAML file")
        self.budget.bytes(path.stat().st_size)
        self.count += 1
        if self.count > MOST_FILES:
            raise Fault(f"more than {MOST_FILES} files are read")

        content = yaml_content(path, {tag: self._unit(size) for tag, size in UNITS.items()})
        weight(content)
        return content

    def _unit(self, size: float) -> Callable[[str], float]:
        """What makes an SI value of the expression behind a tag such as !degrees."""

        def unknown(name: str) -> Value:
            raise KeyError(name)

        def number(text: str) -> float:
            found = evaluate(text, unknown, self.budget)
            if not isinstance(found, int | float):
                raise Fault(f"'{cut(text)}' is not a number")
            return float(found) * size

        return number


_TOOL_NAMES = ("load_yaml", "abs_filename")
_RULES: dict[str, Callable[[_Expansion, Element, Element, MacroScope], None]] = {
    "property": _Expansion._property,
    "arg": _Expansion._argument,
    "if": _Expansion._condition,
    "unless": _Expansion._condition,
    "include": _Expansion._include,
    "macro": _Expansion._macro,
    "call": _Expansion._dynamic_call,
    "insert_block": _Expansion._block,
    "element": _Expansion._element,
    "attribute": _Expansion._attribute,
}


def _finished(element: Element) -> Element:
    """An element whose children and content are those of its parts."""
    element.children = [part for part in element.parts if isinstance(part, Element)]
    element.content = "".join(part for part in element.parts if isinstance(part, str)).strip()
    return element


def _written(value: Value) -> str:
    return value if isinstance(value, str) else str(value)


def _name(value: Value) -> str:
    if not isinstance(value, str):
        raise Fault(f"the name of a file or argument must be a text, got {shown(value)}")
    return value


def _local(key: str) -> str:
    return key.rpartition("}")[2]


def _macro_names(scope: MacroScope) -> list[str]:
    names: dict[str, None] = {}
    inner: MacroScope | None = scope
    while inner is not None:
        names.update(dict.fromkeys(inner.macros))
        inner = inner.parent
    return list(names)


def _parameters(text: str) -> list[MacroParameter]:
    """The parameters of a macro, as its attribute ``params`` lists them.

    >>> [(x.name, x.default, x.forwards) for x in _parameters("name mass:=1.5 tip:=^|0 *origin")]
    [('name', None, False), ('mass', '1.5', False), ('tip', '0', True), ('*origin', None, False)]
    """
    found, at = [], 0
    while text[at:].strip():
        match = _PARAMETER.match(text, at)
        if match is None:
            raise Fault(f"'{cut(text[at:].strip())}' is not a parameter")
        found.append(MacroParameter(match["name"], match["default"], match["forward"] is not None))
        at = match.end()
    return found
