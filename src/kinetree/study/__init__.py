"""Tasks from files or names to results; the only room that knows both."""
