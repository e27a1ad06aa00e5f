"""What a person reads in a terminal fits it, ids are whole, and nothing is told by colour alone."""

import io
import re
import subprocess
import sys
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from memcli.cli.app import run
from tests.conftest import Mem
from tests.stage import Stage

LONG = "The harbour crane, which the night shift oiled twice, lifts 12.5 tonnes only while the eastern gate is open"
TEXTS = {
    "mem_01kh5zpjgkbz6vpb": ("preference", f"{LONG}; ask mem_01kh5zpjgkbz7aaa."),
    "mem_01kh5zpjgkbz7aaa": ("fact", "港のクレーンは東門が開いている間だけ十二トン半を持ち上げると夜勤の人が言う。"),
    "mem_01kh5zpjgkbz8bbb": ("lesson", "🏗️ the crane 👷‍♀️👷🏽 needs ☕️ before 🌙 shifts, and 🇳🇴 papers from a 🗄️"),
    "mem_01kh5zpjgkbz9ccc": ("procedure", "Ünïcödé crane steps: wärm ït üp, löök left, löök right, lïft slöwly, rest"),
}  # fmt: skip
TALK = "019a8f3e-7c1b-4d2a-9b5e-0123456789ab"
COMMANDS = [
    "ls",
    "ls --status archived",
    "search crane --mode keyword",
    "search crane --mode keyword --explain",
    "read --key harbour/crane --history",
    f"read {next(iter(TEXTS))} --history",
    "review",
    "review --limit 1",
    "decay",
    "decay --all",
    "decay --all --as-of 2031-01",
    "dedup",
    "stats",
    "check",
    "config list",
    "config set search.limit 8",
    "session ls",
    f"session stats {TALK}",
    "session rollup --all",
    "undo --list",
    "index --status",
    "sync --dry-run",
    "hook status",
    "hook install claude-code",
    "promote --auto",
    "promote mem_01kh5zpjgkbz9ccc",
    "diff HEAD",
    "import crane.jsonl --dry-run",
    "forget mem_01kh5zpjgkbz9ccc",
    "supersede mem_01kh5zpjgkbz9ccc mem_01kh5zpjgkbz8bbb",
    "trust",
    "tend",
]
ONCE = {"forget", "hook", "promote", "read", "supersede", "tend"}
"""They say something else when they are run again; what fits the narrow terminal is laid out as in the wide one."""
IDS = re.compile(rf"mem_[0-9a-z]{{16}}|{TALK}")
COLOUR = re.compile(r"\x1b\[\d*m")


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def columns_of(line: str) -> int:
    """Return how many columns a line takes, counted otherwise than the program does: by what is drawn together."""
    clusters = re.findall(r".[\u0300-\u036f\ufe0f\u200d\U0001f3fb-\U0001f3ff]*", line)
    wide = [unicodedata.east_asian_width(cluster[0]) in "WF" or "\ufe0f" in cluster for cluster in clusters]
    return len(clusters) + sum(wide)


def shown(monkeypatch: pytest.MonkeyPatch, words: str, columns: int, *, colour: bool = False) -> str:
    """Return what a command prints in a terminal so wide."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm" if colour else "dumb")
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    out, err = Terminal(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run(words.split())
    assert code in (0, 1, 3), err.getvalue()
    return out.getvalue()


@pytest.fixture(autouse=True)
def world(world: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where all tests of this module do."""
    return stage.enter(monkeypatch)


@pytest.fixture
def scene(mem: Mem, world: Path, stage: Stage) -> Path:
    """Stand in a workspace with long titles, two scripts and pictures; return the folder."""
    stage.furnished(lambda: furnish(mem, world))
    return world


def furnish(mem: Mem, world: Path) -> None:
    assert mem("init").code == 0
    folder = world / "memory" / "entries" / "a-folder-with-quite-a-long-name" / "2026-11"
    folder.mkdir(parents=True)
    for identifier, (kind, text) in TEXTS.items():
        tag = "tags: [a-tag-that-is-much-longer-than-others, 港湾]"
        fields = f"id: {identifier}\ntype: {kind}\n{tag}\ncreated_at: 2026-09-01T10:00:00Z\n"
        (folder / f"{identifier}.md").write_text(f"---\n{fields}---\n\n{text}\n")
    for source, value in (("user", "east"), ("observed", "west")):
        words = ("--key", "harbour/crane", "--source", source)
        assert mem("write", f"The crane of the outer harbour faces {value}.", *words).code == 0
    gone = mem("write", "A crane is a bird with long legs and a longer neck than most.", "--no-dedup", "--json").json
    assert mem("forget", gone["id"]).code == 0
    (folder / "twice.md").write_text(f"---\nid: {next(iter(TEXTS))}\n---\n\nThe crane again.\n")
    assert mem("session", "append", "--session", TALK, "--text", "Is the crane free?").code == 0
    (world / "crane.jsonl").write_text('{"content": "The crane of the inner harbour faces north."}\n')
    for step in ("init -q -b main .", "config user.name Kai", "config user.email kai@example.org", "add memory"):
        subprocess.run(["git", *step.split()], cwd=world, check=True)
    subprocess.run(["git", "commit", "-q", "-m", "one"], cwd=world, check=True)
    (folder / "new.md").write_text(f"---\nid: mem_01kh5zpjgkbzaddd\n---\n\n{LONG}, and at low tide.\n")


@pytest.mark.parametrize("words", COMMANDS)
def test_each_line_fits_the_terminal_and_ids_are_whole(
    scene: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    for columns in (40,) if words.partition(" ")[0] in ONCE else (80, 40):
        for line in shown(monkeypatch, words, columns).splitlines():
            is_one_word = len(re.findall(r"`[^`]*`\S*|\S+", line)) == 1  # a path, or a command to copy
            assert columns_of(line) <= columns or is_one_word, line
            for word in re.findall(r"(?:mem_0|019a)[^\s`;:,.)/#'…]*", line):
                assert IDS.fullmatch(word), line


def test_each_memory_that_fades_is_told_in_one_line(scene: Path, monkeypatch: pytest.MonkeyPatch, mem: Mem) -> None:
    mem("write", "The crane is painted red.", "--no-dedup", "--pinned")
    mem("write", "The kiln is lent to Ana.", "--no-dedup", "--expires-at", "2027-06-01")
    rows = [line for line in shown(monkeypatch, "decay --all --as-of 2031-01", 80).splitlines() if "  mem_" in line]
    assert len(rows) == len(mem("decay", "--as-of", "2031-01", "--json").json["entries"])
    decided = [row.split()[3] for row in rows]
    assert {word for word in decided if not word.startswith(("0.", "1."))} == {"expired", "pinned"}
    assert {row.split()[2] for row in rows} <= {f"{days}d" for days in range(1400, 1700)}


@pytest.mark.parametrize("words", ["ls", "search crane --mode keyword", "stats", "decay --all", "diff HEAD"])
def test_without_colour_the_same_is_told(scene: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    shown(monkeypatch, words, 80)  # makes the index, of whose size `mem stats` tells
    coloured = shown(monkeypatch, words, 80, colour=True)
    assert COLOUR.search(coloured) or words == "decay --all"
    assert COLOUR.sub("", coloured) == shown(monkeypatch, words, 80)
