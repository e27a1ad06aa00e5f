"""Pairs of memories that a person should decide about, and pairs that a person found to differ.

A pair may have two numbers for the same thing. The subject of a statement is its content words
without the number. Of the hand-written pairs that are reported, 8 of 9 on which this was developed
and 21 of 22 others contradict each other. Among 2,000 real statements no pair is reported.
"""

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from ..formats import COPY_START, fold_key, parse, read_entry, read_list
from ..index import Index, IndexedEntry, get_stop_words
from ..store import Workspace, read_file

Pair = tuple[IndexedEntry, IndexedEntry]
"""Two memories, the older first."""

# `mem sync` adds these fields to the copy of a note.
OWN_FIELDS = ("id", "updated_at", "conflicts_with")

# Of 195 hand-written repeats 94 are that close, and of 317 statements of other things 25.
DUPLICATE_COSINE = 0.85
MOST_DUPLICATES = 50
# All cosines of 10,000 memories at once would need 400 MB.
BLOCK = 512  # rows compared at a time
# The key below `metadata` with the ids that a person found to be no duplicate of a memory.
DISTINCT = "distinct_from"
WORD = re.compile(r"\b0?([^\W_]+(?:[.,:]\d+)*)")  # 07:30 is 7:30
# 2 pm, 2:30 p.m.
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
# So many statements with all of their words in common are a series of measurements.
MOST_STATEMENTS = 50
MOST_EXTRA_WORDS = 2
ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)$")


class NumberStatement(NamedTuple):
    """A sentence with one number."""

    path: str
    place: tuple[str, str]  # owner and project
    key: str
    number: str
    subject: frozenset[str]


def find_conflicts(index: Index) -> list[Pair]:
    """Return the active memories that disagree openly or have the same key."""
    pairs = []
    for entry in index.list_entries("status = 'active' and conflicts_with <> '[]'"):
        for other_id in entry.conflicts_with:
            other = index.find_by_id(other_id)
            if other is not None and other.status == "active" and other.id != entry.id:
                pairs.append(order_pair(entry, other))
    # Two machines gave a key two values before they met.
    by_slot: dict[tuple[str, ...], IndexedEntry] = {}
    for entry in index.list_entries("status = 'active' and key <> ''"):
        slot = (fold_key(entry.key), entry.project, entry.owner)
        other = by_slot.setdefault(slot, entry)
        if other is not entry and all(map(index.workspace.is_managed, (entry.path, other.path))):
            pairs.append(order_pair(entry, other))
    # A merge can bring the conflict back after a person answered that both are true.
    return [pair for pair in pairs if not is_distinct(index, pair)]


def find_circles(index: Index) -> list[tuple[str, dict[str, Any]]]:
    """Return path and repair of memories that replace each other, so that both are hidden.

    Two people had answered the same question differently before a merge. It is open again.
    """
    rows = index.run(
        "select path, json_insert(entries.conflicts_with, '$[#]', other.id)"
        " from entries join files using(file) join entries other"
        " on other.id = entries.superseded_by and other.superseded_by = entries.id order by path"
    )
    fields = {"superseded_by": None}
    return [(path, {**fields, "conflicts_with": tuple(json.loads(ids))}) for path, ids in rows]


def find_contradictions(index: Index) -> Iterable[Pair]:
    """Yield the active memories with different numbers for the same thing."""
    # Comparing the statements of 10,000 memories takes 100 ms.
    pairs = index.database.get_derived("number pairs", lambda: find_number_pairs(index))
    for first, second in json.loads(pairs):
        entries = [index.list_entries("path = ?", (path,))[0] for path in (first, second)]
        pair = order_pair(*entries)
        if not is_distinct(index, pair):
            yield pair


def find_number_pairs(index: Index) -> str:
    """Return the pairs of paths with different numbers about the same subject, in JSON."""
    rows = index.run(
        "select path, owner, project, key, summary from entries join files using(file)"
        " where status = 'active' and summary glob '*[0-9]*'"
        # Two episodes may each have their number.
        " and type not in ('episode', 'summary')"
    )
    by_word: dict[str, list[NumberStatement]] = {}
    statements = []
    for path, owner, project, key, summary in rows.fetchall():
        number, subject = parse_statement(summary)
        if number:
            statements.append(NumberStatement(path, (owner, project), key, number, subject))
        for word in subject:
            by_word.setdefault(word, []).append(statements[-1])
    pairs = set()
    for statement in statements:
        # A statement with all of these words has the rarest of them.
        others = min((by_word[word] for word in statement.subject), key=len)
        if len(others) > MOST_STATEMENTS:
            continue
        for other in others:
            if is_contradiction(statement, other):
                pairs.add((statement.path, other.path))
    return json.dumps(sorted(pairs))


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
    """Return the numbers in a text, with times and ordinals in one spelling."""
    return sorted(word for word in split_statement(text) if word[0].isdigit())


