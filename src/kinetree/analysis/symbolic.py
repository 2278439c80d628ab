"""Equations of motion as formulas: the public place of `derivations.equations_of_motion`."""

from kinetree.derivations.equations_of_motion import SymbolicEquations, equations_of_motion

__all__ = ["SymbolicEquations", "equations_of_motion"]
