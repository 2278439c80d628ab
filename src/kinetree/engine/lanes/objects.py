"""Memory by its address, and Python's own objects as compiled code sees them: words at known places."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from kinetree.engine.lanes.memory import RowsType
from kinetree.engine.lanes.number import DOUBLE, INT32, INT64

_FLOAT64 = 12  # NumPy's number of the type


@intrinsic
def word(typing, address, k):
    """The k-th word of 8 bytes from an address on."""

    def build(context, builder, sig, args):
        return builder.load(_place(builder, args[0], args[1], INT64))

    return types.intp(types.intp, types.intp), build


@intrinsic
def half_word(typing, address, k):
    """The C int at the start of the k-th word."""

    def build(context, builder, sig, args):
        start = _place(builder, args[0], args[1], INT64)
        return builder.sext(builder.load(builder.bitcast(start, INT32.as_pointer())), INT64)

    return types.intp(types.intp, types.intp), build


@intrinsic
def put_word(typing, address, k, value):
    """Store a word."""

    def build(context, builder, sig, args):
        builder.store(args[2], _place(builder, args[0], args[1], INT64))
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), build


@intrinsic(prefer_literal=True)
def room(typing, count):
    """The address of as many words that live as long as the function runs."""
    if not isinstance(count, types.IntegerLiteral):
        return None

    def build(context, builder, sig, args):
        return builder.ptrtoint(cgutils.alloca_once(builder, INT64, count.literal_value), INT64)

    return types.intp(count), build


@intrinsic
def ask(typing, address, values):
    """The answer, a word, of the C function of words at an address."""

    def build(context, builder, sig, args):
        words = cgutils.unpack_tuple(builder, args[1])
        kind = ir.FunctionType(INT64, [INT64] * len(words))
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), words)

    return types.intp(types.intp, values), build


@intrinsic
def new_array(typing, address, kind, rank, shape):
    """A new float64 array, by NumPy's function PyArray_New at an address; 0 if there is no memory."""

    def build(context, builder, sig, args):
        parameters = [INT64, INT32, INT64, INT32, INT64, INT64, INT32, INT32, INT64]
        make = builder.inttoptr(args[0], ir.FunctionType(INT64, parameters).as_pointer())
        values = [ir.Constant(each, 0) for each in parameters]
        values[:4] = args[1], builder.trunc(args[2], INT32), args[3], ir.Constant(INT32, _FLOAT64)
        return builder.call(make, values)

    return types.intp(types.intp, types.intp, types.intp, types.intp), build


def _arrays_of(kind, element):
    """array(address, size): what lies at an address as an array that belongs to no one."""
    array_type = types.Array(kind, 1, "C")

    @intrinsic
    def array(typing, address, size):
        def build(context, builder, sig, args):
            array = context.make_array(array_type)(context, builder)
            width = ir.Constant(INT64, 8)
            populate_array(
                array,
                data=builder.inttoptr(args[0], element.as_pointer()),
                shape=cgutils.pack_array(builder, [args[1]]),
                strides=cgutils.pack_array(builder, [width]),
                itemsize=width,
                meminfo=None,
            )
            return array._getvalue()

        return array_type(types.intp, types.intp), build

    return array


def _contiguous(context, builder, kind, data, sizes):
    """The array of a kind at an address, which belongs to no one."""
    array = context.make_array(kind)(context, builder)
    width = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [ir.Constant(INT64, width)]
    for size in reversed(sizes[1:]):
        strides.insert(0, builder.mul(strides[0], size))
    populate_array(
        array,
        data=builder.bitcast(data, array.data.type),
        shape=cgutils.pack_array(builder, sizes),
        strides=cgutils.pack_array(builder, strides),
        itemsize=ir.Constant(INT64, width),
        meminfo=None,
    )
    return array._getvalue()


@intrinsic
def carray(typing, pointer, shape):
    """What a pointer points to as a contiguous array of that shape, which belongs to no one."""
    kind = types.Array(pointer.dtype, len(shape), "C")

    def build(context, builder, sig, args):
        sizes = zip(cgutils.unpack_tuple(builder, args[1]), shape, strict=True)
        whole = [context.cast(builder, size, each, types.intp) for size, each in sizes]
        return _contiguous(context, builder, kind, args[0], whole)

    return kind(pointer, shape), build


def arguments_of(kinds):
    """arguments(words): the arrays (address and shape each) and integers of a `WordCall`, as a tuple."""
    found = types.Tuple(tuple(kinds))

    @intrinsic
    def arguments(typing, words):
        def build(context, builder, sig, args):
            values, place = [], 0
            for kind in kinds:
                rank = kind.ndim if isinstance(kind, types.Array) else 0
                head, *sizes = (
                    builder.load(_place(builder, args[0], ir.Constant(INT64, place + k), INT64))
                    for k in range(1 + rank)
                )
                place += 1 + rank
                if rank:
                    data = builder.inttoptr(head, DOUBLE.as_pointer())
                    head = _contiguous(context, builder, kind, data, sizes)
                values.append(head)
            return context.make_tuple(builder, found, values)

        return found(types.intp), build

    return arguments


doubles, integers = _arrays_of(types.float64, DOUBLE), _arrays_of(types.int64, INT64)


@intrinsic(prefer_literal=True)
def rows_by_pairs(typing, pairs, count, first, lanes):
    """`lanes` consecutive states of each of `count` arrays, given by pairs of words: a tuple of row views.

    Each pair is an array's address and how many numbers one state has.
    """
    if not (isinstance(lanes, types.IntegerLiteral) and isinstance(count, types.IntegerLiteral)):
        return None
    kind = RowsType(lanes.literal_value)

    def build(context, builder, sig, args):
        views = []
        for k in range(count.literal_value):
            start, n = (
                builder.load(_place(builder, args[0], ir.Constant(INT64, 2 * k + j), INT64)) for j in (0, 1)
            )
            view = cgutils.create_struct_proxy(kind)(context, builder)
            data = builder.inttoptr(start, DOUBLE.as_pointer())
            view.n, view.data = n, builder.gep(data, [builder.mul(args[2], n)], inbounds=True)
            views.append(view._getvalue())
        return context.make_tuple(builder, sig.return_type, views)

    return types.UniTuple(kind, count.literal_value)(types.intp, count, types.intp, lanes), build


def _place(builder, address, k, kind):
    return builder.gep(builder.inttoptr(address, kind.as_pointer()), [k], inbounds=True)
