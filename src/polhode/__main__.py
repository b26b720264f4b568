"""``polhode`` and ``python -m polhode``: the command line, or a word on how to get it."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from polhode.cli import cli
    except ImportError as problem:
        if problem.name != "click":
            raise
        sys.exit("the command line needs click, which is not installed; type: pip install 'polhode[cli]'")
    cli(prog_name="polhode")


if __name__ == "__main__":
    main()
