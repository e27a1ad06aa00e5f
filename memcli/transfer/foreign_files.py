"""What lies in a file, an archive or a folder to import, told by its content: records, notes, tables, conversations."""

import codecs
import csv
import io
import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import Any, BinaryIO, Protocol

from ..errors import MemError, RefusedError, UnknownTranscriptError, UsageError
from ..formats.archive_members import opened_archive, opened_gzip
from ..formats.entry import FIELDS, key_of
from ..formats.foreign_record import CONTENTS, TOOL, TOOL_ID, memory_of
from ..formats.ids import blake2b
from ..formats.json_stream import CutOffError, JsonStream, rejoined
from ..results import number_of
from ..transcripts.chat_log import EXPORT, LONGEST_CONVERSATION
from ..transcripts.reader import detect
from ..transcripts.transcript_format import TranscriptFile
from .export import LARGEST, modified_at
from .foreign_documents import CLAUDE, PROJECT, listed_by_chatgpt, note_record, saved_by_chatgpt
from .foreign_memories import LONGEST, RecordLine, record_lines

_HEAD = 64 * 1024
_DEEPEST, _LEADING = 3, 100
"""Archives in one another that are opened, and lines in which a file in a folder has to have a memory."""
_ZIP, _GZIP = (b"PK\x03\x04", b"PK\x05\x06"), b"\x1f\x8b"
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_JSON = re.compile(r'\{\s*["}]|\[\s*[{\]]')
"""How a file of records begins; a page of markdown may begin with a link."""
_JSON_LINE = re.compile(r"^\s*[\[{]", re.MULTILINE)
_TEXT_COLUMNS = (*CONTENTS, "note", "fact", "observation", "statement")
_DATE_COLUMNS = ("timestamp", "time", "datetime")
_DELIMITERS = ",;\t|"
TEXT = "text"
"""What `--map` calls the words of a memory."""


class Opener(Protocol):
    """Opens a file outside the workspace; raises MemError where that may not or cannot be."""

    def __call__(self, path: Path) -> BinaryIO: ...


