"""Commits as a conversation: what was changed and why becomes a session, each commit a message of its own."""

import os
from dataclasses import dataclass
from pathlib import Path

from ..errors import GitError, UsageError
from ..store import git
from ..store.redaction import redactor
from ..store.sessions import Session
from ..store.sessions.append import append
from ..store.workspace import Workspace
from ..text.session import Event
from ..text.times import parse_time, stamp

SECONDS = 60
_FIX = "name commits of the repository you are in, such as HEAD~5..HEAD"
_FORMAT = "%x01%H%x00%aI%x00%an%x00%B%x02"


@dataclass(frozen=True)
class Commits:
    """Commits as what was said in the repository's session."""

    session: str
    top: str  # the repository's folder
    events: tuple[Event, ...]


def commits(span: str, folder: Path, workspace: Path) -> Commits:
    """Read a range of commits; UsageError where it is none.

    Those that change nothing but files of the workspace are left out: to commit memory would make new memory.
    """
    top = _git(folder, "rev-parse", "--show-toplevel").strip()
    inside = os.path.relpath(workspace.resolve(), Path(top).resolve())
    told = _git(folder, "log", "--reverse", "--name-only", "-z", f"--format={_FORMAT}", "--end-of-options", span)
    events = []
    records = told.split("\x01")[1:]
    for record in records:
        head, _, names = record.partition("\x02")
        parts = head.split("\0")
        files = [name for name in names.strip("\n").split("\0") if name.strip("\n")]
        if len(parts) != 4 or (files and all(_is_below(name.lstrip("\n"), inside) for name in files)):
            continue
        commit, when, author, message = parts
        moment = parse_time(when)
        text = f"{message.strip()}\n\n(commit {commit[:12]})"
        events.append(Event(f"commit_{commit[:12]}", "message", "user", text, stamp(moment) if moment else "", author))
    if not records:
        raise UsageError(f"no commits in {span}", "name a range such as HEAD~5..HEAD")
    return Commits(f"git:{Path(top).name}", top, tuple(events))


def _is_below(name: str, folder: str) -> bool:
    return folder == "." or name.startswith(f"{folder}/")


def take_in_commits(workspace: Workspace, found: Commits) -> Session:
    """Put commits into the repository's session; those that are there already stay as they are."""
    guard = redactor(workspace, found.session)
    events = [guard.event(event) for event in found.events]
    told = {"channel_type": "git", "channel_id": found.top}
    return append(workspace, found.session, events, lambda _: b"", told).session


def _git(folder: Path, *words: str) -> str:
    try:
        return git.text(folder, *words, seconds=SECONDS)
    except GitError as error:
        raise UsageError(f"git: {error.message}", error.fix or _FIX) from None
