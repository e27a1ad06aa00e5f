"""An entry's text with changed fields or another body: what was told is checked, the rest of the text stays.

Reads and writes no file.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from shlex import quote
from typing import Any

from ..errors import RefusedError, UsageError
from ..formats.entry import (
    SOURCES,
    STATUSES,
    TRUST,
    Entry,
    as_spelled,
    checked,
    entry_fields,
    read_entry,
    spelled,
    stated_id,
)
from ..formats.frontmatter import document as frontmatter
from ..formats.frontmatter.document import Document
from ..formats.ids import blake2b, new_id, slug
from ..formats.text_lines import conflict_marker, first_line, require_no_conflict, summarise
from .archive import put
from .atomic_files import read
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
    description = after.fields.get("description")
    if description != before.fields.get("description") or description != summarise("", before.body):
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


def changed(path: str, text: str, values: Mapping[str, Any], body: str | None) -> str:
    """Change fields and body of a file's text; RefusedError for one with a conflict, or with broken frontmatter."""
    require_no_conflict(path, text)
    changes = {
        key: None if value in ("", [], {}, ()) else settled(key, value)
        for key, value in values.items()
        if value is not None
    }
    body = None if body is None else sound(body)
    document = frontmatter.parse(text)
    if document.problem:
        raise RefusedError(
            f"{path}:{document.problem.line}: {document.problem.reason}", f"mend it with `mem edit {quote(path)}`"
        )
    if changes:
        text = frontmatter.edit(text, as_spelled(document.fields, changes))
    return text if body is None else _with_body(text, body)


def _with_body(text: str, body: str) -> str:
    document = frontmatter.parse(text)
    newline = document.newline
    body = re.sub(r"\r?\n", newline, body)
    head = text[: len(text) - len(document.body)]
    gap = re.match(r"(?:[ \t]*\r?\n)*", document.body)
    return head + (gap[0] if gap else "") + body + newline


def checked_text(workspace: Workspace, path: str, old: str, new: str) -> str:
    """Refuse a conflict, or frontmatter broken by the change; set `updated_at` and what is derived from the body."""
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
    if name and document.fields.get(name) == before.fields.get(name):
        changes[name] = workspace.stamp
    return frontmatter.edit(new, changes) if changes else new


def _name_of_update(workspace: Workspace, fields: Mapping[str, object]) -> str:
    """Return the key under which a file says when it was changed, or is to say it because it says when it was made.

    Empty where the file states no time, which makes it as old as it is on disk, and where its keys are its owner's.
    """
    updated, created = spelled(fields, "updated_at"), spelled(fields, "created_at")
    if updated or not created or not workspace.layout.is_mems:
        return updated
    return {"createdAt": "updatedAt", "created": "updated"}.get(created, "updated_at")


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


_VERSION = re.compile(
    r"(?P<stem>.+)-(?P<day>\d{4}-\d\d-\d\d)T(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)Z(?:-(?P<number>\d+))?\.md"
)


def keep_replaced(workspace: Workspace, path: str, old: str, new: str) -> None:
    """Keep what a file says in its old text and not in its new one; nothing where no line of it goes.

    An entry that has another source from now on is kept as well: whose words it was is known by its old text alone.
    """
    lost = lost_lines(_body(old), _body(new))
    if not lost and _source(old) == _source(new):
        return
    if workspace.layout.kind_of(path) == "entry":
        version, text = _version(workspace, path, old)
        if (workspace.root / version).exists():
            return  # kept by the same change, which was cut off before the new text stood
        mode = workspace.path(path).stat().st_mode & 0o777
        put(workspace, version, text.encode(), mode)
    elif workspace.layout.kind_of(path):
        keep_page(workspace, path, old)


def keep_page(workspace: Workspace, path: str, old: str) -> None:
    """Keep the whole text of a file that is no entry."""
    put(workspace, page_version(workspace, path), old.encode(), workspace.path(path).stat().st_mode & 0o777)


