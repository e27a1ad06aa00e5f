"""Folders and archives of Markdown notes: vaults, basic-memory, Jarvis, neovate, golemcore, OKF.

Each note becomes an entry with its own text, because mem reads the property names of these tools.
Files between the notes are read by the other formats.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from ..formats.frontmatter import FrontmatterError, parse_yaml
from ..formats.records import split_history
from ..formats.text import count_noun, is_binary
from .folders import ZIP_ERRORS, Member, describe, list_members, open_member
from .items import BadItem, Item, Read, Source, TransferFile
from .okf import RESERVED, convert_concept, is_bundle

NOTE_ENDINGS = (".md", ".markdown")
STORE_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".db", ".sqlite", ".sqlite3")
# Notion adds its id to the names of pages and folders.
NOTION_ID = re.compile(r" [0-9a-f]{32}(?=/|\.md$|$)")
DAY_NAME = re.compile(r"\d{4}-\d\d-\d\d\.md")
TIMED_LINES = re.compile(r"(?:\s*(?:[-*] )?\[\d\d:\d\d\] [^\n]*(?:\n|\Z))+")
HISTORY_NAME = re.compile(r"HISTORY(?:-\d{4}-\d\d)?\.md")


def read_notes(source: Source, formats: Callable[[], dict[str, Read]]) -> Iterator[Item] | None:
    """Read a folder or archive. `formats` returns the formats that read the files between."""
    return read_tree(source, formats) if source.is_tree else None


def read_tree(source: Source, formats: Callable[[], dict[str, Read]]) -> Iterator[Item]:
    is_okf = is_bundle(source)
    left_out = 0
    for member in list_members(source):
        if isinstance(member, Item):
            yield member
            continue
        ending = PurePosixPath(member.path).suffix.lower()
        try:
            if ending in NOTE_ENDINGS:
                is_reserved = is_okf and PurePosixPath(member.path).name in RESERVED
                left_out += is_reserved
                yield from () if is_reserved else read_note(source, member, is_okf=is_okf)
                continue
            inner = open_member(source, member) if ending in STORE_ENDINGS else None
            items = read_store(inner, formats()) if inner else None
            for item in items or ():
                yield Item(f"{member.path}: {item.place}", item.content)
            left_out += items is None
        except (*ZIP_ERRORS, OSError) as error:
            yield Item(member.path, BadItem(f"cannot be read: {describe(error)}"))
    if left_out:
        source.messages.append(f"{count_noun(left_out, 'other file')} left out")


def read_store(source: Source, formats: dict[str, Read]) -> Iterator[Item] | None:
    """Return the memories in a file between the notes, or None if it has none."""
    return next((items for read in formats.values() if (items := read(source)) is not None), None)


def read_note(source: Source, member: Member, *, is_okf: bool) -> Iterator[Item]:
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
        fields = parse_fields(text)
        if is_okf:
            text = convert_concept(text, fields)
    except FrontmatterError as error:
        yield Item(member.path, BadItem(f"line {error.line}: {error.reason}"))
        return
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


def parse_fields(text: str) -> dict[str, Any]:
    """Return the properties of another tool's note. Raises FrontmatterError."""
    import frontmatter
    from frontmatter.default_handlers import YAMLHandler

    class Handler(YAMLHandler):
        def load(self, fm: str, **kwargs: object) -> Any:
            return parse_yaml(fm)

    return dict(frontmatter.parse(text.lstrip("\ufeff"), handler=Handler())[0])


def split_months(text: str) -> dict[str, str]:
    """Return the records of a history by the month that mem would store them in."""
    months: dict[str, str] = {}
    for record in split_history(text):
        if record.timestamp:
            body = text[record.start : record.end].strip()
            block = f"## {record.timestamp}\n\n{body}\n\n"
            months[record.timestamp[:7]] = months.get(record.timestamp[:7], "") + block
    return months
