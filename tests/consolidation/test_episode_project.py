"""An episode belongs to the project that its memories are labelled with, before the folder it took place in."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memcli.beliefs.admission import admit
from memcli.beliefs.plan import Draft
from memcli.consolidation.consolidate import consolidate
from memcli.store.journal import exclusive
from memcli.store.sessions.sessions import find, update
from memcli.store.workspace import Workspace
from tests.consolidation.conversations import at, documents, reply, say
from tests.fake_llm import ScriptedLlm


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return at(tmp_path / "memory")


def known(workspace: Workspace, body: str, project: str) -> None:
    """Write down a memory of a project."""
    told = {"type": "preference", "source": "user", **({"project": project} if project else {})}
    admit(workspace, [Draft(told, body, lambda attempt: bytes([attempt, *body.encode()[-7:]]))], "test")


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
