"""Paths left out are those git would leave out with the same patterns."""

import pytest

from memcli.formats.ignore_patterns import ignored
from tests.tables import cases

LEFT_OUT = [
    ("*.key", "deploy.key"),
    ("*.key", "keys/old/deploy.key"),
    (".env", "app/.env"),
    ("/.env", ".env"),
    ("secrets/", "secrets/a.md"),
    ("secrets/", "notes/secrets/deep/a.md"),
    ("secrets/", "secrets/"),
    ("notes/private", "notes/private/a.md"),
    ("/notes/*.md", "notes/a.md"),
    ("**/private", "a/b/private"),
    ("**/private", "private"),
    ("private/**", "private/a/b.md"),
    ("a/**/z.md", "a/z.md"),
    ("a/**/z.md", "a/b/c/z.md"),
    ("a/*/z.md", "a/b/z.md"),
    ("file?.md", "file1.md"),
    ("file[0-9].md", "file7.md"),
    ("file[!0-9].md", "filex.md"),
    ("file[^0-9].md", "filex.md"),
    ("[[:upper:]]*.md", "README.md"),
    ("[]x]", "]"),
    ("\\#draft", "#draft"),
    ("\\!draft", "!draft"),
    ("two words", "two words"),
    ("tail\\ ", "tail "),
    ("tail   ", "tail"),
    ("*.md\n!keep.md\n/keep.md", "keep.md"),
    ("a/\n!a/keep.md", "a/keep.md"),
    ("\ufeff*.key\r\n*.pem\r\n", "a.key"),
    ("*.key\r\n*.pem", "a.pem"),
    ("*", ".hidden/file"),
    ("**", "anything"),
    ("café*", "café.md"),
    ("./a.md".removeprefix("./"), "./a.md"),
]


@pytest.mark.parametrize(("patterns", "path"), LEFT_OUT)
def test_a_path_is_left_out(patterns: str, path: str) -> None:
    assert ignored(patterns, path)


@cases("patterns", "path")
def test_a_path_is_kept(patterns: str, path: str) -> None:
    assert not ignored(patterns, path)


def test_a_hostile_pattern_comes_to_an_end() -> None:
    assert not ignored("*a" * 200 + "b", "a" * 3000)
    assert not ignored("**/a/" * 100 + "b", "a/" * 500)
