"""Promote confirmed memories to MEMORY.md, where an agent always sees them, and take them off again.

Owns the lines between mem's own marks (`formats/memory_page.py`) and nothing else on the page. Lines of entries that
are gone, superseded or archived leave; over the budget, the least valuable ones do, never a person's. An entry that was
demoted although it is confirmed says so (`metadata: {promote: false}`), so that `--auto` does not bring it back.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from shlex import quote
from typing import Annotated, Any, NamedTuple

from ..beliefs.plan import Plan, as_diff
from ..beliefs.supersession import is_in_conflict, over
from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError
from ..formats.entry import read_entry
from ..formats.frontmatter import document as frontmatter
from ..formats.ids import past
from ..formats.memory_page import Promoted, heading_of, page_line, read_promoted, size_of_ours, statements, with_lines
from ..formats.text_lines import normalized
from ..results import Applied, Diff, FilePath, Id, Reason, Result
from ..store import atomic_files
from ..store.access_log import Access
from ..store.entries import decoded
from ..store.entry_revision import USER
from ..store.journal import Change
from ..store.page_lines import promotable
from ..store.workspace import Workspace
from .access_counters import rows_with_accesses

Row = Mapping[str, Any]

_WEIGHTS = {"constraint": 2.0, "preference": 1.5, "correction": 1.5, "entity": 1.2}
"""What a line of a type is worth beside a fact: who forgets a rule does harm."""


class PromotedEntry(NamedTuple):
    """An entry with the line it has on the page."""

    id: Id
    statement: Annotated[str, "the line on the page"]


class UnpromotedEntry(NamedTuple):
    """An entry that has no line on the page, or none any more."""

    id: Id
    reason: Reason


@dataclass(frozen=True)
class Promotion(Result):
    """What became, or is to become, of the promoted lines of the page."""

    plan: Plan
    path: FilePath
    promoted: Annotated[tuple[PromotedEntry, ...], "entries that became lines of the page"]
    changed: Annotated[tuple[PromotedEntry, ...], "what was changed"]
    dropped: Annotated[tuple[UnpromotedEntry, ...], "lines taken off the page"]
    passed: Annotated[tuple[UnpromotedEntry, ...], "entries that stay out, and why"]
    bytes: Annotated[int, "size"]  # of all promoted lines
    budget: Annotated[int, "the size that is aimed at"]
    applied: Applied = False

    @property
    def diff(self) -> Diff:
        """Return the changes as a unified diff."""
        return as_diff(self.plan)


def is_confirmed(row: Row, workspace: Workspace) -> bool:
    """Return whether an entry was confirmed often enough, or is trusted and sure enough, to be always known."""
    settings = workspace.settings
    sure = (row["trust"] or 0) >= settings["promote.trust"] and (row["confidence"] or 0) >= settings[
        "promote.confidence"
    ]
    return bool((row["strength"] or 1) >= settings["promote.strength"] or sure)


def promotion(workspace: Workspace, ids: Collection[str] = (), *, auto: bool = False, by: str = USER) -> Promotion:
    """Return what `promote_plan` proposes for the entries as they are now."""
    rows, accesses = rows_with_accesses(workspace)
    return promote_plan(workspace, rows, accesses, ids, auto=auto, by=by)


def demotion(workspace: Workspace, names: Sequence[str]) -> Promotion:
    """Return what `demote_plan` proposes for the entries as they are now."""
    return demote_plan(workspace, rows_with_accesses(workspace)[0], names)


def promote_plan(
    workspace: Workspace,
    rows: Iterable[Row],
    accesses: Mapping[str, Access],
    ids: Collection[str] = (),
    *,
    auto: bool = False,
    by: str = USER,
) -> Promotion:
    """Propose the lines of the entries named and, with `auto`, of all that are confirmed.

    `rows` are those of all entries, whatever their status. Only the user, if `by` is that, promotes what no person
    said. Raises RefusedError for one that cannot be promoted.
    """
    rows_by_id = _by_id(rows)
    page = _page(workspace)
    present = {line.id: line for line in page.promoted.lines}
    lines: dict[str, str] = {}
    passed: list[tuple[str, str]] = []
    steps: list[Change] = []
    for identifier in ids:
        lines[identifier], text = _asked_for(workspace, rows_by_id.get(identifier), identifier, by)
        steps += _marked(rows_by_id[identifier]["path"], text, promote=True)
    ours = [identifier for identifier, line in present.items() if line.is_ours]
    dropped = {
        identifier: str(rows_by_id[identifier]["status"]) if identifier in rows_by_id else "gone"
        for identifier in ours
        if identifier not in rows_by_id or rows_by_id[identifier]["status"] != "active"
    }
    retired_ids = over(rows_by_id.values())
    for identifier, row in rows_by_id.items():
        is_new = (
            auto
            and identifier not in present
            and _is_candidate(row, workspace)
            and not is_in_conflict(row, retired_ids)
        )
        if identifier in lines or identifier in dropped or not (is_new or identifier in ours):
            continue
        statement, fault, text = _said(workspace, row)
        if not fault and is_new and _is_demoted(text):
            fault = "was demoted"
        if fault and is_new:
            passed.append((identifier, fault))
        elif not is_new and not _is_a_persons(row) and statement != present[identifier].statement:
            dropped[identifier] = "no person said its new words"
        elif not fault:
            lines[identifier] = statement
    repeats = dict.fromkeys(_said_already(page, lines), f"{page.path} says it already")
    new = {identifier: statement for identifier, statement in lines.items() if identifier not in repeats}
    over_budget = _over_budget(workspace, rows_by_id, accesses, new, page.promoted, new.keys() & {*ids})
    for identifier, why in {**repeats, **dict.fromkeys(over_budget, "over the budget")}.items():
        del lines[identifier]
        if identifier in present:
            dropped[identifier] = why
        else:
            passed.append((identifier, why))
    return _promotion(page, rows_by_id, lines, dropped, passed, steps)


def _asked_for(workspace: Workspace, row: Row | None, identifier: str, by: str) -> tuple[str, str]:
    """Return the line of an entry that is promoted by name, and the text of its file; raise RefusedError for none."""
    if row is None or row["status"] != "active":
        raise RefusedError(f"{identifier} is {row['status'] if row else 'gone'}", "only active entries are promoted")
    if by != USER and not _is_a_persons(row):
        raise RefusedError(
            f"{identifier} is {row['source']}: only the user puts on {workspace.layout.memory} what no person said",
            "where the user asked for it, say so with --source user",
        )
    statement, fault, text = _said(workspace, row)
    if fault:
        raise RefusedError(f"{identifier} cannot be promoted: {fault}", f"mend it with `mem edit {quote(row['path'])}`")
    return statement, text


def demote_plan(workspace: Workspace, rows: Iterable[Row], names: Sequence[str]) -> Promotion:
    """Propose to take lines off the page, named by their ids or unique parts of them.

    An entry that is confirmed is marked, lest it comes back. Raises NotFoundError for a line that is not there.
    """
    rows_by_id = _by_id(rows)
    page = _page(workspace)
    there = {line.id for line in page.promoted.lines}
    ids = [_meant(name, there, page.path) for name in names]
    steps: list[Change] = []
    for identifier in ids:
        row = rows_by_id.get(identifier)
        if row is not None and row["status"] == "active" and is_confirmed(row, workspace):
            _, fault, text = _said(workspace, row)
            steps += [] if fault else _marked(row["path"], text, promote=False)
    return _promotion(page, rows_by_id, {}, dict.fromkeys(ids, "demoted"), [], steps)


@dataclass(frozen=True)
class _Page:
    path: str
    budget: int
    text: str
    is_there: bool
    promoted: Promoted


def _page(workspace: Workspace) -> _Page:
    """Read the page; RefusedError where its marks or a git conflict leave no safe place to write."""
    path = workspace.layout.memory
    file = workspace.path(path)
    is_there = file.exists()
    text = decoded(path, atomic_files.read(file)) if is_there else ""
    promoted = read_promoted(text)
    if promoted.problem:
        raise RefusedError(
            f"{path}:{promoted.problem.line}: {promoted.problem.reason}", f"mend it with `mem edit {quote(path)}`"
        )
    return _Page(path, workspace.settings["promote.budget"], text, is_there, promoted)


def _promotion(
    page: _Page,
    rows_by_id: Mapping[str, Row],
    lines: Mapping[str, str],
    dropped: Mapping[str, str],
    passed: Sequence[tuple[str, str]],
    steps: Sequence[Change],
) -> Promotion:
    present = {line.id: line for line in page.promoted.lines}
    headings = {identifier: heading_of(rows_by_id[identifier]["type"]) for identifier in lines}
    text = with_lines(page.text, lines, dropped, headings)
    promoted = [PromotedEntry(*pair) for pair in lines.items() if pair[0] not in present]
    ours = {identifier: line.statement for identifier, line in present.items() if line.is_ours}
    changed = [PromotedEntry(*pair) for pair in lines.items() if ours.get(pair[0], pair[1]) != pair[1]]
    reasons = [f"{identifier}: promoted" for identifier, _ in promoted] + [
        f"{identifier}: {why}" for identifier, why in dropped.items()
    ]
    page_steps = [Change(page.path, page.text if page.is_there else None, text)] if text != page.text else []
    plan = Plan((*page_steps, *steps), tuple(reasons))
    leaving, staying_out = (tuple(UnpromotedEntry(*pair) for pair in pairs) for pairs in (dropped.items(), passed))
    entries = tuple(promoted), tuple(changed), leaving, staying_out
    return Promotion(plan, page.path, *entries, size_of_ours(text), page.budget)


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    """Return the row of each id; of several, an active one."""
    rows_by_id: dict[str, Row] = {}
    for row in rows:
        if row["id"] not in rows_by_id or row["status"] == "active":
            rows_by_id[row["id"]] = row
    return rows_by_id


def _is_candidate(row: Row, workspace: Workspace) -> bool:
    """Return whether the rule may promote an entry: what is passing, an episode, or nobody's word stays out."""
    return (
        row["status"] == "active"
        and row["layer"] != "episodic"
        and _is_a_persons(row)
        and not past(row["expires_at"], workspace.now)
        and is_confirmed(row, workspace)
    )


