"""A message that a crash cut off in the middle is ended where it breaks off, and read from then on."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem

WHOLE = '{"id": "m1", "type": "message", "role": "user", "content": "The key \\"B\\" is béside the stóve", '
WHOLE += '"timestamp": "2026-11-20T10:00:00Z"}\n'


@pytest.fixture
def session(mem: Mem, workspace: Path) -> Path:
    """Give the file of a session with one message."""
    assert mem("session", "append", "--text", "What is new?", "--session", "talk").code == 0
    return workspace / "sessions" / "talk" / "session.jsonl"


@pytest.mark.parametrize("at", [1, 5, 12, *range(20, len(WHOLE.encode()), 7)])
@pytest.mark.parametrize("goes_on", [False, True])
def test_check_fix_ends_it_wherever_it_was_cut_off(mem: Mem, session: Path, at: int, goes_on: bool) -> None:
    before = session.read_bytes()
    torn = WHOLE.encode()[:at]
    session.write_bytes(before + torn)
    if goes_on:
        assert mem("session", "append", "--text", "And then?", "--session", "talk").code == 0
    assert mem("check").code == 1
    fixed = mem("check", "--fix")
    assert (fixed.code, fixed.out) == (0, ""), fixed
    assert mem("check").code == 0
    assert session.read_bytes().startswith(before)
    said = [json.loads(line)["content"] for line in session.read_text().splitlines()]
    assert said[0] == "What is new?"
    assert said[-1] == "And then?" or not goes_on
    words = json.loads(WHOLE)["content"]
    for text in said[1 : 2 if at > len(WHOLE) // 2 else 1]:
        assert text == words or (text.endswith("…") and words.startswith(text[:-1])), text
    assert at < 70 or len(said) == 2 + goes_on


@pytest.mark.parametrize("at", [30, 70, 110, len(WHOLE.encode()) - 3])
def test_one_that_was_added_again_whole_is_not_there_twice(mem: Mem, session: Path, at: int) -> None:
    before = session.read_bytes()
    session.write_bytes(before + WHOLE.encode()[:at])
    assert mem("session", "append", "-", "--session", "talk", stdin=WHOLE).code == 0
    assert mem("check", "--fix").code == 0
    assert session.read_bytes() == before + WHOLE.encode()


@pytest.mark.parametrize(
    "line", ["not JSON at all", '{"id": "x", "other": [1, {"a": "b', '["a", "b', "{{{", '{"a": 1}}']
)
def test_a_line_that_no_crash_left_is_left_alone(mem: Mem, session: Path, line: str) -> None:
    left = session.read_bytes() + f"{line}\n".encode()
    session.write_bytes(left)
    mem("check", "--fix")
    assert session.read_bytes() == left
