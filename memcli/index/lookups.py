"""Questions about entries, records and files: what a name means, who fills a key, what took the place of what."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from math import log
from pathlib import PurePosixPath
from typing import Annotated, Any, TypeVar

from ..dataclass import dataclass
from ..formats.entry_fields import RULE_TYPES, WORDING
from ..formats.text_lines import normalized
from ..results import FilePath, Id, Result, Scope, Source, Status, Summary, Trust
from ..store.layouts import IS_ITEM
from ..store.workspace import Workspace
from .filters import SINCE, UNTIL, Filter, bindable, chunk_condition, entry_condition
from .index import Index, ask

T = TypeVar("T")


def ask_current(workspace: Workspace, question: Callable[[Index], T]) -> T:
    """Return the answer of a function of the index, once that is as the disk is now."""

    def asked(index: Index) -> T:
        index.refresh()
        return question(index)

    return ask(workspace, asked)


def entries_with_id(index: Index, name: str) -> list[tuple[str, str]]:
    """Return (id, path) of the entries with an id, else of at most 20 whose id begins or ends so."""
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


def files_called(index: Index, names: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (id, path) of the files with each id, title, alias or name, as a wiki link gives it, in any case."""
    wanted = {name: bindable(name).removesuffix(".md").casefold() for name in names}
    called: dict[str, list[tuple[str, str]]] = {word: [] for word in wanted.values()}
    rows = index.connection.execute(
        "select coalesce(id, path), path, coalesce(title, ''), coalesce(aliases, '')"
        " from files left join entries using(file) where files.kind <> 'session' order by path"
    )
    for identifier, path, title, aliases in rows:
        parts = path.removesuffix(".md").casefold().split("/")
        words = {"/".join(parts[start:]) for start in range(len(parts))}
        words.update([identifier.casefold(), title.casefold(), *aliases.casefold().split("\n")])
        for word in called.keys() & words:
            called[word].append((identifier, path))
    return {name: called[word] for name, word in wanted.items()}


def linking_to(index: Index, identifier: str, path: str) -> list[tuple[str, str, str]]:
    """Return id, path and summary of the files in use that link to one, in an index brought in step first.

    A link names it by its id, title, alias, path or the end of its path.
    """
    index.refresh()
    run = index.connection.execute
    stated = "select coalesce(title, '') || char(10) || coalesce(aliases, '') from files left join entries using(file)"
    titles = (run(f"{stated} where path = ?", (path,)).fetchone() or ("",))[0]
    whole_path = path.casefold().removesuffix(".md")
    names = {identifier.casefold(), *titles.casefold().split("\n"), whole_path} - {""}
    rows = run(
        "select coalesce(id, path), path, coalesce(summary, ''), target from links join files using(file)"
        " left join entries using(file) where name in (select value from json_each(?)) and files.status = 'active'"
        " and path <> ? order by files.kind, path",
        (json.dumps([name.rpartition("/")[2] for name in names]), path),
    )
    linking = (row[:3] for row in rows if row[3] in names or f"/{whole_path}".endswith(f"/{row[3]}"))
    return list(dict.fromkeys(linking))


def names_of_one(index: Index) -> list[tuple[str, ...]]:
    """List the names of each active entry that has aliases: these and its title, or in a vault its file's name."""
    rows = index.connection.execute(
        # Crossed, entries come first, by the index of those with aliases: SQLite would look at every file.
        "select path, title, aliases from entries cross join files using(file)"
        " where aliases <> '' and files.status = 'active' order by path"
    )
    is_vault = index.workspace.layout.is_vault
    named = ((title or (PurePosixPath(path).stem if is_vault else ""), aliases) for path, title, aliases in rows)
    return [tuple(name for name in (first, *aliases.split("\n")) if name) for first, aliases in named]


def keys_in_use(index: Index) -> list[tuple[str, str]]:
    """Return (key, path) of the active entries with a key, by path."""
    return index.connection.execute(
        "select key, path from entries join files using(file) where key <> '' and files.status = 'active' order by path"
    ).fetchall()


