"""One step of a walking human, predicted: what is asked, the problem, checks, what is shown of it."""
