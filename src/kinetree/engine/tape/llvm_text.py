"""A recording as LLVM's text: a loop over blocks of four states in lanes, or one state in plain numbers.

All numbers of a block lie in a workspace of lane numbers: inputs, sines and cosines of angles, what goes from
piece to piece (`in_pieces`), results. Blocks of plain arrays are transposed on the way in and out. Constants
are read from a table whose address LLVM cannot see through: arithmetic reads them itself (`lanes.functions`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kinetree.engine.angle_table import COSINE, NEAR, QUARTER, QUARTERS, SINE, UNITS
from kinetree.engine.tape.number import CONSTANT, INPUT
from kinetree.engine.tape.pieces import TapePiece, in_pieces
from kinetree.engine.tape.recording import Recording

FLAGS = "contract nsz arcp"  # fused multiply-add allowed; NaN stays NaN, as in `lanes.number`
LANES = 4
LARGEST_PIECE = 15_000  # operations in one function: longer ones take LLVM more time for each
LARGEST_STORE = 60  # groups of four entries of full arrays that one function stores
ANGLES = (*QUARTERS, *QUARTER, *UNITS, *SINE, *COSINE)
INSTRUCTIONS = {"add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv"}
ROOT = "square_root"
PLACES = 8  # words in front of a workspace that stands in the memory of a simulation


@dataclass(frozen=True)
class Arrays:
    """How results go to memory: the first ``outputs`` as rows, then ``full`` arrays, then a suspicion.

    Rows are (states, size); full arrays (arrays, states, entries). The last ``constant`` input rows are no
    arrays: their numbers stand in the workspace from the beginning. ``in_context``: the code is called
    by right-hand sides of simulations; inputs and outputs are rows of their memory.
    """

    outputs: int
    full: int
    judged: bool
    constant: int = 0
    in_context: bool = False

    @property
    def count(self) -> int:
        """How many results there are."""
        return self.outputs + self.full + self.judged


def can_write(recording: Recording) -> bool:
    """Whether there is text for all operations: angles must be inputs, or sums of these and constants."""
    operations = recording.operations

    def is_plain(k: int) -> bool:
        name, *operands = operations[k]
        return name in (INPUT, CONSTANT) or (name in INSTRUCTIONS and all(map(is_plain, operands)))

    angles = [x[1] for x in operations if x[0] in ("sine", "cosine")]
    return all(map(is_plain, angles)) and all(x[0] != "arctan" for x in operations)


class ModuleText:
    """The text of one module, and how many numbers its workspace has."""

    def __init__(self, recording: Recording, arrays: Arrays, symbol: str, lanes: int, typed: bool) -> None:
        self.recording, self.arrays, self.symbol, self.lanes, self.typed = (
            recording,
            arrays,
            symbol,
            lanes,
            typed,
        )
        self.kind = "double" if lanes == 1 else f"<{lanes} x double>"
        self.bytes = 8 * lanes
        self.lines: list[str] = []
        self._names = 0
        self._lay_out()
        self.text = "\n".join(self._module())

    @property
    def read(self) -> int:
        """How many inputs are arrays."""
        return len(self.recording.sizes) - self.arrays.constant

    # ---- the workspace ------------------------------------------------------------------------------------
    def _lay_out(self) -> None:
        operations = self.recording.operations
        self.place: dict[int, int] = {}
        self.inputs, offset = [], 0
        for size in self.recording.sizes:
            self.inputs.append(offset)
            offset += size
        for k, (name, *operands) in enumerate(operations):
            if name == INPUT:
                self.place[k] = self.inputs[operands[0]] + operands[1]
        self.angles = sorted({x[1] for x in operations if x[0] in ("sine", "cosine")})
        self.turn = {angle: offset + 3 * k for k, angle in enumerate(self.angles)}  # angle, sine, cosine
        offset += 3 * len(self.angles)
        for k, (name, *operands) in enumerate(operations):
            if name in ("sine", "cosine"):
                self.place[k] = self.turn[operands[0]] + (1 if name == "sine" else 2)
        self.results = sorted({k for row in self.recording.outputs for k in row} - set(self.place))
        self.results = [k for k in self.results if operations[k][0] != CONSTANT]
        for k in self.results:
            self.place[k] = offset
            offset += 1
        self.cut = in_pieces(self.recording, LARGEST_PIECE)
        self.slots = offset
        self.numbers = (offset + self.cut.slots) * self.lanes

    # ---- text ---------------------------------------------------------------------------------------------
    def pointer(self, kind: str) -> str:
        """The type of an address of that kind."""
        return f"{kind}*" if self.typed else "ptr"

    def new(self, text: str) -> str:
        """An instruction with a value; its name."""
        self._names += 1
        name = f"%v{self._names}"
        self.lines.append(f"  {name} = {text}")
        return name

    def at(self, base: str, offset: int) -> str:
        """An address, so many bytes on."""
        return base if offset == 0 else self.new(f"add i64 {base}, {offset}")

    def load(self, kind: str, address: str, align: int = 8) -> str:
        """The value of a kind at an address."""
        place = self.new(f"inttoptr i64 {address} to {self.pointer(kind)}")
        return self.new(f"load {kind}, {self.pointer(kind)} {place}, align {align}")

    def store(self, kind: str, value: str, address: str, align: int = 8) -> None:
        """Put a value at an address."""
        place = self.new(f"inttoptr i64 {address} to {self.pointer(kind)}")
        self.lines.append(f"  store {kind} {value}, {self.pointer(kind)} {place}, align {align}")

    def slot(self, place: int) -> str:
        """The address of a place of the workspace."""
        return self.at("%w", place * self.bytes)

    def two(self, instruction: str, a: str, b: str) -> str:
        """Arithmetic with two numbers."""
        return self.new(f"{instruction} {FLAGS} {self.kind} {a}, {b}")

    def literal(self, value: float) -> str:
        """A constant in all lanes."""
        text = _hexadecimal(value)
        return text if self.lanes == 1 else f"<{', '.join([f'double {text}'] * self.lanes)}>"

    def hidden(self, name: str, count: int) -> str:
        """The address of a table, hidden from the optimizer."""
        table = f"[{count} x {self.kind}]"
        where = f"ptrtoint ({self.pointer(table)} @{name} to i64)"
        return self.new(f'call i64 asm "", "=r,0"(i64 {where})')

    def table(self, name: str, values: Sequence[float]) -> str:
        """The definition of a table of constants."""
        entries = ", ".join(f"{self.kind} {self.literal(x)}" for x in values)
        return f"@{name} = private constant [{len(values)} x {self.kind}] [{entries}], align 32"

    def align_stack(self) -> None:
        """Make LLVM align the frame, so that no vector straddles cache lines."""
        if self.lanes > 1:
            self._names += 1
            name, kind = f"%v{self._names}", self.pointer(self.kind)
            self.lines.append(f"  {name} = alloca {self.kind}, align 32")
            self.lines.append(f'  call void asm sideeffect "", "r"({kind} {name})')

    # ---- the module ---------------------------------------------------------------------------------------
    def _module(self) -> Iterable[str]:
        head = [self.table("angle_table", ANGLES), *self._declarations()]
        functions = []
        for k, piece in enumerate(self.cut.pieces):
            constants, lines = self._piece(f"piece{k}", piece)
            head += constants
            functions += lines
        functions += self._turns()
        stores, calls = self._stores()
        functions += stores
        entry = self._entry_of_one if self.lanes == 1 else self._entry_of_blocks
        functions += (self._entry_in_context if self.arrays.in_context else entry)(calls)
        return [*head, *functions]

    def _declarations(self) -> list[str]:
        kind = self.kind if self.lanes == 1 else f"v{self.lanes}f64"
        tail = "f64" if self.lanes == 1 else kind
        alone = [] if self.lanes == 1 else ["declare double @llvm.fabs.f64(double)"]
        return [
            *alone,
            "declare double @sin(double)",
            "declare double @cos(double)",
            f"declare {self.kind} @llvm.fabs.{tail}({self.kind})",
            f"declare {self.kind} @llvm.sqrt.{tail}({self.kind})",
        ]

    def _piece(self, name: str, piece: TapePiece) -> tuple[list[str], list[str]]:
        """One piece as a function of the workspace; the table of its constants."""
        self.lines = [f"define internal void @{name}(i64 %w) noinline {{"]
        operations, constants = self.recording.operations, dict[float, int]()
        for k in range(piece.begin, piece.end):
            for x in operations[k][1:] if operations[k][0] not in (INPUT, CONSTANT) else ():
                if operations[x][0] == CONSTANT:
                    constants.setdefault(operations[x][1], len(constants))
        self.align_stack()
        base = self.hidden(f"{name}_constants", len(constants)) if constants else ""
        known: dict[int, str] = {}
        carried = {k: self.slots + slot for k, slot in piece.loads}

        def value(k: int) -> str:
            if k not in known:
                kind = operations[k][0]
                if kind == CONSTANT:
                    found = self.load(self.kind, self.at(base, constants[operations[k][1]] * self.bytes))
                elif k in carried:
                    found = self.load(self.kind, self.slot(carried[k]))
                else:
                    found = self.load(self.kind, self.slot(self.place[k]))
                if kind == CONSTANT:  # read again where it is needed again: cheaper than a register
                    return found
                known[k] = found
            return known[k]

        kept = set(self.results)
        for k in range(piece.begin, piece.end):
            name_, *operands = operations[k]
            if name_ in (INPUT, CONSTANT, "sine", "cosine"):
                continue
            x = [value(operand) for operand in operands]
            known[k] = self._operation(name_, x)
            if k in kept:
                self.store(self.kind, known[k], self.slot(self.place[k]))
        for k, slot in piece.stores:
            self.store(self.kind, value(k), self.slot(self.slots + slot))
        self.lines += ["  ret void", "}"]
        return ([self.table(f"{name}_constants", list(constants))] if constants else []), self.lines

    def _operation(self, name: str, x: list[str]) -> str:
        if name in INSTRUCTIONS:
            return self.two(INSTRUCTIONS[name], x[0], x[1])
        if name == "negative":
            return self.new(f"fneg {FLAGS} {self.kind} {x[0]}")
        if name == "select":
            bits = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
            less = self.new(f"fcmp ogt {self.kind} {x[1]}, {x[0]}")
            return self.new(f"select {bits} {less}, {self.kind} {x[2]}, {self.kind} {x[3]}")
        tail = "f64" if self.lanes == 1 else f"v{self.lanes}f64"
        assert name == ROOT
        return self.new(f"call {self.kind} @llvm.sqrt.{tail}({self.kind} {x[0]})")

    # ---- sine and cosine ----------------------------------------------------------------------------------
    def _turns(self) -> list[str]:
        """Sines and cosines of all angles; those of large angles by the C library."""
        if not self.angles:
            return []
        far = self._far()
        self.lines = ["define internal void @turns(i64 %w) noinline {", "entry:"]
        self.align_stack()
        table = self.hidden("angle_table", len(ANGLES))
        c = [self.load(self.kind, self.at(table, k * self.bytes)) for k in range(len(ANGLES))]
        tail = "f64" if self.lanes == 1 else f"v{self.lanes}f64"
        above = ""
        for k in self.angles:
            x = self._angle(k)
            for place, turned in enumerate((x, *self._near(x, c))):
                self.store(self.kind, turned, self.slot(self.turn[k] + place))
            size = self.new(f"call {self.kind} @llvm.fabs.{tail}({self.kind} {x})")
            each = self.new(f"fcmp ogt {self.kind} {size}, {self.literal(NEAR)}")
            bits = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"
            above = self.new(f"or {bits} {above}, {each}") if above else each
        if self.lanes > 1:
            mask = self.new(f"bitcast <{self.lanes} x i1> {above} to i{self.lanes}")
            above = self.new(f"icmp ne i{self.lanes} {mask}, 0")
        self.lines += [f"  br i1 {above}, label %far, label %done", "far:"]
        for k in self.angles:
            self.lines.append(f"  call void @far(i64 {self.slot(self.turn[k])})")
        self.lines += ["  br label %done", "done:", "  ret void", "}"]
        return [*far, *self.lines]

    def _angle(self, k: int) -> str:
        """An angle: an input, or a sum of inputs and constants."""
        name, *operands = self.recording.operations[k]
        if name == INPUT:
            return self.load(self.kind, self.slot(self.place[k]))
        if name == CONSTANT:
            return self.literal(operands[0])
        return self.two(INSTRUCTIONS[name], *(self._angle(x) for x in operands))

    def _far(self) -> list[str]:
        """Lanes whose angles are large, one by one."""
        self.lines = ["define internal void @far(i64 %x) noinline cold {"]
        for lane in range(self.lanes):
            x = self.load("double", self.at("%x", 8 * lane))
            size = self.new(f"call double @llvm.fabs.f64(double {x})")
            outside = self.new(f"fcmp ogt double {size}, {_hexadecimal(NEAR)}")
            for place, function in ((1, "sin"), (2, "cos")):
                where = self.at("%x", place * self.bytes + 8 * lane)
                old = self.load("double", where)
                new = self.new(f"call double @{function}(double {x})")
                chosen = self.new(f"select i1 {outside}, double {new}, double {old}")
                self.store("double", chosen, where)
        self.lines += ["  ret void", "}"]
        return self.lines

    def _near(self, x: str, c: list[str]) -> tuple[str, str]:
        """Cody-Waite reduction and polynomials, as in `lanes.functions`."""
        two = self.two
        bits = two("fadd", two("fmul", x, c[0]), c[1])
        k = two("fsub", bits, c[1])
        r = x
        for part in c[2:5]:
            r = two("fsub", r, two("fmul", k, part))
        z = two("fmul", r, r)
        sine = two("fadd", r, two("fmul", two("fmul", r, z), self._polynomial(z, c[7:13])))
        half = two("fsub", c[5], two("fmul", c[6], z))
        cosine = two("fadd", half, two("fmul", two("fmul", z, z), self._polynomial(z, c[13:19])))
        return self._turned(bits, sine, cosine)

    def _polynomial(self, z: str, c: list[str]) -> str:
        total = c[-1]
        for x in reversed(c[:-1]):
            total = self.two("fadd", x, self.two("fmul", z, total))
        return total

    def _turned(self, bits: str, sine: str, cosine: str) -> tuple[str, str]:
        """After as many quarter turns as stand in the low bits."""
        whole = "i64" if self.lanes == 1 else f"<{self.lanes} x i64>"
        flag = "i1" if self.lanes == 1 else f"<{self.lanes} x i1>"

        def every(value: int) -> str:
            return str(value) if self.lanes == 1 else f"<{', '.join([f'i64 {value}'] * self.lanes)}>"

        quarters = self.new(f"bitcast {self.kind} {bits} to {whole}")
        odd = self.new(f"shl {whole} {quarters}, {every(63)}")
        half = self.new(f"shl {whole} {quarters}, {every(62)}")
        swap = self.new(f"icmp slt {whole} {odd}, {every(0)}")
        first = self.new(f"select {flag} {swap}, {self.kind} {cosine}, {self.kind} {sine}")
        second = self.new(f"select {flag} {swap}, {self.kind} {sine}, {self.kind} {cosine}")
        found = []
        for x, flip in ((first, half), (second, self.new(f"xor {whole} {half}, {odd}"))):
            sign = self.new(f"and {whole} {flip}, {every(-(2**63))}")
            turned = self.new(f"xor {whole} {self.new(f'bitcast {self.kind} {x} to {whole}')}, {sign}")
            found.append(self.new(f"bitcast {whole} {turned} to {self.kind}"))
        return found[0], found[1]

    # ---- arrays -------------------------------------------------------------------------------------------
    def _result(self, k: int) -> str:
        """The number of an operation that is a result."""
        name, *operands = self.recording.operations[k]
        return (
            self.literal(operands[0]) if name == CONSTANT else self.load(self.kind, self.slot(self.place[k]))
        )

    def _stores(self) -> tuple[list[str], list[str]]:
        """Functions that store some entries each, of (workspace, address of the first state of an array)."""
        functions, calls = list[str](), list[str]()
        for output in range(self.arrays.outputs + self.arrays.full):
            row = self.recording.outputs[output]
            groups = _groups(len(row), self.lanes)
            for first in range(0, len(groups), LARGEST_STORE):
                name = f"store{output}_{first}"
                self.lines = [f"define internal void @{name}(i64 %w, i64 %out) noinline {{"]
                for begin in groups[first : first + LARGEST_STORE]:
                    self._store_group(row, begin)
                self.lines += ["  ret void", "}"]
                functions += self.lines
                calls.append(f"call void @{name}(i64 %w, i64 {{out{output}}})")
        return functions, calls

    def _store_group(self, row: Sequence[int], begin: int) -> None:
        size = len(row)
        if self.lanes == 1:
            self.store("double", self._result(row[begin]), self.at("%out", 8 * begin))
        elif size < self.lanes:
            x = self._result(row[begin])
            for lane in range(self.lanes):
                one = self.new(f"extractelement {self.kind} {x}, i32 {lane}")
                self.store("double", one, self.at("%out", 8 * (lane * size + begin)))
        else:
            rows = self._transposed([self._result(row[begin + k]) for k in range(self.lanes)])
            for lane, x in enumerate(rows):
                self.store(self.kind, x, self.at("%out", 8 * (lane * size + begin)))

    def _transposed(self, a: list[str]) -> list[str]:
        low = [self._shuffled(a[k], a[k + 1], (0, 4, 2, 6)) for k in (0, 2)]
        high = [self._shuffled(a[k], a[k + 1], (1, 5, 3, 7)) for k in (0, 2)]
        return [
            self._shuffled(pair[0], pair[1], order)
            for order in ((0, 1, 4, 5), (2, 3, 6, 7))
            for pair in (low, high)
        ]

    def _shuffled(self, a: str, b: str, order: Sequence[int]) -> str:
        mask = ", ".join(f"i32 {k}" for k in order)
        return self.new(f"shufflevector {self.kind} {a}, {self.kind} {b}, <4 x i32> <{mask}>")

    def _read(self, row: int, base: str, excess: list[str]) -> None:
        """Bring an input of a block into the workspace; add up the squares of what was read."""
        size = self.recording.sizes[row]
        for begin in _groups(size, self.lanes):
            if self.lanes == 1:
                found = [self.load("double", self.at(base, 8 * begin))]
            elif size < self.lanes:
                x = "undef"
                for lane in range(self.lanes):
                    one = self.load("double", self.at(base, 8 * (lane * size + begin)))
                    x = self.new(f"insertelement {self.kind} {x}, double {one}, i32 {lane}")
                found = [x]
            else:
                lanes = [
                    self.load(self.kind, self.at(base, 8 * (k * size + begin))) for k in range(self.lanes)
                ]
                found = self._transposed(lanes)
            for k, x in enumerate(found):
                self.store(self.kind, x, self.slot(self.inputs[row] + begin + k))
                each = (begin + k) % len(excess)
                excess[each] = self.two("fadd", excess[each], self.two("fmul", x, x))

    def _bases(self, first: str) -> list[str]:
        """Addresses of the block in all arrays that pairs of words give; of full arrays one by one."""
        inputs, outputs = self.read, self.arrays.outputs
        sizes = [*self.recording.sizes[:inputs], *(len(x) for x in self.recording.outputs[:outputs])]
        found = []
        for k, size in enumerate(sizes):
            address = self.load("i64", self.at("%pairs", 16 * k))
            found.append(self.new(f"add i64 {address}, {self.new(f'mul i64 {first}, {8 * size}')}"))
        if self.arrays.full:
            place = 16 * (inputs + outputs)
            address, apart = (self.load("i64", self.at("%pairs", place + k)) for k in (0, 8))
            for m in range(self.arrays.full):
                entries = len(self.recording.outputs[outputs + m])
                start = self.new(f"add i64 {address}, {self.new(f'mul i64 {apart}, {8 * m}')}")
                found.append(self.new(f"add i64 {start}, {self.new(f'mul i64 {first}, {8 * entries}')}"))
        return found

    def _block(self, bases: list[str], calls: Sequence[str]) -> str:
        """All of one block, whose arrays begin there; a number that is zero if it can be trusted."""
        inputs = self.read
        excess = [self.literal(0.0)] * 4
        for row in range(inputs):
            self._read(row, bases[row], excess)
        if self.angles:
            self.lines.append("  call void @turns(i64 %w)")
        self.lines += [f"  call void @piece{k}(i64 %w)" for k in range(len(self.cut.pieces))]
        for call in calls:
            names = {f"out{k}": base for k, base in enumerate(bases[inputs:])}
            self.lines.append("  " + call.format(**names))
        squares = self.two("fadd", self.two("fadd", *excess[:2]), self.two("fadd", *excess[2:]))
        doubts = [self.two("fmul", self.two("fmul", squares, squares), self.literal(0.0))] * 1
        doubts += [self.literal(0.0)] * 3
        for k in self.results:
            x = self.two("fmul", self.load(self.kind, self.slot(self.place[k])), self.literal(0.0))
            doubts[k % 4] = self.two("fadd", doubts[k % 4], x)
        if self.arrays.judged:
            suspicion = self._result(self.recording.outputs[-1][0])
            doubts[1] = self.two("fadd", doubts[1], suspicion)
        return self.two("fadd", self.two("fadd", *doubts[:2]), self.two("fadd", *doubts[2:]))

    # ---- entries ------------------------------------------------------------------------------------------
    def _entry_of_blocks(self, calls: Sequence[str]) -> list[str]:
        """(table, workspace, size, begin, end, pairs, three words): 1 if all states can be trusted."""
        words = ", ".join(f"i64 %{x}" for x in "table w size begin end pairs start places streamed".split())
        self.lines = [
            f"define i64 @{self.symbol}({words}) {{",
            "entry:",
            f"  %last = sub i64 %end, {LANES}",
            "  br label %head",
            "head:",
            "  %b = phi i64 [%begin, %entry], [%next, %block]",
            f"  %total = phi {self.kind} [{self.literal(0.0)}, %entry], [%sum, %block]",
            "  %more = icmp slt i64 %b, %end",
            "  br i1 %more, label %block, label %done",
            "block:",
            "  %beyond = icmp sgt i64 %b, %last",
            "  %first = select i1 %beyond, i64 %last, i64 %b",
        ]
        doubt = self._block(self._bases("%first"), calls)
        self.lines.append(f"  %sum = fadd {self.kind} %total, {doubt}")
        self.lines += [f"  %next = add i64 %b, {LANES}", "  br label %head", "done:"]
        total = ""
        for lane in range(self.lanes):
            one = self.new(f"extractelement {self.kind} %total, i32 {lane}")
            total = self.new(f"fadd double {total}, {one}") if total else one
        return self._answered(total)

    def _entry_of_one(self, calls: Sequence[str]) -> list[str]:
        """(workspace, size, pairs): 1 if the state can be trusted."""
        self.lines = [f"define i64 @{self.symbol}(i64 %w, i64 %size, i64 %pairs) {{"]
        return self._answered(self._block(self._bases("0"), calls))

    def _entry_in_context(self, calls: Sequence[str]) -> list[str]:
        """(t, state, rates, context, own): 0. Own words say which words of the context say where rows are."""
        words = ", ".join(f"i64 %{x}" for x in ("state", "rates", "context", "own"))
        self.lines = [
            f"define i64 @{self.symbol}(double %t, {words}) {{",
            f"  %w = add i64 %own, {8 * PLACES}",
        ]
        bases = []
        for k in range(self.read + self.arrays.outputs):
            address = "%context"
            for word in (self.load("i64", self.at("%own", 8 * k)), ""):
                place = word or self.load("i64", address)
                address = self.new(f"add i64 %context, {self.new(f'mul i64 {place}, 8')}")
            bases.append(address)
        self._block(bases, calls)
        self.lines += ["  ret i64 0", "}"]
        return self.lines

    def _answered(self, total: str) -> list[str]:
        trusted = self.new(f"fcmp oeq double {total}, {_hexadecimal(0.0)}")
        self.lines += [f"  ret i64 {self.new(f'zext i1 {trusted} to i64')}", "}"]
        return self.lines


def _groups(size: int, lanes: int) -> list[int]:
    """Where groups of as many entries as lanes begin; the last one may overlap. One by one of fewer."""
    if lanes == 1 or size < lanes:
        return list(range(size))
    begins = list(range(0, size - lanes + 1, lanes))
    return begins if size % lanes == 0 else [*begins, size - lanes]


def _hexadecimal(value: float) -> str:
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"
