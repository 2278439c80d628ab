"""Closed kinematic loops: their rows of constraints, assembly, structure and dynamics."""
