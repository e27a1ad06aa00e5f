"""A stored question is not taken for its answer."""

from pathlib import Path

from memcli.search.ranking import only_asks
from tests.conftest import Mem
from tests.tables import cases


@cases("question", "stored", "answer")
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
