"""An entry's text with changed fields or another body: what was told is checked, the rest of the text stays.

Reads and writes no file.
"""

import re
from collections.abc import Mapping
from typing import Any

from ..errors import RefusedError, UsageError
from ..text import frontmatter
from ..text.conflict import conflict_marker, require_no_conflict
from ..text.entry import SOURCES, SPELLINGS, STATUSES, checked
from ..text.times import stamp
from .layout import MEM
from .manner import followed
from .workspace import Workspace


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
        text = frontmatter.edit(text, _under_their_names(document.fields, changes))
    return text if body is None else _with_body(text, body)


def _under_their_names(fields: Mapping[str, object], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Put each change under the spelling the file uses for its key."""
    named = {}
    for key, value in changes.items():
        spelling = next((name for name in (key, *SPELLINGS[key]) if name in fields), key)
        named[spelling] = list(value) if isinstance(value, tuple) else value
    return named


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
        changes[name] = stamp(workspace.now)
    return frontmatter.edit(new, changes) if changes else new


def _name_of_update(workspace: Workspace, fields: Mapping[str, object]) -> str:
    """Give the key under which a file says when it was changed, or is to say it because it says when it was made.

    Empty where the file states no time, which makes it as old as it is on disk, and where its keys are its owner's.
    """
    found = next((name for name in ("updated_at", *SPELLINGS["updated_at"]) if name in fields), "")
    made = next((name for name in ("created_at", *SPELLINGS["created_at"]) if name in fields), "")
    if found or not made or workspace.layout.name != MEM.name:
        return found
    return {"createdAt": "updatedAt", "created": "updated"}.get(made, "updated_at")
