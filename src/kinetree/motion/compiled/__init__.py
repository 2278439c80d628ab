"""Arithmetic of the nonlinear program as machine code: assembly and condensing."""
