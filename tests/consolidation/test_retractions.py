"""What a user takes back in a later message is not kept, and what only sounds like that takes nothing away."""

from pathlib import Path

import pytest

from tests.consolidation.test_rule_extractor import found


def kept(tmp_path: Path, *said: str) -> str:
    messages = [message for text in said for message in (("user", text), ("assistant", "Okay."))]
    return "\n".join(draft.body for draft in found(tmp_path, *messages).drafts)


@pytest.mark.parametrize(
    ("stated", "taken_back", "word"),
    [
        ("My parrot is called Kiko.", "hm no, forget that, Kiko is my cousin's parrot", "My parrot"),
        ("We use Kotlin for the tills.", "oh forget it", "Kotlin"),
        ("Never phone me on weekends.", "never mind", "weekends"),
        ("Remember that I like opera.", "please forget that I like opera", "opera"),
        ("Remember that my brother works at Bosch.", "oh, forget that my brother works at Bosch", "Bosch"),
        ("Wir nutzen Kotlin für die Kassen.", "ach, vergiss das", "Kotlin"),
        ("Mein Onkel wohnt in Trier.", "vergiss, dass mein Onkel in Trier wohnt", "Trier"),
        ("Notre entrepôt est à Anvers.", "pardon, oublie ça", "Anvers"),
        ("Nuestra oficina está en Burgos.", "perdón, olvida eso", "Burgos"),
    ],
)
def test_what_a_later_message_takes_back_is_not_kept(tmp_path: Path, stated: str, taken_back: str, word: str) -> None:
    assert word in kept(tmp_path / "before", stated)
    assert word not in kept(tmp_path / "after", stated, taken_back)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ("Never merge without asking me.", "ok, you can merge it now"),
        ("Never use semicolons in this project.", "stop using semicolons, please"),
        ("Our warehouse is in Antwerp.", "don't forget that the warehouse in Antwerp is closed"),
        ("The tests run every night on the Jenkins box in Oslo.", "forget about the tests for now"),
        ("Our warehouse is in Antwerp.", "that's not true, the build needs node 20"),
        ("We use Kotlin for the tills.", "just testing the new printer with a long receipt in the shop today"),
        ("Always answer in Danish.", "stop the server in Aarhus"),
    ],
)
def test_what_speaks_of_something_else_takes_nothing_back(tmp_path: Path, stated: str, said: str) -> None:
    assert stated.rstrip(".") in kept(tmp_path, stated, said)


def test_what_is_said_beside_taking_back_is_kept(tmp_path: Path) -> None:
    told = kept(tmp_path, "Our warehouse is in Antwerp.", "never mind. My sister Ilse runs the bakery in Ghent.")
    assert "Antwerp" not in told
    assert "Ilse runs the bakery" in told


def test_an_assistant_takes_nothing_back(tmp_path: Path) -> None:
    said = found(tmp_path, ("user", "Our warehouse is in Antwerp."), ("assistant", "Never mind, forget that."))
    assert [draft.body for draft in said.drafts] == ["Our warehouse is in Antwerp."]
