"""The report of a result: one HTML file that needs nothing else."""
