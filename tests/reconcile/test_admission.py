"""Many drafts in one commit: repeats, keys, dates, corrections, rejected ones."""

from pathlib import Path

import pytest

from memcli.index.index import Index, open_index
from memcli.reconcile.admit import write_memories
from memcli.reconcile.changes import Draft, Outcome, guess_type
from memcli.reconcile.review import list_questions
from memcli.store.workspace import Workspace
from memcli.store.writer import Append, ChangeGroup
from tests.helpers import make_workspace, put

SECRET = "token ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"
PAGE = "<!-- mem:promoted -->\n{lines}<!-- /mem:promoted -->\n"


def save(workspace: Workspace, *drafts: Draft) -> list[Outcome]:
    return write_memories(workspace, drafts)[0]


def get_actions(outcomes: list[Outcome]) -> list[str]:
    return [outcome.action for outcome in outcomes]


def list_texts(workspace: Workspace, status: str = "active") -> list[str]:
    entries = open_index(workspace).list_entries("status = ?", (status,))
    return sorted(entry.summary for entry in entries)


def say(text: str, day: str = "", message: str = "", **fields: object) -> Draft:
    """Return what the user said on a day of November."""
    sources = (message,) if message else ()
    created_at = f"2026-11-{day}T10:00:00Z" if day else ""
    return Draft(text, source="user", created_at=created_at, sources=sources, **fields)  # type: ignore[arg-type]


