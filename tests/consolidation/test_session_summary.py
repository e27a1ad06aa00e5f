"""An episode says what a conversation was for, what came of it, and its project."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memcli.beliefs.admission import admit
from memcli.beliefs.plan import Draft
from memcli.consolidation.candidates import candidates
from memcli.consolidation.consolidate import consolidate
from memcli.consolidation.session_summary import LONGEST, Summary, summary
from memcli.formats.session_event import Event
from memcli.store.journal import exclusive
from memcli.store.sessions.sessions import find, update
from memcli.store.workspace import Workspace
from tests.consolidation.conversations import documents, reply, say
from tests.fake_llm import ScriptedLlm
from tests.scenes import at
from tests.tables import cases


def told(*said: tuple[str, str], decisions: tuple[str, ...] = ()) -> Summary:
    """Sum up messages of (role, text)."""
    events = [Event(f"m{number}", role=role, text=text) for number, (role, text) in enumerate(said)]
    return summary(events, candidates(events), decisions, (), (), ())


def episode(one: Summary, *tags: str) -> str:
    """Return the text of an episode of a day and a conversation."""
    return one.episode("2026-10-05", "session:s#m1:m5", tags)


def test_an_episode_says_the_goal_and_the_result() -> None:
    one = told(
        ("user", "hi! the nightly export of the shop fails since Monday, can you look?"),
        ("assistant", "I'll look at the log of the export.\n```\n" + "a line of the log\n" * 200 + "```"),
        ("assistant", "Fixed: the export ran before the backup had released its lock, it runs at 05:00 now."),
        ("user", "great, thanks"),
        ("assistant", "You're welcome, happy to help with more."),
    )
    assert episode(one, "shop", "export") == (
        "Date: 2026-10-05\n"
        "Topic: the nightly export of the shop fails since Monday, can you look?\n"
        "Outcome: Fixed: the export ran before the backup had released its lock, it runs at 05:00 now.\n"
        "Refs: session:s#m1:m5\n"
        "Tags: shop, export"
    )
    assert "Fixed: the export" in one.title
    assert "05:00" in one.history()


def test_words_of_two_people_do_not_read_as_one_persons() -> None:
    one = told(
        ("user", "Professor Lindqvist moved my exam to the ninth of June, so everything shifts."),
        ("assistant", "I moved the revision plan, it ends on the eighth of June now."),
    )
    assert one.history().startswith("Professor Lindqvist moved my exam")
    assert " → I moved the revision plan" in one.history()
    assert " → I moved the revision plan" in one.title


@cases("said")
def test_without_a_result_history_and_episode_say_what_it_was_about_and_no_more(
    said: tuple[tuple[str, str], ...],
) -> None:
    one = told(*said)
    assert (one.outcome, "Outcome:" in episode(one)) == ("", False)
    assert one.goal
    assert one.history().startswith(one.goal[:30])
    assert "→" not in one.history()


def test_what_nobody_answered_is_open() -> None:
    one = told(
        ("user", "plan the fair in May"), ("assistant", "I have the halls. Which of the two dates do you prefer?")
    )
    assert episode(one).endswith("\n\nOpen questions:\n- Which of the two dates do you prefer?")


def test_what_an_llm_told_is_whole_in_the_episode() -> None:
    whole = "They moved the fair. " * 60 + "It is on 3 May now."
    one = Summary("Move the fair.", "It is on 3 May now.", ("Keep the old halls.",), whole=whole)
    assert episode(one).endswith(f"\n\nSummary: {whole}\nDecisions:\n- Keep the old halls.")


def test_an_episode_is_short_whatever_it_tells_of() -> None:
    long = "word " * 400
    texts = tuple(f"{number} {long}" for number in range(9))
    one = Summary(long[:120], long[:200], texts, (long,), ("a.py",) * 30, (long,))
    assert len(episode(one)) <= 2 * LONGEST
    assert "Decisions:\n- 0 word" in episode(one)


def test_only_what_there_is_has_a_label() -> None:
    assert episode(Summary("", "It works.")) == "Date: 2026-10-05\nOutcome: It works.\nRefs: session:s#m1:m5"


@cases("suggestion")
def test_neither_a_suggestion_nor_a_result_of_something_else_is_an_outcome(suggestion: str) -> None:
    said = ("user", "help me to find a hotel for the wedding guests"), ("assistant", suggestion), ("user", "hm, ok")
    one = told(*said)
    assert (one.outcome, one.history()) == ("", "help me to find a hotel for the wedding guests.")


@pytest.mark.parametrize(
    ("lesson", "outcome"),
    [
        (
            "The pump is fine. Cause: its relay sticks below five degrees, since the grease in it has hardened.",
            "The pump is fine. Cause: its relay sticks below five degrees, since the grease in it has hardened.",
        ),
        ("The relay is from 2009. That is why the pump stops, replacing it fixes it.", None),
        (f"It looks odd. {'The pump stops because its relay sticks whenever it rains hard ' * 6}.", ""),
    ],
)
def test_an_outcome_is_never_cut(lesson: str, outcome: str | None) -> None:
    events = [Event("m0", role="user", text="why does the pump in the cellar stop at night?" + " it does" * 90)]
    one = summary(events, candidates(events), (), (lesson,), (), ())
    assert one.outcome == (lesson if outcome is None else outcome)
    assert "…" not in episode(one).rpartition("Outcome: ")[2].partition("\n")[0]


def test_what_was_taken_back_is_no_topic() -> None:
    events = [Event("m0", role="user", text="We fly on the 12th of June from Eindhoven. Help me pack for Porto.")]
    gone = {"We fly on the 12th of June from Eindhoven."}
    assert (
        summary(events, (), (), ("Packed for Porto and done with it.",), (), (), gone).goal == "Help me pack for Porto."
    )


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def known(workspace: Workspace, body: str, project: str) -> None:
    """Write down a memory of a project."""
    told = {"type": "preference", "source": "user", **({"project": project} if project else {})}
    admit(workspace, [Draft(told, body, bytes([0, *body.encode()[-7:]]))], "test")


def project_of(workspace: Workspace, session: dict[str, Any], *said: str) -> object:
    """Return the project of the episode that a conversation in a folder comes to, which says what is to be kept."""
    say(workspace, "hello", *said)
    with exclusive(workspace, "test") as held:
        update(workspace, find(workspace, "s"), lambda metadata: replace(metadata, metadata=session), held)
    found = [{"content": one, "type": "preference", "source": "user_stated"} for one in said]
    consolidate(workspace, find(workspace, "s"), ScriptedLlm(reply("They spoke.", None, *found)))
    [episode] = documents(workspace, "episode")
    return episode.fields.get("project")


TABS = "User prefers tabs over spaces."
LUNCH = "User has lunch at noon."
COFFEE = "User drinks coffee without sugar."


@pytest.mark.parametrize("folder", ["/home/ana/checkout-2", "/tmp/worktree", ""])
def test_a_conversation_that_confirms_a_labelled_memory_is_of_its_project(workspace: Workspace, folder: str) -> None:
    known(workspace, "User prefers tabs over spaces", "hdrpop")
    assert project_of(workspace, {"cwd": folder}, TABS) == "hdrpop"


def test_most_of_several_labels_decide(workspace: Workspace) -> None:
    known(workspace, "User prefers tabs over spaces", "editor")
    known(workspace, "User has lunch at noon", "kitchen")
    known(workspace, "User drinks coffee without sugar", "kitchen")
    assert project_of(workspace, {"cwd": "/home/ana/notes"}, TABS, LUNCH, COFFEE) == "kitchen"


def test_what_the_conversation_itself_is_labelled_with_rules_over_both(workspace: Workspace) -> None:
    known(workspace, "User prefers tabs over spaces", "hdrpop")
    assert project_of(workspace, {"cwd": "/home/ana/checkout-2", "project": "billing"}, TABS) == "billing"


def test_without_a_label_the_folder_names_the_project(workspace: Workspace) -> None:
    known(workspace, "User prefers tabs over spaces", "")
    assert project_of(workspace, {"cwd": "/home/ana/checkout-2"}, TABS) == "checkout-2"
