"""Predicted and measured gait: cycles of a result, measured curves, scores."""
