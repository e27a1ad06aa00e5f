"""A key is a slot with one active value: the new one takes the place of the old, and every value stays readable."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem

At = Callable[..., list[str]]


@pytest.fixture
def at(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> At:
    """Give a function that writes on a day; gives the row printed."""

    def write(day: str, text: str, *options: str) -> list[str]:
        monkeypatch.setenv("MEM_NOW", f"{day}T10:00:00Z")
        ran = mem("write", text, *options)
        assert ran.code == 0, ran.err
        return ran.rows[0]

    return write


def active(mem: Mem, *options: str) -> list[str]:
    return [row[0] for row in mem("ls", "--key", "*", *options).rows]


PORT = ("--key", "staging/port")


@pytest.mark.parametrize("words", ["The staging database is at 6543", "6543 it is, says Rita", "Nobody uses it now"])
def test_a_new_value_takes_the_place_of_the_old_one_whatever_its_words(mem: Mem, at: At, words: str) -> None:
    old = at("2026-01-10", "Staging listens on port 5432", *PORT)
    new = at("2026-02-10", words, *PORT)
    assert new[0] == "created"
    assert new[3] == f"supersedes {old[1]}"
    assert mem("read", "--key", "staging/port").out == f"{words}\n"
    assert [hit["id"] for hit in mem("search", "staging port", "--json").json["hits"]].count(old[1]) == 0
    rows = mem("read", "--key", "staging/port", "--history").rows
    assert [(row[0], row[1], row[2], row[3]) for row in rows] == [
        ("2026-01-10", "2026-02-10", "superseded", "user"),
        ("2026-02-10", "", "active", "user"),
    ]
    back = at("2026-03-10", "Staging listens on port 5432", *PORT)
    assert back[3] == f"supersedes {new[1]}", "the old value comes back as a value of its own"
    assert active(mem) == [back[1]]


@pytest.mark.parametrize("doors", [("--no-dedup",), ("--path", "port.md"), ()])
def test_every_way_of_writing_minds_the_key(mem: Mem, at: At, doors: tuple[str, ...]) -> None:
    old = at("2026-01-10", "Port 5432", *PORT)
    new = at("2026-02-10", "Port 6543", *PORT, *doors)
    assert active(mem) == [new[1]]
    assert old[1] in new[3]
    third = at("2026-03-10", "Port 7654", "--supersedes", new[1])
    assert active(mem) == [third[1]], "the successor fills the slot of what it replaces"
    loose = at("2026-04-10", "Port 8765", "--no-dedup")
    at("2026-04-11", "Port 8765", "--id", loose[1], *PORT)
    assert active(mem) == [loose[1]]


def test_one_key_holds_one_value_under_whatever_title(mem: Mem, at: At) -> None:
    at("2026-01-10", "Port 5432", *PORT, "--title", "Before")
    new = at("2026-02-10", "Port 6543", *PORT, "--title", "After")
    assert active(mem) == [new[1]]


def test_a_key_without_a_comparison_opens_no_model(mem: Mem, at: At, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memcli.index.embeddings.open_embedder", None)
    at("2026-01-10", "Port 5432", *PORT, "--no-dedup")
    new = at("2026-02-10", "Port 6543", *PORT, "--no-dedup")
    assert active(mem) == [new[1]]


def test_an_explicit_change_fills_the_slot_of_what_it_ends(mem: Mem, at: At) -> None:
    at("2026-01-10", "The staging port is 5432", *PORT)
    new = at("2026-02-10", "Correction: the staging port is 6543")
    assert active(mem) == [new[1]]


def test_the_same_value_again_is_confirmed(mem: Mem, at: At) -> None:
    first = at("2026-01-10", "Port 5432", *PORT)
    assert at("2026-02-10", "port 5432.", *PORT)[:2] == ["merged", first[1]]
    assert active(mem) == [first[1]]


def test_who_is_trusted_less_replaces_nobody_and_both_are_flagged(mem: Mem, at: At) -> None:
    said = at("2026-01-10", "Port 5432", *PORT)
    guess = at("2026-02-10", "Port 6543", *PORT, "--source", "inferred")
    assert guess[3] == f"conflicts with {said[1]}"
    ran = mem("read", "--key", "staging/port")
    assert ran.out == "Port 5432\n"
    assert guess[1] in ran.err
    now = at("2026-03-10", "Port 7654", *PORT)
    assert active(mem) == [now[1]]


def test_what_was_true_before_is_no_news(mem: Mem, at: At) -> None:
    now = at("2026-05-10", "Port 5432", *PORT)
    old = at("2026-06-10", "Port 1234", *PORT, "--created-at", "2026-01-01")
    assert old[3] == f"superseded by {now[1]}"
    assert active(mem) == [now[1]]
    assert mem("read", "--key", "staging/port", "--as-of", "2026-03").out == "Port 1234\n"


def test_a_key_is_one_a_project(mem: Mem, at: At) -> None:
    shop, blog = (at("2026-01-10", f"Port of {name}", *PORT, "--project", name)[1] for name in ("shop", "blog"))
    assert set(active(mem)) == {shop, blog}
    ran = mem("read", "--key", "staging/port")
    assert (ran.code, "--project blog" in ran.err) == (4, True)
    assert mem("read", "--key", "staging/port", "--project", "shop").out == "Port of shop\n"


@pytest.mark.parametrize("key", ["Coffee order", "a/b/c", "服务器/端口", "straße", "  Staging / Port  ", "x" * 200])
def test_a_key_may_be_any_words_and_is_found_in_any_case(mem: Mem, at: At, key: str) -> None:
    old = at("2026-01-10", "One", "--key", key)
    new = at("2026-02-10", "Two", "--key", key.upper() if "ß" not in key else key)
    assert active(mem) == [new[1]]
    assert old[1] in new[3]


@pytest.mark.parametrize("key", ["x" * 201, "a\nb", "\x1b[31m"])
def test_a_key_that_cannot_be_one_is_refused_in_one_line(mem: Mem, workspace: Path, key: str) -> None:
    ran = mem("write", "One", "--key", key)
    assert (ran.code, ran.out) == (2, "") or " ".join(key.split()) != key
    assert ran.err.count("\n") <= 1


def test_two_files_with_one_key_are_both_kept_until_one_is_written_anew(mem: Mem, at: At, workspace: Path) -> None:
    for name in ("a", "b"):
        path = workspace / "entries" / f"{name}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"---\nid: mem_{name * 16}\nkey: staging/port\nsource: user\n---\n\nPort {name}\n")
    assert len(active(mem)) == 2
    assert "both fill" in mem("read", "--key", "staging/port").err
    new = at("2026-12-10", "Port c", *PORT)
    assert active(mem) == [new[1]]


def test_forgetting_and_restoring_mind_the_key(mem: Mem, at: At) -> None:
    old = at("2026-01-10", "Port 5432", *PORT)
    new = at("2026-02-10", "Port 6543", *PORT)
    assert mem("restore", old[1]).code == 0
    assert active(mem) == [old[1]], "who restores a value says that it holds"
    assert [row[4] for row in mem("read", "--key", "staging/port", "--history").rows] == [old[1], new[1]]
    mem("forget", old[1])
    assert mem("read", "--key", "staging/port").code == 4


def test_a_path_written_again_is_changed_and_the_old_text_stays(mem: Mem, at: At) -> None:
    first = at("2026-01-10", "Status: green", "--path", "projects/shop/status.md")
    again = at("2026-02-10", "Status: red", "--path", "projects/shop/status.md")
    assert again[:2] == ["updated", first[1]]
    assert at("2026-02-11", "Status: red", "--path", "projects/shop/status.md")[0] == "unchanged"
    assert [row[4] for row in mem("read", first[1], "--history").rows[:2]] == ["Status: green", "Status: red"]


def test_names_of_keys_are_completed_and_narrow_every_list(mem: Mem, at: At) -> None:
    at("2026-01-10", "Port 5432", *PORT)
    at("2026-01-10", "Rita drinks tea", "--key", "rita/drink")
    from memcli.cli import completion

    assert [name for name, _ in completion.keys("sta")] == ["staging/port"]
    assert [row[4] for row in mem("ls", "--key", "RITA/*").rows] == ["Rita drinks tea"]
    assert [hit["summary"] for hit in mem("search", "port", "--key", "staging/*", "--json").json["hits"]] == [
        "Port 5432"
    ]
    assert json.loads(mem("export", "--key", "rita/*").out.splitlines()[-1])["path"].startswith("entries/")


def test_what_was_believed_then_is_shown_by_every_command(mem: Mem, at: At) -> None:
    old = at("2026-01-10", "Staging listens on port 5432", *PORT)
    edited = at("2026-01-12", "Rita leads payments")
    at("2026-02-10", "Staging listens on port 6543", *PORT)
    at("2026-02-11", "Tom leads payments", "--id", edited[1])
    then = ("--as-of", "2026-01-31")
    assert {row[4] for row in mem("ls", *then).rows} == {"Staging listens on port 5432", "Rita leads payments"}
    assert [row[1] for row in mem("search", "staging port", *then).rows][:1] == [old[1]]
    assert mem("read", edited[1], *then).out == "Rita leads payments\n"
    assert mem("read", "--key", "staging/port", *then).out == "Staging listens on port 5432\n"
    told = mem("recall", "which port does staging listen on", *then).out
    assert ("5432" in told, "6543" in told) == (True, False)
    assert mem("ls", "--as-of", "2025").rows == []
    assert mem("read", edited[1], "--as-of", "2025").code == 4
    assert mem("ls", "--as-of", "someday").code == 2


def test_a_key_that_an_llm_gives_takes_the_old_value_s_place(
    mem: Mem, at: At, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = at("2026-01-10", "Staging listens on port 5432", *PORT)
    said = {"role": "user", "content": "Staging listens on 6543 from today", "timestamp": "2026-02-10T09:00:00Z"}
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps(said) + "\n" + json.dumps({"role": "assistant", "content": "Noted."}) + "\n")
    entry = {"content": "Staging listens on 6543", "source": "user_stated", "key": "Staging/Port", "type": "fact"}
    broken = {"content": "Rita drinks green tea", "key": "x" * 999}
    reply = tmp_path / "reply.json"
    reply.write_text(json.dumps({"history_entry": "They spoke.", "entries": [entry, broken]}))
    monkeypatch.setenv("MEM_LLM_COMMAND", f"cat {reply}")
    monkeypatch.setenv("MEM_NOW", "2026-02-11T10:00:00Z")
    assert mem("session", "import", str(talk)).code == 0
    assert mem("consolidate", "--all").code == 0
    assert mem("read", "--key", "staging/port").out == "Staging listens on 6543\n"
    assert mem("read", "--key", "staging/port", "--history").rows[0][4] == old[1]
    assert "Rita drinks green tea" in mem("ls").out


def test_the_memory_tool_names_a_value_by_its_key(mem: Mem, at: At) -> None:
    first = at("2026-01-10", "Port 5432", *PORT)

    def tool(command: str, **told: str) -> str:
        return mem(
            "memory-tool", stdin=json.dumps({"command": command, "path": "/memories/staging/port.md", **told})
        ).out

    assert "Port 5432" in tool("view")
    assert "already exists" in tool("create", file_text="Port 1")
    tool("str_replace", old_str="5432", new_str="6543")
    assert mem("read", "--key", "staging/port").out == "Port 6543\n"
    assert [row[6] for row in mem("read", "--key", "staging/port", "--history").rows] == ["Port 5432", "Port 6543"]
    tool("delete")
    assert mem("read", first[1]).code == 0
    assert active(mem) == []
