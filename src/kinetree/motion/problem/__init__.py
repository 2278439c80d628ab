"""What is asked: the mechanism, the unknown profiles, the terms' surroundings, phases."""
