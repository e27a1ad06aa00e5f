"""Tables as data: the JSON file beside a module of tests has the rows of each test by its name, and long constants."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

Test = Callable[..., None]


def cases(*names: str) -> Callable[[Test], Test]:
    """Return a decorator that runs a test with each row of its table; a row has a value for each name."""

    def decorate(test: Test) -> Test:
        rows = _tables(Path(test.__code__.co_filename).with_suffix(".json"))[test.__name__]
        return pytest.mark.parametrize(names[0] if len(names) == 1 else names, rows)(test)

    return decorate


def table(module: str, name: str) -> Any:
    """Return what the JSON file beside a module holds under a name."""
    return _tables(Path(module).with_suffix(".json"))[name]


@cache
def _tables(path: Path) -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return tables
