"""XML read safely into plain elements that know the line they stand on."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar
from xml.etree.ElementTree import ParseError
from xml.parsers.expat import errors as expat

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

from kinetree.algebra.arrays import Array, frozen
from kinetree.errors import FileError, ModelError, cut, listed
from kinetree.formats.passed_over import PassedOver

DEEPEST = 500  # elements inside each other, about as in MuJoCo: a chain in MJCF is as deep as it is long
CUT_OFF = {expat.codes[text] for text in (expat.XML_ERROR_NO_ELEMENTS, expat.XML_ERROR_UNCLOSED_TOKEN)}
_NO_TAGS = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))  # nothing between these is a tag
_TAG = re.compile(r"<[^<>]*>")
_TEXT = re.compile(r"\"[^\"]*\"|'[^']*'")
_TAG_NAME = re.compile(r"<[A-Za-z_][\w.:-]*")
_PREFIX = re.compile(r"(?:</?|\s)([A-Za-z_][\w.-]*):[A-Za-z_]")

Made = TypeVar("Made")


@dataclass(eq=False)
class Element:
    """An XML element: tag, attributes, children, and where it stands (``source`` file, ``line``).

    ``content`` is the text directly inside it, without blanks around it; ``parts`` are its texts and children
    in their order.
    """

    tag: str
    attributes: dict[str, str]
    source: str
    line: int
    parent: Element | None = None
    children: list[Element] = field(default_factory=list)
    content: str = ""
    parts: list[str | Element] = field(default_factory=list)

    @property
    def plain_tag(self) -> str:
        """The tag without its namespace."""
        return self.tag.rpartition("}")[2]

    def is_of(self, space: str) -> bool:
        """Whether the tag has a namespace with this word in it, such as 'drake'."""
        return self.tag.startswith("{") and space in self.tag.partition("}")[0]

    @property
    def place(self) -> str:
        """Where the element stands, to begin a message with: file, line, and the names around it."""
        around: list[str] = []
        owner: Element | None = self
        while owner is not None and len(around) < 3:
            if "name" in owner.attributes and (owner.parent is not None or not around):
                around.append(f"{owner.tag} '{owner.attributes['name']}'")
            elif owner is self or (owner.parent is None and not around):
                around.append(f"<{owner.tag}>")
            owner = owner.parent
        return f"{self.source}, line {self.line}, {' of '.join(around)}"

    def all(self, tag: str) -> list[Element]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The only child with a tag, or None."""
        found = self.all(tag)
        if len(found) > 1:
            raise FileError(
                f"{found[1].place}: there may be only one <{tag}>, the first is on line {found[0].line}"
            )
        return found[0] if found else None

    def keep_first(self, tags: Collection[str], passed: PassedOver) -> None:
        """Drop the children after the first of each of these tags, and note them."""
        seen: dict[str, Element] = {}
        for child in list(self.children):
            if child.tag not in tags:
                continue
            if child.tag in seen:
                first = seen[child.tag].line
                said = f"{child.place}: there may be only one <{child.tag}>, the first is on line {first}"
                passed.note("not-used", f"<{child.tag}> after the first of a <{self.tag}>", said)
                self.children.remove(child)
            seen.setdefault(child.tag, child)

    def needed(self, tag: str) -> Element:
        """The only child with a tag; it must be there."""
        child = self.one(tag)
        if child is None:
            raise FileError(self.missing(tag))
        return child

    def missing(self, tag: str) -> str:
        """The message that a child is missing."""
        return f"{self.place}: a <{tag}> is missing; <{self.tag}> needs one"

    def without(self, key: str) -> str:
        """The message that an attribute is missing."""
        return f"{self.place}: <{self.tag}> needs the attribute '{key}', as in <{self.tag} {key}=\"...\">"

    def text(self, key: str) -> str:
        """A required attribute."""
        if key not in self.attributes:
            raise FileError(self.without(key))
        return self.attributes[key]

    def number(self, key: str, default: float | None = None) -> float:
        """An attribute that is one number; infinity and NaN pass, their owner judges them."""
        if default is not None and key not in self.attributes:
            return default
        return self._number(key, *self._words(key, self.text(key), 1))

    def numbers(self, key: str, count: int, default: Collection[float] | None = None) -> Array:
        """An attribute that is a number of numbers separated by blanks."""
        if default is not None and key not in self.attributes:
            return frozen(list(default))
        return frozen([self._number(key, word) for word in self._words(key, self.text(key), count)])

    def inner_numbers(self, count: int) -> Array:
        """The text inside the element as a number of numbers separated by blanks."""
        what = f"<{self.tag}>"
        return frozen([self._number(what, word) for word in self._words(what, self.content, count)])

    def _words(self, key: str, text: str, count: int) -> list[str]:
        words = text.split()
        if len(words) != count:
            wanted = "one number" if count == 1 else f"{count} numbers separated by blanks"
            raise FileError(f"{self.place}: {key} must be {wanted}, got '{cut(text)}'{_comma(words)}")
        return words

    def _number(self, key: str, word: str) -> float:
        try:
            if "_" in word or not word.isascii():
                raise ValueError
            return float(word)
        except ValueError:
            raise FileError(f"{self.place}: {key} must be a number, got '{word}'{_comma([word])}") from None

    def unknown_attributes(self, known: Collection[str]) -> list[str]:
        """Attributes that are none of the known ones; those with a namespace are extensions."""
        return [key for key in self.attributes if key not in known and not key.startswith("{")]

    def unknown_children(self, known: Collection[str]) -> list[Element]:
        """Children that are none of the known ones; those with a namespace are extensions."""
        return [child for child in self.children if child.tag not in known and not child.tag.startswith("{")]