class ForeignFiles:
    """One import's reading: what was passed over and what somebody should know about it gathers here."""

    def __init__(self, columns: Mapping[str, str], zone: tzinfo = UTC) -> None:
        """Take which column of a table is which field; a time in no zone is in the one given."""
        self._columns, self._zone = columns, zone
        self._origin = ""  # tells a table from another one of its name
        self.conversations = 0
        self.passed_over = 0  # files in a folder or an archive that hold no memories
        self.notices: list[str] = []
        self._projects: dict[str, str] = {}  # of Claude's export: names by their ids
        self._saved: set[str] = set()  # texts that ChatGPT saved
        self._snapshots: dict[str, Any] = {}  # its latest list of them

    def lines(
        self, stream: BinaryIO, name: str, modified: datetime | None = None, path: Path | None = None
    ) -> Iterator[RecordLine]:
        """Yield the records of a file or, without a path, a pipe.

        Raise UsageError where it is a conversation or no memory at all.
        """
        self._origin = _origin_of(path) if path else ""
        number = 0
        try:
            for line in self._file(stream, name, modified, is_inner=False):
                number = line.number
                yield line
        except RefusedError as error:
            if not number:
                raise
            yield RecordLine(number + 1, None, str(error))
        yield from self._listed()

    def folder(self, root: Path, opened: Opener) -> Iterator[RecordLine]:
        """Yield the records of the files in a folder; hidden ones and links are none of it."""
        self._origin = _origin_of(root)
        for path in _paths_below(root):
            name = path.relative_to(root).as_posix()
            modified = modified_at(path)
            try:
                with opened(path) as stream:
                    yield from self._file(stream, name, modified, is_inner=True)
            except MemError as error:
                yield RecordLine(1, None, f"{name}: {error}")
        yield from self._listed()

    def _listed(self) -> Iterator[RecordLine]:
        for number, record in enumerate(listed_by_chatgpt(self._snapshots), 1):
            if record["content"].strip() not in self._saved:
                yield RecordLine(number, record)

    def _file(
        self, stream: BinaryIO, name: str, modified: datetime | None, *, is_inner: bool, depth: int = 0
    ) -> Iterator[RecordLine]:
        head = stream.read(_HEAD)
        if depth == _DEEPEST and head.startswith((*_ZIP, _GZIP)):
            raise RefusedError(f"{name} is packed more than {_DEEPEST} times: that is no export", "unpack it yourself")
        if head.startswith(_ZIP):
            if not stream.seekable():
                raise UsageError("an archive cannot be read from a pipe", "name its file")
            yield from self._archive(stream, name, depth + 1)
            return
        whole = rejoined(head, stream)
        if head.startswith(_GZIP):
            unpacked = opened_gzip(whole, name)
            name = name.removesuffix(".gz")
            yield from self._file(unpacked, name, modified, is_inner=is_inner, depth=depth + 1)
            return
        encoding = next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "")
        if encoding:
            whole = io.BytesIO(_all_of(whole, name).decode(encoding, "replace").encode("utf-8", "replace"))
            head = whole.getvalue()[:_HEAD]
        text = head.decode("utf-8", "replace").removeprefix("\ufeff")
        start = text.lstrip()
        if "\0" in text:
            if not is_inner:
                raise UsageError(
                    f"{name} is no text", "name an export, an archive of one, a table or a folder of notes"
                )
            self.passed_over += 1
        elif start.startswith(("{", "[")) and not self._columns and (_JSON.match(start) or not is_inner):
            yield from self._json(whole, name, modified, start, is_inner=is_inner)
        elif start.startswith("---") or (not self._columns and note_record(text, name) is not None):
            yield from self._note(whole, name, modified, is_inner=is_inner)
        elif table := self._table(text, name, is_inner=is_inner):
            path = PurePosixPath(name)
            stem = re.sub(r"\W+", "-", str(path.with_suffix("")) if is_inner else path.stem) + self._origin
            yield from self._rows(_all_of(whole, name), name, *table, stem)
        elif is_inner:
            self.passed_over += 1
        else:
            _refuse_a_conversation(text.encode(), name)
            if start and not _JSON_LINE.search(text):
                raise self._unmarked(name)
            yield from record_lines(whole)

    def _archive(self, stream: BinaryIO, name: str, depth: int) -> Iterator[RecordLine]:
        stream.seek(0)
        with opened_archive(stream, name, lambda member: not _is_passed_over(member)) as archive:
            self.passed_over += archive.passed_over
            if archive.outside:
                more = f" and {len(archive.outside) - 1:,} more" if len(archive.outside) > 1 else ""
                self.notices.append(f"{archive.outside[0]!r}{more} leads out of {name}: passed over")
            for member in sorted(archive.names, key=_projects_first):
                try:
                    with archive.open(member) as inner:
                        modified = archive.modified(member, self._zone)
                        yield from self._file(inner, member, modified, is_inner=True, depth=depth)
                except MemError as error:
                    yield RecordLine(1, None, str(error))

    def _json(
        self, stream: BinaryIO, name: str, modified: datetime | None, start: str, *, is_inner: bool
    ) -> Iterator[RecordLine]:
        if EXPORT.document and EXPORT.document.search(start):
            lines = self._conversations(stream)
        else:
            if not is_inner:
                _refuse_a_conversation(start.encode(), name)
            lines = record_lines(stream)
        leading: list[RecordLine] = []  # no memories, of a file that may have some later
        is_store = not is_inner
        for line in lines:
            self._name_project(line.record or {})
            fault = f"{name}: {line.fault}" if is_inner and line.fault else line.fault
            described = RecordLine(line.number, line.record, fault, modified)
            record = line.record
            if not is_store and (
                not leading if record is None else _is_memory(record) and not (leading and "role" in record)
            ):
                is_store = True
                yield from leading
                leading.clear()
            if is_store:
                yield described
            elif len(leading) == _LEADING:
                break
            else:
                leading.append(described)
        self.passed_over += not is_store

    def _name_project(self, record: dict[str, Any]) -> None:
        """Name the project of a memory in Claude's export, whose projects are read first."""
        metadata = record.get("metadata")
        if isinstance(metadata, dict) and metadata.get(TOOL) == CLAUDE and "project" in record:
            if record.get("type") == PROJECT:
                self._projects[metadata[TOOL_ID]] = record["project"]
            record["project"] = self._projects.get(record["project"], record["project"])

    def _conversations(self, stream: BinaryIO) -> Iterator[RecordLine]:
        """Yield what was saved as a memory in conversations; they themselves are counted."""
        document = JsonStream(TranscriptFile(stream).stream, LONGEST_CONVERSATION)
        number = 0
        try:
            for number, value in enumerate(document.items() if document.peek() == "[" else [document.value()], 1):
                if not isinstance(value, dict):
                    continue
                if isinstance(value.get("mapping"), dict) or isinstance(value.get("chat_messages"), list):
                    self.conversations += 1
                    for record in saved_by_chatgpt(value, self._snapshots):
                        self._saved.add(record["content"].strip())
                        yield RecordLine(number, record)
                else:
                    yield RecordLine(number, value)
        except CutOffError:
            yield RecordLine(number + 1, None, "the file is cut off or not JSON: get the whole of it and import again")

    def _note(self, stream: BinaryIO, name: str, modified: datetime | None, *, is_inner: bool) -> Iterator[RecordLine]:
        data = stream.read(LARGEST + 1)
        try:
            text = data.decode("utf-8") if len(data) <= LARGEST else ""
        except UnicodeDecodeError:
            yield RecordLine(1, None, f"{name} is not UTF-8")
            return
        if record := note_record(text, name, modified):
            yield RecordLine(1, record)
        elif is_inner:
            self.passed_over += 1
        else:
            raise self._unmarked(name)

    def _unmarked(self, name: str) -> UsageError:
        words = f"--file {quote(name)}" if self._origin else "-"
        return UsageError(
            f"{name} is a text that no tool's marks are in",
            f"`mem write {words}` makes one memory of it; `mem init` in its folder uses markdown where it is",
        )

    def _table(self, text: str, name: str, *, is_inner: bool) -> tuple[str, dict[int, str], list[str], int] | None:
        """Return delimiter, field of each column, names and first line of a table with a header; None for none.

        Raise UsageError where `--map` names what is not there.
        """
        lines = text.split("\n")
        stated = re.fullmatch(r'"?sep=(.)"?\r?', lines[0])
        header = "".join(lines[1:2] if stated else lines[:1]).strip("\r\n")
        delimiter = stated[1] if stated else max(_DELIMITERS, key=lambda mark: len(_cells(header, mark)))
        names = [cell.strip() for cell in _cells(header, delimiter)]
        fields = _guessed(names)
        for field, column in self._columns.items():
            if column not in names:
                if is_inner:
                    return None
                if text.lstrip().startswith(("{", "[")):
                    raise UsageError(f"a table has columns to map; {name} is JSON", "leave out --map")
                raise UsageError(f"{name} has no column {column!r}", f"it has {', '.join(map(repr, names[:20]))}")
            fields = {index: key for index, key in fields.items() if key != field}
            fields[names.index(column)] = field
        if TEXT in fields.values():
            return delimiter, fields, names, 2 if stated else 1
        if len(names) > 1 and len(lines) > 1 and not is_inner and all(0 < len(name) <= 40 for name in names):
            raise UsageError(
                f"no column of {name} is known to hold the words: {', '.join(map(repr, names[:20]))}",
                f"say which: --map {TEXT}={names[0]}",
            )
        return None

    def _rows(
        self,
        data: bytes,
        name: str,
        delimiter: str,
        fields: Mapping[int, str],
        names: list[str],
        skipped: int,
        stem: str,
    ) -> Iterator[RecordLine]:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            text = data.decode("cp1252", "replace")
            self.notices.append(
                f"{name} is not UTF-8: it is read as Latin-1 (windows-1252); save it as UTF-8 if it is not"
            )
        unknown = [name for index, name in enumerate(names) if name and index not in fields]
        if unknown:
            listed = ", ".join(map(repr, unknown[:20]))
            self.notices.append(f"{name}: kept as metadata: {listed} (--map FIELD={unknown[0]} makes a field of one)")
        csv.field_size_limit(LONGEST)
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        while True:
            try:
                row = next(rows)
            except StopIteration:
                break
            except csv.Error as error:
                yield RecordLine(rows.line_num, None, f"no row of a table: {error}")
                continue
            if rows.line_num <= skipped or not any(map(str.strip, row)):
                continue
            if len(row) > len(names) and any(row[len(names) :]):
                yield RecordLine(
                    rows.line_num, None, f"{number_of(len(row), 'cell')}, where the header names {len(names)}"
                )
                continue
            yield RecordLine(rows.line_num, _row_record(row, fields, names, stem))


