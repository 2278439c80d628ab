"""xacro files: plausible ones expand as the package xacro expands them, hostile ones do nothing."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.sax.saxutils import escape, quoteattr

import numpy as np

import kinetree as kt
from fuzz.change import changed_text
from fuzz.runner import ACCEPTED, REFUSED, Fuzzer, WrongAnswerError
from fuzz.watch import watched
from kinetree.formats.mesh_path import MeshFolder
from kinetree.formats.passed_over import PassedOver
from kinetree.formats.xacro_file import expanded

Rng = np.random.Generator
HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
FORBIDDEN = (Path("/etc"), Path("/root"), Path("/dev"), Path("/proc/self/environ"))
NAMES = ("a", "b", "c", "mass", "size")
ONE = (
    "sin",
    "cos",
    "sqrt",
    "abs_",
    "radians",
    "math.floor",
    "math.exp",
    "float",
    "int",
    "str",
    "round",
    "bool",
)
TWO = ("max", "min", "atan2", "math.hypot", "math.pow")
VALUES = ("1", "2.5", "text", "true", "${1 + 1}", "${pi}")
TEXTS = ("'x'", "'link_1'", "'ab c'", "''", "'3'")
YAML = "limits: {pan: {lower: !degrees -90, upper: 1.5}, gear: [2, 3]}\nname: tool\n"


def _pick(rng: Rng, choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def expression(rng: Rng, depth: int = 3) -> str:
    """An expression that people could write."""
    if depth == 0:
        kind = int(rng.integers(5))
        if kind < 2:
            return _pick(rng, ("0", "1", "2", "0.5", "3.25", "1e-3", "pi", "True", "-7"))
        return _pick(rng, NAMES) if kind < 4 else _pick(rng, TEXTS)
    a, b, c = (expression(rng, depth - 1) for _ in range(3))
    operator = _pick(rng, ("+", "-", "*", "/", "//", "%"))
    compared = _pick(rng, ("==", "!=", "<", ">=", "in", "not in"))
    return str(
        _pick(
            rng,
            (
                f"({a} {operator} {b})", f"{a} {operator} {b}", f"({a} {compared} {b})", f"(not {a})",
                f"({a} {_pick(rng, ('and', 'or'))} {b})", f"({a} if {b} else {c})", f"-({a})",
                f"{_pick(rng, ONE).replace('abs_', 'python.abs')}({a})", f"{_pick(rng, TWO)}({a}, {b})",
                f"[{a}, {b}, {c}][{int(rng.integers(-3, 3))}]", f"({a})**{int(rng.integers(3))}",
                f"str({a}).{_pick(rng, ('upper()', 'lower()', 'strip()', 'isdigit()'))}",
                f"str({a})[{_pick(rng, (':2', '0:', '::-1', '-1:'))}]", f"dict(k={a})['k']",
                f"len([{a}, {b}])", f"sorted([{int(rng.integers(9))}, 4, 2])", f"[x for x in [{a}, 2]]",
                f"(({a}, {b}) == ({b}, {c}))", f"list(range({int(rng.integers(4))}))",
            ),
        )
    )  # fmt: skip


def _element(rng: Rng, depth: int) -> str:
    """Elements of a plausible file."""
    kind = int(rng.integers(12))
    text = quoteattr("${" + expression(rng, int(rng.integers(1, 3))) + "}")
    inner = "".join(_element(rng, depth - 1) for _ in range(int(rng.integers(1, 3)))) if depth else "<l/>"
    name = _pick(rng, NAMES)
    if kind == 0:
        options = _pick(rng, ("", ' lazy_eval="false"', ' scope="global"'))
        return f"<xacro:property name={quoteattr(name)} value={text}{options}/>"
    if kind == 1:
        return f"<xacro:property name={quoteattr(name)} default={quoteattr(_pick(rng, ('1', 'x', 'true')))}/>"
    if kind == 2:
        word = _pick(rng, ("if", "unless"))
        return f"<xacro:{word} value={text}>{inner}</xacro:{word}>"
    if kind == 3:
        given = _pick(rng, ('v="1"', 'v="${a}" w="z"', ""))
        params = _pick(rng, ("v:=2 w:=3", "v:=^|4 w:=${1 + 1}", "v:='q r' w:=^|x"))
        return (
            f'<xacro:macro name="m" params="{params}"><l v="${{v}} ${{w}}"/></xacro:macro><xacro:m {given}/>'
        )
    if kind == 4:
        return (
            '<xacro:macro name="n" params="k *o **p"><l k="${k}"><xacro:insert_block name="o"/>'
            '<xacro:insert_block name="p"/></l></xacro:macro>'
            f'<xacro:n k="1"><o v={text}/><p>{inner}</p></xacro:n>'
        )
    if kind == 5:
        return "<l v=\"${xacro.load_yaml('p.yaml')" + _pick(rng, (
            "['limits']['pan']['lower']", ".limits.pan.upper", "['limits']['gear'][1]", "['name']"
        )) + '}"/>'  # fmt: skip
    if kind == 6:
        return '<l v="$(arg x) ${$(arg y) + 1} $${z}"/>'
    if kind == 7:
        return f"<l>{escape('${' + expression(rng, 1) + '}')} text {inner}</l>"
    return (
        f"<l v={text} w={quoteattr('pre ${' + expression(rng, 1) + '} post')}>{inner if kind < 9 else ''}</l>"
    )


def _document(rng: Rng) -> str:
    set_up = "".join(f'<xacro:property name="{name}" value="{_pick(rng, VALUES)}"/>' for name in NAMES)
    arguments = '<xacro:arg name="x" default="ur"/><xacro:arg name="y" default="4"/>'
    body = "".join(_element(rng, 2) for _ in range(int(rng.integers(1, 6))))
    return f"{HEAD}{arguments}{set_up}{body}</robot>"


def _plain(element: Any) -> Any:
    content = " ".join(element.content.split())
    return (element.tag, element.attributes, content, [_plain(x) for x in element.children])


def _of_package(file: Path) -> Any:
    """The expansion of the package xacro, or None if it refuses the file."""
    import xacro

    def parsed(element: Any) -> Any:
        text = (element.text or "") + "".join(x.tail or "" for x in element)
        return (element.tag, dict(element.attrib), " ".join(text.split()), [parsed(x) for x in element])

    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            return parsed(ElementTree.fromstring(xacro.process_file(str(file), mappings={}).toxml()))
        except (Exception, SystemExit):
            return None


def plausible(rng: Rng, folder: Path) -> str:
    """A file that people could write, compared with the package where that is installed."""
    (folder / "p.yaml").write_text(YAML)
    file = folder / "case.xacro"
    file.write_text(_document(rng), encoding="utf-8")
    try:
        found, _ = expanded(file, MeshFolder.around(file, None), {}, PassedOver(str(file)))
    except kt.KinetreeError as reason:
        if importlib.util.find_spec("xacro") is not None and _of_package(file) is not None:
            raise WrongAnswerError(f"refused what the package expands: {reason}") from None
        return REFUSED
    if importlib.util.find_spec("xacro") is not None:
        wanted = _of_package(file)
        if wanted is not None and wanted != _plain(found):
            raise WrongAnswerError(f"{_first_difference(_plain(found), wanted)}")
    return ACCEPTED


def _first_difference(a: Any, b: Any) -> str:
    if a[:3] != b[:3] or len(a[3]) != len(b[3]):
        return f"{a[:3]} with {len(a[3])} children, the package: {b[:3]} with {len(b[3])}"
    return next((_first_difference(x, y) for x, y in zip(a[3], b[3], strict=True) if x != y), "nothing")


START = (
    "()",
    "''",
    "[]",
    "x",
    "len",
    "math",
    "python",
    "xacro",
    "str",
    "a",
    "(1).real",
    "dict(k=1)",
    "range(3)",
)
STEP = (
    ".__class__", ".__base__", ".__bases__[0]", ".__subclasses__()", ".__init__", ".__globals__", "[0]",
    "['os']", ".__dict__", ".__builtins__", ".call", ".members", ".__getattribute__('__class__')", ".mro()",
    "['system']", ".__func__", ".__code__", ".gi_frame", ".format(1)", ".__mul__(10**9)", "['__import__']",
    ".upper",
)  # fmt: skip
HOSTILE = (
    "__import__('os').system('touch canary')", "eval('1')", "exec('1')", "open('canary', 'w')",
    "getattr(1, 'real')", "[c for c in ().__class__.__base__.__subclasses__()]", "(lambda: 1)()", "9**9**9",
    "'x' * 10**9", "[0] * 10**9", "xacro.load_yaml('/etc/passwd')",
    "xacro.load_yaml('../../../../../../etc/hostname')", "load_yaml('/dev/zero')", "(x := 1)", "f'{1}'",
    "'%9999999d' % 1", "'{0.__class__}'.format(1)", "round(1, -10**9)", "1 << 10**9",
    "[x for x in range(10**9)]", "sum([[1]] * 9999, [])", "map(eval, ['1'])", "print(1)", "breakpoint()",
    "globals()", "python.type('T', (), dict())", "python.vars(math)", "str.mro()", "len.call('abc')",
    "'a'.replace('', 'b' * 9**7)", "int('f' * 99999, 16)", "' '.join(['a' * 9999] * 9999)",
    "math.factorial(10**7)", "...", "b'x'", "1j", "*a", "not",
)  # fmt: skip


COMMANDS = (
    "$(find ../../..)", "$(env HOME)", "$(eval 9**9**9)", "$(dirname)/../../etc", "$(run ls)", "$(find etc)",
)  # fmt: skip
INCLUDED = (
    "/etc/passwd", "../../../etc/hostname", "/dev/zero", "case.urdf", "*/*", "$(find etc)/passwd", "/*/*/*",
)  # fmt: skip


def hostile(rng: Rng, folder: Path) -> str:
    """Expressions and includes that try to run something or to read elsewhere."""
    canary = folder / "canary"
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        kind = int(rng.integers(4))
        text = _pick(rng, HOSTILE)
        if kind == 0:
            text = _pick(rng, START) + "".join(_pick(rng, STEP) for _ in range(int(rng.integers(1, 7))))
        elif kind == 1:
            text = f"[{text} for x in [()]][0]"
        elif kind == 2:
            text = changed_text(rng, text).replace("\0", "")
        parts.append(text)
    written = quoteattr("${" + parts[0] + "}")
    include = _pick(rng, INCLUDED)
    body = _pick(
        rng,
        (
            f'<xacro:property name="p" value={written}/><link name="b${{p}}"/>',
            f"<xacro:if value={written}><link name='b'/></xacro:if>",
            f'<xacro:macro name="m" params="x:=${{{escape(parts[-1])}}}"><xacro:m/></xacro:macro><xacro:m/>',
            f"<xacro:include filename={quoteattr(include)}/>",
            f'<link name="{_pick(rng, COMMANDS)}"/>',
            f"<xacro:call macro={written}/>",
            f"<xacro:element xacro:name={written}/>",
        ),
    )
    file = folder / f"case{_pick(rng, ('.xacro', '.urdf'))}"
    file.write_text(f"{HEAD}{body}</robot>", encoding="utf-8", errors="surrogateescape")
    outcome = ACCEPTED
    with watched(*FORBIDDEN):
        try:
            kt.load(file)
        except kt.KinetreeError:
            outcome = REFUSED
    if canary.exists():
        canary.unlink()
        raise WrongAnswerError("the file ran code: the canary is there")
    return outcome


def macros(rng: Rng, folder: Path) -> str:
    """One case of either kind."""
    return plausible(rng, folder) if rng.uniform() < 0.6 else hostile(rng, folder)


def prepare() -> None:
    """Import what the reading of a file needs, before files are watched."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "case.xacro")
        file.write_text(f'{HEAD}<link name="b"/></robot>')
        kt.load(file)


MACROS = (Fuzzer("xacro", "xacro files, against the package and with hostile expressions", macros, prepare),)
