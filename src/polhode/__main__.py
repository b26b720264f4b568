"""``polhode`` and ``python -m polhode``: the command line, or a word on how to get it."""

from __future__ import annotations

import os
import sys


def main() -> None:
    try:
        from polhode.cli import cli
    except ImportError as problem:
        if problem.name != "click":
            raise
        sys.exit("the command line needs click, which is not installed; type: pip install 'polhode[cli]'")
    os.environ.setdefault("MPLBACKEND", "Agg")  # figures go to files: no window, no display
    cli(prog_name="polhode")


if __name__ == "__main__":
    main()
