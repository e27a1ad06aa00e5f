"""Merge two versions of a file that have a common ancestor, by the kind of the file.

An entry is merged by field and its text by lines, history and notes by record, MEMORY.md and other
pages by lines. Nothing is lost: if both sides reworded the same lines of a memory, the later
version stays in the file, and the other one becomes a memory that conflicts with it. The result
does not depend on which side is ours, so two machines write the same file.

In a project's repository, git's own conflict markers tell people what to decide instead.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from ..formats import (
    COPY_START,
    HISTORY_HEADING,
    NOTE_START,
    PROMOTED_LINE,
    SPELLINGS,
    STATUS_SPELLINGS,
    STATUSES,
    SUMMARY_LENGTH,
    FrontmatterError,
    build_digest,
    edit_entry,
    format_document,
    frontmatter,
    get_id_end,
    is_id,
    merge_lines,
    merge_sequences,
    parse_event,
    read_id,
    shorten,
    split_words,
)
from ..formats import split_lines as split_session

STATE = ("status", "forgotten_at", "reason", "superseded_by")
# mem writes these fields itself, so a person need not decide about them.
AUTOMATIC = ("id", "reason", "superseded_by", "source", "trust", "confidence", "strength")
KNOWN_STATUSES = (*STATUSES, *STATUS_SPELLINGS)
# Lines of both sides together would be no JSON, and no program.
LINE_ENDINGS = ("", ".md", ".txt", ".csv")
TIME_LENGTH = len("[14:15]")
REWORDED = "both machines changed the same lines, and both versions were saved"
# Parts of a text that are compared. If all are equal, the time grows with the square: 0.5 s.
MOST_PARTS = 1_000
# "At 10:30." is `At`, ` `, `10`, `:`, `30` and `.`: joined, the tokens are the text again.
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
# "Tea. Or milk?" is `Tea.` and ` Or milk?`. In JSON, a line ends with `\n`.
SENTENCE = re.compile(r"[^.!?\n\\]+[.!?\n\\]*|[.!?\n\\]+")
Lines = list[str]
Resolve = Callable[[Lines, Lines, Lines], Lines]
Fields = Mapping[str, Any]
Text = str | None
Dates = Mapping[Text, str]
EMPTY: Dates = {}


class Version(NamedTuple):
    """An entry as one side has it."""

    text: str
    head: str
    fields: dict[str, Any]
    body: str
    date: str  # of the commit, if it is known

    @property
    def id(self) -> str:
        return read_id(self.text)

    @property
    def order(self) -> tuple[str, str, str]:
        """A key that sorts versions by the time of their last change."""
        changed_at = self.fields.get("updated_at") or self.fields.get("created_at") or self.date
        # A person who edits a note changes none of its dates.
        return str(changed_at), self.date, self.text


class Merged(NamedTuple):
    """A merged file. If it has no text, the file is deleted."""

    text: str | None
    conflict: str = ""  # what a person should check
    copy: str = ""  # the text of a second memory, which is written to a new file


def merge_file(
    kind: str, path: str, base: Text, ours: Text, theirs: Text, size: int = 0, dates: Dates = EMPTY
) -> Merged:
    """Merge two versions of a file with their common ancestor.

    None means that the file does not exist. `kind` is its kind in the workspace. If `size` is not
    0, the text gets conflict markers of that length, as git writes them. `dates` are those of
    the commits by text, because a note of a vault has none.
    """
    old = base or ""
    if kind in ("history", "note", "session"):
        # Not as other files: a side that deleted the whole file deleted its old records only.
        return Merged(merge_records(kind, old, ours or "", theirs or "") or None)
    if ours is None or theirs is None:
        return Merged(ours if theirs is None else theirs)
    # Two machines that merge the same versions must write the same file. git's markers name sides.
    if not size:
        ours, theirs = sorted((ours, theirs))
    name = path.rpartition("/")[2]
    if name == "purged.txt":
        return Merged(merge_purged_ids(ours, theirs))
    if name == "mem.yaml":
        return merge_settings(old, ours, theirs, size)
    if name == "metadata.json":
        return Merged(max(ours, theirs, key=read_update_time))
    if "\0" in old + ours + theirs or PurePosixPath(path).suffix not in LINE_ENDINGS:
        if dates.get(ours, "") < dates.get(theirs, ""):
            ours, theirs = theirs, ours
        return Merged(ours, "both machines changed this file", theirs)
    if kind == "entry":
        return merge_entry(path, base, ours, theirs, size, dates)
    return merge_page(old, ours, theirs, size)


def merge_records(kind: str, base: str, ours: str, theirs: str) -> str:
    """Return the records of both sides, without those that one side deleted."""
    ours, theirs = sorted((ours, theirs))
    old = split_records(kind, base)
    left = align_records(old, split_records(kind, ours))
    right = align_records(old, split_records(kind, theirs))

    def resolve(was: Lines, first: Lines, second: Lines) -> Lines:
        keys = {*first, *second}
        for key in was:
            if key not in first or key not in second:
                keys.discard(key)  # one side deleted it
        return sorted(keys)  # by time

    # The order of the keys is merged first, then each record that both sides have.
    keys = merge_sequences(list(old), list(left), list(right), resolve) or []
    records = []
    for key in dict.fromkeys(keys):
        if key in left and key in right:
            records.append(merge_record(kind, old.get(key, ""), left[key], right[key]))
        elif key not in old:
            records.append(left.get(key) or right[key])
    return "".join(add_line_ends(records))


def split_records(kind: str, text: str) -> dict[str, str]:
    """Return the records of a file by a key that starts with their time."""
    if kind == "session":
        parts = split_session(text)
    else:
        pattern = HISTORY_HEADING if kind == "history" else NOTE_START
        cuts = [0, *[match.start() for match in pattern.finditer(text)], len(text)]
        parts = [text[start:end] for start, end in pairwise(cuts)]
    records: dict[str, str] = {}
    for part in filter(None, parts):
        key = build_record_key(kind, part)
        while key in records:  # the same note was written twice
            key += "+"
        records[key] = part
    return records


def build_record_key(kind: str, text: str) -> str:
    if kind == "session":
        event = parse_event(text) or {}
        return f"{event.get('timestamp', '')} {event.get('id') or text.strip()}"
    # "## 2026-11-20T10:00:00Z <!-- hist_1 -->". A heading that a person wrote has no id.
    heading = HISTORY_HEADING.match(text) if kind == "history" else None
    if heading:
        return f"{heading['time']} {heading['id'] or text}"
    # A text above the first record sorts before all times.
    return text.strip() if NOTE_START.match(text) else f" {text.strip()}"


def align_records(old: Mapping[str, str], side: Mapping[str, str]) -> dict[str, str]:
    """Give the records of a side that only lost words their old keys.

    The key of a note is its text, because notes have no ids, and a purge shortens that text.
    """
    deleted_keys = [key for key in old if key not in side]
    records = {}
    for key, text in side.items():
        if key not in old:
            for old_key in deleted_keys:
                is_same_time = old_key[:TIME_LENGTH] == key[:TIME_LENGTH]
                if is_same_time and has_lost_words(old[old_key], text):
                    deleted_keys.remove(old_key)
                    key = old_key
                    break
        records[key] = text
    return records


def merge_record(kind: str, base: str, ours: str, theirs: str) -> str:
    """Merge a record that both sides have, which a purge may have changed."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    # A purge shortens, so the shorter side cannot bring a purged text back.
    merged = merge_words(base, ours, theirs)
    # The words of two edits can be no JSON together.
    is_damaged = kind == "session" and parse_event(merged) is None
    return min(ours, theirs, key=len) if is_damaged else merged


