"""What was said later about the same stands first, or is shown besides; nothing on disk changes."""

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem

FIRST = "The rent of the flat in Elm Street is 1,400 euros a month."
THEN = "The rent of the flat in Elm Street is 1,450 euros a month now."


@pytest.fixture
def put(mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give a function that keeps a memory at a day, and returns what `mem read` takes for it."""

    def kept(day: str, text: str, *options: str) -> str:
        monkeypatch.setenv("MEM_NOW", f"{day}T10:00:00Z")
        words = options if options[:1] == ("note",) else ("write", "--no-dedup", "--json", *options)
        ran = mem(*words, text)
        assert ran.code == 0, ran.err
        monkeypatch.setenv("MEM_NOW", "2026-11-21T20:15:03Z")
        return f"notes/{day}.md#10:00" if options[:1] == ("note",) else str(ran.json["id"])

    return kept


def shown(mem: Mem, query: str, *options: str) -> list[tuple[str, str]]:
    return [(hit["id"], hit["later_than"]) for hit in mem("search", query, "--json", *options).json["hits"]]


def test_the_later_of_two_alike_and_nearly_equal_comes_first(mem: Mem, put: Any) -> None:
    old, new = put("2026-05-01", FIRST), put("2026-09-01", THEN)
    hits = mem("search", "What is the rent of the flat in Elm Street?", "--json", "--explain").json["hits"]
    assert [hit["id"] for hit in hits] == [new, old]
    for hit in hits:
        assert sum(hit["parts"].values()) == pytest.approx(hit["relevance"], abs=0.001)
    last = put("2026-10-01", FIRST.replace("1,400", "1,500"))
    assert [identifier for identifier, _ in shown(mem, "rent of the flat in Elm Street")] == [last, new, old]


def test_nothing_is_the_later_of_what_has_expired_and_is_not_shown(mem: Mem, put: Any) -> None:
    put("2026-05-01", FIRST, "--expires-at", "2026-06-01")
    put("2026-09-01", THEN)
    chosen = mem("recall", "What is the rent of the flat in Elm Street?", "--json").json["chosen"]
    assert [(memory["text"], memory["later_than"]) for memory in chosen] == [(THEN, "")]


def test_words_alone_do_not_tell_what_is_alike(mem: Mem, put: Any) -> None:
    old, new = put("2026-05-01", "Rent, rent: 1,400 euros."), put("2026-09-01", "The rent is 1,450 euros now.")
    assert [identifier for identifier, _ in shown(mem, "rent", "--mode", "keyword")] == [old, new]
    assert [identifier for identifier, _ in shown(mem, "rent")] == [new, old]


def test_of_two_that_fill_one_key_the_later_is_named(mem: Mem, put: Any) -> None:
    old = put("2026-05-01", "Staging runs on host a.", "--key", "staging/host", "--source", "user")
    new = put("2026-06-01", "Staging runs on host b.", "--key", "staging/host", "--source", "inferred")
    hits = mem("search", "Where does staging run?", "--json").json["hits"]
    assert {hit["id"]: (hit["outdated_by"], hit["conflicts_with"]) for hit in hits} == {
        old: (new, [new]),
        new: ("", [old]),
    }


def test_who_is_trusted_less_does_not_come_first_by_being_later(mem: Mem, put: Any) -> None:
    old = put("2026-05-01", FIRST, "--source", "user")
    put("2026-09-01", f"{THEN} Or so.", "--source", "inferred")
    assert shown(mem, FIRST)[0] == (old, "")


def test_a_later_entry_comes_before_a_note_of_another_day(mem: Mem, put: Any) -> None:
    note = put("2026-05-01", "User: The dentist appointment with Dr. Lang is on 12 June at nine.", "note")
    entry = put("2026-06-01", "The appointment at the dentist was moved to 19 June.")
    query = "When is the dentist appointment with Dr. Lang?"
    assert [identifier for identifier, _ in shown(mem, query)] == [entry, note]
    recalled = mem("recall", query, "--only", "relevant", "--json").json["chosen"]
    assert [(memory["id"], memory["later_than"]) for memory in recalled] == [(entry, note), (note, "")]


def test_a_note_of_the_same_day_keeps_its_place(mem: Mem, put: Any) -> None:
    note = put("2026-05-01", "User: The dentist appointment with Dr. Lang is on 12 June at nine.", "note")
    put("2026-05-01", "The appointment at the dentist was moved to 19 June.")
    assert shown(mem, "When is the dentist appointment with Dr. Lang?")[0] == (note, "")


def test_what_was_said_later_is_shown_besides_where_others_are_better(mem: Mem, put: Any) -> None:
    old = put("2026-05-01", "Ben owes Anna 80 euros for the concert tickets.")
    new = put("2026-06-01", "Ben paid Anna the 80 euros for the concert tickets back.")
    for number in range(6):
        put("2026-05-02", f"Ben owes somebody {number + 2} euros.")
    assert shown(mem, "Ben owes Anna euros", "-n", "1") == [(old, ""), (new, old)]
    rows = mem("search", "Ben owes Anna euros", "-n", "1").rows
    assert [row[6:] for row in rows] == [[], [f"says later what {old} says"]]
    assert len(shown(mem, "Ben owes", "-n", "3")) <= 5


def test_what_is_dated_in_the_future_or_on_one_day_is_in_the_order_of_ids(mem: Mem, put: Any) -> None:
    later = put("2027-06-01", FIRST)
    also = put("2028-06-01", THEN)
    assert {identifier for identifier, _ in shown(mem, FIRST)} == {later, also}


def test_a_thousand_neighbours_add_two_at_most(mem: Mem, put: Any, workspace: Path) -> None:
    for number in range(300):
        (workspace / "entries" / f"{number}.md").parent.mkdir(exist_ok=True)
        (workspace / "entries" / f"{number}.md").write_text(
            f"---\nid: mem_n{number:03}\ncreated_at: 2026-01-01T00:{number // 60:02}:{number % 60:02}Z\n---\n\n"
            f"The rent of flat {number} in Elm Street is {1000 + number} euros a month.\n"
        )
    hits = shown(mem, "What is the rent of flat 7 in Elm Street?")
    assert len(hits) <= 7
    assert [than for _, than in hits[:5]] == [""] * 5
