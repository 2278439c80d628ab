"""Memory as kernels see it: named fields of rows, and lanes of plain (batch, n) arrays.

The place of a field in memory is part of its type, so ``work.w[i]`` compiles to loads at constant
displacements.
"""

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.imputils import lower_constant
from numba.core.typing.templates import (
    AbstractTemplate,
    AttributeTemplate,
    infer_getattr,
    infer_global,
    signature,
)
from numba.extending import (
    intrinsic,
    lower_builtin,
    lower_getattr_generic,
    models,
    overload,
    register_model,
    typeof_impl,
)

from kinetree.engine.lanes.number import DOUBLE, FLAGS, INLINE, INT32, INT64, llvm_type, number_type
from kinetree.kernels.layout import Layout
from kinetree.kernels.number import accumulate, again, nothing


class LayoutType(types.Opaque):
    """A layout as a compile-time constant."""

    def __init__(self, layout):
        self.layout = layout
        super().__init__(name=f"Layout{layout.key}")


@typeof_impl.register(Layout)
def _typeof_layout(layout, context):
    return LayoutType(layout)


register_model(LayoutType)(models.OpaqueModel)


@lower_constant(LayoutType)
def _constant_layout(context, builder, kind, value):
    return context.get_dummy_value()


class FieldsType(types.Type):
    """Rows of a layout in memory; its attributes are fields."""

    def __init__(self, layout, lanes):
        self.layout, self.lanes = layout, lanes
        super().__init__(name=f"Fields{lanes}{layout.key}")


class FieldType(types.Type):
    """One field: where it starts in a row, how many numbers it has."""

    def __init__(self, layout, lanes, start, count, integer):
        self.layout, self.lanes, self.start, self.count = layout, lanes, start, count
        self.number = types.intp if integer else number_type(lanes)
        self.value = self.number if count == 1 else types.UniTuple(self.number, count)
        super().__init__(name=f"Field{lanes}.{start}.{count}.{integer}{layout.key}")


class RowsType(types.Type):
    """Lanes of a plain (batch, n) array, seen as n numbers."""

    def __init__(self, lanes):
        self.lanes = lanes
        super().__init__(name=f"Rows{lanes}")


class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, DOUBLE.as_pointer())


register_model(FieldsType)(_PointerModel)
register_model(FieldType)(_PointerModel)


@register_model(RowsType)
class _RowsModel(models.StructModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, [("data", types.CPointer(types.float64)), ("n", types.intp)])


@infer_getattr
class _FieldsAttributes(AttributeTemplate):
    key = FieldsType

    def generic_resolve(self, fields, name):
        if name in fields.layout.places:
            return FieldType(fields.layout, fields.lanes, *fields.layout.places[name])


@lower_getattr_generic(FieldsType)
def _field(context, builder, fields, pointer, name):
    return pointer


def _pointer(builder, field, base, row, k):
    row = builder.mul(row, ir.Constant(INT64, field.layout.width * field.lanes))
    pointer = builder.gep(
        builder.gep(base, [row], inbounds=True),
        [ir.Constant(INT64, (field.start + k) * field.lanes)],
        inbounds=True,
    )
    llvm = INT64 if field.number is types.intp else llvm_type(field.number)
    return builder.bitcast(pointer, llvm.as_pointer())


def _load(builder, field, base, row, k):
    x = builder.load(_pointer(builder, field, base, row, k), align=8)
    if field.layout.constant:
        x.set_metadata("invariant.load", builder.module.add_metadata([]))
    return x


@infer_global(operator.getitem)
class _GetTyping(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], FieldType):
            return signature(args[0].value, args[0], types.intp)
        if isinstance(args[0], RowsType):
            return signature(number_type(args[0].lanes), args[0], types.intp)


@infer_global(operator.setitem)
class _SetTyping(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], FieldType):
            return signature(types.none, args[0], types.intp, args[0].value)
        if isinstance(args[0], RowsType):
            return signature(types.none, args[0], types.intp, number_type(args[0].lanes))


@lower_builtin(operator.getitem, FieldType, types.intp)
def _get(context, builder, sig, args):
    field = sig.args[0]
    numbers = [_load(builder, field, args[0], args[1], k) for k in range(field.count)]
    return numbers[0] if field.count == 1 else context.make_tuple(builder, sig.return_type, numbers)


def _numbers(builder, field, value):
    return [value] if field.count == 1 else cgutils.unpack_tuple(builder, value)


@lower_builtin(operator.setitem, FieldType, types.intp, types.Any)
def _set(context, builder, sig, args):
    field = sig.args[0]
    for k, x in enumerate(_numbers(builder, field, args[2])):
        pointer = _pointer(builder, field, args[0], args[1], k)
        if field.layout.streamed:
            store = builder.store(x, pointer, align=8 * field.lanes)
            store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(INT32, 1)]))
        else:
            builder.store(x, pointer, align=8)


