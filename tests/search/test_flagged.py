"""Memories that may contradict each other are read together, and a question is not taken for its answer."""

from pathlib import Path

import pytest

from memcli.search.ranking import only_asks
from tests.conftest import Mem


def write(mem: Mem, monkeypatch: pytest.MonkeyPatch, day: str, text: str, *options: str) -> str:
    monkeypatch.setenv("MEM_NOW", f"{day}T10:00:00Z")
    return mem("write", text, *options).rows[0][1]


def test_a_flagged_pair_is_shown_together_the_newer_first(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write(mem, monkeypatch, "2026-01-10", "The staging port of the shop database is 5432")
    for number in range(6):
        write(mem, monkeypatch, "2026-01-11", f"The staging port of service {number} in the shop is {number}999")
    new = write(mem, monkeypatch, "2026-02-10", "It moved", "--conflicts-with", old)
    mem("write", "--id", old, "--conflicts-with", new)
    monkeypatch.setenv("MEM_NOW", "2026-02-11T10:00:00Z")
    hits = mem("search", "staging port of the shop database", "--json").json["hits"]
    assert [hit["id"] for hit in hits[:2]] == [new, old], "though their words say nothing of each other"
    assert (hits[1]["outdated_by"], hits[0]["outdated_by"]) == (new, "")
    assert (hits[0]["conflicts_with"], hits[1]["conflicts_with"]) == ([old], [new])
    assert len(hits) == 5
    row = next(row for row in mem("search", "staging port of the shop database").rows if row[1] == old)
    assert row[-1] == f"may be outdated by {new}"
    told = mem("recall", "what is the staging port of the shop database?").out
    assert 0 < told.index(f'id="{new}"') < told.index(f'id="{old}"')
    explained = mem("search", "staging port of the shop database", "--explain", "--json").json["hits"]
    assert all(abs(sum(hit["parts"].values()) - hit["relevance"]) < 0.001 for hit in explained)
    mem("supersede", old, new)
    hits = mem("search", "staging port of the shop database", "--json").json["hits"]
    assert old not in [hit["id"] for hit in hits], "what is over is never shown as current"
    assert all(not hit["conflicts_with"] for hit in hits)


@pytest.mark.parametrize(
    ("question", "stored", "answer"),
    [
        (
            "which port is the staging database on",
            "User asked: which port is the staging database on? No answer.",
            "Staging Postgres listens on 5433",
        ),
        (
            "when does the export run",
            "Should we move the export to 03:00? When does the export run?",
            "Exports start at two in the morning",
        ),
        ("who leads payments", "Who leads payments?", "Rita has been head of the payments team since May"),
    ],
)
def test_a_stored_question_never_outranks_its_answer(
    mem: Mem, workspace: Path, question: str, stored: str, answer: str
) -> None:
    mem("write", stored, "--type", "episode", "--no-dedup")
    mem("history", "add", stored)
    right = mem("write", answer, "--no-dedup").rows[0][1]
    assert mem("search", question).rows[0][1] == right


def test_what_tells_too_is_no_question() -> None:
    words = {"port", "staging", "database"}
    assert only_asks("Which port is the staging database on? No idea.", words)
    assert not only_asks("Which port? The staging database is on port 5432.", words)
    assert not only_asks("The staging database is on port 5432", words)


def test_a_request_that_tells_a_lot_is_no_question_alone() -> None:
    request = (
        "I moved our shop from MySQL to Postgres last week, staging first, because of the nightly locks in orders, so"
        " could you write the migration notes for the port, the user and the two schemas of the staging database?"
    )
    assert not only_asks(request, {"port", "staging", "database"})
    assert only_asks("Could you tell me once more which port it is, as I always forget?", {"port"})
