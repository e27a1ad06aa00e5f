"""Settings are written and read; memory that is switched off does nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from memcli.api.workspace import surroundings
from memcli.integrations import AGENTS
from tests.conftest import Mem
from tests.tables import cases


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


@cases("name", "value", "words")
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


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(params=["workspace", "user", "environment"])
def off(request: pytest.FixtureRequest, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a workspace with a memory, switched off in one of the three places."""
    (workspace / "MEMORY.md").write_text("The staging port is 8080.\n")
    assert mem("write", "The staging port is 8080.", "--no-dedup").code == 0
    if request.param == "environment":
        monkeypatch.setenv("MEM_MEMORY_ENABLED", "off")
    else:
        assert mem("config", "set", "memory.enabled", "false", *["--user"][: request.param == "user"]).code == 0
    return workspace


@pytest.mark.parametrize("name", AGENTS["claude-code"].events)
def test_a_hook_does_nothing_at_all(mem: Mem, off: Path, name: str) -> None:
    before = files(off)
    told = {"prompt": "Remember this: the port is 9090.", "last_assistant_message": "Done.", "source": "startup"}
    event = {"hook_event_name": name, "session_id": "s", "cwd": str(off.parent), **told}
    assert mem("hook", "run", "claude-code", stdin=json.dumps(event)).out == ""
    assert files(off) == before


@cases("words")
def test_a_command_says_that_memory_is_off_and_how_to_switch_it_on(mem: Mem, off: Path, words: tuple[str, ...]) -> None:
    before = files(off)
    ran = mem(*words, stdin='{"command": "view", "path": "/memories"}')
    assert ran.code == 5
    assert "memory is switched off" in ran.err
    assert "mem config set memory.enabled true" in ran.err
    assert ran.out == ""
    assert files(off) == before


def test_cron_hears_nothing_of_it(mem: Mem, off: Path) -> None:
    ran = mem("tend", "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_the_folder_can_still_be_checked_taken_out_and_switched_on(
    mem: Mem, off: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert mem("check").code == 0
    assert "8080" in mem("export").out
    monkeypatch.delenv("MEM_MEMORY_ENABLED", raising=False)
    assert mem("config", "set", "memory.enabled", "true").code == 0
    assert mem("config", "set", "memory.enabled", "true", "--user").code == 0
    assert "8080" in mem("search", "port").out


def test_a_project_that_is_off_does_not_write_to_the_users_workspace(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    own = tmp_path / "home/.local/share/mem"
    assert mem("init", str(own)).code == 0
    assert mem("config", "set", "memory.enabled", "false").code == 0
    before = files(own)
    assert mem("write", "The port is 9090.").code == 5
    assert files(own) == before
    assert mem("write", "The port is 9090.", "--scope", "user").code == 0


def test_the_users_workspace_alone_may_be_off(mem: Mem, workspace: Path, tmp_path: Path) -> None:
    own = tmp_path / "home/.local/share/mem"
    assert mem("init", str(own)).code == 0
    assert mem("write", "The cat is called Tom.", "--scope", "user").code == 0
    (own / "mem.yaml").write_text("memory.enabled: false\n")
    assert mem("write", "The port is 9090.").code == 0
    assert "Tom" not in mem("search", "cat").out
    assert "9090" in mem("search", "port").out


def test_the_users_settings_are_parsed_once_however_many_workspaces_a_command_opens(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.store import settings

    assert mem("config", "set", "--user", "search.limit", "7").code == 0
    assert mem("note", "Fed the cat.", "--scope", "user").code == 0
    load, parsed = settings.load_mapping, list[str]()

    def counted(text: str) -> Any:
        parsed.append(text)
        return load(text)

    settings._parsed.cache_clear()
    monkeypatch.setattr(settings, "load_mapping", counted)
    assert mem("ls").code == 0
    assert parsed.count(surroundings().config_file.read_text()) == 1
