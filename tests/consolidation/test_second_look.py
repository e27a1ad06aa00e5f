"""What says nothing by itself is left to the conversation; a rule, a correction and a short answer are not."""

import json

import pytest

from memcli.consolidation.candidates import Candidate
from memcli.consolidation.worth import SECOND_FILE, Worth, second_features, stands_alone
from memcli.language.linear_model import load
from tests.conftest import Mem

PAIRS = (
    ("it's the second one from the left.", "the stopcock of the cellar is the second one from the left."),
    ("they moved it to the other shed.", "Marta and Piet moved the kiln to the shed in Dorpstraat 14."),
    ("then he does the rest.", "Janek does the accounts of the choir until the 30th of June."),
    ("es ist dann doch der andere.", "Der Impftermin von Ida ist am 12. Mai bei Dr. Vogel."),
)


def chance(text: str, **told: object) -> float:
    """Give the probability of a user's fact that the first look is rather sure of."""
    return stands_alone(Candidate(text, "user", **told), Worth(0.8, "fact"))  # type: ignore[arg-type]


@pytest.mark.parametrize(("fragment", "whole"), PAIRS)
def test_what_lacks_its_subject_stands_below_the_same_with_it(fragment: str, whole: str) -> None:
    assert chance(fragment) < chance(whole)


@pytest.mark.parametrize("text", ["", "?", "🙂", "x" * 100_000, "港口是 4417", "a\0b", "\ud800"])
@pytest.mark.parametrize("sure", [0.0, 0.5, 1.0])
def test_every_score_is_a_probability_whatever_the_text(text: str, sure: float) -> None:
    assert 0 <= stands_alone(Candidate(text, "user"), Worth(sure, "")) <= 1


def test_the_installed_file_is_made_for_these_features() -> None:
    count = len(second_features(Candidate("", "user"), Worth(0.5, "")))
    assert load(SECOND_FILE, "says something by itself", count).size == 0


def kept(mem: Mem, *said: tuple[str, str]) -> list[str]:
    lines = "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in said)
    assert mem("session", "append", "-", "--session", "a", stdin=lines).code == 0
    assert mem("consolidate", "a").code == 0
    return [row["text"] if "text" in row else row["title"] for row in mem("ls", "--json").json["entries"]]


@pytest.mark.usefixtures("workspace")
def test_a_short_answer_with_a_number_is_kept_although_it_is_a_fragment(mem: Mem) -> None:
    asked = ("assistant", "How many hives does each of the two orchards have this year?")
    assert kept(mem, ("user", "help me plan the honey labels"), asked, ("user", "12 hives in each, so 24 in total."))
