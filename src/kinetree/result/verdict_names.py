"""What audits call the verdicts on a motion that is computed well: whether the mechanism can make it."""

from __future__ import annotations

POSITION, VELOCITY, EFFORT = "position_limits", "velocity_limits", "effort_limits"
TILT, HEIGHT, ABOVE, CONTROL = "tilt", "base_height", "above_ground", "control_error"
DRIFT, SLIP, SINKING = "drift", "slip", "sinking"
WALK = "walk"  # whether a robot under a walking law stays on its feet
MODEL_LIMITS = "model_limits"  # of predictions, those that no constraint enforces
VERDICTS = (
    WALK, TILT, HEIGHT, CONTROL, DRIFT, SLIP, SINKING, ABOVE, POSITION, VELOCITY, EFFORT, MODEL_LIMITS,
)  # fmt: skip
ALL = "all verdicts"  # the name in what was not judged where verdicts are switched off
