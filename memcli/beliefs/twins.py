"""Make one entry of a changed one and the active ones that say the same word for word.

What is written is compared with what is known before it is kept; what is edited is only seen to be a twin afterwards.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import paths_of_chunks
from ..index.similarity import twins
from ..store.journal import Step
from ..store.workspace import Workspace
from .admission import with_current
from .deduplication import alike, folds
from .merging import says
from .plan import without_lines
from .supersession import read_entry_file

_ENTRIES = Filter(kinds=("entry",))


class Twins(NamedTuple):
    """What a changed entry and its twins became."""

    supersedes: tuple[str, ...] = ()  # ids of those it took in
    superseded_by: str = ""  # id of the one that took it in: the oldest of the most trusted


NO_TWINS = Twins()


def fold_twins(workspace: Workspace, path: str, command: str) -> Twins:
    """Let the oldest of the most trusted take in the others; raise as `with_current`, with the entry changed."""
    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_vault:
        return NO_TWINS

    def look(*_: object) -> dict[str, int]:
        strengths = ask(workspace, partial(_strengths, body=read_entry_file(workspace, path).entry.body))
        return strengths if path in strengths else {}

    def decide(strengths: Mapping[str, int]) -> tuple[Sequence[Step], Twins]:
        for group in alike([read_entry_file(workspace, twin) for twin in strengths]):
            ids = {member.entry.id: strengths[member.path] for member in group}
            for fold in folds(workspace, group, ids, lambda left, right: says(left.entry, right.entry.body)):
                page = without_lines(workspace, fold.heirs, fold.heirs)
                taken = {member.path: member.entry.id for member in fold.taken}
                changed = Twins(superseded_by=fold.kept.entry.id) if path in taken else Twins(tuple(taken.values()))
                return (*fold.steps(workspace, workspace.stamp), *page.steps), changed
        return (), NO_TWINS

    return with_current(workspace, command, look, decide)[0]


def _strengths(index: Index, body: str) -> dict[str, int]:
    """Map the paths of the active entries with this text to their strengths; nothing where there is but one."""
    index.refresh()
    paths = {*paths_of_chunks(index, twins(index, [body], _ENTRIES).get(body, ())).values()}
    if len(paths) < 2:
        return {}
    rows = index.list_entries(Filter(kinds=("entry",), paths=tuple(paths)), "path")
    return {row["path"]: row["strength"] for row in rows if row["path"] in paths}
