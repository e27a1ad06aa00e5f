"""Open Knowledge Format 0.2: a folder of Markdown files whose frontmatter has a `type`.

An entry is a concept already. These functions map the optional fields: who wrote or confirmed a
concept and when, what it was made from, and when it becomes stale.
"""

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


def is_bundle(source: Source) -> bool:
    """Return whether the index of a folder or archive declares the format."""
    for member in list_members(source) if source.is_tree else ():
        is_near = not isinstance(member, Item) and member.path.count("/") < 2
        if is_near and PurePosixPath(member.path).name == "index.md":  # type: ignore[union-attr]
            with member.open() as file:  # type: ignore[union-attr]
                return b"okf_version" in file.read(1000)
    return False


def convert_concept(text: str, fields: Mapping[str, Any]) -> str:
    """Return a concept as an entry. Raises FrontmatterError if its frontmatter cannot be edited."""
    status = str(fields.get("status") or "stable")
    sources = list_maps(fields.get("sources"))
    changes: dict[str, Any] = {}
    if sources:
        changes["sources"] = [str(item["resource"]) for item in sources if "resource" in item]
    if is_id(str(fields.get("id", ""))) and "generated" in fields:
        changes.update(dict.fromkeys(ADDED), status=OUR_STATUSES.get(status, status))
        names = list(fields)
        # The export adds new keys at the end.
        if "status" not in fields or names.index("status") > names.index("generated"):
            changes["status"] = None
        if fields.get("description") != summarize(get_body(text)):
            del changes["description"]  # the user's own
        return edit(text, changes)
    generated = fields.get("generated")
    generated = generated if isinstance(generated, Mapping) else {}
    written_at = generated.get("at") or fields.get("timestamp")
    if written_at and not {"created_at", "created", "date"} & set(fields):
        changes["created_at"] = str(written_at)
    if fields.get("stale_after"):
        changes["expires_at"] = str(fields["stale_after"])
    if "source" not in fields:
        changes["source"] = find_trust_tier(fields, generated)
    if sources:
        changes["okf_sources"] = sources
    if "status" in fields and status not in STATUS_SPELLINGS:
        # For mem, a memory that is not active is hidden.
        changes.update(status=None, okf_status=status)
    return edit(text, changes)


def list_maps(value: Any) -> list[Mapping[str, Any]]:
    """Return a list of maps. One map counts as a list with one item."""
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, Mapping)]


def find_trust_tier(fields: Mapping[str, Any], generated: Mapping[str, Any]) -> str:
    """Return whose word a concept is: a person's, a checked one of a program, or neither."""
    verifiers = [str(item.get("by")) for item in list_maps(fields.get("verified"))]
    if any(by.startswith(PERSON) for by in [*verifiers, str(generated.get("by"))]):
        return "user"
    return "observed" if verifiers else "inferred"


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
