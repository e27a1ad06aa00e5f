"""Tidy a whole workspace of memories that say the same word for word, in one plan.

The oldest of the most trusted stays and takes in the others, which are marked as superseded by it and keep their text.
Doing it again finds nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..beliefs.comparison import are_twins, compare, plain, without_article
from ..errors import MemError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..store.entries import revised
from ..store.journal import Change
from ..store.workspace import Workspace
from ..text.entry import EPISODIC, Entry, read_entry
from ..text.frontmatter import parse
from ..text.summary import shorten
from .merging import are_of_one_kind, says, told_anew
from .plan import Plan
from .supersession import Standing, standing, superseded_text

_ENTRIES = Filter(kinds=("entry",))


@dataclass(frozen=True)
class Group:
    """Memories that say the same: the one that stays, and those it takes in."""

    kept: str
    merged: tuple[str, ...]
    says: str


@dataclass(frozen=True)
class Tidied:
    """What there is to tidy, and what could not be looked at."""

    plan: Plan
    groups: tuple[Group, ...] = ()
    problems: tuple[tuple[str, str], ...] = ()


def dedup_plan(workspace: Workspace) -> Tidied:
    """Propose to merge what says the same."""
    problems: list[tuple[str, str]] = []
    groups: list[Group] = []
    steps: list[Change] = []
    for rows in ask(workspace, _alike):
        members = [one for row in rows if (one := _read(workspace, row["path"], problems))]
        strengths = {row["id"]: row["strength"] for row in rows}  # with the confirmations that wait beside the files
        while members:
            kept, *others = members
            whole, taken = _gathered(workspace, kept, others, strengths)
            members = [one for one in others if one not in taken]
            if not taken:
                continue
            steps.append(Change(kept.path, kept.text, whole.text))
            steps += [Change(one.path, one.text, superseded_text(workspace, one, kept.entry.id)) for one in taken]
            ids = tuple(one.entry.id for one in taken)
            groups.append(Group(kept.entry.id, ids, shorten(whole.entry.body, 120)))
    reasons = tuple(f"{group.kept} takes in {', '.join(group.merged)}: {group.says}" for group in groups)
    return Tidied(Plan(tuple(steps), reasons), tuple(groups), tuple(problems))


def _alike(index: Index) -> list[list[Mapping[str, Any]]]:
    """Gather the active entries that share a text or a wording, the one to keep first."""
    index.refresh()
    rows = {row["path"]: row for row in index.list_entries(_ENTRIES, "path") if row["type"] not in EPISODIC}
    by_text: dict[str, list[str]] = defaultdict(list)
    for path, text in index.texts(_ENTRIES):
        document = parse(text)
        if path in rows and not document.problem:
            entry, _ = read_entry(document, path, index.workspace.now)
            for said in {plain(without_article(one)) for one in (entry.body, *entry.wordings)}:
                by_text[said].append(path)
    found = {tuple(paths) for said, paths in by_text.items() if said and len(paths) > 1}
    return [sorted((rows[path] for path in paths), key=_rank) for paths in sorted(found)]


def _read(workspace: Workspace, path: str, problems: list[tuple[str, str]]) -> Standing | None:
    try:
        return standing(workspace, path)
    except MemError as error:
        problems.append((path, str(error)))
        return None


def _rank(row: Mapping[str, Any]) -> tuple[float, str, str]:
    return -row["trust"], row["created_at"], row["path"]


def _gathered(
    workspace: Workspace, kept: Standing, others: Sequence[Standing], strengths: Mapping[str, int]
) -> tuple[Standing, list[Standing]]:
    """Let an entry take in those that say the same as it does."""
    whole, taken = kept, []
    for one in others:
        if not _is_one(whole.entry, one.entry):
            continue
        whole = taking_in(workspace, whole, one.entry, strengths.get(one.entry.id, one.entry.strength))
        taken.append(one)
    return whole, taken


def taking_in(workspace: Workspace, kept: Standing, other: Entry, strength: int) -> Standing:
    """Return an entry as it stands once it has taken in another one, whose `strength` counts for it."""
    told, body = told_anew(kept.entry, other)
    told["strength"] = kept.entry.strength + strength
    told["updated_at"] = max(kept.entry.updated_at, other.updated_at)
    if more := [source for source in other.sources if source not in kept.entry.sources]:
        told["sources"] = [*kept.entry.sources, *more]
    text = revised(workspace, kept.path, kept.text, told, body, touch=False)
    return Standing(kept.path, text, read_entry(parse(text), kept.path, workspace.now)[0])


def _is_one(kept: Entry, other: Entry) -> bool:
    """Tell whether an entry takes another one in: they say the same of the same thing."""
    if not are_of_one_kind(kept.type, other.type):
        return False
    for key in ("title", "project", "key"):
        ours, theirs = getattr(kept, key), getattr(other, key)
        if ours and theirs and not are_twins(ours, theirs):
            return False
    verdict = compare(kept.body, other.body)
    return says(kept, other.body) or says(other, kept.body) or (verdict.kind == "same" and verdict.sure)
