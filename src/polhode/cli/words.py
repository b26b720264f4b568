"""Conversion of messages of the library, which say what to type in Python, to the options of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable

WORDS: tuple[
    tuple[str, str | Callable[[re.Match[str]], str]], ...
] = (  # patterns and their replacements, from the longest phrase to the shortest
    (r"type resume=True\b", "add --resume"),
    (r"omit resume=True", "omit --resume"),
    (r"the same call with resume=True", "the same command with --resume"),
    (r"repeat the call as it was", "repeat the command as it was"),
    (r"are kept if out is given, and resume=True", "are kept, and --resume"),
    (r"\bforce=True goes on(.*)resume=True", r"--force goes on\1--resume"),
    (r"type force=True \(--force on the command line\)", "add --force"),
    (r"type polhode\.resume\(path, problem\)", "type polhode resume FOLDER"),
    (r" \(in Python: allow_python=True\)", ""),
    (r"type save\(path, (\w+)=\.\.\., \.\.\.\)", r"add --set \1=..."),
    (r"; load\(path, damaged='skip'\)", "; in Python, polhode.load(path, damaged='skip')"),
    (r"type polhode\.files\.aem_reader\.read\(path\) for", "in Python, polhode.files.aem_reader.read(path) returns"),
    (r"type polhode\.rotation\.normalize\(q\)", "divide it by its norm"),
    (r"type (Adaptive\([^)]*\))", r'add --method "\1"'),
    (r"omit h\b", "omit --h"),
    (r"save_every=\.\.\. or t_eval=\.\.\.", "--set output.save_every=... or --set output.states=..."),
    (r"computed: polhode\.stream\([^)]*\)", "computed, with --set output.format=zarr"),
    (r"with save_every=\.\.\.", "with --set output.save_every=..."),
    (r"choose a path on another disk", "choose a folder on another disk with --out"),
    (r"times \(t_eval=\.\.\.\)", "times (--set ensemble.states=...)"),
    (r"a summary \(reduce=\.\.\.\)", "a summary (--set ensemble.reduce=...)"),
    (r"follow fewer members", "follow fewer members (--set ensemble.count=...)"),
    (r"type a smaller chunk=\.\.\.", "add --set ensemble.chunk=..., a smaller one"),
    (r"type rtol=(\S+)", r"add --rtol \1"),
    (r"type method='(\w+)'", r"add --method \1"),
    (r"h=\(([^)]+)\)", lambda match: " ".join(f"--h {step}" for step in match[1].split(", "))),
    (r"such as h=(\S+)", r"such as --h \1"),
    (r"type for instance (\w+)=\(([^)]*)\)", r"give for instance \1 = [\2]"),
    (r"their times as Torque\(\.\.\., breaks=\.\.\.\)", "their times as breaks = [...] of the force"),
    (r"setting (['\"])(.*?)\1", r"--set \2"),
)


def in_shell_words(message: str) -> str:
    """Return a message of the library with its hints for Python replaced by options of the command line.

    >>> in_shell_words("run.zarr exists already; type resume=True to go on, or choose another name")
    'run.zarr exists already; add --resume to go on, or choose another name'
    """
    for pattern, words in WORDS:
        message = re.sub(pattern, words, message)
    return message