@dataclass(frozen=True)
class Value:
    """What filled a key, and when."""

    key: Annotated[str, "the key, as its file has it"]
    project: Annotated[str, "the project it belongs to"]
    id: Id
    path: FilePath
    status: Status
    source: Source
    trust: Trust
    since: Annotated[str, "when it came to be believed, RFC 3339"]
    until: Annotated[str, "when something else took its place; empty where nothing did, or nobody knows"]
    summary: Summary


@dataclass(frozen=True)
class ValueOf(Value):
    """A value, with the workspace of its entry."""

    workspace: Workspace

    @property
    def scope(self) -> Scope:
        """Return the scope of the workspace."""
        return self.workspace.scope


@dataclass(frozen=True)
class KeyHistory(Result):
    """Every value that a key has or had, the earliest first."""

    key: Annotated[str, "the key asked for"]
    values: Annotated[tuple[ValueOf, ...], "every value it had, the earliest first"]


def key_history(index: Index) -> list[Value]:
    """Return the values of all keys, past ones too, the earliest first."""
    rows = index.connection.execute(
        f"select key, project, id, path, files.status, source, trust, {SINCE} as since, {UNTIL}, summary"
        " from entries join files using(file) where key <> '' order by since, id"
    )
    return [Value(*row) for row in rows]


def records_with_id(index: Index, identifier: str) -> list[tuple[str, str]]:
    """Return (anchor, path) of the history records whose id begins so."""
    return index.connection.execute(
        "select distinct anchor, path from chunks join files using(file)"
        " where chunks.kind = 'history' and substr(anchor, 1, ?) = ?",
        (len(identifier), bindable(identifier)),
    ).fetchall()


def paths_by_id(index: Index) -> dict[str, str]:
    """Map the id of every entry to its path; of an id that two files have, to the first."""
    return dict(
        index.connection.execute(
            f"select id, path from entries join files using(file) where not {IS_ITEM} order by path desc"
        ).fetchall()
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


def entry_types(index: Index) -> list[str]:
    """Return the types of the entries there are, after a refresh."""
    index.refresh()
    return [row[0] for row in index.connection.execute("select distinct type from entries")]


def entry_statuses(index: Index) -> list[str]:
    """Return the statuses of the entries there are, after a refresh."""
    index.refresh()
    return [row[0] for row in index.connection.execute("select distinct status from files where kind = 'entry'")]


@dataclass(frozen=True)
class IndexedFile:
    """A file as the index last read it."""

    text: str
    digest: str
    entry: Mapping[str, Any]  # empty for what is none


def indexed_files(index: Index, paths: Collection[str]) -> dict[str, IndexedFile]:
    """Map paths to files as the index last read them; a path that the index does not know is left out."""
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
        f"select chunk from chunks where ({' or '.join(f'({part})' for part in conditions)}) and {where} limit {limit}",
        (*values, *where.values),
    )
    return [row[0] for row in rows]


def sharing_words(index: Index, text: str, wanted: Filter, most: int) -> list[int]:
    """Return up to `most` chunks that pass the filter, by the sum of the weights of the words they share with a text.

    The weight of a word is log(1 + chunks / chunks with the word)."""
    from ..language.keyword_tokens import query_terms
    from ..language.lexicon import forms  # late: most commands ask for no words

    found = index.postings([forms(word) for word in query_terms(text)])
    postings = list({id(posting): posting for posting in found if posting}.values())  # of one stem once
    among = {chunk for posting in postings for chunk in posting}
    weights: dict[int, float] = dict.fromkeys(index.documents(wanted, among), 0.0)
    count = index.chunk_count()
    for posting in postings:
        weight = log(1 + count / len(posting))
        for chunk in posting.keys() & weights.keys():
            weights[chunk] += weight
    return sorted(weights, key=lambda chunk: (-weights[chunk], chunk))[:most]


def paths_of_chunks(index: Index, chunks: Collection[int] | None = None) -> dict[int, str]:
    """Return the paths of the files mem keeps that chunks belong to; with None those of every chunk."""
    where = "" if chunks is None else f" where managed and chunk in ({', '.join(map(str, chunks))})"
    return dict(index.connection.execute(f"select chunk, path from chunks join files using(file){where}").fetchall())


