"""The data files are TOML, and are read as any reader of TOML reads them."""

import tomllib
from pathlib import Path

import pytest

from memcli import data

FILES = sorted(file.name for file in Path(data.__file__).parent.glob("*.toml"))


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_what_a_toml_parser_finds_in_it(name: str) -> None:
    assert data.table(name) == tomllib.loads(data.path(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_no_pattern_names_a_part_that_there_is_not(name: str) -> None:
    for key, value in data.table(name).items():
        if isinstance(value, str) and "(" in value:
            assert data.pattern(name, key)
