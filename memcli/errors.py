"""The errors of the user's world: each class is a situation and carries its exit code."""

from typing import Annotated, ClassVar, TypedDict


class ErrorFields(TypedDict):
    """What is said of an error."""

    code: Annotated[str, "a short name of the kind of error"]
    message: Annotated[str, "what is wrong, in one line"]
    fix: Annotated[str, "the command or change that helps"]


class ErrorDocument(TypedDict):
    """The JSON document of an error."""

    error: Annotated[ErrorFields, "what went wrong; empty where nothing did"]


class MemError(Exception):
    """Anything that can go wrong in the user's world: one line on stderr, never a traceback."""

    exit_code: ClassVar[int] = 2
    code: ClassVar[str] = "error"

    def __init__(self, message: str, fix: str = "") -> None:
        """Say what went wrong, and the command or action that mends it."""
        super().__init__(message)
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.message}: {self.fix}" if self.fix else self.message


class UsageError(MemError):
    """The words of the command do not make sense together."""

    exit_code = 2
    code = "usage"


class GitError(UsageError):
    """Git is missing, or it cannot do what it is asked for."""


class NotFoundError(MemError):
    """No such entry, session or workspace."""

    exit_code = 4
    code = "not-found"


class AmbiguousError(NotFoundError):
    """More than one thing answers to the name given."""

    code = "ambiguous"


class RefusedError(MemError):
    """Going on would lose or leak something: conflict markers, a changed file, a path outside."""

    exit_code = 5
    code = "refused"


class ChangedError(RefusedError):
    """A file is no longer as the change was planned from; nothing was done, and planning it again may do."""


class UnfinishedError(RefusedError):
    """A change was noted before it failed: the next command finishes it, and who repeats it makes it twice."""


class SwitchedOffError(RefusedError):
    """Memory as a whole is switched off: whatever works unattended does nothing, and says nothing."""

    code = "switched-off"


class UnavailableError(MemError):
    """The index, the model or a git remote cannot be had and the command cannot do without."""

    exit_code = 6
    code = "unavailable"


class BusyError(MemError):
    """Another process holds the workspace; trying again later is the cure."""

    exit_code = 75
    code = "busy"


class LlmError(MemError):
    """The LLM gave no usable answer; whoever asked keeps the fallback."""

    exit_code = 7
    code = "llm"


class ReplyError(LlmError):
    """The LLM's reply cannot be used as it is."""

    code = "llm-reply"


class UnknownTranscriptError(MemError):
    """What the file holds is no conversation that can be read."""

    exit_code: ClassVar[int] = 2
    code: ClassVar[str] = "unknown-transcript"

    def __init__(self, message: str, fix: str = "", kind: str = "damaged") -> None:
        """Say what is wrong, and of what kind it is, as `transcripts/transcript_format.py` names them."""
        super().__init__(message, fix)
        self.kind = kind
