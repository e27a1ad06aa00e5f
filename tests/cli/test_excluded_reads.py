"""What a later ignore file names in stored conversations is found, blanked out when asked, and can be had back."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIXTURES, Mem
from tests.tables import table

SAID = "The quagga gate opens with the word marzipan"
MARK = "[REDACTED:secret-file]"


def talk(number: int, path: str, said: str, **more: Any) -> list[Any]:
    shared = {"call_id": f"c{number}", "timestamp": f"2026-11-20T10:{number // 60:02}:{number % 60:02}Z"}
    return [
        {"type": "tool_call", "role": "assistant", "name": "Read", "args": {"file_path": path}, **shared, **more},
        {"type": "tool_result", "role": "tool", "name": "Read", "content": said, **shared},
    ]


@pytest.fixture
def stored(mem: Mem, workspace: Path, world: Path) -> Path:
    """Give a session whose events are about what is no secret yet: 2 of 42."""
    events = [event for number in range(20) for event in talk(number, f"docs/{number}.md", f"open {number}")]
    events += talk(99, "secrets/prod.yaml", SAID)
    lines = "".join(json.dumps(event) + "\n" for event in events)
    assert mem("session", "append", "-", "--session", "s", stdin=lines).code == 0
    (world / ".secretsignore").write_text("secrets/\n")
    return workspace / "sessions/s/session.jsonl"


def kept(workspace: Path) -> str:
    """Give all that the workspace's files say, but for the notes of undo."""
    files = (path for path in workspace.rglob("*") if path.is_file() and "undo" not in path.parts)
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


def test_it_is_found_blanked_out_and_had_back(mem: Mem, workspace: Path, stored: Path) -> None:
    before = stored.read_bytes()
    ran = mem("check", "--secrets")
    assert ran.code == 1
    assert "sessions/s/session.jsonl:41: a tool read this from a file that is shut out of memory" in ran.out
    assert "sessions/s/session.jsonl:42:" in ran.out
    assert mem("check", "--fix").code == 0, "only --secrets looks at conversations"
    assert stored.read_bytes() == before
    diff = mem("check", "--secrets", "--fix", "--dry-run")
    assert '+{"id"' in diff.out
    assert stored.read_bytes() == before
    ran = mem("check", "--secrets", "--fix")
    assert ran.code == 0, ran
    assert "sessions/s/session.jsonl: 2 events of tools blanked out" in ran.err
    assert "marzipan" not in kept(workspace)
    assert "open 19" in kept(workspace)
    assert stored.read_text().count(MARK) == 2
    assert mem("check", "--secrets").code == 0
    assert mem("session", "show", "s").code == 0
    assert mem("undo").code == 0
    assert stored.read_bytes() == before
    assert mem("check", "--secrets", "--json").json["problems"][0]["fixable"] is True


def test_archived_conversations_are_looked_at_too(mem: Mem, workspace: Path, stored: Path) -> None:
    assert mem("session", "delete", "s").code == 0
    ran = mem("check", "--secrets")
    assert "archive/sessions/s/session.jsonl:42:" in ran.out
    assert mem("check", "--secrets", "--fix").code == 0
    assert "marzipan" not in kept(workspace)


def test_what_one_pattern_names_of_much_that_is_stored_is_left_until_it_is_said(
    mem: Mem, workspace: Path, world: Path, stored: Path
) -> None:
    before = stored.read_bytes()
    (world / ".secretsignore").write_text("secrets/\ndocs/\n")
    ran = mem("check", "--secrets", "--fix")
    assert ran.code == 1
    assert "--max-fraction 1` blanks all of them out" in ran.out
    assert stored.read_bytes() == before
    assert mem("check", "--secrets", "--fix", "--max-fraction", "0.5").code == 1
    assert stored.read_bytes() == before
    assert mem("check", "--secrets", "--fix", "--max-fraction", "1").code == 0
    assert stored.read_text().count(MARK) == 42
    assert mem("undo").code == 0
    assert stored.read_bytes() == before


def test_patterns_of_a_workspace_that_is_not_trusted_blank_out_nothing(mem: Mem, workspace: Path, stored: Path) -> None:
    before = stored.read_bytes()
    assert mem("trust", "--remove").code == 0
    ran = mem("check", "--secrets", "--fix", "--max-fraction", "1")
    assert ran.code == 1
    assert "once the workspace is trusted (`mem trust`)" in ran.out
    assert stored.read_bytes() == before
    assert mem("trust").code == 0
    assert mem("check", "--secrets", "--fix").code == 0
    assert stored.read_bytes() != before


