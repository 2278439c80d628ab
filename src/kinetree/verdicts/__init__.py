"""Whether an engineer would sign a motion: limits, following, falls, slip and depth, for every task alike."""
