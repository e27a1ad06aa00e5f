"""Read files into the tables of the index, and hide what repeats forgotten memories."""

import json
import re
import time
from collections.abc import Iterable
from pathlib import PurePosixPath

from ..formats import (
    WORD,
    Problem,
    build_digest,
    build_text_digest,
    build_words_digest,
    fold_key,
    fold_name,
    replace_surrogates,
)
from ..store import Workspace, mask_name
from .database import DELETE_DERIVED, Database
from .index import IndexedEntry
from .reader import ForgottenTexts, ParsedFile, load_forgotten, parse_file, read_bytes
from .scan import format_path
from .words import build_index_text, fold_letters

# Bounded: in a text of 100,000 brackets each would search to the end.
WIKI_LINK = re.compile(r"\[\[([^\]|#\n]{1,200})")
MARKDOWN_LINK = re.compile(r"\]\(<?([^)>\s#]{1,300}\.md)[^)]{0,300}\)")
PATH_LENGTH = 120


def refresh_file(
    database: Database,
    workspace: Workspace,
    path: str,
    forgotten: ForgottenTexts,
    *,
    is_forced: bool = False,
) -> None:
    """Read one file into the index, within a transaction; if forced, even without changes."""
    noted = time.time_ns()
    if path != format_path(path):
        store_problem(database, workspace, path, "its name is not UTF-8: rename it", noted)
        return
    # Read here, because another process may have indexed the file since the scan.
    row = database.run("select file, digest, mtime from files where path = ?", (path,)).fetchone()
    try:
        data, stat = read_bytes(workspace, path)
    except FileNotFoundError:
        if row is not None:
            delete_file(database, row[0])
        return
    except OSError as error:
        store_problem(database, workspace, path, f"cannot be read: {error.strerror}", noted)
        return
    # A file without dates takes its own, so its time counts even if its content is the same.
    is_same_time = row is not None and row[2] // 10**9 == stat[0] // 10**9
    if row is not None and row[1] == build_digest(data) and is_same_time and not is_forced:
        database.run(
            "update files set mtime = ?, ctime = ?, size = ?, inode = ?, noted = ? where file = ?",
            (*stat, noted, row[0]),
        )
        return
    store_file(database, parse_file(workspace, path, data, stat, forgotten), noted)


def store_problem(
    database: Database, workspace: Workspace, path: str, reason: str, noted: int
) -> None:
    """Store a file that cannot be read. Its stat is zero, so the next refresh tries again."""
    parsed = ParsedFile(format_path(path), workspace.get_kind(path), (0, 0, 0, 0), "")
    parsed.problems.append(Problem(1, reason, "unread"))
    store_file(database, parsed, noted)


def apply_forgotten(database: Database, workspace: Workspace) -> None:
    """Read files again if the texts to hide have changed since they were read."""
    forgotten = load_forgotten(database, workspace)
    signature = forgotten.build_signature()
    if database.get_meta("forgotten") == signature:
        return
    with database.write():
        database.run(DELETE_DERIVED)
        for path in list(find_affected_files(database, forgotten)):
            refresh_file(database, workspace, path, forgotten, is_forced=True)
        database.set_meta("forgotten", signature)


def find_affected_files(database: Database, forgotten: ForgottenTexts) -> Iterable[str]:
    rows = database.run(
        "select path, text, hidden, status, id from files join texts using(file)"
        " left join entries using(file) where digest <> ''"
    ).fetchall()
    for path, text, hidden, status, entry_id in rows:
        repeats = status != "forgotten" and forgotten.hide(text)[1]
        is_page = path.endswith("MEMORY.md")  # its lines are hidden by id
        if hidden or repeats or is_page or entry_id in forgotten.purged_ids:
            yield path


def store_file(database: Database, parsed: ParsedFile, noted: int) -> None:
    """Store a file in place of its earlier version. `noted` is the time before it was read."""
    run = database.run
    path = format_path(parsed.path)
    row = run("select file from files where path = ?", (path,)).fetchone()
    if row:
        delete_file(database, row[0])
    cursor = run(
        "insert into files values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            row[0] if row else None,
            path,
            parsed.kind,
            *parsed.stat,
            noted,
            parsed.digest,
            parsed.masked,
            parsed.hidden,
        ),
    )
    file = cursor.lastrowid
    assert file is not None
    run("insert into texts values(?, ?)", (file, replace_surrogates(parsed.text)))
    for problem in parsed.problems:
        run("insert into problems values(?, ?, ?, ?, ?)", (file, mask_name(path), *problem))
    if parsed.entry is not None:
        store_entry(database, file, parsed)
    store_names(database, file, parsed)
    store_links(database, file, parsed.text)
    store_chunks(database, file, parsed)


