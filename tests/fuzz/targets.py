"""What reads texts that others wrote, each with samples, and what has to hold of it for every text.

A check raises AssertionError where a promise is broken; anything else that it raises is a traceback for a user.
"""

import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from memcli.beliefs import llm_judge
from memcli.consolidation.llm_reply import parse_reply
from memcli.errors import MemError, RefusedError
from memcli.formats import history, links, memory_page, text_lines, unified_diff
from memcli.formats.chunking import entry_chunks, history_chunks, memory_chunks, note_chunks, plain_chunks
from memcli.formats.entry import read_entry
from memcli.formats.entry_merge import merge_entry
from memcli.formats.frontmatter import document
from memcli.formats.ids import parse_time, parse_when
from memcli.formats.ignore_patterns import ignored
from memcli.formats.page_merge import merge_page
from memcli.formats.session_event import parse_event, read_item, read_metadata, render_event, render_metadata
from memcli.formats.three_way import Merged, merge_history, merge_notes, merge_texts
from memcli.language.dates import dated
from memcli.language.keyword_tokens import index_text
from memcli.language.periods import period_in
from memcli.llm.lenient_json import fields_by_pattern, loads_lenient
from memcli.search.grep import Pattern, finder
from memcli.search.query import parse_query
from memcli.store.layouts import MEM
from memcli.store.sessions.event_file import ended
from memcli.store.settings import load_settings, set_in_file
from memcli.transcripts.reader import read_transcript, read_transcripts
from memcli.transfer.export import unpacked
from memcli.transfer.foreign_files import ForeignFiles
from memcli.transfer.foreign_memories import file_from_record

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Target:
    """Something that reads texts."""

    name: str
    check: Callable[..., None]
    seeds: Callable[[], Sequence[str]]
    texts: int = 1  # 3: a text and two that were made of it


