"""From lanes, one state in each, to the states of plain arrays: gather, transpose, store past the caches.

A full array (a matrix of every state, say) is described by *places*: the packed number of each entry.
"""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

from kinetree.engine.lanes.memory import RowsType
from kinetree.engine.lanes.number import DOUBLE, INLINE, INT32, INT64, PART, LaneType, llvm_type, number_type
from kinetree.engine.workspace import CHUNK, LINE, ROW


def _data(context, builder, sig, args, k):
    if isinstance(sig.args[k], RowsType):
        return cgutils.create_struct_proxy(sig.args[k])(context, builder, value=args[k]).data
    return context.make_array(sig.args[k])(context, builder, args[k]).data


def _pointer(builder, data, place, kind):
    return builder.bitcast(builder.gep(data, [place], inbounds=True), llvm_type(kind).as_pointer())


@intrinsic(prefer_literal=True)
def gathered(typing, packed, start, places, t, lanes):
    """Entries t, t + 1, ... of every lane's state: a tuple of one lane number per state.

    Entry t is the packed number places[t], and packed numbers start at `start`.
    """
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    count = lanes.literal_value
    kind = number_type(count)

    def build(context, builder, sig, args):
        data, order = (_data(context, builder, sig, args, k) for k in (0, 2))
        found = []
        for k in range(count):
            place = builder.load(builder.gep(order, [builder.add(args[3], ir.Constant(INT64, k))]))
            place = builder.add(args[1], builder.mul(place, ir.Constant(INT64, count)))
            found.append(builder.load(_pointer(builder, data, place, kind), align=8))
        return context.make_tuple(builder, sig.return_type, _transposed(builder, found))

    return types.UniTuple(kind, count)(packed, types.intp, places, types.intp, lanes), build


def _transposed(builder, a):
    """Number k of lane l becomes number l of lane k."""
    lanes, square = len(a), 1
    while square < lanes:  # exchange the off-diagonal squares of this size
        low = [lane - square + lanes if lane & square else lane for lane in range(lanes)]
        high = [lane + lanes if lane & square else lane + square for lane in range(lanes)]
        for k in (k for k in range(lanes) if not k & square):
            pair = a[k], a[k + square]
            a[k], a[k + square] = _shuffled(builder, *pair, low), _shuffled(builder, *pair, high)
        square *= 2
    return a


def _shuffled(builder, a, b, order):
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(INT32, len(order)), order))


@intrinsic
def put_states(typing, out, place, stride, states):
    """Store the lane numbers of a tuple `stride` numbers apart."""

    def build(context, builder, sig, args):
        data, place = _data(context, builder, sig, args, 0), args[1]
        for x in cgutils.unpack_tuple(builder, args[3]):
            builder.store(x, _pointer(builder, data, place, states.dtype), align=8)
            place = builder.add(place, args[2])
        return context.get_dummy_value()

    return types.void(out, types.intp, types.intp, states), build


@intrinsic(prefer_literal=True)
def lanes_at(typing, array, place, lanes):
    """Consecutive numbers of an array, or of a row, as lanes."""
    if not isinstance(lanes, types.IntegerLiteral):
        return None
    kind = number_type(lanes.literal_value)

    def build(context, builder, sig, args):
        return builder.load(_pointer(builder, _data(context, builder, sig, args, 0), args[1], kind), align=8)

    return kind(array, types.intp, lanes), build


@intrinsic
def stream(typing, out, place, x):
    """Store without reading or keeping the cache line; lanes only at addresses that they divide."""
    lanes = x.lanes if isinstance(x, LaneType) else 1

    def build(context, builder, sig, args):
        pointer = _pointer(builder, _data(context, builder, sig, args, 0), args[1], x)
        store = builder.store(args[2], pointer, align=8 * lanes)
        store.set_metadata("nontemporal", builder.module.add_metadata([ir.Constant(INT32, 1)]))
        return context.get_dummy_value()

    return types.void(out, types.intp, x), build


@intrinsic
def address(typing, array):
    """Where an array starts, in numbers."""

    def build(context, builder, sig, args):
        return builder.lshr(
            builder.ptrtoint(_data(context, builder, sig, args, 0), INT64), ir.Constant(INT64, 3)
        )

    return types.intp(array), build


