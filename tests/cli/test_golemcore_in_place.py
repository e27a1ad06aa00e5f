"""What golemcore keeps as JSON is searched and read where it lies, and stays as it is."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Mem
from tests.tables import cases


@pytest.fixture
def bot(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of golemcore's that is a workspace."""
    shutil.copytree(FIXTURES / "layouts/golemcore", world / "bot")
    monkeypatch.chdir(world / "bot")
    assert mem("init").code == 0
    return world / "bot"


def state(folder: Path) -> dict[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and ".mem" not in path.parts)
    return {path.name: path.read_bytes() for path in paths}


@cases("query", "path", "words")
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_an_item_is_found_and_read_where_it_lies(
    mem: Mem, bot: Path, query: str, path: str, words: str, mode: str
) -> None:
    before = state(bot)
    hits = mem("search", query, "--mode", mode, "--json").json["hits"]
    (hit,) = [hit for hit in hits if hit["path"] == path and words in hit["summary"]]
    assert words in (bot / path).read_text().splitlines()[hit["line"] - 1]
    ran = mem("read", hit["id"])
    assert ran.code == 0, ran.err
    assert words in ran.out
    assert "fingerprint" not in ran.out
    assert state(bot) == before


def test_what_happened_is_shown_as_an_episode(mem: Mem, bot: Path) -> None:
    hits = mem("search", "billing module", "--mode", "keyword", "--json").json["hits"]
    types = {(hit["path"], hit["type"]) for hit in hits if hit["path"].endswith(".jsonl")}
    assert types == {("memory/items/episodic/2026-02-06.jsonl", "episode"), ("memory/items/semantic.jsonl", "fact")}
    assert [row[2] for row in mem("search", "image stage red", "--mode", "keyword").rows if "episodic" in row[4]] == [
        "episode"
    ]


def test_a_conversation_is_found_when_asked_for_and_read(mem: Mem, bot: Path) -> None:
    asked = ("search", "reporting database on forge", "--mode", "keyword", "--json")
    assert "sessions/telegram:12345.json" not in {hit["path"] for hit in mem(*asked).json["hits"]}
    hits = mem(*asked, "--kind", "session").json["hits"]
    (hit,) = [hit for hit in hits if hit["id"] == "sessions/telegram:12345.json#L2"]
    assert mem("read", hit["id"]).out == "assistant: 5432 is taken by the old reporting database on forge.\n"
    assert mem("read", "sessions/telegram:12345.json").out.startswith("user: why port 5433?\nassistant: 5432 is taken")


def test_an_item_written_a_moment_ago_is_found_and_a_broken_line_is_named(mem: Mem, bot: Path) -> None:
    items = bot / "memory/items/semantic.jsonl"
    assert mem("search", "kettle", "--mode", "keyword").code == 1
    with items.open("a") as file:
        file.write("{broken\n" + json.dumps({"id": "k", "title": "Kettle", "content": "It stands in the hall."}) + "\n")
    hits = mem("search", "kettle", "--mode", "keyword", "--json").json["hits"]
    assert [(hit["title"], hit["summary"]) for hit in hits] == [("Kettle", "It stands in the hall.")]
    number = items.read_text().splitlines().index("{broken") + 1
    assert f"memory/items/semantic.jsonl:{number}: no JSON object" in mem("check").out
    assert mem("check", "--fix").code in (1, 3)
    assert "{broken" in items.read_text()


def test_a_conversation_is_listed_shown_and_consolidated_where_it_lies(mem: Mem, bot: Path) -> None:
    talk = bot / "sessions/telegram:12345.json"
    document = json.loads(talk.read_text())
    asked = {
        "role": "user",
        "content": "Remember that I always deploy with make release.",
        "timestamp": "2026-02-05T15:43:00Z",
    }
    document["messages"].append(asked)  # without an id
    talk.write_text(json.dumps(document))
    before = state(bot)
    listed = {row["id"]: row for row in mem("session", "ls", "--json").json["sessions"]}
    assert listed["telegram:12345"]["messages"] == listed["telegram:12345"]["waiting"] == 3
    assert listed["web:3f2a"]["messages"] == 0
    shown = mem("session", "show", "telegram:12345", "--json").json
    assert [one["content"] for one in shown["events"]] == [one["content"] for one in document["messages"]]
    assert mem("session", "show", "telegram:12345", "--range", "3").out.rstrip().endswith("make release.")
    assert mem("consolidate", "telegram:12345").code == 0
    assert mem("search", "deploy with make release", "--mode", "keyword", "--kind", "entry").code == 0
    (row,) = [one for one in mem("session", "ls", "--json").json["sessions"] if one["id"] == "telegram:12345"]
    assert (row["messages"], row["waiting"]) == (3, 0)
    assert mem("consolidate", "telegram:12345").code == 0
    assert {name: data for name, data in state(bot).items() if name in before} == before
    document["messages"].append({**asked, "content": "From now on we tag every release."})
    talk.write_text(json.dumps(document))
    (row,) = [one for one in mem("session", "ls", "--json").json["sessions"] if one["id"] == "telegram:12345"]
    assert row["waiting"] == 1, "only what is new waits"


@cases("words")
def test_a_conversation_of_another_tool_is_never_changed(mem: Mem, bot: Path, words: tuple[str, ...]) -> None:
    before = state(bot)
    ran = mem("session", *words)
    assert ran.code == 5
    assert "sessions/telegram:12345.json is another tool's" in ran.err
    assert state(bot) == before


@pytest.mark.parametrize("choice", [("--type", "episode"), ("--layer", "episodic"), ("-t", "fact", "-t", "episode")])
def test_asking_for_episodes_finds_what_is_shown_as_one(mem: Mem, bot: Path, choice: tuple[str, ...]) -> None:
    path = "memory/items/episodic/2026-02-06.jsonl"
    hits = mem("search", "image stage of the pipeline red", "--mode", "keyword", *choice, "--json").json["hits"]
    assert path in {hit["path"] for hit in hits}
    assert "memory/items/semantic.jsonl" not in {hit["path"] for hit in hits}
    for other in (("--type", "preference"), ("--layer", "semantic"), ("--type", "episode", "--tag", "nosuch")):
        hits = mem("search", "image stage of the pipeline red", "--mode", "keyword", *other, "--json").json["hits"]
        assert path not in {hit["path"] for hit in hits}
