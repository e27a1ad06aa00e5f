"""Change the text or the fields of one memory."""

from dataclasses import replace
from typing import Any

from ..errors import RejectedError
from ..formats import (
    TRUST,
    Entry,
    FrontmatterError,
    edit_entry,
    get_body,
    parse,
    read_entry,
    summarize,
)
from ..index import IndexedEntry, get_index, open_index, read_ignored_patterns
from ..search.names import NamedFile, build_missing_error, find_named, get_entry
from ..store import (
    Append,
    ChangeGroup,
    Replace,
    Workspace,
    commit,
    commit_one,
    is_ignored,
    read_file,
    redact_text,
)
from .changes import (
    Outcome,
    build_outcome,
    change_page_line,
    edit_file,
    find_same_key,
    mask_text,
    replace_entries,
)
from .similar import check_near_repeat


def replace_text(
    workspace: Workspace,
    path: str,
    before: str,
    after: str,
    *,
    is_said_by_user: bool = False,
    is_by_agent: bool = False,
) -> Outcome:
    """Give a file another text, with a new `updated_at`, and change its line in MEMORY.md.

    A script in a shell is neither the user nor an agent: it may change every field, but its text
    counts as inferred.
    """
    if not after.strip():
        raise RejectedError("the edited file is empty, so nothing was changed")
    if after == before:
        return Outcome("unchanged", path=path, text=path)
    outcome = Outcome("edited", path=path, text=path)
    changes: list[Replace | Append] = []
    if workspace.get_kind(path) == "entry":
        if not is_said_by_user and get_body(after) != get_body(before):
            # Otherwise an edit could bring a forgotten text back, in the file of another memory.
            check_near_repeat(open_index(workspace), path, get_body(before), get_body(after))
        after = stamp_edit(workspace, outcome, before, after, is_said_by_user=is_said_by_user)
        outcome.short_id = get_index(workspace).shorten_id(outcome.id)
        changes += change_page_line(workspace, outcome.id, outcome.text)
    changes.insert(0, Replace(path, before, after))
    done = commit_one(
        workspace,
        "edit",
        changes,
        summary=outcome.text,
        is_said_by_user=is_said_by_user,
        is_by_agent=is_by_agent,
    )
    outcome.undo = done.number
    return outcome


def stamp_edit(
    workspace: Workspace, outcome: Outcome, before: str, after: str, *, is_said_by_user: bool
) -> str:
    """Return the text of an edited entry with its time. Complete the outcome."""
    path = outcome.path
    try:
        document = parse(after)
    except FrontmatterError as error:
        raise RejectedError(
            f"the edited text does not parse: line {error.line}: {error.reason}"
        ) from None
    entry, _ = read_entry(document, path, workspace.now)
    if not document.body.strip() and not entry.title:
        raise RejectedError(
            "the edited memory is empty, so nothing was changed", "to delete it: mem forget"
        )
    has_new_body = document.body.strip() != get_body(before)
    # A note without frontmatter gets none, and a change of tags is not a new text.
    if document.head and has_new_body and workspace.is_managed(path):
        stamp = {"updated_at": workspace.stamp}
        if not is_said_by_user:
            stamp.update(lower_source(entry, "inferred"))
        outcome.source = stamp.get("source", "")
        after = edit_entry(after, stamp)
    # The terminal and the undo log must not show what searches hide.
    entry = replace(
        entry, title=mask_text(workspace, entry.title), body=mask_text(workspace, entry.body)
    )
    outcome.id, outcome.text = entry.id, entry.summary
    return after


def lower_source(entry: Entry | IndexedEntry, source: str) -> dict[str, Any]:
    """Return lower trust fields if `source` is trusted less than the author."""
    trust = TRUST.get(source, 0.5)
    if trust >= max(TRUST.get(entry.source, 0.5), entry.trust):
        return {}
    # A person may have written a trust that is lower still.
    return {"source": source, "trust": entry.trust if entry.trust < trust else None}


