"""Single investigations that studies and examples run: stability, walking, the price of a force limit."""
