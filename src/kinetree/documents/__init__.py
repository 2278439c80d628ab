"""Investigations of the source documents: stability, rounding, one step on one foot, their walk."""
