"""Algorithms that are more than one kernel: trees under loads and springs, closed loops."""
