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


KEY = "sk-ant-api03-" + "Zk3vQ9xW7bT1mN5cR8yL2pD6fH4jS0aG" * 2


def test_a_key_is_not_shown_when_it_is_set_or_listed(mem: Mem, workspace: Path) -> None:
    for words in (("set", "llm.api_key", KEY), ("set", "llm.api_key", KEY, "--json"), ("list",), ("list", "--json")):
        ran = mem("config", *words)
        assert ran.code == 0
        assert KEY not in ran.out + ran.err
    assert mem("config", "get", "llm.api_key").out == f"{KEY}\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("decay.tags", "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"),
        ("paths.entries", f"docs/{KEY}"),
        ("index.include", "../docs,https://ann:Xk29vQ8wLm3P@example.org/x"),
        ("write.type", KEY),
        ("llm.command", f"curl -H 'Authorization: Bearer {KEY}'"),
    ],
)
def test_a_setting_that_is_no_place_for_a_secret_takes_none(mem: Mem, workspace: Path, name: str, value: str) -> None:
    before = (workspace / "mem.yaml").read_bytes()
    ran = mem("config", "set", name, value)
    assert ran.code == 5
    assert value not in ran.out + ran.err
    assert (workspace / "mem.yaml").read_bytes() == before


def test_a_command_that_is_not_there_is_said_when_it_is_set(mem: Mem, workspace: Path) -> None:
    ran = mem("config", "set", "llm.command", "no-such-agent --print")
    assert (ran.code, "'no-such-agent' is not on the PATH" in ran.err) == (0, True)
    assert mem("config", "set", "llm.command", "cat -").err == ""


@pytest.mark.parametrize("empty", ["", " ", "\t", '""', "''"])
def test_an_empty_llm_command_means_none(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, empty: str
) -> None:
    def consolidated(session: str) -> tuple[int, str]:
        assert mem("session", "append", "--session", session, "--text", "I prefer tabs over spaces.").code == 0
        ran = mem("consolidate", session, "--json")
        return ran.code, ran.json["sessions"][0]["how"]

    assert mem("config", "set", "llm.command", empty).code == 0
    assert consolidated("by-file") == (0, "rules")
    assert mem("config", "set", "llm.command", "false").code == 0
    assert consolidated("by-command") == (7, "fallback")
    monkeypatch.setenv("MEM_LLM_COMMAND", empty)
    assert consolidated("by-variable") == (0, "rules")
    assert mem("config", "get", "llm.command").out.strip() == ""
