"""What a user may type, declared once, in the signature of the class or function that takes it."""
