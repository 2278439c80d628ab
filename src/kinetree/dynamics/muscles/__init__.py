"""Muscles: lengths and moment arms of their paths, forces, sharing of torques."""
