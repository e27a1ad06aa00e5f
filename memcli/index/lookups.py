"""Which entries and records a name may mean: ids, parts of ids, and the paths they lie at."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from ..formats.chunking import WORDING
from .filters import SINCE, UNTIL, Filter, bindable, chunk_condition
from .index import Index


def with_id(index: Index, name: str) -> list[tuple[str, str]]:
    """Find entries by whole id, unique prefix or suffix: (id, path), an exact one alone if there is one."""
    if not name:
        return []  # every id begins with nothing: a variable of the shell that was not set
    name = bindable(name)
    run = index.connection.execute
    exact = run("select id, path from entries join files using(file) where id = ?", (name,)).fetchall()
    if exact:
        return exact
    size = len(name)
    return run(
        "select id, path from entries join files using(file)"
        # The path of a file that states no id is its id, but no part of a path is one: `md` would mean it.
        " where id <> path and (substr(id, 1, ?) = ? or substr(id, -?) = ? or substr(id, 5, ?) = ?)"
        " order by id limit 20",
        (size, name, size, name, size, name),
    ).fetchall()


def called(index: Index, name: str) -> list[tuple[str, str]]:
    """Find files by title, alias or name, as a wiki link gives it, whatever its case: (id, path)."""
    wanted = bindable(name).removesuffix(".md").casefold()
    rows = index.connection.execute(
        "select coalesce(id, path), path, coalesce(title, ''), case when text like '%alias%' then text else '' end"
        " from files join texts using(file) left join entries using(file) where files.kind <> 'session' order by path"
    )
    found = []
    for identifier, path, title, text in rows:
        place = f"/{path.removesuffix('.md').casefold()}"
        if place.endswith(f"/{wanted}") or title.casefold() == wanted or wanted in map(str.casefold, aliases(text)):
            found.append((identifier, path))
    return found


def aliases(text: str) -> list[str]:
    """Return the other names that a file's frontmatter states."""
    if "alias" not in text:
        return []
    from ..formats.frontmatter import document

    fields = document.parse(text).fields
    said = fields.get("aliases") or fields.get("alias") or ()
    every = said.split(",") if isinstance(said, str) else said
    return [str(one).strip() for one in every] if isinstance(every, list | tuple) else []


def keyed(index: Index) -> list[tuple[str, str]]:
    """List the keys that active entries fill, with their paths."""
    return index.connection.execute(
        "select key, path from entries join files using(file) where key <> '' and files.status = 'active' order by path"
    ).fetchall()


@dataclass(frozen=True)
class Value:
    """What filled a key, and when."""

    key: str
    project: str
    id: str
    path: str
    status: str
    source: str
    trust: float
    since: str
    until: str  # empty where it holds still, or nobody knows when it was over
    summary: str


def values(index: Index) -> list[Value]:
    """List what fills and filled keys, the earliest first."""
    rows = index.connection.execute(
        f"select key, project, id, path, files.status, source, trust, {SINCE} as since, {UNTIL}, summary"
        " from entries join files using(file) where key <> '' order by since, id"
    )
    return [Value(*row) for row in rows]


def records(index: Index, identifier: str) -> list[tuple[str, str]]:
    """Find history records by the beginning of their id: (anchor, path)."""
    return index.connection.execute(
        "select distinct anchor, path from chunks join files using(file)"
        " where chunks.kind = 'history' and substr(anchor, 1, ?) = ?",
        (len(identifier), bindable(identifier)),
    ).fetchall()


def ids(index: Index) -> dict[str, str]:
    """Return the path of every entry's id; of one that two files have, the first."""
    return dict(
        index.connection.execute("select id, path from entries join files using(file) order by path desc").fetchall()
    )


def entry_texts_with(index: Index, part: str) -> list[tuple[str, str]]:
    """List path and text of the entries whose text holds a part, such as the prefix of a source."""
    return index.connection.execute(
        "select path, text from texts join files using(file) where kind = 'entry' and instr(text, ?) > 0", (part,)
    ).fetchall()


