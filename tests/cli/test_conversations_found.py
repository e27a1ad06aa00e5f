"""Conversations and documents are found when memories have nothing, or when they are asked for."""

import json
import re
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.sample import IS_LONG

TALK = (
    ("user", "how much is the fish market stall going to cost us"),
    ("assistant", "Last year it was 45 a day."),
    ("user", "no, 62, since they moved it to the harbour"),
    ("assistant", "Noted, 62 it is."),
    ("user", "what a grey morning"),
    ("assistant", "The forecast says it clears up."),
    ("user", "the oyster knives are in the blue crate behind the van"),
    ("assistant", "Good to know."),
)
QUESTIONS = (
    ("where did we put the oyster knives?", "blue crate"),
    ("which crate are the knives for the oysters in", "blue crate"),
    ("cost of the stall on the fish market", "62"),
    ("what does a stall at the fish market cost?", "62"),
)


def said(mem: Mem, *turns: tuple[str, str], session: str = "market") -> None:
    lines = "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in turns)
    assert mem("session", "append", "-", "--session", session, stdin=lines).code == 0


def read_first(mem: Mem, asked: str, *options: str) -> str:
    """Read the first five hits as an agent would, each by the id that was given."""
    rows = mem("search", asked, *options).rows
    assert len(rows) <= 5
    return "\n".join(mem("read", row[1]).out for row in rows)


@pytest.fixture
def talked(mem: Mem, workspace: Path) -> Path:
    said(mem, *TALK)
    return workspace


@pytest.mark.parametrize(("asked", "answer"), QUESTIONS)
@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_a_workspace_that_has_only_conversations_is_searched(
    mem: Mem, talked: Path, asked: str, answer: str, mode: str
) -> None:
    assert answer in read_first(mem, asked, "--mode", mode)


@pytest.mark.parametrize(("asked", "answer"), QUESTIONS)
def test_what_was_said_comes_in_beside_weak_entries(mem: Mem, talked: Path, asked: str, answer: str) -> None:
    for text in ("The van is insured until March.", "Fish is delivered on Tuesdays.", "Anna knows the harbour master."):
        assert mem("write", text, "--no-dedup").code == 0
    assert answer in read_first(mem, asked)


def test_weak_turns_take_the_places_that_no_memory_takes(mem: Mem, talked: Path) -> None:
    said(
        mem,
        ("user", "for the kitchen we then decided on tiles, of slate as it seems"),
        ("assistant", "Slate lasts."),
        session="floors",
    )
    said(mem, ("user", "the hallway gets oak parquet on the floor"), ("assistant", "Oak is warm."), session="wood")
    asked = "compare the floors that we chose for hallway, stairs, cellar and kitchen"
    assert {"session:floors", "session:wood"} <= {row[1].split("#")[0] for row in mem("search", asked).rows}
    days = ("Mondays", "Tuesdays", "Wednesdays", "Fridays", "Saturdays")
    for day in days:
        assert "session:floors" in mem("search", asked).out
        assert mem("write", f"The floors of the hallway are swept on {day}.", "--no-dedup").code == 0
    assert "session:floors" not in mem("search", asked, "-n", str(len(days))).out


def test_of_a_long_turn_what_fits_is_shown(mem: Mem, workspace: Path) -> None:
    plan = "The stall opens at six and we need ice, crates and a scale by then. "
    answer = f"{plan * 9}The oyster knives are in the blue crate. {plan * 9}"
    said(mem, ("user", "make us a plan for the market"), ("assistant", answer), ("user", f"{plan * 9}Thanks!"))
    asked = "where are the oyster knives?"
    ((*_, summary),) = mem("search", asked, "--mode", "keyword").rows
    assert "in the blue crate" in summary
    assert "in the blue crate" in mem("recall", asked, "--only", "relevant").out