def has_lost_words(before: str, after: str) -> bool:
    """Return whether a text only lost words, as in a purge."""
    return set(split_words(before)).issuperset(split_words(after))


def merge_words(base: str, ours: str, theirs: str) -> str:
    """Merge a text so that deleted words stay deleted.

    Comparing all words of a long text can take minutes. Therefore sentences are compared first, and
    words only in sentences that both sides changed.
    """

    def resolve(was: Lines, first: Lines, second: Lines) -> Lines:
        versions = ["".join(lines) for lines in (was, first, second)]
        return [merge_parts(TOKEN, versions, resolve_words)]

    def resolve_words(was: Lines, first: Lines, second: Lines) -> Lines:
        has_deletion = not first or not second
        return [] if has_deletion else first + second

    return merge_parts(SENTENCE, [base, ours, theirs], resolve)


def merge_parts(pattern: re.Pattern[str], versions: Lines, resolve: Resolve) -> str:
    """Merge base, ours and theirs by the parts that match a pattern.

    If a version has too many parts, one side stays.
    """
    base, ours, theirs = map(pattern.findall, versions)
    if max(len(base), len(ours), len(theirs)) > MOST_PARTS:
        # A purge shortens, so the shorter side has less of the purged text.
        return min(versions[1:], key=len)
    return "".join(merge_sequences(base, ours, theirs, resolve) or [])


