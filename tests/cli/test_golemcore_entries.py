"""The memories of golemcore are read where they lie, and changed by nothing."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Mem
from tests.integrations.test_mcp import Call, ClientSession, talk
from tests.tables import cases

CLOCK = "InvoiceClockTest failed near midnight; inject java.time.Clock."
TEA, PORT = "Agnieszka prefers tea at four.", "PostgreSQL of the billing module listens on port 5433."
PROCEDURAL, SEMANTIC = "memory/items/procedural.jsonl", "memory/items/semantic.jsonl"


def item(identifier: str, layer: str, kind: str, content: str, **more: object) -> str:
    """Return a line as golemcore appends it."""
    told = {"id": identifier, "layer": layer, "type": kind, "content": content, "createdAt": "2026-02-06T09:31:00Z"}
    return json.dumps(told | {"tags": ["home"], "confidence": 0.88, "salience": 0.6} | more) + "\n"


@pytest.fixture
def bot(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder of golemcore's that is a workspace."""
    folder = world / "bot"
    (folder / "memory/items").mkdir(parents=True)
    (folder / PROCEDURAL).write_text(item("i1", "PROCEDURAL", "FIX", CLOCK, title="Flaky clock test"))
    lines = item("i2", "SEMANTIC", "PREFERENCE", TEA) + item("i3", "SEMANTIC", "PROJECT_FACT", PORT)
    (folder / SEMANTIC).write_text(lines)
    monkeypatch.chdir(folder)
    assert mem("init", "--layout", "golemcore").code == 0
    return folder


def ids(mem: Mem, *words: str) -> list[str]:
    return sorted(row["id"] for row in mem("ls", *words, "--json").json["entries"])


def hits(mem: Mem, *words: str) -> list[str]:
    return [hit["id"] for hit in mem("search", *words, "--mode", "keyword", "--json").json["hits"]]


def test_items_are_listed_filtered_and_read_with_their_fields(mem: Mem, bot: Path) -> None:
    assert ids(mem) == ["i1", "i2", "i3"]
    assert ids(mem, "--layer", "procedural") == ["i1"]
    assert ids(mem, "--type", "preference") == ["i2"]
    assert hits(mem, "tea", "--type", "preference") == ["i2"]
    assert hits(mem, "tea", "--layer", "procedural") == []
    assert hits(mem, "tea", "--kind", "entry", "--tag", "home") == ["i2"]
    page = mem("read", "i1", "--json").json
    assert (page["kind"], page["path"], page["content"].strip()) == ("entry", f"{PROCEDURAL}#i1", CLOCK)
    fields = {"type": "lesson", "title": "Flaky clock test", "tags": ["home"], "confidence": 0.88, "salience": 0.6}
    assert fields.items() <= page["fields"].items()
    (row,) = mem("ls", "--type", "preference").rows
    assert mem("read", row[3]).out.strip() == TEA
    assert mem("grep", "tea at").out.count("tea at") == 1
    assert (mem("check").code, mem("stats", "--json").json["entries"]) == (0, 3)


def test_recall_shows_an_item_in_its_layer(mem: Mem, bot: Path) -> None:
    pack = mem("recall", "on which port does the billing database listen?").out
    assert "### Semantic" in pack
    assert PORT in pack
    assert "Episodic" not in pack


def test_a_search_is_never_stale(mem: Mem, bot: Path) -> None:
    file = bot / SEMANTIC
    assert hits(mem, "kettle") == []
    begun = item("i4", "SEMANTIC", "FACT", "The kettle is red.")
    with file.open("a") as stream:
        stream.write(begun[:40])
    assert (hits(mem, "kettle"), mem("check").code) == ([], 0)
    with file.open("a") as stream:
        stream.write(begun[40:])
    assert hits(mem, "kettle") == ["i4"]
    with file.open("a") as stream:  # of two lines with one id the last one holds
        stream.write(item("i4", "SEMANTIC", "FACT", "The samovar is red."))
    assert (hits(mem, "kettle"), hits(mem, "samovar")) == ([], ["i4"])
    file.write_text(file.read_text().replace("tea at four", "cocoa at four"))
    assert (hits(mem, "tea"), hits(mem, "cocoa")) == ([], ["i2"])
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if '"i2"' not in line))
    assert (hits(mem, "cocoa"), ids(mem)) == ([], ["i1", "i3", "i4"])
    assert mem("read", "i2").code == 4
    file.unlink()
    assert ids(mem) == ["i1"]


