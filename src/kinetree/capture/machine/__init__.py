"""Arithmetic of motion capture as machine code."""
