"""``python -m kinetree``: the same as the ``kinetree`` command."""

from kinetree.cli import main

main()
