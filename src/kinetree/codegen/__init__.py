"""Source code for one mechanism, to be taken to other machines."""
