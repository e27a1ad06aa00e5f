"""How many known facts a search over consolidated conversations finds, and with how much of the text.

Usage: consolidation.py DATA_DIR, a folder with memorybench_jenverse.jsonl, memory_extraction.jsonl,
belief_updates.jsonl and notability.jsonl. A fact is found when one of the five nearest texts has a cosine of at
least .7 with it and holds its numbers and names. Text nobody asked for has a cosine below .5 with every known fact.

The signs of the extractive consolidator were weighed on every second conversation; the others were held back.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from memcli.index.embedder import Embedder, open_embedder
from memcli.lifecycle.extract import extract
from memcli.lifecycle.reply import parse_reply
from memcli.text.session import Event

FOUND, NEAREST, UNASKED = 0.7, 5, 0.5
NOW = datetime(2026, 11, 21, tzinfo=UTC)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[A-Za-z][\w'’.+#-]*")


@dataclass(frozen=True)
class Conversation:
    """What was said, session by session, and what is known to be worth keeping of it."""

    sessions: tuple[tuple[Event, ...], ...]
    facts: tuple[str, ...]

    @property
    def size(self) -> int:
        """Count the characters that were said."""
        return sum(len(event.text) for session in self.sessions for event in session)


Method = Callable[[Conversation], list[str]]


def lines(path: Path) -> Iterator[Any]:
    """Read a file of JSON lines."""
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def memorybench(path: Path) -> list[Conversation]:
    """Read the conversations, without the sessions that only ask whether anything was remembered."""
    found = []
    for data in lines(path):
        sessions = [
            tuple(
                Event(f"{session['session_id']}.{number}", "message", turn["role"], turn["content"])
                for number, turn in enumerate(session["turns"])
            )
            for session in data["sessions"]
            if all("[MEMORY TEST]" not in turn["content"] for turn in session["turns"])
        ]
        facts = [fact["fact"] for session in data["sessions"] for fact in session["expected_memories_after"]]
        found.append(Conversation(tuple(sessions), tuple(facts)))
    return found


def notes(path: Path) -> list[Conversation]:
    """Read the single messages, each a conversation of its own."""
    return [
        Conversation(
            ((Event(data["id"], "message", "user", data["text"]),),),
            tuple(memory["content"] for memory in data["gold"]["memories"]),
        )
        for data in lines(path)
    ]


def raw(conversation: Conversation) -> list[str]:
    """Keep every message as it was said."""
    return [event.text for session in conversation.sessions for event in session]


def extractive(conversation: Conversation) -> list[str]:
    """Consolidate the whole conversation as one session."""
    return _kept([event for session in conversation.sessions for event in session])


def extractive_each(conversation: Conversation) -> list[str]:
    """Consolidate each of its short sessions alone."""
    return [text for session in conversation.sessions for text in _kept(session)]


def scripted(conversation: Conversation) -> list[str]:
    """Let an LLM that knows the facts answer, in prose and a fence, and read its reply."""
    entries = [{"content": fact, "type": "fact"} for fact in conversation.facts]
    reply = parse_reply(f"Here it is:\n```json\n{json.dumps({'history_entry': '', 'entries': entries})}\n```", "stop")
    return [entry.content for entry in reply.entries]


def _kept(events: Sequence[Event]) -> list[str]:
    found = extract(events, now=NOW)
    return [text for text in (*(fact.text for fact in found.facts), found.history) if text]


def names(text: str) -> set[str]:
    """Give the words of a fact that are names: capitals inside, or at the start of any word but the first."""
    words = [re.sub(r"['’]s$", "", word).strip(".'-") for word in _WORD.findall(text)]
    return {
        word.lower()
        for place, word in enumerate(words)
        if re.search(r"[A-Z]", word[1:]) or (place and word[:1].isupper())
    }


def numbers(text: str) -> set[str]:
    """Give the numbers of a text."""
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def holds(text: str, fact: str) -> bool:
    """Say whether a text has the fact's numbers and names."""
    return numbers(fact) <= numbers(text) and all(name in text.lower() for name in names(fact))


def measured(conversations: Sequence[Conversation], method: Method, embedder: Embedder) -> str:
    """Give a row: facts found, text kept, text nobody asked for."""
    found = facts = kept = said = unasked = 0
    for conversation in conversations:
        texts = method(conversation)
        facts += len(conversation.facts)
        said += conversation.size
        kept += sum(map(len, texts))
        if not texts or not conversation.facts:
            continue
        alike = embedder.embed(conversation.facts) @ embedder.embed(texts).T
        for fact, row in zip(conversation.facts, alike, strict=True):
            nearest = [place for place in np.argsort(-row)[:NEAREST] if row[place] >= FOUND]
            found += any(holds(texts[place], fact) for place in nearest)
        unasked += sum(len(text) for text, best in zip(texts, alike.max(axis=0), strict=True) if best < UNASKED)
    return f"{found} of {facts} ({found / facts:.0%}) | {kept / said:.0%} | {unasked / max(kept, 1):.0%}"


def main(folder: Path) -> None:
    """Print the tables."""
    embedder = open_embedder(None, bulk=True)
    talks = memorybench(folder / "memorybench_jenverse.jsonl")
    sets = {
        "conversations, weighed on": talks[0::2],
        "conversations, held back": talks[1::2],
        "conversations, all": talks,
        "single messages": notes(folder / "memory_extraction.jsonl"),
    }
    methods: dict[str, Method] = {
        "raw messages": raw,
        "extractive": extractive,
        "extractive, session by session": extractive_each,
        "scripted LLM that knows the facts": scripted,
    }
    print("| set | kept as | facts found | text kept | of it unasked |\n|---|---|---|---|---|")
    for title, conversations in sets.items():
        for name, method in methods.items():
            print(f"| {title} | {name} | {measured(conversations, method, embedder)} |")
    beliefs = [text for data in lines(folder / "belief_updates.jsonl") for text in (data["old"], data["new"])]
    stated = sum(bool(extract([Event("1", text=text)], now=NOW).facts) for text in beliefs)
    print(f"\nPlain statements kept: {stated} of {len(beliefs)}.")
    tiers: dict[str, list[bool]] = {}
    for data in lines(folder / "notability.jsonl"):
        facts = extract([Event("1", text=data["paragraph"])], now=NOW).facts
        tiers.setdefault(data["confirmed_tier"], []).append(bool(facts))
    shares = ", ".join(f"{tier} {sum(kept)} of {len(kept)}" for tier, kept in tiers.items())
    print(f"Paragraphs of which something is kept, by how notable people found them: {shares}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
