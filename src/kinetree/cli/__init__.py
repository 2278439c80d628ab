"""The command line: each command reads its arguments, calls one function and prints."""

from kinetree.cli.app import app, main

__all__ = ["app", "main"]
