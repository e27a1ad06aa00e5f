"""What the index held last: nothing is refreshed, created or waited for, and nothing heavy is loaded."""

from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

SHOWN = 50


def ids(derived: Path, beginning: str) -> list[tuple[str, str]]:
    """Return the ids that begin or end with a text, and the summaries of their entries; the latest first."""
    return _rows(
        derived,
        "select id, summary from entries where substr(id, 1, ?1) = ?2 or (?1 > 2 and substr(id, -?1) = ?2)"
        f" order by updated_at desc limit {SHOWN}",
        (len(beginning), beginning),
    )


def keys(derived: Path, beginning: str) -> list[tuple[str, str]]:
    """Return the keys that begin with a text, and the summaries of their entries."""
    return _rows(
        derived,
        "select key, summary from entries where key <> '' and status = 'active' and substr(key, 1, ?) = ?"
        f" order by key limit {SHOWN}",
        (len(beginning), beginning),
    )


def tags(derived: Path, beginning: str) -> list[tuple[str, str]]:
    """Return the tags that begin with a text, the most used first, and how many entries have them."""
    return _rows(
        derived,
        "select value, count(*) || ' entries' from entries, json_each(entries.tags)"
        f" where substr(value, 1, ?) = ? group by value order by count(*) desc limit {SHOWN}",
        (len(beginning), beginning),
    )


def _rows(derived: Path, query: str, values: tuple[int | str, ...]) -> list[Any]:
    import sqlite3

    from .database import FILE

    try:
        with closing(
            sqlite3.connect(f"file:{quote(str(derived / FILE))}?mode=ro", uri=True, timeout=0.1)
        ) as connection:
            return connection.execute(query, values).fetchall()
    except sqlite3.Error:
        return []
