"""Errors that a user can cause or fix. Any other exception is a bug and shows a traceback."""

from collections.abc import Collection


class MemError(Exception):
    """A problem to report in one line, with an optional hint and an exit code."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(MemError):
    """The command line is wrong."""

    exit_code = 2


class NotFoundError(MemError):
    """There is no such workspace, memory or file."""

    exit_code = 4


class RejectedError(MemError):
    """A change was refused, and nothing was written."""

    exit_code = 5


class SecretError(RejectedError):
    """A text or a file name contains a secret."""


class ChangedError(RejectedError):
    """A file no longer has the text that the command read."""


class OutsideError(RejectedError):
    """A path leads out of the workspace."""


class UnavailableError(MemError):
    """The index or the embedding model cannot be used."""

    exit_code = 6


class LlmError(MemError):
    """The language model cannot be reached, or its answer cannot be used."""

    exit_code = 7


class BusyError(MemError):
    """Another process holds a lock for too long."""

    exit_code = 75


def check_choice(noun: str, value: str, choices: Collection[str]) -> None:
    """Raise UsageError if a value is none of the choices."""
    if value not in choices:
        raise UsageError(f"unknown {noun} {value!r}", f"one of: {', '.join(choices)}")
