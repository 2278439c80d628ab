"""The ``kinetree`` command, and ``python -m kinetree``; it can be interrupted from the first moment."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is still being loaded ends it as later, without a traceback."""
    try:
        from kinetree.cli import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
