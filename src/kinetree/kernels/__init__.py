"""Algorithms over an opaque number: one source for formulas, derivatives, operation counts and fast code."""
