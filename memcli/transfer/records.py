"""JSON, CSV and SQLite: the memories of mem0, jcode, golemcore, claude-mem, and others.

A record is an object or a row that has a text. First its shape tells which tool wrote it, then
`adapt_record` gives its parts our names, and `items.build_content` makes a memory of it. Below are
the readers of the three formats. A database is only read, and as untrusted data.
"""

import csv
import io
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from ..errors import UsageError
from ..formats import BLANK, CutOffError, JsonStream, LongValue, count_noun
from .items import (
    FIELD_NAMES,
    LARGEST_TEXT_LINE,
    OTHER_TOOLS,
    TEXT,
    BadItem,
    Item,
    Line,
    Source,
    TransferFile,
    build_content,
    build_stable_id,
    find_field,
    find_text,
    is_encodable,
    iterate_lines,
    parse_lines,
    read_date,
)

Record = dict[str, Any]
Place = tuple[str, Record | BadItem]
TABLE_ENDINGS = (".csv", ".tsv")
DELIMITERS = ",;\t|"
MOST_NAMES = 20  # of columns in a message
MOST_DATES = 20  # unreadable dates that are named
SQLITE_MARK = b"SQLite format 3\0"
LARGEST_VALUE = 32 * 1024 * 1024  # bytes of a cell in a database


def find_tool(record: Mapping[str, Any]) -> str:
    """Return the tool that wrote a record, or an empty string.

    For another record that has a text and is not a message, it is `json`.
    """
    names = record.keys()
    for shape in OTHER_TOOLS["shapes"]:
        has_any = not shape["any"] or not names.isdisjoint(shape["any"])
        if has_any and names >= set(shape["all"]):
            return str(shape["tool"])
    is_memory = find_text(record) and names.isdisjoint(OTHER_TOOLS["message_names"])
    return "json" if is_memory else ""


def adapt_record(record: Record, tool: str) -> Record:
    """Return a record with a text, under names that `build_content` knows."""
    if "relationType" in record or "relationship" in record:
        return adapt_relation(dict(record))
    if tool == "mcp-memory":
        return adapt_entity(dict(record))
    if tool == "claude-mem":
        # A database stores lists and objects as JSON.
        record = {name: parse_list(value) for name, value in record.items()}
        # claude-mem stores its date twice, as text and in milliseconds.
        if record.get("created_at"):
            record.pop("created_at_epoch", None)
        is_observation = "narrative" in record or "facts" in record
        return adapt_observation(record) if is_observation else adapt_summary(record)
    return record


def adapt_relation(record: Record) -> Record:
    words = [pop_first(record, names) for names in OTHER_TOOLS["relation"].values()]
    text = " ".join(str(word).replace("_", " ") for word in words)
    return {**record, TEXT: text, "type": "fact"}


def adapt_entity(record: Record) -> Record:
    """Return an entity of the MCP memory server with its observations as text."""
    name = str(record["name"])
    text = format_items(record.pop("observations")) or name
    tag = str(record.pop("entityType", ""))
    return {**record, TEXT: text, "id": name, "type": "entity", "tags": [tag]}


def adapt_observation(record: Record) -> Record:
    """Return an observation of claude-mem with its facts in the text."""
    facts = format_items(record.pop("facts", None) or [])
    parts = [record.pop(name, None) for name in ("subtitle", "narrative", "text")]
    texts = [str(part) for part in [*parts, facts] if part]
    text = "\n\n".join(texts) or str(record.get("title") or "")
    return {**record, TEXT: text, "id": f"observation-{record.get('id')}"}


def adapt_summary(record: Record) -> Record:
    """Return a session summary of claude-mem with its parts as text."""
    lines = []
    for name in OTHER_TOOLS["summary_parts"]:
        part = record.pop(name, None)
        if part:
            lines.append(f"- {name.replace('_', ' ')}: {part}")
    text = "\n".join(lines)
    return {**record, TEXT: text, "type": "summary", "id": f"summary-{record.get('id')}"}


def pop_first(record: Record, names: Iterable[str]) -> Any:
    """Remove keys from a record, and return the first of their values."""
    values = [record.pop(name, None) for name in names]
    return next((value for value in values if value), "")


