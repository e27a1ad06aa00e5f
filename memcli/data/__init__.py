"""Word tables, patterns and trained models, kept as files and read when they are first used."""

from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def path(name: str) -> Path:
    """Return the path of a data file."""
    return _FOLDER / name


@cache
def table(name: str) -> dict[str, Any]:
    """Return the content of a TOML file; it is read once in a process."""
    import tomllib

    return tomllib.loads(path(name).read_text(encoding="utf-8"))
