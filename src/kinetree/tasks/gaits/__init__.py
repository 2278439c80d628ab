"""Gaits of legged robots, predicted: who walks, by which schedule, the problem, checks, tracking."""