def placed(element: Element, make: Callable[[], Made]) -> Made:
    """What ``make`` makes; its ModelError gets the place of the element."""
    try:
        return make()
    except ModelError as reason:
        named = f"{element.tag} '{element.attributes.get('name')}': "
        raise ModelError(f"{element.place}: {str(reason).removeprefix(named)}") from None


def _comma(words: list[str]) -> str:
    decimal = any(re.fullmatch(r"[-+]?\d+,\d+", word) for word in words)
    return "; write a decimal point, not a comma" if decimal else ""


def parse_xml(content: str | bytes, source: str, passed: PassedOver | None = None) -> Element:
    """The root element; ``source`` names the text in messages.

    Document type declarations are refused, and with them every entity: they could read other files or grow
    without bound. With ``passed``, faults that other readers of XML do not mind are noted there and mended:
    '--' inside a comment, prefixes that no xmlns declares, and a namespace of the root element.
    """
    if not content.strip():
        raise FileError(f"{source} is empty; an XML document is expected")
    content = _declared_first(content)
    root = _parsed(content, source, passed is not None)
    if root is None:
        assert passed is not None
        mended = _mended(content, source, passed)
        root = _parsed(mended, source, False)
        assert root is not None
    if passed is not None and root.tag.startswith("{"):
        _take_off_namespace(root, passed)
    return root


def _parsed(content: str | bytes, source: str, is_tolerant: bool) -> Element | None:
    """The root element; None where a tolerant reader may mend the text."""
    builder = _Builder(source)
    parser: Any = defusedxml.ElementTree.DefusedXMLParser(target=builder, forbid_dtd=True)
    builder.expat = parser.parser
    try:
        parser.feed(content)
        parser.close()
    except DefusedXmlException:
        raise FileError(
            f"{source}, line {builder.line}: document type declarations and entities (<!DOCTYPE, <!ENTITY) "
            "are not allowed; write the document without them"
        ) from None
    except ParseError as reason:
        text = _text(content) if is_tolerant else ""
        if _bad_comments(text) or _undeclared(text):
            return None
        hint = "; the text seems to be cut off" if reason.code in CUT_OFF and builder.root else ""
        raise FileError(f"{source} is not well-formed XML: {reason}{hint}") from None
    except FileError:
        raise
    except (ValueError, LookupError) as reason:
        raise FileError(f"{source} cannot be decoded: {reason}; write it in UTF-8") from None
    if builder.root is None:
        raise FileError(f"{source} holds no XML element")
    return builder.root


# ---- faults that other readers do not mind ----------------------------------------------------------------


def _text(content: str | bytes) -> str:
    """The text of a document in UTF-8; bytes of other encodings stay as they are."""
    return content if isinstance(content, str) else content.decode("utf-8", "surrogateescape")


def _without_tags(text: str) -> Iterator[tuple[int, int, bool]]:
    """From where to where comments, sections of characters and instructions go, and which are comments."""
    k = text.find("<")
    while k >= 0:
        end = k + 1
        for opening, closing in _NO_TAGS:
            if text.startswith(opening, k):
                found = text.find(closing, k + len(opening))
                if found < 0:
                    return
                end = found + len(closing)
                yield k, end, opening == "<!--"
        k = text.find("<", end)


