"""What becomes of a new memory: confirmed, kept, believed or not, flagged; whole or not at all."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import LlmError, RefusedError
from memcli.lifecycle.admission import Admitted, Draft
from memcli.lifecycle.admit import Settled, admit
from memcli.lifecycle.beliefs import Verdict
from memcli.lifecycle.judging import llm_judge
from memcli.lifecycle.supersession import standing
from memcli.store import entries, files
from memcli.store.workspace import Surroundings, Workspace, opened
from memcli.text.entry import Entry
from tests.crash import POWER_CUT, FailingOS, power_cut, wire
from tests.fake_llm import ScriptedLlm

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
NO_MODEL = {"MEM_EMBEDDING_MODEL": "/nowhere"}


def at(root: Path, now: datetime = NOW, **environ: str) -> Workspace:
    root.mkdir(parents=True, exist_ok=True)
    around = {"HOME": os.environ["HOME"], "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"], "MEM_TIMEZONE": "UTC"}
    return opened(Surroundings(root, around | environ, now), root)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def draft(body: str, **told: Any) -> Draft:
    return Draft(told, body, lambda attempt: os.urandom(8))


def let_in(workspace: Workspace, body: str, judge: Any = None, **told: Any) -> Admitted:
    return settled(workspace, [draft(body, **told)], judge).admitted[0]


def settled(workspace: Workspace, drafts: Sequence[Draft], judge: Any = None) -> Settled:
    return admit(workspace, drafts, "test", judge)


def entry(workspace: Workspace, one: Admitted | str) -> Entry:
    if isinstance(one, str):
        (path,) = (
            path for path in (workspace.root / "entries").rglob("*.md") if f"id: {one}\n" in path.read_text("utf-8")
        )
        return standing(workspace, workspace.relative(path)).entry
    return standing(workspace, one.path).entry


def count(workspace: Workspace) -> int:
    return len(list((workspace.root / "entries").rglob("*.md")))


def test_what_is_known_is_confirmed_and_loses_nothing(workspace: Workspace) -> None:
    first = let_in(workspace, "User prefers tabs", type="preference", tags=["editor"], sources=["session:a#1"])
    later = at(workspace.root, datetime(2026, 12, 1, tzinfo=UTC))
    again = let_in(
        later,
        "The user really prefers tabs.",
        type="preference",
        tags=["editor", "python"],
        sources=["session:b#2"],
        files=["setup.cfg"],
    )
    assert (again.action, again.id, again.strength) == ("merged", first.id, 2)
    assert count(workspace) == 1
    merged = entry(workspace, first)
    assert (merged.tags, merged.sources) == (("editor", "python"), ("session:a#1", "session:b#2"))
    assert (merged.files, merged.strength) == (("setup.cfg",), 2)
    assert (merged.created_at, merged.updated_at) == ("2026-11-21T20:15:03Z", "2026-12-01T00:00:00Z")
    assert merged.body == "User prefers tabs"


def test_a_merged_memory_keeps_the_text_that_says_more(workspace: Workspace) -> None:
    first = let_in(workspace, "User has a dog")
    assert let_in(workspace, "User has a small dog").action == "merged"
    assert entry(workspace, first).body == "User has a small dog"
    assert let_in(workspace, "User has a dog").id == first.id
    assert (entry(workspace, first).body, entry(workspace, first).strength) == ("User has a small dog", 3)


def test_a_merge_keeps_every_other_byte_of_the_file(workspace: Workspace) -> None:
    path = workspace.root / "entries" / "by hand.md"
    path.parent.mkdir()
    text = (
        "---\r\n# mine\r\nzeta:   'kept'\r\ntype: preference\r\ntags:\r\n    - a # one\r\n---\r\nUser prefers tabs\r\n"
    )
    path.write_bytes(text.encode())
    one = let_in(workspace, "User prefers tabs", type="preference")
    assert one.path == "entries/by hand.md"
    assert path.read_bytes().decode() == text.replace(
        "---\r\nUser", "strength: 2\r\nupdated_at: 2026-11-21T20:15:03Z\r\ntrust: 1.0\r\nsource: user\r\n---\r\nUser"
    )


def test_what_contradicts_surely_takes_the_place_and_both_name_each_other(workspace: Workspace) -> None:
    old = let_in(workspace, "Deploys run on Fly")
    before = entry(workspace, old)
    new = let_in(workspace, "No, deploys run on Hetzner")
    assert (new.action, new.supersedes) == ("created", (old.id,))
    after = entry(workspace, old)
    assert (after.status, after.superseded_by) == ("superseded", new.id)
    assert after.updated_at == before.updated_at
    assert entry(workspace, new).references == (old.id,)
    back = let_in(workspace, "Deploys run on Fly again, not on Hetzner")
    assert back.supersedes == (new.id,)


def test_what_may_contradict_marks_both(workspace: Workspace) -> None:
    old = let_in(workspace, "User uses vim")
    new = let_in(workspace, "User uses emacs")
    assert (new.supersedes, new.conflicts_with) == ((), (old.id,))
    assert entry(workspace, old).conflicts_with == (new.id,)
    assert entry(workspace, new).conflicts_with == (old.id,)
    assert {entry(workspace, one).status for one in (old, new)} == {"active"}


@pytest.mark.parametrize(
    ("old", "new", "winner"),
    [
        ({"source": "user"}, {"source": "inferred"}, "old"),
        ({"source": "inferred"}, {"source": "user"}, "new"),
        ({"source": "observed"}, {"source": "observed"}, "new"),
        ({"source": "observed", "trust": 0.9}, {"source": "user", "trust": 0.5, "type": "correction"}, "new"),
        ({"source": "user", "type": "correction"}, {"source": "observed", "trust": 1.0}, "old"),
        ({"source": "user"}, {"source": "user", "created_at": "2020-01-01"}, "old"),
        ({"source": "user", "created_at": "2099-01-01"}, {"source": "user"}, "new"),
        ({"project": "shop"}, {"project": "shop"}, "new"),
        ({"project": "shop"}, {}, "both"),
        ({"title": "Deploys"}, {}, "both"),
        ({"project": "shop"}, {"project": "blog"}, "strangers"),
        ({"title": "Shop"}, {"title": "Blog"}, "strangers"),
    ],
)
def test_who_is_believed(workspace: Workspace, old: dict[str, Any], new: dict[str, Any], winner: str) -> None:
    first = let_in(workspace, "Deploys run on Fly", **old)
    second = let_in(workspace, "Deploys run on Hetzner", **new)
    status = {"old": entry(workspace, first).status, "new": entry(workspace, second).status}
    losers = {"old": ["new"], "new": ["old"], "both": [], "strangers": []}[winner]
    assert [name for name, said in status.items() if said == "superseded"] == losers
    assert bool(second.conflicts_with) == (winner == "both")
    if winner == "old":
        assert second.superseded_by == first.id


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
    let_in(workspace, "No, deploys run on Hetzner")
    third = let_in(workspace, "Deploys run on Fly")
    assert third.action == "created"
    entries.forget(workspace, third.path)
    assert let_in(workspace, "Deploys run on Fly").id not in (old.id, third.id)


def test_a_duplicate_of_a_duplicate_in_one_batch_is_one_memory(workspace: Workspace) -> None:
    standing_one = let_in(workspace, "The retry limit is 3")
    bodies = [
        "User prefers tabs",
        "The user prefers tabs",
        "I prefer tabs.",
        "The retry limit is three",
        "Deploys run on Fly",
        "No, deploys run on Hetzner",
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
    assert len({step.path for step in done.plan.steps}) == len(done.plan.steps) == 4


DOCUMENT = "# How we deploy\n\n" + "\n\n".join(f"## Step {number}\n\n{'Do it well. ' * 40}" for number in range(9))


def test_a_long_document_is_confirmed_by_its_twin_and_by_nothing_else(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memcli.index.embedding.open_embedder", None)  # no model is needed for that
    first = let_in(workspace, DOCUMENT, type="procedure")
    again = settled(workspace, [draft(DOCUMENT, type="procedure"), draft(f"{DOCUMENT} More.", type="procedure")])
    assert [one.action for one in again.admitted] == ["merged", "created"]
    assert (entry(workspace, first).strength, entry(workspace, first).body) == (2, DOCUMENT)


def test_a_clock_that_went_back_makes_nothing_older(workspace: Workspace) -> None:
    first = let_in(workspace, "User prefers tabs")
    earlier = at(workspace.root, datetime(2020, 1, 1, tzinfo=UTC))
    assert let_in(earlier, "User prefers tabs").strength == 2
    assert entry(workspace, first).updated_at == "2026-11-21T20:15:03Z"
    assert let_in(earlier, "No, user prefers spaces").action == "created"


@pytest.mark.parametrize("line", ["trust: .nan", "trust: -3", "trust: 1e300", "strength: strong", "strength: -4"])
def test_numbers_that_make_no_sense_are_taken_for_the_usual_ones(workspace: Workspace, line: str) -> None:
    path = workspace.root / "entries" / "odd.md"
    path.parent.mkdir()
    path.write_text(f"---\nid: odd\ntype: fact\nsource: user\n{line}\n---\nThe retry limit is 3\n")
    merged = let_in(workspace, "The retry limit is 3")
    assert (merged.action, merged.id, merged.strength) == ("merged", "odd", 2)
    assert let_in(workspace, "No, the retry limit is 5").supersedes == ("odd",)


def test_a_large_batch_opens_the_model_once(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    from memcli.index import embedding

    opened_models = []
    real = embedding.open_embedder

    def opening(*arguments: Any, **options: Any) -> Any:
        opened_models.append(options)
        return real(*arguments, **options)

    monkeypatch.setattr(embedding, "open_embedder", opening)
    done = settled(workspace, [draft(f"Machine m{number} stands in room {number % 7}") for number in range(60)])
    assert [one.action for one in done.admitted] == ["created"] * 60
    assert len(opened_models) == 1


def test_without_a_model_the_words_decide_and_it_is_said(tmp_path: Path) -> None:
    workspace = at(tmp_path / "memory", **NO_MODEL)
    old = let_in(workspace, "Deploys run on Fly")
    done = settled(workspace, [draft("No, deploys run on Hetzner")])
    assert done.admitted[0].supersedes == (old.id,)
    assert "by words alone" in done.notices[0]
    assert let_in(workspace, "no, deploys run on hetzner").action == "merged"
    assert let_in(workspace, "The deploys run on Hetzner").action == "created"


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
    from memcli.lifecycle import admit as module

    real = module.look_around
    looks = []

    def looked(where: Workspace, told: Any, last: Any, **options: Any) -> Any:
        seen = real(where, told, last, **options)
        looks.append(last is not None)
        if len(looks) == 1:
            monkeypatch.setattr(module, "look_around", real)
            monkeypatch.setattr("memcli.store.turn.PATIENCE", 0.0)
            entries.write(where, {}, "The user prefers tabs", lambda _: b"12345678")
            from memcli.store.turn import next_turn

            next_turn(where)
        return seen

    monkeypatch.setattr(module, "look_around", looked)
    assert let_in(workspace, "User prefers tabs").action == "merged"
    assert count(workspace) == 1


def test_a_power_cut_at_any_step_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Supersede one memory and flag another, with the power cut at every step."""
    steps = 0
    for number in range(1, 200):
        workspace = at(tmp_path / str(number), **NO_MODEL)
        old = let_in(workspace, "Deploys run on Fly")
        child = os.fork()
        if child == 0:
            wire(FailingOS(number, power_cut))
            let_in(workspace, "No, deploys run on Hetzner")
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, POWER_CUT)
        let_in(workspace, "Something else entirely")  # finishes what was begun
        done = count(workspace) == 3
        assert entry(workspace, old).status == ("superseded" if done else "active")
        if done:
            assert entry(workspace, entry(workspace, old).superseded_by).references == (old.id,)
        steps += code == POWER_CUT
        if code == 0:
            break
    assert steps > 10


