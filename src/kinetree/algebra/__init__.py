"""Numbers without mechanics: checked arrays, rotations and Euler sequences, placements, splines."""
