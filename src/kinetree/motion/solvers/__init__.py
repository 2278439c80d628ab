"""Solvers of nonlinear programs behind one small interface."""