def test_the_judge_is_believed_but_for_a_number(workspace: Workspace) -> None:
    let_in(workspace, "The garden gate is painted green", type="fact")
    reply = '{"verdicts": [{"number": 1, "kind": "same", "sure": true}]}'
    llm = ScriptedLlm(reply, reply, "no JSON at all")
    judge = llm_judge(llm, 5.0)
    assert let_in(workspace, "Somebody made the gate to the garden green", judge).action == "merged"
    assert "garden gate" in llm.questions[0][1]["content"]
    assert let_in(workspace, "The garden gate is painted green since 2019", judge).action == "created"
    done = settled(workspace, [draft("The garden gate is huge")], judge)
    assert (done.admitted[0].action, bool(done.error)) == ("created", True)


def test_a_judge_that_fails_leaves_it_to_the_rules(workspace: Workspace) -> None:
    old = let_in(workspace, "Deploys run on Fly")

    def failing(new: str, kept: Sequence[str]) -> list[Verdict | None]:
        raise LlmError("no answer within 5 s")

    done = settled(workspace, [draft("No, deploys run on Hetzner")], failing)
    assert done.error == "no answer within 5 s"
    assert done.admitted[0].supersedes == (old.id,)


def test_a_text_that_cannot_be_a_memory_changes_nothing(workspace: Workspace) -> None:
    let_in(workspace, "Deploys run on Fly")
    before = files.read(next((workspace.root / "entries").rglob("*.md")))
    with pytest.raises(RefusedError):
        settled(workspace, [draft("Deploys run on Hetzner"), draft("<<<<<<< a\n=======\n>>>>>>> b")])
    assert count(workspace) == 1
    assert files.read(next((workspace.root / "entries").rglob("*.md"))) == before
