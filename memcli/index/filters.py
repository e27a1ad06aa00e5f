"""Which memories a question is about: one set of filters for search, ls and grep."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

from ..dataclass import dataclass
from ..formats.ids import parse_time, stamp
from ..store.layouts import IS_ITEM
from .database import TOKENIZE

SORTS = {
    "updated": "updated_at desc, id desc",
    "created": "created_at desc, id desc",
    "type": "type, updated_at desc",
    "title": "summary collate nocase",
    "path": "path",
    "strength": "strength desc, updated_at desc",
    "trust": "trust desc, updated_at desc",
}
"""The orders of entries, in SQL."""


@dataclass(frozen=True)
class Filter:
    """Conditions that all must hold; an empty one lets everything pass. Instants are RFC 3339 in UTC."""

    kinds: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("active",)
    types: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    projects: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # any of these prefixes or globs
    since: str = ""
    until: str = ""
    below: tuple[str, ...] = ()  # and any of these
    keys: tuple[str, ...] = ()  # any of these globs
    forgotten: bool = False  # only what was forgotten, which lies in the archive
    besides: tuple[str, ...] = ()  # paths that pass whatever their status
    managed: bool = False  # only what mem keeps: in a vault none of a person's own notes
    items: bool = False  # entries too that are lines of another tool's file, which mem only reads
    as_of: str = ""  # what was believed then, whatever has become of it since; instead of the statuses

    @property
    def asks_entries(self) -> bool:
        """Return whether only an entry can pass."""
        return bool(
            self.types or self.layers or self.sources or self.tags or self.projects or self.keys or self.forgotten
        )


@dataclass
class Where:
    """A growing SQL condition with its values."""

    parts: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def any_of(self, column: str, wanted: tuple[str, ...]) -> None:
        """Demand that a column has one of the values, where any are given."""
        if wanted:
            self.parts.append(f"{column} in ({', '.join('?' * len(wanted))})")
            self.values += map(bindable, wanted)

    def __str__(self) -> str:
        return " and ".join(self.parts) or "true"


def bindable(text: str) -> str:
    """Return a text SQLite can take: bytes of the shell that are no UTF-8 arrive as lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def chunk_condition(wanted: Filter) -> Where:
    """Return the condition on the table of chunks."""
    where = Where()
    where.any_of("kind", wanted.kinds)
    if wanted.managed:
        where.parts.append("file not in (select file from files where managed = 0)")
    if wanted.as_of:
        believed = f"select file from entries join files using(file) where {_BELIEVED}"
        events = "kind in ('history', 'note') and status = 'active' and timestamp <= ?"
        where.parts.append(f"(file in ({believed}) or ({events}))")
        where.values += [wanted.as_of] * 3
    elif wanted.statuses:
        statuses = Where()
        statuses.any_of("status", wanted.statuses)
        paths = Where()
        paths.any_of("path", wanted.besides)
        where.parts.append(
            f"({statuses} or file in (select file from files where {paths}))" if wanted.besides else f"{statuses}"
        )
        where.values += [*statuses.values, *paths.values]
    _span(where, "timestamp", wanted)
    if wanted.paths or wanted.below:
        paths = Where()
        _paths(paths, wanted.paths)
        _paths(paths, wanted.below)
        where.parts.append(f"file in (select file from files where {paths})")
        where.values += paths.values
    if wanted.asks_entries:
        entries = Where()
        _entry_parts(entries, wanted)
        where.parts.append(f"file in (select file from entries where {entries})")
        where.values += entries.values
    return where


def entry_condition(wanted: Filter) -> Where:
    """Return the condition on entries joined with files."""
    where = Where()
    if wanted.as_of:
        where.parts.append(_BELIEVED)
        where.values += [wanted.as_of] * 2
    else:
        where.any_of("files.status", wanted.statuses)
    if not wanted.items:
        where.parts.append(f"not {IS_ITEM}")
    if wanted.managed:
        where.parts.append(f"(managed or {IS_ITEM})")
    _span(where, "entries.updated_at", wanted)
    _paths(where, wanted.paths)
    _paths(where, wanted.below)
    _entry_parts(where, wanted)
    return where


def file_condition(wanted: Filter) -> Where:
    """Return the condition on files, for what reads whole texts."""
    where = Where()
    where.any_of("kind", wanted.kinds)
    if not wanted.asks_entries and wanted.kinds != ("entry",):  # else their file has each line already
        where.parts.append(f"not {IS_ITEM}")
    if wanted.managed:
        where.parts.append(f"(managed or {IS_ITEM})")
    if not wanted.as_of:
        where.any_of("status", wanted.statuses)
    _paths(where, wanted.paths)
    _paths(where, wanted.below)
    if wanted.asks_entries or wanted.since or wanted.until or wanted.as_of:
        chunks = chunk_condition(replace(wanted, kinds=(), statuses=(), paths=(), below=(), managed=False))
        where.parts.append(f"file in (select file from chunks where {chunks})")
        where.values += chunks.values
    return where


