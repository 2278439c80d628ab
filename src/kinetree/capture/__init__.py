"""Motion capture: trials of markers and force plates, models of a person's size, poses, torques and
reactions.
"""
