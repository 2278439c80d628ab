"""Arithmetic of the walking law as machine code."""
