"""Read a file for the index, through the gate.

The gate masks secrets and hides the texts that a workspace must not show: forgotten here, or purged
on this machine. It is the only way from a file to search results, and to the output of `mem read`
and `mem grep`, because editors, agents' file tools and git write files without asking the writer.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from stat import S_ISREG

from ..formats import (
    FIELDS,
    HIDDEN_MARK,
    SHORT,
    TRUST,
    WORD,
    Chunk,
    Entry,
    Message,
    Passage,
    PassageFinder,
    Problem,
    build_digest,
    decode,
    distrust_entry,
    find_conflict_line,
    find_day_in_name,
    find_promoted_lines,
    find_strings,
    find_words,
    format_time,
    frontmatter,
    get_content,
    is_binary,
    is_whole_line,
    normalize,
    parse_messages,
    parse_time,
    read_entry,
    read_file_time,
    replace_passages,
    replace_promoted_line,
)
from ..formats import chunks as cutting
from ..secrets import redact, scan
from ..store import (
    Machine,
    Workspace,
    find_day,
    find_tags,
    find_title,
    has_secret_name,
    read_daily_settings,
    render_canvas,
)
from .database import PURGED_TEXTS, Database
from .scan import Stat, get_stat

# A purged text is looked for from the start of a sentence on: a digest per word would be slow.
SENTENCE_START = re.compile(r"(?:\A|[]\n.!?:|>])[^\w\n]*\Z")
LARGEST = 8 * 1024 * 1024  # bytes that are indexed of a file
TRIES = 3
SECRET_NAME = "its name contains a secret: rename the file"
SOURCE_KEYS = ("source", *FIELDS["source"].spellings, "trust")
# A short answer means little without the end of the turn before, so both are embedded together.
SHORT_TURN = 250
PREVIOUS_TURN = 300


class ForgottenTexts:
    """Finds passages that repeat a forgotten or purged memory."""

    def __init__(
        self, texts: Mapping[str, str], machine: Machine, purged_ids: frozenset[str] = frozenset()
    ) -> None:
        self.finder = PassageFinder(texts)
        self.ids = frozenset(texts) | purged_ids
        self.machine = machine
        self.purged_ids = purged_ids
        # Each line is a number of words and the keyed digest of these words.
        self.purged = [
            (int(count), digest)
            for count, _, digest in (line.partition(":") for line in machine.read_purged_digests())
            if count.isdecimal()
        ]

    def build_signature(self) -> str:
        """Return a digest that changes with the texts to hide."""
        parts = (
            sorted(self.finder.by_first_word.items()),
            sorted(self.purged),
            sorted(self.purged_ids),
        )
        return build_digest(repr(parts))

    def find_repeats(self, text: str) -> list[Passage]:
        """Return the passages of a normalized text that repeat a forgotten memory, in order."""
        return sorted([*self.finder.find(text), *self.find_purged(text)])

    def find_purged(self, text: str) -> Iterable[Passage]:
        """Yield the passages whose digest is that of a purged text."""
        places = find_words(text) if self.purged else []
        for number, (start, _, _) in enumerate(places):
            if not SENTENCE_START.search(text, max(0, start - 8), start):
                continue
            for count, digest in self.purged:
                words = [word for _, _, word in places[number : number + count]]
                if len(words) == count and self.machine.build_digest(words) == digest:
                    end = places[number + count - 1][1]
                    if count >= SHORT or is_whole_line(text, start, end):
                        yield Passage(start, end, "")

    def hide(self, text: str) -> tuple[str, int]:
        """Return a text with `[forgotten]` for each repeated passage, and their number."""
        normal = normalize(text)
        repeats = self.find_repeats(normal)
        if not repeats:
            return text, 0
        return replace_passages(normal, repeats, HIDDEN_MARK), len(repeats)


def load_forgotten(database: Database, workspace: Workspace) -> ForgottenTexts:
    """Return the texts of the forgotten memories, as far as the index knows them."""
    rows = database.run(
        "select id, text from entries join texts using(file) join files using(file)"
        " where status = 'forgotten' and hidden = 0"
    ).fetchall()
    texts = {entry_id: get_content(text) for entry_id, text in rows}
    texts |= json.loads(database.get_meta(PURGED_TEXTS) or "{}")
    return ForgottenTexts(texts, workspace.machine, workspace.read_purged_ids())


@dataclass
class ParsedFile:
    """A file as the index stores it."""

    path: str
    kind: str
    stat: Stat
    digest: str
    text: str = ""  # masked; of a session, one line per line of the file
    chunks: list[Chunk] = field(default_factory=list)
    entry: Entry | None = None
    fields: dict[str, object] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    masked: int = 0  # secrets
    hidden: int = 0  # passages


def read_bytes(workspace: Workspace, path: str) -> tuple[bytes, Stat]:
    """Read a file that somebody may be writing.

    Returns a stat of zeros if it changed during each try, so that the next refresh reads it again.
    """
    for _ in range(TRIES):
        # A pipe would block the command forever, and a link could lead out of the workspace.
        descriptor = os.open(
            f"{workspace.root}/{path}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
        )
        with open(descriptor, "rb") as file:
            before = os.fstat(descriptor)
            if not S_ISREG(before.st_mode):
                raise OSError(0, "not a regular file")
            # One byte more shows that a file is too large.
            data = file.read(min(before.st_size, LARGEST) + 1)
            if get_stat(os.fstat(descriptor)) == get_stat(before):
                return data, get_stat(before)
    return data, (0, 0, 0, 0)


def parse_file(
    workspace: Workspace, path: str, data: bytes, stat: Stat, forgotten: ForgottenTexts
) -> ParsedFile:
    """Parse the bytes of a file and pass its text through the gate. Bad content raises nothing."""
    parsed = ParsedFile(path, workspace.get_kind(path), stat, build_digest(data))
    if has_secret_name(path):
        # The name is part of every hit and list, and a masked one would lead to no file.
        parsed.problems.append(Problem(1, SECRET_NAME, "unread"))
        return parsed
    if len(data) > LARGEST:
        parsed.problems.append(
            Problem(1, f"larger than {LARGEST >> 20} MiB: only its beginning is searched")
        )
        data = data[:LARGEST]
    text, bad_bytes = decode(data)
    if bad_bytes:
        parsed.problems.append(bad_bytes)
    if is_binary(text):
        parsed.problems = [Problem(1, "not a text file: move it to another folder")]
        return parsed
    text = text.replace("\x00", " ")  # SQLite ends a text there
    conflict = find_conflict_line(text)
    # Both sides of the conflict would be found as if they were true.
    if conflict is not None:
        parsed.problems.append(
            Problem(conflict, "a git conflict marker: resolve the conflict first", "conflict")
        )
        return parsed
    modified = format_time(read_file_time(stat[0]))
    if path.endswith(".canvas"):
        text = render_canvas(text)
    if parsed.kind == "session":
        read_session(workspace, parsed, text, forgotten)
        return parsed
    if parsed.kind == "entry":
        read_entry_file(workspace, parsed, text, forgotten)
        return parsed
    if parsed.kind == "memory":
        # A promoted line may word its memory differently, so its id decides.
        for entry_id in find_promoted_lines(text):
            if entry_id in forgotten.ids:
                text = replace_promoted_line(text, entry_id, HIDDEN_MARK, even_protected=True)
                parsed.hidden += 1
    parsed.text = pass_gate(workspace, parsed, text, forgotten)
    if parsed.kind == "memory":
        parsed.chunks = cutting.cut_page(parsed.text, modified)
    elif parsed.kind == "history":
        parsed.chunks = cutting.cut_history(parsed.text)
    elif parsed.kind == "note":
        day = parse_time(find_day_in_name(path), workspace.zone)
        timestamp = format_time(day) if day else modified
        parsed.chunks = cutting.cut_notes(parsed.text, path, workspace.zone, timestamp)
    else:
        parsed.chunks = cutting.cut_plain(parsed.text, modified)
    return parsed


def pass_gate(
    workspace: Workspace,
    parsed: ParsedFile,
    text: str,
    forgotten: ForgottenTexts,
    line: int = 0,
) -> str:
    """Return a text without embedded data, secrets and forgotten passages.

    If the text is a single line of the file, `line` is its number, for the problems.
    """
    text, hidden = forgotten.hide(cutting.remove_embedded_data(text))
    parsed.hidden += hidden
    # mem wrote the history and the conversations before, so a person has nothing to do.
    if hidden and parsed.kind not in ("session", "history"):
        reason = "repeats a forgotten memory: hidden in every output"
        parsed.problems.append(Problem(line or 1, reason, "forgotten"))
    findings = scan(text, personal=workspace.settings["secrets.personal"])
    parsed.masked += len(findings)
    for finding in findings:
        reason = f"{finding.description} ({finding.rule}): masked in every output"
        parsed.problems.append(Problem(line or finding.line, reason, "secret"))
    return redact(text, findings) if findings else text


def read_entry_file(
    workspace: Workspace, parsed: ParsedFile, text: str, forgotten: ForgottenTexts
) -> None:
    modified = read_file_time(parsed.stat[0]).astimezone(workspace.zone)
    if workspace.is_vault:
        days = workspace.resources.get("daily notes") or read_daily_settings(workspace.root)
        modified = find_day(days, parsed.path, workspace.zone) or modified
    try:
        document = frontmatter.parse(text)
        problem = None
    except frontmatter.FrontmatterError as error:
        # Searched as plain text, reported by `mem check`, and never rewritten.
        problem = Problem(error.line, error.reason)
        document = frontmatter.Document("", {}, text)
    is_note = not workspace.is_managed(parsed.path)
    entry, wrong_values = read_entry(document, parsed.path, modified, is_note=is_note)
    if problem is not None:
        parsed.problems.append(problem)
    elif not is_note:
        parsed.problems += wrong_values
    # The id of a note may be its path, which its user may give to another note.
    if entry.id in forgotten.purged_ids and entry.id != parsed.path:
        end = "mem tend deletes it" if workspace.is_trusted else "mem trust deletes it"
        parsed.problems = [Problem(1, f"was purged: {end}", "purged")]
        parsed.hidden = 1  # it is read again if another purge, or none, is received
        return
    if not workspace.is_trusted:
        entry = distrust_entry(entry)
    if entry.status == "forgotten":
        # The text of a forgotten memory does not hide itself.
        forgotten = ForgottenTexts({}, workspace.machine)
    gated = pass_gate(workspace, parsed, text, forgotten)
    # What was masked must not survive in the fields either.
    if gated != text:
        try:
            document = frontmatter.parse(gated)
            masked, _ = read_entry(document, parsed.path, modified, is_note=is_note)
            entry = masked if workspace.is_trusted else distrust_entry(masked)
        except frontmatter.FrontmatterError:
            document = frontmatter.Document("", {}, gated)
            entry = Entry(
                parsed.path, gated, created_at=entry.created_at, updated_at=entry.updated_at
            )
    # `"M\xFCller"` in a double-quoted value says the same as `Müller`.
    decoded = "\n".join(find_strings(document.fields)) if "\\" in document.head else ""
    if pass_gate(workspace, parsed, decoded, forgotten) != decoded:
        gated = "\n" * text.count("\n", 0, len(gated) - len(document.body)) + document.body
        document = frontmatter.Document("", {}, gated)
        entry = Entry(entry.id, gated, created_at=entry.created_at, updated_at=entry.updated_at)
    if parsed.hidden and not WORD.search(document.body.replace(HIDDEN_MARK, "")):
        # Nothing else is left of it, so it is forgotten too.
        entry = replace(entry, status="forgotten")
    if is_note:
        entry = complete_note(workspace, entry, parsed.path, document)
    parsed.text = gated
    parsed.entry = entry
    parsed.fields = document.fields
    parsed.chunks = cutting.cut_entry(gated, len(gated) - len(document.body), entry)


def complete_note(
    workspace: Workspace, entry: Entry, path: str, document: frontmatter.Document
) -> Entry:
    """Return the entry of a note with the tags and the title that Obsidian finds for it."""
    tags = tuple(dict.fromkeys([*entry.tags, *find_tags(document.body)]))
    entry = replace(entry, tags=tags, title=entry.title or find_title(document.body, path))
    # People write the notes of a vault, but not those of Claude Code.
    is_own = workspace.is_trusted and workspace.settings["layout"] == "vault"
    if is_own and not any(name.lower() in SOURCE_KEYS for name in document.fields):
        entry = replace(entry, source="user", trust=TRUST["user"])
    return entry


def read_session(
    workspace: Workspace, parsed: ParsedFile, text: str, forgotten: ForgottenTexts
) -> None:
    """Read the messages of a conversation, each as a line of the stored text."""
    # As many lines as the file has, so that a hit can name its line.
    lines = [""] * (text.count("\n") + 1)
    messages: list[Message] = []
    for item in parse_messages(text):
        if isinstance(item, Problem):
            parsed.problems.append(item)
            continue
        names = (item.speaker, item.id)
        speaker, id_ = (
            name
            if name in ("user", "assistant", "")
            else pass_gate(workspace, parsed, name, forgotten, item.line)
            for name in names
        )
        item = item._replace(speaker=speaker, id=id_)
        said = pass_gate(workspace, parsed, item.text, forgotten, item.line)
        lines[item.line - 1] = f"{item.speaker}: {' '.join(said.splitlines())}"
        messages.append(item)
    parsed.text = "\n".join(lines)
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    previous: Message | None = None
    for message in messages:
        start, end = starts[message.line - 1], starts[message.line] - 1
        prefix = ""
        # A long turn says by itself what it is about.
        if previous and previous.speaker != message.speaker and end - start < SHORT_TURN:
            prefix = lines[previous.line - 1][-PREVIOUS_TURN:] + "\n"
        for first, last in cutting.split_windows(parsed.text, start, end):
            parsed.chunks.append(
                Chunk(
                    first,
                    last,
                    message.line,
                    message.id,
                    message.speaker,
                    message.timestamp,
                    prefix,
                )
            )
        previous = message
