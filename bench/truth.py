"""Measure what users get who write: `python -m bench truth DATA [--facts 6k 64k] [--write]`.

Every memory goes through the command `mem write`, one after the other, and every question through `mem search`, both in
this process. Below DATA lie `locomo-obs` (sets of corpus.jsonl, queries.jsonl and qrels.tsv) and `fact-consolidation`
(facts in the order they were said, of which a later one replaces an earlier one of the same thing). The same texts put
there as files say what writing costs. `bench/data/forgotten.tsv` has memories to forget, three paraphrases and three
statements about the same things for each of them, and others. The twenty worst questions are printed.

`bench/data/strangers/truth` has what people who never saw the code said twice: `updates.jsonl` (old, new, question) and
`notes.jsonl` (a line of a daily note, the entry that corrects it, question).
"""

import argparse
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from bench import measures
from bench.retrieval.sets import Collection, collection
from memcli.cli.app import run
from memcli.formats.entry import Entry, entry_fields
from memcli.formats.frontmatter.document import render
from memcli.formats.ids import stamp

CONVERSATIONS = ("conv-26", "conv-30")
WORST = 20
STRANGERS = Path(__file__).parent / "data" / "strangers" / "truth"
DAYS = "2026-11-01T10:00:00Z", "2026-11-11T10:00:00Z"
ASKED = "2026-11-12T10:00:00Z"


class Asked(NamedTuple):
    """A question with the measures of its answer."""

    text: str
    ndcg: float
    added: int
    """Rows that are shown besides the ten asked for."""


def mem(*words: str) -> Any:
    """Run one command line with --json and return its document; raise SystemExit where it fails."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([words[0], "--json", *words[1:]])
    if code not in (0, 1):
        raise SystemExit(f"mem {' '.join(words)}: {code}: {err.getvalue()}")
    return json.loads(out.getvalue())


@contextmanager
def workspace() -> Iterator[Path]:
    """Stand in a folder with a new workspace, at home nowhere else."""
    with tempfile.TemporaryDirectory() as folder:
        home = {"HOME": folder, "XDG_STATE_HOME": f"{folder}/state", "MEM_WRITE_SOURCE": "user"}
        with patch.dict(os.environ, home), chdir(folder):
            mem("init")
            yield Path(folder, "memory")


def put(root: Path, number: int, text: str, moment: str) -> str:
    """Put a memory there as a file; return its id."""
    entry = Entry(id=f"mem_{number:016}", body=text, created_at=moment, updated_at=moment, source="user", trust=1.0)
    (root / "entries").mkdir(exist_ok=True)
    (root / "entries" / f"{number}.md").write_text(render(entry_fields(entry), text), encoding="utf-8")
    return entry.id


def keep(texts: Sequence[tuple[str, str]], root: Path, *, written: bool) -> list[str]:
    """Keep texts, each with its moment, in their order; return the ids of the entries that say them."""
    ids = []
    for number, (text, moment) in enumerate(texts):
        if written:
            with patch.dict(os.environ, {"MEM_NOW": moment}):
                ids.append(mem("write", "--", text)["id"])
        else:
            ids.append(put(root, number, text, moment))
    return ids


def conversation(data: Collection, *, written: bool) -> tuple[list[Asked], int]:
    """Ask every question of a conversation; return the answers' measures, and the questions that wait in the review."""
    with workspace() as root:
        texts = [(str(document["text"]), f"{document['timestamp']}Z") for document in data.documents]
        documents = [str(document["id"]) for document in data.documents]
        by_id: dict[str, list[str]] = {}
        for identifier, document in zip(keep(texts, root, written=written), documents, strict=True):
            by_id.setdefault(identifier, []).append(document)
        asked = []
        for query in data.queries:
            hits = mem("search", "-n", "10", "--min-score", "0", "--", query.text)["hits"]
            ranking = [document for hit in hits for document in by_id.get(hit["id"], ())]
            asked.append(Asked(query.text, measures.scores(ranking, query.grades).ndcg10, max(0, len(hits) - 10)))
        return asked, len(mem("review")["questions"])


def facts(told: Mapping[str, Any], *, written: bool) -> list[bool]:
    """Return for each question whether the first hit says an accepted answer."""
    with workspace() as root:
        start = datetime(2026, 1, 1, tzinfo=UTC)
        texts = [(fact, stamp(start + timedelta(seconds=number))) for number, fact in enumerate(told["facts"])]
        keep(texts, root, written=written)
        first = (mem("search", "-n", "1", "--", question)["hits"][:1] for question in told["questions"])
        return [
            bool(hits) and any(answer.casefold() in hits[0]["summary"].casefold() for answer in answers)
            for hits, answers in zip(first, told["answers"], strict=True)
        ]


