"""Hits are told once, in their order of time, each with its passage."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.index.filters import Filter
from memcli.index.index import Piece
from memcli.search import search
from memcli.search.query import LIMIT, certainty, snippet
from memcli.search.ranking import Scored, only_asks
from memcli.search.results import Hit, SearchResults, distinct, joined
from memcli.store.workspace import Surroundings, opened
from tests.conftest import FIXTURES, Mem
from tests.tables import cases


def piece(chunk: int, text: str, **known: Any) -> Piece:
    values = {"kind": "entry", "status": "active", "timestamp": "2026-11-21"} | known
    path = f"entries/{chunk}.md"
    return Piece(chunk, chunk, path, anchor="", line=1, title="", text=text, is_whole=True, entry={}, **values)


def hit(identifier: str, relevance: float, kind: str = "entry", **known: Any) -> Hit:
    return Hit(identifier, kind, f"{identifier}.md", 1, "", relevance, "2026-11-21", "project", **known)


def told(*pieces: Piece, limit: int = 5) -> list[int]:
    """Give the chunks that are told of pieces in the order of their relevance."""
    scored = [Scored(one.chunk, one.chunk, 1 / one.chunk, {}) for one in pieces]
    return [one.chunk for one in distinct(scored, {one.chunk: one for one in pieces}, limit)]


def test_a_hit_without_room_remains_as_what_says_later_what_another_says() -> None:
    earlier, later = hit("mem_1", 0.4), hit("hist_1", 0.3, kind="history", later_than="mem_1")
    merged = joined([SearchResults((earlier, later)), SearchResults((hit("mem_2", 0.35),))], 2)
    assert ([each.id for each in merged.hits], merged.later) == (["mem_1", "mem_2"], (later,))


def test_a_record_that_gives_way_to_talk_remains_as_what_says_later_what_another_says(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier = hit("mem_1", 0.4, text="the lamp costs four euro")
    later = hit("hist_1", 0.3, kind="history", text="lamp costs four euro", later_than="mem_1")
    talk = SearchResults((hit("sessions/a:1", 0.2, kind="session", text="it hangs above the table"),))
    monkeypatch.setattr(search, "ask", lambda *_, **__: (SearchResults((earlier, later)), talk))
    at = opened(Surroundings(workspace, {"HOME": str(workspace)}, datetime(2026, 11, 21, tzinfo=UTC)), workspace)
    results = search.search([at], search.SearchRequest("lamp", 2, Filter(), shown=2))
    assert [each.id for each in results.hits] == ["mem_1", "sessions/a:1", "hist_1"]


def test_a_line_of_the_memory_page_that_is_an_entry_too_is_told_once() -> None:
    page = piece(2, "- User prefers **dark** mode.\n", kind="memory")
    assert told(piece(1, "User prefers dark mode"), page, piece(3, "another")) == [1, 3]
    assert told(piece(3, "- User prefers dark mode", kind="memory"), piece(4, "user prefers dark mode")) == [3]


def test_entries_of_the_same_words_make_room_for_others() -> None:
    pieces = [piece(1, "tea"), piece(2, "Tea."), piece(3, "tea"), piece(4, "coffee"), piece(5, "water")]
    assert told(*pieces, limit=3) == [1, 4, 5]
    assert told(*pieces, limit=4) == [1, 2, 4, 5]
    assert told(*pieces) == [1, 2, 3, 4, 5]


def test_what_happened_twice_is_told_twice_but_a_second_copy_of_the_record_is_not() -> None:
    ran = {"kind": "history", "timestamp": "2026-11-20"}
    copies = [piece(1, "went running", **ran), piece(2, "went running", **ran)]
    assert told(*copies, piece(3, "went running", kind="history", timestamp="2026-11-19")) == [1, 3]
    assert told(piece(1, "went running"), piece(2, "went running", **ran)) == [1, 2]


def test_what_was_superseded_is_no_copy_of_what_holds() -> None:
    assert told(piece(1, "tea"), piece(2, "tea", kind="memory", status="archived")) == [1, 2]


def test_signs_alone_are_words_enough_to_be_told_apart() -> None:
    assert told(piece(1, "🙂", kind="memory"), piece(2, "🙁"), limit=2) == [1, 2]


@cases("relevances", "words")
def test_a_hit_is_clear_by_how_far_it_is_ahead_of_the_others(relevances: tuple[float, ...], words: list[str]) -> None:
    best, following = relevances[0], max(relevances[1:], default=0.0)
    assert [certainty(one, best, following) for one in relevances] == words


def test_a_turn_is_clear_with_less_relevance_than_a_text() -> None:
    assert certainty(0.25, 0.25, 0.15, is_turn=True) == "clear"
    assert certainty(0.25, 0.25, 0.15) == "likely"


PIECES = st.sampled_from(
    ["The quagga sleeps. ", "\n", "\n\n", "# Head\n", "- item\n", "word " * 30, "日本語。" * 20, "x" * 200, "```\n"]
)
TEXTS = st.lists(PIECES | st.text(max_size=30), max_size=12).map("".join)


@given(TEXTS, st.text(max_size=20) | st.sampled_from(["quagga", "日本", "word", ""]), st.integers(20, 200))
def test_a_passage_is_one_line_of_the_text_at_the_line_it_names(text: str, query: str, limit: int) -> None:
    said, offset = snippet(text, query, limit)
    assert len(said) <= limit
    assert len(said.splitlines()) <= 1
    assert 0 <= offset <= text.count("\n")
    first = said.lstrip("…").split(" ")[0].rstrip("…")
    assert first in text


@given(st.lists(st.text("abc ", max_size=60), max_size=8), st.lists(st.text("abc ", max_size=60), max_size=8))
def test_the_sentence_asked_for_is_shown(before: list[str], after: list[str]) -> None:
    text = "\n".join([*before, "Here the quagga sleeps at last.", *after])
    said, _ = snippet(text, "where does the quagga sleep")
    assert "quagga sleeps" in said
    if len(text) > LIMIT:
        _, offset = snippet(text, "where does the quagga sleep")
        assert offset <= len(before)


@cases("text", "query", "expected")
def test_a_short_text_is_shown_whole_and_without_its_marks(text: str, query: str, expected: list[object]) -> None:
    assert [*snippet(text, query)] == expected


def test_a_long_sentence_is_entered_shortly_before_the_word_asked_for() -> None:
    said, offset = snippet("word " * 200 + "quagga " + "word " * 200, "quagga")
    assert said.startswith("…word")
    assert "quagga" in said
    assert offset == 0


def test_what_precedes_the_passage_is_marked() -> None:
    text = "First sentence of no use. " * 8 + "The quagga sleeps."
    assert snippet(text, "quagga")[0] == "…The quagga sleeps."


def test_marks_of_mem_are_not_shown() -> None:
    said = "<!-- mem:promoted -->\n- User prefers tabs. <!-- mem_01kh5zpjgkbz6vpb 3f2a19 -->\n<!-- /mem:promoted -->\n"
    assert snippet(said, "tabs")[0] == "User prefers tabs."
    assert snippet("<!-- a person's own --> tea", "tea")[0] == "<!-- a person's own --> tea"


@pytest.mark.parametrize("also", ["", ";；"])
def test_a_text_breaks_where_its_sentences_do_in_either_script(also: str) -> None:
    from memcli.language.sentences import breaks

    text = "Is it? 1.5 V!\n\nYes; 真的。 对； end"
    want = ["Is it?", "1.5 V!", *(["Yes;", "真的。", "对；", "end"] if also else ["Yes; 真的。", "对； end"])]
    assert breaks(also).split(text) == want


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


SAID = [line.split("\t") for line in (FIXTURES / "languages.tsv").read_text(encoding="utf-8").splitlines()[1:]]
"""Language, memory, and a question that it answers."""


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    (workspace / "entries").mkdir(exist_ok=True)
    for number, (_, memory, _) in enumerate(SAID):
        (workspace / "entries" / f"{number}.md").write_text(f"{memory}\n", encoding="utf-8")
    assert mem("index").code == 0
    return workspace


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_every_question_finds_its_memory_first(mem: Mem, memories: Path, mode: str) -> None:
    missed = []
    for _, memory, question in SAID:
        hits = mem("search", question, "--mode", mode, "--json").json["hits"]
        if not hits or hits[0]["summary"] != memory:
            missed.append((question, hits[:1]))
    assert missed == []


@cases("memory", "question")
def test_a_word_is_found_in_another_form(mem: Mem, memories: Path, memory: str, question: str) -> None:
    assert mem("write", memory, "--no-dedup").code == 0
    assert mem("search", question, "--mode", "keyword").rows[0][-1] == memory


def test_what_only_begins_alike_is_behind_the_word_itself(mem: Mem, memories: Path) -> None:
    for text in ("Ольга ведёт склад.", "Складчина на подарок у Ивана."):
        assert mem("write", text, "--no-dedup").code == 0
    assert [row[-1] for row in mem("search", "склад", "--mode", "keyword").rows] == ["Ольга ведёт склад."]


def test_a_substring_of_two_characters_finds_what_holds_it(mem: Mem, memories: Path) -> None:
    for part, memory in (("西湖", 4), ("無勤", None), ("在宅", 10), ("제주", 22), ("เชียงใหม่", 25)):
        hits = mem("search", part, "--mode", "keyword", "--json").json["hits"]
        assert [hit["summary"] for hit in hits][:1] == ([] if memory is None else [SAID[memory][1]])


def test_the_vector_counts_as_far_as_the_model_reads_the_script(mem: Mem, memories: Path) -> None:
    def shares(question: str) -> tuple[float, float]:
        parts = mem("search", question, "--json", "--explain").json["hits"][0]["parts"]
        return parts["vector"], parts["keyword"]

    vector, _ = shares("编辑器用什么主题")
    assert vector == 0
    vector, _ = shares("Welche Farbschemata mag der Nutzer?")
    assert vector > 0.1
