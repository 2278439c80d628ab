"""Predicted motions on feet: people walk and lift, robots walk and leap; what these are checked for."""
