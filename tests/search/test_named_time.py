"""A time that a query names: what is of it stands before what is near, and that before what is far, which stays."""

import json
from pathlib import Path

import pytest

from tests.conftest import Mem

TOLD = {
    "within": ("2026-03-10T09:00:00Z", "The harbour board agreed on a pier of oak."),
    "near": ("2026-04-03T09:00:00Z", "The harbour board agreed on a pier of larch."),
    "far": ("2025-09-01T09:00:00Z", "The harbour board agreed on a pier of steel."),
    "named": ("2026-09-01T09:00:00Z", "On 10 March 2026 the harbour board agreed on a pier of pine."),
}


@pytest.fixture
def known(mem: Mem, workspace: Path) -> None:
    """Fill a workspace with memories that say almost the same, of different days."""
    lines = [{"text": text, "type": "fact", "created_at": day, "updated_at": day} for day, text in TOLD.values()]
    assert mem("import", "-", stdin="".join(f"{json.dumps(line)}\n" for line in lines)).code == 0


def found(mem: Mem, query: str) -> dict[str, float]:
    """Give what is found, the best first, and what the time that the query names takes from each relevance."""
    names = {text: name for name, (_, text) in TOLD.items()}
    hits = mem("search", query, "--json", "--explain").json["hits"]
    return {names[hit["summary"]]: hit["parts"].get("date", 0) for hit in hits}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "time",
    ["in March", "in March 2026", "on 2026-03-10", "between 2026-02-20 and 2026-03-25", "until the 10th of March"],
)
def test_what_is_outside_the_time_asked_loses_the_more_the_farther_it_is(mem: Mem, time: str) -> None:
    taken = found(mem, f"What did the harbour board agree on {time}?")
    assert taken["within"] == taken["named"] == 0
    assert taken["near"] < 0
    assert taken["far"] < taken["near"] or time.startswith("until")
    assert next(iter(taken)) in ("within", "named")


@pytest.mark.usefixtures("known")
def test_a_request_names_a_time_and_news_do_not(mem: Mem) -> None:
    assert found(mem, "Tell me what the harbour board agreed on in March")["far"] < -0.05
    assert found(mem, "the pier of last March, which wood did the harbour board agree on")["far"] < -0.05
    assert found(mem, "This is about the pier in March: oak, or was it larch?")["far"] < -0.05
    assert found(mem, "The harbour board has agreed on a pier and that was in March")["far"] == 0


@pytest.mark.usefixtures("known")
def test_a_time_may_have_no_end(mem: Mem) -> None:
    taken = found(mem, "What did the harbour board agree on since March?")
    assert taken.pop("far") < -0.05
    assert set(taken.values()) == {0}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("query", ["what did the board say about the March pier", "the harbour board agreed on a pier"])
def test_a_query_whose_subject_has_a_month_names_no_time(mem: Mem, query: str) -> None:
    assert set(found(mem, query).values()) == {0}


@pytest.mark.usefixtures("known")
def test_a_page_whose_parts_have_no_day_loses_nothing(mem: Mem, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("# Harbour\n\nThe pier stands on forty piles.\n", encoding="utf-8")
    hits = mem("search", "On how many piles does the harbour pier stand in March 2019?", "--json", "--explain").json[
        "hits"
    ]
    assert {hit["path"]: hit["parts"].get("date", 0) for hit in hits}["MEMORY.md"] == 0


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    "query", ["Was hat das harbour board gestern für den pier beschlossen?", "昨天 harbour board 决定了什么"]
)
def test_a_day_of_another_language_is_a_time_too(mem: Mem, query: str) -> None:
    assert max(found(mem, query).values()) < 0