def test_tend_blanks_nothing_out(mem: Mem, stored: Path) -> None:
    before = stored.read_bytes()
    mem("tend")
    assert stored.read_bytes() == before


@pytest.mark.parametrize("share", ["-1", "2", "nan"])
def test_a_share_is_between_nothing_and_all(mem: Mem, stored: Path, share: str) -> None:
    assert mem("check", "--secrets", "--fix", "--max-fraction", share).code == 2
    assert mem("check", "--secrets", "--max-fraction", "0.5").code == 2


def test_the_setting_for_exceptions_counts(mem: Mem, stored: Path) -> None:
    assert mem("config", "set", "secrets.allow", "sessions/s/").code == 0
    assert mem("check", "--secrets").code == 0


def test_a_result_that_another_tool_wrote_before_its_call_is_found(mem: Mem, workspace: Path, world: Path) -> None:
    folder = workspace / "sessions/t"
    folder.mkdir(parents=True)
    call, result = talk(1, ".env", SAID)
    odd = ["", "not JSON with a tool", "\u2028", json.dumps({"role": "user", "content": "Look"})]
    text = "\n".join([*odd * 10, json.dumps(result), json.dumps(call)])
    (folder / "session.jsonl").write_text(text)
    ran = mem("check", "--secrets", "--fix", "--max-fraction", ".2")
    assert "2 events of tools blanked out" in ran.err
    now = (folder / "session.jsonl").read_text()
    assert "marzipan" not in now
    assert now.split("\n")[:40] == text.split("\n")[:40]


