"""What was found: predictions, their verification, explanations and results."""
