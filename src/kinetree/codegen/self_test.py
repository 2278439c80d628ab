"""A program that compares generated functions with numbers, and the Makefile that builds it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from kinetree.codegen.c_source import CFunction, number
from kinetree.codegen.identifiers import comment
from kinetree.codegen.library import library_answer
from kinetree.dynamics.loops.states import fitting_state
from kinetree.errors import InputError
from kinetree.model.mechanism import Mechanism
from kinetree.state import random_state

STATES = 3
TOLERANCE = {"double": 1e-14, "float": 1e-5}  # of the largest number of a result
OPEN = "open q"  # positions near those that close the loops
MARGIN = 10.0  # other orders of operations may cause more than the rounding errors that were measured
DISAGREEMENT = 1e-8  # between recording and library, of the largest number: one of them is wrong


def self_test(mechanism: Mechanism, functions: Sequence[CFunction], real: str, header: str) -> str:
    """The text of the test: random states, expected results, a line for each function, exit code 0 or 1."""
    state = _rounded(mechanism, real)
    lines = [
        f"/* Compares the functions of {header} with numbers that Kinetree computed in double precision. */",
        f'#include "{header}"',
        "",
        "#include <math.h>",
        "#include <stdio.h>",
        "",
        "/* The larger of an error so far and that of some numbers, relative to the largest of them. */",
        f"static double error_of(double error, const {real} *found, const {real} *expected, int count)",
        "{",
        "    double largest = 1e-300, difference = 0.0;",
        "    int k;",
        "    for (k = 0; k < count; ++k) {",
        "        const double each = fabs((double)found[k] - (double)expected[k]);",
        "        if (!(each <= difference)) difference = each; /* NaN too */",
        "        if (fabs((double)expected[k]) > largest) largest = fabs((double)expected[k]);",
        "    }",
        "    difference /= largest;",
        "    return difference <= error ? error : difference;",
        "}",
        "",
        "static int is_wrong(const char *name, double error, double tolerance)",
        "{",
        '    printf("%-50s error %.1e, allowed %.1e\\n", name, error, tolerance);',
        "    return !(error <= tolerance);",
        "}",
        "",
    ]
    for function in functions:
        lines += [*_test_of(mechanism, function, state, real), ""]
    lines += ["int main(void)", "{", "    int failed = 0;"]
    lines += [f"    failed |= test_{function.name}();" for function in functions]
    lines += ['    puts(failed ? "FAILED" : "passed");', "    return failed;", "}", ""]
    return "\n".join(lines)


def _rounded(mechanism: Mechanism, real: str) -> dict[str, Any]:
    """Random states that the type of the numbers can represent."""
    if mechanism.loops:
        found = fitting_state(mechanism, STATES, 0)
    else:
        found = random_state(mechanism, np.random.default_rng(0), (STATES,))
    rng = np.random.default_rng(1)
    rows = {
        OPEN: found.q + 0.05 * rng.standard_normal(found.q.shape),
        "q": found.q,
        "qd": found.qd,
        "qdd": found.qdd,
        "tau": np.where(mechanism.driven, found.qdd, 0.0) if mechanism.loops else found.qdd,
    }
    kind = np.float32 if real == "float" else np.float64
    return {name: row.astype(kind).astype(np.float64) for name, row in rows.items()}


def _test_of(mechanism: Mechanism, function: CFunction, state: dict[str, Any], real: str) -> Iterator[str]:
    """A function that compares the results of one function with the library's, not with the recording's."""
    answer, arguments = function.answer, function.arguments
    inputs = [state[OPEN if function.iterated else x.name] for x in answer.inputs]
    expected = library_answer(mechanism, answer, inputs) or answer.recording.evaluate(*inputs)
    allowed = _tolerances(function, inputs, expected, real)
    yield f"static int test_{function.name}(void)"
    yield "{"
    for quantity, row in zip(answer.inputs, inputs, strict=True):
        yield f"    static const {real} {quantity.name}[{STATES}][{quantity.size}] = {_table(row, real)};"
    names = arguments[len(inputs) :]
    for name, quantity, row in zip(names, answer.results, expected, strict=True):
        yield f"    static const {real} expected_{name}[{STATES}][{quantity.size}] = {_table(row, real)};"
        yield f"    static {real} {name}[{quantity.size}];"
    errors = [f"error_{name}" for name in names]
    yield f"    double {', '.join(f'{error} = 0.0' for error in errors)};"
    yield "    int k, failed = 0;"
    yield f"    for (k = 0; k < {STATES}; ++k) {{"
    called = [f"{x.name}[k]" for x in answer.inputs] + list(names)
    yield f"        {function.name}({', '.join(called)});"
    for name, error, quantity in zip(names, errors, answer.results, strict=True):
        yield f"        {error} = error_of({error}, {name}, expected_{name}[k], {quantity.size});"
    yield "    }"
    for error, quantity, tolerance in zip(errors, answer.results, allowed, strict=True):
        title = comment(f"{function.name}: {quantity.name}")
        yield f'    failed |= is_wrong("{title}", {error}, {tolerance:.2e});'
    yield "    return failed;"
    yield "}"


def _tolerances(function: CFunction, inputs: list[Any], expected: list[Any], real: str) -> list[float]:
    """What each result may be off: more where rounding errors grow, as in accelerations of thin wrists.

    How much they grow shows the same computation in single precision, and the library's, which takes
    another way.
    """
    recording = function.answer.recording
    unit = np.finfo(np.float32 if real == "float" else np.float64).eps / np.finfo(np.float32).eps
    with np.errstate(all="ignore"):
        rough, found = recording.evaluate(*inputs, kind=np.float32), list[float]()
    for single, double, other in zip(rough, recording.evaluate(*inputs), expected, strict=True):
        apart = _error(double, other)
        if not apart < DISAGREEMENT:
            raise InputError(
                f"{function.name}: the recorded operations are {apart:.1e} off the library's own answer, "
                f"allowed {DISAGREEMENT:g}: the mechanism's numbers differ too much in size for code"
            )
        found.append(max(TOLERANCE[real], MARGIN * float(unit) * _error(single, double), 2.0 * apart))
    return found


def _error(found: Any, expected: Any) -> float:
    """The largest difference of any state, relative to its largest number."""
    largest = np.maximum(np.abs(expected).max(axis=-1, initial=0.0), 1e-300)
    return float((np.abs(found - expected).max(axis=-1, initial=0.0) / largest).max())


def _table(rows: Any, real: str) -> str:
    """Initial values of an array, a few numbers in each line."""
    text = []
    for row in rows:
        numbers = [number(float(x), real) for x in row]
        lines = [", ".join(numbers[k : k + 4]) for k in range(0, len(numbers), 4)]
        text.append("{" + ",\n        ".join(lines) + "}")
    return "{\n        " + ",\n        ".join(text) + "}"


def makefile(name: str) -> str:
    """Builds the object and runs the self-test: ``make test``; ``make size`` shows the size of the code."""
    return f"""CC ?= cc
CFLAGS ?= -std=c99 -O2 -Wall -Wextra -Wpedantic

{name}.o: {name}.c {name}.h
\t$(CC) $(CFLAGS) -c -o $@ {name}.c

{name}_test: {name}_test.c {name}.o
\t$(CC) $(CFLAGS) -o $@ {name}_test.c {name}.o -lm

.PHONY: test size clean
test: {name}_test
\t./{name}_test

size: {name}.o
\tsize {name}.o

clean:
\trm -f {name}.o {name}_test
"""
