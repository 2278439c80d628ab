"""Predictive control: the best torques over a short time ahead, computed again at every tick."""
