"""The records of a file or pipe to import, and the memories of other tools among them.

Other tools write a memory a line or all in one JSON document: the graph of the MCP memory server, golemcore's items,
jcode's store, mem0's pages, and any record with a content. Each becomes an entry; what it says in keys of its own is
kept as metadata, but for what is derived from its text. The whole file is read only where its first line is no JSON but
the beginning of a document written over many lines.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, BinaryIO

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.entry import read_entry, spelled
from ..formats.foreign_record import CONTENTS, GRAPH_TOOL, ID, TOOL, TOOL_ID, memory_of
from ..formats.frontmatter import document as frontmatter
from ..formats.frontmatter.document import Document
from ..formats.ids import blake2b, new_id, parse_time, stamp
from ..formats.json_stream import StreamLine, bounded_lines, rejoined
from ..secrets.scanner import scan
from ..store.entry_revision import new_fields
from ..store.layouts import Layout
from ..store.redaction import file_words
from .export import LARGEST, BundledFile
from .foreign_documents import CLAUDE, claude_memories, is_history, latest_of_each, with_category_names

FOLDER = "imported"
"""Below the entries; a name there ends with a hash of what it holds, so that a second import finds it done."""

_CONTAINERS = ("history", "memories", "entries", "items", "results", "data")
"""Keys under which a document keeps its memories: a list, or a map from id to memory."""
_GRAPH = {"entities": "entity", "relations": "relation"}


def file_from_record(
    record: Mapping[str, Any],
    layout: Layout,
    now: datetime,
    zone: tzinfo = UTC,
    modified: datetime | None = None,
    *,
    is_clash: bool = False,
) -> BundledFile:
    """Make an entry's file of a record; ValueError where it is no memory. The same record gives the same path.

    The record of a tool that dates nothing is as old as its file, which was `modified` then. The id of a `clash` is
    that of another memory: it gets one of its own, and its tool's is kept beside it.
    """
    fields, body = memory_of(record, zone)
    if not body.strip():
        raise ValueError("it says nothing")
    sign = blake2b(json.dumps([fields, body], sort_keys=True, ensure_ascii=True).encode(), digest_size=8).digest()
    stated = fields.get(spelled(fields, "created_at"), "")
    metadata = fields.get("metadata", {})
    if modified and not stated and metadata.get(TOOL) in (GRAPH_TOOL, CLAUDE):
        fields.setdefault("updated_at", stamp(modified))
        stated = fields["created_at"] = fields["updated_at"]
    created = parse_time(str(stated)) or now
    given = str(fields.get("id", ""))
    if is_clash or not ID.fullmatch(given) or scan(given):
        fields["id"] = new_id("mem", created, sign)
        if given and not scan(given):
            fields["metadata"] = {**metadata, TOOL_ID: given}
    document = Document(False, "\n", None, 0, body, 1, fields, None)
    entry, _ = read_entry(document, "", created)
    name = file_words(entry.title, body) or entry.type
    path = f"{layout.entries}/{FOLDER}/{name}-{sign.hex()}.md".lstrip("/")
    text = frontmatter.render(new_fields(layout, entry), entry.body)
    problem = frontmatter.parse(text).problem
    if problem:
        raise ValueError(f"no entry can hold its fields: {problem.reason}")
    return BundledFile(path, "entry", text.encode("utf-8", "replace"))


def records_in(document: object) -> list[dict[str, Any]] | None:
    """Return the records of a document that holds several or, as an empty list, none; None for any other."""
    if isinstance(document, list):
        if not all(isinstance(record, dict) for record in document):
            return None
        if all(is_history(record) for record in document):
            return latest_of_each(document)
        return [inner for record in document for inner in records_in(record) or [record]]
    if not isinstance(document, dict) or "path" in document or any(key in document for key in CONTENTS):
        return None
    records = claude_memories(document)
    for key, kind in _GRAPH.items():
        if isinstance(document.get(key), list):
            records += [{"type": kind, **record} for record in document[key] if isinstance(record, dict)]
    for key in _CONTAINERS:
        held = document.get(key)
        if isinstance(held, dict):
            records += [{"id": name, **record} for name, record in held.items() if isinstance(record, dict)]
        elif isinstance(held, list):
            items = with_category_names([record for record in held if isinstance(record, dict)], document)
            records += latest_of_each(items) if items and all(map(is_history, items)) else items
    return records or None


def is_made_here(path: str) -> bool:
    """Return whether a path names its content, as those of `file_from_record` do."""
    return re.search(rf"(?:^|/){FOLDER}/[^/]*-[0-9a-f]{{16}}\.md$", path) is not None


LONGEST = 2 * LARGEST + 64 * 1024
"""Bytes of a line that is read: as long as the longest that `packed` writes."""

_MARK = b"\xef\xbb\xbf"
_BLANK = _MARK + b" \t\r\n"


@dataclass(frozen=True)
class RecordLine:
    """One line, or one record of a document: its number, and the object or what is wrong."""

    number: int
    record: dict[str, Any] | None
    fault: str = ""
    modified: datetime | None = None  # when its file was written, where that is known


def up_to_a_fault(lines: Iterable[RecordLine], faults: list[MemError]) -> Iterator[RecordLine]:
    """Yield lines until one cannot be read for an error, which goes into `faults`."""
    try:
        yield from lines
    except MemError as error:
        faults.append(error)


def record_lines(stream: BinaryIO) -> Iterator[RecordLine]:
    """Yield every line that is not blank; of a document with many records each of them, by its number."""
    ahead = first = b""
    while not first.strip(_BLANK) and (first := stream.readline(LONGEST + 1)):
        ahead += first
    if first.strip(_BLANK)[:1] in (b"{", b"[") and first.endswith(b"\n") and _is_begun(first):
        ahead += stream.read(LARGEST)
        records = _document(ahead)
        if isinstance(records, list):
            yield from (RecordLine(number, record) for number, record in enumerate(records, 1))
            return
        if first.strip(_BLANK) in (b"{", b"["):
            yield RecordLine(1, None, f"no lines of JSON, and no document with memories ({records})")
            return
    for line in bounded_lines(rejoined(ahead, stream), LONGEST):
        if line.is_too_long:
            yield RecordLine(line.number, None, f"longer than {LONGEST >> 20} MiB")
            continue
        content = line.content.removeprefix(_MARK) if line.number == 1 else line.content
        if content.strip():
            yield from _records(line._replace(content=content))


def _document(data: bytes) -> list[dict[str, Any]] | str:
    """Return the records of one document, or in words what it is instead."""
    try:
        records = records_in(json.loads(data.removeprefix(_MARK).decode("utf-8")))
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return f"{error}"
    return "it is one, without a list of them" if records is None else records


def _is_begun(line: bytes) -> bool:
    """Return whether a line is no JSON by itself."""
    try:
        json.loads(line.strip(_BLANK))
    except (ValueError, RecursionError):
        return True
    return False


def _records(line: StreamLine[bytes]) -> list[RecordLine]:
    number = line.number
    try:
        record = json.loads(line.content.decode("utf-8"))
        records = records_in(record)
    except UnicodeDecodeError:
        return [RecordLine(number, None, "not UTF-8")]
    except json.JSONDecodeError as error:
        if not line.is_whole:
            fault = "the file is cut off in this line: get the whole of it and import again"
            return [RecordLine(number, None, fault)]
        return [RecordLine(number, None, f"not JSON ({error.msg}, column {error.colno})")]
    except (ValueError, RecursionError):
        return [RecordLine(number, None, "not JSON that can be read")]
    if records is not None:
        return [RecordLine(number, record) for record in records]
    if not isinstance(record, dict):
        return [RecordLine(number, None, "no object with keys and values")]
    return [RecordLine(number, record)]