def replace_passage(
    workspace: Workspace,
    name: str,
    old: str,
    new: str,
    *,
    is_said_by_user: bool = False,
    is_by_agent: bool = False,
) -> Outcome:
    """Replace a passage that occurs exactly once in a file."""
    path = get_file(workspace, name).path
    text = read_file(workspace, path) or ""
    count = text.count(old)
    # Replacing the wrong one of two would not be noticed.
    if count != 1:
        problem = "does not occur" if not count else f"occurs {count} times"
        hint = "copy the passage exactly" if not count else "copy more of the text around it"
        raise RejectedError(f"{old!r} {problem} in {path}", hint)
    after = text.replace(old, new)
    return replace_text(
        workspace, path, text, after, is_said_by_user=is_said_by_user, is_by_agent=is_by_agent
    )


def get_file(workspace: Workspace, name: str) -> NamedFile:
    """Return the file that a name means, even if it is not in the index."""
    named = find_named(open_index(workspace), name)
    if named is not None:
        return named
    if name == "MEMORY.md":
        return NamedFile(f"{workspace.prefix}MEMORY.md", None)  # may not exist yet
    for candidate in (name, f"{workspace.prefix}{name}"):
        is_excluded = is_ignored(read_ignored_patterns(workspace), candidate)
        if not is_excluded and read_file(workspace, candidate) is not None:
            return NamedFile(candidate, None)
    raise build_missing_error(workspace, name)


def update_entry(
    workspace: Workspace,
    name: str,
    body: str | None,
    fields: dict[str, Any],
    *,
    source: str,
    allow_secrets: bool = False,
    redact_secrets: bool = False,
) -> Outcome:
    """Give an entry another text or other fields, for `mem write --id`.

    `source` says who changes it.
    """
    index = open_index(workspace)
    entry = get_entry(index, name)
    fields = {**fields, "updated_at": workspace.stamp}
    if body is not None and source != "user":
        before = get_body(read_file(workspace, entry.path) or "")
        check_near_repeat(index, entry.path, before, body)
    if body is not None and "source" not in fields:
        fields.update(lower_source(entry, source))
    trust = TRUST.get(str(fields.get("source", "")), entry.trust)
    others = find_same_key(index, str(fields.get("key", "")), entry.project, entry.owner)
    replaced = replace_entries(index, entry.id, trust, entry.summary, others)
    if replaced.conflicts:
        fields["conflicts_with"] = (*entry.conflicts_with, *replaced.conflicts)
    change = edit_file(workspace, entry.path, fields, body)
    # The page and the undo log show the sentence, so it is masked even if the memory is not.
    summary = entry.summary if body is None else summarize(redact_text(workspace, body))
    group = ChangeGroup(
        [change, *change_page_line(workspace, entry.id, summary), *replaced.changes],
        allow_secrets=allow_secrets,
        redact_secrets=redact_secrets,
        is_said_by_user=source == "user",
    )
    result = commit(workspace, "edit", [group], summary=summary)
    result.raise_rejected()
    outcome = build_outcome(index, "edited", entry)
    outcome.text, outcome.related, outcome.undo = summary, replaced.related, result.number
    return outcome


def move_to_workspace(source: Workspace, target: Workspace, name: str) -> Outcome:
    """Move a memory to another workspace. The receiving one commits first: nothing can be lost."""
    index = open_index(source)
    entry = get_entry(index, name)
    text = read_file(source, entry.path) or ""
    received_text = text
    if not source.is_trusted:
        # A stranger's memory must not become the user's word by moving.
        # The fields that say how much a memory counts. None removes each.
        claims = dict.fromkeys(("trust", "confidence", "strength", "pinned"))
        received_text = edit_entry(text, {**claims, "source": "inferred"})
    inner = entry.path.removeprefix(source.entries_folder)
    path = f"{target.entries_folder}{inner}"
    # After a kill or an error between the two commits, the copy is there already.
    if read_file(target, path) != received_text:
        commit_one(target, "edit", [Replace(path, None, received_text)], summary=entry.summary)
    changes = [Replace(entry.path, text, None), *change_page_line(source, entry.id, None)]
    result = commit_one(source, "edit", changes, summary=entry.summary)
    outcome = build_outcome(index, "moved", entry)
    outcome.path, outcome.undo = path, result.number
    return outcome