def test_files_of_other_tools_are_named_and_left(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(FIXTURES / "layouts/golemcore", world / "bot")
    monkeypatch.chdir(world / "bot")
    assert mem("init").code == 0
    call = {"id": "t1", "type": "function", "function": {"name": "read", "arguments": json.dumps({"path": ".env"})}}
    messages = [
        {"role": "user", "content": "Look", "id": "m1"},
        {"type": "tool_call", "role": "assistant", "id": "m2", "name": "read", "args": {"path": ".env"}},
        {"role": "tool", "content": SAID, "id": "m3"},
        {"role": "assistant", "content": "", "id": "m4", "toolCalls": [call]},
    ]
    file = world / "bot/sessions/talk.json"
    file.write_text(json.dumps({"id": "talk", "messages": messages}))
    before = file.read_bytes()
    ran = mem("check", "--secrets", "--fix", "--max-fraction", "1")
    assert "sessions/talk.json:" in ran.out
    assert "another tool's, which is never changed" in ran.out
    assert file.read_bytes() == before


SHOWN = table(__file__, "SHOWN")
CALL = {"command": "cd app && rg KEY ."}


@pytest.fixture
def project(world: Path, workspace: Path) -> Path:
    (world / ".secretsignore").write_text("secrets/\npassphrase\n")
    for file in ("secrets/my keys.txt", "secrets/prod.yaml", "passphrase", "app/private.txt", "docs/open.md"):
        (world / file).parent.mkdir(exist_ok=True)
        (world / file).write_text("x\n")
    (world / "app/.gitignore").write_text("private.txt\n")
    (world / "link.yaml").symlink_to(world / "secrets/prod.yaml")
    return workspace


@pytest.mark.parametrize("field", ["content", "output", "parts", "nested"])
@pytest.mark.parametrize("way", SHOWN)
def test_lines_of_such_files_that_a_search_shows_are_blanked_out(
    mem: Mem, project: Path, world: Path, way: str, field: str
) -> None:
    text = SHOWN[way].format(said=SAID, root=world)
    call, result = talk(1, "", "", args=CALL)
    del result["content"]
    result |= {
        "content": {"content": text},
        "output": {"output": text},
        "parts": {"content": [{"type": "text", "text": text}]},
        "nested": {"result": {"stdout": text}},
    }[field]
    ran = mem("session", "append", "-", "--session", "s", stdin=json.dumps(call) + "\n" + json.dumps(result))
    assert ran.code == 0, ran
    assert "secret-file redacted" in ran.err
    said = (project / "sessions/s/session.jsonl").read_text()
    assert "marzipan" not in kept(project)
    assert MARK in said
    assert all(words in said for words in ("open word", "open end", "rg KEY"))
    assert mem("check", "--secrets").code == 0, "what is blanked out is not found again"


def test_a_result_in_another_process_or_a_transcript_is_looked_at_too(mem: Mem, project: Path, world: Path) -> None:
    call, result = talk(1, "", SHOWN["in the folder of the call"].format(said=SAID), args=CALL)
    for event in (call, result):
        assert mem("session", "append", json.dumps(event), "--session", "s").code == 0
    (world / "talk.jsonl").write_text("\n".join(map(json.dumps, [{"role": "user", "content": "Look"}, call, result])))
    assert mem("session", "import", "talk.jsonl", "--session", "t").code == 0
    assert "marzipan" not in kept(project)
    assert kept(project).count("open end") >= 2


@pytest.mark.parametrize("way", SHOWN)
@pytest.mark.parametrize("room", [0, 30, 400, 5000])
def test_what_is_cut_out_of_the_middle_of_a_long_result_names_its_end_too(
    mem: Mem, project: Path, world: Path, way: str, room: int
) -> None:
    text = SHOWN["grep" if way == "JSON" else way].format(said=SAID, root=world)
    end = text.rindex(SAID) + len(SAID)
    filler = "src/b.py:1:open\n" * 300
    lengthened = text[:end] + f" {SAID}" * (room // len(SAID)) + text[end:]  # the file's last line reaches the end
    (world / "talk.jsonl").write_text(
        "\n".join(
            json.dumps(event)
            for number, said in enumerate((f"{filler}\n{lengthened}", f"{lengthened}\n{filler}"))
            for event in talk(number, "", json.dumps({"output": said}) if way == "JSON" else said, args=CALL)
        )
    )
    assert mem("session", "import", "talk.jsonl", "--session", "t").code == 0
    assert mem("session", "append", "-", "--session", "s", stdin=(world / "talk.jsonl").read_text()).code == 0
    assert "marzipan" not in kept(project)
    assert "src/b.py:1:open" in kept(project)


@pytest.mark.parametrize(
    "text",
    [
        ".env.example\n.gitignore\ndocs/open.md\n",  # git ls-files
        ".\n..\n.env\nsrc\n",
        "make: build done\nenvironment.md:3:open\nsrc/env.py:1:open",
        "12:30:01 open\nkey: value\nhttps://a.example/environment: open",
        "The file .env: is read first",
        "diff --git a/src/a.py b/src/a.py\n+.env is read\n",
        '{"a": "b", "path": ".env"}',
        "",
    ],
)
def test_lines_that_only_name_such_a_file_stay(mem: Mem, project: Path, world: Path, text: str) -> None:
    (world / ".gitignore").write_text("build/\n")
    for event in talk(1, "", text, args=CALL):
        assert mem("session", "append", json.dumps(event), "--session", "s").code == 0
    assert MARK not in kept(project)


@pytest.mark.parametrize("command", ["cat *", "head -n 3 *", "cat sec*/prod.yaml", "cat */*.yaml", "tail -n +1 ./*"])
def test_wildcards_that_fit_such_a_file_name_it(mem: Mem, project: Path, command: str) -> None:
    events = talk(1, "", SAID, args={"command": command})
    assert mem("session", "append", "-", "--session", "s", stdin="\n".join(map(json.dumps, events))).code == 0
    assert "marzipan" not in kept(project)


@pytest.mark.parametrize("command", ["cat docs/*", "wc -l app/*.py", "cat */*.md"])
def test_wildcards_that_fit_no_such_file_name_none(mem: Mem, project: Path, command: str) -> None:
    events = talk(1, "", SAID, args={"command": command})
    assert mem("session", "append", "-", "--session", "s", stdin="\n".join(map(json.dumps, events))).code == 0
    assert "marzipan" in kept(project)


@pytest.mark.parametrize("path", ["//host/share", "/", "//", "///x", "."])
def test_paths_of_slashes_are_read_as_any_other(mem: Mem, project: Path, path: str) -> None:
    events = talk(1, path, f"{path}:1:open", args={"path": path, "command": f"ls {path}/.."})
    assert mem("session", "append", "-", "--session", "s", stdin="\n".join(map(json.dumps, events))).code == 0
    assert "1:open" in kept(project)
