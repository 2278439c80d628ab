"""The command line: each command reads its arguments, calls one function and prints."""

from kinetree.cli import examples, models, results, run, shows
from kinetree.cli.app import app, main

__all__ = ["app", "examples", "main", "models", "results", "run", "shows"]
