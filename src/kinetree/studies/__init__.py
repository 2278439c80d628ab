"""Single investigations that tasks and examples run: stability, rounding, one step, checks of predictions."""
