"""What every task returns: labeled arrays with units, the mechanism, the settings and their audit."""