def id_at(index: Index, path: str) -> str:
    """Return the id of the entry in a file; its path where there is none."""
    index.refresh()
    row = index.connection.execute("select id from entries join files using(file) where path = ?", (path,)).fetchone()
    return str(row[0]) if row else path


def types(index: Index) -> list[str]:
    """List the types of the entries there are."""
    index.refresh()
    return [row[0] for row in index.connection.execute("select distinct type from entries")]


@dataclass(frozen=True)
class IndexedFile:
    """A file as the index last read it."""

    text: str
    digest: str
    entry: Mapping[str, Any]  # empty for what is none


def known(index: Index, paths: Collection[str]) -> dict[str, IndexedFile]:
    """Return what is known of files, those that are gone meanwhile left out."""
    run = index.connection.execute
    files = run(
        "select file, path, text, digest from files join texts using(file)"
        f" where path in ({', '.join('?' * len(paths))})",
        tuple(paths),
    ).fetchall()
    cursor = run(f"select * from entries where file in ({', '.join(str(row[0]) for row in files)})")
    names = [column[0] for column in cursor.description]
    entries = {row[0]: dict(zip(names, row, strict=True)) for row in cursor}
    return {path: IndexedFile(text, digest, entries.get(file, {})) for file, path, text, digest in files}


def chunks_of(index: Index, ids: Collection[str], wanted: Filter) -> list[int]:
    """Return the first chunk of each entry that may be found, by its id."""
    if not ids:
        return []
    where = chunk_condition(wanted)
    rows = index.connection.execute(
        "select min(chunk) from chunks where file in"
        f" (select file from entries where id in ({', '.join('?' * len(ids))}))"
        f" and anchor <> '{WORDING}' and {where} group by file order by 1",
        (*sorted(ids), *where.values),
    )
    return [chunk for (chunk,) in rows]


def chunks_named(
    index: Index,
    wanted: Filter,
    limit: int,
    ids: Sequence[str] = (),
    paths: Sequence[str] = (),
    anchor: str = "",
    line: int = 0,
) -> list[int]:
    """Return up to `limit` chunks that pass the filter and belong to one of the ids, or to the place in the paths.

    An id is that of an entry, or the anchor of a record. The place is the whole file, its part with an anchor, or the
    part that a line, counted from 1, stands in.
    """
    conditions: list[str] = []
    values: list[str | int] = []
    if ids:
        marks = ", ".join("?" * len(ids))
        conditions.append(f"file in (select file from entries where id in ({marks})) or anchor in ({marks})")
        values += [*ids, *ids]
    if paths:
        marks = ", ".join("?" * len(paths))
        conditions.append(
            f"file in (select file from files where path in ({marks})) and ? in ('', anchor) and (? = 0 or line ="
            " (select max(line) from chunks as other where other.file = chunks.file and line <= ?))"
        )
        values += [*map(bindable, paths), bindable(anchor), line, line]
    if not conditions:
        return []
    where = chunk_condition(wanted)
    rows = index.connection.execute(
        f"select chunk from chunks where ({' or '.join(f'({one})' for one in conditions)}) and {where} limit {limit}",
        (*values, *where.values),
    )
    return [row[0] for row in rows]


def sharing_words(index: Index, text: str, wanted: Filter, most: int) -> list[int]:
    """Return the chunks of what passes that share the most telling words with a text, the most telling first."""
    from ..language.keyword_tokens import query_terms
    from ..language.lexicon import forms  # late: most commands ask for no words

    found = [one for one in index.postings([forms(word) for word in query_terms(text)]) if one]
    among = {chunk for posting in found for chunk in posting}
    weights: dict[int, float] = dict.fromkeys(index.documents(wanted, among), 0.0)
    count = index.chunk_count()
    for posting in found:
        weight = log(1 + count / len(posting))
        for chunk in posting.keys() & weights.keys():
            weights[chunk] += weight
    return sorted(weights, key=lambda chunk: (-weights[chunk], chunk))[:most]
