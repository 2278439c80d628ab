"""Functions of numbers: sine and cosine for any finite argument, sign, selection."""

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from kinetree.engine.angle_table import COSINE, NEAR, QUARTER, QUARTERS, SINE, UNITS
from kinetree.engine.lanes.number import INLINE, INT32, INT64, LaneType, constant, llvm_type, splat
from kinetree.kernels.number import any_positive, arctan, magnitude, sign, sincos, square_root, where_less

lanewise = register_jitable(**INLINE)


def _unary(name):
    @intrinsic
    def call(typing, x):
        def build(context, builder, sig, args):
            llvm = llvm_type(x)
            tail = f"v{x.lanes}f64" if isinstance(x, LaneType) else "f64"
            f = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(llvm, [llvm]), f"llvm.{name}.{tail}"
            )
            return builder.call(f, args)

        return x(x), build

    return call


_abs = _unary("fabs")


@intrinsic
def _turned(typing, bits, s, c):
    """Sine and cosine, s and c those of what is left of an angle after as many quarter turns.

    ``bits`` is that integer plus 1.5 * 2**52, which has it in its low bits.
    """

    def build(context, builder, sig, args):
        whole, sign = llvm_type(bits, INT64), constant(bits, -(2**63), INT64)
        quarters = builder.bitcast(args[0], whole)
        odd = builder.shl(quarters, constant(bits, 63, INT64))
        half = builder.shl(quarters, constant(bits, 62, INT64))
        swap = builder.icmp_signed("<", odd, constant(bits, 0, INT64))
        sine, cosine = builder.select(swap, args[2], args[1]), builder.select(swap, args[1], args[2])
        flips = half, builder.xor(half, odd)
        turned = [
            builder.bitcast(builder.xor(builder.bitcast(x, whole), builder.and_(flip, sign)), llvm_type(bits))
            for x, flip in zip((sine, cosine), flips, strict=True)
        ]
        return context.make_tuple(builder, sig.return_type, turned)

    return types.UniTuple(bits, 2)(bits, bits, bits), build


@intrinsic
def _select_less(typing, x, limit, a, b):
    def build(context, builder, sig, args):
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return x(x, x, x, x), build


@overload(sign, jit_options=INLINE, strict=False)
def _sign(x):
    return lambda x: _select_less(
        0.0 * x, x, 1.0 + 0.0 * x, _select_less(x, 0.0 * x, -1.0 + 0.0 * x, 0.0 * x)
    )


@intrinsic
def _coefficients(typing, x):
    """All of the above as numbers like x, read from one table in memory.

    Constants in the code cost two instructions each, one for the address and one to copy it to all lanes;
    from the table, whose address LLVM cannot see through, arithmetic reads them itself.
    """
    values = (*QUARTERS, *QUARTER, *UNITS, *SINE, *COSINE)

    def build(context, builder, sig, args):
        llvm = llvm_type(x)
        table = ir.Constant(ir.ArrayType(llvm, len(values)), [constant(x, value) for value in values])
        start = cgutils.global_constant(builder, "coefficients", table)
        start.align = 32
        start = builder.asm(ir.FunctionType(start.type, [start.type]), "", "=r,0", [start], False)
        found = []
        for k in range(len(values)):
            place = builder.gep(start, [ir.Constant(INT32, 0), ir.Constant(INT32, k)], inbounds=True)
            number = builder.load(place, align=8 * getattr(x, "lanes", 1))
            number.set_metadata("invariant.load", builder.module.add_metadata([]))
            found.append(number)
        return context.make_tuple(builder, sig.return_type, found)

    return types.UniTuple(x, len(values))(x), build


@lanewise
def _polynomial(z, c, k):
    return c[k] + z * (c[k + 1] + z * (c[k + 2] + z * (c[k + 3] + z * (c[k + 4] + z * c[k + 5]))))


