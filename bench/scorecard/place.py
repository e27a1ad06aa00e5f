"""A tool at work in a folder: its root of notes, a home of its own, its commands as processes."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.retrieval.sets import Collection
from bench.scorecard.tools import Known, Tool, write_note

SECONDS = 1800
"""Seconds after which a process that is asked counts as one that hangs."""


class Broken(Exception):
    """A tool that did not do what it was asked; the text says what it said."""


@dataclass(frozen=True)
class Hit:
    """What a search tells: a file below the root, a line (0: the whole file), its words."""

    path: str
    line: int
    text: str


class Place:
    """A tool with what it needs in one folder, and nothing of the user's."""

    def __init__(self, tool: Tool, tools: Path, folder: Path, endpoint: str) -> None:
        """Make the folder; `tools` holds an environment for each."""
        self.tool, self.root, self.home = tool, folder / "root", folder / "home"
        self.notes, self.installed = self.root / tool.notes, environment(tool, tools)
        for path in (self.root, self.home):
            path.mkdir(parents=True)
        self._values = {
            "bin": str(self.installed / "bin"),
            "python": str(self.installed / "bin" / "python"),
            "library": tool.library,
            "here": json.dumps(self._here(endpoint)),
            **self._here(endpoint),
        }
        for pattern, target in tool.copies.items():
            Path(self._filled(target)).mkdir(parents=True)
            for file in self.installed.glob(pattern):
                shutil.copy(file, self._filled(target))
        told = {name: self._filled(value) for name, value in tool.environ.items()}
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TERM") if name in os.environ}
        ours = {"HOME": str(self.home), "CI": "1", "NO_COLOR": "1", "OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
        self.environ = {**kept, **ours, **told}

    def fill(self, collection: Collection) -> Known:
        """Lay the documents out as the tool wants them."""
        known = self.tool.lay(collection, self.root, self.tool.notes)
        for name, text in self.tool.files.items():
            write_note(Path(self._filled(name)), text)
        self.notes.mkdir(exist_ok=True)
        return known

    def words(self, command: Sequence[str], **values: str) -> list[str]:
        """Fill in a command."""
        return [self._filled(word, values) for word in command]

    def start(self, command: Sequence[str], **values: str) -> "subprocess.Popen[bytes]":
        """Start a command in a group of its own, its output thrown away."""
        nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        words = self.words(command, **values)
        return subprocess.Popen(words, env=self.environ, cwd=self.root, start_new_session=True, **nothing)

    def search(self, query: str) -> list[Hit]:
        """Search once, in a process of its own."""
        with self.asking() as program:
            return program.ask(query)[0]

    @contextmanager
    def asking(self, now: str = "") -> "Iterator[Program]":
        """Open the tool's library for many questions, asked at a moment (RFC 3339)."""
        here = json.dumps({**json.loads(self._values["here"]), "now": now})
        words = [self._values["python"], "-c", self.tool.library, here]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(words, env=self.environ, cwd=self.root, text=True, **pipes) as process:
            watch = threading.Timer(SECONDS, process.kill)
            watch.start()
            try:
                program = Program(self.tool.name, process)
                program.read()
                yield program
            finally:
                watch.cancel()
                process.kill()

    def _here(self, endpoint: str) -> dict[str, str]:
        paths = {"root": self.root, "notes": self.notes, "home": self.home}
        return {**{name: str(path) for name, path in paths.items()}, "endpoint": endpoint, "now": ""}

    def _filled(self, word: str, values: Mapping[str, str] = {}) -> str:
        return word.format(**self._values, **values)


class Program:
    """The library of a tool, open in a process of its own."""

    def __init__(self, name: str, process: "subprocess.Popen[str]") -> None:
        """Take the process."""
        self._name, self._process = name, process

    def ask(self, query: str) -> tuple[list[Hit], float]:
        """Give the hits of a query and the milliseconds it took."""
        hits, milliseconds = self._send("ask", query)
        return [Hit(*hit) for hit in hits], milliseconds

    def index(self) -> None:
        """Read all files."""
        self._send("index", "")

    def write(self, text: str) -> None:
        """Keep a text, if the tool has a verb for it."""
        self._send("write", text)

    def read(self) -> tuple[Any, float]:
        """Read an answer; Broken where there is none."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise Broken(f"{self._name}: its library ended with {self._process.wait()}")
        answer, milliseconds = json.loads(line)
        return answer, milliseconds

    def _send(self, *message: str) -> tuple[Any, float]:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise Broken(f"{self._name}: its library ended with {self._process.wait()}") from None
        return self.read()


def environment(tool: Tool, tools: Path) -> Path:
    """Give the folder of the environment that a tool is installed into."""
    return tools.absolute() / (tool.folder or tool.name)


def commit(installed: Path) -> str:
    """Give the commit that an environment has its tool from, as pip noted it; empty for a package of a registry."""
    for file in installed.glob("lib/*/site-packages/*.dist-info/direct_url.json"):
        noted = json.loads(file.read_text(encoding="utf-8"))
        return str(noted.get("vcs_info", {}).get("commit_id", ""))[:7]
    return ""
