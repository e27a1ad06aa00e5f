"""What consolidation without an LLM keeps of conversations, and what is found afterwards, through the product.

Usage: python -m bench consolidation DATA [DATA ...], each of them
  a folder of talks: `<talk>.jsonl` with role and content a line, and `gold.jsonl` with keep, drop and questions,
  a file of conversations: a line each with messages, keep, drop and questions,
  memorybench_jenverse.jsonl: conversations of several sessions with the facts to be known after them,
  a folder `locomo-obs/CONVERSATION` of facts two people told; its turns lie in `locomo-turn`,
  or any other folder: transcripts as agents leave them (`python -m bench imports --keep DIR` makes some), of which
  the time, the memory and the share of the sentences that are embedded are measured.

Judged by text alone. A keep is kept when one entry has all its words; a drop when an entry repeats it; a question is
answered when one of the first five hits has the words of the answer. A fact is found when one of the first five hits
among what was kept has a cosine of at least .7 with it and holds its numbers and names; of raw messages, when one of
the five nearest does. Only conversations of even number were looked at when something was changed. The proof of
learning is `bench/proof.py`: the questions the conversation itself answered, asked of what was kept
alone.
"""

import argparse
import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from io import BytesIO, StringIO
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any

from bench.measures import rows
from bench.proof import asked_in, proof
from memcli.cli.app import run
from memcli.consolidation.backlog import all_events
from memcli.consolidation.consolidate import consolidate
from memcli.formats.frontmatter import document
from memcli.index.embedder import OnnxEmbedder, open_embedder
from memcli.index.filters import Filter
from memcli.language.sentences import sentences
from memcli.search.index_search import SearchRequest
from memcli.search.search import search
from memcli.store.history import read_log
from memcli.store.sessions.sessions import sessions
from memcli.store.workspace import Surroundings, Workspace, opened
from memcli.transcripts.session_import import import_transcript