def merge_purged_ids(ours: str, theirs: str) -> str:
    """Return the purged ids of both sides, each with its earliest date."""
    # "mem_01m8h0h7p0hs5xrq 2026-11-21". In this order, the earliest date of an id comes last.
    lines = sorted([*ours.splitlines(), *theirs.splitlines()], reverse=True)
    dates = dict(line.strip().partition(" ")[::2] for line in lines)
    dates.pop("", None)  # a blank line
    rows = sorted(dates.items(), key=lambda row: row[::-1])
    return "".join(f"{' '.join(row).rstrip()}\n" for row in rows)


def merge_settings(base: str, ours: str, theirs: str, size: int) -> Merged:
    """Merge settings by name, as the frontmatter of an entry without text."""
    heads = add_line_ends([base, ours, theirs])
    # mem.yaml is YAML. With the two lines, it is a frontmatter.
    with suppress(FrontmatterError):
        old, left, right = (parse_version(f"---\n{head}---\n") for head in heads)
        lost: Lines = []
        text = frontmatter.parse(merge_heads(old, left, right, lost)).head
        # In a project, people resolve conflicts with git.
        if lost and size:
            text = mark_lines(heads, size)
        return Merged(text, "; ".join(lost))
    return merge_page(base, ours, theirs, size)


def read_update_time(metadata: str) -> str:
    """Return when the metadata of a conversation changed."""
    values = parse_event(metadata) or {}
    return str(values.get("updatedAt", ""))


def merge_page(base: str, ours: str, theirs: str, markers: int) -> Merged:
    """Merge a page by lines. Both wordings of a line stay."""
    conflict = ""

    def resolve(was: Lines, first: Lines, second: Lines) -> Lines:
        nonlocal conflict
        before, left, right = map("".join, (was, first, second))
        if has_lost_words(before, left) and has_lost_words(before, right):
            return add_line_ends([merge_words(before, left, right)])  # a purge on each side
        first = add_line_ends(first)
        second = add_line_ends(second)
        if is_reworded(was, first, second):
            conflict = REWORDED
            # In a project, people resolve conflicts with git.
            if markers:
                return mark_conflict(first, second, markers)
        return join_lines(was, first, second)

    return Merged(remove_repeated_lines(merge_lines(base, ours, theirs, resolve) or ""), conflict)


def is_reworded(was: Lines, ours: Lines, theirs: Lines) -> bool:
    """Return whether both sides replaced the same lines by new ones."""
    if set(ours).issubset(was) or set(theirs).issubset(was):
        return False  # one side only deleted lines
    for line in was:
        # The line of a promoted memory follows its memory:
        # "- Uses tabs. <!-- mem_01m8h0h7p0hs5xrq abcdef -->"
        is_promoted = PROMOTED_LINE.fullmatch(line.strip())
        if line.strip() and not is_promoted and line not in ours and line not in theirs:
            return True
    return False


def join_lines(was: Lines, ours: Lines, theirs: Lines) -> Lines:
    """Return the lines of both sides, without those that one side deleted."""
    joined = []
    for line in ours:
        # Blank lines are equal, so a deleted one says nothing about the others.
        is_deleted = line in was and line not in theirs
        if not is_deleted or not line.strip():
            joined.append(line)
    return joined + [line for line in theirs if line not in was and line not in joined]


def remove_repeated_lines(page: str) -> str:
    """Return a page with one line for each promoted memory."""
    # Both machines may have promoted the same memory.
    lines, seen_ids = [], set()
    for line in page.splitlines(keepends=True):
        match = PROMOTED_LINE.fullmatch(line.rstrip("\r\n"))
        if match and match["id"] in seen_ids:
            continue
        if match:
            seen_ids.add(match["id"])
        lines.append(line)
    return "".join(lines)


