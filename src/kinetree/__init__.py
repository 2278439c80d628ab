"""Kinetree: dynamics and motion of articulated systems, from one model."""