def store_entry(database: Database, file: int, parsed: ParsedFile) -> None:
    entry = parsed.entry
    assert entry is not None
    columns = {name: getattr(entry, name) for name in IndexedEntry._fields if name != "path"}
    for name, value in columns.items():
        if isinstance(value, tuple):
            columns[name] = json.dumps(value)
    columns |= {
        "file": file,
        "key": fold_key(entry.key),
        "fields": json.dumps(parsed.fields, default=str),
        "same_words": build_words_digest(entry.body or entry.title),
    }
    database.run(
        f"insert into entries({', '.join(columns)}) values(:{', :'.join(columns)})", columns
    )


def store_names(database: Database, file: int, parsed: ParsedFile) -> None:
    """Store the names by which commands and links find a file."""
    # All conversations have the same name.
    if parsed.kind == "session":
        return
    names = [PurePosixPath(parsed.path).name.removesuffix(".md")]
    if parsed.entry is not None:
        names += [parsed.entry.title, *parsed.entry.aliases]
    rows = [(fold_name(name), file) for name in names if name and len(name) <= PATH_LENGTH]
    database.connection.executemany("insert or ignore into names values(?, ?)", rows)


def store_links(database: Database, file: int, text: str) -> None:
    targets = {fold_name(PurePosixPath(target.strip()).name) for target in WIKI_LINK.findall(text)}
    for target in MARKDOWN_LINK.findall(text):
        targets.add(fold_name(PurePosixPath(target.replace("%20", " ")).name.removesuffix(".md")))
    rows = [(target.removesuffix(".md"), file) for target in targets]
    database.connection.executemany("insert or ignore into links values(?, ?)", rows)


def store_chunks(database: Database, file: int, parsed: ParsedFile) -> None:
    entry = parsed.entry
    is_active = entry is None or entry.status == "active"
    names = " ".join(entry.aliases) if entry else ""
    tags = " ".join(entry.tags) if entry else ""
    spellings: set[str] = set()
    for chunk in parsed.chunks:
        body = parsed.text[chunk.start : chunk.stop]
        key = build_text_digest(chunk.prefix + body)
        # A text that was here before, perhaps under another name, has its vector already.
        row = database.run("select vector from vectors where hash = ?", (key,)).fetchone()
        cursor = database.run(
            f"insert into chunks values(null, {', '.join('?' * 12)})",
            (
                file,
                parsed.kind,
                is_active,
                chunk.anchor,
                chunk.line,
                chunk.start,
                chunk.stop,
                chunk.title,
                chunk.prefix,
                chunk.timestamp,
                key,
                row[0] if row else None,
            ),
        )
        # Of a conversation the title is the speaker, which is ranked separately.
        title = "" if parsed.kind == "session" else f"{chunk.title} {names} {tags}".strip()
        indexed = build_index_text(body)
        database.run(
            "insert into words(rowid, title, body) values(?, ?, ?)",
            (cursor.lastrowid, build_index_text(title) if title else "", indexed),
        )
        spellings.update(WORD.findall(f"{title} {indexed}".lower()))
    store_spellings(database, spellings)


def store_spellings(database: Database, words: Iterable[str]) -> None:
    """Store the words that a mistyped word may mean."""
    rows = [(fold_letters(word),) for word in words if word.isalpha() and 3 < len(word) < 30]
    database.connection.executemany("insert or ignore into spellings values(?)", rows)


def wipe_deleted_texts(database: Database) -> None:
    """Remove purged texts from the database, where SQLite would only mark pages as free."""
    with database.write():
        database.run("delete from spellings")
        for title, body in database.run("select title, body from words").fetchall():
            store_spellings(database, WORD.findall(f"{title} {body}".lower()))
        database.run("insert into words(words) values('optimize')")
    database.run("vacuum")
    database.run("pragma wal_checkpoint(truncate)")


def delete_file(database: Database, file: int) -> None:
    """Delete all rows of a file."""
    run = database.run
    run("delete from words where rowid in (select chunk from chunks where file = ?)", (file,))
    for table in ("texts", "problems", "entries", "names", "links", "chunks", "files"):
        run(f"delete from {table} where file = ?", (file,))
