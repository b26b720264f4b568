"""Texts with two wordings: they are joined, wrapped and sent to other processes without losing either."""

from __future__ import annotations

import pickle
from copy import deepcopy

import pytest

from polhode.core.errors import InputError, MemoryLimitError, RunError, RunWarning, StepError, StoreError
from polhode.core.messages import Hint, in_shell_words, joined

RESUME = Hint("type resume=True", "add --resume")


@pytest.mark.parametrize("kind", [InputError, StoreError, MemoryLimitError])
def test_an_error_has_both_wordings(kind):
    error = kind("it exists; ", RESUME, " to go on")
    assert str(error) == "it exists; type resume=True to go on"
    assert in_shell_words(error) == "it exists; add --resume to go on"


def test_wordings_survive_errors_around_them():
    inner = StoreError("it exists; ", RESUME)
    outer = InputError("here: ", joined("there: ", inner, " to go on"))
    assert str(outer) == "here: there: it exists; type resume=True to go on"
    assert in_shell_words(outer) == "here: there: it exists; add --resume to go on"


@pytest.mark.parametrize("error", [RunError(RESUME, None), StepError(RESUME, None, 0, None), RunWarning(RESUME)])
def test_errors_with_more_than_a_message_and_warnings(error):
    assert (str(error), in_shell_words(error)) == ("type resume=True", "add --resume")


def test_other_errors_have_one_wording():
    assert in_shell_words(KeyError("a")) == "'a'"
    assert in_shell_words(OSError(2, "no such file")) == "[Errno 2] no such file"
    assert in_shell_words(InputError()) == ""


def test_a_text_of_one_wording_is_a_plain_string():
    """Packages such as h5py do not write others."""
    assert type(joined("a", 1, ValueError("b"))) is str
    assert type(str(RESUME)) is str


@pytest.mark.parametrize("copied", [deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_copies_have_both_wordings(copied):
    error = copied(StoreError("it exists; ", RESUME))
    assert str(error) == "it exists; type resume=True"
    assert in_shell_words(error) == "it exists; add --resume"
