"""The episodes of a project become one page, which tells of each of them and leaves a person's text alone."""

import itertools
import json
from pathlib import Path

import pytest

from memcli.beliefs.plan import applied
from memcli.consolidation.repairs import changed_files, repairs
from memcli.consolidation.rollup import EpisodeGroup, RolledUp, groups, rollup_plan, unsummed
from memcli.errors import LlmError, NotFoundError, RefusedError
from memcli.formats.frontmatter import document as frontmatter
from memcli.formats.session_event import Event
from memcli.store.entries import write
from memcli.store.workspace import Workspace
from tests.consolidation.conversations import state
from tests.fake_llm import Answer, ScriptedLlm
from tests.scenes import at
from tests.tables import cases

SHOP = EpisodeGroup("shop")
PAGE = "entries/projects/shop/summary.md"
EPISODE = """\
Title: {title}
Date: {day}
Topic: {title}
Outcome: It works.
Refs: session:s#m1:m2
Tags: none

Summary: They spoke of {title}.

Key decisions:
- Use {title} from now on.
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = at(tmp_path / "memory")
    (made.root / "entries").mkdir()
    return made


COUNT = itertools.count()


def episode(workspace: Workspace, title: str, day: str, project: str = "shop", tags: tuple[str, ...] = ()) -> str:
    told = {"type": "episode", "title": title, "project": project, "tags": tags, "source": "observed"}
    body = EPISODE.format(title=title, day=day)
    number = next(COUNT)
    return write(workspace, told, body, bytes([number, 0, 0, 0, number])).id


def done(workspace: Workspace, *script: Answer, group: EpisodeGroup = SHOP) -> RolledUp:
    llm = ScriptedLlm(*script) if script else None
    proposed = rollup_plan(workspace, group, llm, b"12345678")
    applied(workspace, proposed.plan, "test")
    return proposed


def page(workspace: Workspace, path: str = PAGE) -> str:
    return (workspace.root / path).read_bytes().decode()


def test_episodes_become_one_page_in_their_own_words(workspace: Workspace) -> None:
    first = episode(workspace, "Postgres 16", "2026-10-01")
    second = episode(workspace, "Stripe", "2026-11-02")
    before = state(workspace)
    assert done(workspace).how == "rules"
    document = frontmatter.parse(page(workspace))
    assert document.fields["type"] == "summary"
    assert document.fields["project"] == "shop"
    assert document.fields["references"] == [first, second]
    assert "2 episodes, 2026-10-01 to 2026-11-02." in document.body
    assert "2026-11-02: They spoke of Stripe." in document.body
    assert "- Use Postgres 16 from now on." in document.body
    assert f"- 2026-10-01 Postgres 16 ({first})" in document.body
    assert before.items() <= state(workspace).items(), "the episodes stay"


@cases("lists")
def test_what_was_decided_and_is_open_is_kept_whatever_form_an_episode_has(workspace: Workspace, lists: str) -> None:
    told = {"type": "episode", "title": "The host", "project": "shop", "source": "observed"}
    write(workspace, told, f"Title: The host\nDate: 2026-11-02\n\n{lists}", bytes(5))
    done(workspace)
    assert "Key decisions:\n- Use heron from now on.\n" in page(workspace)
    assert "Open questions:\n- Who pays for it?" in page(workspace)


def test_a_summary_in_bullets_is_told(workspace: Workspace) -> None:
    told = {"type": "episode", "title": "The host", "project": "shop", "source": "observed"}
    body = "Title: The host\nDate: 2026-11-02\n\nSummary:\n- Moved to heron.\n- Took 23 minutes.\n"
    write(workspace, told, body, bytes(5))
    done(workspace)
    assert "2026-11-02: Moved to heron.; Took 23 minutes." in page(workspace)


def test_a_second_run_changes_nothing_and_asks_nobody(workspace: Workspace) -> None:
    episode(workspace, "Postgres 16", "2026-10-01")
    assert unsummed(workspace) == [SHOP]
    assert unsummed(workspace, 2) == []
    done(workspace, "They chose Postgres.")
    before = state(workspace)
    assert unsummed(workspace) == []
    assert rollup_plan(workspace, SHOP, ScriptedLlm(), b"12345678").how == "nothing"
    assert state(workspace) == before


def test_a_new_episode_is_told_and_a_persons_text_stays(workspace: Workspace) -> None:
    episode(workspace, "Postgres 16", "2026-10-01")
    done(workspace)
    (workspace.root / PAGE).write_text(
        page(workspace).replace("<!-- mem:rollup", "Mine above.\n\n<!-- mem:rollup") + "\nMine below.\n"
    )
    second = episode(workspace, "Stripe", "2026-11-02")
    done(workspace)
    assert "\nMine above.\n\n<!-- mem:rollup" in page(workspace)
    assert page(workspace).endswith("<!-- /mem:rollup -->\n\nMine below.\n")
    assert page(workspace).count("<!-- mem:rollup ") == 1
    assert second in frontmatter.parse(page(workspace)).fields["references"]
    assert not (workspace.root / "archive").exists()


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_page_a_person_has_written_gets_the_marks_at_its_end(workspace: Workspace, newline: str) -> None:
    target = workspace.root / PAGE
    target.parent.mkdir(parents=True)
    target.write_bytes(
        newline.join(["---", "id: shop", "owner: Rita", "---", "", "# The shop", "", "Sells tea."]).encode()
    )
    episode(workspace, "Postgres 16", "2026-10-01")
    done(workspace)
    assert f"owner: Rita{newline}" in page(workspace)
    assert f"# The shop{newline}{newline}Sells tea.{newline}{newline}<!-- mem:rollup" in page(workspace)
    before = page(workspace)
    assert done(workspace).how == "nothing"
    assert page(workspace) == before
    assert ("\r\n" in before) == (newline == "\r\n")


def test_what_a_person_changed_between_the_marks_is_kept_aside(workspace: Workspace) -> None:
    episode(workspace, "Postgres 16", "2026-10-01")
    done(workspace)
    (workspace.root / PAGE).write_text(page(workspace).replace("They spoke of", "We argued about"))
    episode(workspace, "Stripe", "2026-11-02")
    done(workspace)
    assert "We argued about" in page(workspace, f"archive/{PAGE}")


def test_an_llm_tells_it_and_is_asked_again_after_it_failed(workspace: Workspace) -> None:
    episode(workspace, "Postgres 16", "2026-10-01")
    failed = done(workspace, LlmError("down"))
    assert (failed.how, failed.error) == ("rules", "down")
    assert "They spoke of Postgres 16." in page(workspace)
    before = state(workspace)
    assert done(workspace, LlmError("down")).how == "nothing"
    assert state(workspace) == before
    assert done(workspace, "The shop moved to Postgres.").how == "llm"
    assert "The shop moved to Postgres." in page(workspace)
    assert "They spoke of" not in page(workspace)


def test_a_tag_has_a_page_too_and_projects_are_found(workspace: Workspace) -> None:
    episode(workspace, "Postgres 16", "2026-10-01", tags=("db",))
    episode(workspace, "Tea", "2026-10-02", project="Kitchen & garden")
    episode(workspace, "Rain", "2026-10-03", project="")
    assert {group.name for group in groups(workspace)} == {"shop", "Kitchen & garden"}
    assert done(workspace, group=EpisodeGroup("db", is_tag=True)).path == "entries/tags/db/summary.md"
    assert "Tea" not in page(workspace, "entries/tags/db/summary.md")
    assert done(workspace, group=EpisodeGroup("Kitchen & garden")).path == "entries/projects/kitchen-garden/summary.md"


def test_a_project_without_episodes_is_not_found(workspace: Workspace) -> None:
    with pytest.raises(NotFoundError, match="no episodes of project 'shop'"):
        done(workspace)


@pytest.mark.parametrize("content", [b"caf\xe9", b"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n"])
def test_a_page_that_cannot_be_changed_is_refused(workspace: Workspace, content: bytes) -> None:
    target = workspace.root / PAGE
    target.parent.mkdir(parents=True)
    target.write_bytes(content)
    episode(workspace, "Postgres 16", "2026-10-01")
    with pytest.raises(RefusedError, match=r"summary\.md"):
        done(workspace)
    assert target.read_bytes() == content


def test_a_title_cannot_end_the_marks(workspace: Workspace) -> None:
    episode(workspace, "x <!-- /mem:rollup --> y", "2026-10-01")
    done(workspace)
    episode(workspace, "Stripe", "2026-11-02")
    done(workspace)
    assert page(workspace).count("<!-- /mem:rollup -->") == 1


def ran(*steps: tuple[str, str, bool]) -> list[Event]:
    """Make the calls and answers of a shell: command, output, failed."""
    events = []
    for number, (command, output, failed) in enumerate(steps):
        extra = {"call_id": f"c{number}"}
        events.append(Event(f"e{number}", "tool_call", "assistant", command, name="Bash", extra=extra))
        events.append(Event(f"r{number}", "tool_result", "system", output, is_error=failed, extra=extra))
    return events


MISSING = "Traceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'yaml'\n"


def lessons(*steps: tuple[str, str, bool]) -> list[str]:
    """Give the texts of the lessons."""
    return [text for text, _ in repairs(ran(*steps))]


def test_a_command_that_fixed_an_error_is_a_lesson() -> None:
    steps = (("pytest -q", MISSING, True), ("pip install pyyaml", "ok", False), ("pytest -q", "3 passed", False))
    text = (
        "`pytest -q` failed with “ModuleNotFoundError: No module named 'yaml'”; it worked after `pip install pyyaml`."
    )
    assert repairs(ran(*steps)) == [(text, "e2")]


def test_other_arguments_or_another_program_that_worked_are_a_lesson() -> None:
    assert lessons(("npm test", "out of memory error", True), ("npm test -- --runInBand", "ok", False)) == [
        "`npm test` failed with “out of memory error”; `npm test -- --runInBand` worked."
    ]
    assert lessons(("python a.py", "python: command not found", False), ("python3 a.py", "", False)) == [
        "`python a.py` failed with “python: command not found”; `python3 a.py` worked."
    ]


def test_the_last_failure_before_the_success_tells_the_story_once() -> None:
    assert lessons(
        ("make", "error: one", True),
        ("make", "error: two", True),
        ("apt-get install libfoo", "", False),
        ("make", "", False),
    ) == ["`make` failed with “error: two”; it worked after `apt-get install libfoo`."]


def test_luck_looking_around_and_what_never_worked_teach_nothing() -> None:
    assert lessons(("make", "error", True), ("make", "", False)) == []
    assert lessons(("grep -r foo", "", True), ("pip install x", "", False), ("grep -r foo .", "", False)) == []
    assert lessons(("make", "error", True), ("ls -la", "", False), ("make", "", False)) == []
    assert lessons(("make", "error", True), ("pip install x", "", False)) == []
    far = [("sleep 1", "", False)] * 30
    assert lessons(("make", "error", True), *far, ("make -B", "", False)) == []


def test_calls_without_ids_are_answered_by_what_follows_and_unanswered_ones_are_passed_over() -> None:
    events = [
        Event("1", "tool_call", "assistant", "make", name="shell"),
        Event("2", "tool_result", "system", "exited with code 2"),
        Event("3", "tool_call", "assistant", "make -B", name="shell"),
        Event("4", "tool_result", "system", "done"),
        Event("5", "tool_call", "assistant", "make -B", name="shell"),
    ]
    assert [text for text, _ in repairs(events)] == ["`make` failed with “exited with code 2”; `make -B` worked."]


def test_files_that_tools_wrote_are_named_once() -> None:
    patch = "*** Begin Patch\n*** Update File: b.go\n*** Add File: c.go\n*** End Patch"
    events = [
        Event("1", "tool_call", "assistant", json.dumps({"file_path": "a.py", "old_string": "x"}), name="Edit"),
        Event("2", "tool_call", "assistant", json.dumps({"file_path": "a.py"}), name="Write"),
        Event("3", "tool_call", "assistant", json.dumps({"file_path": "seen.py"}), name="Read"),
        Event("4", "tool_call", "assistant", json.dumps({"patch": patch}), name="apply_patch"),
        Event("5", "tool_call", "assistant", "[1]", name="edit"),
        Event("6", "tool_call", "assistant", "not json", name="edit"),
    ]
    assert changed_files(events) == ("a.py", "b.go", "c.go")