def _is_a_persons(row: Row) -> bool:
    return row["source"] in (USER, "", None)


def _said(workspace: Workspace, row: Row) -> tuple[str, str, str]:
    """Read an entry's file: its statement, why it cannot be promoted, and the text."""
    path = row["path"]
    text = decoded(path, atomic_files.read(workspace.path(path)))
    document = frontmatter.parse(text)
    if document.problem:
        return "", f"line {document.problem.line}: {document.problem.reason}", text
    return *promotable(read_entry(document, path, workspace.now)[0]), text


def _said_already(page: "_Page", lines: Mapping[str, str]) -> list[str]:
    """Return the ids whose new line would say what another line of the page, or of them, says."""
    statements_there = statements(page.text)
    promoted = {line.id for line in page.promoted.lines}
    repeats = []
    for identifier, statement in lines.items():
        if identifier not in promoted:
            if normalized(statement) in statements_there:
                repeats.append(identifier)
            statements_there.add(normalized(statement))
    return repeats


def _over_budget(
    workspace: Workspace,
    rows_by_id: Mapping[str, Row],
    accesses: Mapping[str, Access],
    lines: Mapping[str, str],
    promoted: Promoted,
    asked: Collection[str],
) -> list[str]:
    """Pick the lines that must leave or stay out, the least valuable first; never one that was asked for."""
    theirs = {line.id for line in promoted.lines if not line.is_ours}
    sizes = {
        identifier: len(page_line(identifier, text).encode()) + 1
        for identifier, text in lines.items()
        if identifier not in theirs
    }
    budget = workspace.settings["promote.budget"]
    needed = sum(size for identifier, size in sizes.items() if identifier in asked)
    if needed > budget:
        raise RefusedError(f"{needed:,} bytes are more than promote.budget ({budget:,})", "promote fewer or raise it")

    def value(identifier: str) -> tuple[bool, float]:
        """Weigh a line by what it is and how often it was confirmed and read, not by its age."""
        row, noted = rows_by_id[identifier], accesses.get(identifier)
        weight = _WEIGHTS.get(row["type"], 1.0) * (row["trust"] or 0.5) * (row["salience"] or 0.5)
        often = max(1, row["strength"] or 1) + (noted.count if noted else 0) / 3
        return bool(row["pinned"]), weight * (1 + math.log(often))

    total = sum(sizes.values())
    leaving = []
    for identifier in sorted(sizes.keys() - set(asked), key=lambda identifier: (value(identifier), identifier)):
        if total > budget:
            total -= sizes[identifier]
            leaving.append(identifier)
    return leaving


def _metadata(text: str) -> dict[str, Any]:
    metadata = frontmatter.parse(text).fields.get("metadata")
    return dict(metadata) if isinstance(metadata, Mapping) else {}


def _is_demoted(text: str) -> bool:
    return _metadata(text).get("promote") is False


def _marked(path: str, text: str, *, promote: bool) -> list[Change]:
    """Propose to note in an entry that it is not to be promoted by the rule, or to take the note away."""
    if _is_demoted(text) != promote:
        return []
    noted = {key: value for key, value in _metadata(text).items() if key != "promote"}
    if not promote:
        noted["promote"] = False
    return [Change(path, text, frontmatter.edit(text, {"metadata": noted or None}))]


def _meant(name: str, there: Collection[str], path: str) -> str:
    if name in there:
        return name
    matches = [
        identifier
        for identifier in there
        if name and (identifier.startswith((name, f"mem_{name}")) or identifier.endswith(name))
    ]
    if len(matches) != 1:
        raise NotFoundError(
            f"{len(matches)} promoted lines of {name!r}" if matches else f"no promoted line of {name!r}",
            f"`mem read {quote(path)}` shows them with their ids",
        )
    return matches[0]
