"""The right-hand side of simulations as machine code, and the memory it works on."""
