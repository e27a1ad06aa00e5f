"""Questions to every tool: what answers them among the texts of the sets, and which of two facts is the current one."""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any

from bench.beliefs.facts import judged, slot_of
from bench.beliefs.workspace import flat
from bench.measures import DEPTH, scores
from bench.retrieval.kinds import OURS
from bench.retrieval.sets import Collection, asked_at, collections
from bench.scorecard.place import Hit, Place

SETS = {
    "qmd-files": "six long documents",
    "openclaw_bm-medium": "an agent's own pages",
    "gbrain-pages": "pages on people and companies",
    "madial-dialogue": "short memories, asked by a dialogue",
    "coding": "developers and a coding agent",
    "operations": "teams that run something",
    "everyday": "friends, families, an assistant",
    "beam-user": "what people tell an assistant",
    "locomo-obs": "facts noted about people who write to each other",
    "locomo-turn": "what these people write",
}
SEED, SHOWN, MOST = 11, 5, 40
FACTS = "fact-consolidation/6k.json"
Line = dict[str, Any]


def sample(data: Path, questions: int) -> Iterator[Collection]:
    """Draw some of the questions that nothing was tuned on from each workspace that has such."""
    found = list(chain(collections(data, tuple(SETS)), collections(OURS, tuple(SETS))))
    for name in SETS:
        draw = random.Random(SEED)
        held = {one: [query for query in one.queries if query.is_held] for one in found if one.set == name}
        whole = [one for one, queries in held.items() if queries]
        for one in draw.sample(whole, len(whole)):
            yield replace(one, queries=tuple(draw.sample(held[one], min(questions, len(held[one])))))


def retrieved(one: Collection, place: Place) -> Iterator[Line]:
    """Ask a tool the questions of a workspace."""
    known = place.fill(one)
    with place.asking(asked_at(one).isoformat()) as program:
        program.index()
        for query in one.queries:
            hits, milliseconds = program.ask(query.text)
            names = (known.get((hit.path, 0)) or known.get((hit.path, hit.line), "?") for hit in hits)
            ranking = list(dict.fromkeys(names))[:DEPTH]
            found = scores(ranking, query.grades)
            yield {
                "set": one.set, "workspace": one.name, "question": query.id, "ranked": ranking,
                "gold": dict(query.grades), "recall@5": round(found.recall5, 4), "nDCG@10": round(found.ndcg10, 4),
                "ms": round(milliseconds, 1),
            }  # fmt: skip


def replaced(data: Path, place: Place) -> Iterator[Line]:
    """Tell a tool facts in their order and ask it; nothing says which fact replaces which.

    It is told them by its verb for a new memory, one after the other. A tool that has none gets a file for each.
    """
    told = json.loads((data / FACTS).read_text(encoding="utf-8"))
    facts: list[str] = told["facts"]
    is_told = bool(place.tool.write)
    documents = () if is_told else tuple({"id": f"f{number}", "text": fact} for number, fact in enumerate(facts))
    place.fill(Collection("facts", "6k", documents, ()))
    newest = {slot_of(fact): fact for fact in facts}
    with place.asking() as program:
        program.index()
        for fact in facts if is_told else ():
            program.write(fact)
        for question, answers in zip(told["questions"], told["answers"], strict=True):
            shown = _spoken(program.ask(question)[0], facts)
            yield {"question": question, "shown": shown, **asdict(judged(shown, answers, facts, newest))}


def _spoken(hits: Sequence[Hit], facts: Sequence[str]) -> list[str]:
    """Give the facts that the first hits tell, without what a tool puts around them."""
    texts = [hit.text for hit in hits[:SHOWN]]
    return [max((fact for fact in facts if flat(fact) in flat(text)), key=len, default=text) for text in texts]
