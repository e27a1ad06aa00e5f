"""What becomes of a new memory: confirmed, kept, believed or not, flagged; whole or not at all."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memcli.beliefs.admission import admit
from memcli.beliefs.llm_judge import LlmJudge
from memcli.beliefs.plan import Admitted, Draft, Plan
from memcli.beliefs.supersession import read_entry_file
from memcli.errors import LlmError, RefusedError
from memcli.formats.entry import Entry
from memcli.store import access_log, atomic_files, entries
from memcli.store.workspace import Surroundings, Workspace, opened
from tests.fake_llm import ScriptedLlm
from tests.tables import cases

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)


def at(root: Path, now: datetime = NOW, **environ: str) -> Workspace:
    root.mkdir(parents=True, exist_ok=True)
    around = {"HOME": os.environ["HOME"], "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], "MEM_TIMEZONE": "UTC"}
    around["MEM_WRITE_SOURCE"] = "user"
    return opened(Surroundings(root, around | environ, now), root)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def draft(body: str, **told: Any) -> Draft:
    return Draft(told, body, os.urandom(8))


def let_in(workspace: Workspace, body: str, judge: Any = None, **told: Any) -> Admitted:
    return settled(workspace, [draft(body, **told)], judge).admitted[0]


def settled(workspace: Workspace, drafts: Sequence[Draft], judge: Any = None) -> Plan:
    return admit(workspace, drafts, "test", judge)


def entry(workspace: Workspace, one: Admitted | str) -> Entry:
    if isinstance(one, str):
        (path,) = (
            path for path in (workspace.root / "entries").rglob("*.md") if f"id: {one}\n" in path.read_text("utf-8")
        )
        return read_entry_file(workspace, workspace.relative(path)).entry
    return read_entry_file(workspace, one.path).entry


def count(workspace: Workspace) -> int:
    return len(list((workspace.root / "entries").rglob("*.md")))


def test_what_is_only_said_again_leaves_the_file_as_it_is(workspace: Workspace) -> None:
    """Two clones that confirm the same memory must not conflict."""
    first = let_in(workspace, "User prefers tabs", type="preference")
    before = (workspace.root / first.path).read_bytes()
    for number, text in enumerate(("User prefers tabs.", "user  prefers TABS", "User prefers\ntabs"), 2):
        assert let_in(workspace, text, type="preference", sources=[f"session:s#{number}"]).strength == number
    assert (workspace.root / first.path).read_bytes() == before
    waiting = access_log.confirmations(workspace)[first.id]
    assert (waiting.count, waiting.sources) == (3, ("session:s#2", "session:s#3", "session:s#4"))


def test_another_wording_is_kept_and_known_from_then_on(workspace: Workspace) -> None:
    first = let_in(workspace, "deploys run on Fly")
    before = entry(workspace, first)
    again = let_in(at(workspace.root), "The deploys run on Fly")
    assert (again.action, again.id) == ("merged", first.id)
    assert (entry(workspace, first).body, entry(workspace, first).wordings) == (
        "The deploys run on Fly",
        ("deploys run on Fly",),
    )
    assert entry(workspace, first).updated_at == before.updated_at
    file = (workspace.root / first.path).read_bytes()
    assert let_in(workspace, "the deploys run on fly.").strength == 3
    assert (workspace.root / first.path).read_bytes() == file


def test_who_is_trusted_more_has_the_word_and_the_other_wording_stays(workspace: Workspace) -> None:
    first = let_in(workspace, "The deploys run on Fly", source="inferred")
    assert let_in(workspace, "Deploys run on Fly", source="user").id == first.id
    merged = entry(workspace, first)
    assert (merged.body, merged.source, merged.trust) == ("Deploys run on Fly", "user", 1.0)
    assert merged.wordings == ("The deploys run on Fly",)


def test_who_is_trusted_less_confirms_and_the_words_stay_those_of_who_is_trusted_more(workspace: Workspace) -> None:
    first = let_in(workspace, "Deploys run on Fly", source="user")
    guess = let_in(workspace, "The deploys run on Fly", source="inferred")
    assert (guess.action, guess.id, guess.strength) == ("merged", first.id, 2)
    known = entry(workspace, first)
    assert (known.body, known.wordings) == ("Deploys run on Fly", ("The deploys run on Fly",))
    assert (known.source, known.trust) == ("user", 1.0)


def test_of_two_wordings_of_one_trust_the_one_said_later_is_the_text(workspace: Workspace) -> None:
    first = let_in(workspace, "Deploys run on Fly")
    let_in(workspace, "The deploys run on Fly", created_at="2020-01-01")
    assert (entry(workspace, first).body, entry(workspace, first).wordings) == (
        "Deploys run on Fly",
        ("The deploys run on Fly",),
    )


def test_nothing_but_a_twin_is_confirmed_where_the_workspace_is_not_trusted(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = let_in(workspace, "Deploys run on Fly")
    monkeypatch.setattr(Workspace, "is_trusted", False)
    again = let_in(at(workspace.root), "The deploys run on Fly")
    assert (again.action, [one.id for one in again.near]) == ("created", [first.id])
    assert entry(workspace, first).body == "Deploys run on Fly"


HOSTILE = [
    ("The migration is almost done", "The migration is done"),
    ("Maria is the CTO", "Maria is the CTO's sister"),
    ("The API is stable", "The API is barely stable"),
    ("User is a vegetarian", "User is a former vegetarian"),
    ("The offset is -5", "The offset is 5"),
    ("The ratio is 1.5", "The ratio is 15"),
    ("The team writes C", "The team writes C++"),
    ("Alert when load > 5", "Alert when load < 5"),
    ("The discount is 10", "The discount is 10%"),
    ("Is the cache on?", "Is the cache on"),
    ("Start it with -v", "Start it with -V"),
    ("The disk holds 5 MB", "The disk holds 5 Mb"),
    ("User runs every morning", "User runs 5 km every morning"),
    ("User prefers short answers", "User prefers short answers except in reviews"),
    ("Read .env first", "Read env first"),
    ("用户喜欢猫", "用户不喜欢猫"),
]


@pytest.mark.parametrize(("old", "new"), [*HOSTILE, *((new, old) for old, new in HOSTILE)])
def test_a_text_that_says_something_else_is_never_merged_away(workspace: Workspace, old: str, new: str) -> None:
    first, second = let_in(workspace, old), let_in(workspace, new)
    assert second.action == "created"
    assert [entry(workspace, one).body for one in (first, second)] == [old, new]
    assert {entry(workspace, one).status for one in (first, second)} == {"active"}


def test_a_merge_keeps_every_other_byte_of_the_file(workspace: Workspace) -> None:
    path = workspace.root / "entries" / "by hand.md"
    path.parent.mkdir()
    text = (
        "---\r\n# mine\r\nzeta:   'kept'\r\ntype: preference\r\ntags:\r\n    - a # one\r\n---\r\nUser prefers tabs\r\n"
    )
    path.write_bytes(text.encode())
    one = let_in(workspace, "User prefers tabs", type="preference", source="user")
    assert one.path == "entries/by hand.md"
    assert path.read_bytes().decode() == text.replace("---\r\nUser", "trust: 1.0\r\nsource: user\r\n---\r\nUser")


@cases("old", "new")
def test_what_may_contradict_is_named_as_near_and_changes_nothing(workspace: Workspace, old: str, new: str) -> None:
    first = let_in(workspace, old)
    before = (workspace.root / first.path).read_bytes()
    second = let_in(workspace, new)
    assert (second.action, second.supersedes, second.conflicts_with) == ("created", (), ())
    assert [(one.id, one.text, one.date) for one in second.near] == [(first.id, old, "2026-11-21")]
    assert (workspace.root / first.path).read_bytes() == before
    assert entry(workspace, second).conflicts_with == ()


@cases("old", "new", "winner")
def test_who_is_believed(workspace: Workspace, old: dict[str, Any], new: dict[str, Any], winner: str) -> None:
    first = let_in(workspace, "Deploys run on Fly", **old)
    second = let_in(workspace, "Correction: deploys run on Hetzner", **new)
    status = {"old": entry(workspace, first).status, "new": entry(workspace, second).status}
    losers = {"new": ["old"], "both": [], "strangers": []}[winner]
    assert [name for name, said in status.items() if said == "superseded"] == losers
    assert bool(second.conflicts_with) == (winner == "both")


@pytest.mark.parametrize("types", [("fact", "preference"), ("preference", "fact"), ("constraint", "fact")])
def test_a_fact_and_what_says_more_exactly_what_it_is_are_one_memory(workspace: Workspace, types: list[str]) -> None:
    first = let_in(workspace, "User prefers tabs", type=types[0])
    second = let_in(workspace, "The user prefers tabs.", type=types[1])
    assert (second.action, second.id) == ("merged", first.id)
    assert entry(workspace, first).type == next(one for one in types if one != "fact")


def test_another_type_or_title_or_an_episode_is_another_memory(workspace: Workspace) -> None:
    text = "User prefers tabs"
    let_in(workspace, text, type="preference")
    for told in (
        {"type": "correction"},
        {"type": "preference", "title": "One"},
        {"type": "preference", "title": "Two"},
        {"type": "episode"},
        {"type": "episode"},
    ):
        let_in(workspace, text, **told)
    # The first title goes to the memory that had none.
    assert count(workspace) == 5


def test_what_is_superseded_or_archived_is_not_confirmed(workspace: Workspace) -> None:
    old = let_in(workspace, "Deploys run on Fly")
    let_in(workspace, "Correction: deploys run on Hetzner")
    third = let_in(workspace, "Deploys run on Fly")
    assert third.action == "created"
    entries.forget(workspace, third.path)
    assert let_in(workspace, "Deploys run on Fly").id not in (old.id, third.id)


def test_a_duplicate_of_a_duplicate_in_one_batch_is_one_memory(workspace: Workspace) -> None:
    standing_one = let_in(workspace, "The retry limit is 3")
    bodies = [
        "User prefers tabs",
        "The user prefers tabs",
        "user prefers TABS.",
        "The retry limit is 3.",
        "Deploys run on Fly",
        "Correction: deploys run on Hetzner",
        "User prefers tabs",
    ]
    done = settled(workspace, [draft(body) for body in bodies])
    actions = [one.action for one in done.admitted]
    assert actions == ["created", "merged", "merged", "merged", "created", "created", "merged"]
    assert done.admitted[3].id == standing_one.id
    assert {done.admitted[place].id for place in (0, 1, 2, 6)} == {done.admitted[0].id}
    assert entry(workspace, done.admitted[0]).strength == 4
    assert done.admitted[5].supersedes == (done.admitted[4].id,)
    assert entry(workspace, done.admitted[4]).status == "superseded"
    assert len({step.path for step in done.steps}) == len(done.steps) == 3


DOCUMENT = "# How we deploy\n\n" + "\n\n".join(f"## Step {number}\n\n{'Do it well. ' * 40}" for number in range(9))


def test_a_long_document_is_confirmed_by_its_twin_and_by_nothing_else(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.index.embeddings.open_embedder", None)  # no model is needed for that
    first = let_in(workspace, DOCUMENT, type="procedure")
    again = settled(workspace, [draft(DOCUMENT, type="procedure"), draft(f"{DOCUMENT} More.", type="procedure")])
    assert [one.action for one in again.admitted] == ["merged", "created"]
    assert (again.admitted[0].strength, entry(workspace, first).body) == (2, DOCUMENT)


def test_a_clock_that_went_back_makes_nothing_older(workspace: Workspace) -> None:
    first = let_in(workspace, "User prefers tabs")
    earlier = at(workspace.root, datetime(2020, 1, 1, tzinfo=UTC))
    assert let_in(earlier, "User prefers tabs").strength == 2
    assert entry(workspace, first).updated_at == "2026-11-21T20:15:03Z"


@pytest.mark.parametrize("line", ["trust: .nan", "trust: -3", "trust: 1e300", "strength: strong", "strength: -4"])
def test_numbers_that_make_no_sense_are_taken_for_the_usual_ones(workspace: Workspace, line: str) -> None:
    path = workspace.root / "entries" / "odd.md"
    path.parent.mkdir()
    path.write_text(f"---\nid: odd\ntype: fact\nsource: user\n{line}\n---\nThe retry limit is 3\n")
    merged = let_in(workspace, "The retry limit is 3", source="user")
    assert (merged.action, merged.id, merged.strength) == ("merged", "odd", 2)
    assert let_in(workspace, "Correction: the retry limit is 5", source="user").supersedes == ("odd",)


def test_a_large_batch_opens_the_model_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from memcli.index import embeddings

    opened_models = []
    real = embeddings.open_embedder

    def opening(*arguments: Any, **options: Any) -> Any:
        opened_models.append(options)
        return real(*arguments, **options)

    monkeypatch.setattr(embeddings, "open_embedder", opening)
    done = settled(workspace, [draft(f"Machine m{number} stands in room {number % 7}") for number in range(60)])
    assert [one.action for one in done.admitted] == ["created"] * 60
    assert len(opened_models) == 1


def test_a_file_that_cannot_be_changed_is_left_as_it_is(workspace: Workspace) -> None:
    path = workspace.root / "entries" / "odd.md"
    path.parent.mkdir()
    path.write_text("---\ntitle: a: b\n---\nUser prefers tabs\n")
    before = path.read_bytes()
    assert let_in(workspace, "User prefers tabs").action == "created"
    assert path.read_bytes() == before


def test_what_changed_between_the_look_and_the_lock_is_looked_at_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.beliefs import admission as module

    real = module.look_around
    looks = []

    def looked(where: Workspace, told: Any, last: Any, **options: Any) -> Any:
        seen = real(where, told, last, **options)
        looks.append(last is not None)
        if len(looks) == 1:
            monkeypatch.setattr(module, "look_around", real)
            monkeypatch.setattr("memcli.store.lock.PATIENCE", 0.0)
            entries.write(where, {}, "The user prefers tabs", b"12345678")
        return seen

    monkeypatch.setattr(module, "look_around", looked)
    assert let_in(workspace, "User prefers tabs").action == "merged"
    assert count(workspace) == 1


def test_what_an_editor_saves_at_the_last_moment_is_kept_beside_what_is_written(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.beliefs import admission as module

    old = let_in(workspace, "Deploys run on Fly")
    real, times = module.apply, list[int]()

    def meddled(*arguments: Any) -> Any:
        times.append(1)
        if len(times) == 1:
            path = workspace.root / old.path
            path.write_text(f"{path.read_text()}\nAsk Rita first.\n")
        return real(*arguments)

    monkeypatch.setattr(module, "apply", meddled)
    assert let_in(workspace, "Correction: deploys run on Hetzner").action == "created"
    assert "Ask Rita first." in (workspace.root / old.path).read_text()
    assert len(times) == 2


def test_what_the_disk_refuses_is_said_at_once_and_not_tried_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.beliefs import admission as module

    times = []

    def refusing(*_: Any) -> Any:
        times.append(1)
        raise RefusedError("the disk is full")

    monkeypatch.setattr(module, "apply", refusing)
    with pytest.raises(RefusedError, match="the disk is full"):
        let_in(workspace, "Deploys run on Fly")
    assert len(times) == 1


def verdict(kind: str, reason: str | None = None, *, sure: bool = True) -> str:
    row = {"pair": 1, "kind": kind, "sure": sure, "old_says_more": False, "reason": reason}
    return json.dumps({"verdicts": [row]})


def test_a_judge_acts_where_nothing_is_lost_and_both_wordings_stay(workspace: Workspace) -> None:
    old = let_in(workspace, "The garden gate is painted green", type="fact")
    llm = ScriptedLlm(verdict("same"), verdict("same"), "no JSON at all")
    judge = LlmJudge(llm)
    said = "Somebody made the gate to the garden green"
    assert let_in(workspace, said, judge).action == "merged"
    assert "garden gate" in llm.questions[0][1]["content"]
    assert (entry(workspace, old).body, entry(workspace, old).wordings) == (said, ("The garden gate is painted green",))
    numbered = let_in(workspace, "The garden gate is painted green since 2019", judge)
    assert (numbered.action, numbered.conflicts_with) == ("created", ()), "it is not sure, and decides nothing"
    done = settled(workspace, [draft("The garden gate is huge")], judge)
    assert (done.admitted[0].action, bool(done.unheard)) == ("created", True)


@pytest.mark.parametrize(
    ("older", "newer", "gone"),
    [("user", "user", True), ("observed", "user", True), ("user", "observed", False), ("user", "inferred", False)],
)
@pytest.mark.parametrize("kind", ["update", "same"])
def test_a_judge_retires_nothing_that_a_user_said_for_what_was_only_observed(
    workspace: Workspace, kind: str, older: str, newer: str, gone: bool
) -> None:
    texts = {"update": "Postgres handles search these days", "same": "What answers searches is Elasticsearch"}
    old = let_in(workspace, "Search runs on Elasticsearch", source=older)
    done = let_in(workspace, texts[kind], LlmJudge(ScriptedLlm(verdict(kind))), source=newer)
    if kind == "update":
        assert (done.supersedes, done.conflicts_with) == (((old.id,), ()) if gone else ((), (old.id,)))
        assert entry(workspace, old).status == ("superseded" if gone else "active")
    else:
        assert (done.action, entry(workspace, old).status) == ("merged", "active")
        assert entry(workspace, old).body == (texts[kind] if gone else "Search runs on Elasticsearch")


def test_a_conflict_that_a_judge_is_sure_of_hides_neither(workspace: Workspace) -> None:
    old = let_in(workspace, "The boat is moored at pier nine")
    done = let_in(workspace, "Our boat lies at the yard", LlmJudge(ScriptedLlm(verdict("conflict"))))
    assert (done.supersedes, done.conflicts_with) == ((), (old.id,))
    assert entry(workspace, old).verdicts == (done.id,)


def test_the_reason_of_a_judge_is_kept_in_the_file_it_is_about_and_no_other_verdict_has_one(
    workspace: Workspace,
) -> None:
    moved, moored = (
        let_in(workspace, "Search runs on Elasticsearch"),
        let_in(workspace, "The boat is moored at pier nine"),
    )
    before = (workspace.root / moved.path).read_text()
    update = let_in(workspace, "Postgres handles search", LlmJudge(ScriptedLlm(verdict("update", "It\nwas moved."))))
    (mark,) = entry(workspace, moved).verdict_reasons
    assert mark == f"{update.id}: the LLM finds it an update: It was moved."
    told = [line for line in (workspace.root / moved.path).read_text().splitlines() if line not in before.splitlines()]
    assert [line.partition(":")[0] for line in told] == ["status", "superseded_by", "superseded_at", "verdict_reasons"]
    said = verdict("conflict", "One boat, two places")
    clash = let_in(workspace, "Our boat lies at the yard", LlmJudge(ScriptedLlm(said)))
    why = "the LLM finds that they contradict each other: One boat, two places"
    assert entry(workspace, moored).verdict_reasons == (f"{clash.id}: {why}",)
    assert entry(workspace, clash).verdict_reasons == (f"{moored.id}: {why}",)
    keyed = let_in(workspace, "The port is 1", key="port")
    let_in(workspace, "The port is 2", key="port")
    assert (entry(workspace, keyed).status, entry(workspace, keyed).verdict_reasons) == ("superseded", ())


def test_a_judge_that_fails_leaves_it_to_the_rules(workspace: Workspace) -> None:
    old = let_in(workspace, "Deploys run on Fly")
    judge = LlmJudge(ScriptedLlm(LlmError("no answer within 5 s")))
    done = settled(workspace, [draft("Correction: deploys run on Hetzner")], judge)
    assert done.unheard == "no answer within 5 s"
    assert done.admitted[0].supersedes == (old.id,)


def test_others_write_while_a_judge_thinks(workspace: Workspace) -> None:
    old = let_in(workspace, "The garden gate is painted green")

    def slowly(messages: object) -> str:
        between = let_in(workspace, "Somebody made the gate to the garden blue")
        assert between.action == "created"
        return verdict("same")

    done = let_in(workspace, "The gate to the garden was painted in green", LlmJudge(ScriptedLlm(slowly)))
    assert (done.action, done.id) == ("merged", old.id)
    assert count(workspace) == 2


def test_a_text_that_cannot_be_a_memory_changes_nothing(workspace: Workspace) -> None:
    let_in(workspace, "Deploys run on Fly")
    before = atomic_files.read(next((workspace.root / "entries").rglob("*.md")))
    with pytest.raises(RefusedError):
        settled(workspace, [draft("Deploys run on Hetzner"), draft("<<<<<<< a\n=======\n>>>>>>> b")])
    assert count(workspace) == 1
    assert atomic_files.read(next((workspace.root / "entries").rglob("*.md"))) == before


def test_an_explicit_change_takes_the_place_and_both_name_each_other(workspace: Workspace) -> None:
    old = let_in(workspace, "Deploys run on Fly")
    before = entry(workspace, old)
    new = let_in(workspace, "Correction: deploys run on Hetzner")
    assert (new.action, new.supersedes) == ("created", (old.id,))
    after = entry(workspace, old)
    assert (after.status, after.superseded_by) == ("superseded", new.id)
    assert after.superseded_at == "2026-11-21T20:15:03Z"
    assert after.updated_at == before.updated_at
    assert entry(workspace, new).references == (old.id,)
