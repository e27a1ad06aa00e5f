"""Open Knowledge Format 0.2: a folder of Markdown files whose frontmatter has a `type`.

An entry is a concept already. These functions map the optional fields: when a concept was written,
from what it was made, and when it becomes stale. Who confirmed it stays in its file.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from ..formats.entry import STATUS_SPELLINGS, Entry
from ..formats.frontmatter import FrontmatterError, edit, get_body, parse
from ..formats.ids import is_id
from ..formats.text import summarize
from .files import read_file_entry
from .folders import list_members
from .items import Item, Source, TransferFile

RESERVED = ("index.md", "log.md")
INDEX_HEAD = '---\nokf_version: "0.2"\n---\n'
# Keys that the export adds. An import removes them from our own concepts, so their bytes return.
ADDED = ("description", "generated", "verified", "stale_after")
PERSON = "human:"
PROGRAM = "mem/1.0"
OUR_STATUSES = {"stable": "active", "deprecated": "superseded"}
EXPORTED = ("active", "superseded")  # the others are hidden or have faded
# A field that only concepts have.
CONCEPT_FIELD = re.compile(rb"\n(?:generated|verified|stale_after):")
MOST_HEADS, HEAD_LENGTH = 100, 4000  # of files read to recognize a bundle


def is_bundle(source: Source) -> bool:
    """Return whether a folder or archive is a bundle, or the user says so.

    The index of a bundle may declare the format. Otherwise its concepts have the fields.
    """
    if not source.is_tree or source.format_name:
        return source.is_tree and source.format_name == "okf"
    heads_read = 0
    for member in list_members(source):
        if isinstance(member, Item) or not member.path.endswith(".md"):
            continue
        is_index = PurePosixPath(member.path).name == "index.md"
        if not is_index and heads_read == MOST_HEADS:
            continue
        heads_read += 1
        head = member.read_head(HEAD_LENGTH).partition(b"\n---")[0]
        if is_index and b"okf_version" in head:
            return True
        if b"\ntype:" in head and CONCEPT_FIELD.search(head):
            return True
    return False


def is_own_concept(fields: Mapping[str, Any]) -> bool:
    """Return whether mem exported a concept."""
    return is_id(str(fields.get("id", ""))) and "generated" in fields


def restore_entry(text: str, fields: Mapping[str, Any]) -> str:
    """Return the entry of which the export made a concept."""
    changes: dict[str, Any] = dict.fromkeys(ADDED)
    if fields.get("description") != summarize(get_body(text)):
        del changes["description"]  # the user's own
    status = str(fields.get("status") or "stable")
    changes["status"] = OUR_STATUSES.get(status, status)
    names = list(fields)
    # The export adds new keys at the end.
    if "status" not in fields or names.index("status") > names.index("generated"):
        changes["status"] = None
    resources = list_resources(fields)
    if resources:
        changes["sources"] = resources
    return edit(text, changes)


def convert_concept(text: str, fields: Mapping[str, Any]) -> str:
    """Return a concept of another tool as an entry. Raises FrontmatterError."""
    changes: dict[str, Any] = {}
    generated = fields.get("generated")
    generated = generated if isinstance(generated, Mapping) else {}
    written_at = generated.get("at") or fields.get("timestamp")
    if written_at and not {"created_at", "created", "date"} & set(fields):
        changes["created_at"] = str(written_at)
    if fields.get("stale_after"):
        changes["expires_at"] = str(fields["stale_after"])
    if "source" not in fields:
        changes["source"] = "inferred"
    resources = list_resources(fields)
    if resources:
        changes["sources"] = resources
        changes["okf_sources"] = list_maps(fields["sources"])
    status = str(fields.get("status") or "stable")
    if "status" in fields and status not in STATUS_SPELLINGS:
        # For mem, a memory that is not active is hidden.
        changes.update(status=None, okf_status=status)
    return edit(text, changes)


def list_resources(fields: Mapping[str, Any]) -> list[str]:
    """Return the addresses of the texts from which a concept was made."""
    return [
        str(item["resource"]) for item in list_maps(fields.get("sources")) if "resource" in item
    ]


def list_maps(value: Any) -> list[Mapping[str, Any]]:
    """Return a list of maps. One map counts as a list with one item."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, Mapping)]


def render_bundle(files: Iterator[TransferFile], problems: list[str]) -> Iterator[TransferFile]:
    """Yield the memories as concepts, and then the index of the bundle.

    Adds a line to `problems` for each memory whose frontmatter cannot be edited.
    """
    sections: dict[str, list[str]] = {}
    for file in files:
        entry = read_file_entry(file)
        if file.kind != "entry" or entry.status not in EXPORTED:
            continue
        try:
            text = render_concept(file.text, entry)
        except FrontmatterError as error:
            problems.append(f"not exported: {file.path}:{error.line}: {error.reason}")
            continue
        path = PurePosixPath(file.path)
        if path.name in RESERVED:
            path = path.with_name(f"{path.stem}-note.md")
        title = " ".join((entry.title or entry.summary).replace("[", "(").replace("]", ")").split())
        line = f"* [{title}](<{path}>) - {entry.summary}\n"
        sections.setdefault(entry.type, []).append(line)
        yield TransferFile(str(path), "entry", text, file.modified)
    body = "".join(f"\n# {name}\n\n{''.join(lines)}" for name, lines in sorted(sections.items()))
    yield TransferFile("index.md", "memory", f"{INDEX_HEAD}{body}")


def render_concept(text: str, entry: Entry) -> str:
    """Return an entry with the optional fields of a concept. Raises FrontmatterError."""
    fields = parse(text).fields
    person = f"{PERSON}{entry.owner or 'user'}"
    changes: dict[str, Any] = {} if fields.get("type") else {"type": entry.type}
    changes["description"] = entry.summary
    by = person if entry.source == "user" else PROGRAM
    changes["generated"] = {"by": by, "at": entry.updated_at}
    if entry.source == "user":
        changes["verified"] = [{"by": person, "at": entry.updated_at}]
    if entry.expires_at:
        changes["stale_after"] = entry.expires_at[:10]
    if entry.status == "superseded":
        changes["status"] = "deprecated"
    elif "status" in fields:
        changes["status"] = "stable"
    if entry.sources:
        changes["sources"] = [{"resource": item} for item in entry.sources]
    replaced = ("type", "status", "sources")
    return edit(
        text, {key: changes[key] for key in changes if key in replaced or key not in fields}
    )
