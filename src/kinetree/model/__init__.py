"""What a mechanism is: bodies, joints, the tree they form; immutable, without equations of motion."""