@infer_global(accumulate)
class _AccumulateTyping(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], FieldType):
            return signature(types.none, args[0], types.intp, args[0].value)


@lower_builtin(accumulate, FieldType, types.intp, types.Any)
def _accumulate(context, builder, sig, args):
    field = sig.args[0]
    for k, x in enumerate(_numbers(builder, field, args[2])):
        total = builder.fadd(_load(builder, field, args[0], args[1], k), x, flags=FLAGS)
        builder.store(total, _pointer(builder, field, args[0], args[1], k), align=8)
    return context.get_dummy_value()


def _lane_pointers(context, builder, kind, rows, i):
    view = cgutils.create_struct_proxy(kind)(context, builder, value=rows)
    for _ in range(kind.lanes):
        yield builder.gep(view.data, [i], inbounds=True)
        i = builder.add(i, view.n)


@lower_builtin(operator.getitem, RowsType, types.intp)
def _get_row(context, builder, sig, args):
    numbers = [builder.load(p) for p in _lane_pointers(context, builder, sig.args[0], *args)]
    if len(numbers) == 1:
        return numbers[0]
    x = ir.Constant(llvm_type(sig.return_type), ir.Undefined)
    for k, lane in enumerate(numbers):
        x = builder.insert_element(x, lane, ir.Constant(INT32, k))
    return x


@lower_builtin(operator.setitem, RowsType, types.intp, types.Any)
def _set_row(context, builder, sig, args):
    for k, p in enumerate(_lane_pointers(context, builder, sig.args[0], *args[:2])):
        x = args[2] if sig.args[0].lanes == 1 else builder.extract_element(args[2], ir.Constant(INT32, k))
        builder.store(x, p)


@infer_global(len)
class _LenTyping(AbstractTemplate):
    def generic(self, args, kws):
        if isinstance(args[0], RowsType):
            return signature(types.intp, args[0])


@lower_builtin(len, RowsType)
def _len_rows(context, builder, sig, args):
    return cgutils.create_struct_proxy(sig.args[0])(context, builder, value=args[0]).n


def _align_stack(builder):
    """Make LLVM align the stack frame: otherwise half of all spilled vectors straddle cache lines."""
    slot = cgutils.alloca_once(builder, ir.VectorType(DOUBLE, 4))
    slot.align = 32
    builder.asm(ir.FunctionType(ir.VoidType(), [slot.type]), "", "r", [slot], True)


def _check(array):
    if array.layout != "C" or array.dtype != types.float64:
        raise TypingError("kernels need C-contiguous float64 arrays")


@intrinsic(prefer_literal=True)
def fields(typing, array, layout, lanes, start):
    """The rows of `layout` in a float64 array, from element `start` on."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    _check(array)
    layout_, lanes_ = layout.layout, lanes.literal_value

    def build(context, builder, sig, args):
        data = context.make_array(sig.args[0])(context, builder, args[0]).data
        _align_stack(builder)
        skip = layout_.width * lanes_ if layout_.world else 0
        return builder.gep(data, [builder.add(args[3], ir.Constant(INT64, skip))], inbounds=True)

    return FieldsType(layout_, lanes_)(array, layout, lanes, types.intp), build


@intrinsic(prefer_literal=True)
def row_at(typing, array, start, n, lanes):
    """Rows of n numbers, one per lane, one after the other from element `start` of a plain array on."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    _check(array)
    kind = RowsType(lanes.literal_value)

    def build(context, builder, sig, args):
        data = context.make_array(array)(context, builder, args[0]).data
        view = cgutils.create_struct_proxy(kind)(context, builder)
        view.n, view.data = args[2], builder.gep(data, [args[1]], inbounds=True)
        return view._getvalue()

    return kind(array, types.intp, types.intp, lanes), build


@intrinsic
def _nothing(typing, row):
    def build(context, builder, sig, args):
        view = cgutils.create_struct_proxy(row)(context, builder, value=args[0])
        view.n = ir.Constant(INT64, 0)
        return view._getvalue()

    return row(row), build


@overload(nothing, jit_options=INLINE)
def _nothing_overload(row):
    return lambda row: _nothing(row)


@intrinsic
def _again(typing, row):
    def build(context, builder, sig, args):
        return builder.asm(ir.FunctionType(INT64, [INT64]), "", "=r,0", [args[0]], True)

    return types.intp(types.intp), build


@overload(again, jit_options=INLINE)
def _again_overload(i):
    return lambda i: _again(i)
