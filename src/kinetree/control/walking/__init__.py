"""Walking on two legs by stepping where the divergent component of motion asks for it."""

from kinetree.control.walking.law import WalkingLaw

__all__ = ["WalkingLaw"]
