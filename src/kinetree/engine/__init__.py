"""From a kernel to a fast answer: lanes, compiling, cache, workspaces, direct calls, threads."""
