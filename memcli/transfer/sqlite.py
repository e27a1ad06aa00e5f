"""SQLite databases of claude-mem and zerg. A database is only read, and as untrusted data."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from .items import BadItem, Item, Source
from .records import Place, build_items

MARK = b"SQLite format 3\0"
LARGEST_VALUE = 32 * 1024 * 1024  # bytes
# The tables with memories, and the columns that recognize them.
TABLES = {
    "observations": {"project", "type", "created_at"},
    "session_summaries": {"project", "request", "learned"},
    "memory_files": {"path", "content", "owner_id"},
}


def read_sqlite(source: Source) -> Iterator[Item] | None:
    """Read the observations and summaries of claude-mem, or the memory files of zerg."""
    if not source.head.startswith(MARK) or source.stream is not None:
        return None
    try:
        with closing(open_database(source.path)) as database:
            tables = find_tables(database)
    except (sqlite3.Error, UnicodeDecodeError):  # the latter for the name of a column
        return None
    return build_items(read_rows(source.path, tables), source) if tables else None


def open_database(path: Path) -> sqlite3.Connection:
    """Open a database so that nothing in it is changed or run."""
    address = f"file:{quote(str(path))}?mode=ro"
    # Without write access to its folder, a database with a write-ahead log opens only this way.
    for more in ("", "&immutable=1"):
        database = sqlite3.connect(address + more, uri=True, timeout=5)
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        database.row_factory = sqlite3.Row
        try:
            database.execute("pragma trusted_schema = off")
            database.execute("select count(*) from sqlite_master").fetchone()
            return database
        except sqlite3.OperationalError:
            database.close()
    raise sqlite3.OperationalError("cannot be opened")


def find_tables(database: sqlite3.Connection) -> list[str]:
    """Return the tables with memories. A view of that name could hide anything."""
    rows = database.execute("select name, sql from sqlite_master where type = 'table'")
    plain = {row["name"] for row in rows if "virtual" not in str(row["sql"]).lower().split()}
    tables = []
    for table, wanted in TABLES.items():
        if table in plain:
            columns = {row["name"] for row in database.execute(f"pragma table_info({table})")}
            tables += [table] if wanted <= columns else []
    return tables


def read_rows(path: Path, tables: list[str]) -> Iterator[Place]:
    with closing(open_database(path)) as database:
        for table in tables:
            number = 0
            try:
                for row in database.execute(f"select * from {table} order by rowid"):
                    number += 1
                    cells = zip(row.keys(), row, strict=True)
                    texts = {name: cell for name, cell in cells if not isinstance(cell, bytes)}
                    yield f"{table} {number}", texts
            except (sqlite3.Error, UnicodeDecodeError) as error:
                yield f"{table} {number + 1}", BadItem(f"the database is damaged: {error}")
