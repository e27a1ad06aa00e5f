"""Pairs of memories that a person should decide about, and pairs that a person found to differ."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..formats.entry import read_entry, read_list
from ..formats.frontmatter import parse
from ..index.index import Index, IndexedEntry
from ..store.commit import read_file
from ..store.workspace import Workspace
from .numbers import find_number_pairs, find_numbers
from .similar import embed_missing_entries, load_pool

Pair = tuple[IndexedEntry, IndexedEntry]
"""Two memories, the older first."""

# Of 195 hand-written repeats 94 are that close, and of 317 statements of other things 25.
DUPLICATE_COSINE = 0.85
MOST_DUPLICATES = 50
BLOCK = 512  # rows compared at a time
# The key below `metadata` with the ids that a person found to be no duplicate of a memory.
DISTINCT = "distinct_from"


def find_conflicts(index: Index) -> Iterable[Pair]:
    """Yield the active memories that disagree with a memory that is trusted more."""
    for entry in index.list_entries("status = 'active' and conflicts_with <> '[]'"):
        for other_id in entry.conflicts_with:
            other = index.find_by_id(other_id)
            if other is not None and other.status == "active" and other.id != entry.id:
                yield order_pair(entry, other)


def find_contradictions(index: Index) -> Iterable[Pair]:
    """Yield the active memories with different numbers for the same thing."""
    for first, second in find_number_pairs(index):
        entries = [index.list_entries("path = ?", (path,))[0] for path in (first, second)]
        pair = order_pair(*entries)
        if not is_distinct(index, pair):
            yield pair


def find_outdated_ids(index: Index) -> set[str]:
    """Return the ids of the memories that a later one with another number may have outdated."""
    return {older.id for older, _ in find_contradictions(index)}


def find_duplicates(index: Index) -> list[Pair]:
    """Return the active memories that may say the same, the closest first."""
    import numpy as np

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
        first, second = (index.list_entries("file = ?", (file,))[0] for file in files)
        pair = order_pair(first, second)
        if len(pairs) < MOST_DUPLICATES and is_likely_duplicate(index, pair):
            pairs.append(pair)
    return pairs


def is_likely_duplicate(index: Index, pair: Pair) -> bool:
    first, second = pair
    has_same_slot = (first.owner, first.project) == (second.owner, second.project)
    # 6 pm and 9 pm are close in meaning.
    has_same_numbers = find_numbers(first.summary) == find_numbers(second.summary)
    is_managed = all(index.workspace.is_managed(entry.path) for entry in pair)
    return has_same_slot and has_same_numbers and is_managed and not is_distinct(index, pair)


def order_pair(first: IndexedEntry, second: IndexedEntry) -> Pair:
    if (second.updated_at, second.id) < (first.updated_at, first.id):
        return second, first
    return first, second


def is_distinct(index: Index, pair: Pair) -> bool:
    """Return whether a person found that two memories say different things."""
    for entry, other in (pair, pair[::-1]):
        row = index.run(
            "select fields from entries join files using(file) where path = ?", (entry.path,)
        ).fetchone()
        if row and other.id in read_distinct_ids(json.loads(row[0]).get("metadata")):
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