def entries_holding(index: Index, text: str) -> list[str]:
    """Return the paths of active entries that mem keeps whose file holds a text as it stands."""
    rows = index.connection.execute(
        "select path from texts join files using(file)"
        " where kind = 'entry' and status = 'active' and managed and length(text) >= ? and instr(text, ?) > 0",
        (len(text), text),
    )
    return [path for (path,) in rows]


def digests_of(index: Index, paths: Collection[str]) -> dict[str, str]:
    """Return the digests of the files at some paths, by path."""
    rows = index.connection.execute(
        "select path, digest from files where path in (select value from json_each(?))", (json.dumps(list(paths)),)
    )
    return dict(rows.fetchall())


def telling_files(index: Index, named: Collection[str], most: int) -> set[int]:
    """Return the files of active entries that a session may begin with: rules, marked ones, the newest, the named.

    Named are those with a path or an id of `named`, marked those that are pinned, fill a key or have a verdict; `most`
    is the number of the newest.
    """
    rows = index.connection.execute(
        "select file from entries join files using(file) where files.status = 'active' and (pinned or key <> ''"
        " or verdicts <> '' or type in (select value from json_each(?1)) or path in (select value from json_each(?2))"
        " or id in (select value from json_each(?2))"
        " or file in (select file from entries join files using(file) where files.status = 'active'"
        " order by updated_at desc, id desc limit ?3))",
        (json.dumps(RULE_TYPES), json.dumps(list(named)), most),
    )
    return {file for (file,) in rows}


def count_of_active(index: Index, besides: Collection[str]) -> int:
    """Count the active entries that are of none of some types."""
    (count,) = index.connection.execute(
        f"select count(*) from entries join files using(file) where files.status = 'active' and not {IS_ITEM}"
        " and coalesce(type, '') not in (select value from json_each(?))",
        (json.dumps(list(besides)),),
    ).fetchone()
    return int(count)


def shared_tails(index: Index) -> set[str]:
    """Return the last six characters of ids that more than one entry has."""
    tail = "substr(id, -6)"
    return {
        name for (name,) in index.connection.execute(f"select {tail} from entries group by {tail} having count(*) > 1")
    }


def forgotten_saying(index: Index, texts: Collection[str]) -> list[str]:
    """Return the paths of the forgotten entries that say one of some texts, but for case, space and closing stops."""
    rows = index.connection.execute(
        "select distinct path from forgotten join files using(file)"
        " where said in (select value from json_each(?)) order by path",
        (json.dumps(sorted({normalized(text) for text in texts})),),
    )
    return [path for (path,) in rows]


def has_forgotten(index: Index) -> bool:
    """Return whether anything was forgotten."""
    return index.connection.execute("select 1 from forgotten limit 1").fetchone() is not None


def forgotten_texts(index: Index) -> frozenset[str]:
    """Return the forgotten texts, as `normalized` returns them."""
    return frozenset(text for (text,) in index.connection.execute("select said from forgotten"))


def places_saying(index: Index, lines: Collection[str]) -> list[str]:
    """Return the places out of the archive, as `read` takes them, that have one of some lines in their text."""
    # A chunk is cut out of its text only where the whole text has the line: of a large one that takes a while.
    rows = index.connection.execute(
        "with said(words) as materialized (select value from json_each(?)),"
        " telling(file, text, words) as materialized"
        " (select file, text, words from texts, said where instr(text, words) > 0)"
        " select files.kind, path, anchor, chunk from telling join files using(file) join chunks using(file)"
        " where files.status <> 'archived' and instr(substr(text, start + 1, stop - start), words) > 0"
        " union select files.kind, path, anchor, chunk from turns join chunks using(chunk) join files using(file), said"
        " where files.status <> 'archived' and instr(turns.text, words) > 0 order by 1, 2, 4",
        (json.dumps(sorted(lines)),),
    )
    return list(dict.fromkeys(_place(*row[:3]) for row in rows))


def _place(kind: str, path: str, anchor: str) -> str:
    if kind == "session":
        path = f"session:{PurePosixPath(path).parent.name}"
    return f"{path}#{anchor}" if anchor and kind != "entry" else path


def has_chunk_of_type(index: Index, name: str, chunks: Collection[int]) -> bool:
    """Return whether one of the chunks belongs to an entry of a type."""
    rows = index.connection.execute(
        f"select 1 from chunks join entries using(file) where type = ? and chunk in ({', '.join(map(str, chunks))})",
        (name,),
    )
    return rows.fetchone() is not None


