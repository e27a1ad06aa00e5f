"""Settings are shown and changed without spoiling the file they stand in, or the workspace."""

from pathlib import Path

import pytest

from tests.conftest import Mem


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"# mine\r\nsearch:\r\n  limit: 5  # few\r\n", b"# mine\r\nsearch:\r\n  limit: 7  # few\r\n"),
        (b"\xef\xbb\xbf# mine\nsearch:\n  limit: 5\n", b"\xef\xbb\xbf# mine\nsearch:\n  limit: 7\n"),
        (b"# only a comment", b"# only a comment\nsearch:\n  limit: 7\n"),
        (b"", b"search:\n  limit: 7\n"),
    ],
)
def test_line_ends_and_the_byte_order_mark_of_a_settings_file_stay(
    mem: Mem, workspace: Path, before: bytes, after: bytes
) -> None:
    (workspace / "mem.yaml").write_bytes(before)
    assert mem("config", "set", "search.limit", "7").code == 0
    assert (workspace / "mem.yaml").read_bytes() == after


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("paths.entries", "../elsewhere", "leads out of the workspace"),
        ("timezone", "Mars/Olympus", "no time zone"),
        ("search.kinds", "entry,nonsense", "is one of entry, memory"),
    ],
)
def test_a_value_no_command_could_work_with_is_not_written(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.delenv("MEM_TIMEZONE")
    before = (workspace / "mem.yaml").read_bytes()
    ran = mem("config", "set", name, value)
    assert (ran.code, words in ran.err) == (2, True)
    assert (workspace / "mem.yaml").read_bytes() == before


@pytest.mark.parametrize("group", ["config", "session", "history", "hook"])
def test_a_group_of_commands_alone_shows_its_help(mem: Mem, group: str) -> None:
    ran = mem(group)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: mem {group} ")


def test_settings_that_are_not_utf8_are_named_with_their_line(mem: Mem, workspace: Path) -> None:
    (workspace / "mem.yaml").write_bytes(b"# fine\nlayout: \xff\n")
    ran = mem("ls")
    assert (ran.code, "mem.yaml:2: not UTF-8 (byte 0xff)" in ran.err) == (2, True)