def test_what_is_forgotten_is_hidden_on_our_side_until_it_is_restored(mem: Mem, bot: Path) -> None:
    before = (bot / SEMANTIC).read_bytes()
    assert mem("forget", "i2").code == 0
    assert (ids(mem), hits(mem, "tea")) == (["i1", "i3"], [])
    assert "tea" not in mem("recall", "when does Agnieszka want her tea?").out
    assert ids(mem, "--archived") == ["i1", "i2", "i3"]
    assert mem("check").code == 0
    assert mem("import", SEMANTIC, "--no-dedup").code == 0
    assert ids(mem) == ["i1", "i3"]
    assert mem("restore", "i2").code == 0
    assert hits(mem, "tea") == ["i2"]
    assert mem("forget", "i1").code == 0
    assert mem("undo").code == 0
    assert "i1" in ids(mem)
    assert (bot / SEMANTIC).read_bytes() == before


def test_an_import_owns_them_without_doubles(mem: Mem, bot: Path) -> None:
    assert mem("import", SEMANTIC).code == 0
    assert ids(mem) == ["i1", "i2", "i3"]
    assert hits(mem, "tea") == ["i2"]
    assert mem("edit", "i2", "--replace", "four", "five").code == 0
    assert "five" in mem("read", "i2").out
    assert mem("ls", "--type", "preference").rows[0][3].endswith(".md")
    assert mem("check").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("edit", "i2", "--replace", "four", "five"),
        ("edit", SEMANTIC, "--replace", "four", "five"),
        ("write", "Tea at five", "--id", "i2"),
        ("supersede", "i2", "i3"),
        ("write", "Tea at five", "--supersedes", "i2"),
        ("forget", SEMANTIC),
        ("forget", "--purge", "i2"),
    ],
)
def test_a_change_is_refused_in_one_line_that_names_the_import(mem: Mem, bot: Path, words: tuple[str, ...]) -> None:
    before = (bot / SEMANTIC).read_bytes()
    ran = mem(*words)
    assert ran.code == 5
    (line,) = ran.err.splitlines()
    assert (
        line == f"mem: {SEMANTIC} is another tool's, which mem only reads: `mem import {SEMANTIC}` makes entries of it"
    )
    assert (bot / SEMANTIC).read_bytes() == before


def test_no_other_door_writes_to_it_or_decides_about_its_items(mem: Mem, bot: Path) -> None:
    before = {path.name: path.read_bytes() for path in (bot / "memory/items").iterdir()}
    (bot / "memory/2026-02-06.md").write_text("## 10:00\n\nA note.\n")
    for call in (
        {"command": "delete", "path": "/memories/memory/items"},
        {"command": "rename", "old_path": "/memories/memory/items", "new_path": "/memories/memory/others"},
        {
            "command": "rename",
            "old_path": "/memories/memory/2026-02-06.md",
            "new_path": "/memories/memory/items/n.jsonl",
        },
        {
            "command": "create",
            "path": "/memories/memory/items/n.jsonl",
            "file_text": item("i9", "SEMANTIC", "FACT", TEA),
        },
        {"command": "str_replace", "path": f"/memories/{SEMANTIC}", "old_str": "four", "new_str": "five"},
        {"command": "delete", "path": f"/memories/{SEMANTIC}"},
        {"command": "rename", "old_path": f"/memories/{SEMANTIC}", "new_path": "/memories/memory/b.jsonl"},
    ):
        mem("memory-tool", stdin=json.dumps(call))

    async def said(_: ClientSession, call: Call) -> None:
        assert "mem import" in await call("edit", id="i2", old="four", new="five")
        assert [row["id"] for row in (await call("ls", type=["preference"]))["entries"]] == ["i2"]

    talk(bot, said)
    assert mem("write", "Agnieszka prefers coffee at four.", "--type", "preference").code == 0
    assert mem("write", TEA, "--type", "preference").code == 0
    for words in (("dedup", "--apply"), ("decay", "--apply"), ("tend",), ("check", "--fix"), ("review", "--json")):
        ran = mem(*words)
        assert "Traceback" not in ran.err, ran
        assert ran.code in (0, 1), ran
    assert {path.name: path.read_bytes() for path in (bot / "memory/items").iterdir()} == before


def test_a_hidden_item_is_in_no_answer_and_says_that_it_is_hidden(mem: Mem, bot: Path) -> None:
    with (bot / SEMANTIC).open("a") as stream:
        stream.write(item("i2", "SEMANTIC", "PREFERENCE", "Agnieszka prefers tea, strong."))
    assert mem("forget", "i2").code == 0
    for words in (["tea"], ["-C", "3", "listens"], ["--count", "."], ["-l", "tea"]):
        ran = mem("grep", *words)
        assert "tea" not in ran.out, words
    assert mem("grep", "--count", ".").rows == [[f"{PROCEDURAL}:1"], [f"{SEMANTIC}:1"]]
    for name in ("i2", f"{SEMANTIC}#i2", f"archive/{SEMANTIC}#i2.md"):
        ran = mem("read", name)
        assert f"hidden: {SEMANTIC}#i2 was forgotten here: `mem restore i2` shows it again" in ran.err, name
    assert mem("read", "i3").err == ""
    assert mem("restore", "i2").code == 0
    assert mem("read", "i2").err == ""
    assert mem("grep", "tea").out.count("tea") == 2


