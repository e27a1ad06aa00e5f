"""What is wrong with a file, in words for the person who will mend it."""

from dataclasses import KW_ONLY, dataclass

ONLY_BEGINNING = "only its beginning is indexed"
"""The end of what is said of a file too large to be indexed whole."""
BINARY = "a binary file, which is no memory"
"""The beginning of what is said of a file that is no text."""


@dataclass(frozen=True)
class Problem:
    """A line of a file that cannot be read as it was meant."""

    line: int  # 1-based, in the file
    reason: str  # lower case, one line


@dataclass(frozen=True)
class FileProblem:
    """Something wrong with a file, as `path:line: reason`."""

    path: str
    line: int
    reason: str
    _: KW_ONLY
    scope: str = ""  # of its workspace; empty where only one is looked at
    left_out: bool = False  # the answer may lack what it says; else its text was found all the same

    def __str__(self) -> str:
        path = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in self.path)
        return f"{path}:{self.line}: {self.reason}"
