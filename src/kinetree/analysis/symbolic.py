"""Equations of motion as formulas, for those who look among the questions."""

from kinetree.derivations.equations_of_motion import SymbolicEquations, equations_of_motion

__all__ = ["SymbolicEquations", "equations_of_motion"]
