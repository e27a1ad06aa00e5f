"""Keep the promoted lines of the page in step with their entries: whoever changes an entry changes its line too.

A line follows its entry while it is ours; one that a person changed is theirs and stays as it is.
"""

from collections.abc import Iterable, Mapping, Sequence

from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import document
from ..formats.ids import past
from ..formats.memory_page import OPENING, PromotedLine, heading_of, read_promoted, statement_of, with_lines
from ..formats.text_lines import normalized
from ..secrets.scanner import scan
from .plan_steps import Append, Change, Move, Places, Step, text_of_file
from .workspace import Workspace


def promotable(entry: Entry) -> tuple[str, str]:
    """Return the line that an entry would have on the page, and why it can have none."""
    if "-->" in entry.id or not entry.id.isprintable():
        return "", "its id cannot stand on the page"
    statement = statement_of(entry.title, entry.body)
    if secrets := scan(statement):
        return statement, f"looks like a secret ({secrets[0].rule})"
    return statement, "" if statement else "says nothing"


def with_page_lines(workspace: Workspace, steps: Sequence[Step], path_of: Places) -> list[Step]:
    """Return steps with the one that brings the page in step with the entries they change, archive or supersede.

    The line of a superseded entry passes to the entry of the same steps that takes its place. Where the steps change
    the page themselves, what they write is brought in step.
    """
    layout = workspace.layout
    path = layout.memory
    changed = [step for step in steps if _takes(step) and layout.kind_of(step.path) == "entry"]
    own = next((step for step in steps if isinstance(step, Change) and step.path == path), None)
    before = own.before if own else text_of_file(path_of(path)) if changed else None
    page = own.after if own else before
    if not changed or not page or OPENING not in page:
        return [*steps]
    lines = [line for line in read_promoted(page).lines if line.is_ours]
    states = _states(workspace, steps, path_of)
    page = followed(page, lines, {line.id: states[line.id] for line in lines if line.id in states}, states, workspace)
    # In its place: what marks a conversation as done comes last.
    number = steps.index(own) if own else steps.index(changed[-1]) + 1
    page_steps = [Change(path, before, page)] if page != before else []
    return [*steps[:number], *page_steps, *steps[number + bool(own) :]]


def followed(
    page: str,
    lines: Iterable[PromotedLine],
    entries: Mapping[str, Entry | None],
    heirs: Mapping[str, Entry | None],
    workspace: Workspace,
) -> str:
    """Return the page with the lines of some entries, by id, as these say it now; None is an entry that is put away.

    `heirs` are the entries that may take a line over, by id.
    """
    statements: dict[str, str] = {}
    headings: dict[str, str] = {}
    dropped: set[str] = set()
    passed: dict[str, str] = {}
    statements_by_id = {line.id: line.statement for line in lines}
    for identifier, entry in entries.items():
        if entry and entry.status == "superseded" and entry.superseded_by not in statements_by_id:
            entry = heirs.get(entry.superseded_by)
        statement, fault = _line_of(entry, statements_by_id[identifier], workspace)
        if fault or entry is None or entry.id in statements:
            dropped.add(identifier)
        elif (entry.id, statement) != (identifier, statements_by_id[identifier]):
            statements[entry.id], headings[entry.id] = statement, heading_of(entry.type)
            passed[identifier] = entry.id
    if not statements and not dropped:
        return page
    return with_lines(page, statements, dropped, headings, successors=passed)


def _line_of(entry: Entry | None, old_statement: str, workspace: Workspace) -> tuple[str, str]:
    """Return the line of an entry, and why it has none: another line than the standing one is a person's word alone."""
    if entry is None or entry.status != "active" or past(entry.expires_at, workspace.now):
        return "", "out of use"
    statement, fault = promotable(entry)
    if not fault and statement != old_statement and entry.source not in ("user", ""):
        is_said = normalized(old_statement) in map(normalized, (entry.body, *entry.wordings))
        return (old_statement, "") if is_said else (statement, "no person said its new words")
    return statement, fault


def _takes(step: Step) -> bool:
    """Return whether a step changes what stood before."""
    return isinstance(step, Move) or (isinstance(step, Change) and step.before is not None)


def _states(workspace: Workspace, steps: Sequence[Step], path_of: Places) -> dict[str, Entry | None]:
    """Return the entries that steps change as they are afterwards, by id; None for one that is put away or deleted."""
    states: dict[str, Entry | None] = {}
    for step in steps:
        if isinstance(step, Append) or workspace.layout.kind_of(step.path) != "entry":
            continue
        if isinstance(step, Move):
            text = text_of_file(path_of(step.path)) or ""
            before, after, path = text, text, step.to
        else:
            before, after, path = step.before or "", step.after or "", step.path
        is_archived = workspace.layout.is_archived
        if before and not is_archived(step.path) and (entry := read_entry_at(workspace, step.path, before)):
            states.setdefault(entry.id, None)
        if after and not is_archived(path) and (entry := read_entry_at(workspace, path, after)):
            states[entry.id] = entry
    return states


def read_entry_at(workspace: Workspace, path: str, text: str) -> Entry | None:
    """Return the entry that a text at a path states; None where its frontmatter is broken."""
    parsed = document.parse(text)
    return None if parsed.problem else read_entry(parsed, path, workspace.now)[0]