@pytest.mark.parametrize(("mode", "count"), [("keyword", 9000), ("hybrid", 9000 if IS_LONG else 1500)])
def test_what_stands_deep_in_an_endless_turn_is_found(mem: Mem, workspace: Path, mode: str, count: int) -> None:
    herd = [f"cow {number} gave {number % 29} litres of milk today." for number in range(count)]
    herd[count * 7 // 9] = "the vet keeps the ear tags in a tin by the weathervane."
    said(mem, ("user", " ".join(herd)))
    ((_, _, _, _, _, summary),) = mem("search", "where does the vet keep the ear tags?", "--mode", mode).rows
    assert "in a tin by the weathervane" in summary


def test_a_good_entry_keeps_conversations_out(mem: Mem, talked: Path) -> None:
    assert mem("write", "The oyster knives are in the blue crate behind the van.", "--no-dedup").code == 0
    found = mem("search", "are the oyster knives in the blue crate behind the van?")
    assert [row[2] for row in found.rows] == ["fact"]
    assert "conversations" not in found.err


@pytest.mark.parametrize(
    "options", [("--kind", "entry"), ("--type", "fact"), ("--status", "archived"), ("--as-of", "2026-11-22")]
)
def test_who_narrows_the_search_gets_no_conversations(mem: Mem, talked: Path, options: tuple[str, str]) -> None:
    assert mem("search", QUESTIONS[0][0], *options).code == 1


def test_conversations_can_be_left_out_for_good(mem: Mem, talked: Path) -> None:
    assert mem("config", "set", "search.conversations", "false").code == 0
    assert mem("search", QUESTIONS[0][0]).code == 1
    assert "blue crate" not in mem("recall", QUESTIONS[0][0]).out


def test_turns_beyond_the_hits_are_counted_and_named(mem: Mem, talked: Path) -> None:
    for number in range(30):
        said(mem, ("user", f"fish market day {number}: sold {number * 7} boxes"), session=f"day-{number}")
    found = mem("search", "fish market's boxes")
    assert "turns match in conversations: mem search --kind session 'fish market'\"'\"'s boxes'" in found.err
    assert mem("search", "fish market's boxes", "--json").json["in_conversations"] > 5


def test_turns_that_are_shown_are_not_told_of_again(mem: Mem, workspace: Path) -> None:
    said(mem, ("user", "the oyster knives are dull"), ("assistant", "Shall I order oyster knives?"), ("user", "yes"))
    found = mem("search", "oyster knives")
    assert [row[1] for row in found.rows] == ["session:market#1:3"]
    assert found.err == ""


def test_a_turn_without_a_date_shows_none(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = json.dumps({"role": "user", "content": "the oyster knives are dull"})
    assert mem("session", "import", "-", "--session", "market", stdin=transcript).code == 0
    monkeypatch.setattr("memcli.cli.output.is_watched", lambda: True)
    shown = mem("search", "oyster knives").out
    assert "session:market#1 · session" in shown
    assert not re.search(r"· *(\x1b\[0m)? *(·|$)", shown, re.MULTILINE)


@pytest.mark.parametrize(("asked", "answer"), QUESTIONS)
def test_what_a_compaction_put_away_stays_found(mem: Mem, talked: Path, asked: str, answer: str) -> None:
    assert mem("session", "compact", "market", "--force", "--keep", "1").code == 0
    assert mem("search", asked, "--kind", "session").rows[0][1].startswith("archive/sessions/market/")
    # The summary made of it is an entry, and may answer as well.
    for entry in talked.glob("entries/**/*.md"):
        entry.unlink()
    assert answer in read_first(mem, asked)


def test_a_session_that_was_begun_anew_stays_found_and_a_deleted_one_does_not(mem: Mem, talked: Path) -> None:
    said(mem, *((role, text.replace("blue", "green")) for role, text in TALK), session="market-2")
    for session in ("market", "market-2"):
        assert mem("session", "clear", session).code == 0
    for entry in (*talked.glob("entries/**/*.md"), *talked.glob("HISTORY*.md"), talked / "MEMORY.md"):
        entry.write_text("")
    asked = "where did we put the oyster knives?"
    assert {row[1].split("#")[0] for row in mem("search", asked).rows} == {
        f"archive/sessions/{session}/session.jsonl" for session in ("market", "market-2")
    }
    assert mem("session", "delete", "market-2").code == 0
    rows = mem("search", asked).rows
    assert {row[1].split("#")[0] for row in rows} == {"archive/sessions/market/session.jsonl"}
    assert mem("session", "delete", "market").code == 0
    assert mem("search", asked).code == 1
    assert mem("search", asked, "--kind", "session", "--archived").code == 0


def test_turns_that_stand_together_are_one_hit(mem: Mem, talked: Path) -> None:
    rows = mem("search", "what does a stall at the fish market cost?").rows
    ranges = [tuple(map(int, (row[1].split("#")[1] + ":").split(":")[:2])) for row in rows if row[2] == "session"]
    assert ranges
    assert all(last - first < 6 for first, last in ranges)
    parts = mem("search", "what does a stall at the fish market cost?", "--json", "--explain").json["hits"]
    assert all(abs(sum(hit["parts"].values()) - hit["relevance"]) < 0.001 for hit in parts)


@pytest.mark.parametrize(("asked", "answer"), QUESTIONS)
def test_recall_draws_on_conversations_where_memories_have_nothing(
    mem: Mem, talked: Path, asked: str, answer: str
) -> None:
    assert mem("write", "Anna knows the harbour master.", "--no-dedup").code == 0
    told = mem("recall", asked, "--only", "relevant").out
    assert answer in told
    assert len(mem("recall", asked, "--only", "relevant", "--characters", "150").out) <= 150


def test_recall_leaves_conversations_alone_where_a_memory_fits(mem: Mem, talked: Path) -> None:
    assert mem("write", "The oyster knives are in the blue crate behind the van.", "--no-dedup").code == 0
    assert "session:" not in mem("recall", "where are the oyster knives?", "--only", "relevant").out


def test_a_session_is_not_told_what_it_has_before_its_eyes(mem: Mem, talked: Path) -> None:
    assert "blue crate" not in mem("recall", QUESTIONS[0][0], "--session", "market", "--only", "relevant").out
    assert "blue crate" in mem("recall", QUESTIONS[0][0], "--session", "other", "--only", "relevant").out


def test_turns_that_only_stand_near_the_word_do_not_come_in_unasked(mem: Mem, workspace: Path) -> None:
    said(mem, *((("user", "assistant")[n % 2], f"we talked about topic {n}") for n in range(8)), ("user", "quokkas!"))
    rows = mem("search", "quokkas", "--mode", "keyword").rows
    assert [row[1].endswith(":9") for row in rows] == [True]


SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


@pytest.fixture
def documented(mem: Mem, workspace: Path) -> Path:
    """Keep a memory, and a folder of documents beside the workspace, in one repository."""
    (workspace.parent / ".git").mkdir()
    docs = workspace.parent / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text("# Guide\n\n## Install\n\nThe quagga server listens on port 8081.\n")
    (docs / "other.md").write_text(f"# Other\n\nThe gateway of the quagga has the token {SECRET} now.\n")
    with (workspace / "mem.yaml").open("a") as file:
        file.write("index.include: [../docs]\n")
    assert mem("write", "The quagga keeper is Kai.", "--no-dedup").code == 0
    return docs


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_documents_are_found_when_asked_for_and_only_then(mem: Mem, documented: Path, mode: str) -> None:
    def found(*options: str) -> set[str]:
        hits = mem("search", "quagga server port", "--mode", mode, "--json", *options).json["hits"]
        return {f"{hit['kind']} {hit['path'].rpartition('/')[2][:5]}" for hit in hits}

    assert {one.split()[0] for one in found()} == {"entry"}
    assert "document guide" in found("--kind", "document")
    assert {one.split()[0] for one in found("--kind", "document")} == {"document"}
    assert {one.split()[0] for one in found("--kind", "document", "--kind", "entry")} == {"document", "entry"}
    assert {one.split()[0] for one in found("--kind", "all")} == {"document", "entry"}
    assert found("--kind", "document", "--type", "fact") == set()


def test_the_setting_may_name_documents_too(mem: Mem, documented: Path) -> None:
    assert mem("config", "set", "search.kinds", "entry,document").code == 0
    assert (
        mem("search", "port of the quagga server", "--mode", "keyword", "--json").json["hits"][0]["kind"] == "document"
    )


@pytest.mark.parametrize("place", [".", "memory", "docs", "memory/entries"])
def test_what_a_search_prints_of_a_document_is_read(
    mem: Mem, documented: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(documented.parent / place)
    (row,) = mem("search", "quagga server port 8081", "--kind", "document", "--mode", "keyword", "-n", "1").rows
    path, _, line = row[4].rpartition(":")
    assert "8081" in "".join(Path(path).read_text().splitlines()[int(line) - 1 :])
    assert "8081" in mem("read", row[1]).out
    assert "8081" in mem("read", path).out
    for command in (("forget", path), ("write", "x", "--id", path), ("edit", path, "--replace", "8081", "1")):
        assert mem(*command).code in (4, 5)
    assert "8081" in (documented / "guide.md").read_text()


@pytest.mark.parametrize("ignore", [".gitignore", ".secretsignore"])
def test_a_document_that_is_shut_out_is_neither_found_nor_read(mem: Mem, documented: Path, ignore: str) -> None:
    asked = ("search", "port of the quagga server", "--kind", "document", "--mode", "keyword")
    assert "guide.md" in mem(*asked).out
    assert mem("read", "docs/guide.md").code == 0
    (documented / ignore).write_text("guide.md\n")
    assert "guide.md" not in mem(*asked).out
    ran = mem("read", "docs/guide.md")
    assert (ran.code, ran.out) == (5, "")


def test_a_secret_in_a_document_is_not_shown(mem: Mem, documented: Path) -> None:
    for options in ((), ("--json",)):
        ran = mem("search", "gateway token", "--kind", "document", "--mode", "keyword", *options)
        assert SECRET not in ran.out
        assert "REDACTED" in ran.out


@pytest.mark.parametrize(
    ("prefix", "is_found"), [("../docs/", True), ("docs/", True), ("./docs", True), ("src/", False)]
)
def test_documents_are_narrowed_by_their_path(mem: Mem, documented: Path, prefix: str, is_found: bool) -> None:
    ran = mem("search", "quagga", "--kind", "document", "--mode", "keyword", "--path", prefix)
    assert (ran.code == 0) == is_found


def test_without_folders_of_documents_nothing_is_found(mem: Mem, workspace: Path) -> None:
    assert mem("write", "A quagga.", "--no-dedup").code == 0
    ran = mem("search", "quagga", "--kind", "document", "--mode", "keyword")
    assert (ran.code, ran.out) == (1, "")
