"""Where the compiled side of direct calls finds things: words of Python's objects and of its own context.

Arrays are NumPy's C structure, which its C interface publishes: data, rank, shape, strides, base, type and
flags.
"""

HEAD = object.__basicsize__ // 8  # words that every object starts with; the last is its type
DATA, RANK, SHAPE, DTYPE, FLAGS = HEAD, HEAD + 1, HEAD + 2, HEAD + 5, HEAD + 6
PLAIN = 0x0101  # contiguous in C order, aligned
ITEMS = tuple.__basicsize__ // 8  # where a tuple's items start
MOST = 16  # arrays that one call takes
PAIR_WORDS = 2 * MOST + 2  # and full arrays

# words that both kinds of function know
NDARRAY, FLOAT64, NONE, NEW, KEEP, DROP, NEW_TUPLE, SET_ITEM, COMMON = range(9)
# of a StateCall: machine code is 0 until there is some; sizes and shapes fill the rest
SINGLE, MEMORY, SIZE, MANY, TABLE, WORKSPACE, ROOM, START, PLACES = range(COMMON, COMMON + 9)
LIMIT, INPUTS, OUTPUTS, EQUAL, TOTAL, FULL, RANK_OF_FULL, SHAPE_OF_FULL = range(PLACES + 1, PLACES + 9)
SIZES = SHAPE_OF_FULL + 3
# of a range call
BODY, SAVE, RESTORE, INTEGER, TRUE, FALSE, REFUSE, TYPE_ERROR, WHY = range(COMMON, COMMON + 9)
