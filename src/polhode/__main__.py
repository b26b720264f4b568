"""Entry point of the commands ``polhode`` and ``python -m polhode``."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command line, or exit with an installation hint if click is not installed."""
    try:
        from polhode.cli import cli
    except ImportError as error:
        if error.name != "click":
            raise
        sys.exit("the command line needs click, which is not installed; type: pip install 'polhode[cli]'")
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures are written to files and need no display
    cli(prog_name="polhode")


if __name__ == "__main__":
    main()