def test_drafts_are_compared_with_those_before_them(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    outcomes = save(
        workspace,
        say("We use pnpm.", message="m1"),
        say("we use PNPM", message="m2"),
        say("We use pnpm!", message="m3"),
        say("Port 1.", key="port"),
        say("Port 2.", key="port"),
    )
    assert get_actions(outcomes) == ["saved", "confirmed", "confirmed", "saved", "saved"]
    entries = open_index(workspace).list_entries("summary = 'We use pnpm.'")
    assert [entry.strength for entry in entries] == [2]
    assert list_texts(workspace) == ["Port 2.", "We use pnpm."]
    assert list_texts(workspace, "superseded") == ["Port 1."]


def test_a_message_confirms_a_memory_once(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    save(workspace, say("We ship flatpaks.", "20", "m1"))
    assert get_actions(save(workspace, say("We ship flatpaks.", "20", "m1"))) == ["unchanged"]
    assert get_actions(save(workspace, say("We ship flatpaks.", "21", "m2"))) == ["confirmed"]
    assert get_actions(save(workspace, say("We ship flatpaks.", "21", "m2"))) == ["unchanged"]
    assert open_index(workspace).list_entries()[0].strength == 2


def test_what_is_said_again_no_longer_fades(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    text = "---\nid: mem_01kajd3v7m4kq7tz\nstatus: faded\n---\n\nWe ship flatpaks.\n"
    put(workspace, "entries/a.md", text)
    assert get_actions(save(workspace, Draft("We ship flatpaks."))) == ["restored"]
    assert list_texts(workspace) == ["We ship flatpaks."]


def test_an_older_statement_never_replaces_a_newer_one(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    save(workspace, say("Port 2.", "20", key="port"))
    outcome = save(workspace, say("Port 1.", "10", "m1", key="port"))[0]
    assert [related.relation for related in outcome.related] == ["replaced by"]
    assert outcome.path.startswith("entries/2026-11/")
    assert list_texts(workspace) == ["Port 2."]
    # The same conversation again changes nothing.
    assert get_actions(save(workspace, say("Port 1.", "10", "m1", key="port"))) == ["unchanged"]
    save(workspace, say("Port 3.", "25", key="port"), say("Port 0.", "01", key="port"))
    assert list_texts(workspace) == ["Port 3."]
    # A more trusted statement is not replaced by a later guess, whichever arrives first.
    save(workspace, Draft("Color red.", key="color", created_at="2026-11-20"))
    save(workspace, say("Color blue.", "10", key="color"))
    assert list_texts(workspace) == ["Color blue.", "Color red.", "Port 3."]


def test_a_rejected_draft_stops_and_replaces_nothing(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    save(workspace, say("Port 1.", key="port"))
    group = ChangeGroup([Append("HISTORY-2026-11.md", "## a record\n")])
    outcomes, done = write_memories(
        workspace,
        [say(f"Port 2, {SECRET}", key="port"), say(""), say("Tea.", type="wish")],
        extra_groups=[group],
    )
    assert get_actions(outcomes) == ["rejected"] * 3
    assert done.paths == ["HISTORY-2026-11.md"]
    assert list_texts(workspace) == ["Port 1."]
    outcomes = save(workspace, say("Port 3.", key="port"), say(SECRET), say("Tea at four."))
    assert get_actions(outcomes) == ["saved", "rejected", "saved"]
    assert list_texts(workspace) == ["Port 3.", "Tea at four."]


def test_promoted_lines_next_to_each_other_follow_their_memories(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    outcomes = save(workspace, say("Port 1.", key="port"), say("Color red.", key="color"))
    lines = "".join(f"- {item.text} <!-- {item.id} -->\n" for item in outcomes)
    page = put(workspace, "MEMORY.md", PAGE.format(lines=lines))
    save(
        workspace,
        say("Port 2.", key="port"),
        say("Color blue.", key="color"),
        say("Port 3.", key="port"),
    )
    assert "- Port 3. <!--" in page.read_text()
    assert "- Color blue. <!--" in page.read_text()


def test_a_correction_replaces_the_one_memory_that_it_names(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    save(
        workspace,
        say("The frontend is installed with npm."),
        say("Deploys happen on Friday."),
        say("The retro is on Friday afternoon."),
        say("Backups of the database run on Friday night."),
    )
    save(workspace, say("The frontend is installed with pnpm, not npm.", corrects="npm"))
    assert "The frontend is installed with npm." in list_texts(workspace, "superseded")
    save(workspace, say("No, our frontend is built with yarn, not npm.", corrects="npm"))
    assert len(list_texts(workspace, "superseded")) == 1  # the correction does not say npm
    # Nobody knows which one is meant, or it is about something else.
    before = list_texts(workspace)
    outcome = save(workspace, say("Not Friday, Monday.", corrects="Friday"))[0]
    assert outcome.action == "saved"
    save(workspace, say("The dentist said Tuesday, not Friday.", corrects="on Friday"))
    assert set(before) < set(list_texts(workspace))
    # A guess does not replace what the user said.
    save(workspace, Draft("The frontend is installed with yarn, not pnpm.", corrects="pnpm"))
    assert "The frontend is installed with pnpm, not npm." in list_texts(workspace)


def test_without_a_model_corrections_need_a_shared_word(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from memcli.errors import UnavailableError

    def fail(*_: object, **__: object) -> None:
        raise UnavailableError("no model")

    monkeypatch.setattr(Index, "get_embedder", fail)
    workspace = make_workspace(tmp_path)
    save(workspace, say("The frontend is installed with npm."))
    save(workspace, say("I like tea, not npm.", corrects="npm"))
    assert list_texts(workspace, "superseded") == []
    save(workspace, say("Our frontend uses pnpm, not npm.", corrects="npm"))
    assert list_texts(workspace, "superseded") == ["The frontend is installed with npm."]


def test_a_model_may_judge_similar_memories_if_the_user_wants_that(tmp_path: Path) -> None:
    script = tmp_path / "model"
    script.write_text("#!/bin/sh\necho 'The first pair does.'\necho 1\n")
    script.chmod(0o755)
    workspace = make_workspace(tmp_path)
    workspace.settings.values.update({"llm.command": str(script), "llm.judge": True})  # type: ignore[attr-defined]
    save(workspace, say("I moved to Porto in May."))
    save(workspace, say("I moved to Porto in June."))
    assert list_texts(workspace, "superseded") == ["I moved to Porto in May."]


def get_type(workspace: Workspace, outcome: Outcome) -> str:
    entry = open_index(workspace).find_by_id(outcome.id)
    assert entry is not None
    return entry.type


def test_rules_and_preferences_get_their_type(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    outcomes = save(
        workspace,
        say("Never force-push to main."),
        say("Ana prefers short answers."),
        say("The release manager never sleeps."),
    )
    types = [get_type(workspace, outcome) for outcome in outcomes]
    assert types == ["constraint", "preference", "fact"]


def test_a_given_type_is_stored_with_a_confirmation(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    save(workspace, say("Pushes to main need a review."))
    (outcome,) = save(workspace, say("Pushes to main need a review.", type="constraint"))
    assert (outcome.action, get_type(workspace, outcome)) == ("confirmed", "constraint")


def test_a_denied_value_is_corrected_in_each_memory_about_it(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    old = ["The CI cache lives in S3 bucket shop-ci.", "The CI cache lives in S3."]
    save(workspace, *map(say, [*old, "The photos of the shop are in S3."]))
    save(workspace, say("The CI cache lives in GCS, not S3."))
    assert list_texts(workspace, "superseded") == old
    save(workspace, say("We use eslint 8."), say("We have 8 bikes."))
    save(workspace, say("We use eslint 9, not eslint 8."))
    assert list_texts(workspace, "superseded") == [*old, "We use eslint 8."]


@pytest.mark.parametrize(
    ("old", "new", "relations"),
    [
        ("Jonas owns the payments module.", "Lena, not Jonas, owns the payments module.", ["replaces"]),
        ("We use npm.", "Correction: we use pnpm, not npm.", ["replaces"]),
        # The same value, another subject.
        ("Never edit files in src/gen by hand.", "The folder is called src/generated, not src/gen.", []),
        ("Never DELETE FROM orders: set deleted_at.", "The table is called customer_orders, not orders.", []),
        ("I like tabs more than spaces.", "We use tabs, not spaces.", []),
        # Partly the same subject.
        ("The frontend and the docs site are built with webpack on CI.", "The frontend is built with vite, not webpack.", ["contradicts"]),
    ],
)  # fmt: skip
def test_a_correction_replaces_only_what_has_its_subject(
    tmp_path: Path, old: str, new: str, relations: list[str]
) -> None:
    workspace = make_workspace(tmp_path)
    (saved,) = save(workspace, say(old))
    (outcome,) = save(workspace, say(new))
    related = [item.relation for item in outcome.related if item.id == saved.id]
    assert [relation for relation in related if relation != "similar"] == relations
    assert (old in list_texts(workspace)) == (relations != ["replaces"])
    questions = [question.kind for question in list_questions(workspace)]
    assert questions == ["conflict"] * (relations == ["contradicts"])
    if relations == ["replaces"]:  # again, after somebody repeated the old value
        save(workspace, say(old), say("Tea is at four."))
        save(workspace, say(new))
        assert list_texts(workspace) == sorted([new, "Tea is at four."])


@pytest.mark.parametrize(
    ("type_", "texts"),
    [
        (
            "constraint",
            [
                "dont use pip directly, use uv",
                "You must not commit .env",
                "please use pnpm instead of npm",
                "Use polars, not pandas",
                "No force pushes to main",
                "we always squash merges",
                "We use pnpm, never npm.",
                "Team rule: always rebase before merging.",
                "Remember to run make fmt.",
                "Only deploy on weekdays. The team is here then.",
                "When pnpm install fails with EACCES, run make clean",
                "Avoid wildcard imports",
                "Before deploying, run the smoke test",
                "Run `make docs` after you edit docs/api.md",
                "Format TypeScript files with prettier",
                "If you touch the Dockerfile, rebuild with make image",
                "All money values are integer cents, never floats.",
                "API keys belong in Vault, not in the repo.",
                "Ask before you delete data.",
                "Log with structlog.",
                "Store dates in UTC.",
                "Public functions need docstrings.",
                "Stop adding emojis to commit messages.",
                "In src/server.ts every new route needs a schema.",
                "Every order must have a customer.",
            ],
        ),
        (
            "preference",
            ["I like short commit messages.", "Prefer ripgrep over grep.", "I prefer tabs."],
        ),
        ("lesson", ["Lesson: rsync fails with code 23 unless --partial is given."]),
        (
            "fact",
            [
                "The build always fails on Windows.",
                "Metrics are in Grafana. Never use the old board.",
                "No one knows the code of the boiler.",
                "Nobody is on call.",
                "No longer on AWS.",
                "No tests exist for the parser.",
                "Before moving, the shop was in Bonn.",
                "We never found the cause.",
                "Use of drones is common.",
                "Lesson plans are in docs.",
                "Run 42 reached 0.81.",
                "Run times are in bench.md.",
                "When you moved, the cat stayed.",
                "We decided to use Postgres instead of MySQL.",
                "We decided to use Postgres locks instead of Redis because we don't want two stores.",
                "The repo belongs to Ana, not to Bob.",
                "Log files are in /var/log.",
                "Store hours in December are 9 to 8.",
                "The deploy script always fails when the VPN is off.",
                "Always fails on my machine when the cache is cold.",
                "The kids need shoes.",
                "Every customer has an id.",
            ],
        ),
    ],
)
def test_the_first_words_tell_a_rule_from_a_fact(type_: str, texts: list[str]) -> None:
    assert {text: guess_type(text) for text in texts} == dict.fromkeys(texts, type_)
