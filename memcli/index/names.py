"""Which entries and records a name may mean: ids, parts of ids, and the paths they lie at."""

from .filters import bindable
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


def records(index: Index, identifier: str) -> list[tuple[str, str]]:
    """Find history records by the beginning of their id: (anchor, path)."""
    return index.connection.execute(
        "select distinct anchor, path from chunks join files using(file)"
        " where chunks.kind = 'history' and substr(anchor, 1, ?) = ?",
        (len(identifier), bindable(identifier)),
    ).fetchall()


def ids(index: Index) -> dict[str, str]:
    """Give the path of every entry's id; of one that two files have, the first."""
    return dict(
        index.connection.execute("select id, path from entries join files using(file) order by path desc").fetchall()
    )


def types(index: Index) -> list[str]:
    """List the types of the entries there are."""
    index.refresh()
    return [row[0] for row in index.connection.execute("select distinct type from entries")]
