"""Lines of code of the package, without docstrings, comments and blank lines.

python scripts/size.py          # of each room, and of all
python scripts/size.py --files  # of each file, too
python scripts/size.py --root /tmp/other/src/polhode
"""

from __future__ import annotations

import argparse
import ast
import io
import tokenize
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "polhode"
NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
DOCUMENTED = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef


def lines_of_code(text: str) -> int:
    """Return the number of lines that have code; a string over several lines counts as all of them.

    Examples
    --------
    >>> lines_of_code('"About."\\n\\n# Why.\\nx = 1  # how\\ny = (\\n    2\\n)\\n')
    4
    """
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            text_of = node.body[0]
            lines.difference_update(range(text_of.lineno, (text_of.end_lineno or text_of.lineno) + 1))
    return len(lines)


def main() -> None:
    """Print the numbers of lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, default=PACKAGE)
    parser.add_argument("--files", action="store_true")
    options = parser.parse_args()
    rooms: Counter[str] = Counter()
    for file in sorted(options.root.rglob("*.py")):
        count = lines_of_code(file.read_text(encoding="utf-8"))
        path = file.relative_to(options.root)
        rooms[path.parts[0] if len(path.parts) > 1 else "."] += count
        if options.files:
            print(f"{count:6}  {path}")
    for room, count in sorted(rooms.items()):
        print(f"{count:6}  {room}")
    print(f"{rooms.total():6}  lines of code")


if __name__ == "__main__":
    main()
