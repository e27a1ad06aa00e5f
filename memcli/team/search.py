"""Search the memories that colleagues pushed to the team's server.

The server chooses candidates by meaning and by words. Their texts pass the gate of this machine
into an index in memory, which the usual search then ranks. So a memory of a colleague has the
relevance that it would have here, and a text that you forgot or purged stays hidden.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UnavailableError
from ..formats import build_digest
from ..index import (
    Filter,
    Index,
    ParsedFile,
    delete_file,
    find_spellings,
    get_index,
    open_database,
    read_entry_file,
    split_query,
    store_file,
)
from ..search.ranking import stem_word
from ..search.search import SearchOptions, SearchResult, search_workspace
from ..store import Workspace
from .connection import SEARCH_SECONDS, Team, find_space, open_team
from .push import build_labels, format_vector

if TYPE_CHECKING:
    import numpy as np

CANDIDATES = 40  # memories of each kind: by meaning, and by words
# This machine applies filters that the server lacks, and they can remove most candidates.
FILTERED_CANDIDATES = 400
MOST_TERMS = 16
MARGIN = 3  # candidates for each wanted hit
LATEST = "9999"

MEANING = (
    "select owner, machine, path from chunks where {where} and vector is not null"
    " order by vector <=> %s::halfvec limit %s"
)
# Each word counts by its rarity. How often a text contains it matters only in the final ranking.
# Unless both parts are materialized, the planner expects one row and counts again for each.
WORDS = (
    "with matches as materialized (select owner, machine, path, {matches} from chunks"
    " where {where} and words @@ %s::tsquery),"
    " counts as materialized (select {counts} from matches)"
    " select owner, machine, path, {numbers} from matches, counts order by {score} desc limit %s"
)
SIZE = "select count(*) from chunks where space = %s"
# `offset 0` keeps the planner, which cannot see the number of rows, from joining whole tables.
DETAILS = (
    "select key.owner, key.path, id, body, hashes, vectors"
    " from unnest(%s::text[], %s::text[], %s::text[]) as key(owner, machine, path)"
    " cross join lateral (select id, body from files where space = %s and owner = key.owner"
    " and machine = key.machine and path = key.path offset 0) as file"
    " cross join lateral (select array_agg(hash) as hashes, array_agg(vector::text) as vectors"
    " from chunks where space = %s and owner = key.owner and machine = key.machine"
    " and path = key.path and vector is not null offset 0) as chunk"
)
# As in the index here: an id, or at least its last six characters.
NAMED = (
    "select owner, machine, path from files where space = %s and owner <> current_user"
    " and (id = %s or (length(%s) > 5 and right(id, length(%s)) = %s)) limit 20"
)

Key = tuple[str, str, str]
"""Owner, machine and path of a memory on the server."""


class Candidates(NamedTuple):
    """The memories that may answer a query, and the numbers of the space that ranking needs."""

    keys: Sequence[Key]
    texts: int = 0  # in the space
    frequencies: Mapping[str, int] = {}  # in how many texts each word of the query is


def search_team(workspace: Workspace, query: str, options: SearchOptions) -> SearchResult:
    """Return the hits of colleagues. Without the server, a message says why there are none."""
    if not find_space(workspace) or not can_match(options.wanted):
        return SearchResult()
    vector = None
    try:
        if options.mode != "keyword":
            vector = get_index(workspace).get_embedder().embed([query])[0]
    except UnavailableError:
        pass  # the search of the files has reported it
    try:
        with open_team(workspace, SEARCH_SECONDS) as team:
            candidates = find_candidates(team, query, vector, options)
            index, places = build_index(workspace, team, candidates)
    except UnavailableError as error:
        return SearchResult(messages=[f"the team's server was not searched: {error.message}"])
    result = search_workspace(index, query, options)
    for hit in result.hits:
        hit.owner, hit.path = places[hit.path]
        hit.workspace = f"team {team.name}"
    return result


def can_match(wanted: Filter) -> bool:
    """Return whether a filter lets active entries pass. Nothing else is on the server."""
    is_kind = not wanted.kinds or "entry" in wanted.kinds
    is_status = not wanted.statuses or "active" in wanted.statuses
    return is_kind and is_status and not wanted.path


def find_candidates(
    team: Team, query: str, vector: "np.ndarray | None", options: SearchOptions
) -> Candidates:
    """Return the best memories on the server, by meaning and by words."""
    where, values = build_condition(team, options.wanted)
    limit = max(CANDIDATES, MARGIN * options.limit)
    if options.wanted.conditions or options.wanted.project:
        limit = max(limit, FILTERED_CANDIDATES)
    keys: dict[Key, None] = {}
    if vector is not None:
        statement = MEANING.format(where=where)
        rows = team.run(statement, [*values, format_vector(vector), limit])
        keys.update(dict.fromkeys(row[:3] for row in rows))
    words = list(split_query(query))[:MOST_TERMS]
    if options.mode == "vector" or not words:
        return Candidates(list(keys))
    texts = team.run(SIZE, [team.space])[0][0]
    patterns = [build_pattern(word) for word in words]
    numbers = range(len(words))
    statement = WORDS.format(
        where=where,
        matches=", ".join(f"words @@ %s::tsquery as t{number}" for number in numbers),
        counts=", ".join(f"count(*) filter (where t{number}) as n{number}" for number in numbers),
        numbers=", ".join(f"n{number}" for number in numbers),
        score=" + ".join(f"t{number}::int * ln(%s / (n{number} + 6.0))" for number in numbers),
    )
    # With 6, the rarity of a word is nearly that of the final ranking (search/ranking.py).
    size = [float(texts + 3000)] * len(words)
    rows = team.run(statement, [*patterns, *values, " | ".join(patterns), *size, limit])
    keys.update(dict.fromkeys(row[:3] for row in rows))
    frequencies = dict(zip(words, rows[0][3:], strict=True)) if rows else {}
    return Candidates(list(keys), texts, frequencies)


def build_condition(team: Team, wanted: Filter) -> tuple[str, list[Any]]:
    """Return an SQL condition on `chunks` for the part of a filter that the server knows."""
    # This search is for the memories of colleagues. Your own ones are in your files.
    clauses = ["space = %s", "owner <> current_user"]
    values: list[Any] = [team.space]
    if wanted.types:
        clauses.append("labels && %s::text[]")
        values.append([label for type_ in wanted.types for label in build_labels(type_, ())])
    for tag in wanted.tags:
        clauses.append("%s = any(labels)")
        values.append(f"tag:{tag.lstrip('#').casefold()}")
    if wanted.since or wanted.until:
        clauses.append("at between %s and %s")
        values += [wanted.since, wanted.until or LATEST]
    return " and ".join(clauses), values


def build_pattern(word: str) -> str:
    """Return a word in each of its spellings as a tsquery."""
    stems = {stem_word(spelling) for spelling in find_spellings(word)}
    quoted = [stem.replace("\\", "\\\\").replace("'", "''") for stem in sorted(stems)]
    return " | ".join(f"'{stem}'" for stem in quoted)


def open_named(workspace: Workspace, name: str) -> Index | None:
    """Return an index with the memories of colleagues whose id is or ends in a name.

    Raises UnavailableError.
    """
    if not find_space(workspace):
        return None
    try:
        with open_team(workspace, SEARCH_SECONDS) as team:
            keys = team.run(NAMED, [team.space, name, name, name, name])
            index, _ = build_index(workspace, team, Candidates(keys))
    except UnavailableError as error:
        raise UnavailableError(f"the team's server: {error.message}", error.hint) from None
    return index if index.list_entries() else None


def build_index(
    workspace: Workspace, team: Team, candidates: Candidates
) -> tuple[Index, dict[str, tuple[str, str]]]:
    """Return an index in memory with the candidates that this machine does not have itself.

    Also returns the owner and the owner's path for each path in the index.
    """
    own = get_index(workspace)
    forgotten = own.load_forgotten()
    # Nobody else's text counts as the user's word, whatever its frontmatter claims.
    machine = replace(workspace.machine, is_trusted=False)
    reader = replace(workspace, machine=machine, resources=dict(workspace.resources))
    index = Index(reader, open_database(None))
    index.texts_elsewhere, index.frequencies = candidates.texts, candidates.frequencies
    owners, machines, paths = zip(*candidates.keys, strict=True) if candidates.keys else ((),) * 3
    rows = team.run(DETAILS, [list(owners), list(machines), list(paths), team.space, team.space])
    add_vectors(index, rows)
    ids = set()
    places = {}
    with index.database.write():
        for owner, path, entry_id, body, _, _ in rows:
            # An owner with two machines has pushed the same memory twice.
            if (owner, entry_id) in ids:
                continue
            ids.add((owner, entry_id))
            name = f"{owner}/{path}"
            places[name] = (owner, path)
            # Zeros, because there is no file here.
            parsed = ParsedFile(name, "entry", (0, 0, 0, 0), build_digest(body))
            read_entry_file(reader, parsed, body, forgotten)
            store_file(index.database, parsed, 0)
    remove_known(index, own)
    return index, places


def add_vectors(index: Index, rows: Sequence[tuple[Any, ...]]) -> None:
    """Store the vectors of the rows, which the chunks then find by the digest of their text."""
    import numpy as np

    vectors: dict[bytes, str] = {}
    for row in rows:
        vectors.update(zip(row[4] or (), row[5] or (), strict=True))
    if vectors:
        matrix = np.array([text[1:-1].split(",") for text in vectors.values()], np.float32)
        index.matrix.append(range(len(vectors)), list(vectors), matrix)


def remove_known(index: Index, own: Index) -> None:
    """Remove memories that this machine has too, in any state, because its own file decides."""
    rows = index.run("select file, id, same_words from entries").fetchall()
    for file, entry_id, digest in rows:
        known = own.run(
            "select 1 from entries where id = ? or same_words = ?", (entry_id, digest)
        ).fetchone()
        if known:
            delete_file(index.database, file)