def mark_conflict(ours: Lines, theirs: Lines, size: int) -> Lines:
    """Return both sides between git's conflict markers."""
    start, middle, end = (sign * size for sign in "<=>")
    return [f"{start} ours\n", *ours, f"{middle}\n", *theirs, f"{end} theirs\n"]


def mark_lines(versions: Lines, size: int) -> str:
    """Merge base, ours and theirs, with markers around the lines that both sides changed."""

    def resolve(was: Lines, ours: Lines, theirs: Lines) -> Lines:
        return mark_conflict(ours, theirs, size)

    base, ours, theirs = versions
    return merge_lines(base, ours, theirs, resolve) or ""


def mark_texts(ours: str, theirs: str, size: int) -> Merged:
    """Return two whole texts, such as two memories, between conflict markers."""
    lines = mark_conflict([add_line_end(ours)], [add_line_end(theirs)], size)
    return Merged("".join(lines), "both sides have another memory in this file")


def merge_entry(path: str, base: Text, ours: str, theirs: str, size: int, dates: Dates) -> Merged:
    """Merge the fields of a memory by name, and its text by lines."""
    try:
        old, left, right = (parse_version(text, dates) for text in (base or "", ours, theirs))
        older, newer = sorted((left, right), key=lambda version: version.order)
        lost: Lines = []
        head = merge_heads(old, older, newer, lost)
    except FrontmatterError:
        # "tags: [x" is no YAML. Its lines must not be lost either.
        if size and not base:
            return mark_texts(ours, theirs, size)
        return merge_page(base or "", ours, theirs, size)
    has_two_ids = left.id != right.id and left.id and right.id
    if has_two_ids and size and left.body != right.body:
        return mark_texts(ours, theirs, size)
    if has_two_ids and not size:
        # Two memories in files of the same name. The second one gets a new file.
        first, second = sorted((left, right), key=lambda version: version.id)
        return Merged(first.text, copy=second.text)
    if lost and size:
        head = f"---\n{mark_lines([old.head, left.head, right.head], size)}---\n"
    conflict = "; ".join(lost)

    def resolve(was: Lines, first: Lines, second: Lines) -> Lines:
        nonlocal conflict
        first = add_line_ends(first)
        second = add_line_ends(second)
        # Without a base, each side has a whole text of its own, which is no addition to the other.
        if base and not was:
            return first + second  # both sides added something
        conflict = REWORDED
        return mark_conflict(first, second, size) if size else second

    # `resolve` takes the later side, which therefore comes second.
    first, second = (left, right) if size else (older, newer)
    body = merge_lines(
        add_line_end(old.body), add_line_end(first.body), add_line_end(second.body), resolve
    )
    text = head + (body or "")
    if size or not conflict:
        return Merged(text, conflict)
    fields = frontmatter.parse(text).fields
    copy = build_copy(older, newer.id or older.id or path, fields)
    # Nobody needs to decide about a memory that is not shown.
    is_hidden = fields.get("forgotten_at") or fields.get("superseded_by")
    return Merged(text, "" if is_hidden else conflict, copy)


def parse_version(text: str, dates: Dates = EMPTY) -> Version:
    return Version(text, *frontmatter.parse(text), dates.get(text, ""))


def merge_heads(old: Version, older: Version, newer: Version, lost: Lines) -> str:
    """Return the merged frontmatter, if possible with its comments and order.

    Adds a line to `lost` for each value that both sides changed.
    """
    values = merge_fields(old.fields, older.fields, newer.fields, lost)
    if not values:
        return ""

    def resolve(was: Lines, first: Lines, second: Lines) -> Lines:
        # `changes` below sets all values, so only the comments of the earlier side would be lost.
        comments = []
        for line in first:
            is_new = line not in was and line not in second
            if is_new and line.lstrip().startswith("#"):
                comments.append(line)
        return comments + second

    merged = merge_lines(old.head, older.head, newer.head, resolve) or ""
    # Lines of both sides can be no YAML together, such as half of a list.
    for head in (merged, newer.head):
        text = f"---\n{head}---\n"
        with suppress(FrontmatterError):
            fields = frontmatter.parse(text).fields
            changes = {}
            for name in {**fields, **values}:
                value = values.get(name)
                if fields.get(name) != value:
                    changes[name] = value
            return frontmatter.edit(text, changes)
    # The YAML has anchors or something else that cannot be edited by lines.
    return format_document(values, "").rstrip("\n") + "\n"


