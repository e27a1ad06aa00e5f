"""The page of long-term memory: its text, or why it is left alone, and its lines of what is believed no more."""

from collections.abc import Collection
from dataclasses import dataclass

from ..errors import RefusedError
from ..store import files
from ..store.entries import decoded
from ..store.journal import Change
from ..store.workspace import Workspace
from ..text.conflict import require_no_conflict
from ..text.promoted import read_promoted, with_lines
from .plan import Plan


@dataclass(frozen=True)
class Page:
    """The page; `text` is empty where there is none or it cannot be changed."""

    path: str
    before: str | None  # for a step: None where there is no file
    text: str
    problem: str = ""


def read_page(workspace: Workspace) -> Page:
    """Read the page; what is no UTF-8 or in conflict is left byte for byte, and said."""
    path = workspace.layout.memory
    target = workspace.path(path)
    if not target.exists():
        return Page(path, None, "")
    try:
        text = decoded(path, files.read(target))
        require_no_conflict(path, text)
    except RefusedError as error:
        return Page(path, None, "", error.message)
    return Page(path, text, text)


def ours_of(text: str, ids: Collection[str]) -> frozenset[str]:
    """Pick the ids that have a promoted line on a page which no person has changed."""
    return frozenset(line.id for line in read_promoted(text).lines if line.is_ours and line.id in ids)


def without_lines(workspace: Workspace, ids: Collection[str]) -> Plan:
    """Propose to take the promoted lines of superseded entries off the page; a page that is left alone stays."""
    page = read_page(workspace)
    gone = ours_of(page.text, ids)
    return Plan((Change(page.path, page.before, with_lines(page.text, {}, gone)),)) if gone else Plan()