def format_items(values: Any) -> str:
    """Return texts, or objects with a text, as a Markdown list."""
    values = values if isinstance(values, list) else [values]
    lines = []
    for value in values:
        text = find_text(value) if isinstance(value, dict) else value
        if text:
            lines.append(f"- {' '.join(str(text).split())}")
    return "\n".join(lines)


def parse_list(value: Any) -> Any:
    """Return the value of a text that is JSON, or the text."""
    if isinstance(value, str) and value.startswith(("[", "{")):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def build_items(places: Iterable[Place], source: Source) -> Iterator[Item]:
    """Yield what to save for each record, or why nothing is saved."""
    deleted = 0
    undated: list[str] = []
    ids: set[str] = set()
    for place, record in places:
        if isinstance(record, BadItem):
            yield Item(place, record)
            continue
        record = rename_columns(record, source.columns)
        tool = find_tool(record)
        adapted = adapt_record(record, tool) if tool else record
        if not find_text(adapted):
            yield Item(place, BadItem("not a memory: it has no text (--map text=NAME)"))
            continue
        # JSON allows halves of characters.
        if not is_encodable(json.dumps(adapted, ensure_ascii=False, default=str)):
            yield Item(place, BadItem("its text is not Unicode"))
            continue
        unread_dates: list[str] = []
        content = build_content(adapted, tool or "json", source, unread_dates)
        for date in unread_dates:
            undated.append(f"{place}: cannot read {date}, so it was left out")
        if content is None:
            deleted += 1
            continue
        if not isinstance(content, TransferFile):
            # The MCP memory server can have several entities with the same name.
            if content.id in ids:
                content.id = build_stable_id(f"{content.id} {content.text}", content.created_at)
            ids.add(content.id)
        yield Item(place, content)
    source.messages += undated[:MOST_DATES]
    if len(undated) > MOST_DATES:
        source.messages.append(f"and {len(undated) - MOST_DATES:,} more dates left out")
    if deleted:
        count = count_noun(deleted, "memory")
        source.messages.append(f"{count} deleted in the other tool left out")


def rename_columns(record: Record, columns: Mapping[str, str]) -> Record:
    """Return a record with our names for the columns that the user mapped."""
    mapped = {field: record[name] for field, name in columns.items() if name in record}
    if not mapped:
        return record
    rest = {
        name: value
        for name, value in record.items()
        if name not in columns.values() and find_field(name) not in mapped
    }
    return mapped | rest


def read_json(source: Source) -> Iterator[Item] | None:
    """Read JSON lines, or a document with a list of memories."""
    text = source.decode_head()
    if not text.lstrip(BLANK).startswith(("{", "[")):
        return None
    head = io.StringIO(text)
    is_lines = has_whole_line(text)
    if is_lines:
        places = read_values(iterate_lines(head, len(text)))
    else:
        places = read_document(head)
    first = next((record for _, record in places if isinstance(record, dict)), {})
    tool = find_tool(rename_columns(first, source.columns))
    # A message has a text too: {"role": "user", "content": "Hello."}
    if not tool or (tool == "json" and source.formats["conversations"](source)):
        return None
    if is_lines:
        return build_items(read_values(source.read_lines(LARGEST_TEXT_LINE)), source)
    return build_items(read_document(source.open_text()), source)


