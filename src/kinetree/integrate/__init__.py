"""Integration of ordinary differential equations: methods, steps, events, dense output."""
