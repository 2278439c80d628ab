"""Arithmetic of muscles as machine code."""