SINCE = (
    "coalesce((select max(v.superseded_at) from entries as v where v.version_of <> '' and v.version_of ="
    " iif(entries.version_of = '', entries.id, entries.version_of)"
    " and (entries.version_of = '' or v.superseded_at < entries.superseded_at)), entries.created_at)"
)
"""When an entry's text came to be believed: when it was made, or when it took the place of an earlier text of it."""
UNTIL = (
    "iif(entries.superseded_by = '', '', coalesce(nullif(entries.superseded_at, ''),"
    " (select s.created_at from entries as s where s.id = entries.superseded_by), ''))"
)
"""When something else took its place; empty where nothing did, or nobody knows."""
_BELIEVED = f"({SINCE} <= ? and ({UNTIL} > ? or (files.status = 'active' and entries.superseded_by = '')))"


def _entry_parts(where: Where, wanted: Filter) -> None:
    where.any_of("type", wanted.types)
    where.any_of("layer", wanted.layers)
    where.any_of("source", wanted.sources)
    where.any_of("project", wanted.projects)
    if wanted.keys:
        where.parts.append(f"entries.key <> '' and ({' or '.join(['folded(entries.key) glob ?'] * len(wanted.keys))})")
        where.values += [bindable(key.casefold()) for key in wanted.keys]
    if wanted.forgotten:
        where.parts.append("file in (select file from forgotten)")
    for tag in wanted.tags:
        # Whole tags, whatever their case: `test` is not `testing`.
        where.parts.append("exists (select 1 from json_each(entries.tags) where folded(value) = ?)")
        where.values.append(bindable(tag.lstrip("#").casefold()))


def _paths(where: Where, paths: tuple[str, ...]) -> None:
    if not paths:
        return
    parts = []
    for path in map(bindable, paths):
        # Not LIKE, to which `_` and `%` in a name would be wild.
        parts.append("substr(path, 1, ?) = ?")
        where.values += [len(path), path]
        if any(mark in path for mark in "*?["):
            parts.append("path glob ?")
            where.values.append(path)
    where.parts.append(f"({' or '.join(parts)})")


def _span(where: Where, column: str, wanted: Filter) -> None:
    for operator, moment in ((">=", wanted.since), ("<=", wanted.until)):
        if moment:
            instant = parse_time(moment)
            where.parts.append(f"{column} {operator} ?")
            where.values.append(stamp(instant) if instant else moment)


_FORMS = 16  # of one word, at most
_SHORTEST = 4  # word that has other endings
_LAST = "\U0010ffff"


class TheirFile(NamedTuple):
    """A file that only others have, as the server has it."""

    path: str
    kind: str
    digest: str
    entry: Mapping[str, Any]  # as `list_entries` gives it; empty for what is none
    text: str


Posting = Mapping[int, float]
"""Chunk → how often a word occurs in it, in any of its forms; another name for the same counts less."""


TurnPiece = tuple[int, int, int]
"""The number of the conversation's file that a chunk stands in, its turn's line there, and how many characters it has.

No named tuple: making and reading 10,000 of them takes 6 ms longer."""


