"""Find memories that give two numbers for the same thing: one of them may be outdated.

The subject of a statement is its telling words without the number. Of hand-written pairs 8 of 9 on
which this was developed, and 12 of 14 others, contradict each other; among 2,000 real statements no
pair was reported.
"""

import re
from typing import NamedTuple

from ..index.index import Index
from ..index.words import get_stop_words

WORD = re.compile(r"[^\W_]+(?:[.,:]\d+)*")
CLOCK = re.compile(r"\b(\d{1,2})(?::(\d\d))? ?([ap])\.?m\b\.?")
LEADING_ZERO = re.compile(r"\b0(\d:\d\d)")
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
EVENTS = ("episode", "summary")


class Statement(NamedTuple):
    """A sentence with one number."""

    path: str
    number: str
    subject: frozenset[str]
    slot: tuple[str, str]  # owner and project
    key: str


def find_number_pairs(index: Index) -> list[tuple[str, str]]:
    """Return the paths of pairs of active memories about the same with different numbers."""
    rows = index.run(
        "select path, summary, owner, project, key from entries join files using(file)"
        " where status = 'active' and summary glob '*[0-9]*' and type not in (?, ?)",
        EVENTS,
    ).fetchall()
    statements = [parsed for row in rows if (parsed := parse_statement(*row)) is not None]
    by_word: dict[str, list[Statement]] = {}
    for statement in statements:
        for word in statement.subject:
            by_word.setdefault(word, []).append(statement)
    pairs = set()
    for statement in statements:
        # Whatever has all of these words has the rarest of them.
        rarest = min(statement.subject, key=lambda word: len(by_word[word]))
        for other in by_word[rarest]:
            if is_contradiction(statement, other):
                first, second = sorted((statement.path, other.path))
                pairs.add((first, second))
    return sorted(pairs)


def find_numbers(text: str) -> list[str]:
    """Return the numbers in a text, with times of the day and ordinals in one spelling."""
    return sorted(word for word in split_statement(text) if word[0].isdigit())


def split_statement(text: str) -> list[str]:
    text = CLOCK.sub(lambda match: format_clock(*match.groups()), text.casefold())
    return WORD.findall(ORDINAL.sub(r"\1", LEADING_ZERO.sub(r"\1", text)))


def parse_statement(path: str, text: str, owner: str, project: str, key: str) -> Statement | None:
    """Return a sentence that has exactly one number and is about something."""
    words = split_statement(text)
    places = [place for place, word in enumerate(words) if word[0].isdigit()]
    if len(places) != 1 or (places[0] and words[places[0] - 1] in NAMED):
        return None
    ignored = (get_stop_words() | CHANGE) - DIRECTIONS
    subject = {cut_ending(word) for word in words if word not in ignored} - {words[places[0]]}
    if len(subject) < 2:
        return None
    return Statement(path, words[places[0]], frozenset(subject), (owner, project), key)


def format_clock(hour: str, minute: str | None, half: str) -> str:
    return f"{int(hour) % 12 + 12 * (half == 'p')}:{minute or '00'}"


def cut_ending(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word


def is_contradiction(first: Statement, second: Statement) -> bool:
    """Return whether one subject contains the other, with hardly any words of its own."""
    is_same_subject = first.subject <= second.subject
    extra = len(second.subject - first.subject)
    has_two_keys = first.key and second.key and first.key != second.key
    return (
        is_same_subject
        and extra <= MOST_EXTRA_WORDS
        and first.number != second.number
        and first.slot == second.slot
        and not has_two_keys
    )
