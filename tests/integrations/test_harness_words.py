"""What a harness says in the user's role is nobody's word: it is neither remembered, nor noted, nor promoted."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.language.test_injected import HARNESS


@pytest.mark.parametrize("text", [one for one in HARNESS if "\n" in one])
def test_no_entry_is_the_users_for_what_a_harness_wrote(workspace: Path, mem: Mem, text: str) -> None:
    lines = [{"role": "user", "content": text}, {"role": "assistant", "content": "Understood."}]
    batch = "\n".join(map(json.dumps, lines))
    assert mem("session", "append", "-", "--session", "s1", stdin=batch).code == 0
    mem("consolidate", "--session", "s1")
    assert mem("ls", "--type", "constraint", "--type", "preference", "--type", "fact", "--json").json["entries"] == []


@pytest.mark.parametrize("text", HARNESS)
def test_a_hook_keeps_no_words_of_a_harness(workspace: Path, mem: Mem, text: str) -> None:
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": text, "cwd": str(workspace.parent)}
    assert mem("hook", "run", "claude-code", stdin=json.dumps(event)).code == 0
    mem("hook", "run", "claude-code", stdin=json.dumps({**event, "hook_event_name": "PreCompact"}))
    assert mem("ls", "--json").json["entries"] == []
