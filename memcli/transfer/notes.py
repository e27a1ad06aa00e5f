"""Folders and archives of Markdown notes: vaults, basic-memory, Jarvis, neovate, golemcore, OKF.

Each note becomes an entry with its own text, because mem reads the property names of these tools.
Files between the notes are read by the other formats.

A bundle in Open Knowledge Format 0.2 is a folder of notes, called concepts. Their optional fields
say who wrote or confirmed a concept and when, what it was made from, and when it becomes stale.
mem imports and exports them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from ..formats import (
    STATUS_SPELLINGS,
    TRUST,
    Entry,
    FrontmatterError,
    count_noun,
    edit,
    edit_entry,
    get_body,
    is_binary,
    is_id,
    parse,
    split_history,
    summarize,
)
from .files import (
    ZIP_ERRORS,
    Member,
    describe_error,
    find_date,
    find_excluded,
    find_settings,
    find_vault,
    is_excluded,
    list_members,
    open_member,
    read_file_entry,
)
from .items import BadItem, Item, Source, TransferFile, find_encoding

NOTE_ENDINGS = (".md", ".markdown")
MOST_NAMES = 20  # of files in a message, as in the list of rejected items
STORE_ENDINGS = ".json .jsonl .ndjson .csv .tsv .db .sqlite .sqlite3".split()
# Notion adds its id to the names of pages and folders.
NOTION_ID = re.compile(r" [0-9a-f]{32}(?=/|\.md$|$)")
DAY_NAME = re.compile(r"\d{4}-\d\d-\d\d\.md")
# `[16:00] Started the billing module` or `- [16:00] Started the billing module`
TIMED_LINES = re.compile(r"(?:\s*(?:[-*] )?\[\d\d:\d\d\] [^\n]*(?:\n|\Z))+")
HISTORY_NAME = re.compile(r"HISTORY(?:-\d{4}-\d\d)?\.md")

# Open Knowledge Format
RESERVED_NAMES = ("index.md", "log.md")  # they are no concepts
INDEX_HEAD = '---\nokf_version: "0.2"\n---\n'
# A field that only concepts have.
CONCEPT_FIELD = re.compile(rb"(?s)\A---.*\n(?:generated|verified|stale_after):")
HEAD_LENGTH = 4000  # bytes of a note that are searched for it
DATE_KEYS = ("created_at", "created", "date")
# Keys that the export adds. An import removes them from our own concepts, so their bytes return.
ADDED_KEYS = ("description", "generated", "verified", "stale_after")
REPLACED_KEYS = ("type", "status", "sources")  # the export changes them even if an entry has them
PERSON = "human:"
PROGRAM = "mem/1.0"
OUR_STATUSES = {"stable": "active", "deprecated": "superseded"}
EXPORTED = ("active", "superseded")  # the others are hidden or have faded


@dataclass
class Report:
    """The files that the user should know about, by their paths."""

    excluded: list[str] = field(default_factory=list)  # by the settings of Obsidian
    empty: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)  # their frontmatter cannot be read

    def build_messages(self) -> Iterator[str]:
        """Yield a line for each kind of file."""
        if self.broken:
            count = count_noun(len(self.broken), "note")
            names = format_names(self.broken)
            yield f"{count} with unreadable frontmatter, imported as plain text: {names}"
        kinds = (
            ("file", " excluded by Obsidian", self.excluded),
            ("empty note", "", self.empty),
            ("other file", "", self.others),
        )
        for noun, reason, paths in kinds:
            if paths:
                yield f"{count_noun(len(paths), noun)}{reason} left out: {format_names(paths)}"


def format_names(names: list[str]) -> str:
    rest = len(names) - MOST_NAMES
    more = [f"and {rest:,} more"] if rest > 0 else []
    return "; ".join([*names[:MOST_NAMES], *more])


def read_notes(source: Source) -> Iterator[Item] | None:
    """Read a folder, an archive or a single note."""
    if source.is_tree:
        return read_members(source, list_members(source), is_okf=False)
    is_named = source.format_name or source.path.suffix.lower() in NOTE_ENDINGS
    # In a folder, `read_members` itself chooses the notes.
    if source.is_inner or not is_named or not source.head.strip():
        return None
    # The note is stored where an import of its folder stores it.
    folder = replace(source, path=source.path.parent)
    note = Member(f"{source.stem}.md", source.modified, source.open_bytes)
    return read_members(folder, [note], is_okf=False)


def read_bundle(source: Source) -> Iterator[Item] | None:
    """Read a folder or archive of concepts."""
    if not is_bundle(source):
        return None
    return read_members(source, list_members(source), is_okf=True)


def read_members(
    source: Source, members: Iterable[Member | Item], *, is_okf: bool
) -> Iterator[Item]:
    """Yield the memories in notes, and in the stores between them."""
    report = Report()
    excluded = find_excluded(source)
    prefix = find_vault(source)[1]
    for member in members:
        if isinstance(member, Item):
            yield member
            continue
        if find_settings(member.path):
            continue
        if is_excluded(prefix + member.path, excluded):
            report.excluded.append(member.path)
            continue
        path = PurePosixPath(member.path)
        ending = path.suffix.lower()
        is_reserved = is_okf and path.name in RESERVED_NAMES
        try:
            if ending in NOTE_ENDINGS and not is_reserved:
                yield from read_note(source, member, report, is_okf=is_okf)
                continue
            is_store = ending in STORE_ENDINGS
            items = read_store(open_member(source, member)) if is_store else None
            if items is None:
                report.others.append(member.path)
            for item in items or ():
                yield Item(f"{member.path}: {item.place}", item.content)
        except (*ZIP_ERRORS, OSError) as error:
            yield Item(member.path, BadItem(f"cannot be read: {describe_error(error)}"))
    source.messages += report.build_messages()


def read_store(source: Source) -> Iterator[Item] | None:
    """Return the memories in a file between the notes, or None if it has none."""
    return next(filter(None, (read(source) for read in source.formats.values())), None)


def read_note(source: Source, member: Member, report: Report, *, is_okf: bool) -> Iterator[Item]:
    """Yield the memory of a note, or the records of a history."""
    text = decode_note(source, member)
    if is_binary(text):
        yield Item(member.path, BadItem("not a text"))
        return
    path = NOTION_ID.sub("", member.path)
    name = PurePosixPath(path).name
    months = split_months(text) if HISTORY_NAME.fullmatch(name) else {}
    for month, records in months.items():
        yield Item(member.path, TransferFile(f"HISTORY-{month}.md", "history", records))
    if months:
        return
    # Another note of a day, such as a diary in Obsidian, is a memory.
    if DAY_NAME.fullmatch(name) and TIMED_LINES.fullmatch(text):
        yield Item(member.path, TransferFile(f"notes/{name}", "note", text))
        return
    try:
        # People also have notes with properties only.
        if not get_body(text) and not any(parse(text).fields.values()):
            report.empty.append(member.path)
            return
        text = convert_note(text, PurePosixPath(name).stem, source.memory_source, is_okf=is_okf)
    except FrontmatterError as error:
        # The text stays as it is, and `mem check` reports it.
        report.broken.append(f"{member.path}:{error.line}: {error.reason}")
    # The path of a memory in an exported bundle stays.
    if not path.startswith("entries/"):
        path = f"entries/{source.stem}/{path}"
    path = str(PurePosixPath(path).with_suffix(".md"))
    yield Item(member.path, TransferFile(path, "entry", text, find_date(source, member)))


def decode_note(source: Source, member: Member) -> str:
    data = member.read()
    encoding = find_encoding(data)
    if encoding == "utf-8-sig":
        return data.decode("utf-8", "replace")  # with its mark, as it is in the file
    if encoding == "cp1252":
        source.messages.append(f"{member.path} is not UTF-8, so mem read it as Windows-1252")
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def convert_note(text: str, title: str, memory_source: str, *, is_okf: bool) -> str:
    """Return another tool's note as an entry. Raises FrontmatterError.

    `title` is for a note without text.
    """
    fields = parse(text).fields
    if is_okf:
        # mem exported it.
        if is_id(str(fields.get("id"))) and "generated" in fields:
            return restore_entry(text, fields)
        text = convert_concept(text, fields)
    entry = read_file_entry(TransferFile("", "entry", text))
    changes: dict[str, Any] = {}
    # Obsidian users have notes with properties only, such as a list of books with ratings.
    if not entry.body.strip() and not entry.title:
        changes["title"] = title
    # A note that claims to be the user's word is not, unless the user says so.
    if memory_source or entry.trust > TRUST["observed"]:
        changes.update(source=memory_source or "inferred", trust=None)
    return edit_entry(text, changes) if changes else text


def split_months(text: str) -> dict[str, str]:
    """Return the records of a history by the month that mem would store them in."""
    months: dict[str, str] = {}
    for record in split_history(text):
        # The text before the first record, such as a title.
        if not record.timestamp:
            continue
        month = record.timestamp[:7]
        body = text[record.start : record.end].strip()
        months[month] = months.get(month, "") + f"## {record.timestamp}\n\n{body}\n\n"
    return months


def is_bundle(source: Source) -> bool:
    """Return whether a folder or archive is a bundle, or the user says so.

    The index of a bundle may declare the format. Otherwise its concepts have the fields.
    """
    if not source.is_tree:
        return False
    if source.format_name:
        return source.format_name == "okf"
    for member in list_members(source):
        if isinstance(member, Item) or not member.path.endswith(".md"):
            continue
        head = member.read_head(HEAD_LENGTH).partition(b"\n---")[0]
        is_index = PurePosixPath(member.path).name == "index.md"
        if CONCEPT_FIELD.search(head) or (is_index and b"okf_version" in head):
            return True
    return False


def restore_entry(text: str, fields: Mapping[str, Any]) -> str:
    """Return the entry of which the export made a concept."""
    changes: dict[str, Any] = dict.fromkeys(ADDED_KEYS)
    if fields.get("description") != summarize(get_body(text)):
        del changes["description"]  # the user's own
    changes["status"] = None
    names = list(fields)
    # The export adds new keys at the end. A status before them was in the entry.
    if "status" in fields and names.index("status") < names.index("generated"):
        status = str(fields["status"] or "stable")
        changes["status"] = OUR_STATUSES.get(status, status)
    resources = list_resources(fields)
    if resources:
        changes["sources"] = resources
    return edit(text, changes)


def convert_concept(text: str, fields: Mapping[str, Any]) -> str:
    """Return a concept of another tool as an entry. Raises FrontmatterError."""
    changes: dict[str, Any] = {}
    generated = fields.get("generated")
    written_at = generated.get("at") if isinstance(generated, Mapping) else None
    written_at = written_at or fields.get("timestamp")
    if written_at and fields.keys().isdisjoint(DATE_KEYS):
        changes["created_at"] = str(written_at)
    if fields.get("stale_after"):
        changes["expires_at"] = str(fields["stale_after"])
    if "source" not in fields:
        changes["source"] = "inferred"
    resources = list_resources(fields)
    if resources:
        changes["sources"] = resources
        # Our `sources` are addresses only. The whole maps stay next to them.
        changes["okf_sources"] = list_maps(fields["sources"])
    status = str(fields.get("status") or "stable")
    if "status" in fields and status not in STATUS_SPELLINGS:
        # For mem, a memory that is not active is hidden.
        changes.update(status=None, okf_status=status)
    return edit(text, changes)


def list_resources(fields: Mapping[str, Any]) -> list[str]:
    """Return the addresses of the texts from which a concept was made."""
    items = list_maps(fields.get("sources"))
    return [str(item["resource"]) for item in items if "resource" in item]


def list_maps(value: Any) -> list[Mapping[str, Any]]:
    """Return a list of maps.

    One map counts as a list with one item.
    """
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
        if path.name in RESERVED_NAMES:
            # A memory named `log.md` would otherwise not be read as a concept.
            path = path.with_name(f"{path.stem}-note.md")
        # A bracket would end the link early.
        title = (entry.title or entry.summary).replace("[", "(").replace("]", ")")
        line = f"* [{' '.join(title.split())}](<{path}>) - {entry.summary}\n"
        sections.setdefault(entry.type, []).append(line)
        yield TransferFile(str(path), "entry", text, file.modified)
    index = INDEX_HEAD
    for name, lines in sorted(sections.items()):
        index += f"\n# {name}\n\n{''.join(lines)}"
    yield TransferFile("index.md", "memory", index)


def render_concept(text: str, entry: Entry) -> str:
    """Return an entry with the optional fields of a concept. Raises FrontmatterError."""
    fields = parse(text).fields
    changes: dict[str, Any] = {}
    if not fields.get("type"):
        changes["type"] = entry.type
    changes["description"] = entry.summary
    if entry.source == "user":
        person = f"{PERSON}{entry.owner or 'user'}"
        changes["generated"] = {"by": person, "at": entry.updated_at}
        changes["verified"] = [{"by": person, "at": entry.updated_at}]
    else:
        changes["generated"] = {"by": PROGRAM, "at": entry.updated_at}
    if entry.expires_at:
        changes["stale_after"] = entry.expires_at[:10]
    if entry.status == "superseded":
        changes["status"] = "deprecated"
    elif "status" in fields:
        changes["status"] = "stable"
    if entry.sources:
        changes["sources"] = [{"resource": item} for item in entry.sources]
    for key in fields:
        if key not in REPLACED_KEYS:
            changes.pop(key, None)  # the user's own
    return edit(text, changes)
