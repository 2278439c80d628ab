"""Where the search begins, how it goes on, what it shows and saves meanwhile."""
