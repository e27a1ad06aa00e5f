"""What the index knows of entries that a new text is compared with, and of what took the place of what."""

from collections.abc import Collection

from .index import Index


def paths_of_chunks(index: Index, chunks: Collection[int] | None = None) -> dict[int, str]:
    """Return the paths of the workspace's own files that chunks belong to; with None those of every chunk."""
    where = "" if chunks is None else f" where chunk in ({', '.join(map(str, chunks))})"
    rows = index.connection.execute(f"select chunk, path from chunks join files using(file){where}")
    return {chunk: path for chunk, path in rows if chunks is None or index.workspace.layout.owns(path)}


def entries_holding(index: Index, text: str) -> list[str]:
    """Return the paths of active entries whose file holds a text as it stands."""
    rows = index.connection.execute(
        "select path from texts join files using(file)"
        " where kind = 'entry' and status = 'active' and length(text) >= ? and instr(text, ?) > 0",
        (len(text), text),
    )
    return [path for (path,) in rows if index.workspace.layout.owns(path)]


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


def superseded_by_entry(index: Index, path: str) -> list[str]:
    """Return the ids that the entry at a path took the place of, and that are out of use for that alone."""
    index.refresh()
    rows = index.connection.execute(
        "select id from entries join files using(file) where files.status = 'superseded' and superseded_by ="
        " (select entries.id from entries join files using(file) where path = ?) order by id",
        (path,),
    )
    return [identifier for (identifier,) in rows]


def supersession_rows(index: Index) -> list[tuple[str, str, str, str, str, str]]:
    """Return id, path, creation, status, successor and summary of every entry."""
    index.refresh()
    return index.connection.execute(
        "select id, path, entries.created_at, files.status, superseded_by, summary"
        " from entries join files using(file) order by path desc"
    ).fetchall()
