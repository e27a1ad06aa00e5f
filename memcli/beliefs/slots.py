"""Settle who fills a slot once an entry's key was set by hand: one active entry a key and project."""

from dataclasses import dataclass

from ..errors import MemError
from ..formats.entry import same_key
from ..index.index import Index, ask
from ..index.lookups import keyed
from ..store.journal import Change
from ..store.workspace import Workspace
from .plan import Plan, applied, without_lines
from .precedence import is_believed_over, is_same_slot
from .supersession import Standing, conflicting_text, referring_text, standing, superseded_text


@dataclass(frozen=True)
class Filled:
    """What filled the slot before, and what may still fill it, being trusted more."""

    supersedes: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()


def fill(workspace: Workspace, path: str, command: str) -> Filled:
    """Let the entry at a path take the place of what fills its key; what is trusted more is flagged with it."""
    one = standing(workspace, path)
    if not one.entry.key or one.entry.status != "active":
        return Filled()
    steps: list[Change] = []
    text = one.text
    gone, flagged = [], []
    for other in _others(workspace, one):
        now = Standing(one.path, text, one.entry)
        if is_believed_over(other.entry, one.entry, is_told_now=True):
            steps.append(Change(other.path, other.text, superseded_text(workspace, other, one.entry.id)))
            text = referring_text(workspace, now, other.entry.id)
            gone.append(other.entry.id)
        else:
            steps.append(Change(other.path, other.text, conflicting_text(workspace, other, one.entry.id)))
            text = conflicting_text(workspace, now, other.entry.id)
            flagged.append(other.entry.id)
    if text != one.text:
        steps.append(Change(one.path, one.text, text))
    applied(workspace, Plan(tuple(steps)) + without_lines(workspace, gone), command)
    return Filled(tuple(gone), tuple(flagged))


def _others(workspace: Workspace, one: Standing) -> list[Standing]:
    """Read the other entries that fill the same slot; one that cannot be changed is left out."""
    found = []
    for path in ask(workspace, lambda index: _paths(index, one.entry.key)):
        if path == one.path:
            continue
        try:
            other = standing(workspace, path)
        except MemError:
            continue
        if is_same_slot(other.entry, one.entry) and other.entry.id not in one.entry.conflicts_with:
            found.append(other)
    return found


def _paths(index: Index, key: str) -> list[str]:
    index.refresh()
    return [path for other, path in keyed(index) if same_key(other) == same_key(key)]