def _files(*patterns: str, most: int = 6) -> Callable[[], Sequence[str]]:
    @cache
    def read() -> Sequence[str]:
        found = sorted(path for pattern in patterns for path in ROOT.glob(pattern))
        assert found, patterns
        chosen = found[:: max(1, len(found) // most)][:most]
        return [path.read_text(errors="replace")[:6000] for path in chosen]

    return read


def _given(*texts: str) -> Callable[[], Sequence[str]]:
    return lambda: texts


def entry(text: str) -> None:
    """An entry is read; changing one field changes that field alone."""
    read = document.parse(text)
    found, _ = read_entry(read, "entries/x.md", NOW)
    entry_chunks(text, read.body_start if hasattr(read, "body_start") else 0, found)
    with suppress(MemError):
        new = document.parse(document.edit(text, {"status": "archived"}))
        assert new.fields["status"] == "archived"
        assert new.body.strip() == read.body.strip()
        assert {**new.fields, "status": 0} == {**read.fields, "status": 0}


def month(text: str) -> None:
    """History is read and sorted; sorting keeps every line, and sorting again changes nothing."""
    history.records(text)
    history.merged(history.records(text))
    list(history.unreal_dates(text))
    history_chunks(text, UTC)
    ordered = history.in_order(text)
    assert set(map(str.strip, text.splitlines())) <= set(map(str.strip, ordered.splitlines())) | {""}
    assert history.in_order(ordered) == ordered


def notes(text: str) -> None:
    """Notes are read, and together they are the text; what is written as a note is read back as one."""
    note_chunks(text, "notes/2026-11-21.md", UTC, "")
    found = history.notes(text)
    assert not found or text[found[0].start :] == "".join(text[one.start : one.end] for one in found)
    for note in found[:20]:
        line = history.line_of(note.time or "10:00", text[note.start : note.end])
        assert [one.time for one in history.notes(line)] == [note.time or "10:00"]


def session(text: str) -> None:
    """Lines of a session are read, what is an event is written back the same, what was cut off is ended once."""
    for number, line in enumerate(text.split("\n"), 1):
        read_item(line, number, last=False)
        event = parse_event(line)
        if event is not None:
            again = parse_event(render_event(event))
            assert again is not None
            assert (again.text, again.role, again.type) == (event.text, event.role, event.type)
        whole = ended(line)
        if whole:
            assert parse_event(whole) is not None
            assert ended(whole) is None


def page_of_session(text: str) -> None:
    """The page of a session is read, and read back as written."""
    found = read_metadata(text)
    if found is not None:
        assert read_metadata(render_metadata(found)) == found


def transcript(text: str) -> None:
    """A conversation of another tool is read, or refused in a line."""
    data = text.encode("utf-8", "surrogatepass")
    for name in ("talk.jsonl", "conversations.json", "2026-11-21.md"):
        with suppress(MemError):
            list(read_transcript(BytesIO(data), name).events)
    from memcli.transcripts.transcript_format import TranscriptFile

    with suppress(MemError):
        for one in read_transcripts(TranscriptFile(BytesIO(data)), "conversations.json"):
            list(one.events)


def reply(text: str) -> None:
    """The reply of a model is read, or refused in a line."""
    with suppress(MemError):
        parse_reply(text)
    with suppress(MemError):
        parse_reply(text, "length")
    with suppress(ValueError):
        loads_lenient(text, ("entries", "history_entry"))
    with suppress(MemError):
        llm_judge._rows(text, 3)
    fields_by_pattern(text, ("history_entry", "memory_update"))


def settings(text: str) -> None:
    """A mem.yaml is read, or refused in a line; a setting that is written into it is read back."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "mem.yaml")
        file.write_bytes(text.encode("utf-8", "surrogatepass"))
        with suppress(RefusedError):  # a format of a later mem; all else that is wrong in a clone's file is passed over
            load_settings(Path(folder, "none"), file, {}, is_believed=False)
        with suppress(MemError):
            before = load_settings(Path(folder, "none"), file, {})
            set_in_file(file, "search.limit", 7)
            after = load_settings(Path(folder, "none"), file, {})
            assert after["search.limit"] == 7
            assert {**dict(after.values), "search.limit": 0} == {**dict(before.values), "search.limit": 0}


def query(text: str) -> None:
    """A question is read."""
    parse_query(text)
    period_in(text, date(2026, 11, 21))
    index_text(text)


def pattern(text: str) -> None:
    """A regular expression ends in time, whatever it is."""
    for words in (False, True):
        with suppress(MemError, TimeoutError):
            finder(Pattern(text[:200], words=words, seconds=0.2))("aaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n" * 3)
    finder(Pattern(text[:200], fixed=True))(text)


def page(text: str) -> None:
    """The page is read; taking the promoted lines off it takes nothing else."""
    found = memory_page.read_promoted(text)
    memory_page.sections(text)
    memory_page.blocks(text)
    memory_chunks(text, "")
    with suppress(MemError):
        without = memory_page.with_lines(text, {}, [line.id for line in found.lines])
        kept = set(without.splitlines())
        ours = {line for one in found.lines for line in text[one.start : one.end].splitlines()}
        marks = {line for line in text.splitlines() if "mem:promoted" in line or line.lstrip().startswith("#")}
        assert {line for line in text.splitlines() if line.strip()} <= kept | ours | marks


def markdown(text: str) -> None:
    """Links, tags, citations and dates are found in any text."""
    list(links.links(text))
    links.inline_tags(text)
    list(links.without_code(text))
    plain_chunks(text, "")
    text_lines.summarise("", text)
    text_lines.clean_text(text)
    text_lines.conflict_marker(text)
    memory_page.strip_comments(text)
    dated(text[:2000], date(2026, 11, 21))
    for line in text.splitlines()[:50]:
        links.read_citation(line)
        parse_time(line)
        parse_when(line, NOW)


def patch(text: str) -> None:
    """A patch is applied or refused; one that was made of two texts makes one of the other."""
    with suppress(MemError):
        unified_diff.apply_patch("one\ntwo\nthree\n", text)


def patched(base: str, ours: str, _: str) -> None:
    """What was made of two texts makes the one of the other."""
    assert unified_diff.apply_patch(base, unified_diff.unified(base, ours, "a.md")) == ours


def ignoring(text: str) -> None:
    """Patterns of an ignore file name paths or not."""
    for path in ("entries/a.md", "a", "sessions/x/session.jsonl"):
        ignored(text, path)


def bundle(text: str) -> None:
    """A line of an export is read, or refused in a line."""
    for line in text.split("\n"):
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            if isinstance(row, dict) and "path" in row:
                with suppress(MemError):
                    unpacked(row)


def file_of_another_tool(text: str) -> None:
    """The records in a file of another tool are read, and each becomes an entry, or a line says why not."""
    data = text.encode("utf-8", "surrogatepass")
    for columns in ({}, {"text": "Note"}):
        with suppress(MemError):
            for line in ForeignFiles(columns).lines(BytesIO(data), "theirs"):
                with suppress(MemError, ValueError, RecursionError):
                    if line.record is not None and "path" not in line.record:
                        file_from_record(line.record, MEM, NOW, UTC, NOW)


Merge = Callable[[str, str, str], Merged]


def merging(merge: Merge, keeps: Callable[[str], set[str]] | None = None) -> Callable[[str, str, str], None]:
    """Make the check of a merge: one side alone is taken as it is, and what `keeps` names is in the result."""

    def check(base: str, ours: str, theirs: str) -> None:
        assert merge(base, ours, ours) == Merged(ours)
        assert merge(base, ours, base) == Merged(ours)
        assert merge(base, base, theirs) == Merged(theirs)
        merged = merge(base, ours, theirs).text
        if keeps is not None:
            lost = (keeps(ours) | keeps(theirs)) - keeps(merged) - keeps(base)
            assert not lost, lost
        assert merge(base, ours, theirs).text == merged

    return check


def _lines(text: str) -> set[str]:
    return {" ".join(line.split()) for line in re.split(r"[\r\n]", text.replace("\ufeff", "")) if line.strip()}


ENTRIES = _files("fixtures/workspace/entries/**/*.md", "fixtures/layouts/**/*.md", most=14)
HISTORIES = _files("fixtures/workspace/HISTORY-*.md", most=4)
NOTES = _files("fixtures/workspace/notes/*.md", most=4)
PAGES = _given(
    "# Memory\n\n<!-- mem:promoted -->\n## Project\n\n- The standup is at nine <!-- mem_01a 3b0efe -->\n"
    "<!-- /mem:promoted -->\n\n## By hand\n\n- Ships on Mondays\n\n<!-- mem:keep -->\nkept\n<!-- /mem:keep -->\n",
    *_files("fixtures/workspace/MEMORY.md")(),
)
SESSIONS = _files("fixtures/workspace/sessions/*/session.jsonl", most=3)
REPLIES = _given(
    '{"history_entry": "[2026-11-21 10:00] They met.", "memory_update": "# Memory\\n", "entries": []}',
    '```json\n{"entries": [{"type": "fact", "text": "It is blue", "sources": [1, 2], "confidence": 0.9}]}\n```',
    '<think>hm</think> {"verdicts": [{"pair": 1, "kind": "same", "sure": true, "old_says_more": false}]}',
    "{'history_entry': 'single quotes', 'entries': [{'text': 'trailing',},],}",
)
QUERIES = _given(
    "what was decided about the port last week?", '"exact phrase" AND deploy OR NEAR(a b)', "中文 の テスト", "a" * 50
)
PATCHES = _given("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", "@@ -0,0 +1 @@\n+new\n")
SETTINGS = _given(
    "# ours\nsearch:\n  limit: 8\n  kinds: [entry, history]\ntimezone: Europe/Lisbon\ndecay.days.fact: 30\n",
    "format: 1\nlayout: mem\npaths:\n  notes: 'log/{date}.md'\n",
    *_files("fixtures/workspace/mem.yaml")(),
)
BUNDLE = _given(
    '{"kind": "entry", "path": "entries/a.md", "text": "---\\nid: mem_a\\n---\\n\\nA\\n"}\n',
    '{"kind": "note", "path": "notes/2026-01-01.md", "text": "[10:00] N\\n", "mode": 420}\n{"data": "AAA="}\n',
)

OTHERS = _given(
    '[{"results": [{"id": "a", "memory": "A", "user_id": "u", "categories": ["c"], "created_at": 1767225600}],'
    ' "relations": [{"source": "a", "relationship": "b", "target": "c"}]}]',
    '[{"memory_id": "m", "event": "UPDATE", "old_memory": "A", "new_memory": "B", "updated_at": "Nov 27, 2026"},'
    ' {"memory_id": "m", "event": "DELETE", "old_memory": "B", "is_deleted": 1, "created_at": "2026-01-01"}]',
    '{"apps": [{"id": "a", "name": "x"}], "categories": [{"id": "c", "name": "y"}], "memories": [{"id": "m",'
    ' "content": "A", "state": "deleted", "app_id": "a", "category_ids": ["c"]}]}',
    '{"conversations_memory": "**Work**\\n\\nA", "project_memories": {"p": "B"}, "account_uuid": "u",'
    ' "memory_files": [{"path": "/a.md", "content": "C", "updated_at": "2026-01-01T00:00:00.5Z"}]}',
    '[{"uuid": "p", "name": "Garden", "description": "", "prompt_template": "A", "created_at": "2026-01-01"}]',
    '[{"id": "c", "update_time": 1767225600.5, "mapping": {"n": {"id": "n", "message": {"id": "n", "recipient": "bio",'
    ' "content": {"parts": ["A"], "model_set_context": "1. [2025-05-02]. B"}}}}}]',
    '{"type":"entity","name":"T","entityType":"p","observations":["x"]}\n'
    '{"type":"relation","from":"T","to":"L","relationType":"works_for"}\n',
    "---\ntitle: T\npermalink: a/b\ntags: [x]\ncreated: 2026-01-01\n---\n\n- [fact] A #b (c)\n- is [[D]]\n",
    "---\nname: n\ntype: feedback\nscope: here\ndescription: D\nsource:\n  cwd: /a/b\n---\nA\n",
    'Id;Note;Labels;Created At\n1;"A; b";x, y;27.11.2026\n2;B;;\n',
)

TARGETS = (
    Target("entry", entry, ENTRIES),
    Target("history", month, HISTORIES),
    Target("notes", notes, NOTES),
    Target("session", session, SESSIONS),
    Target("session page", page_of_session, _files("fixtures/workspace/sessions/*/metadata.json", most=3)),
    Target("transcript", transcript, _files("tests/transcripts/data/*.json*", "tests/formats/*.jsonl", most=8)),
    Target("reply", reply, REPLIES),
    Target("settings", settings, SETTINGS),
    Target("query", query, QUERIES),
    Target("pattern", pattern, _given(r"(a+)+$", r"^\s*- \[( |x)\]", r"(?P<a>b)\1{2,}", "[^a")),
    Target("page", page, PAGES),
    Target("markdown", markdown, lambda: [*ENTRIES(), *PAGES(), *NOTES()]),
    Target("patch", patch, PATCHES),
    Target("patched", patched, ENTRIES, 3),
    Target("ignore file", ignoring, _given("*.md\n!a.md\n/x/**/y\n[a-z]*\n", "\\#a\n**/\n a \\ \n")),
    Target("bundle", bundle, BUNDLE),
    Target("file of another tool", file_of_another_tool, OTHERS),
    Target("merge of lines", merging(merge_texts, _lines), PAGES, 3),
    Target("merge of entries", merging(merge_entry), ENTRIES, 3),
    Target("merge of history", merging(merge_history, _lines), HISTORIES, 3),
    Target("merge of notes", merging(merge_notes, _lines), NOTES, 3),
    Target("merge of pages", merging(merge_page), PAGES, 3),
)
