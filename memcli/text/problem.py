"""What is wrong with a file, in words for the person who will mend it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A line of a file that cannot be read as it was meant."""

    line: int  # 1-based, in the file
    reason: str  # lower case, one line
