"""The problem as a nonlinear program: rows and unknowns, evaluations, derivatives, sparsity."""
