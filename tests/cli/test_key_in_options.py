"""No line of a private key that was given as an option reaches a message, a log or the name of a file."""

import json
import random
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path

import pytest

from memcli.secrets.scanner import unsaid
from tests.conftest import Mem

_NOISE = random.Random(7)
BODY = [b64encode(_NOISE.randbytes(48)).decode() for _ in range(25)]
BEGIN, END = (f"-----{edge} RSA PRIVATE " + "KEY-----" for edge in ("BEGIN", "END"))
KEY = "\n".join([BEGIN, *BODY, "Zm9v", END, ""])
KEYS = {
    "whole": KEY,
    "cut off": KEY[:700],
    "cut within a line": KEY[: KEY.index(BODY[4]) + 5],
    "with carriage returns": KEY.replace("\n", "\r\n"),
    "escaped": KEY.replace("\n", "\\n"),
    "in one line": KEY.replace("\n", " "),
    "indented": "key: |\n  " + KEY.replace("\n", "\n  "),
}
DOORS = (
    ("write", "hi", "--path", "K"),
    ("write", "hi", "--key", "K"),
    ("write", "hi", "--type", "K"),
    ("write", "hi", "--scope", "K"),
    ("write", "hi", "--tags", "K"),
    ("write", "hi", "--created-at", "K"),
    ("write", "hi", "--nonsense", "K"),
    ("write", "hi", "--nonsense=K"),
    ("session", "append", "--text", "hi", "--session", "K"),
    ("session", "append", "--text", "hi", "--role", "K"),
    ("session", "append", "--text", "hi", "--timestamp", "K"),
    ("session", "append", "--text", "hi", "--channel", "K"),
    ("session", "append", "--text", "hi", "--project", "K"),
    ("session", "append", "--text", "hi", "--state", "K"),
    ("session", "ls", "--state", "K"),
    ("session", "show", "K"),
    ("session", "K"),
    ("hook", "close", "--session", "K"),
    ("read", "K"),
    ("read", "MEMORY.md#K"),
    ("edit", "MEMORY.md", "--replace", "K", "x"),
    ("search", "x", "--since", "K"),
    ("search", "x", "--limit", "K"),
    ("grep", "(K"),
    ("ls", "--since", "K"),
    ("consolidate", "K"),
    ("check", "--since", "K"),
    ("config", "set", "layout", "K"),
    ("config", "get", "K"),
    ("export", "--format", "K"),
    ("init", "K"),
    ("init", "--layout", "K"),
    ("undo", "K"),
    ("K",),
)


def shown(text: str) -> list[str]:
    """Return the lines of the key of which a text has the beginning, the middle or the end."""
    return [line for line in BODY if any(line[place : place + 12] in text for place in (0, 26, 52))]


def left_in(folder: Path) -> list[str]:
    """Return the files that hold a line of the key, or are called by one."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if shown(str(path)) or shown(path.read_text("utf-8", "replace"))]


@pytest.mark.parametrize("door", DOORS, ids=" ".join)
def test_no_line_of_a_private_key_is_repeated_or_kept(
    mem: Mem, workspace: Path, world: Path, door: Sequence[str]
) -> None:
    for form, key in KEYS.items():
        ran = mem(*(word.replace("K", key) for word in door))
        assert shown(ran.err) == [], form
        assert shown(ran.out) == [], form
        assert "Traceback" not in ran.err, form
    assert left_in(world) == []


@pytest.mark.parametrize("prompt", ["Which port has the staging database?", "Remember: the port is 8443"])
def test_a_session_of_an_agent_that_is_called_by_a_key_is_kept_by_another_name(
    mem: Mem, workspace: Path, world: Path, prompt: str
) -> None:
    for event in (
        {"hook_event_name": "UserPromptSubmit", "prompt": prompt},
        {"hook_event_name": "Stop", "last_assistant_message": "It is 8443."},
    ):
        given = {**event, "session_id": KEY, "cwd": str(world)}
        ran = mem("hook", "run", "claude-code", stdin=json.dumps(given).encode())
        assert (ran.code, shown(ran.out + ran.err)) == (0, [])
    assert left_in(world) == []
    (session,) = (workspace / "sessions").glob("session-*")
    assert prompt in (session / "session.jsonl").read_text()


@pytest.mark.parametrize("form", KEYS)
def test_a_message_that_cuts_a_key_anywhere_shows_none_of_it(form: str) -> None:
    key = KEYS[form]
    for start in range(0, len(key), 37):
        for size in (60, 200, 500):
            for quoted in (key[start : start + size], repr(key[start : start + size])):
                said = unsaid(f"no type {quoted}: use one of fact, preference", [f"--type={key}"])
                assert shown(said) == [], (start, size)
                assert said.endswith(": use one of fact, preference")


def test_a_message_beside_a_key_is_left_alone() -> None:
    said = f"no type {KEY!r}: use one of fact, preference"
    assert unsaid(said, [KEY]) == "no type '[REDACTED:private-key]\\n': use one of fact, preference"
    assert unsaid("nothing of the kind", [KEY]) == "nothing of the kind"