def test_one_id_in_two_files_is_named_with_both_and_hidden_apart(mem: Mem, bot: Path) -> None:
    with (bot / SEMANTIC).open("a") as stream:
        stream.write(item("i1", "SEMANTIC", "FACT", "The samovar is red."))
    both = (f"{PROCEDURAL}#i1", f"{SEMANTIC}#i1")
    for words in (["read"], ["forget"], ["promote"], ["read", "--history"]):
        ran = mem(*words, "i1")
        assert ran.code == 4, ran
        assert all(path in ran.err for path in both)
    assert mem("forget", both[1]).code == 0
    assert ids(mem) == ["i1", "i2", "i3"]
    assert "samovar" not in mem("grep", "samovar").out
    assert mem("grep", "Invoice").code == 0
    assert mem("restore", f"archive/{both[1]}.md").code == 0
    assert "samovar" in mem("grep", "samovar").out


@pytest.fixture
def bot_in_place(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    mem: Mem, bot_in_place: Path, query: str, path: str, words: str, mode: str
) -> None:
    before = state(bot_in_place)
    hits = mem("search", query, "--mode", mode, "--json").json["hits"]
    (hit,) = [hit for hit in hits if hit["path"] == path and words in hit["summary"]]
    assert words in (bot_in_place / path).read_text().splitlines()[hit["line"] - 1]
    ran = mem("read", hit["id"])
    assert ran.code == 0, ran.err
    assert words in ran.out
    assert "fingerprint" not in ran.out
    assert state(bot_in_place) == before


def test_what_happened_is_shown_as_an_episode(mem: Mem, bot_in_place: Path) -> None:
    hits = mem("search", "billing module", "--mode", "keyword", "--json").json["hits"]
    types = {(hit["path"], hit["type"]) for hit in hits if hit["path"].endswith(".jsonl")}
    assert types == {("memory/items/episodic/2026-02-06.jsonl", "episode"), ("memory/items/semantic.jsonl", "fact")}
    assert [row[2] for row in mem("search", "image stage red", "--mode", "keyword").rows if "episodic" in row[4]] == [
        "episode"
    ]


def test_a_conversation_is_imported_as_any_other_and_its_file_stays(mem: Mem, bot_in_place: Path) -> None:
    before = state(bot_in_place)
    assert mem("session", "ls", "--json").json["sessions"] == []
    assert mem("session", "import", "sessions").code == 0
    listed = {row["id"]: row for row in mem("session", "ls", "--json").json["sessions"]}
    assert listed["telegram:12345"]["messages"] == listed["telegram:12345"]["waiting"] == 2
    hits = mem("search", "reporting database on forge", "--mode", "keyword", "--kind", "session", "--json").json["hits"]
    assert "5432 is taken by the old reporting database on forge." in hits[0]["summary"]
    assert mem("session", "clear", "telegram:12345").code == 0
    assert {name: data for name, data in state(bot_in_place).items() if name in before} == before


def test_an_item_written_a_moment_ago_is_found_and_a_broken_line_is_named(mem: Mem, bot_in_place: Path) -> None:
    items = bot_in_place / "memory/items/semantic.jsonl"
    assert mem("search", "kettle", "--mode", "keyword").code == 1
    with items.open("a") as file:
        file.write("{broken\n" + json.dumps({"id": "k", "title": "Kettle", "content": "It stands in the hall."}) + "\n")
    hits = mem("search", "kettle", "--mode", "keyword", "--json").json["hits"]
    assert [(hit["title"], hit["summary"]) for hit in hits] == [("Kettle", "It stands in the hall.")]
    number = items.read_text().splitlines().index("{broken") + 1
    assert f"memory/items/semantic.jsonl:{number}: no JSON object" in mem("check").out
    assert mem("check", "--fix").code in (1, 3)
    assert "{broken" in items.read_text()


@pytest.mark.parametrize("choice", [("--type", "episode"), ("--layer", "episodic"), ("-t", "fact", "-t", "episode")])
def test_asking_for_episodes_finds_what_is_shown_as_one(mem: Mem, bot_in_place: Path, choice: tuple[str, ...]) -> None:
    path = "memory/items/episodic/2026-02-06.jsonl"
    hits = mem("search", "image stage of the pipeline red", "--mode", "keyword", *choice, "--json").json["hits"]
    assert path in {hit["path"] for hit in hits}
    assert "memory/items/semantic.jsonl" not in {hit["path"] for hit in hits}
    for other in (("--type", "preference"), ("--layer", "semantic"), ("--type", "episode", "--tag", "nosuch")):
        hits = mem("search", "image stage of the pipeline red", "--mode", "keyword", *other, "--json").json["hits"]
        assert path not in {hit["path"] for hit in hits}
