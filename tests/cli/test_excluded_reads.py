"""What a tool shows of many files is left out where it shows lines of one that is shut out of memory."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.tables import table

SAID = "The quagga gate opens with the word marzipan"
MARK = "[REDACTED:secret-file]"


def talk(number: int, path: str, said: str, **more: Any) -> list[Any]:
    shared = {"call_id": f"c{number}", "timestamp": f"2026-11-20T10:{number // 60:02}:{number % 60:02}Z"}
    return [
        {"type": "tool_call", "role": "assistant", "name": "Read", "args": {"file_path": path}, **shared, **more},
        {"type": "tool_result", "role": "tool", "name": "Read", "content": said, **shared},
    ]


def kept(workspace: Path) -> str:
    """Give all that the workspace's files say, but for the notes of undo."""
    files = (path for path in workspace.rglob("*") if path.is_file() and "undo" not in path.parts)
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in files)


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
def test_a_result_that_shows_lines_of_such_a_file_is_left_out(
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
    assert "rg KEY" in said


def test_a_result_in_another_process_or_a_transcript_is_looked_at_too(mem: Mem, project: Path, world: Path) -> None:
    call, result = talk(1, "", SHOWN["in the folder of the call"].format(said=SAID), args=CALL)
    for event in (call, result):
        assert mem("session", "append", json.dumps(event), "--session", "s").code == 0
    (world / "talk.jsonl").write_text("\n".join(map(json.dumps, [{"role": "user", "content": "Look"}, call, result])))
    assert mem("session", "import", "talk.jsonl", "--session", "t").code == 0
    assert "marzipan" not in kept(project)


@pytest.mark.parametrize("way", SHOWN)
@pytest.mark.parametrize("room", [0, 30, 400, 5000])
def test_all_of_a_long_result_is_looked_at(mem: Mem, project: Path, world: Path, way: str, room: int) -> None:
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
