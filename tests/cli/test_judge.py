"""`--judge`: an LLM says what memories are to each other, whatever door they come in by; without it the rules do."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_review import flagged, queue
from tests.conftest import Mem
from tests.tables import cases
from tests.terminal import Terminal

GATE = "The garden gate is painted green"
AGAIN = "Going into the garden one walks through a green gate"
SEARCH = "Search runs on Elasticsearch"
MOVED = "Postgres handles search these days"
SHOP = "Postgres handles the searches of the shop these days"
DOOR = "Nobody enters the garden any more but through the blue door"
SAID = {AGAIN: "same", MOVED: "update", SHOP: "update", DOOR: "update"}
"""What the LLM of the tests says of a new text; of all else that it is distinct."""
FOUND = {
    "history_entry": "[2026-11-21 20:15] The gate.",
    "entries": [{"content": AGAIN, "type": "fact", "source": "user"}],
}
"""What it finds in a conversation."""
_LLM = """
import json, sys
asked = sys.stdin.read()
if '[{"pair": 1,' not in asked:
    print(sys.argv[2])
    sys.exit()
pairs = json.loads(asked[asked.rindex('[{"pair": 1,'):])
open("asked.jsonl", "a").write(json.dumps(pairs) + "\\n")
said = json.loads(sys.argv[1])
sure = {"sure": True, "old_says_more": False, "reason": "so it is"}
row = lambda one: {"pair": one["pair"], "kind": said.get(one["new"], "distinct"), **sure}
print(json.dumps({"verdicts": [row(one) for one in pairs]}))
"""
Asked = Callable[[], list[list[dict[str, Any]]]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, world: Path) -> Asked:
    """Configure a command that judges as SAID does; give the pairs of each question it was asked."""
    script, wrapper = tmp_path / "llm.py", tmp_path / "llm"
    script.write_text(_LLM)
    wrapper.write_text(f"#!/bin/sh\nexec {sys.executable} {script} '{json.dumps(SAID)}' '{json.dumps(FOUND)}'\n")
    wrapper.chmod(0o755)
    monkeypatch.setenv("MEM_LLM_COMMAND", str(wrapper))
    log = world / "asked.jsonl"
    return lambda: [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def known(mem: Mem, workspace: Path) -> dict[str, str]:
    """Give the ids of two memories that stand, by their text."""
    told = ("--no-dedup", "--created-at", "2026-11-01", "--json")
    return {text: mem("write", text, *told).json["id"] for text in (GATE, SEARCH)}


def statuses(mem: Mem) -> dict[str, str]:
    found = mem("ls", "--status", "active", "--status", "superseded", "--json").json["entries"]
    return {row["id"]: row["status"] for row in found}


def records(folder: Path, *texts: str) -> str:
    path = folder / "theirs.jsonl"
    path.write_text("".join(f"{json.dumps({'content': text, 'source': 'user'})}\n" for text in texts))
    return str(path)


def test_the_reason_of_a_verdict_is_shown_and_goes_with_the_verdict(
    mem: Mem, workspace: Path, known: dict[str, str], asked: Asked
) -> None:
    path = workspace / Path(mem("read", known[SEARCH], "--json").json["path"])
    before = path.read_bytes()
    new = mem("write", MOVED, "--judge", "--json").json["id"]
    ran = mem("read", known[SEARCH])
    why = f"{new}: the LLM finds it an update: so it is"
    assert (ran.out, ran.err.count(why)) == (f"{SEARCH}\n", 1)
    assert mem("read", known[SEARCH], "--json").json["fields"]["verdict_reasons"] == [why]
    assert ("verdict", "llm", why) in [
        (item["what"], item["by"], item["text"])
        for item in mem("read", known[SEARCH], "--history", "--json").json["timeline"]
    ]
    assert mem("restore", known[SEARCH]).code == 0
    assert b"verdict_reasons" not in path.read_bytes()
    assert mem("undo").code == 0
    assert why in mem("read", known[SEARCH]).err
    assert mem("undo").code == 0
    assert path.read_bytes() == before


def test_an_import_is_judged_with_one_question_for_many_memories(
    mem: Mem, workspace: Path, known: dict[str, str], asked: Asked, world: Path
) -> None:
    others = [f"Crate {number} of the cellar holds apples" for number in range(3)]
    ran = mem("import", records(world, AGAIN, MOVED, *others), "--judge", "--json")
    assert (ran.code, ran.json["counts"]) == (0, {"created": 4, "merged": 1})
    assert mem("read", known[GATE], "--json").json["fields"]["wordings"] == [GATE]
    assert statuses(mem)[known[SEARCH]] == "superseded"
    assert len(asked()) == 1
    new = {pair["new"] for pair in asked()[0]}
    assert {AGAIN, MOVED} <= new


def test_a_dry_run_of_an_import_says_what_the_judge_would_do(
    mem: Mem, workspace: Path, known: dict[str, str], asked: Asked, world: Path
) -> None:
    ran = mem("import", records(world, AGAIN, MOVED), "--judge", "--dry-run", "--json")
    assert ran.json["counts"] == {"created": 1, "merged": 1}
    assert set(statuses(mem).values()) == {"active"}
    assert len(statuses(mem)) == 2


def test_what_a_conversation_brings_is_judged(
    mem: Mem, workspace: Path, known: dict[str, str], asked: Asked, world: Path
) -> None:
    (world / "chat.txt").write_text(f"User: {AGAIN}.\nAssistant: Noted.\n")
    ran = mem("consolidate", "chat.txt", "--judge", "--dry-run", "--json")
    assert [one["action"] for one in ran.json["sessions"][0]["memories"]] == ["merged"]
    assert len(asked()) == 1
    ran = mem("consolidate", "chat.txt", "--judge", "--json")
    assert [one["id"] for one in ran.json["sessions"][0]["memories"]] == [known[GATE]]
    assert mem("read", known[GATE], "--json").json["fields"]["wordings"] == [GATE]


@pytest.mark.parametrize("answer", ["nothing of use", '{"verdicts": []}', ""])
@pytest.mark.parametrize("door", ["write", "import"])
def test_a_judge_that_is_of_no_use_costs_one_line_and_no_memory(
    mem: Mem, workspace: Path, known: dict[str, str], monkeypatch: pytest.MonkeyPatch, world: Path,
    answer: str, door: str,
) -> None:  # fmt: skip
    (world / "answer").write_text(answer)
    monkeypatch.setenv("MEM_LLM_COMMAND", f"cat {world / 'answer'}")
    ran = mem("write", AGAIN, "--judge") if door == "write" else mem("import", records(world, AGAIN), "--judge")
    assert ran.code == 7
    assert ran.err.count("could not judge") == 1
    assert AGAIN in "".join(path.read_text() for path in workspace.rglob("*.md"))


@pytest.mark.parametrize("words", [("write", "x"), ("import", "-"), ("dedup",), ("consolidate",), ("review",)])
def test_without_an_llm_judge_says_what_to_set(mem: Mem, workspace: Path, words: tuple[str, ...]) -> None:
    ran = mem(*words, "--judge", stdin="")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "mem: no LLM is configured: set llm.model or llm.command in your own settings\n"


def test_what_says_the_same_in_other_words_is_merged_and_both_wordings_stay(
    mem: Mem, workspace: Path, known: dict[str, str], asked: Asked
) -> None:
    again = mem("write", AGAIN, "--no-dedup", "--json").json["id"]
    before = {path: path.read_bytes() for path in workspace.rglob("entries/**/*.md")}
    shown = mem("dedup", "--judge")
    assert (shown.code, shown.out.count("+superseded_by")) == (0, 1)
    assert {path: path.read_bytes() for path in before} == before
    assert mem("dedup", "--apply").out == ""
    ran = mem("dedup", "--judge", "--apply", "--json").json
    assert [(one["kept"], one["merged"]) for one in ran["groups"]] == [(known[GATE], [again])]
    assert mem("read", known[GATE], "--json").json["fields"]["wordings"] == [GATE]
    assert statuses(mem) == {known[GATE]: "active", known[SEARCH]: "active", again: "superseded"}
    assert mem("dedup", "--judge", "--apply").out == ""
    assert mem("restore", again).code == 0


def test_an_entry_that_is_alike_to_two_others_in_two_ways_takes_in_both(
    mem: Mem, workspace: Path, known: dict[str, str], asked: Asked
) -> None:
    told = ("--no-dedup", "--json")
    others = {mem("write", text, *told).json["id"] for text in (AGAIN, f"{GATE.lower()}.", GATE.upper())}
    (group,) = mem("dedup", "--judge", "--apply", "--json").json["groups"]
    assert (group["kept"], set(group["merged"])) == (known[GATE], others)


@pytest.mark.parametrize("field", [("--project", "--project"), ("--title", "--title"), ("--key", "--key")])
def test_what_is_about_two_things_by_name_is_not_even_asked_about(
    mem: Mem, workspace: Path, asked: Asked, field: tuple[str, str]
) -> None:
    mem("write", GATE, "--no-dedup", field[0], "shed")
    mem("write", AGAIN, "--no-dedup", field[1], "house")
    assert mem("dedup", "--judge", "--apply").out == ""
    assert asked() == []


def test_dedup_goes_on_word_for_word_where_the_llm_is_down(
    mem: Mem, workspace: Path, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (AGAIN, GATE.upper()):
        mem("write", text, "--no-dedup")
    monkeypatch.setenv("MEM_LLM_COMMAND", "false")
    ran = mem("dedup", "--judge", "--apply")
    assert (ran.code, len(ran.rows), ran.err.count("could not judge")) == (7, 1, 1)


@pytest.fixture
def flags(mem: Mem, workspace: Path) -> dict[str, tuple[str, str]]:
    """Give the ids (older, newer) of flagged pairs, by the text of the newer."""
    return {new: flagged(mem, old, new, source="user") for old, new in ((GATE, AGAIN), (SEARCH, MOVED))}


def proposals(mem: Mem) -> dict[str, str]:
    found = mem("review", "--json").json["questions"]
    return {one["memories"][0]["text"]: one["proposal"]["decision"] for one in found if one["proposal"]}


def test_an_llm_proposes_and_a_person_takes_it_with_one_key(
    mem: Mem, workspace: Path, world: Path, flags: dict[str, tuple[str, str]], asked: Asked
) -> None:
    flagged(mem, "The attic is cold", "The attic is dry")
    ran = mem("review", "--judge", "--json")
    assert (ran.code, "looked at 3 pairs: 3 with a proposal" in ran.err) == (0, True)
    assert proposals(mem) == {AGAIN: "same", MOVED: "newer", "The attic is dry": "keep"}
    assert set(statuses(mem).values()) == {"active"}
    assert len(asked()) == 1
    mem("review", "--judge")
    assert len(asked()) == 1  # nobody is asked twice
    with Terminal(world, "review") as person:
        for _ in range(3):
            person.until("[y] as proposed")
            person.until(" ? ")
            person.press("y\n")
        assert person.end() == 0
        assert "3 answered" in person.shown
    assert queue(mem) == []
    assert statuses(mem)[flags[MOVED][0]] == "superseded"
    assert mem("read", flags[AGAIN][0], "--json").json["fields"]["wordings"] == [GATE]


def test_where_the_user_lets_it_an_llm_decides_within_the_rules_of_trust(
    mem: Mem, workspace: Path, flags: dict[str, tuple[str, str]], asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_user, seen = flagged(mem, "The shop's search runs on Elasticsearch", SHOP, source="user", newer="observed")
    pinned, newer = flagged(mem, "The door of the garden is green", DOOR, source="user")
    mem("write", "--id", pinned, "--pinned")
    with (workspace / "mem.yaml").open("a") as file:
        file.write("llm:\n  decides: true\n")
    mem("review", "--judge")
    assert set(statuses(mem).values()) == {"active"}, "a clone does not let an LLM decide"
    assert proposals(mem) == {AGAIN: "same", MOVED: "newer", SHOP: "newer", DOOR: "newer"}
    monkeypatch.setenv("MEM_LLM_DECIDES", "on")
    ran = mem("review", "--judge")
    assert "2 settled, 2 with a proposal" in ran.err
    found = statuses(mem)
    assert (found[flags[MOVED][0]], found[flags[AGAIN][1]]) == ("superseded", "superseded")
    assert (found[of_user], found[seen], found[pinned], found[newer]) == ("active",) * 4
    assert proposals(mem) == {SHOP: "newer", DOOR: "newer"}


def test_a_review_goes_on_where_the_llm_is_down(
    mem: Mem, workspace: Path, flags: dict[str, tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_LLM_COMMAND", "false")
    ran = mem("review", "--judge", "--json")
    assert (ran.code, len(ran.json["questions"]), ran.err.count("could not judge")) == (7, 2, 1)
    assert proposals(mem) == {}


@cases("words")
def test_nobody_is_asked_to_judge_what_is_compared_with_nothing(
    mem: Mem, workspace: Path, asked: Asked, words: tuple[str, ...]
) -> None:
    ran = mem(*words, "--judge", stdin="")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "--judge" in ran.err
    assert asked() == []


def test_an_llm_that_is_down_is_asked_once_about_a_conversation(
    mem: Mem, workspace: Path, world: Path, known: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (world / "llm").write_text("#!/bin/sh\necho asked >> asked.txt\nexit 1\n")
    (world / "llm").chmod(0o755)
    monkeypatch.setenv("MEM_LLM_COMMAND", str(world / "llm"))
    (world / "chat.txt").write_text(f"User: Remember this: {AGAIN}.\nAssistant: Noted.\n")
    ran = mem("consolidate", "chat.txt", "--judge")
    assert (ran.code, ran.err.count("\n")) == (7, 1)
    assert (world / "asked.txt").read_text() == "asked\n"


def test_without_the_model_dedup_goes_word_for_word_and_says_so(
    mem: Mem, workspace: Path, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (GATE, AGAIN, GATE.upper()):
        mem("write", text, "--no-dedup")
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    ran = mem("dedup", "--judge", "--apply")
    assert (ran.code, len(ran.rows), asked()) == (0, 1, [])
    assert "is not looked for" in ran.err
    mem("review", "--json")  # the queue needs no model either
    assert mem("review", "--judge").code == 0
