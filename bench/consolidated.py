"""How many known facts `mem search` finds once conversations went through the product: import, consolidate, search.

Usage: consolidated.py DATA_DIR, a folder with memorybench_jenverse.jsonl. Each conversation has a workspace of its own
and its sessions are imported as transcripts. A fact is asked for in its own words; it is found when one of the first
five hits has a cosine of at least .7 with it and holds its numbers and names. Text kept are the bodies of entries,
records of history and the page, against what was said.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from consolidation import FOUND, NEAREST, NOW, Conversation, holds, memorybench

from memcli.cli.app import run
from memcli.exchange.conversation import bring_in
from memcli.index.embedder import Embedder, open_embedder
from memcli.index.filters import Filter
from memcli.lifecycle.consolidate import consolidate
from memcli.lifecycle.llm import Completion
from memcli.retrieval.search import Request, search
from memcli.store.entries import write
from memcli.store.history import read_log
from memcli.store.workspace import Surroundings, Workspace, opened
from memcli.text import frontmatter

KINDS = ("entry", "memory", "history", "note")


class Knowing:
    """An LLM that knows the facts."""

    def __init__(self, facts: Sequence[str]) -> None:
        self.facts = list(facts)

    def complete(self, messages: Sequence[Mapping[str, str]], **_: Any) -> Completion:
        """Tell all of them the first time it is asked."""
        entries = [{"content": fact} for fact in self.facts]
        self.facts = []
        return Completion(json.dumps({"history_entry": "They talked.", "entries": entries}), "stop")


def raw(workspace: Workspace, talk: Conversation) -> None:
    """Write every message down as an entry."""
    for number, event in enumerate(event for session in talk.sessions for event in session):
        if event.text.strip():
            write(workspace, {}, event.text, lambda attempt, number=number: f"{attempt:04}{number:04}".encode())


def extractive(workspace: Workspace, talk: Conversation) -> None:
    """Import each session and consolidate it by rules."""
    for session in _imported(workspace, talk):
        consolidate(workspace, session, None)


def knowing(workspace: Workspace, talk: Conversation) -> None:
    """Import each session and consolidate it by an LLM that knows the facts."""
    llm = Knowing(talk.facts)
    for session in _imported(workspace, talk):
        consolidate(workspace, session, llm)


def _imported(workspace: Workspace, talk: Conversation) -> list[Any]:
    found = []
    for number, session in enumerate(talk.sessions):
        lines = [json.dumps({"id": one.id, "role": one.role, "content": one.text}) for one in session]
        data = BytesIO("".join(f"{line}\n" for line in lines).encode())
        found.append(bring_in(workspace, data, f"session-{number}.jsonl").session)
    return found


def kept(workspace: Workspace) -> int:
    """Count the characters of what is remembered."""
    bodies = [frontmatter.parse(path.read_text()).body for path in workspace.root.glob("entries/**/*.md")]
    page = workspace.root / "MEMORY.md"
    records = [told.record.text for told in read_log(workspace).records]
    return sum(map(len, [*bodies, *records, page.read_text() if page.exists() else ""]))


def text_of(name: str) -> str:
    """Read what a hit names, as an agent would."""
    out = StringIO()
    with redirect_stdout(out):
        run(["read", name, "--json", "--limit", "100000"])
    return str(json.loads(out.getvalue())["content"])


def measured(talks: Sequence[Conversation], method: Callable[[Workspace, Conversation], None], **settings: str) -> str:
    """Give a row: facts found, text kept."""
    embedder: Embedder = open_embedder(None, bulk=True)
    found = facts = said = size = 0
    for talk in talks:
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder) / "memory"
            root.mkdir()
            (root / "mem.yaml").touch()
            environ = {"HOME": folder, "MEM_TIMEZONE": "UTC", "MEM_WORKSPACE": str(root)} | settings
            os.environ.update(environ)
            workspace = opened(Surroundings(root, environ, NOW), root)
            method(workspace, talk)
            facts += len(talk.facts)
            said += talk.size
            size += kept(workspace)
            for fact in talk.facts:
                hits = search([workspace], Request(fact, NEAREST, Filter(kinds=KINDS), embed_budget=60.0)).hits
                texts = [text_of(hit.id) for hit in hits]
                if texts:
                    alike = (embedder.embed([fact]) @ embedder.embed(texts).T)[0]
                    found += any(near >= FOUND and holds(text, fact) for near, text in zip(alike, texts, strict=True))
    return f"{found} of {facts} ({found / facts:.0%}) | {size / said:.0%}"


def main(folder: Path) -> None:
    """Print the table."""
    talks = memorybench(folder / "memorybench_jenverse.jsonl")
    print("| kept as | facts found by `mem search` | text kept |\n|---|---|---|")
    print(f"| raw messages | {measured(talks, raw)} |")
    print(f"| consolidated by rules | {measured(talks, extractive)} |")
    print(f"| the same without episodes | {measured(talks, extractive, MEM_CONSOLIDATE_EPISODES='off')} |")
    os.environ.pop("MEM_CONSOLIDATE_EPISODES")
    print(f"| consolidated by an LLM that knows the facts | {measured(talks, knowing)} |")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
