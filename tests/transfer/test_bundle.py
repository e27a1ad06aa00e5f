"""A file as one line of JSON and back."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.transfer.export import BundledFile, packed, unpacked
from tests.tables import cases

PARTS = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20).filter(
    lambda part: not part.startswith(".")
)
PATHS = st.lists(PARTS, min_size=1, max_size=4).map("/".join)


@given(PATHS, st.binary(max_size=300), st.integers(0, 0o777))
def test_every_byte_comes_back(path: str, data: bytes, mode: int) -> None:
    line = packed(BundledFile(path, "entry", data, mode, "2026-11-21T20:15:03Z", {"tags": ["a"]}))
    assert "\n" not in line
    back = unpacked(json.loads(line))
    assert (back.path, back.kind, back.data, back.modified) == (path, "entry", data, "2026-11-21T20:15:03Z")
    assert back.mode == mode or {back.mode, mode} == {0o644, 0o664}


@given(st.text())
def test_text_is_readable_text(text: str) -> None:
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return
    record = json.loads(packed(BundledFile("a.md", "note", data)))
    assert record["text"] == text


def test_what_is_no_text_is_base64() -> None:
    assert json.loads(packed(BundledFile("a.md", "note", b"\xff\xfe")))["base64"] == "//4="


def test_a_file_of_control_characters_does_not_swell_sixfold() -> None:
    data = b"\x01" * 100_000
    assert len(packed(BundledFile("a.md", "note", data))) < 2 * len(data)


def test_what_an_entry_says_cannot_pose_as_its_place() -> None:
    record = json.loads(packed(BundledFile("a.md", "entry", b"x", said={"path": "../b", "text": "y", "type": "fact"})))
    assert (record["path"], record["text"], record["type"]) == ("a.md", "x", "fact")


@cases("line", "words")
def test_a_wrong_line_says_what_is_wrong(line: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        unpacked(line)


def test_a_mode_grants_nothing_but_access() -> None:
    assert unpacked({"path": "a.md", "text": "", "mode": "4755"}).mode == 0o755
