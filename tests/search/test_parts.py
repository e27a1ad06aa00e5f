"""A prompt of several questions, and other names for what a query names."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memcli.index import database
from memcli.index.index import Index
from memcli.index.lookups import names_of_one
from memcli.search.query import parse_query, with_other_names
from memcli.search.search import MOST, parts_of
from memcli.store.workspace import Surroundings, opened
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


TEXTS = ("Kate was born on the third of May.", "Tom was born on the ninth of June.", "Kate keeps bees in Porto.")


@pytest.fixture
def people(mem: Mem, workspace: Path) -> Path:
    for text in TEXTS:
        assert mem("write", "--no-dedup", text).code == 0
    return workspace


def found(mem: Mem, query: str, mode: str = "keyword") -> list[str]:
    ran = mem("search", query, "--mode", mode, "--json")
    return [hit["summary"] for hit in ran.json["hits"]]


def test_an_alias_in_a_query_finds_what_names_the_title_or_another_alias(mem: Mem, people: Path) -> None:
    assert found(mem, "Where does Emi keep bees?") == [TEXTS[2]]
    assert TEXTS[0] not in found(mem, "Emi")
    assert mem("write", "Our neighbour.", "--title", "Katherine", "--alias", "Kate", "--alias", "Emi").code == 0
    for name in ("Emi", "emi", "Katherine", "Kate"):
        assert set(found(mem, name)) == {TEXTS[0], TEXTS[2], "Our neighbour."}, name
    assert found(mem, "When was Emi born?")[0] == TEXTS[0]


def test_names_by_hand_are_found_without_a_rebuild_and_gone_with_their_entry(mem: Mem, people: Path) -> None:
    assert found(mem, "Emi") == []
    file = people / "entries" / "names.md"
    file.write_text("---\naliases: [Kate, Emi]\n---\n\nKate = Emi\n")
    assert set(found(mem, "Emi")) == {TEXTS[0], TEXTS[2], "Kate = Emi"}
    file.unlink()
    assert found(mem, "Emi") == []


def test_the_name_itself_counts_more_than_another_one(mem: Mem, people: Path) -> None:
    assert mem("write", "--no-dedup", "Emi was born on the third of May.").code == 0
    (people / "entries" / "names.md").write_text("---\naliases: [Kate, Emi]\n---\n\nA neighbour.\n")
    for mode in ("keyword", "hybrid"):
        assert found(mem, "When was Emi born?", mode)[:2] == ["Emi was born on the third of May.", TEXTS[0]]
        assert found(mem, "When was Kate born?", mode)[:2] == [TEXTS[0], "Emi was born on the third of May."]


def test_a_hit_says_which_name_stands_in_it_and_its_parts_add_up(mem: Mem, people: Path) -> None:
    (people / "entries" / "names.md").write_text("---\naliases: [Kate, Emi]\n---\n\nA neighbour.\n")
    hit = mem("search", "When was Emi born?", "--json", "--explain").json["hits"][0]
    assert hit["matched"] == ["born", "Kate"]
    assert sum(hit["parts"].values()) == pytest.approx(hit["relevance"], abs=0.001)


@cases("query", "names", "others")
def test_a_name_is_said_by_all_its_words(query: str, names: tuple[str, ...], others: list[str]) -> None:
    told = with_other_names(parse_query(query), [names, ("Tom", "Tommy")])
    assert [one.name for one in told.other_names] == others


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("Ann Lee's desk", ["Nan"]),  # not that of the other Ann
        ("Ann's desk", ["Annabel"]),
        ("the coral reef", ["reefs"]),  # neither the language nor Mrs Coral
        ("Coral's desk", ["Corinne"]),
    ],
)
def test_a_name_of_two_is_the_one_that_is_written(query: str, others: list[str]) -> None:
    known = [("Ann", "Annabel"), ("Ann Lee", "Nan"), ("coral", "reefs"), ("Coral", "Corinne")]
    assert [one.name for one in with_other_names(parse_query(query), known).other_names] == others


def test_the_query_is_embedded_with_the_other_name_too() -> None:
    told = with_other_names(parse_query("When did emi choose a premium plan?"), [("Kate", "Emi", "…")])
    assert [text for text, _ in told.parts()] == [told.text, "When did Kate choose a premium plan?"]


def test_where_no_entry_has_aliases_none_is_looked_at(people: Path) -> None:
    where = opened(Surroundings(people, os.environ, datetime.now(UTC)), people)
    index = Index(where, *database.connect(None))
    run = index.connection.executemany
    numbers = [(number, f"{number}.md") for number in range(500)]
    run("insert into files values(?, ?, 'entry', 'active', 0, 0, 0, 0, 0, '', 1)", numbers)
    run("insert into entries(file, id, aliases) values(?, ?, '')", numbers)
    steps: list[int] = []
    index.connection.set_progress_handler(lambda: steps.append(1), 100)
    assert names_of_one(index) == []
    assert len(steps) < 3
    index.close()


def test_an_alias_that_is_no_text_is_named_by_check(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "names.md").write_text("---\nid: names\naliases: {Kate: Emi}\n---\n\nA neighbour.\n")
    ran = mem("check")
    assert ran.code == 1
    assert "names.md:3: aliases: should be a list" in ran.out


def test_aliases_are_joined_where_a_memory_is_said_again(mem: Mem, people: Path) -> None:
    for name in ("Kate", "Emi"):
        assert mem("write", "Our neighbour is a nurse.", "--title", "Katherine", "--alias", name).code == 0
    (entry,) = (path for path in people.rglob("*.md") if "nurse" in path.read_text())
    assert "aliases: [Kate, Emi]" in entry.read_text()