def _origin_of(path: Path) -> str:
    """Return a mark of where a file or folder lies, below the user's home the same on every machine."""
    place = os.path.realpath(path).removeprefix(os.path.realpath(os.path.expanduser("~")))
    return "-" + blake2b(os.fsencode(place), digest_size=3).hexdigest()


def _is_passed_over(member: str) -> bool:
    return PurePosixPath(member).name.startswith(".") or member.endswith(".zip")


def _projects_first(name: str) -> tuple[bool, str]:
    return "project" not in name, name


def _paths_below(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted((name for name in folders if not name.startswith(".")), key=_projects_first)
        for name in sorted(names, key=_projects_first):
            path = Path(folder, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _guessed(names: list[str]) -> dict[int, str]:
    """Return the field of each column whose name is one that tools give it; the first of two counts."""
    fields: dict[int, str] = {}
    for index, name in enumerate(names):
        plain = re.sub(r"[\s-]+", "_", name.casefold())
        known = TEXT if plain in _TEXT_COLUMNS else "created_at" if plain in _DATE_COLUMNS else key_of(plain)
        if (known or key_of(name)) and (known or key_of(name)) not in fields.values():
            fields[index] = known or key_of(name)
    return fields


def _row_record(row: list[str], fields: Mapping[int, str], names: list[str], stem: str) -> dict[str, Any]:
    record: dict[str, Any] = {"content": ""}
    metadata: dict[str, Any] = {TOOL: "CSV"}
    for index, cell in enumerate(row[: len(names)]):
        field = fields.get(index, "")
        if field == TEXT:
            record["content"] = cell
        elif cell.strip() and field == "tags":
            record["tags"] = [tag.strip() for tag in re.split(r"[,;|\n]", cell.strip("[] ")) if tag.strip(" '\"")]
        elif cell.strip() and field == "id":
            number = cell.strip()
            # 1, 2, 3 are the numbers of every table's rows
            record["id"] = f"{stem}-{number}" if number.isdecimal() else number
            metadata[TOOL_ID] = number
        elif cell.strip():
            (record if field not in ("", "metadata") else metadata)[field or names[index]] = cell.strip()
    return {**record, "metadata": metadata}


def _is_memory(record: Mapping[str, Any]) -> bool:
    try:
        memory_of(record)
    except (ValueError, RecursionError):
        return "path" in record
    return True


def _all_of(stream: BinaryIO, name: str) -> bytes:
    """Read a stream to its end; raise RefusedError for one that is too large to be held."""
    data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise RefusedError(f"{name} has more than {LARGEST >> 20} MiB of text", "split it")
    return data


def _refuse_a_conversation(head: bytes, name: str) -> None:
    """Raise UsageError for what `mem session import` takes, unless its first line is a memory."""
    first = head.split(b"\n", 1)[0]
    try:
        if isinstance(record := json.loads(first), dict) and _is_memory(record) and "role" not in record:
            return
    except (ValueError, RecursionError):
        pass
    try:
        form = detect(TranscriptFile(io.BytesIO(head)), name)
    except UnknownTranscriptError:
        return
    raise UsageError(f"{name} is a conversation ({form.name})", f"`mem session import {quote(name)}` takes it in")


def mapping_of(stated: str) -> dict[str, str]:
    """Read `text=content,tags=labels`: a field, and the column it is in; raise UsageError for no field."""
    columns: dict[str, str] = {}
    for pair in filter(None, stated.split(",")):
        field, _, column = pair.partition("=")
        if not column.strip() or (field.strip() != TEXT and field.strip() not in FIELDS):
            raise UsageError(
                f"{pair!r} names no column of a field",
                f"write FIELD=COLUMN; a field is {TEXT}, {', '.join(_COMMON)}, …",
            )
        columns[field.strip()] = column.strip()
    return columns


_COMMON = ("id", "title", "tags", "type", "key", "project", "created_at", "updated_at", "source", "expires_at")
