"""Folders and archives of Markdown notes: vaults, basic-memory, Jarvis, neovate, golemcore, OKF.

Each note becomes an entry with its own text, because mem reads the property names of these tools.
Files between the notes are read by the other formats.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from ..formats.entry import TRUST, edit_entry
from ..formats.frontmatter import FrontmatterError, parse
from ..formats.records import split_history
from ..formats.text import count_noun, is_binary
from .files import read_file_entry
from .folders import ZIP_ERRORS, Member, describe, list_members, open_member
from .items import BadItem, Item, Read, Source, TransferFile
from .okf import RESERVED, convert_concept, is_bundle, is_own_concept, restore_entry

NOTE_ENDINGS = (".md", ".markdown")
STORE_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".db", ".sqlite", ".sqlite3")
# Notion adds its id to the names of pages and folders.
NOTION_ID = re.compile(r" [0-9a-f]{32}(?=/|\.md$|$)")
DAY_NAME = re.compile(r"\d{4}-\d\d-\d\d\.md")
TIMED_LINES = re.compile(r"(?:\s*(?:[-*] )?\[\d\d:\d\d\] [^\n]*(?:\n|\Z))+")
HISTORY_NAME = re.compile(r"HISTORY(?:-\d{4}-\d\d)?\.md")


def read_notes(source: Source, formats: Callable[[], dict[str, Read]]) -> Iterator[Item] | None:
    """Read a folder or archive. `formats` returns the formats that read the files between."""
    return read_tree(source, formats, is_okf=False) if source.is_tree else None


def read_bundle(source: Source, formats: Callable[[], dict[str, Read]]) -> Iterator[Item] | None:
    """Read a folder or archive of concepts."""
    return read_tree(source, formats, is_okf=True) if is_bundle(source) else None


def read_tree(
    source: Source, formats: Callable[[], dict[str, Read]], *, is_okf: bool
) -> Iterator[Item]:
    left_out = 0
    broken: list[str] = []  # notes with frontmatter that cannot be read
    for member in list_members(source):
        if isinstance(member, Item):
            yield member
            continue
        ending = PurePosixPath(member.path).suffix.lower()
        try:
            if ending in NOTE_ENDINGS:
                is_reserved = is_okf and PurePosixPath(member.path).name in RESERVED
                left_out += is_reserved
                yield from () if is_reserved else read_note(source, member, broken, is_okf=is_okf)
                continue
            inner = open_member(source, member) if ending in STORE_ENDINGS else None
            items = read_store(inner, formats()) if inner else None
            for item in items or ():
                yield Item(f"{member.path}: {item.place}", item.content)
            left_out += items is None
        except (*ZIP_ERRORS, OSError) as error:
            yield Item(member.path, BadItem(f"cannot be read: {describe(error)}"))
    if broken:
        count = count_noun(len(broken), "note")
        source.messages.append(
            f"{count} with unreadable frontmatter, imported as plain text: {broken[0]}"
            + (", …" if len(broken) > 1 else "")
        )
    if left_out:
        source.messages.append(f"{count_noun(left_out, 'other file')} left out")


def read_store(source: Source, formats: dict[str, Read]) -> Iterator[Item] | None:
    """Return the memories in a file between the notes, or None if it has none."""
    return next((items for read in formats.values() if (items := read(source)) is not None), None)


def read_note(source: Source, member: Member, broken: list[str], *, is_okf: bool) -> Iterator[Item]:
    """Yield the memory of a note, or the records of a history."""
    text = decode_note(source, member)
    if is_binary(text):
        yield Item(member.path, BadItem("not a text"))
        return
    path = NOTION_ID.sub("", member.path)
    name = PurePosixPath(path).name
    if HISTORY_NAME.fullmatch(name) and (months := split_months(text)):
        for month, records in months.items():
            yield Item(member.path, TransferFile(f"HISTORY-{month}.md", "history", records))
        return
    if DAY_NAME.fullmatch(name) and TIMED_LINES.fullmatch(text):
        yield Item(member.path, TransferFile(f"notes/{name}", "note", text))
        return
    try:
        text = convert_note(text, source.memory_source, is_okf=is_okf)
    except FrontmatterError as error:
        # The text stays as it is, and `mem check` reports it.
        broken.append(f"{member.path}:{error.line}: {error.reason}")
    if not path.startswith("entries/"):
        path = f"entries/{source.stem}/{path}"
    path = str(PurePosixPath(path).with_suffix(".md"))
    yield Item(member.path, TransferFile(path, "entry", text, member.modified))


def decode_note(source: Source, member: Member) -> str:
    data = member.read()
    note = Source(source.path, member.path, head=data)
    encoding = note.find_encoding()
    if encoding == "utf-8-sig":
        return data.decode("utf-8", "replace")  # with its mark, as it is in the file
    if encoding == "cp1252":
        source.messages.append(f"{member.path} is not UTF-8, so mem read it as Windows-1252")
    return data.decode(encoding, "replace").removeprefix("\ufeff")


def convert_note(text: str, memory_source: str, *, is_okf: bool) -> str:
    """Return another tool's note as an entry. Raises FrontmatterError."""
    fields = parse(text).fields
    if is_okf:
        if is_own_concept(fields):
            return restore_entry(text, fields)
        text = convert_concept(text, fields)
    entry = read_file_entry(TransferFile("", "entry", text))
    # A note that claims to be the user's word is not, unless the user says so.
    if memory_source or entry.trust > TRUST["observed"]:
        return edit_entry(text, {"source": memory_source or "inferred", "trust": None})
    return text


def split_months(text: str) -> dict[str, str]:
    """Return the records of a history by the month that mem would store them in."""
    months: dict[str, str] = {}
    for record in split_history(text):
        if record.timestamp:
            body = text[record.start : record.end].strip()
            block = f"## {record.timestamp}\n\n{body}\n\n"
            months[record.timestamp[:7]] = months.get(record.timestamp[:7], "") + block
    return months
