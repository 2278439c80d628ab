"""What audits call the verdicts on a motion that is computed well: whether the mechanism can make it."""

from __future__ import annotations

POSITION, VELOCITY, EFFORT = "position_limits", "velocity_limits", "effort_limits"
TILT, HEIGHT, ABOVE, CONTROL = "tilt", "base_height", "above_ground", "control_error"
MODEL_LIMITS = "model_limits"  # of predictions, those that no constraint enforces
VERDICTS = (TILT, HEIGHT, CONTROL, ABOVE, POSITION, VELOCITY, EFFORT, MODEL_LIMITS)
