"""No function of the library changes files without noting it, and what is cut off is noted as far as it came."""

import ast
import json
import os
from pathlib import Path
from typing import NoReturn

import pytest

from memcli import open_workspace
from memcli.api.history import add_note
from memcli.api.sync import list_undoable, undo
from memcli.store import journal
from tests.cli.test_undo import files, written
from tests.conftest import Mem
from tests.crash import FailingOS, wire

API = Path(__file__).parents[2] / "memcli" / "api"
READING = {
    "agents.with_lock_wait",
    "agents.kept_lately",
    "agents.waiting_handoff",
    "agents.unsaved_statement",
    "consolidate.reply_request",
    "context.session_start",
    "agents.keep_turn",
    "agents.waiting_messages",
    "agents.last_messages",
    "recall.recall_in_time",
    "agents.session_recap",
    "sync.diff",
    "check.check_staged",
    "check.check_since",
    "configure.trust",
    "edit.begin_edit",
    "edit.replace_words",
    "edit.two_entries",
    "edit.apply_patch",
    "memory_files.path_of_key",
    "find.search",
    "find.why_nothing",
    "find.list_entries",
    "find.values_in_use",
    "read.changed_citations",
    "read.read_backlinks",
    "read.wiki_links",
    "stats.growth_by_type",
    "stats.tokens_by_day",
    "maintain.fading",
    "review.added_since",
    "review.mark_seen",
    "review.seen_mark",
    "review.waiting_count",
    "find.grep",
    "history.read_history",
    "installation.attributes_plan",
    "read.read",
    "read.read_origins",
    "read.read_history",
    "read.read_key_history",
    "recall.recall",
    "sessions.find_session",
    "sessions.holds_many",
    "sessions.list_sessions",
    "sessions.recap",
    "sessions.show",
    "sessions.stats",
    "stats.index",
    "stats.stats",
    "stats.team_sql",
    "transfer.export",
    "sync.list_undoable",
    "workspace.audience",
    "workspace.every",
    "workspace.locate",
}
"""Functions that change no file of the user's, or leave that to one that is noted."""


EDIT_UNTOLD = 5


class Killed(BaseException):
    """Ends a command as a signal would, but for what its `finally` does."""


def killed(step: str) -> NoReturn:
    """Fail as a process that is killed."""
    raise Killed(step)


def test_each_function_that_takes_a_workspace_notes_what_it_changes_or_only_reads() -> None:
    found = set()
    for path in API.glob("*.py"):
        for one in ast.parse(path.read_text()).body:
            if isinstance(one, ast.FunctionDef) and not one.name.startswith("_") and one.args.args:
                is_noted = any("recorded" in ast.unparse(decorator) for decorator in one.decorator_list)
                if one.args.args[0].arg in ("workspace", "workspaces") and not is_noted:
                    found.add(f"{path.stem}.{one.name}")
    assert found == READING, "decorate it with @recorded, or add it to READING"


@pytest.mark.parametrize("lasting", [False, True], ids=["killed", "disk-full"])
@pytest.mark.parametrize("words", [("supersede", "{0}", "{1}"), ("forget", "{0}"), ("edit", "{0}", "{1}")])
def test_a_command_that_was_cut_off_anywhere_is_taken_back_whole(
    mem: Mem, workspace: Path, words: tuple[str, ...], lasting: bool
) -> None:
    ids = written(mem, "User uses vim."), written(mem, "User uses helix.")
    start = files(workspace)
    if words[0] == "edit":
        words = ("edit", "{0}", "--replace", "vim", "emacs")
    given = [word.format(*ids) for word in words]
    untold = []
    for at in range(1, 200):
        failing = FailingOS(at, lasting=True) if lasting else FailingOS(at, killed)
        wire(failing)
        try:
            mem(*given)
        except Killed:
            pass
        finally:
            wire(os)
        journal.finish_first(open_workspace(workspace), "mem")  # as the next command does
        for one in list_undoable(open_workspace(workspace)).commands:
            if one.record["command"] == words[0] and one.can_be_undone:
                undo(open_workspace(workspace), one.id)
        left = {name: data for name, data in files(workspace).items() if ".mem-tmp-" not in name}
        if left != start:
            untold.append((at, failing.steps[at - 1], set(left.items()) ^ set(start.items())))
            for name in left.keys() - start.keys():
                (workspace / name).unlink()
            for name, (data, _) in start.items():
                (workspace / name).parent.mkdir(parents=True, exist_ok=True)
                (workspace / name).write_bytes(data)
        if len(failing.steps) < at:
            break
    else:
        raise AssertionError("never came to its end")
    # Only what no journal holds can be made and not be noted: between the change and the line that says so.
    assert not untold if words[0] != "edit" else len(untold) <= EDIT_UNTOLD, untold


def test_a_note_of_another_version_of_mem_is_finished_and_noted_under_its_own_name(workspace: Path) -> None:
    where = open_workspace(workspace)
    with journal.exclusive(where, "mem test") as held:
        told = [{"path": "entries/new.md", "before": None, "after": "A quagga.\n"}]
        folder = workspace / ".mem" / "journal"
        folder.mkdir(exist_ok=True)
        note = {"steps": told, "seal": journal.seal(where, told)}
        (folder / "one.json").write_text(json.dumps(note))
        assert held
    add_note(open_workspace(workspace), "Fed the cat.")
    assert (workspace / "entries" / "new.md").read_text() == "A quagga.\n"
    assert [one.record["command"] for one in list_undoable(where).commands] == ["note", "a killed command"]


def test_a_workspace_given_by_name_is_noted_as_well(workspace: Path) -> None:
    opened = open_workspace(workspace)
    add_note(workspace=opened, text="A quagga.")
    assert [done.command for done in list_undoable(opened).commands] == ["note"]
