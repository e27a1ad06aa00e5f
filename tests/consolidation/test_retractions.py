"""What a user takes back in a later message is not kept, and what only sounds like that takes nothing away."""

from pathlib import Path

from tests.consolidation.test_rule_extractor import found
from tests.tables import cases


def kept(tmp_path: Path, *said: str) -> str:
    messages = [message for text in said for message in (("user", text), ("assistant", "Okay."))]
    return "\n".join(draft.body for draft in found(tmp_path, *messages).drafts)


@cases("stated", "taken_back", "word")
def test_what_a_later_message_takes_back_is_not_kept(tmp_path: Path, stated: str, taken_back: str, word: str) -> None:
    assert word in kept(tmp_path / "before", stated)
    assert word not in kept(tmp_path / "after", stated, taken_back)


@cases("stated", "said")
def test_what_speaks_of_something_else_takes_nothing_back(tmp_path: Path, stated: str, said: str) -> None:
    assert stated.rstrip(".") in kept(tmp_path, stated, said)


def test_what_is_said_beside_taking_back_is_kept(tmp_path: Path) -> None:
    told = kept(tmp_path, "Our warehouse is in Antwerp.", "never mind. My sister Ilse runs the bakery in Ghent.")
    assert "Antwerp" not in told
    assert "Ilse runs the bakery" in told


def test_an_assistant_takes_nothing_back(tmp_path: Path) -> None:
    said = found(tmp_path, ("user", "Our warehouse is in Antwerp."), ("assistant", "Never mind, forget that."))
    assert [draft.body for draft in said.drafts] == ["Our warehouse is in Antwerp."]
