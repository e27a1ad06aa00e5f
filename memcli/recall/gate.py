"""Tell whether a prompt needs memory, and how relevant a memory must be to be shown with it.

"Does this prompt need memory?" can be told from its form far better than from the best hit, whose
relevance is the same for "why is the sky blue?" and for "write to the landlord". So phrases in the
prompt raise or lower the relevance that a memory needs. The phrases are in `data/prompts.toml`.
"""

import re
from functools import cache
from typing import Any, NamedTuple

from .. import data
from ..formats.text import cut_middle
from ..index.words import UNSPACED, get_stop_words

FILE = "prompts.toml"
# A memory needs this relevance with a prompt without any cue, and less or more for each cue. Chosen
# on the prompts of one author, checked with those of another.
LEAST = 0.31
CUE = 0.1
EASIEST, HARDEST = 0.16, 0.5
TELLING = -1.0  # the weight of a prompt that neither asks nor requests anything
GENERAL = -1.0  # at this sum a name in the prompt is only an example
CLAUSE_END = re.compile(r"[.!?:,;…]+(?:\s|$)|\n|\s[-–—]\s")
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
POLITE = re.compile(r"\b(?:please|can you|could you|would you|bitte|kannst du|and|und|et|so)\b")
QUESTION = re.compile("[?？]")
LONGEST = 4000
SHORTEST_UNSPACED = 4  # characters of Chinese, in which no blanks separate the words


class Cue(NamedTuple):
    """Phrases that make a prompt more or less likely to need memory."""

    weight: float
    is_request: bool
    phrases: tuple[str, ...]  # with blanks around whole words


def needs_memory(prompt: str) -> bool:
    """Return whether a prompt says enough that a memory could fit it."""
    if any(len(run) >= SHORTEST_UNSPACED for run in re.findall(UNSPACED, prompt)):
        return True
    words = WORD.findall(normalize_prompt(prompt))
    empty = get_stop_words() | data.words(FILE, "acknowledgements")
    telling = [word for word in words if word not in empty and not word.isdigit()]
    # A word alone is an answer, or a name that the code uses.
    return bool(telling) and len(prompt.split()) > 1 and len(telling) + len(words) > 3


def get_least_relevance(need: float) -> float:
    """Return the relevance from which a memory is shown with a prompt of this need."""
    return min(max(LEAST - CUE * need, EASIEST), HARDEST)


def measure_need(prompt: str) -> float:
    """Return the sum of the weights of the cues in a prompt: positive if it needs memory."""
    text = mark_clauses(prompt)
    cues = [cue for cue in load_cues() if any(phrase in text for phrase in cue.phrases)]
    need = sum(cue.weight for cue in cues)
    if not QUESTION.search(prompt) and not any(cue.is_request for cue in cues):
        need += TELLING
    return need


def mark_clauses(prompt: str) -> str:
    """Return the words of a prompt with `|` at the start of each clause and # for numbers."""
    clauses = []
    for clause in CLAUSE_END.split(POLITE.sub(". ", normalize_prompt(prompt))):
        words = ["#" if word.isdigit() else word for word in WORD.findall(clause)]
        if words:
            clauses.append(" ".join(words))
    return f" | {' | '.join(clauses)} | "


def shorten_prompt(prompt: str) -> str:
    """Return the beginning and the end of a long prompt: a pasted log is between them."""
    return cut_middle(prompt, LONGEST // 2, LONGEST // 2, "\n").strip()


def normalize_prompt(prompt: str) -> str:
    return shorten_prompt(prompt).casefold().replace("’", "'")


@cache
def load_cues() -> tuple[Cue, ...]:
    rows: list[dict[str, Any]] = data.table(FILE)["cue"]
    return tuple(
        Cue(float(row["weight"]), row.get("request", False), tuple(parse_phrases(row["phrases"])))
        for row in rows
    )


def parse_phrases(text: str) -> list[str]:
    """Return phrases as they occur in a marked text: `|why` is " | why ", `plan*` is " plan"."""
    phrases = []
    for phrase in re.split(r"[,\n]", text):
        words = phrase.casefold().replace("|", "| ").strip()
        if words:
            phrases.append(f" {words[:-1]}" if words.endswith("*") else f" {words} ")
    return phrases
