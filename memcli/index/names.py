"""Which entries and records a name may mean: ids, parts of ids, and the paths they lie at."""

from dataclasses import dataclass

from ..text import frontmatter
from .filters import SINCE, UNTIL, bindable
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
    """Give the other names that a file's frontmatter states."""
    if "alias" not in text:
        return []
    fields = frontmatter.parse(text).fields
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
    """Give the path of every entry's id; of one that two files have, the first."""
    return dict(
        index.connection.execute("select id, path from entries join files using(file) order by path desc").fetchall()
    )


def types(index: Index) -> list[str]:
    """List the types of the entries there are."""
    index.refresh()
    return [row[0] for row in index.connection.execute("select distinct type from entries")]