def stems_of(connection: sqlite3.Connection, terms: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Return the stems of words, each given in its forms; one empty stem for a word that has none."""
    run = connection.execute
    run(f'create virtual table temp.asked using fts5(word, tokenize="{TOKENIZE}")')
    run("create virtual table temp.stems using fts5vocab(temp, asked, 'instance')")
    try:
        connection.executemany(
            "insert into temp.asked(rowid, word) values(?, ?)",
            [
                (number * _FORMS + position, form)
                for number, term in enumerate(terms)
                for position, form in enumerate(term[:_FORMS])
            ],
        )
        stems: dict[int, list[str]] = defaultdict(list)
        for stem, row in run("select term, doc from temp.stems order by doc, offset"):
            stems[row // _FORMS].append(stem)
        return [list(dict.fromkeys(stems.get(number, [""]))) for number in range(len(terms))]
    finally:
        for table in ("stems", "asked"):
            run(f"drop table temp.{table}")


def is_prefix(term: tuple[str, ...]) -> bool:
    """Return whether a word is asked for as a beginning: one character of an unspaced script stands in pairs."""
    return len(term[0]) == 1 and not term[0].isascii()


def postings(connection: sqlite3.Connection, terms: Sequence[tuple[str, ...]]) -> list[Posting]:
    """Return where words occur, each given in its forms; for a word of a stem that an earlier word has, the same."""
    stems = stems_of(connection, terms)
    connection.execute("create virtual table temp.postings using fts5vocab(main, words, 'instance')")
    try:
        by_stem: dict[str, Posting] = {"": {}}
        for own, term in zip(stems, terms, strict=True):
            if own[0] not in by_stem:
                by_stem[own[0]] = _posting(connection, own, is_prefix=is_prefix(term))
        return [by_stem[own[0]] for own in stems]
    finally:
        connection.execute("drop table temp.postings")


def _posting(connection: sqlite3.Connection, stems: list[str], *, is_prefix: bool) -> Posting:
    where, values = f"term in ({', '.join('?' * len(stems))})", stems
    if is_prefix:
        where, values = "term >= ? and term < ?", [stems[0], stems[0] + _LAST]
    (chunks,) = connection.execute(
        # A word in the title counts twice.
        "select group_concat(case col when 'title' then doc || ',' || doc else doc end)"
        f" from temp.postings where {where}",
        values,
    ).fetchone()
    return Counter(map(int, chunks.split(","))) if chunks else {}


def beginning(word: str) -> str:
    """Return what the words that are alike begin with; empty for a word that has no such forms."""
    if len(word) < _SHORTEST or not word.isalpha():
        return ""
    return word[: max(_SHORTEST, -(-2 * len(word) // 3), len(word) - 3)]


def alike_postings(connection: sqlite3.Connection, word: str) -> Posting:
    """Return where words stand that begin as a word does and differ at the end: other forms, and words of its kind.

    A third of its letters may be others, three at most, and three be added; one below four letters has no such forms.
    """
    begins = beginning(word)
    if not begins:
        return {}
    connection.execute("create virtual table temp.postings using fts5vocab(main, words, 'instance')")
    try:
        where, values = "term >= ? and term < ? and length(term) <= ?", (begins, begins + _LAST, len(word) + 3)
        rows = connection.execute(f"select doc from temp.postings where {where}", values).fetchall()
    finally:
        connection.execute("drop table temp.postings")
    return Counter(chunk for (chunk,) in rows)


def scores(
    postings: Sequence[Posting],
    weights: Sequence[float],
    documents: Mapping[int, int],
    turns: Mapping[int, TurnPiece],
    saturation: float,
    window: Sequence[float],
    reach: int,
) -> tuple[dict[int, float], dict[int, float]]:
    """Score chunks, and the documents of those that share one: Σ weight × tf / (tf + saturation).

    `documents` gives the document of every chunk that may be found, `turns` those that are of turns; the words of a
    turn count, less with each step of `window`, for those before and after it in its session. Of more characters than
    `reach` they count less for others: what is long speaks of many things.
    """
    counts: list[tuple[float, Mapping[int, float]]] = [
        (weight, posting) for posting, weight in zip(postings, weights, strict=True) if posting and weight
    ]
    if turns:
        order = sorted(turns, key=lambda chunk: (turns[chunk][0], chunk))
        positions = {chunk: position for position, chunk in enumerate(order)}
        counts = [(weight, _spread(posting, order, turns, positions, window, reach)) for weight, posting in counts]
    own: dict[int, float] = {}
    score_of = own.get
    for weight, posting in counts:
        gains = {count: weight * count / (count + saturation) for count in set(posting.values())}
        for chunk, count in posting.items():
            own[chunk] = score_of(chunk, 0.0) + gains[count]
    own = {chunk: score for chunk, score in own.items() if chunk in documents}
    chunks_of: dict[int, list[int]] = defaultdict(list)
    for chunk in own:
        chunks_of[documents[chunk]].append(chunk)
    whole: dict[int, float] = {}
    for chunks in chunks_of.values():
        if len(chunks) > 1:
            totals = ((weight, sum(posting.get(chunk, 0) for chunk in chunks)) for weight, posting in counts)
            whole |= dict.fromkeys(chunks, sum(weight * total / (total + saturation) for weight, total in totals))
    return own, whole


def _spread(
    posting: Mapping[int, float],
    order: Sequence[int],
    turns: Mapping[int, TurnPiece],
    positions: Mapping[int, int],
    window: Sequence[float],
    reach: int,
) -> Mapping[int, float]:
    """Return the counts with a share for the turns around each; `order` has each session's turns one after another."""
    near: dict[int, float] = defaultdict(float, posting)
    steps = [(sign * step, share) for step, share in enumerate(window, 1) for sign in (-1, 1)]
    for chunk, count in posting.items():
        position = positions.get(chunk)
        if position is None:
            continue
        session, _, length = turns[chunk]
        shared = count * min(1.0, reach / max(length, 1))
        for step, share in steps:
            other = position + step
            if 0 <= other < len(order) and turns[order[other]][0] == session:
                near[order[other]] += share * shared
    return near
