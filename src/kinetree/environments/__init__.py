"""Tasks for learning: what a robot senses, what it can do, what counts as good, in many episodes at once."""
