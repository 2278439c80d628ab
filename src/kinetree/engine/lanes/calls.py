"""Calls through function addresses, and vector loops over the rows of a matrix.

Rows are as long as a multiple of ``BLOCK`` numbers and start on a vector boundary, so the loops have no tails
and no checks for overlap.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from kinetree.engine.lanes.number import DOUBLE, FLAGS, INT32, INT64, LaneType, splat
from kinetree.engine.workspace import BLOCK

_VECTOR = ir.VectorType(DOUBLE, BLOCK)
_LANES = LaneType(BLOCK)


@intrinsic
def address_of(typing, matrix, row):
    """The address of a row of a C-contiguous matrix."""
    if matrix.layout != "C" or matrix.ndim != 2:
        raise TypingError("rows belong to C-contiguous matrices")

    def build(context, builder, sig, args):
        view = context.make_array(sig.args[0])(context, builder, args[0])
        return builder.ptrtoint(_row(builder, view, args[1]), INT64)

    return types.intp(matrix, types.intp), build


@intrinsic
def call(typing, address, t, pointers):
    """The C function int64(double t, double* ...) at an address, given a tuple of addresses."""

    def build(context, builder, sig, args):
        values = [_as_pointer(builder, p) for p in cgutils.unpack_tuple(builder, args[2])]
        return _call(builder, args[0], args[1], values)

    return types.int64(types.intp, types.float64, pointers), build


def combination(terms, *, from_start=True):
    """combine(memory, out, start, h): row `out` = row `start` + h (sum of coefficient * row), unrolled.

    ``terms`` are pairs (row, coefficient); zeros are left out. Without ``from_start`` nothing is added.
    """
    terms = _without_zeros(terms)

    @intrinsic
    def combine(typing, memory, out, start, h):
        def build(context, builder, sig, args):
            view = context.make_array(sig.args[0])(context, builder, args[0])
            base = _row(builder, view, args[2]) if from_start else None
            _combine(builder, view, terms, _row(builder, view, args[1]), base, args[3])
            return context.get_dummy_value()

        return types.none(memory, types.intp, types.intp, types.float64), build

    return combine


def stages(plan, start):
    """run(memory, address, context, t, t_end, h): the stages of an explicit Runge-Kutta method, unrolled.

    ``plan`` has (terms, c, argument, out) for each stage: row `argument` = row `start` + h (sum of terms),
    row `out` = f(t + c h, row `argument`), at t_end if c is 1. Answers f's first answer that is not 0, or 0.
    """
    plan = [(_without_zeros(terms), c, argument, out) for terms, c, argument, out in plan]

    @intrinsic
    def run(typing, memory, address, context_address, t, t_end, h):
        def build(context, builder, sig, args):
            view = context.make_array(sig.args[0])(context, builder, args[0])
            f, extra, (t, t_end, h) = args[1], _as_pointer(builder, args[2]), args[3:]
            answer = cgutils.alloca_once_value(builder, ir.Constant(INT64, 0))
            for terms, c, argument, out in plan:
                with builder.if_then(_is_zero(builder, builder.load(answer))):
                    at = _row(builder, view, _index(argument))
                    _combine(builder, view, terms, at, _row(builder, view, _index(start)), h)
                    later = builder.fmul(h, ir.Constant(DOUBLE, c))
                    time = t_end if c == 1.0 else builder.fadd(t, later)
                    result = _call(builder, f, time, [at, _row(builder, view, _index(out)), extra])
                    builder.store(result, answer)
            return builder.load(answer)

        number = types.float64
        return types.int64(memory, types.intp, types.intp, number, number, number), build

    return run


@intrinsic
def load_block(typing, memory, row, j):
    """The numbers j ... j + BLOCK - 1 of a row."""

    def build(context, builder, sig, args):
        view = context.make_array(sig.args[0])(context, builder, args[0])
        return _get(builder, _row(builder, view, args[1]), args[2])

    return _LANES(memory, types.intp, types.intp), build


@intrinsic
def store_block(typing, memory, row, j, x):
    """Put numbers at j ... j + BLOCK - 1 of a row."""

    def build(context, builder, sig, args):
        view = context.make_array(sig.args[0])(context, builder, args[0])
        place = _vector(builder, _row(builder, view, args[1]), args[2])
        builder.store(args[3], place, align=8 * BLOCK)
        return context.get_dummy_value()

    return types.none(memory, types.intp, types.intp, _LANES), build


@intrinsic
def larger_magnitude(typing, x, y):
    """max(|x|, |y|) in each lane."""

    def build(context, builder, sig, args):
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        name = f"llvm.fabs.v{BLOCK}f64"
        magnitude = cgutils.get_or_insert_function(builder.module, kind, name)
        a, b = (builder.call(magnitude, [value]) for value in args)
        return builder.select(builder.fcmp_ordered(">", a, b), a, b)

    return _LANES(_LANES, _LANES), build


@intrinsic
def total(typing, x):
    """The sum of the lanes."""

    def build(context, builder, sig, args):
        parts = [builder.extract_element(args[0], ir.Constant(INT32, k)) for k in range(BLOCK)]
        while len(parts) > 1:
            parts = [builder.fadd(a, b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
        return parts[0]

    return types.float64(_LANES), build


def _call(builder, address, t, pointers):
    kind = ir.FunctionType(INT64, [DOUBLE, *[DOUBLE.as_pointer()] * len(pointers)])
    return builder.call(builder.inttoptr(address, kind.as_pointer()), [t, *pointers])


def _as_pointer(builder, address):
    return builder.inttoptr(address, DOUBLE.as_pointer())


def _combine(builder, view, terms, place, base, h):
    """place = base + h (sum of coefficient * row), as one loop over vectors."""
    sources = [(_row(builder, view, _index(row)), c) for row, c in terms]
    h = splat(builder, h, BLOCK)
    with _blocks(builder, _width(builder, view)) as (j, _):
        total = None
        for source, c in sources:
            part = builder.fmul(_get(builder, source, j), _constant(c), flags=FLAGS)
            total = part if total is None else builder.fadd(total, part, flags=FLAGS)
        total = builder.fmul(total, h, flags=FLAGS)
        if base is not None:
            total = builder.fadd(_get(builder, base, j), total, flags=FLAGS)
        builder.store(total, _vector(builder, place, j), align=8 * BLOCK)


def _without_zeros(terms):
    return tuple((row, float(coefficient)) for row, coefficient in terms if coefficient != 0)


def _is_zero(builder, x):
    return builder.icmp_signed("==", x, ir.Constant(INT64, 0))


def _index(row):
    return ir.Constant(INT64, row)


def _width(builder, view):
    return builder.extract_value(view.shape, 1)


def _row(builder, view, row):
    return builder.gep(view.data, [builder.mul(row, _width(builder, view))], inbounds=True)


def _blocks(builder, width):
    """A loop over the first numbers of all blocks (and over how many there were)."""
    return cgutils.for_range_slice(builder, _index(0), width, _index(BLOCK), inc=True)


def _vector(builder, row, j):
    return builder.bitcast(builder.gep(row, [j], inbounds=True), _VECTOR.as_pointer())


def _get(builder, row, j):
    return builder.load(_vector(builder, row, j), align=8 * BLOCK)


def _constant(c):
    return ir.Constant(_VECTOR, [c] * BLOCK)
