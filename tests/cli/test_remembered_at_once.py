"""What a user asks to remember is memory with the message that asks it, and the user's word."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Mem

DATA = Path(__file__).parent.parent / "consolidation" / "data" / "remember_requests.yaml"
WRITTEN: dict[str, list[dict[str, Any]]] = yaml.safe_load(DATA.read_text("utf-8"))


def test_all_forty_ways_to_ask_are_written_at_once_as_the_user_word(mem: Mem, workspace: Path) -> None:
    texts = [ask["text"] for ask in WRITTEN["asks"]]
    lines = [json.dumps({"role": "user", "content": text}) for text in texts]
    added = mem("session", "append", "-", "--session", "talk", "--json", stdin="\n".join(lines).encode())
    assert (added.code, len(added.json["remembered"])) == (0, 40)
    files = [path.read_text("utf-8") for path in (workspace / "entries").rglob("*.md")]
    assert sum("source: user\n" in text for text in files) == 40
    assert mem("session", "ls", "--json").json["sessions"][0]["waiting"] == 40
    for ask in WRITTEN["asks"]:
        assert any(ask["keeps"] in text for text in files), ask["text"]


def test_none_of_what_only_looks_like_asking_is_written(mem: Mem, workspace: Path) -> None:
    lines = [json.dumps({"role": one.get("role", "user"), "content": one["text"]}) for one in WRITTEN["look_alikes"]]
    assert len(lines) == 20
    added = mem("session", "append", "-", "--session", "talk", "--json", stdin="\n".join(lines).encode())
    assert (added.code, added.json["remembered"]) == (0, [])
    assert mem("ls", "--json").json["entries"] == []


def test_what_was_kept_at_once_is_not_kept_again_by_consolidation(mem: Mem, workspace: Path) -> None:
    mem("session", "append", "--session", "talk", "--text", "Remember this: never deploy on Fridays")
    mem("session", "append", "--session", "talk", "--text", "The door code is on the fridge.")
    mem("session", "append", "--session", "talk", "--text", "Remember that")
    before = {path: path.read_text() for path in (workspace / "entries").rglob("*.md")}
    page = (workspace / "MEMORY.md").read_text()
    assert len(before) == 2
    assert "- never deploy on Fridays" in page
    (changed,) = [path for path in before if "never-deploy" in path.name]
    changed.write_text(before[changed].replace("Fridays", "Thursdays"))
    assert mem("consolidate", "talk").rows == [["talk", "rules", "3", "0"]]
    kept = {path: path.read_text() for path in (workspace / "entries").rglob("*.md") if "episodes" not in path.parts}
    assert kept == before | {changed: before[changed].replace("Fridays", "Thursdays")}
    assert "strength" not in "".join(kept.values())
    assert "never deploy on Fridays" in next(workspace.glob("HISTORY-*.md")).read_text()
    assert json.loads((workspace / "sessions" / "talk" / "metadata.json").read_text())["metadata"].keys() == {"history"}


def test_an_event_added_again_confirms_nothing_and_what_is_taken_back_is_not_kept(mem: Mem, workspace: Path) -> None:
    event = json.dumps({"id": "m1", "role": "user", "content": "remember: the port is 8443"})
    for known in (0, 1):
        added = mem("session", "append", event, "--session", "talk", "--json").json
        assert (added["known"], len(added["remembered"])) == (known, 1 - known)
    lines = [{"content": "remember that the lamp is blue"}, {"content": "Forget that the lamp is blue."}]
    batch = "\n".join(json.dumps({"role": "user", **line}) for line in lines)
    assert mem("session", "append", "-", "--session", "other", "--json", stdin=batch.encode()).json["remembered"] == []
    (text,) = [path.read_text() for path in (workspace / "entries").rglob("*.md")]
    assert "strength" not in text


def test_a_secret_in_what_is_to_be_remembered_stays_out(mem: Mem, workspace: Path) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    added = mem("session", "append", "--session", "talk", "--text", f"Remember: the token is {secret}", "--json")
    assert added.code == 0
    assert all(
        secret not in path.read_text() for path in workspace.rglob("*") if path.is_file() and path.suffix != ".db"
    )


@pytest.mark.parametrize("role", ["assistant", "system"])
def test_nobody_but_the_user_asks(mem: Mem, workspace: Path, role: str) -> None:
    added = mem("session", "append", "--role", role, "--text", "Remember: the port is 8443", "--json")
    assert added.json["remembered"] == []
