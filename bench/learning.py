"""Measure what consolidation learns from conversations without an LLM.

    python -m bench.learning DATA … [--half even|odd] [--show]

DATA is a folder of talks (`NAME.jsonl` with role and content per line, and `gold.jsonl` with the
facts to keep and the sentences to drop), or a file with one labelled conversation per line, or a
table `label, kind, role, text` of single messages (.tsv). A fact counts as stored if one memory has
all of its words, and as found in the history if the record has them. A sentence to drop counts as
stored if a memory repeats it or is a part of it.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from memcli.consolidate.compaction import build_history_text
from memcli.consolidate.rules import find_statements
from memcli.formats.records import Message


class Talk(NamedTuple):
    """A conversation, the facts worth keeping and the sentences that are not."""

    name: str
    messages: list[Message]
    facts: list[tuple[str, list[str]]]  # kind, words of the fact
    drops: list[tuple[str, str]]  # kind, sentence


def read_talks(path: Path) -> Iterator[Talk]:
    if path.is_dir():
        for gold in read_rows(path / "gold.jsonl"):
            messages = build_messages(read_rows(path / f"{gold['talk']}.jsonl"))
            facts = [(fact["kind"], fact["must_contain"]) for fact in gold["keep"]]
            yield Talk(gold["talk"], messages, facts, [("drop", text) for text in gold["drop"]])
    elif path.suffix == ".tsv":
        for number, line in enumerate(path.read_text("utf-8").splitlines()):
            label, kind, role, text = line.split("\t", 3)
            messages = build_messages([{"role": role, "content": text}])
            longest = sorted(text.rstrip(".!").split(), key=len)[-3:]
            facts = [(kind, longest)] if label == "keep" and role == "user" else []
            drops = [(kind, text)] if label == "drop" else []
            yield Talk(str(number), messages, facts, drops)
    else:
        for row in read_rows(path):
            facts = [(fact["kind"], fact["must"]) for fact in row["keep"]]
            drops = [(drop["why"], drop["text"]) for drop in row["drop"]]
            yield Talk(row["id"], build_messages(row["messages"]), facts, drops)


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def build_messages(rows: list[dict[str, Any]]) -> list[Message]:
    """Return what was said, as a session returns it: without the output of tools."""
    return [
        Message(number, f"m{number}", row["role"], row["content"], "")
        for number, row in enumerate(rows, 1)
        if row["role"] in ("user", "assistant")
    ]


def measure(talk: Talk, counts: Counter[str], is_verbose: bool) -> None:
    memories = [item for item in find_statements(talk.messages) if item.kind != "forget"]
    history = build_history_text(talk.messages)
    counts["memories"] += len(memories)
    counts["memories that ask"] += sum(memory.text.endswith("?") for memory in memories)
    counts["bytes of talks"] += sum(len(message.text.encode()) for message in talk.messages)
    counts["bytes of history"] += len(history.encode())
    notes = [f"{memory.kind}: {memory.text} [corrects {memory.corrects}]" for memory in memories]
    for kind, words in talk.facts:
        having = [memory for memory in memories if has_words(memory.text, words)]
        is_told = has_words(history, words)
        for name in ("facts", f"  {kind}"):
            counts.update({name: 1, f"{name} stored": bool(having), f"{name} in history": is_told})
        if kind == "correction":
            is_right = any(memory.kind == "correction" for memory in having)
            counts.update({"corrections right": 1, "corrections right stored": is_right})
        notes += [f"NOT STORED {kind} {words}"] * (not having)
        notes += [f"NOT IN HISTORY {kind} {words}"] * (not is_told)
    for kind, text in talk.drops:
        repeats = [memory for memory in memories if repeats_text(memory.text, text)]
        for name in ("drops", f"  drop {kind}"):
            counts.update({name: 1, f"{name} stored": bool(repeats)})
        notes += [f"WRONG ({kind}) {memory.kind}: {memory.text}" for memory in repeats]
    if is_verbose:
        print(f"# {talk.name}", *notes, f"HISTORY {history}", sep="\n  ")


def has_words(text: str, words: list[str]) -> bool:
    return all(word.casefold() in text.casefold() for word in words)


def repeats_text(memory: str, text: str) -> bool:
    first, second = (" ".join(part.casefold().split()).strip(" .!?,") for part in (memory, text))
    return first in second or second in first


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("data", type=Path, nargs="+")
    options.add_argument("--half", choices=["even", "odd"])
    options.add_argument("--show", action="store_true", help="print every memory and every mistake")
    chosen = options.parse_args()
    for path in chosen.data:
        counts: Counter[str] = Counter()
        for number, talk in enumerate(read_talks(path)):
            if chosen.half is None or chosen.half == ("even", "odd")[number % 2]:
                measure(talk, counts, chosen.show)
        print(
            f"\n{path.name}: {counts['memories']} memories, {counts['memories that ask']} of them ask"
        )
        for name in [name for name in counts if f"{name} stored" in counts]:
            stored, told = counts[f"{name} stored"], counts[f"{name} in history"]
            print(
                f"{name:24} {counts[name]:4}  stored {stored:3} ({stored / counts[name]:.2f})",
                end="",
            )
            print(
                f"  in history {told:3} ({told / counts[name]:.2f})" if "drop" not in name else ""
            )
        print(
            f"history is {counts['bytes of history'] / max(counts['bytes of talks'], 1):.2f} of the talks"
        )


if __name__ == "__main__":
    main()