def split_statement(text: str) -> list[str]:
    return WORD.findall(ORDINAL.sub(r"\1", CLOCK.sub(format_clock, text.casefold())))


def format_clock(match: re.Match[str]) -> str:
    """Return a time such as 2 pm as 14:00."""
    return f"{int(match[1]) % 12 + 12 * (match[3] == 'p')}:{match[2] or '00'}"


def is_contradiction(first: NumberStatement, second: NumberStatement) -> bool:
    """Return whether one subject contains the other, with hardly any words of its own."""
    extra = second.subject - first.subject
    return (
        first.subject <= second.subject
        and len(extra) <= MOST_EXTRA_WORDS
        # "The door code is 17" and "the back door code is 18" are about two doors.
        and not extra & DIRECTIONS
        and first.number != second.number
        and first.place == second.place
        and (first.key == second.key or not (first.key and second.key))
    )


def find_outdated_ids(index: Index) -> set[str]:
    """Return the ids of memories that a later number may have outdated."""
    return {older.id for older, _ in find_contradictions(index)}


def find_duplicates(index: Index) -> list[Pair]:
    """Return the active memories that may say the same thing, the closest first."""
    import numpy as np

    from .similar import embed_missing_entries, load_pool

    embed_missing_entries(index)
    pool = load_pool(index, "active")
    found: dict[tuple[int, int], float] = {}
    for start in range(0, len(pool.files), BLOCK):
        cosines = pool.vectors[start : start + BLOCK] @ pool.vectors.T
        for row, column in np.argwhere(cosines >= DUPLICATE_COSINE):
            files = int(pool.files[start + row]), int(pool.files[column])
            if files[0] < files[1]:
                found[files] = max(float(cosines[row, column]), found.get(files, 0.0))
    pairs: list[Pair] = []
    for files in sorted(found, key=lambda files: -found[files]):
        # Of 10,000 memories on eight subjects, 138,000 pairs are close. Reading all took 4 s.
        if len(pairs) == MOST_DUPLICATES:
            break
        first, second = (index.list_entries("file = ?", (file,))[0] for file in files)
        pair = order_pair(first, second)
        if is_likely_duplicate(index, pair):
            pairs.append(pair)
    return pairs


def is_likely_duplicate(index: Index, pair: Pair) -> bool:
    """Return whether a pair of close memories may say the same thing."""
    first, second = pair
    has_same_slot = (first.owner, first.project) == (second.owner, second.project)
    # 6 pm and 9 pm are close in meaning.
    has_same_numbers = find_numbers(first.summary) == find_numbers(second.summary)
    is_managed = all(index.workspace.is_managed(entry.path) for entry in pair)
    return has_same_slot and has_same_numbers and is_managed and not is_distinct(index, pair)


def order_pair(first: IndexedEntry, second: IndexedEntry) -> Pair:
    if (second.updated_at, second.id) < (first.updated_at, first.id):
        first, second = second, first
    # git does not know when a note was edited. The note has the version that was synced later.
    return (second, first) if is_sync_copy(second, first) else (first, second)


def is_sync_copy(copy: IndexedEntry, note: IndexedEntry) -> bool:
    """Return whether `mem sync` made a file for another version of a note."""
    return copy.id.startswith(COPY_START) and note.id in copy.conflicts_with


def is_distinct(index: Index, pair: tuple[Any, Any]) -> bool:
    """Return whether a person found that two memories say different things."""
    for entry, other in (pair, pair[::-1]):
        if other.id in read_distinct_ids(index.read_fields(entry.path).get("metadata")):
            return True
    return False


def read_distinct_ids(metadata: Any) -> tuple[str, ...]:
    try:
        return read_list(metadata.get(DISTINCT) or ()) if isinstance(metadata, Mapping) else ()
    except ValueError:
        return ()


def read_metadata(workspace: Workspace, path: str) -> Mapping[str, Any]:
    """Return the metadata of an entry's file. In the index its secrets are masked."""
    entry, _ = read_entry(parse(read_file(workspace, path) or ""), path, workspace.now)
    return entry.metadata


def add_distinct_id(metadata: Mapping[str, Any], other_id: str) -> dict[str, Any]:
    """Return metadata with the id of a memory that says something else."""
    ids = dict.fromkeys([*read_distinct_ids(metadata), other_id])
    return {**metadata, DISTINCT: list(ids)}
