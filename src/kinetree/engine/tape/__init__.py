"""Kernels on recording numbers: all operations for one mechanism as a tape, to be counted or made code of."""
