"""The contents of an index, to compare an updated one with a new one."""

from memcli.index.database import open_database
from memcli.index.index import Index
from memcli.store.workspace import Workspace

TABLES = {
    "files": "select path, kind, digest, masked, hidden from files order by path",
    "texts": "select path, text from texts join files using(file) order by path",
    "entries": "select path, id, title, status, summary, updated_at, fields from entries"
    " join files using(file) order by path",
    "names": "select name, path from names join files using(file) order by name, path",
    "chunks": "select path, chunks.kind, active, anchor, line, start, stop, title, prefix, timestamp, hash"
    " from chunks join files using(file) order by path, start, chunk",
    "words": "select path, term, col, count(*) from counts join chunks on doc = chunk"
    " join files using(file) group by path, term, col order by path, term, col",
    "problems": "select path, line, reason from problems order by path, line, reason",
}


def read_tables(index: Index) -> dict[str, list[tuple[object, ...]]]:
    return {name: index.run(query).fetchall() for name, query in TABLES.items()}


def assert_like_new(workspace: Workspace, index: Index) -> None:
    """Check that an index contains what one made now from the same files contains."""
    new = Index(workspace, open_database(None))
    new.refresh()
    for name, rows in read_tables(new).items():
        assert read_tables(index)[name] == rows, name
    assert (
        index.run("select count(*) from words").fetchone()
        == index.run("select count(*) from chunks").fetchone()
    )
    index.run("insert into words(words) values('integrity-check')")