NOW = datetime(2026, 11, 21, tzinfo=UTC)
HITS, FOUND = 5, 0.7
CONSOLIDATE = ("consolidate", "--all")
REMEMBERED = ("entry", "memory", "history", "note")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[A-Za-z][\w'’.+#-]*")


@dataclass(frozen=True)
class Turn:
    """What somebody said; people among themselves have names, and say it at a time."""

    role: str
    text: str
    name: str = ""
    at: str = ""

    @property
    def line(self) -> str:
        """Return it as a line of a transcript."""
        if self.name:
            return f"[{self.at[:10]} {self.at[11:16]}] {self.name}: {self.text}\n"
        return json.dumps({"role": self.role, "content": self.text}) + "\n"

    @property
    def spoken(self) -> str:
        """Return it with its speaker."""
        return f"{self.name}: {self.text}" if self.name else self.text


@dataclass(frozen=True)
class Conversation:
    """What was said, session by session, and what is known to be worth keeping of it."""

    sessions: Sequence[Sequence[Turn]]
    keeps: Sequence[tuple[str, Sequence[str]]] = ()  # kind, and words that one entry must have
    drops: Sequence[str] = ()
    questions: Sequence[tuple[str, Sequence[str]]] = ()
    facts: Sequence[str] = ()

    @property
    def size(self) -> int:
        """Count the characters that were said."""
        return sum(len(turn.text) for session in self.sessions for turn in session)


@dataclass
class Counts:
    """Sums over conversations."""

    of: Counter[str] = field(default_factory=Counter)

    def add(self, name: str, found: object, asked: int = 1) -> None:
        """Count one more."""
        self.of[name] += int(bool(found)) if asked == 1 else int(found)  # type: ignore[call-overload]
        self.of[f"{name} of"] += asked

    def share(self, name: str) -> str:
        """Write a share with its counts."""
        total = self.of[f"{name} of"]
        return f"{self.of[name] / total:.2f} ({self.of[name]:,} of {total:,})" if total else "–"


def conversations(path: Path) -> Iterator[Conversation]:
    """Read one set."""
    if (path / "corpus.jsonl").exists():
        yield _among_people(path)
        return
    if path.is_dir():
        for gold in rows(path / "gold.jsonl"):
            said = [Turn(one["role"], one["content"]) for one in rows(path / f"{gold['talk']}.jsonl")]
            keeps = [(one["kind"], one["must_contain"]) for one in gold["keep"]]
            yield Conversation([said], keeps, gold["drop"], [(q["q"], q["answer_words"]) for q in gold["questions"]])
        return
    for data in rows(path):
        if "sessions" in data:
            parts = [
                [Turn(turn["role"], turn["content"]) for turn in session["turns"]]
                for session in data["sessions"]
                if all("[MEMORY TEST]" not in turn["content"] for turn in session["turns"])
            ]
            facts = [fact["fact"] for session in data["sessions"] for fact in session["expected_memories_after"]]
            yield Conversation(parts, facts=facts)
            continue
        said = [Turn(one["role"], one["content"]) for one in data["messages"]]
        keeps = [(one["kind"], one["must"]) for one in data["keep"]]
        drops = [one["text"] for one in data["drop"]]
        yield Conversation([said], keeps, drops, [(one["q"], one["answer"]) for one in data["questions"]])


def _among_people(path: Path) -> Conversation:
    sessions: dict[int, list[Turn]] = {}
    for one in rows(path.parents[1] / "locomo-turn" / path.name / "corpus.jsonl"):
        name, _, text = one["text"].partition(": ")
        turn = Turn("user", " ".join(text.split()), name, one["timestamp"])
        sessions.setdefault(one["meta"]["session"], []).append(turn)
    return Conversation(list(sessions.values()), facts=[one["text"] for one in rows(path / "corpus.jsonl")])


def measured(found: Sequence[Conversation]) -> Counts:
    """Consolidate each in a workspace of its own and count what became of it."""
    counts = Counts()
    for number, one in enumerate(found):
        with tempfile.TemporaryDirectory() as folder:
            workspace = _consolidated(Path(folder), one)
            entries = [body for kind, body in _bodies(workspace) if kind != "episode"]
            episodes = [body for kind, body in _bodies(workspace) if kind == "episode"]
            records = [told.record.text for told in read_log(workspace).records]
            for kind, words in one.keeps:
                is_kept = any(_has(entry, words) for entry in entries)
                counts.add("keeps", is_kept)
                counts.add(f"  {kind}", is_kept)
            for text in one.drops:
                counts.add("drops", any(_plain(text) in _plain(entry) for entry in entries))
            for name, kinds in (("questions, entries alone", ("entry",)), ("questions, mem search", None)):
                for asked, words in one.questions:
                    counts.add(name, any(_has(text, words) for text in _hits(workspace, asked, kinds)))
            for session in sessions(workspace):
                for answer in proof(workspace, asked_in(all_events(workspace, session))):
                    counts.add("proof of learning", answer.is_answered)
            hits = [_hits(workspace, fact, REMEMBERED, titled=False) for fact in one.facts]
            for is_found in _facts_found(one.facts, hits):
                counts.add("facts", is_found)
                counts.add(f"  conversations of {'odd' if number % 2 else 'even'} number", is_found)
            for is_found in _facts_found(one.facts, _nearest(one)):
                counts.add("facts, raw messages", is_found)
            for name, texts in (("entries", entries), ("episodes", episodes), ("history", records)):
                counts.add(f"text: {name}", sum(map(len, texts)), one.size)
            counts.add("text kept", sum(map(len, [*entries, *episodes, *records])), one.size)
            counts.of["entries"] += len(entries)
    return counts


def _consolidated(folder: Path, one: Conversation) -> Workspace:
    root = folder / "memory"
    root.mkdir()
    (root / "mem.yaml").touch()
    environ = {"HOME": str(folder), "MEM_TIMEZONE": "UTC", "MEM_WORKSPACE": str(root)}
    os.environ.update(environ)
    workspace = opened(Surroundings(root, environ, NOW), root)
    for number, session in enumerate(one.sessions):
        data = BytesIO("".join(turn.line for turn in session).encode())
        kind = "txt" if session[0].name else "jsonl"
        consolidate(workspace, import_transcript(workspace, data, f"session-{number}.{kind}").session, None)
    return workspace


def _bodies(workspace: Workspace) -> list[tuple[str, str]]:
    documents = [document.parse(path.read_text()) for path in sorted(workspace.root.glob("entries/**/*.md"))]
    return [(str(one.fields["type"]), one.body.strip()) for one in documents]


def _hits(workspace: Workspace, asked: str, kinds: tuple[str, ...] | None, *, titled: bool = True) -> list[str]:
    """Return the texts of the first hits among these kinds, or among those that `mem search` looks at by itself."""
    wanted = Filter(kinds=kinds or tuple(workspace.settings["search.kinds"]))
    request = SearchRequest(asked, HITS, wanted, min_score=None, embed_budget=60.0, draws_on_talk=kinds is None)
    hits = search([workspace], replace(request, may_mean_alone=True)).hits
    return [_text(hit.id, titled=titled) for hit in hits]


def _text(name: str, *, titled: bool) -> str:
    """Read what a hit names, as an agent would."""
    out = StringIO()
    with redirect_stdout(out):
        run(["read", name, "--json", "--limit", "100000"])
    read = json.loads(out.getvalue())
    return f"{read.get('title', '')} {read['content']}" if titled else str(read["content"])


def _facts_found(facts: Sequence[str], hits: Sequence[Sequence[str]]) -> list[bool]:
    embedder = open_embedder(None, bulk=True)
    found = []
    for fact, texts in zip(facts, hits, strict=True):
        alike = (embedder.embed([fact]) @ embedder.embed(texts).T)[0] if texts else ()
        found.append(any(near >= FOUND and _holds(text, fact) for near, text in zip(alike, texts, strict=True)))
    return found


def _nearest(one: Conversation) -> list[list[str]]:
    """Return the nearest messages to each fact."""
    texts = [turn.spoken for session in one.sessions for turn in session]
    if not one.facts:
        return []
    embedder = open_embedder(None, bulk=True)
    alike = embedder.embed(one.facts) @ embedder.embed(texts).T
    return [[texts[place] for place in sorted(range(len(texts)), key=lambda at: -row[at])[:HITS]] for row in alike]


def _has(text: str, words: Sequence[str]) -> bool:
    return all(word.casefold() in text.casefold() for word in words)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .!?,")


def _holds(text: str, fact: str) -> bool:
    """Tell whether a text has the fact's numbers and names."""
    numbers = {number.replace(",", "") for number in _NUMBER.findall(fact)}
    words = [re.sub(r"['’]s$", "", word).strip(".'-") for word in _WORD.findall(fact)]
    names = {w.lower() for at, w in enumerate(words) if re.search(r"[A-Z]", w[1:]) or (at and w[:1].isupper())}
    said = {number.replace(",", "") for number in _NUMBER.findall(text)}
    return numbers <= said and all(name in text.lower() for name in names)


def measure_cost(folder: Path) -> None:
    """Import a folder of transcripts, consolidate them by rules, and print what it took."""
    embedded: Counter[str] = Counter()

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: OnnxEmbedder, texts: Sequence[str], **told: Any) -> Any:
            embedded.update(texts)
            return method(self, texts, **told)

        return counted

    for name in ("embed", "embed_tokens"):
        setattr(OnnxEmbedder, name, counting(getattr(OnnxEmbedder, name)))
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / ".local/share/mem"
        os.environ.update(HOME=temporary, CI="1")
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "MEM_WORKSPACE"):
            os.environ.pop(name, None)
        _spent("init", str(root))
        spent = [_spent(*words, "--scope", "user") for words in (("session", "import", str(folder)), CONSOLIDATE)]
        workspace = opened(Surroundings(root, dict(os.environ), NOW), root)
        found = sessions(workspace)
        events = [event for session in found for event in all_events(workspace, session)]
        said = sum(len(sentences(event.text)) for event in events if event.type == "message")
        printed = sum(len(sentences(event.text)) for event in events if event.type != "message")
        entries = len(_bodies(workspace))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    print(f"\n## {len(found):,} transcripts, {size:.1f} MB: {entries:,} entries\n")
    print("| what | wall | of one core |\n|---|---|---|")
    for name, (wall, core) in zip(("imported", "consolidated"), spent, strict=True):
        print(f"| {name} | {wall:.0f} s | {core:.0f} s |")
    print(f"\nMemory: {getrusage(RUSAGE_SELF).ru_maxrss / 1024:.0f} MB at most.", end=" ")
    print(f"Embedded: {embedded.total():,} texts, {len(embedded):,} of them different,", end=" ")
    print(f"of {said:,} sentences that were said and {printed:,} in calls and answers of tools:", end=" ")
    print(f"1 in {said / max(1, embedded.total()):.1f} and 1 in {(said + printed) / max(1, embedded.total()):.1f}.")


def _spent(*words: str) -> tuple[float, float]:
    """Run a command in this process and give the seconds it took, of the clock and of one core."""
    wall, core = time.perf_counter(), time.process_time()
    with redirect_stdout(StringIO()):
        code = run(list(words))
    if code:
        raise SystemExit(f"mem {' '.join(words)} ended with {code}")
    return time.perf_counter() - wall, time.process_time() - core


def main() -> None:
    """Print a table for each set."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("data", type=Path, nargs="+", metavar="DATA")
    for path in options.parse_args().data:
        if path.is_dir() and not any((path / name).exists() for name in ("corpus.jsonl", "gold.jsonl")):
            measure_cost(path)
            continue
        found = list(conversations(path))
        counts = measured(found)
        print(f"\n## {path.name}: {len(found)} conversations, {counts.of['entries']:,} entries\n")
        print("| what | share |\n|---|---|")
        names = [name for name in counts.of if not name.endswith(" of") and name != "entries"]
        for name in names:
            print(f"| {name} | {counts.share(name)} |")
