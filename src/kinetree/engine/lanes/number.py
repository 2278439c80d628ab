"""The number that is SIMD lanes: ``<L x double>``, one state per lane; plain float64 when L = 1."""

import operator

from llvmlite import ir
from numba import types
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, lower_cast, models, register_model

from kinetree.engine.pipeline import InnerCompiler

FLAGS = ("contract", "nsz", "arcp")  # fused multiply-add allowed; NaN stays NaN
UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}  # for what only compiled code calls
PART = {"error_model": "numpy", "fastmath": set(FLAGS), "pipeline_class": InnerCompiler, **UNWRAPPED}
INLINE = {"forceinline": True, **PART}
DOUBLE, INT64, INT32 = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


class LaneType(types.Type):
    """The numba type of a vector of lanes; floats and integers become one by broadcasting."""

    def __init__(self, lanes):
        self.lanes = lanes
        super().__init__(name=f"lanes{lanes}")

    def unify(self, context, other):
        """A branch may yield a number or a constant."""
        return self if isinstance(other, (types.Float, types.Integer)) else None

    def can_convert_from(self, context, other):
        """Constants may stand where a number is expected."""
        return Conversion.safe if isinstance(other, (types.Float, types.Integer)) else None


@register_model(LaneType)
class _LaneModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, ir.VectorType(DOUBLE, kind.lanes))


def number_type(lanes):
    """The numba type of a number with that many lanes."""
    return types.float64 if lanes == 1 else LaneType(lanes)


def llvm_type(kind, element=DOUBLE):
    """The LLVM type behind a number."""
    return ir.VectorType(element, kind.lanes) if isinstance(kind, LaneType) else element


def constant(kind, value, element=DOUBLE):
    """A constant in every lane."""
    llvm = llvm_type(kind, element)
    return ir.Constant(llvm, [value] * kind.lanes if isinstance(kind, LaneType) else value)


def splat(builder, x, lanes):
    """A scalar in every lane."""
    empty = ir.Constant(ir.VectorType(DOUBLE, lanes), ir.Undefined)
    one = builder.insert_element(empty, x, ir.Constant(INT32, 0))
    return builder.shuffle_vector(one, empty, ir.Constant(ir.VectorType(INT32, lanes), [0] * lanes))


@lower_cast(types.Float, LaneType)
def _float_to_lanes(context, builder, source, target, x):
    return splat(builder, context.cast(builder, x, source, types.float64), target.lanes)


@lower_cast(types.Integer, LaneType)
def _integer_to_lanes(context, builder, source, target, x):
    return splat(builder, context.cast(builder, x, source, types.float64), target.lanes)


def _arithmetic(op, instruction):
    @infer_global(op)
    class _Typing(AbstractTemplate):
        def generic(self, args, kws):
            lane = [a for a in args if isinstance(a, LaneType)]
            if (
                len(args) == 2
                and lane
                and all(isinstance(a, (LaneType, types.Float, types.Integer)) for a in args)
            ):
                return signature(lane[0], *[a if isinstance(a, LaneType) else types.float64 for a in args])

    def lower(context, builder, sig, args):
        a, b = (
            x if isinstance(t, LaneType) else splat(builder, x, sig.return_type.lanes)
            for x, t in zip(args, sig.args, strict=True)
        )
        return getattr(builder, instruction)(a, b, flags=FLAGS)

    for pair in ((LaneType, LaneType), (LaneType, types.Float), (types.Float, LaneType)):
        lower_builtin(op, *pair)(lower)


for _op, _instruction in (
    (operator.add, "fadd"),
    (operator.sub, "fsub"),
    (operator.mul, "fmul"),
    (operator.truediv, "fdiv"),
):
    _arithmetic(_op, _instruction)


@infer_global(operator.neg)
class _NegTyping(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], LaneType):
            return signature(args[0], args[0])


@lower_builtin(operator.neg, LaneType)
def _neg(context, builder, sig, args):
    return builder.fneg(args[0])
