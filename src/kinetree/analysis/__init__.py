"""Questions about states: validate the input, run a kernel, name the answer. What a user calls."""
