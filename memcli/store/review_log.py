"""What a review has to know beside the files, in `.mem/review`: it is of this machine and may be lost.

Lines of JSON: an entry that was `added` by itself, that somebody `looked` at, a question put off till `later`, a
decision that was `proposed` for a question. Never fails the command that notes something.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from ..text.times import stamp
from . import local_log
from .workspace import Workspace

FILE = "review"


@dataclass(frozen=True)
class Proposal:
    """A decision somebody proposed who may not take it."""

    decision: str
    by: str  # observed, inferred or llm
    at: str  # RFC 3339, UTC


@dataclass(frozen=True)
class Noted:
    """What stands in the log, the last line of each name deciding."""

    added: Mapping[str, str] = field(default_factory=dict)  # id of an entry nobody looked at → what brought it in
    later: Mapping[str, str] = field(default_factory=dict)  # question → when it was put off
    proposals: Mapping[str, Proposal] = field(default_factory=dict)  # by question


def note_added(workspace: Workspace, ids: Iterable[str], origin: str) -> None:
    """Note the entries that a conversation or an import brought in."""
    _note(workspace, [{"added": one, "by": origin} for one in ids])


def note_looked(workspace: Workspace, ids: Iterable[str]) -> None:
    """Note that somebody looked at entries."""
    _note(workspace, [{"looked": one} for one in ids])


def note_later(workspace: Workspace, questions: Iterable[str]) -> None:
    """Note that questions were put off."""
    _note(workspace, [{"later": one} for one in questions])


def note_proposal(workspace: Workspace, question: str, decision: str, by: str) -> None:
    """Note what somebody proposes who may not decide."""
    _note(workspace, [{"proposed": question, "decision": decision, "by": by}])


def read(workspace: Workspace) -> Noted:
    """Read the log; lines that are torn or of another kind are skipped."""
    path = workspace.derived / FILE
    try:
        text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() and not path.is_symlink() else ""
    except OSError:
        return Noted()
    added: dict[str, str] = {}
    later: dict[str, str] = {}
    proposals: dict[str, Proposal] = {}
    for line in text.splitlines():
        try:
            told = json.loads(line)
        except ValueError:
            continue
        if not isinstance(told, dict) or not all(isinstance(value, str) for value in told.values()):
            continue
        at = told.get("at", "")
        if "added" in told:
            added[told["added"]] = told.get("by", "")
        elif "looked" in told:
            added.pop(told["looked"], None)
        elif "later" in told:
            later[told["later"]] = at
        elif "proposed" in told and "decision" in told:
            proposals[told["proposed"]] = Proposal(told["decision"], told.get("by", ""), at)
    return Noted(added, later, proposals)


def _note(workspace: Workspace, rows: Iterable[Mapping[str, str]]) -> None:
    at = stamp(workspace.now)
    lines = "".join(f"{json.dumps({**row, 'at': at})}\n" for row in rows)
    with suppress(OSError):
        if lines:
            local_log.append(workspace.derived, FILE, lines.encode())
