"""Measure which prompts get memories, and what the start of a session costs.

    python -m bench.recall [--prompts FOLDER …] [--asking FOLDER] [--noise FOLDER …] [--start FOLDER]

--prompts  folders with gate-memories.jsonl {id, text} and gate-prompts.jsonl {prompt, needs}
--asking   a folder with actions.jsonl (projects), asking_prompts.jsonl and quiet_prompts.txt
--noise    folders with entries.txt (type|text) and prompts.txt, for which nothing is right
--start    a workspace: the tokens of its start, and sentences that it shows twice

Every prompt is the first of a session of its own and goes through the whole prompt moment.
"""

import argparse
import io
import json
import random
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from memcli.context import CommonOptions, Context
from memcli.index.index import close_index, open_index
from memcli.recall.lookup import Shown, digest_sentences
from memcli.recall.prompt import build_prompt_context
from memcli.recall.start import PAGE, build_start
from memcli.store.init import create_workspace
from memcli.store.workspace import Workspace, get_workspaces

SHOWN_ID = re.compile(r'<memory id="entries/([^"]+)\.md"')


class Text(NamedTuple):
    """A memory of a data set."""

    id: str
    text: str
    type: str = "fact"


class Prompt(NamedTuple):
    """A prompt, and the memories that it needs."""

    text: str
    wanted: Sequence[str] = ()


class Score(NamedTuple):
    """How often prompts got what they need, and others something."""

    asking: int
    answered: int  # with at least one wanted memory
    shown: int  # memories, with the prompts that need some
    quiet: int
    noisy: int

    def format(self, name: str) -> str:
        parts = [f"{name:28}"]
        if self.asking:
            parts.append(f"need it and get it {self.answered / self.asking:.2f} of {self.asking}")
            parts.append(f"{self.shown / self.asking:.1f} memories each")
        if self.quiet:
            parts.append(f"need none and get some {self.noisy / self.quiet:.3f} of {self.quiet}")
        return " · ".join(parts)


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def open_folder(root: Path) -> Workspace:
    context = Context(
        environment={"HOME": str(root / "home"), "MEM_TIMEZONE": "UTC"},
        folder=root,
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: datetime(2026, 11, 28, 12, 0, tzinfo=UTC),
        noise=random.Random(1),
        common=CommonOptions(workspace=str(root / "memory")),
    )
    if not (root / "memory" / "mem.yaml").exists():
        create_workspace(context, root / "memory")
    return get_workspaces(context)[0]


def measure_prompts(texts: Iterable[Text], prompts: Sequence[Prompt], *, verbose: bool) -> Score:
    """Return the score of prompts in a workspace of their own."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = open_folder(Path(folder))
        for text in texts:
            path = workspace.root / "entries" / f"{text.id}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"---\ntype: {text.type}\nsource: user\n---\n\n{text.text}\n", "utf-8")
        open_index(workspace).embed_missing(None)
        asking = answered = shown = quiet = noisy = 0
        for prompt in prompts:
            ids = SHOWN_ID.findall(build_prompt_context([workspace], prompt.text, Shown("", {})))
            if prompt.wanted:
                asking += 1
                answered += bool(set(ids) & set(prompt.wanted))
                shown += len(ids)
            else:
                quiet += 1
                noisy += bool(ids)
            is_right = bool(set(ids) & set(prompt.wanted)) if prompt.wanted else not ids
            if verbose and not is_right:
                print(f"  {', '.join(ids) or 'nothing'} for: {prompt.text[:100]}")
        close_index(workspace)
        return Score(asking, answered, shown, quiet, noisy)


def read_strangers(folder: Path) -> tuple[list[Text], list[Prompt]]:
    texts = [Text(row["id"], row["text"]) for row in read_rows(folder / "gate-memories.jsonl")]
    rows = read_rows(folder / "gate-prompts.jsonl")
    return texts, [Prompt(row["prompt"], [row["needs"]] if row["needs"] else []) for row in rows]


def read_noise(folder: Path) -> tuple[list[Text], list[Prompt]]:
    lines = (folder / "entries.txt").read_text("utf-8").splitlines()
    pairs = [line.split("|", 1) for line in lines if "|" in line]
    texts = [Text(f"e{number}", text, type_) for number, (type_, text) in enumerate(pairs)]
    prompts = (folder / "prompts.txt").read_text("utf-8").splitlines()
    return texts, [Prompt(prompt) for prompt in prompts if prompt.strip()]


def read_projects(folder: Path) -> dict[str, list[Text]]:
    return {
        row["project"]: [Text(item["id"], item["text"], item["type"]) for item in row["memories"]]
        for row in read_rows(folder / "actions.jsonl")
        if row["kind"] == "project"
    }


def measure_asking(folder: Path, *, verbose: bool) -> Iterable[tuple[str, Score]]:
    """Yield the scores of each project, with its own prompts and all quiet ones."""
    quiet = [
        Prompt(line) for line in (folder / "quiet_prompts.txt").read_text("utf-8").splitlines()
    ]
    rows = read_rows(folder / "asking_prompts.jsonl")
    for project, texts in read_projects(folder).items():
        asking = [Prompt(row["prompt"], row["wanted"]) for row in rows if row["project"] == project]
        yield project, measure_prompts(texts, [*asking, *quiet], verbose=verbose)


def add_scores(scores: Sequence[Score]) -> Score:
    return Score(*(sum(values) for values in zip(*scores, strict=True)))


def measure_start(source: Path) -> str:
    """Return the tokens of the start of a session, and how many sentences it repeats."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(source, Path(folder) / "memory")
        workspace = open_folder(Path(folder))
        workspace.ensure_machine()
        workspace.machine.save_trust(workspace.root, is_trusted=True)
        workspace = open_folder(Path(folder))
        shown = Shown("", {})
        start = build_start([workspace], shown)
        texts = [line.text for line in start.lines]
        digests = Counter(digest for text in texts for digest in digest_sentences(text))
        repeats = sum(count - 1 for count in digests.values())
        page = start.count_tokens(PAGE)
        resumed = build_start([workspace], shown, is_resumed=True).text
        close_index(workspace)
    return (
        f"{start.count_tokens() - page} tokens, plus {page} for MEMORY.md; {repeats} sentences"
        f" twice; {len(resumed)} characters when resumed"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--prompts", type=Path, nargs="*", default=[])
    parser.add_argument("--asking", type=Path)
    parser.add_argument("--noise", type=Path, nargs="*", default=[])
    parser.add_argument("--start", type=Path)
    parser.add_argument("-v", "--verbose", action="store_true", help="print the wrong prompts")
    options = parser.parse_args()
    for folder in options.prompts:
        score = measure_prompts(*read_strangers(folder), verbose=options.verbose)
        print(score.format(folder.name))
    if options.asking:
        scores = []
        for project, score in measure_asking(options.asking, verbose=options.verbose):
            scores.append(score)
            print(score.format(project))
        print(add_scores(scores).format("all projects"))
    for folder in options.noise:
        score = measure_prompts(*read_noise(folder), verbose=options.verbose)
        print(score.format(folder.name))
    if options.start:
        print(f"{'start':28} · {measure_start(options.start)}")


if __name__ == "__main__":
    main()
