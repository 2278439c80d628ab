"""What the digital human is made of: segments, sizes, ranges of joints, strength."""
