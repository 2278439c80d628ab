"""What every task returns: labelled arrays with units, the mechanism, the settings and their audit."""