@intrinsic
def summed(typing, x):
    """The sum over the lanes of a number."""

    def build(context, builder, sig, args):
        if not isinstance(x, LaneType):
            return args[0]
        total = ir.Constant(DOUBLE, 0.0)
        for k in range(x.lanes):
            total = builder.fadd(total, builder.extract_element(args[0], ir.Constant(INT32, k)))
        return total

    return types.float64(x), build


def _looker(nothing):
    """look(array, begin, end): the sum of nothing(x) over the numbers from begin to end."""
    nothing = register_jitable(**INLINE)(nothing)

    def look(array, begin, end):
        total, some, wide = 0.0, begin + (end - begin) // 4 * 4, begin + (end - begin) // 16 * 16
        if some > begin:
            a = nothing(lanes_at(array, some - 4, 4))
            b, c, d = a, a, a
            for k in range(begin, wide, 16):
                a, b = a + nothing(lanes_at(array, k, 4)), b + nothing(lanes_at(array, k + 4, 4))
                c, d = c + nothing(lanes_at(array, k + 8, 4)), d + nothing(lanes_at(array, k + 12, 4))
            for k in range(wide, some - 4, 4):
                a = a + nothing(lanes_at(array, k, 4))
            total = summed((a + b) + (c + d))
        for k in range(some, end):
            total += nothing(array[k])
        return total

    return register_jitable(**INLINE)(look)


doubt = _looker(lambda x: x * 0.0)  # zero if all numbers are finite, else NaN
excess = _looker(lambda x: (x * x) * (x * x) * 0.0)  # the same of their fourth powers


def spreader(lanes):
    """spread(memory, start, places, full, states, first, streamed): a block's packed numbers to its states.

    The packed numbers start at ``start``; a zero and room for chunks, which end the memory, follow.
    ``places`` has the number of arrays, of entries, and then which packed number each entry is; ``full``
    (arrays, states, entries), flat, is filled from state ``first`` on.
    """

    def direct(memory, start, order, begin, end, out, place, size):
        whole = begin + (end - begin) // lanes * lanes
        for t in range(begin, whole, lanes):
            put_states(out, place + t - begin, size, gathered(memory, start, order, t, lanes))
        for t in range(whole, end):
            for lane in range(lanes):
                out[place + lane * size + t - begin] = memory[start + order[t] * lanes + lane]

    def past_caches(memory, row, t, count, is_last, out, place):
        """Entries t, t + 1, ... of one state, in a row behind those that wait: whole cache lines of them."""
        ready = row + LINE - (address(out) + place + t) % LINE if t > 0 else row + LINE
        begin = place + t - (row + LINE - ready)
        if t == 0:  # up to the first whole line
            head = min(-(address(out) + place) % LINE, count)
            for k in range(head):
                out[begin + k] = memory[ready + k]
            ready, begin = ready + head, begin + head
        whole = (row + LINE + count - ready) // LINE * LINE
        for k in range(0, whole, lanes):
            stream(out, begin + k, lanes_at(memory, ready + k, lanes))
        if is_last:
            for k in range(whole, row + LINE + count - ready):
                out[begin + k] = memory[ready + k]
        for k in range(0, LINE, lanes):  # what is left waits before the next ones
            put_states(memory, row + k, 0, (lanes_at(memory, row + count + k, lanes),))

    direct, past_caches = (register_jitable(**INLINE)(f) for f in (direct, past_caches))

    def spread(memory, start, places, full, states, first, streamed):
        size, room = places[1], memory.size - lanes * ROW
        for m in range(places[0]):
            order, place = 2 + m * size, (m * states + first) * size
            if streamed:
                for t in range(0, size, CHUNK):
                    count = min(CHUNK, size - t)
                    direct(memory, start, places, order + t, order + t + count, memory, room + LINE, ROW)
                    for lane in range(lanes):
                        row, is_last = room + lane * ROW, t + count == size
                        past_caches(memory, row, t, count, is_last, full, place + lane * size)
            else:
                direct(memory, start, places, order, order + size, full, place, size)

    return register_jitable(**PART)(spread)
