"""An entry's text with changed fields or another body: what was told is checked, the rest of the text stays.

Reads and writes no file.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..errors import RefusedError, UsageError
from ..formats.entry import SOURCES, STATUSES, TRUST, Entry, as_spelled, checked, entry_fields, read_entry, spelled
from ..formats.frontmatter import document as frontmatter
from ..formats.frontmatter.document import Document
from ..formats.ids import slug
from ..formats.text_lines import conflict_marker, first_line, require_no_conflict, summarise
from .layouts import Layout
from .workspace import Workspace

_CLAUDE_TYPES = {
    "preference": "user",
    "correction": "feedback",
    "constraint": "feedback",
    "lesson": "feedback",
    "entity": "reference",
}
"""What Claude Code calls a type of ours; everything else is of a project."""


def new_fields(layout: Layout, entry: Entry) -> dict[str, Any]:
    """Return the frontmatter of a new entry in the spelling of its layout."""
    fields = {layout.spellings.get(key, key): value for key, value in entry_fields(entry).items()}
    return _as_claude(entry, fields) if layout.name == "claude" else fields


def followed(before: Document, after: Document) -> dict[str, str]:
    """Return the description that a changed body needs, where the old one only repeated the old body."""
    said = after.fields.get("description")
    if said != before.fields.get("description") or said != summarise("", before.body):
        return {}
    return {"description": summarise("", after.body)}


def _as_claude(entry: Entry, fields: dict[str, Any]) -> dict[str, Any]:
    """Begin with what Claude Code chooses a memory by: a name, a description, a type of its own."""
    kind = _CLAUDE_TYPES.get(entry.type, "project")
    return {
        "name": entry.title or slug(first_line(entry.body)) or entry.type,
        "description": summarise("", entry.body),
        "metadata": {"node_type": "memory", "type": kind, **entry.metadata},
        **{key: value for key, value in fields.items() if key not in ("name", "metadata")},
    }


def settled(key: str, value: object) -> Any:
    """Read a field as it was told; UsageError says what is wrong with it."""
    choices = {"source": SOURCES, "status": STATUSES}.get(key, ())
    if choices and value not in choices:
        raise UsageError(f"no {key} {value!r}", f"use one of {', '.join(choices)}")
    try:
        return checked(key, value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{key}: {error}") from None


def sound(body: str) -> str:
    """Refuse a text that cannot be a memory."""
    if not body.strip():
        raise UsageError("nothing to remember", 'give the text: mem write "…", or `-` to read it from standard input')
    if "\x00" in body:
        line = body.count("\n", 0, body.index("\x00")) + 1
        raise UsageError(f"line {line} of the text has a NUL byte", "a memory is text; keep binaries elsewhere")
    try:
        body.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("the text is not UTF-8", "convert it, for example with iconv") from None
    conflict = conflict_marker(body)
    if conflict is not None:
        raise RefusedError(f"line {conflict} of the text is a conflict marker", "resolve the conflict first")
    return body.strip("\r\n")


def changed(path: str, text: str, told: Mapping[str, Any], body: str | None) -> str:
    """Change fields and body of a file's text; RefusedError for one with a conflict, or with broken frontmatter."""
    require_no_conflict(path, text)
    changes = {
        key: None if value in ("", [], {}, ()) else settled(key, value)
        for key, value in told.items()
        if value is not None
    }
    body = None if body is None else sound(body)
    document = frontmatter.parse(text)
    if document.problem:
        raise RefusedError(
            f"{path}:{document.problem.line}: {document.problem.reason}", f"mend it with `mem edit {path}`"
        )
    if changes:
        text = frontmatter.edit(text, as_spelled(document.fields, changes))
    return text if body is None else _with_body(text, body)


def _with_body(text: str, body: str) -> str:
    document = frontmatter.parse(text)
    newline = document.newline
    body = re.sub(r"\r?\n", newline, body)
    kept = text[: len(text) - len(document.body)]
    gap = re.match(r"(?:[ \t]*\r?\n)*", document.body)
    return kept + (gap[0] if gap else "") + body + newline


def checked_text(workspace: Workspace, path: str, old: str, new: str, *, touch: bool = True) -> str:
    """Refuse a conflict, or frontmatter broken by the change; set `updated_at` and what is derived from the body.

    Without `touch`, `updated_at` was told and is left as it is.
    """
    require_no_conflict(path, new)
    document = frontmatter.parse(new)
    if document.problem:
        if frontmatter.parse(old).problem is None:
            raise RefusedError(
                f"{path}:{document.problem.line}: {document.problem.reason}",
                "nothing was written; mend the text",
            )
        return new
    before = frontmatter.parse(old)
    changes = followed(before, document)
    name = _name_of_update(workspace, document.fields)
    if touch and name and document.fields.get(name) == before.fields.get(name):
        changes[name] = workspace.stamp
    return frontmatter.edit(new, changes) if changes else new


def _name_of_update(workspace: Workspace, fields: Mapping[str, object]) -> str:
    """Return the key under which a file says when it was changed, or is to say it because it says when it was made.

    Empty where the file states no time, which makes it as old as it is on disk, and where its keys are its owner's.
    """
    found, made = spelled(fields, "updated_at"), spelled(fields, "created_at")
    if found or not made or not workspace.layout.is_mems:
        return found
    return {"createdAt": "updatedAt", "created": "updated"}.get(made, "updated_at")


USER = "user"
_EPOCH = datetime.fromtimestamp(0, UTC)


def attributed(workspace: Workspace, path: str, old: str, new: str, by: str) -> str:
    """Return a changed text as `by` may leave it; RefusedError for a change of promoted lines by another than the user.

    An entry's new words are `by`'s at most: a source or trust above that is lowered, and `pinned` is not begun. `old`
    is empty for a file that is made.
    """
    if by == USER or old == new:
        return new
    kind = workspace.layout.kind_of(path)
    if kind == "memory":
        _require_promoted_as_it_is(path, old, new)
    return _lowered(path, old, new, by) if kind == "entry" else new


def _lowered(path: str, old: str, new: str, by: str) -> str:
    document = frontmatter.parse(new)
    if document.problem or not document.fields:
        return new
    after, _ = read_entry(document, path, _EPOCH)
    before = _entry(path, old)
    source, trust = by, TRUST[by]
    if before and _words(before) == _words(after):  # who changes no words takes none away from whose they are
        source = max(by, before.source, key=TRUST.__getitem__)
        trust = max(trust, before.trust)
    changes: dict[str, object] = {}
    if TRUST[after.source] > TRUST[source]:
        changes["source"] = source
    if (after.trust if spelled(document.fields, "trust") or not changes else TRUST[source]) > trust:
        changes["trust"] = trust
    if after.pinned and not (before and before.pinned):
        changes["pinned"] = False
    return frontmatter.edit(new, as_spelled(document.fields, changes)) if changes else new


def _entry(path: str, text: str) -> Entry | None:
    document = frontmatter.parse(text)
    return None if not text or document.problem else read_entry(document, path, _EPOCH)[0]


def _words(entry: Entry) -> list[list[str]]:
    return [text.split() for text in (entry.title, entry.description, entry.body, *entry.wordings)]


def _require_promoted_as_it_is(path: str, old: str, new: str) -> None:
    from ..formats.memory_page import CLOSING, OPENING, blocks

    if blocks(old) != blocks(new):
        raise RefusedError(
            f"{path}: only the user changes what stands between {OPENING} and {CLOSING}",
            "write elsewhere on the page, or say --source user where the user asked for it",
        )
