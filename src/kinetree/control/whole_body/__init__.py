"""Laws for the whole body of robots on feet: tasks and contacts, least squares, motions that are tracked."""
