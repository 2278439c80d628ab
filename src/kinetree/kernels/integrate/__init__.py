"""Integrators of y' = f(t, y) as machine code; f is a C function known by its address."""
