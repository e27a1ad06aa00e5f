"""No text makes a reader raise an unexpected error or run for long, and some promises hold for every text.

`MEM_FUZZ=5000 pytest tests/fuzz` tries more texts and saves what it finds in tests/corpora, where it
is tried first from then on.
"""

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings

from memcli.errors import UsageError
from memcli.formats import frontmatter
from memcli.formats.dates import parse_period
from memcli.formats.entry import edit_entry, read_entry
from memcli.formats.ids import build_slug
from memcli.formats.merge import merge_lines
from memcli.formats.page import replace_promoted_line
from memcli.index.filters import build_filter
from memcli.index.reader import ForgottenTexts, parse_file
from memcli.index.words import build_index_text, split_query
from memcli.search.search import build_snippet
from memcli.secrets import redact, scan
from memcli.store.settings import edit_settings_text, parse_setting
from memcli.store.workspace import Workspace
from tests.fuzz.mutations import make_branches, make_near_text
from tests.helpers import make_workspace

CORPORA = Path(__file__).parents[1] / "corpora"
FIXTURES = Path(__file__).parents[2] / "fixtures" / "workspace"
EXAMPLES = int(os.environ.get("MEM_FUZZ", "40"))
SECONDS = 5.0  # of the processor, for a text of at most 60,000 characters
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
SESSION = '{"role": "user", "content": "Use tabs."}\n{"type": "tool_call", "name": "Bash", "content": "ls"}\n'
SETTINGS = (
    "# mine\ntimezone: Europe/Lisbon  # home\nsearch.limit: 5\nindex:\n  include: [docs, wiki]\n"
)


@cache
def get_workspace() -> Workspace:
    return make_workspace(Path(tempfile.mkdtemp(prefix="mem-fuzz-")))


def read_as(path: str) -> Callable[..., None]:
    """Return a check that reads a text as the file of a path, through the gate."""

    def check(text: str) -> None:
        workspace = get_workspace()
        forgotten = ForgottenTexts({"mem_1": "User prefers dark mode."}, workspace.machine)
        data = text.encode("utf-8", "surrogatepass")
        reading = parse_file(
            workspace, path, data, (NOW.timestamp().__trunc__() * 10**9, 0, 0, 0), forgotten
        )
        for chunk in reading.chunks:
            assert 0 <= chunk.start <= chunk.stop <= len(reading.text)
            assert chunk.line >= 1
        assert scan(reading.text) == []

    return check


def check_edit(text: str) -> None:
    """An edit changes its keys and nothing else, or is refused."""
    try:
        before = frontmatter.parse(text)
        after = frontmatter.parse(edit_entry(text, {"status": "forgotten", "reason": 'a: "b" #c'}))
    except frontmatter.FrontmatterError:
        return
    changed = {"status", "state", "reason"}
    for name, value in before.fields.items():
        if name.lower() not in changed:
            assert after.fields[name] == value or value != value
    assert after.body.strip() == before.body.strip() or not before.head
    read_entry(before, "entries/a.md", NOW)


def check_merge(base: str, ours: str, theirs: str) -> None:
    """A merge contains every line that a side added, and is the same from both sides."""
    merged = merge_lines(base, ours, theirs)
    assert merge_lines(base, base, theirs) == theirs
    assert merge_lines(base, ours, base) == ours
    if merged is not None:
        known = set(base.splitlines())
        for line in [*ours.splitlines(), *theirs.splitlines()]:
            assert line in known or line in merged


def check_settings(text: str) -> None:
    try:
        edited = edit_settings_text(text, "search.limit", 7)
    except UsageError:
        return
    assert "search.limit: 7" in edited


def check_text(text: str) -> None:
    """Functions that take any text."""
    findings = scan(text)
    assert scan(redact(text, findings)) == []
    build_index_text(text)
    split_query(text)
    build_slug(text).encode()
    build_snippet(text, text.split()[:5])
    parse_period(text[:40], NOW)
    replace_promoted_line(text, "mem_01kajd3v7m4kq7tz", None)
    for check in (
        lambda: build_filter(get_workspace(), since=text[:40]),
        lambda: parse_setting("timezone", text[:40]),
    ):
        try:
            check()
        except UsageError:
            pass


class Target(NamedTuple):
    """A function to fuzz, and samples of what it reads."""

    check: Callable[..., None]
    seeds: Callable[[], list[str]]
    texts: int = 1


def read_fixtures(pattern: str, limit: int = 12) -> list[str]:
    files = sorted(FIXTURES.glob(pattern))
    return [
        file.read_bytes().decode("utf-8", "replace")
        for file in files[:: max(1, len(files) // limit)]
    ]


TARGETS = {
    "entry": Target(read_as("entries/a.md"), lambda: read_fixtures("entries/*/*.md")),
    "memory": Target(read_as("MEMORY.md"), lambda: read_fixtures("MEMORY.md")),
    "history": Target(read_as("HISTORY-2026-11.md"), lambda: read_fixtures("HISTORY*.md")),
    "note": Target(read_as("notes/2026-11-28.md"), lambda: read_fixtures("notes/*.md")),
    "session": Target(read_as("sessions/s/session.jsonl"), lambda: [SESSION]),
    "edit": Target(check_edit, lambda: read_fixtures("entries/*/*.md")),
    "merge": Target(check_merge, lambda: read_fixtures("notes/*.md"), 3),
    "settings": Target(check_settings, lambda: [SETTINGS]),
    "text": Target(check_text, lambda: read_fixtures("notes/*.md")),
}


def run_check(target: Target, *texts: str) -> None:
    began = time.process_time()
    target.check(*texts)
    assert time.process_time() - began < SECONDS


@pytest.mark.parametrize(
    "path", sorted(CORPORA.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_a_text_that_broke_a_reader_once(path: Path) -> None:
    run_check(TARGETS[path.parent.name], *json.loads(path.read_text()))


@pytest.mark.parametrize("name", TARGETS)
def test_every_text_is_read_or_refused(name: str) -> None:
    target = TARGETS[name]
    seeds = target.seeds()
    texts = (
        make_branches(seeds)
        if target.texts == 3
        else make_near_text(seeds).map(lambda text: (text,))
    )

    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck),
        derandomize=EXAMPLES <= 40,
        deadline=None,
    )
    @given(texts)
    def check_all(texts: tuple[str, ...]) -> None:
        try:
            run_check(target, *texts)
        except BaseException:
            if "MEM_FUZZ" in os.environ:
                save_finding(name, texts)
            raise

    check_all()


def save_finding(name: str, texts: tuple[str, ...]) -> None:
    """Save a text that broke a reader. Hypothesis shrinks it, so the last one is the smallest."""
    folder = CORPORA / name
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("new-*.json"):
        old.unlink()
    data = json.dumps(texts, indent=1)
    (folder / f"new-{hashlib.sha256(data.encode()).hexdigest()[:8]}.json").write_text(f"{data}\n")


def test_a_word_of_a_million_letters_is_read_once() -> None:
    # Reading it again from each of its letters would take hours.
    word = "x" * 1_000_000
    assert split_query(word) == {word: 1}
    assert build_index_text(word) == word
