"""What a session's page says: its project, its state, its tokens, its tools; and how the jarvis layout names it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem


def page(workspace: Path, session: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((workspace / "sessions" / session / "metadata.json").read_text("utf-8"))
    return read


def projects(workspace: Path) -> list[str]:
    texts = [path.read_text("utf-8") for path in sorted((workspace / "entries").rglob("*.md"))]
    return [found[1] if (found := re.search(r"^project: (.*)$", text, re.MULTILINE)) else "" for text in texts]


def test_a_project_given_with_a_message_is_that_of_what_comes_of_the_session(mem: Mem, workspace: Path) -> None:
    add = ("session", "append", "--session", "s")
    assert mem(*add, "--text", "I prefer tabs over spaces.").code == 0
    assert mem(*add, "--text", "Remember: the port is 8443", "--project", "harbor").code == 0
    assert projects(workspace) == ["harbor"]
    assert mem("consolidate", "s").code == 0
    assert set(projects(workspace)) == {"harbor"}
    assert len(projects(workspace)) > 1
    assert mem("session", "ls", "--json").json["sessions"][0]["project"] == "harbor"
    assert mem(*add, "--project", "pier").code == 0
    assert page(workspace, "s")["metadata"]["project"] == "pier"


@pytest.mark.parametrize(
    ("text", "project"),
    [
        ("project: harbor\n\nI prefer tabs over spaces.", "harbor"),
        ("I prefer tabs over spaces.\nProject: Harbor Two", "Harbor Two"),
        ("title: how to indent\nproject: harbor\n\nI prefer tabs over spaces.", "harbor"),
        ("I prefer tabs over spaces.\n\n```\nproject: harbor\n```", ""),
        ("I prefer tabs over spaces.\n\nname: x\nproject: harbor\nversion: 3", ""),
        ("I prefer tabs over spaces in this project: they are shorter.", ""),
    ],
)
def test_a_line_of_a_message_names_the_project(mem: Mem, workspace: Path, text: str, project: str) -> None:
    mem("session", "append", "--session", "s", "--text", text)
    assert mem("consolidate", "s").code == 0
    made = set(projects(workspace))
    assert made == {project}
    mem("session", "append", "--session", "s", "--text", "I prefer short answers in every review.")
    mem("consolidate", "s")
    assert set(projects(workspace)) == {project}


def test_a_line_of_a_task_names_the_project_and_an_assistant_does_not(mem: Mem, workspace: Path) -> None:
    mem("session", "append", "--session", "s", "--role", "system", "--text", "Review the code.\nproject: harbor")
    mem("session", "append", "--session", "s", "--role", "assistant", "--text", "Fine.\nproject: other")
    mem("session", "append", "--session", "s", "--text", "I prefer tabs over spaces.")
    mem("consolidate", "s")
    assert set(projects(workspace)) == {"harbor"}


def test_the_state_is_set_and_a_message_makes_the_session_active_again(mem: Mem, workspace: Path) -> None:
    add = ("session", "append", "--session", "s")
    for arguments, state in (
        (("--text", "hi", "--state", "paused"), "PAUSED"),
        (("--text", "hi"), "ACTIVE"),
        (("--state", "TERMINATED"), "TERMINATED"),
    ):
        assert mem(*add, *arguments).code == 0
        assert page(workspace, "s")["state"] == state
    refused = mem(*add, "--text", "hi", "--state", "asleep")
    assert (refused.code, "no state 'asleep'" in refused.err) == (2, True)
    assert page(workspace, "s")["messageCount"] == 2
    assert mem("session", "append", "--state", "PAUSED").code == 2


@pytest.mark.parametrize("door", ["append", "import"])
def test_tokens_are_reckoned_as_golemcore_does_and_tools_are_named(mem: Mem, workspace: Path, door: str) -> None:
    events = [
        {"type": "message", "role": "user", "content": "x" * 35},
        {"type": "tool_call", "name": "shell", "content": "y" * 35},
        {"type": "tool_result", "name": "shell", "content": "z" * 35},
        {"type": "tool_call", "name": "read_file", "content": ""},
    ]
    text = "".join(json.dumps(event) + "\n" for event in events)
    if door == "append":
        assert mem("session", "append", "-", "--session", "s", stdin=text.encode()).code == 0
    else:
        Path("talk.jsonl").write_text(text)
        assert mem("session", "import", "talk.jsonl", "--session", "s").code == 0
    written = page(workspace, "s")
    assert (written["tokenCount"], written["messageTokens"]) == (8030, 30)
    assert written["toolsUsed"] == ["shell", "read_file"]
    told = mem("session", "stats", "s", "--json").json
    assert (told["tokens"], told["message_tokens"], told["tools_used"]) == (8030, 30, ["shell", "read_file"])
    mem("session", "clear", "s")
    assert (page(workspace, "s")["tokenCount"], page(workspace, "s")["toolsUsed"]) == (8000, [])


def test_the_jarvis_layout_names_a_session_by_its_channel_and_user(mem: Mem, world: Path) -> None:
    assert mem("init", "jarvis", "--layout", "jarvis").code == 0
    add = ("session", "append", "--workspace", "jarvis", "--json")
    whom = ("--channel", "telegram:12345", "--user", "user_67890")
    for number in (1, 2):
        added = mem(*add, "--text", f"hi {number}", *whom).json
        assert (added["session"], added["messages"]) == ("telegram_12345_user_67890", number)
    written = page(world / "jarvis", "telegram_12345_user_67890")
    assert (written["channelId"], written["userId"]) == ("telegram_12345", "user_67890")
    assert mem(*add, "--text", "hi", *whom, "--session", "mine").json["session"] == "mine"
    assert mem(*add, "--text", "hi").json["session"].startswith("ses_")
