"""A prompt that asks several things gets memory for each of them; one that asks one thing is searched for once."""

import json
from pathlib import Path

import pytest

from memcli.search.search import MOST, parts_of
from tests.conftest import Mem
from tests.tables import cases

ORCHARD = (
    "We prune the pear trees in late February, before the sap rises.",
    "Pear tree number four has fire blight.",
    "The pear orchard was planted in 1987.",
    "The trees of the orchard are sprayed in May.",
    "Neighbour Ottavio lends us the three-legged ladder.",
    "The luthier in Bergen charges 350 kroner for new strings.",
    "The choir meets on Tuesdays in the chapel.",
)
PEARS, LADDER, LUTHIER, CHOIR = ORCHARD[0], ORCHARD[4], ORCHARD[5], ORCHARD[6]


@pytest.fixture
def known(mem: Mem, workspace: Path) -> None:
    """Fill a workspace in which one subject has more memories than the others."""
    lines = "".join(f"{json.dumps({'text': text, 'type': 'fact'})}\n" for text in ORCHARD)
    assert mem("import", "-", stdin=lines).code == 0


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("prompt", "wanted"),
    [
        ("When do we have to prune the pear trees, and who lends us the ladder?", {PEARS, LADDER}),
        ("Who lends us the ladder? And when must the pear trees be pruned?", {PEARS, LADDER}),
        ("when are the pear trees pruned and what does the luthier charge", {PEARS, LUTHIER}),
        ("Tell me when we prune the pear trees and where the choir meets.", {PEARS, CHOIR}),
        ("Which neighbour lends a ladder; what does the luthier charge; when does the choir meet?",
         {LADDER, LUTHIER, CHOIR}),
    ],
)  # fmt: skip
def test_every_question_of_a_prompt_gets_its_memory(mem: Mem, prompt: str, wanted: set[str]) -> None:
    chosen = mem("recall", prompt, "--json").json["chosen"]
    assert wanted <= {memory["text"] for memory in chosen}
    assert len({memory["asked"] for memory in chosen if memory["text"] in wanted}) == len(wanted)


@pytest.mark.usefixtures("known")
def test_the_best_of_each_question_is_kept_where_a_layer_has_room_for_few(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_RECALL_LIMIT_SEMANTIC", "2")
    monkeypatch.setenv("MEM_RECALL_CUTOFF", "0")
    chosen = mem("recall", "When are the pear trees pruned, and who lends us the ladder?", "--json").json["chosen"]
    assert {memory["text"] for memory in chosen} == {PEARS, LADDER}


@pytest.mark.usefixtures("known")
def test_a_question_that_memory_has_nothing_for_adds_nothing(mem: Mem) -> None:
    alone = mem("recall", "When do we prune the pear trees?", "--json").json["chosen"]
    both = mem("recall", "When do we prune the pear trees, and who invented the zipper?", "--json").json["chosen"]
    assert {memory["text"] for memory in both} <= {memory["text"] for memory in alone}


@pytest.mark.parametrize(
    "prompt",
    [
        "Where does Ada live?",
        "Plan the restaurants for the Azores trip",
        "What do I take for breakfast and lunch?",
        "Where is the house where Anna lived?",
        "I met Tom, who knows the tractor, and Ingrid.",
        "When did Ada meet Tom on a hike and have a bad experience?",
        "When I write a letter to the bank, what should I mention?",
        "Bart: Do you like magic?\nAssistant: Sure! What trick?\nBart: I show a card trick at the party.",
        "Who is Ada and where does she live?",  # "she" alone says nothing
        "",
    ],
)
def test_one_question_has_no_parts(prompt: str) -> None:
    assert parts_of(prompt) == ()


@cases("prompt", "parts")
def test_questions_are_told_apart_in_several_languages(prompt: str, parts: list[str]) -> None:
    assert [*parts_of(prompt)] == parts


def test_a_prompt_of_many_questions_costs_a_bounded_number_of_searches() -> None:
    assert len(parts_of(" ".join(f"Who owns boat {number}?" for number in range(50)))) == MOST
