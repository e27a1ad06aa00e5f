"""Find memories that give two numbers for the same thing: one of them may be outdated.

The subject of a statement is its telling words without the number. Of the hand-written pairs that
are reported, 8 of 9 on which this was developed and 21 of 22 others contradict each other. Among
2,000 real statements no pair is reported.
"""

import re
from functools import cache
from typing import NamedTuple

from ..index.index import Index
from ..index.words import get_stop_words

WORD = re.compile(r"\b0?([^\W_]+(?:[.,:]\d+)*)")  # 07:30 is 7:30
CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?")
ORDINAL = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
# A number after these names something: build 80 and build 81 are two builds.
NAMED = frozenset(
    "build sprint release version ticket issue pr bug chapter part episode day week room row season"
    " step phase line lesson level unit figure table section run batch round no nr order".split()
)
# Words about the change, not about the subject.
CHANGE = frozenset(
    "now new instead anymore longer since today changed moved raised lowered increased set update"
    " updated again currently".split()
)
# Stop words that tell two subjects apart: the flight to Oslo and the flight back from Oslo.
DIRECTIONS = frozenset("in out back before after off down with without not no".split())
MOST_EXTRA_WORDS = 2
ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)$")


class Statement(NamedTuple):
    """A sentence with one number."""

    path: str
    place: tuple[str, str]  # owner and project
    key: str
    number: str
    subject: frozenset[str]


def find_number_pairs(index: Index) -> list[tuple[str, str]]:
    """Return the paths of pairs of active memories about the same with different numbers."""
    rows = index.run(
        "select path, owner, project, key, summary from entries join files using(file)"
        " where status = 'active' and summary glob '*[0-9]*'"
        # Two episodes may each have their number.
        " and type not in ('episode', 'summary')"
    )
    by_word: dict[str, list[Statement]] = {}
    statements = []
    for path, owner, project, key, summary in rows.fetchall():
        number, subject = parse_statement(summary)
        if number:
            statements.append(Statement(path, (owner, project), key, number, subject))
        for word in subject:
            by_word.setdefault(word, []).append(statements[-1])
    pairs = set()
    for statement in statements:
        # Whatever has all of these words has the rarest of them.
        rarest = min(statement.subject, key=lambda word: len(by_word[word]))
        for other in by_word[rarest]:
            if is_contradiction(statement, other):
                pairs.add((statement.path, other.path))
    return sorted(pairs)


def parse_statement(text: str) -> tuple[str, frozenset[str]]:
    """Return the number and the subject of a sentence with exactly one number, or nothing."""
    words = split_statement(text)
    places = [place for place, word in enumerate(words) if word[0].isdigit()]
    if len(places) != 1 or (places[0] and words[places[0] - 1] in NAMED):
        return "", frozenset()
    number = words.pop(places[0])
    subject = frozenset(ENDING.sub("", word) for word in words if word not in get_ignored_words())
    return (number, subject) if len(subject) > 1 else ("", frozenset())


@cache
def get_ignored_words() -> frozenset[str]:
    return (get_stop_words() | CHANGE) - DIRECTIONS


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text, with times of the day and ordinals in one spelling."""
    return sorted(word for word in split_statement(text) if word[0].isdigit())


def split_statement(text: str) -> list[str]:
    return WORD.findall(ORDINAL.sub(r"\1", CLOCK.sub(format_clock, text.casefold())))


def format_clock(match: re.Match[str]) -> str:
    """Return a time such as 2 pm as 14:00."""
    return f"{int(match[1]) % 12 + 12 * (match[3] == 'p')}:{match[2] or '00'}"


def is_contradiction(first: Statement, second: Statement) -> bool:
    """Return whether one subject contains the other, with hardly any words of its own."""
    extra = second.subject - first.subject
    return (
        first.subject <= second.subject
        and len(extra) <= MOST_EXTRA_WORDS
        and not extra & DIRECTIONS
        and first.number != second.number
        and first.place == second.place
        and (first.key == second.key or not (first.key and second.key))
    )