def page_version(workspace: Workspace, path: str) -> str:
    """Return the free path in the archive of what a file that is no entry says now."""
    stem = path.removeprefix(workspace.layout.archive).removesuffix(".md")
    return workspace.free_name(f"{workspace.layout.archive}{stem}-{workspace.stamp.replace(':', '')}.md")


def page_versions(workspace: Workspace, path: str) -> list[tuple[str, str]]:
    """List the earlier texts of a file that is no entry, each with its path and when it was replaced, oldest first."""
    folder = (workspace.root / workspace.layout.archive / path).parent
    stem = path.rpartition("/")[2].removesuffix(".md")
    versions = []
    for file in folder.glob("*.md") if folder.is_dir() else ():
        match = _VERSION.fullmatch(file.name)
        if match and match["stem"] == stem and file.is_file():
            moment = f"{match['day']}T{match['hour']}:{match['minute']}:{match['second']}Z"
            versions.append((moment, int(match["number"] or 1), file.relative_to(workspace.root).as_posix()))
    return [(version, moment) for moment, _, version in sorted(versions)]


def page_of(workspace: Workspace, path: str) -> str:
    """Return the path of the file that a path in the archive is an earlier text of; empty where it is of none."""
    folder, _, name = path.rpartition("/")
    match = _VERSION.fullmatch(name)
    if not match or not workspace.layout.is_archived(path):
        return ""
    page = f"{folder}/{match['stem']}.md".removeprefix(workspace.layout.archive)
    is_page = workspace.layout.kind_of(page) not in (None, "entry") and (workspace.root / page).is_file()
    return page if is_page else ""


def lost_lines(old: str, new: str) -> list[str]:
    """Return the lines of a text that another one does not have."""
    there = {" ".join(line.split()) for line in new.splitlines()}
    return [line for line in old.splitlines() if line.strip() and " ".join(line.split()) not in there]


def without_old_wordings(old: str, new: str) -> str:
    """Take other wordings of a text away where another text takes its place; its version keeps them."""
    before, after = frontmatter.parse(old), frontmatter.parse(new)
    stale = after.fields.get("wordings")
    if not stale or after.problem or stale != before.fields.get("wordings"):
        return new
    return frontmatter.edit(new, {"wordings": None}) if lost_lines(before.body, after.body) else new


def _body(text: str) -> str:
    document = frontmatter.parse(text)
    return text if document.problem else document.body


def _source(text: str) -> object:
    fields = frontmatter.parse(text).fields
    return fields.get(spelled(fields, "source"))


def _version(workspace: Workspace, path: str, old: str) -> tuple[str, str]:
    """Return path and text of the archived entry that holds an entry's old text; the path is of the one that does."""
    noise = blake2b(f"{path}\n{old}".encode("utf-8", "surrogateescape"), digest_size=16).digest()
    identifier = new_id("mem", workspace.now, noise)
    fields = frontmatter.parse(old).fields
    entry = stated_id(fields) or path
    changes = {
        "id": identifier,
        "status": "superseded",
        "superseded_by": entry,
        "superseded_at": workspace.stamp,
        "version_of": entry,
    }
    try:
        text = frontmatter.edit(old, as_spelled(fields, changes))
    except RefusedError:  # a frontmatter in which no single line can be changed is kept as it is
        text = old
    stem = path.removeprefix(workspace.layout.archive).removesuffix(".md")
    target = f"{workspace.layout.archive}{stem}-{identifier[-6:]}.md"
    existing = workspace.root / target
    standing_text = read(existing).decode("utf-8", "surrogateescape") if existing.is_file() else ""
    if standing_text and _without_own_keys(standing_text) == _without_own_keys(text):
        return target, text
    return workspace.free_name(target), text


def _without_own_keys(version: str) -> tuple[dict[str, object], str]:
    """Return what a version says but for when it was made."""
    parsed = frontmatter.parse(version)
    own_keys = {spelled(parsed.fields, key) for key in ("id", "superseded_at")}
    return {name: value for name, value in parsed.fields.items() if name not in own_keys}, parsed.body