def forgotten() -> list[str]:
    """Return the rows of what comes of texts that an import brings after 20 memories were forgotten."""
    texts: dict[str, list[str]] = {}
    for line in (Path(__file__).parent / "data" / "forgotten.tsv").read_text(encoding="utf-8").splitlines():
        kind, _, text = line.partition("\t")
        texts.setdefault(kind, []).append(text)
    lines = []
    with workspace():
        ids = keep([(text, "2026-01-02T00:00:00Z") for text in texts["forgotten"]], Path(), written=True)
        mem("forget", *ids)
        for kind, several in texts.items():
            records = [
                {"content": text, "source": "observed", "created_at": "2026-01-01T00:00:00Z"} for text in several
            ]
            Path(f"{kind}.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
            counts = mem("import", f"{kind}.jsonl")["counts"]
            active = counts.get("created", 0) + counts.get("merged", 0)
            told = f"{active} active, {counts.get('held', 0)} held back, {counts.get('forgotten', 0)} refused"
            lines.append(f"| {len(several)} texts after 20 were forgotten: {kind} | | {told} | |")
    return lines


class Told(NamedTuple):
    """What was said on two days, each time as an entry or in the note of the day, and a question about it."""

    earlier: str
    later: str
    question: str


class Answered(NamedTuple):
    """Whether an answer begins with the later of both, and whether it has it at all."""

    is_first: bool
    has_it: bool


def said_twice(rows: Sequence[Told], commands: tuple[str, str]) -> dict[str, list[Answered]]:
    """Say every row with two commands, `write` or `note`, ten days apart; return what search and recall answer.

    A search has five hits and what is added to them. Of what is not given at all, the other one counts as first.
    """
    with workspace():
        for command, texts, moment in zip(commands, zip(*[row[:2] for row in rows], strict=True), DAYS, strict=True):
            with patch.dict(os.environ, {"MEM_NOW": moment}):
                for text in texts:
                    mem(command, "--", text)
        with patch.dict(os.environ, {"MEM_NOW": ASKED}):
            hits = [mem("search", "-n", "5", "--", row.question)["hits"] for row in rows]
            packs = [mem("recall", "--", row.question)["chosen"] for row in rows]
    answers = {"search": [[hit["summary"] for hit in some] for some in hits]}
    answers["recall"] = [[memory["text"] for memory in pack] for pack in packs]
    return {
        way: [_answered(row, texts) for row, texts in zip(rows, given, strict=True)] for way, given in answers.items()
    }


def _answered(row: Told, texts: Sequence[str]) -> Answered:
    def place(text: str) -> int:
        start = " ".join(text.split())[:60]
        return next((number for number, other in enumerate(texts) if start in " ".join(other.split())), len(texts))

    return Answered(place(row.later) < place(row.earlier), place(row.later) < len(texts))


def of_strangers() -> list[str]:
    """Return a row of the table for each way in which strangers said something twice."""
    updates = [Told(row["old"], row["new"], row["question"]) for row in measures.rows(STRANGERS / "updates.jsonl")]
    notes = [Told(row["note"], row["entry"], row["question"]) for row in measures.rows(STRANGERS / "notes.jsonl")]
    turned = [Told(row.later, row.earlier, row.question) for row in notes]
    lines = [
        "",
        "| said twice | search: later first | with it | recall: later first | with it |",
        "|---|---|---|---|---|",
    ]
    for what, rows, commands in (
        ("updates, both written", updates, ("write", "write")),
        ("a note, corrected by an entry", notes, ("note", "write")),
        ("an entry, then a note", turned, ("write", "note")),
    ):
        answers = said_twice(rows, commands)
        cells = [sum(each) for way in ("search", "recall") for each in zip(*answers[way], strict=True)]
        lines.append(f"| {what}, of {len(rows)} | {' | '.join(map(str, cells))} |")
    return lines


def main() -> None:
    """Print the table and the worst questions."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--facts", nargs="*", default=["6k"], help="sizes of fact-consolidation: 6k, 64k")
    options.add_argument("--write", action="store_true", help="keep the table in results/")
    given = options.parse_args()
    lines = ["| what | put as files | written | written / files |", "|---|---|---|---|"]
    worst: list[Asked] = []
    for name in CONVERSATIONS:
        data = collection("locomo-obs", given.data / "locomo-obs" / name)
        (as_files, _), (written, waiting) = (conversation(data, written=way) for way in (False, True))
        worst += written
        both = [measures.mean([asked.ndcg for asked in some]) for some in (as_files, written)]
        added = [measures.mean([asked.added for asked in some]) for some in (as_files, written)]
        lines.append(f"| {name}, nDCG@10 of {len(written)} | {both[0]:.3f} | {both[1]:.3f} | {both[1] / both[0]:.3f} |")
        lines.append(f"| {name}, rows added in ten hits | {added[0]:.2f} | {added[1]:.2f} | |")
        lines.append(f"| {name}, questions in the review after {len(data.documents)} writes | | {waiting} | |")
    for size in given.facts:
        told = json.loads((given.data / "fact-consolidation" / f"{size}.json").read_text(encoding="utf-8"))
        counts = [sum(facts(told, written=way)) for way in (False, *([True] if size == "6k" else []))]
        shown = [*map(str, counts), *[""] * (2 - len(counts))]
        lines.append(f"| facts {size}, current ones first of {len(told['questions'])} | {' | '.join(shown)} | |")
    lines += forgotten()
    lines += of_strangers()
    measures.show("truth", "\n".join(lines) + "\n", write=given.write)
    for asked in sorted(worst, key=lambda asked: asked.ndcg)[:WORST]:
        print(f"{asked.ndcg:.2f} {asked.text}")


if __name__ == "__main__":
    main()
