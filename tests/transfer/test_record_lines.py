"""Lines of JSON, however the file is broken."""

import io

import pytest

from memcli.transfer import foreign_memories as module
from memcli.transfer.foreign_memories import record_lines


def read(data: bytes) -> list[tuple[int, object]]:
    return [
        (line.number, line.record if line.record is not None else line.fault) for line in record_lines(io.BytesIO(data))
    ]


def test_lines_are_numbered_and_blank_ones_passed_over() -> None:
    assert read(b'\xef\xbb\xbf{"a": 1}\r\n\n  \n{"b": "\xc3\xa9"}') == [(1, {"a": 1}), (4, {"b": "é"})]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b'{"a": 1\n', "not JSON"),
        (b"hello\n", "not JSON"),
        (b"[1]\n", "no object"),
        (b"7\n", "no object"),
        (b'{"a": "\xff"}\n', "not UTF-8"),
        (b"[" * 100_000 + b"\n", "not JSON that can be read"),
        (b'{"path": "a.md", "te', "cut off"),
    ],
)
def test_a_broken_line_is_told_and_the_next_one_read(data: bytes, fault: str) -> None:
    ((number, said),) = read(data)
    assert number == 1
    assert fault in str(said)
    if data.endswith(b"\n"):
        assert read(data + b'{"a": 1}')[1:] == [(2, {"a": 1})]


def test_a_line_that_is_too_long_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 100)
    long = b'{"a": "' + b"x" * 500 + b'"}\n'
    found = read(b'{"a": 1}\n' + long + b'{"a": 2}\n' + long.rstrip())
    assert [number for number, _ in found] == [1, 2, 3, 4]
    assert [said for _, said in found][::2] == [{"a": 1}, {"a": 2}]
    assert "longer than" in str(found[1][1])
    assert "longer than" in str(found[3][1])


def test_a_line_as_long_as_allowed_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"a": "' + b"x" * 90 + b'"}'
    monkeypatch.setattr(module, "LONGEST", len(line))
    assert read(line + b"\n" + line) == [(1, {"a": "x" * 90}), (2, {"a": "x" * 90})]
