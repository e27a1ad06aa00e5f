"""What becomes of facts that replace each other in the order they were said; nothing says which does so."""

import json
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.beliefs.workspace import Workspace, flat

LINKS = (
    " is a citizen of ", " is affiliated with the religion of ", " was founded by ", " is married to ",
    " plays the position of ",
    " is associated with the sport of ", " is located in the city of ", " was performed by ", " was created by ",
    " was developed by ", " was created in the country of ", " speaks the language of ", " was founded in the city of ",
    " is located in the continent of ", " was born in the city of ", " died in the city of ", " is employed by ",
    " is famous for ", " worked in the city of ", " was written in the language of ", " works in the field of ",
)  # fmt: skip
FACTS = (
    "| facts | written | wrong supersessions | true facts hidden | stale superseded or flagged"
    " | wrong flags in 100 writes | top-1 | questions that show a stale value |"
)


@dataclass
class Outcome:
    """What became of a set of facts that were said one after the other."""

    size: str
    keyed: bool
    facts: int = 0
    wrong: int = 0  # superseded by a fact about something else
    hidden: list[str] = field(default_factory=list)  # newest of their slot, and not believed
    stale: int = 0  # facts with a newer value
    caught: int = 0  # of these: superseded or flagged
    false_flags: int = 0  # writes flagged with nothing of their slot
    top: int = 0
    shown: int = 0  # questions where a stale value stood among the hits
    questions: int = 0


def slot_of(fact: str) -> str:
    """Give what a fact is about: its text before the value."""
    for link in LINKS:
        if link in fact:
            return fact.split(link)[0] + link
    return fact.rpartition(" is ")[0]


def consolidated(path: Path, keyed: bool) -> Outcome:
    """Write the facts in their order, look at the files, ask the questions."""
    data = json.loads(path.read_text(encoding="utf-8"))
    facts: list[str] = data["facts"]
    outcome = Outcome(data["size"], keyed, len(facts))
    newest = {slot_of(fact): fact for fact in facts}
    ids: dict[str, str] = {}  # id → slot of the fact it was made for
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "memory")
        for fact in facts:
            slot = slot_of(fact)
            key = ("--key", re.sub(r"\W+", "-", slot).strip("-").lower()) if keyed else ()
            answer = workspace.write(fact, *key)
            outcome.wrong += sum(ids.get(one) != slot for one in answer.get("supersedes", ()))
            flagged = answer.get("conflicts_with", ())
            outcome.false_flags += bool(flagged) and all(ids.get(one) != slot for one in flagged)
            ids.setdefault(answer["id"], slot)
        _look_at(outcome, workspace.entries(), facts, newest)
        for question, answers in zip(data["questions"], data["answers"], strict=True):
            _asked(outcome, workspace, question, answers, facts, newest)
    return outcome


def _look_at(
    outcome: Outcome, entries: dict[str, dict[str, Any]], facts: Sequence[str], newest: dict[str, str]
) -> None:
    said: dict[str, list[dict[str, Any]]] = {}
    for entry in entries.values():
        for text in (entry["body"], *map(str, entry.get("wordings") or ())):
            said.setdefault(flat(text), []).append(entry)
    for fact in newest.values():
        active = [one for one in said.get(flat(fact), ()) if one.get("status", "active") == "active"]
        if not any(slot_of(one["body"]) == slot_of(fact) for one in active):
            outcome.hidden.append(fact)
    for fact in dict.fromkeys(facts):
        if flat(newest[slot_of(fact)]) == flat(fact):
            continue
        outcome.stale += 1
        here = said.get(flat(fact), ())
        rivals = {str(one["id"]) for one in entries.values() if slot_of(one["body"]) == slot_of(fact)}
        outcome.caught += bool(here) and all(
            one.get("status") == "superseded" or rivals & {*map(str, one.get("conflicts_with") or ())} for one in here
        )


def _asked(
    outcome: Outcome,
    workspace: Workspace,
    question: str,
    answers: Sequence[str],
    facts: Sequence[str],
    newest: dict[str, str],
) -> None:
    hits = [str(hit["summary"]) for hit in workspace.mem("search", text=question)["hits"]]
    outcome.questions += 1
    told = judged(hits, answers, facts, newest)
    outcome.top += told.first
    outcome.shown += told.stale


@dataclass(frozen=True)
class Told:
    """What the hits of a question tell."""

    first: bool  # the first one holds an accepted answer
    any: bool  # one of them does
    stale: bool  # one tells a value that was replaced


def judged(hits: Sequence[str], answers: Sequence[str], facts: Sequence[str], newest: dict[str, str]) -> Told:
    """Judge the texts that a question brought, the best first."""
    holds = [any(answer.casefold() in hit.casefold() for answer in answers) for hit in hits]
    right = {
        slot_of(fact) for fact in newest.values() if any(answer.casefold() in fact.casefold() for answer in answers)
    }
    known = {flat(fact): slot_of(fact) for fact in facts}
    slots = {known.get(flat(hit), "") for hit in hits[:3]} & right
    stale = [hit for hit in hits if known.get(flat(hit), "") in slots and flat(newest[known[flat(hit)]]) != flat(hit)]
    return Told(holds[:1] == [True], any(holds), bool(stale))


def outcome_row(one: Outcome) -> str:
    """Give the row of a set of facts."""
    return (
        f"| {one.size}{', with keys' if one.keyed else ''} | {one.facts} | {one.wrong} | {len(one.hidden)} |"
        f" {one.caught / max(1, one.stale):.2f} ({one.caught} of {one.stale}) |"
        f" {100 * one.false_flags / one.facts:.1f} |"
        f" {100 * one.top / one.questions:.0f} | {one.shown} |"
    )