def _bad_comments(text: str) -> list[tuple[int, int]]:
    """Comments with '--' inside, or a '-' at their end."""
    parts = [(start, end) for start, end, is_comment in _without_tags(text) if is_comment]
    return [(start, end) for start, end in parts if "--" in text[start + 4 : end - 2]]


def _undeclared(text: str) -> list[str]:
    """Prefixes that are used and nowhere declared."""
    kept, last = [], 0
    for start, end, _ in _without_tags(text):
        kept.append(text[last:start])
        last = end
    tags = [_TEXT.sub("", tag) for tag in _TAG.findall("".join([*kept, text[last:]]))]
    used = {prefix for tag in tags for prefix in _PREFIX.findall(tag)}
    declared = {name for tag in tags for name in re.findall(r"\sxmlns:([\w.-]+)\s*=", tag)}
    return sorted(used - declared - {"xml", "xmlns"})


def _first_tag(text: str) -> re.Match[str] | None:
    """The name of the first tag."""
    last = 0
    for start, end, _ in (*_without_tags(text), (len(text), len(text), False)):
        found = _TAG_NAME.search(text, last, start)
        if found is not None:
            return found
        last = end
    return None


def _mended(content: str | bytes, source: str, passed: PassedOver) -> str | bytes:
    """The text with blanks for the dashes of comments, and unknown prefixes declared; lines stay lines.

    Only the inside of comments changes, and the first tag: what is a tag for other readers stays one here.
    """
    text = _text(content)
    bad, prefixes = _bad_comments(text), _undeclared(text)
    if bad:
        line = text.count("\n", 0, bad[0][0]) + 1
        said = f"{source}, line {line}: a comment of XML may not contain '--', nor end with '-'"
        passed.note("xml-fault", "'--' inside comments", said)
        parts, last = [], 0
        for start, end in bad:
            parts += [text[last : start + 4], text[start + 4 : end - 3].replace("-", " ")]
            last = end - 3
        text = "".join([*parts, text[last:]])
    if prefixes:
        said = f"{source}: no xmlns declares {listed(prefixes)}, used as a prefix"
        passed.note("xml-fault", f"prefixes without xmlns ({listed(prefixes)})", said)
        root = _first_tag(text)
        if root is not None:
            added = "".join(f' xmlns:{prefix}="{prefix}"' for prefix in prefixes)
            text = text[: root.end()] + added + text[root.end() :]
    return text if isinstance(content, str) else text.encode("utf-8", "surrogateescape")


def _take_off_namespace(root: Element, passed: PassedOver) -> None:
    """Take the namespace of the root element off all elements that share it."""
    space, _, plain = root.tag.partition("}")
    said = (
        f"{root.source}, line {root.line}: <{plain}> has the namespace '{cut(space[1:])}', which is ignored"
    )
    passed.note("xml-fault", f"namespace of <{plain}>", said)
    waiting = [root]
    while waiting:
        element = waiting.pop()
        element.tag = element.tag.removeprefix(space + "}")
        waiting.extend(element.children)


def _declared_first(content: str | bytes) -> str | bytes:
    """The text without a declaration of UTF-8 that blank lines stand before; lines keep their numbers."""
    text = content if isinstance(content, str) else content[:1000].decode("latin-1")
    found = re.match(r"\s+<\?xml[^>]*\?>", text)
    if found is None or not re.search(r"encoding=.utf-8|\?xml(?!.*encoding)", found[0], re.IGNORECASE):
        return content
    blank = re.sub(r"\S", " ", found[0])
    rest = content[found.end() :]
    return blank + rest if isinstance(rest, str) else blank.encode() + rest


class _Builder:
    """Receives the parser's events and grows the elements."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.root: Element | None = None
        self.expat: Any = None
        self._open: list[Element] = []

    @property
    def line(self) -> int:
        return int(self.expat.CurrentLineNumber)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        parent = self._open[-1] if self._open else None
        element = Element(tag, dict(attributes), self.source, self.line, parent)
        if parent is None:
            self.root = element
        else:
            parent.children.append(element)
            parent.parts.append(element)
        self._open.append(element)
        if len(self._open) > DEEPEST:
            raise FileError(f"{self.source}, line {self.line}: elements are nested deeper than {DEEPEST}")

    def end(self, tag: str) -> None:
        element = self._open.pop()
        element.content = "".join(part for part in element.parts if isinstance(part, str)).strip()

    def data(self, text: str) -> None:
        if self._open:
            self._open[-1].parts.append(text)

    def close(self) -> None:
        """Nothing to finish: the root is complete when its end tag has been seen."""