def merge_fields(old: Fields, older: Fields, newer: Fields, lost: Lines) -> dict[str, Any]:
    """Return the merged values in the order of the later side."""
    values = {}
    # A dict instead of a set, because a set has no order.
    for name in {**newer, **older}:
        was, left, right = old.get(name), older.get(name), newer.get(name)
        if left in (right, was):
            value = right
        elif right == was:
            value = left
        else:
            # `createdAt` of another tool is `created_at`.
            key = SPELLINGS.get(name.lower(), (name, 0))[0]
            value = merge_value(key, was, left, right, lost)
        if value is not None:
            values[name] = value
    return values


def merge_value(key: str, was: Any, older: Any, newer: Any, lost: Lines) -> Any:
    """Return the value of a key that both sides changed."""
    kept, other = (older, newer) if newer is None else (newer, older)
    if other is None and (key in (*STATE, "created_at", "updated_at") or isinstance(kept, list)):
        return kept
    if key == "created_at":
        return min(older, newer, key=str)
    if key in ("updated_at", "forgotten_at"):
        return max(older, newer, key=str)
    # A merge never undoes a forgetting, for example of a memory that the other machine superseded.
    if key == "status" and "forgotten" in (older, newer):
        return "forgotten"
    if key == "strength" and isinstance(older, int) and isinstance(newer, int):
        # Each side counted its own confirmations.
        return older + newer - (was if isinstance(was, int) else 1)
    if isinstance(older, dict) and isinstance(newer, dict):
        return merge_fields(was if isinstance(was, dict) else {}, older, newer, lost)
    if isinstance(older, list) and isinstance(newer, list):
        return merge_lists(was if isinstance(was, list) else [], older, newer)
    # A vault has statuses of its own.
    is_ours = key == "status" and older in KNOWN_STATUSES and newer in KNOWN_STATUSES
    if key not in AUTOMATIC and not is_ours:
        other = "removed" if other is None else other
        reason = f"both machines changed {key}: {kept} was kept, not {other}"
        lost.append(shorten(reason, SUMMARY_LENGTH))
    return kept


def merge_lists(was: list[Any], older: list[Any], newer: list[Any]) -> list[Any]:
    """Return the items of both sides, without those that one side deleted."""
    items = []
    for item in [*older, *newer]:
        is_deleted = item in was and (item not in older or item not in newer)
        if not is_deleted and item not in items:
            items.append(item)
    return items


def build_copy(version: Version, original_id: str, merged: Fields) -> str:
    """Return a second memory with the text of one side.

    It conflicts with the merged memory. Its id depends on its text alone, so every machine builds
    the same copy.
    """
    # An id begins with its time, so the copy sorts next to the original.
    start = original_id[:-6] if is_id(original_id) else COPY_START
    digest = build_digest(version.text)
    changes = {key: merged.get(key) for key in STATE}
    # A person's own status, such as `draft`, is part of the version.
    if merged.get("status") not in (None, *KNOWN_STATUSES):
        del changes["status"]
    text = edit_entry(version.text, changes)
    # Under these names, because a note can have a `uuid` and a date in `updated` of its own.
    own = {"id": start + digest[:6], "conflicts_with": (original_id,)}
    if version.date and version.date == version.order[0]:
        # Otherwise its new file would date it.
        own["updated_at"] = version.date
    return frontmatter.edit(text, own)


def build_copy_path(path: str, text: str) -> str:
    """Return the path of the original file with the id of the copy, or a digest of its bytes."""
    copy_id = parse_version(text).id if path.endswith(".md") and "\0" not in text else ""
    end = get_id_end(copy_id) or build_digest(text)[:6]
    file = PurePosixPath(path)
    return str(file.with_stem(f"{file.stem}-{end}"))


def add_line_ends(lines: Lines) -> Lines:
    return [add_line_end(line) for line in lines]


def add_line_end(text: str) -> str:
    # Editors leave a last line without an end. The next record would continue that line.
    return text if not text or text.endswith("\n") else f"{text}\n"
