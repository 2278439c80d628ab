"""Recorded questions as C99: one header and one source, which need sin, cos and sqrt only."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kinetree.codegen.identifiers import comment, identifier, unique_identifiers
from kinetree.dynamics.tapes import CLOSING, TapedAnswer, TapedQuantity
from kinetree.engine.tape.number import CONSTANT, INPUT, Operation
from kinetree.engine.tape.pieces import Pieces, TapePiece, in_pieces
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism

REALS = ("double", "float")
LARGEST_PIECE = 2000  # operations in one C function: a compiler's time grows faster than its length
WIDTH = 100
STEPS = 20  # of Newton's iteration, which takes about five from nearby
GAP = {"double": 1e-12, "float": 1e-5}  # m, 1: loops with smaller gaps are closed
INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
CALLS = {"sine": "sin", "cosine": "cos", "square_root": "sqrt", "arctan": "atan"}


@dataclass(frozen=True, eq=False)
class CFunction:
    """A recorded question with its name in C."""

    name: str
    answer: TapedAnswer

    @property
    def arguments(self) -> tuple[str, ...]:
        """Names of arguments and results; a result never has the name of an argument."""
        inputs = [x.name for x in self.answer.inputs]
        return (*inputs, *(f"{x.name}_out" if x.name in inputs else x.name for x in self.answer.results))

    def prototype(self, real: str) -> str:
        """The declaration, without semicolon."""
        sizes = [f"const {real} {x.name}[{x.size}]" for x in self.answer.inputs]
        names = self.arguments[len(sizes) :]
        results = zip(names, self.answer.results, strict=True)
        sizes += [f"{real} {name}[{x.size}]" for name, x in results]
        return f"void {self.name}({', '.join(sizes)})"

    @property
    def iterated(self) -> str:
        """The name of the function that repeats a step until it is done; empty if this is none."""
        return self.name.removesuffix("_step") if self.answer.question.name == CLOSING else ""


def functions_of(mechanism: Mechanism, answers: Sequence[TapedAnswer]) -> list[CFunction]:
    """Recorded questions with unique names that begin with that of the mechanism."""
    prefix = identifier(mechanism.name)
    names = unique_identifiers([f"{prefix} {x.question.name}" for x in answers])
    return [CFunction(name, answer) for name, answer in zip(names, answers, strict=True)]


# ---- the header -------------------------------------------------------------------------------------------
def header(mechanism: Mechanism, functions: Sequence[CFunction], real: str, version: str) -> str:
    """The header: numbers of joints and bodies, and what each function takes and gives."""
    prefix = identifier(mechanism.name).upper()
    joints = unique_identifiers([f"{prefix} joint {x}" for x in mechanism.joint_names])
    bodies = unique_identifiers([f"{prefix} body {x}" for x in mechanism.body_names])
    lines = [
        f"/* Dynamics of the mechanism '{comment(mechanism.name)}', written by Kinetree {version}.",
        " *",
        " * SI units and radians. Matrices are row by row. Nothing is allocated and nothing kept, so that",
        " * threads may call functions. Results must not overlap arguments or each other.",
        *(
            [" * States must close the loops: q, qd and qdd are those of all joints."]
            if mechanism.loops
            else []
        ),
        " */",
        f"#ifndef {prefix}_H",
        f"#define {prefix}_H",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"enum {{ {prefix}_DOF = {mechanism.n_dof}, {prefix}_BODIES = {mechanism.n_bodies} }};",
        *_enumeration("places of joints in q, qd, qdd and tau", joints, mechanism.joint_names),
        *_enumeration("places of bodies", bodies, mechanism.body_names),
        "",
    ]
    for function in functions:
        lines += [*_described(function), f"{function.prototype(real)};", ""]
        if function.iterated:
            lines += [
                "/* Close the loops near q while the drives keep their positions: the number of steps, or -1",
                f" * if {STEPS} do not suffice: too far, or no pose closes them. */",
                f"int {function.iterated}({real} q[{mechanism.n_dof}]);",
                "",
            ]
    lines += ["#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {prefix}_H */", ""]
    return "\n".join(lines)


def _enumeration(about: str, identifiers: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    yield f"enum {{ /* {about} */"
    for k, (key, name) in enumerate(zip(identifiers, names, strict=True)):
        comma = "," if k + 1 < len(names) else ""
        yield f"    {key.upper()} = {k}{comma} /* {comment(name)} */"
    yield "};"


def _described(function: CFunction) -> Iterator[str]:
    """The comment before a declaration."""
    answer = function.answer
    yield f"/* {comment(answer.question.text)}"
    for name, quantity in zip(function.arguments, (*answer.inputs, *answer.results), strict=True):
        yield f" * {name}{_shape(quantity)}: {comment(quantity.text)} ({quantity.unit})"
    yield f" * {operations_in_words(answer)} */"


def _shape(quantity: TapedQuantity) -> str:
    return "".join(f"[{size}]" for size in quantity.shape)


def operations_in_words(answer: TapedAnswer) -> str:
    """How many operations of each kind the function does."""
    counts = answer.recording.counts()
    words = {
        "multiply": "multiplications",
        "add": "additions",
        "divide": "divisions",
        "square_root": "square roots",
        "sine": "sines",
        "cosine": "cosines",
    }
    counts["add"] = counts.get("add", 0) + counts.get("subtract", 0)
    parts = [f"{counts[key]} {word}" for key, word in words.items() if counts.get(key)]
    return ", ".join(parts) or "no operations"


# ---- the source -------------------------------------------------------------------------------------------
def source(mechanism: Mechanism, functions: Sequence[CFunction], real: str, file: str) -> str:
    """The source of all functions."""
    lines = [f"/* See {file} for arguments and units. */", f'#include "{file}"', "", "#include <math.h>", ""]
    for function in functions:
        lines += [*_function(function, real), ""]
        if function.iterated:
            lines += [*_iteration(function, mechanism.n_dof, real), ""]
    return "\n".join(lines)


def _iteration(function: CFunction, n: int, real: str) -> Iterator[str]:
    """Steps until the loops are closed, at most so many."""
    yield f"int {function.iterated}({real} q[{n}])"
    yield "{"
    yield f"    {real} step[{n}], gap[1];"
    yield "    int k, i;"
    yield f"    for (k = 0; k <= {STEPS}; ++k) {{"
    yield f"        {function.name}(q, step, gap);"
    yield f"        if (gap[0] <= {number(GAP[real], real)}) return k;"
    yield f"        for (i = 0; i < {n}; ++i) q[i] += step[i];"
    yield "    }"
    yield "    return -1;"
    yield "}"


def _function(function: CFunction, real: str) -> Iterator[str]:
    """A function, cut into static ones if it is long."""
    pieces = in_pieces(function.answer.recording, LARGEST_PIECE)
    if len(pieces.pieces) == 1:
        yield f"{function.prototype(real)}"
        yield "{"
        yield from _body(function, pieces.pieces[0], real, alone=True)
        yield "}"
        return
    yield from _parts(function, pieces, real)


def _parts(function: CFunction, pieces: Pieces, real: str) -> Iterator[str]:
    prototype = function.prototype(real)
    start, _, arguments = prototype.partition("(")
    for k, piece in enumerate(pieces.pieces):
        yield f"static {start}_part{k + 1}({arguments[:-1]}, {real} work[{pieces.slots}])"
        yield "{"
        yield from _body(function, piece, real)
        yield "}"
        yield ""
    yield prototype
    yield "{"
    yield f"    {real} work[{pieces.slots}];"
    for k in range(len(pieces.pieces)):
        yield f"    {function.name}_part{k + 1}({', '.join(function.arguments)}, work);"
    yield "}"


def _body(function: CFunction, piece: TapePiece, real: str, alone: bool = False) -> Iterator[str]:
    """Statements of one piece."""
    text = _Expressions(function, piece, real)
    operations, used = function.answer.recording.operations, set[str]()
    statements = []
    for k, slot in piece.loads:
        statements.append(f"const {real} {text.named(k)} = work[{slot}];")
    for k in range(piece.begin, piece.end):
        if operations[k][0] not in (INPUT, CONSTANT):
            statements.append(f"const {real} {text.named(k)} = {text.of(operations[k])};")
    statements += [f"work[{slot}] = {text.named(k)};" for k, slot in piece.stores]
    count = len(function.answer.inputs)
    for output, place, k in piece.results:
        name = function.arguments[count + output]
        used.add(name)
        statements.append(f"{name}[{place}] = {text.operand(k)};")
    reads = [
        f"const {real} {text.named(k)} = {function.arguments[row]}[{place}];"
        for k, (row, place) in sorted(text.inputs.items(), key=lambda item: item[1])
    ]
    used |= {function.arguments[row] for row, _ in text.inputs.values()}
    if not alone and (piece.loads or piece.stores):
        used.add("work")
    for name in (*function.arguments, *(() if alone else ("work",))):
        if name not in used:
            yield f"    (void){name};"
    for statement in (*reads, *statements):
        yield from textwrap.wrap(
            statement, WIDTH, initial_indent="    ", subsequent_indent="        ", break_long_words=False
        )


class _Expressions:
    """Operations of one piece as C expressions; remembers which inputs they read."""

    def __init__(self, function: CFunction, piece: TapePiece, real: str) -> None:
        self.recording, self.real = function.answer.recording, real
        self.arguments = function.arguments
        self.inputs: dict[int, tuple[int, int]] = {}

    def named(self, k: int) -> str:
        """The variable of an operation: q3, sin_q3, or a number."""
        name, *operands = self.recording.operations[k]
        if name == INPUT:
            return f"{self.arguments[operands[0]]}_{operands[1]}"
        if name in ("sine", "cosine") and self.recording.operations[operands[0]][0] == INPUT:
            return f"{CALLS[name]}_{self.named(operands[0])}"
        return f"t{k}"

    def operand(self, k: int) -> str:
        """What stands for an operation where it is used."""
        name, *operands = self.recording.operations[k]
        if name == CONSTANT:
            return number(operands[0], self.real)
        if name == INPUT:
            self.inputs[k] = (operands[0], operands[1])
        return self.named(k)

    def of(self, operation: Operation) -> str:
        """The right-hand side of an operation."""
        name, *operands = operation
        x = [self.operand(k) for k in operands]
        if name in INFIX:
            second = f"({x[1]})" if x[1].startswith("-") else x[1]
            return f"{x[0]} {INFIX[name]} {second}"
        if name == "negative":
            return f"-{x[0]}"
        if name == "select":
            return f"{x[0]} < {x[1]} ? {x[2]} : {x[3]}"
        return f"{CALLS[name]}{'f' if self.real == 'float' else ''}({x[0]})"


def number(value: float, real: str) -> str:
    """A constant in C, exact to the last bit of its type."""
    with np.errstate(over="ignore"):
        rounded = np.float32(value) if real == "float" else np.float64(value)
    if not np.isfinite(rounded):
        raise InputError(f"the constant {value:g} cannot be written as {real}")
    text = str(rounded)
    text = text if any(mark in text for mark in ".e") else f"{text}.0"
    return f"{text}f" if real == "float" else text