def successors(index: Index) -> dict[str, str]:
    """Map each superseded id to the id that took its place, in an index brought in step first."""
    index.refresh()
    return dict(index.connection.execute("select id, superseded_by from entries where superseded_by <> ''").fetchall())


def replaced_by(index: Index, paths: Collection[str]) -> dict[str, str]:
    """Return id and path of what the entries at paths took the place of, the last first, and is in no archive."""
    index.refresh()
    run = index.connection.execute
    earlier: dict[str, dict[str, str]] = {}
    rows = run(
        "select id, path, superseded_by from entries join files using(file)"
        " where files.status = 'superseded' order by id"
    )
    for identifier, path, by in rows:
        earlier.setdefault(by, {})[identifier] = path
    replaced: dict[str, str] = {}
    named = "select id from entries join files using(file) where path = ?"
    ids = [identifier for path in paths for (identifier,) in run(named, (path,))]
    while ids:
        before = {name: path for identifier in ids for name, path in earlier.pop(identifier, {}).items()}
        replaced |= before
        ids = list(before)
    return {identifier: path for identifier, path in replaced.items() if path not in paths}


def earlier_than(index: Index, identifier: str) -> list[tuple[str, str]]:
    """Return path and `version_of` of the entries that one took the place of, and of its own earlier texts."""
    index.refresh()
    return index.connection.execute(
        "select path, version_of from entries join files using(file) where superseded_by = ?1 or version_of = ?1"
        " order by path",
        (identifier,),
    ).fetchall()


def supersession_rows(index: Index) -> list[tuple[str, str, str, str, str, str]]:
    """Return id, path, creation, status, successor and summary of every entry."""
    index.refresh()
    return index.connection.execute(
        "select id, path, entries.created_at, files.status, superseded_by, summary"
        " from entries join files using(file) order by path desc"
    ).fetchall()


MOST_VALUES = 300
"""Values of a field of entries that are offered to choose from."""


def count_entries(index: Index, wanted: Filter) -> int:
    """Return how many entries pass a filter, in an index brought in step first."""
    where = entry_condition(wanted)
    query = f"select count(*) from entries join files using(file) where {where}"
    return int(index.connection.execute(query, where.values).fetchone()[0])


def field_values(index: Index) -> dict[str, list[str]]:
    """Return the types, projects, tags and keys of entries in use, the most used first, by the last look."""
    tables = {name: (name, "entries") for name in ("type", "project", "key")}
    tables["tag"] = ("value", "entries, json_each(entries.tags)")
    return {
        name: [
            value
            for (value,) in index.connection.execute(
                f"select {column} from {table} where status = 'active' and {column} <> ''"
                f" group by {column} order by count(*) desc, {column} limit {MOST_VALUES}"
            )
        ]
        for name, (column, table) in tables.items()
    }


def arrived_since(index: Index, mark: str, limit: int) -> tuple[dict[str, dict[str, Any]], int]:
    """Return the active entries that came after a mark, by their marks, the earliest first, and how many there are.

    Only those that mem keeps. A mark is a time and an id. An entry comes when it is made, or when the index sees it
    first if that is later: what git or an import brings may be old.
    """
    index.refresh()
    rows = index.connection.execute(
        "select max(coalesce(created_at, ''), coalesce(at, '')) || ' ' || id as mark, file, count(*) over ()"
        " from entries join files using(file) left join arrivals using(id)"
        " where files.status = 'active' and managed and mark > ? order by mark limit ?",
        (bindable(mark), limit),
    ).fetchall()
    among = [file for _, file, _ in rows]
    entries = {row["file"]: row for row in index.list_entries(Filter(), "file", among=among)}
    return {name: entries[file] for name, file, _ in rows}, rows[0][2] if rows else 0


def made_by_time(index: Index) -> list[tuple[str, str, int]]:
    """Return time, type and number of the entries made then."""
    index.refresh()
    return index.connection.execute(
        "select created_at, type, count(*) from entries where created_at <> '' and version_of = ''"
        " and file not in (select file from files where managed = 0) group by created_at, type"
    ).fetchall()
