"""Motion prediction: the best motion by optimisation of B-spline joint profiles."""