@lanewise
def _sincos_near(x):
    """Cody-Waite reduction and polynomials: error about 1e-16 for |x| < 1e6."""
    c = _coefficients(x)
    bits = x * c[0] + c[1]
    k = bits - c[1]
    r = ((x - k * c[2]) - k * c[3]) - k * c[4]
    z = r * r
    sine = r + r * z * _polynomial(z, c, 7)
    cosine = (c[5] - c[6] * z) + z * z * _polynomial(z, c, 13)
    return _turned(bits, sine, cosine)


@intrinsic
def _any_above(typing, x, limit):
    """Whether x > limit in some lane."""

    def build(context, builder, sig, args):
        if not isinstance(x, LaneType):
            return builder.fcmp_ordered(">", *args)
        above = builder.fcmp_ordered(">", args[0], splat(builder, args[1], x.lanes))
        mask = builder.bitcast(above, ir.IntType(x.lanes))
        return builder.icmp_unsigned("!=", mask, ir.Constant(mask.type, 0))

    return types.boolean(x, types.float64), build


@intrinsic
def _lane(typing, x, k):
    def build(context, builder, sig, args):
        if not isinstance(x, LaneType):
            return args[0]
        return builder.extract_element(args[0], builder.trunc(args[1], INT32))

    return types.float64(x, types.intp), build


@intrinsic
def _with_lane(typing, x, k, value):
    def build(context, builder, sig, args):
        if not isinstance(x, LaneType):
            return args[2]
        return builder.insert_element(args[0], args[2], builder.trunc(args[1], INT32))

    return x(x, types.intp, types.float64), build


def _sincos_far(x):
    """The C library's sine and cosine in the lanes that are far out."""
    return sincos(x)


@overload(_sincos_far, jit_options={"no_cpython_wrapper": True}, strict=False)
def _sincos_far_overload(x):
    lanes = x.lanes if isinstance(x, LaneType) else 1

    def one_by_one(x):
        s, c = _sincos_near(x)
        for k in range(lanes):
            angle = _lane(x, k)
            if abs(angle) > NEAR:
                s, c = _with_lane(s, k, math.sin(angle)), _with_lane(c, k, math.cos(angle))
        return s, c

    return one_by_one


@overload(sincos, jit_options=INLINE, strict=False)
def _sincos(x):
    def any_size(x):
        if _any_above(_abs(x), NEAR):
            return _sincos_far(x)
        return _sincos_near(x)

    return any_size


@intrinsic
def _where_less(typing, a, b, x, y):
    kinds = (a, b, x, y)
    lanes = next((kind for kind in kinds if isinstance(kind, LaneType)), types.float64)

    def build(context, builder, sig, args):
        if isinstance(lanes, LaneType):
            args = [
                value if isinstance(kind, LaneType) else splat(builder, value, lanes.lanes)
                for kind, value in zip(sig.args, args, strict=True)
            ]
        return builder.select(builder.fcmp_ordered("<", args[0], args[1]), args[2], args[3])

    return lanes(*(kind if isinstance(kind, LaneType) else types.float64 for kind in kinds)), build


@overload(where_less, jit_options=INLINE, strict=False)
def _where_less_overload(a, b, x, y):
    return lambda a, b, x, y: _where_less(a, b, x, y)


@overload(arctan, jit_options={"no_cpython_wrapper": True}, strict=False)
def _arctan(x):
    if not isinstance(x, LaneType):
        return lambda x: math.atan(x)
    lanes = x.lanes

    def one_by_one(x):
        angle = x
        for k in range(lanes):
            angle = _with_lane(angle, k, math.atan(_lane(x, k)))
        return angle

    return one_by_one


_root = _unary("sqrt")


@overload(square_root, jit_options=INLINE, strict=False)
def _square_root(x):
    return lambda x: _root(x)


@overload(magnitude, jit_options=INLINE, strict=False)
def _magnitude(x):
    return lambda x: _abs(x)


@overload(any_positive, jit_options=INLINE, strict=False)
def _any_positive(x):
    return lambda x: _any_above(x, 0.0)
