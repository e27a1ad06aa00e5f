"""Push the memories of a workspace to the team's server.

The rows of a machine mirror its files: a push compares digests, deletes the rows of deleted files
and writes the changed ones. It can be killed at any point; the next push continues. A push never
changes the rows of other machines or members, except that a purge deletes the memory from all
machines of its owner.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnavailableError
from ..formats import Progress, build_digest, replace_surrogates
from ..index import TOKENIZER, Index, get_index, open_index
from ..store import Workspace, find_secret_problems
from .connection import PAUSE, PUSH_SECONDS, SEARCH_SECONDS, Team, find_space, open_team

if TYPE_CHECKING:
    import numpy as np

FILES_AT_ONCE = 200
# PostgreSQL refuses a word of more than 2,046 bytes.
LONGEST_WORD = 200  # characters
# The limit of data/team.sql
LARGEST = 1_000_000  # characters of a file
PRIVATE = "private"  # a tag or property of memories that are never pushed


class SharedFile(NamedTuple):
    """A memory to push."""

    path: str
    file: int
    id: str
    digest: str


@dataclass
class PushResult:
    """What a push changed on the server."""

    space: str = ""  # empty if no team shares the workspace
    pushed: int = 0
    removed: int = 0
    shared: int = 0  # memories of this workspace that are on the server now


def push(workspace: Workspace, progress: Progress | None = None) -> PushResult:
    """Make the rows of this machine on the server equal to its files. Raises UnavailableError.

    Nothing is pushed if no team shares the workspace.
    """
    if not find_space(workspace):
        return PushResult()
    index = get_index(workspace)
    # The user requested it, so the server is asked again.
    index.database.try_set_meta(PAUSE, "")
    machine = build_machine_name(workspace)
    with open_team(workspace, PUSH_SECONDS) as team:
        removed = remove_forgotten(team, index)
        # Another machine of the user may have purged them, and this one has not synced yet.
        purged = {row[0] for row in team.run("select id from purged where owner = current_user")}
        shared = find_shared_files(index, team.role)
        files = {path: file for path, file in shared.items() if file.id not in purged}
        known: dict[str, str] = dict(
            team.run(
                "select path, digest from files"
                " where space = %s and owner = current_user and machine = %s",
                [team.space, machine],
            )
        )
        removed += remove_paths(team, machine, [path for path in known if path not in files])
        changed = [file for file in files.values() if known.get(file.path) != file.digest]
        for start in range(0, len(changed), FILES_AT_ONCE):
            batch = changed[start : start + FILES_AT_ONCE]
            team.restart_clock()
            push_files(team, index, machine, batch)
            if progress:
                progress(start + len(batch), len(changed))
    return PushResult(team.name, len(changed), removed, len(files))


def withdraw(workspace: Workspace) -> int:
    """Delete forgotten and purged memories from the server. Return the number of deleted rows.

    Raises UnavailableError.
    """
    if not find_space(workspace):
        return 0
    index = open_index(workspace)
    if not index.has_forgotten() and not workspace.read_purged_ids():
        return 0
    with open_team(workspace, SEARCH_SECONDS) as team:
        return remove_forgotten(team, index)


def build_machine_name(workspace: Workspace) -> str:
    """Return a name for this workspace on this machine that does not reveal its key."""
    if not workspace.machine.key:
        raise UnavailableError("this machine has no state folder", "set HOME or XDG_STATE_HOME")
    return build_digest(f"team {workspace.machine.key}")[:16]


def find_shared_files(index: Index, role: str) -> dict[str, SharedFile]:
    """Return the memories that the team may read: active, the user's own, and not private.

    Their texts have passed the gate, so secrets are masked.
    """
    owner = str(index.workspace.settings["owner"])
    rows = index.run(
        "select path, files.file, entries.id, text, tags, fields from entries"
        " join files using(file) join texts using(file) where status = 'active'"
        " and owner in ('', ?, ?) and not exists"
        " (select 1 from problems where problems.file = files.file"
        " and code in ('unread', 'conflict', 'purged'))",
        (owner, role),
    )
    files = {}
    for path, file, entry_id, text, tags, fields in rows:
        if len(text) <= LARGEST and not is_private(tags, fields):
            digest = build_digest(f"{entry_id} {text}")
            files[path] = SharedFile(path, file, clean_text(entry_id), digest)
    paths = list(files)
    # The name of a file is not masked, so the file stays here.
    names = "\n".join(path.replace("\n", " ") for path in paths)
    for problem in find_secret_problems(index.workspace, names):
        files.pop(paths[problem.line - 1], None)
    return files


def is_private(tags: str, fields: str) -> bool:
    """Return whether the tags or properties of a memory, as JSON, say that it is private."""
    if PRIVATE not in f"{tags}{fields}".lower():
        return False
    names = {str(tag).lower() for tag in json.loads(tags)}
    properties = {name.lower(): value for name, value in json.loads(fields).items()}
    return PRIVATE in names or bool(properties.get(PRIVATE))


def clean_text(text: str) -> str:
    """Return a text without characters that PostgreSQL refuses. YAML can spell them as escapes."""
    return replace_surrogates(text.replace("\x00", " "))


def remove_forgotten(team: Team, index: Index) -> int:
    """Delete the user's rows of forgotten and purged memories, whichever machine pushed them."""
    forgotten = index.run("select id from entries where status = 'forgotten'").fetchall()
    purged = sorted(index.workspace.read_purged_ids())
    team.run(
        "insert into purged(space, id) select %s, id from unnest(%s::text[]) as id"
        " on conflict do nothing",
        [team.space, purged],
    )
    rows = team.run(
        "delete from files where space = %s and owner = current_user and (id = any(%s)"
        " or id in (select id from purged where space = %s and owner = current_user)) returning 1",
        [team.space, [entry_id for (entry_id,) in forgotten], team.space],
    )
    return len(rows)


