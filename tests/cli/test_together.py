"""Many commands at once, and commands killed in the middle: no memory is lost, torn or unfindable."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from threading import Thread

import pytest

from memcli.api.edit import replace_words
from memcli.api.find import list_entries
from memcli.api.workspace import open_workspace
from memcli.api.write import NewEntry, write
from memcli.formats.frontmatter import document as frontmatter
from tests import processes
from tests.conftest import Mem
from tests.sample import IS_LONG


def test_writes_at_once_are_as_many_memories_and_all_are_found(mem: Mem, workspace: Path) -> None:
    count = 20 if IS_LONG else 10
    script = f"""
    for number in $(seq {count}); do
        "$PYTHON" -m memcli write "quagga of the same words" --title "number$number" &
    done
    wait
    """
    environ = {key: value for key, value in os.environ.items() if key != "MEM_SEED"} | {"PYTHON": sys.executable}
    done = subprocess.run(["sh", "-c", script], env=environ, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    identifiers = [line.split("\t")[1] for line in done.stdout.splitlines()]
    assert len(set(identifiers)) == count
    assert len(list((workspace / "entries").rglob("*.md"))) == count
    hits = mem("search", "quagga", "-n", "50", "--mode", "keyword", "--json").json["hits"]
    assert sorted(hit["id"] for hit in hits) == sorted(identifiers)
    for number in range(1, count + 1):
        assert (
            mem("search", f"number{number}", "--mode", "keyword", "--json").json["hits"][0]["title"]
            == f"number{number}"
        )


KILLED = """
import contextlib, io, os, random, signal, sys, time
from memcli.cli.app import run

os.environ.pop("MEM_SEED", None)
os.chdir(sys.argv[1])
sink = io.StringIO()
for seed in range(int(sys.argv[2])):
    started, child_end = os.pipe()
    child = os.fork()
    if child == 0:
        with contextlib.redirect_stdout(sink), contextlib.redirect_stderr(sink):
            for number in range(10_000):
                run(["write", f"begin {seed} {number} " + "word " * 4000 + f"end {seed} {number}", "--title", "t: 1"])
                os.write(child_end, b"x")
        os._exit(9)
    os.read(started, 1)
    time.sleep(random.Random(seed).uniform(0.0, 0.05))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL, "it ended by itself"
    os.close(started), os.close(child_end)
"""


def test_writes_killed_at_any_moment_leave_whole_memories_only(mem: Mem, workspace: Path) -> None:
    kills = 40 if IS_LONG else 12
    ended = processes.run(KILLED, workspace.parent, kills)
    assert (ended.code, ended.out, ended.err) == (0, "", "")
    paths = sorted((workspace / "entries").rglob("*.md"))
    assert len(paths) >= kills
    for path in paths:
        document = frontmatter.parse(path.read_text())
        assert document.problem is None
        said = document.body.split()
        assert (said[0], said[-3], said[1:3], len(said)) == ("begin", "end", said[-2:], 4006)
        assert document.fields["title"] == "t: 1"
    listed = mem("ls", "--json").json
    assert (len(listed["entries"]), listed["problems"]) == (len(paths), [])
    found = mem("grep", "-c", "-F", "begin").rows
    assert len(found) == len(paths)


RACES = int(os.environ.get("RACES", "30"))


def test_an_edit_and_a_write_that_race_leave_one_entry_with_a_text(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEM_SEED")
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    delays = Random(29)

    def late(job: Callable[[], object]) -> Thread:
        pause = delays.uniform(0, 0.01)
        return Thread(target=lambda: (time.sleep(pause), job()))

    for number in range(RACES):
        zebra, backup = f"Zebra {number} eats grass.", f"The backup {number} runs at 03:30."
        edited = write(open_workspace(workspace), NewEntry(zebra), dedup=False).id
        threads = [
            late(partial(replace_words, open_workspace(workspace), edited, zebra, backup)),
            late(partial(write, open_workspace(workspace), NewEntry(backup))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        active = [entry for entry in list_entries(open_workspace(workspace)).entries if entry.summary == backup]
        assert len(active) == 1, number
