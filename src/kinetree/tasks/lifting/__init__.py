"""A human lifts a box from the floor to a shelf: what is asked, the problem, checks, what is shown of it."""