def remove_paths(team: Team, machine: str, paths: Sequence[str]) -> int:
    if not paths:
        return 0
    rows = team.run(
        "delete from files where space = %s and owner = current_user and machine = %s"
        " and path = any(%s) returning 1",
        [team.space, machine, list(paths)],
    )
    return len(rows)


def push_files(team: Team, index: Index, machine: str, files: Sequence[SharedFile]) -> None:
    """Write files with their chunks in one transaction."""
    by_number = {file.file: file for file in files}
    among = ", ".join(map(str, by_number))
    texts = dict(index.run(f"select file, text from texts where file in ({among})").fetchall())
    chunks = list(build_chunk_rows(index, by_number))
    place = (team.space, machine)
    with team.connection.transaction(), team.connection.cursor() as cursor:
        cursor.executemany(
            "insert into files(space, machine, path, id, digest, body)"
            " values (%s, %s, %s, %s, %s, %s) on conflict (space, owner, machine, path)"
            " do update set id = excluded.id, digest = excluded.digest, body = excluded.body",
            [(*place, file.path, file.id, file.digest, texts[file.file]) for file in files],
        )
        cursor.execute(
            "delete from chunks where space = %s and owner = current_user and machine = %s"
            " and path = any(%s)",
            [*place, [file.path for file in files]],
        )
        cursor.executemany(
            "insert into chunks(space, machine, path, number, at, labels, words, hash, vector)"
            " values (%s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), %s, %s::halfvec)",
            [(*place, *row) for row in chunks],
        )


def build_chunk_rows(index: Index, files: Mapping[int, SharedFile]) -> Iterator[tuple[Any, ...]]:
    """Yield path, number, time, labels, words, hash and vector of each chunk of some files."""
    among = ", ".join(map(str, files))
    rows = index.run(
        "select chunk, file, timestamp, hash, vector, type, tags from chunks join entries"
        f" using(file) where file in ({among}) order by file, chunk"
    ).fetchall()
    words = find_stems(index, [row[0] for row in rows])
    matrix = index.matrix.load()
    numbers: dict[int, int] = defaultdict(int)
    for chunk, file, timestamp, key, vector, type_, tags in rows:
        labels = build_labels(type_, json.loads(tags))
        number = numbers[file]
        numbers[file] += 1
        # The vectors can be shorter than the tables: their file may be damaged or deleted.
        has_vector = vector is not None and vector < len(matrix)
        text = format_vector(matrix[vector]) if has_vector else None
        yield files[file].path, number, timestamp, labels, words[chunk], key, text


def build_labels(type_: str, tags: Sequence[str]) -> list[str]:
    """Return the labels by which filters find a memory. `work` also finds the tag `work/shop`."""
    labels = {f"type:{type_}"}
    for tag in tags:
        parts = clean_text(tag).casefold().split("/")
        labels.update(f"tag:{'/'.join(parts[:length])}" for length in range(1, len(parts) + 1))
    return sorted(labels)


def find_stems(index: Index, chunks: Sequence[int]) -> dict[int, list[str]]:
    """Return the stems of each chunk as the index of this machine has them."""
    stems: dict[int, list[str]] = defaultdict(list)
    # The vocabulary of the whole index is sorted by word, so it would be read from start to end.
    index.run(f'create virtual table temp.pushed using fts5(title, body, tokenize="{TOKENIZER}")')
    index.run("create virtual table temp.pushed_stems using fts5vocab(temp, pushed, instance)")
    try:
        index.run(
            "insert into temp.pushed(rowid, title, body) select rowid, title, body from words"
            f" where rowid in ({', '.join(map(str, chunks))})"
        )
        for stem, chunk in index.run("select distinct term, doc from temp.pushed_stems"):
            stems[chunk].append(stem[:LONGEST_WORD])
    finally:
        index.run("drop table temp.pushed_stems")
        index.run("drop table temp.pushed")
    return stems


def format_vector(vector: "np.ndarray") -> str:
    """Return a vector as pgvector reads it."""
    # Five digits, because halfvec stores fewer.
    return f"[{','.join(f'{number:.5g}' for number in vector.tolist())}]"