def has_whole_line(text: str) -> bool:
    """Return whether the first of several lines is JSON by itself."""
    first, _, second = text.strip(BLANK).partition("\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        # Only in a file of lines the next line starts an object too.
        return first.startswith('{"') and second.startswith('{"')
    return bool(second)


def read_values(lines: Iterable[Line]) -> Iterator[Place]:
    """Yield the records of each line.

    A line can be a page of them.
    """
    for place, value in parse_lines(lines):
        records = expand(value)
        if not records:
            yield place, BadItem("not an object with keys and values")
        for number, record in enumerate(records, 1):
            yield (place if len(records) == 1 else f"{place}, item {number}"), record


def expand(value: Any) -> list[Record | BadItem]:
    """Return the records in a value: itself, or those inside it."""
    if isinstance(value, BadItem):
        return [value]
    if isinstance(value, LongValue):
        return [BadItem(f"longer than {LARGEST_TEXT_LINE >> 20} MiB")]
    if isinstance(value, list):
        # No tool has lists in this list.
        items = [item for item in value if isinstance(item, dict)]
        return [record for item in items for record in expand(item)]
    if not isinstance(value, dict):
        return []
    if find_tool(value):
        return [value]
    records: list[Record | BadItem] = []
    for name in OTHER_TOOLS["containers"]:
        held = value.get(name)
        if isinstance(held, dict):
            # jcode: {"memories": {"mem_1": {"content": "The staging port is 8080."}}}
            held = [{"id": key, **item} for key, item in held.items() if isinstance(item, dict)]
        if isinstance(held, list):
            records += [item for item in held if isinstance(item, dict)]
    return records or [value]


def read_document(file: TextIO) -> Iterator[Place]:
    """Yield the records of a document that may not fit into memory."""
    stream = JsonStream(file, LARGEST_TEXT_LINE, skips_long=True)
    number = 0
    try:
        with file:
            while stream.peek():
                for record in stream_records(stream):
                    number += 1
                    yield f"item {number}", record
    except CutOffError as error:
        yield f"item {number + 1}", BadItem(str(error))


def stream_records(stream: JsonStream) -> Iterator[Record | BadItem]:
    """Yield the records of the next value of a stream."""
    if stream.peek() == "[":
        for value in stream.read_items():
            yield from expand(value)
        return
    if stream.peek() != "{":
        raise CutOffError("not a memory")
    whole: Record = {}
    has_records = False
    for key in stream.read_keys():
        mark = stream.peek()
        if key not in OTHER_TOOLS["containers"] or mark not in ("[", "{"):
            whole[key] = stream.read_value()
            continue
        if mark == "[":
            for value in stream.read_items():
                for record in expand(value):
                    has_records = True
                    yield record
            continue
        for name in stream.read_keys():
            value = stream.read_value()
            if isinstance(value, dict):
                has_records = True
                yield {"id": name, **value}
    # A memory can have a list of another kind under such a key: {"content": …, "items": ["milk"]}.
    if not has_records:
        yield whole


def read_csv(source: Source) -> Iterator[Item] | None:
    """Read a table with a header.

    Raises UsageError if no column is known to have the text.
    """
    is_named = source.name.lower().endswith(TABLE_ENDINGS)
    if source.is_tree or not (is_named or source.columns):
        return None
    text = source.decode_head()
    if not text.strip() or text.startswith(("{", "[")):
        return None
    lines = text.splitlines()
    # Excel understands a first line such as `sep=;`.
    marked = lines[0][4:5] if lines and lines[0].startswith("sep=") else ""
    skipped = 2 if marked else 1
    header = "".join(lines[skipped - 1 : skipped])
    delimiter = marked or max(DELIMITERS, key=header.count)
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    missing = [name for name in source.columns.values() if name not in names]
    has_text = TEXT in source.columns or TEXT in map(find_field, names)
    # Between notes, another table is no error.
    if source.is_inner and (missing or not has_text):
        return None
    columns = ", ".join(names[:MOST_NAMES])
    if missing:
        raise UsageError(f"{source.name} has no column {missing[0]!r}", f"it has {columns}")
    if not has_text:
        cells = next(csv.reader(lines[skipped:], delimiter=delimiter), [])
        problem = f"{source.name} has no column with a known name: {columns}"
        raise UsageError(problem, suggest_column(names, cells))
    return build_items(read_rows(source, names, delimiter, skipped), source)


def suggest_column(names: list[str], cells: list[str]) -> str:
    """Return a hint that suggests the column whose cell has the most letters."""
    # A table without a header: `09.04.2023;Kiln 2 is cold`
    if any(name.isdecimal() or read_date(name) for name in names):
        return "its first line must name the columns"
    counts = [sum(map(str.isalpha, cell)) for cell in cells]
    _, name = max(zip(counts, names, strict=False), default=(0, "NAME"))
    return f"name the column that has the text: --map text={name}"


def read_rows(source: Source, names: list[str], delimiter: str, skipped: int) -> Iterator[Place]:
    too_long: list[int] = []

    def iterate_short_lines() -> Iterator[str]:
        for number, line in source.read_lines(LARGEST_TEXT_LINE):
            if line is None:
                too_long.append(number)
            # An empty line instead, so the numbers of the lines stay right.
            yield line or ""

    # The limit of Python is 131,072 characters, and a pasted text can be longer.
    csv.field_size_limit(LARGEST_TEXT_LINE)
    rows = csv.reader(iterate_short_lines(), delimiter=delimiter)
    while True:
        try:
            row = next(rows, None)
        except csv.Error as error:
            yield f"line {rows.line_num}", BadItem(f"not a row of a table: {error}")
            continue
        while too_long:
            yield f"line {too_long.pop(0)}", BadItem("the line is too long")
        if row is None:
            return
        if rows.line_num <= skipped or not any(cell.strip() for cell in row):
            continue
        # An unquoted comma in the text: `Ana,too,many,cells`
        if len(row) > len(names):
            yield f"line {rows.line_num}", BadItem(f"{len(row)} cells for {len(names)} columns")
            continue
        record = {name: cell.strip() for name, cell in zip(names, row, strict=False)}
        yield f"line {rows.line_num}", {**record, "tool": "csv"}


def parse_columns(pairs: Iterable[str]) -> dict[str, str]:
    """Read `text=content,tags=labels`: our field and its name in the source."""
    columns = {}
    for pair in filter(None, ",".join(pairs).split(",")):
        field, _, name = pair.partition("=")
        if field.strip() not in FIELD_NAMES or not name.strip():
            raise UsageError(
                f"cannot use --map {pair!r}",
                f"write FIELD=NAME; FIELD is one of: {', '.join(FIELD_NAMES)}",
            )
        columns[field.strip()] = name.strip()
    return columns


def read_sqlite(source: Source) -> Iterator[Item] | None:
    """Read the observations and summaries of claude-mem."""
    if not source.head.startswith(SQLITE_MARK) or source.stream is not None:
        return None
    try:
        with closing(open_database(source.path)) as database:
            tables = find_tables(database)
    except (sqlite3.Error, UnicodeDecodeError):  # the latter for the name of a column
        return None
    return build_items(read_database_rows(source.path, tables), source) if tables else None


def open_database(path: Path) -> sqlite3.Connection:
    """Open a database so that nothing in it is changed or run."""
    address = f"file:{quote(str(path))}?mode=ro"
    # Without write access to its folder, a database with a write-ahead log opens only this way.
    for more in ("", "&immutable=1"):
        database = sqlite3.connect(address + more, uri=True, timeout=5)
        # A hostile cell could otherwise take a gigabyte.
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_VALUE)
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        database.row_factory = sqlite3.Row
        try:
            # A view or trigger in a hostile file could otherwise call functions of SQLite.
            database.execute("pragma trusted_schema = off")
            database.execute("select count(*) from sqlite_master").fetchone()
            return database
        except sqlite3.OperationalError:
            database.close()
    raise sqlite3.OperationalError("cannot be opened")


def find_tables(database: sqlite3.Connection) -> list[str]:
    """Return the tables with memories.

    A view of that name could hide anything.
    """
    rows = database.execute("select name, sql from sqlite_master where type = 'table'")
    # A virtual table can run the code of a module.
    plain = {row["name"] for row in rows if "virtual" not in str(row["sql"]).lower().split()}
    tables = []
    for table, wanted in OTHER_TOOLS["tables"].items():
        if table in plain:
            columns = {row["name"] for row in database.execute(f"pragma table_info({table})")}
            if columns.issuperset(wanted):
                tables.append(table)
    return tables


def read_database_rows(path: Path, tables: list[str]) -> Iterator[Place]:
    with closing(open_database(path)) as database:
        for table in tables:
            number = 0
            try:
                for row in database.execute(f"select * from {table} order by rowid"):
                    number += 1
                    cells = zip(row.keys(), row, strict=True)
                    texts = {name: cell for name, cell in cells if not isinstance(cell, bytes)}
                    yield f"{table} {number}", texts
            except (sqlite3.Error, UnicodeDecodeError) as error:
                yield f"{table} {number + 1}", BadItem(f"the database is damaged: {error}")
