"""Messages whose hints have two wordings: that of Python, which is the text itself, and that of the command line."""

from __future__ import annotations


class Hint(str):
    """Text that says what to do in Python, and carries what to do in a shell.

    Attributes
    ----------
    shell : str
        The text in the words of a shell.

    Examples
    --------
    >>> message = joined("run.zarr exists already; ", Hint("type resume=True", "add --resume"), " to go on")
    >>> print(message)
    run.zarr exists already; type resume=True to go on
    >>> print(in_shell_words(message))
    run.zarr exists already; add --resume to go on
    """

    shell: str

    def __new__(cls, python: str, shell: str) -> Hint:
        """Return the text `python` with the attribute `shell`."""
        hint = super().__new__(cls, python)
        hint.shell = shell
        return hint

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments with which copies are made, also in other processes."""
        return str(self), self.shell


def joined(*parts: object) -> str:
    """Return texts, hints and errors as one text, which is a Hint if its wordings differ."""
    python = "".join(map(str, parts))
    shell = "".join(map(in_shell_words, parts))
    return python if python == shell else Hint(python, shell)


def in_shell_words(text: object) -> str:
    """Return a text, or the message of an error or a warning, in the words of a shell."""
    message = text.args[0] if isinstance(text, BaseException) and text.args else text
    return message.shell if isinstance(message, Hint) else str(text)
